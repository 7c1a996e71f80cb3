"""The English that the lint of knowledge bases needs: heads, plurals, possessives, articles.

Rules, not a dictionary: they are right for the noun phrases by which people name groups and topics,
and where they cannot be sure a finding is a warning or a note, never an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, Literal

import yaml

from caffe_pytest.errors import DamagedArtefact

WORDING = "wording.yaml"
"""File name of the words, in the package `caffe_pytest.knowledge`."""

_WORD = re.compile(r"[^\W_]+(?:['\u2019.-][^\W_]+)*")
_LINKS = frozenset(
    ("with", "without", "of", "in", "from", "on", "at", "by", "under", "over", "for", "to", "who",
     "whose", "that", "which", "near", "after", "before", "outside", "inside", "between", "among")
)  # fmt: skip
_VOWEL_LETTERS = "AEFHILMNORSX"
"""Letters whose names begin with a vowel: "an FBI agent"."""
_SOUNDS_LIKE_A_VOWEL = re.compile(r"(?:hour|honest|honou?r|heir)", re.IGNORECASE)
_SOUNDS_LIKE_A_CONSONANT = re.compile(
    r"(?:eu|ewe|once\b|one\b|one-|u\b|uni(?!n|m[ap])|us(?:[aeiu])|ut[aio]|ub[ie]|uk|ur[aiu]|ufo\b)",
    re.IGNORECASE,
)

Gender = Literal["she", "he"]


@cache
def wording() -> Mapping[str, Any]:
    """The shipped words.

    Raises DamagedArtefact (a CaffeError) where they cannot be read.
    """
    try:
        text = (files("caffe_pytest.knowledge") / WORDING).read_text(encoding="utf-8")
    except OSError as error:
        raise DamagedArtefact(
            f"{WORDING}: the words of the lint cannot be read ({type(error).__name__}); "
            "reinstall caffe-pytest"
        ) from error
    words: Mapping[str, Any] = yaml.safe_load(text)
    return words


@cache
def listed(*path: str) -> frozenset[str]:
    """The forms at a place of the shipped words, in small letters."""
    value: Any = wording()
    for key in path:
        value = value[key]
    return frozenset(form.strip().casefold() for form in value.split(","))


def words(phrase: str) -> list[str]:
    """The words of a phrase as they stand; hyphens, apostrophes and full stops inside stay."""
    return _WORD.findall(phrase)


@lru_cache(maxsize=65536)
def head_noun(phrase: str) -> str:
    """The noun that says what a noun phrase is about: "women" of "older women with low incomes".

    Empty where the phrase has no word.
    """
    core = _before_complement(phrase)
    return core[-1] if core else ""


def head_place(phrase: str) -> int:
    """The place of the head among the words, from 0; -1 where the phrase has no word."""
    return len(_before_complement(phrase)) - 1


def complement(phrase: str) -> list[str]:
    """The words after the head: "with disabilities", "who beg"."""
    return words(phrase)[head_place(phrase) + 1 :]


def _before_complement(phrase: str) -> list[str]:
    """Up to a preposition, a relative pronoun, or a participle after a plural."""
    parts = words(phrase)
    for place in range(1, len(parts)):
        word = parts[place].casefold()
        # "people receiving welfare", "people recently released"
        participle = word.endswith(("ing", "ed", "born", "ly")) and is_plural(parts[place - 1])
        if word in _LINKS or participle:
            return parts[:place]
    return parts


@lru_cache(maxsize=65536)
def is_plural(noun: str) -> bool:
    """Whether a noun is, or may be, a plural: "women", "doctors", "Chinese"."""
    word = noun.casefold().rpartition("-")[2]
    _, singulars = _irregular()
    if word in singulars or word in listed("plural_as_they_are"):
        return True
    if word.endswith(("men", "people", "children", "ese", "folk", "wives")):
        return True
    if word in listed("singular_in_s") or word.endswith(("ss", "ness")):
        return False
    if word.endswith(("us", "is")):
        return noun[:1].isupper()  # "Hindus", "Pakistanis", not "crisis"
    return word.endswith("s") and len(word) > 2


@lru_cache(maxsize=65536)
def plural(noun: str) -> str:
    """The plural of a singular noun, in small letters."""
    word = noun.casefold()
    plurals, _ = _irregular()
    for one, many in plurals.items():
        compound = one in _ENDINGS and word.endswith(one) and not word.endswith(_NO_COMPOUNDS)
        if word == one or compound:
            return word.removesuffix(one) + many
    if word in listed("plural_as_they_are") or word.endswith("ese"):
        return word
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return word + "es"
    if word.endswith("y") and word[-2:-1] not in tuple("aeiou"):
        return word[:-1] + "ies"
    return word + "s"


_ENDINGS = ("man", "woman", "child", "person", "wife")
"""Irregular nouns that make others: "fireman", "grandchild"."""
_NO_COMPOUNDS = ("german", "human", "roman", "norman", "ottoman", "shaman", "talisman")


def possessives(phrase: str) -> tuple[str, ...]:
    """How a plural noun phrase may show possession, the usual way first: "doctors'", "women's"."""
    if not phrase.casefold().endswith("s"):
        return (phrase + "'s",)
    return (phrase + "'", phrase + "'s") if complement(phrase) else (phrase + "'",)


def article(word: str) -> Literal["a", "an"]:
    """The indefinite article before a word, by how its beginning sounds."""
    start = words(word)[0] if words(word) else word
    if len(start) > 1 and start.isupper():
        return "an" if start[0] in _VOWEL_LETTERS else "a"
    if _SOUNDS_LIKE_A_VOWEL.match(start):
        return "an"
    if _SOUNDS_LIKE_A_CONSONANT.match(start):
        return "a"
    return "an" if start[:1].casefold() in tuple("aeiou") else "a"


@lru_cache(maxsize=65536)
def gender(phrase: str) -> Gender | None:
    """What the words of a group say of gender: "she", "he", or nothing, or both, which is None."""
    found = {
        name
        for name in ("she", "he")
        for word in _before_complement(phrase)
        if word.casefold() in _gendered(name)
    }
    if found == {"she"}:
        return "she"
    return "he" if found == {"he"} else None


@cache
def _gendered(name: str) -> frozenset[str]:
    singular = listed("gender", name)
    return singular | {plural(noun) for noun in singular}


@lru_cache(maxsize=65536)
def kind(phrase: str) -> str:
    """What a group consists of, by its head: `people`, `families`, ..., or `nouns`."""
    head = head_noun(phrase).casefold().rpartition("-")[2]
    return next((name for name, heads in _kinds().items() if head in heads), "nouns")


@cache
def _kinds() -> dict[str, frozenset[str]]:
    kinds: dict[str, frozenset[str]] = {}
    for name in wording()["kinds"]:
        singular = listed("kinds", name)
        kinds[name] = singular | {plural(noun) for noun in singular}
    return kinds


@cache
def _irregular() -> tuple[dict[str, str], dict[str, str]]:
    """Irregular nouns: singular -> plural, and plural -> singular."""
    plurals: dict[str, str] = dict(_pairs(wording()["irregular"]))
    return plurals, {many: one for one, many in plurals.items()}


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for pair in text.split(","):
        one, many = pair.split()
        yield one, many
