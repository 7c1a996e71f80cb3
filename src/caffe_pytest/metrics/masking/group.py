"""A group cut into its grammatical parts, and what the groups of a test case share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from caffe_pytest.metrics.masking.english import english
from caffe_pytest.metrics.masking.plurals import noun_inflections, singular
from caffe_pytest.metrics.masking.words import Words, key, keys, spelled

DETERMINERS = ("the", "a", "an", "any", "some")
RELATIVE_PRONOUNS = ("who", "that", "which")
_PREPOSITIONS = ("with", "without", "of", "in", "from", "on", "at", "by", "under", "over", "for")
LINKS = frozenset((*RELATIVE_PRONOUNS, "whose", *_PREPOSITIONS))
"""Relative pronouns and prepositions: one of them begins what stands after a head."""


@dataclass(frozen=True, slots=True)
class Group:
    """A group in its parts, spelled as it is: "older women with low incomes"."""

    words: Words
    """All of it."""
    premodifiers: tuple[Words, ...] = ()
    """("older",): each word, or the words of a hyphenated one."""
    head: str = ""
    """"women"; empty in "the unemployed", whose adjective is a premodifier."""
    postmodifier: Words = ()
    """("with", "low", "incomes")."""


def cut_into_parts(group: str) -> Group:
    """The group cut before its first preposition, relative pronoun or participle."""
    units = [unit for unit in map(spelled, group.split()) if unit]
    words = _flat(units)
    definite = bool(units) and keys(units[0]) == ("the",)
    if definite:
        del units[0]
    if not units:
        return Group(words)
    places = range(1, len(units))
    cut = next((place for place in places if _begins_postmodifier(units, place)), len(units))
    *premodifiers, last = units[:cut]
    postmodifier = _flat(units[cut:])
    if definite and not postmodifier and singular(key(last[-1])) == key(last[-1]):
        return Group(words, (*premodifiers, last))
    if len(last) > 1:  # "shop-owners"
        premodifiers.append(last[:-1])
    return Group(words, tuple(premodifiers), last[-1], postmodifier)


def _begins_postmodifier(units: Sequence[Words], place: int) -> bool:
    before, unit = units[place - 1], units[place]
    if key(unit[0]) in LINKS:
        return True
    participle = len(unit) == 1 and key(unit[0]).endswith(("ing", "ed", "born"))
    return participle and key(before[-1]) in english().person_nouns


def _flat(units: Sequence[Words]) -> Words:
    return tuple(word for unit in units for word in unit)


@dataclass(frozen=True, slots=True)
class Shared:
    """What all of several groups have in common, and what therefore tells none of them."""

    premodifiers: frozenset[Words]
    head: bool
    postmodifier: bool


def shared_by(groups: Sequence[Group]) -> Shared:
    """What all `groups` share; nothing where there are fewer than two."""
    if len(groups) < 2:
        return Shared(frozenset(), head=False, postmodifier=False)
    return Shared(
        frozenset.intersection(*(frozenset(group.premodifiers) for group in groups)),
        head=len({frozenset(noun_inflections(group.head)) for group in groups}) == 1,
        postmodifier=len({keys(group.postmodifier) for group in groups}) == 1,
    )
