"""What the shipped forms say of English: classes of words, and the other names of groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cache
from typing import Any

from caffe_pytest.metrics.masking.forms import (
    Form,
    Position,
    adjective_forms,
    anywhere,
    postmodifier_forms,
)
from caffe_pytest.metrics.masking.plurals import noun_inflections, phrase_inflections
from caffe_pytest.metrics.masking.shipped import case_matters, listed, shipped_forms
from caffe_pytest.metrics.masking.words import Words, keys, spelled

_LONGEST_NAME = 5
"""Words of the longest name that is looked for in a group."""


@dataclass(frozen=True, slots=True)
class English:
    """The shipped forms; words are keys, nouns in both numbers."""

    pronouns: frozenset[str]
    general_heads: frozenset[str]
    """"person", "women": masked together with the word before them that names a group."""
    neutral_heads: frozenset[str]
    """The general heads that name no gender: never masked alone."""
    stand_ins: frozenset[str]
    """"those", "someone": stand for such a head."""
    clause_heads: frozenset[str]
    """Before "who are poor": neutral heads and stand-ins."""
    person_nouns: frozenset[str]
    """A common adjective names a group before one of these."""
    after_collective: frozenset[str]
    """May follow "the poor" where it means people."""
    gendered: tuple[Form, ...]
    """The words for women and men."""
    gender_of: Mapping[str, str]
    """A word for women or men -> its gender."""
    names: Mapping[Words, tuple[Form, ...]]
    """A name of a group -> all forms of the groups that have it."""

    def genders(self, words: Words) -> frozenset[str]:
        """The genders that the words name."""
        return frozenset(self.gender_of[key] for key in keys(words) if key in self.gender_of)

    def named_in(self, words: Words) -> list[tuple[Words, tuple[Form, ...]]]:
        """The known names among `words`, as keys, with all their forms.

        From the left, the longest first; no word belongs to two names.
        """
        compared, found, start = keys(words), [], 0
        while start < len(compared):
            ends = range(min(len(compared), start + _LONGEST_NAME), start, -1)
            end = next((end for end in ends if compared[start:end] in self.names), None)
            if end:
                found.append((compared[start:end], self.names[compared[start:end]]))
            start = end or start + 1
        return found


@cache
def english() -> English:
    """The shipped forms, read once per process.

    Raises DamagedArtefact (a CaffeError) where they cannot be read.
    """
    forms = shipped_forms()
    genders = {gender: tuple(_noun_forms(entry)) for gender, entry in forms["gender"].items()}
    gender_of = {form.words[0].lower(): name for name in genders for form in genders[name]}
    general_heads = _nouns(forms["general_heads"])
    neutral_heads = general_heads.difference(gender_of)
    stand_ins = frozenset(listed(forms["stand_ins"]))
    clause_heads = neutral_heads | stand_ins
    return English(
        pronouns=frozenset(listed(forms["pronouns"])),
        general_heads=general_heads,
        neutral_heads=neutral_heads,
        stand_ins=stand_ins,
        clause_heads=clause_heads,
        person_nouns=_nouns(forms["person_nouns"]) | general_heads,
        after_collective=frozenset(listed(forms["after_collective"])),
        gendered=tuple(form for gender in genders.values() for form in gender),
        gender_of=gender_of,
        names=_group_names(forms, clause_heads),
    )


def _nouns(nouns: str) -> frozenset[str]:
    return frozenset(key for noun in listed(nouns) for key in noun_inflections(noun))


def _group_names(forms: Mapping[str, Any], heads: Set[str]) -> dict[Words, tuple[Form, ...]]:
    nations = [
        {"nouns": people, "words": country, "origins": country}
        for country, people in forms["nations"].items()
    ]
    names: dict[Words, dict[Form, None]] = {}
    for entry in (*nations, *forms["sets"]):
        of_group = dict.fromkeys((*_noun_forms(entry), *_qualifier_forms(entry, heads)))
        for words, position in of_group:
            # "who are poor" is made of "poor", which is enough to name the group
            if not {"who", "being", "with", "from"} & set(words):
                name = words[1:] if position is Position.AS_NOUN else words
                names.setdefault(keys(name), {}).update(of_group)
    return {name: tuple(of_groups) for name, of_groups in names.items()}


def _noun_forms(entry: Mapping[str, str]) -> Iterator[Form]:
    """The forms of the `nouns` and `words` of an entry."""
    for noun in listed(entry.get("nouns", "")):
        yield from anywhere(_inflections(noun))
    yield from anywhere(_words(form) for form in listed(entry.get("words", "")))


def _qualifier_forms(entry: Mapping[str, str], heads: Set[str]) -> Iterator[Form]:
    """The forms of an entry that qualify one of `heads`: "poor", "with a disability"."""
    for adjective in listed(entry.get("adjectives", "")):
        yield from adjective_forms(_words(adjective), heads)
    for condition in listed(entry.get("conditions", "")):
        inflections = _inflections(condition)
        yield from anywhere(inflections)
        for article in ((), ("a",), ("an",)):
            yield from postmodifier_forms({("with", *article, *one) for one in inflections}, heads)
    for country in listed(entry.get("origins", "")):
        yield from postmodifier_forms([("from", *_words(country))], heads)
    for adjective in listed(entry.get("collectives", "")):
        yield Form(("the", *_words(adjective)), Position.AS_NOUN)


def _inflections(form: str) -> set[Words]:
    """A shipped form in singular and plural, as it stands where its capitals matter."""
    return {spelled(form)} if form in case_matters() else phrase_inflections(spelled(form))


def _words(form: str) -> Words:
    """The words of a shipped form, as keys unless its capitals matter."""
    return spelled(form) if form in case_matters() else keys(spelled(form))
