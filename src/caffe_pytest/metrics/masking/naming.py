"""All forms that name the groups of a test case."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from caffe_pytest.metrics.masking.english import english
from caffe_pytest.metrics.masking.forms import Form, Position, adjective_forms, anywhere
from caffe_pytest.metrics.masking.group import Group, Shared, shared_by
from caffe_pytest.metrics.masking.plurals import noun_inflections, phrase_inflections
from caffe_pytest.metrics.masking.postmodifier import reword_postmodifier
from caffe_pytest.metrics.masking.words import Words, key, keys, spelled

_DEGREES = ("less", "more", "very", "most", "least", "so", "too")
"""Premodifiers that name nothing alone: "more educated people"."""


def forms_of(groups: Sequence[Group], aliases: Iterable[str]) -> Iterator[Form]:
    """The forms of all `groups` and `aliases`, and the pronouns; some come more than once."""
    for pronoun in english().pronouns:
        yield Form((pronoun,), Position.PRONOUN)
    for alias in aliases:
        yield from anywhere(phrase_inflections(spelled(alias)))
    shared = shared_by(groups)
    for group in groups:
        yield Form(keys(group.words), Position.ANYWHERE)
        yield from _phrases(group, shared)
        yield from _names(group, shared)
    genders = {english().genders(group.words) for group in groups}
    if any(genders) and (len(genders) > 1 or len(groups) == 1):
        yield from english().gendered


def _phrases(group: Group, shared: Shared) -> Iterator[Form]:
    """The group with other heads and in the other number: "a person with a disability"."""
    heads, general_heads = noun_inflections(group.head), english().general_heads
    premodifiers = keys(word for unit in group.premodifiers for word in unit)
    postmodifier = reword_postmodifier(group.postmodifier)
    if _head_names_group(group, shared):
        yield from anywhere((head,) for head in heads)
    for words in postmodifier.phrases:
        general = heads | general_heads | english().stand_ins
        yield from anywhere((head, *words) for head in general)
        yield from anywhere((*premodifiers, head, *words) for head in heads)
    if not shared.postmodifier:
        yield from anywhere(postmodifier.phrases)
        yield from postmodifier.names
    if not set(group.premodifiers) <= shared.premodifiers:
        yield from anywhere((*premodifiers, head) for head in heads | general_heads)
        if len(premodifiers) > 1:
            yield Form(premodifiers, Position.ANYWHERE)


def _head_names_group(group: Group, shared: Shared) -> bool:
    """Whether the head alone tells the group from the others."""
    if key(group.head) in english().neutral_heads:
        return False
    is_whole = not (group.premodifiers or group.postmodifier)
    return is_whole or not (shared.head or _ends_proper_name(group))


def _ends_proper_name(group: Group) -> bool:
    """Whether the head is the end of a proper name: "Americans" of "Native Americans"."""
    return group.head[:1].isupper() and any(
        len(words) > 1 and key(group.head) == words[-1]
        for words, _ in english().named_in(group.words)
    )


def _names(group: Group, shared: Shared) -> Iterator[Form]:
    """What the group is also called, and its premodifiers where they name it alone."""
    common = {key(word) for unit in shared.premodifiers for word in unit}
    if shared.head:
        common |= noun_inflections(group.head)
    if shared.postmodifier:
        common |= set(keys(group.postmodifier))
    named: set[str] = set()
    for words, names in english().named_in(group.words):
        if not common.issuperset(words):
            named.update(words)
            yield from names
    for unit in group.premodifiers:
        if unit not in shared.premodifiers and not named.issuperset(keys(unit)):
            yield from _premodifier_forms(unit)


def _premodifier_forms(unit: Words) -> Iterator[Form]:
    if unit[0] in _DEGREES:
        return
    if len(unit) > 1:
        yield Form(keys(unit), Position.ANYWHERE)
    elif unit[0] != unit[0].lower():
        yield from anywhere(phrase_inflections(unit))
    else:
        yield from adjective_forms(unit, english().clause_heads)
