"""English nouns and phrases in singular and plural."""

from __future__ import annotations

from functools import cache

from caffe_pytest.metrics.masking.shipped import listed, shipped_forms
from caffe_pytest.metrics.masking.words import Words, key


def noun_inflections(noun: str) -> set[str]:
    """Keys of a noun in singular and plural; capitals alone have one, an empty noun none."""
    return {key(word) for (word,) in phrase_inflections((noun,))} if noun else set()


def phrase_inflections(phrase: Words) -> set[Words]:
    """A phrase with its last word in singular and plural, as keys; capitals alone stay so."""
    if not phrase:
        return set()
    start = tuple(word if _in_capitals(word) else key(word) for word in phrase[:-1])
    last = phrase[-1]
    if _in_capitals(last):
        return {(*start, last)}
    one = singular(key(last))
    return {(*start, word) for word in (key(last), one, _plural(one))}


def singular(noun: str) -> str:
    """The singular of a plural, by rule where it is not irregular; a singular as it is."""
    if noun in _irregular_singulars():
        return _irregular_singulars()[noun]
    if noun.endswith("ies") and len(noun) > 4:
        return noun[:-3] + "y"
    if noun.endswith(("sses", "shes", "ches", "xes", "zes")):
        return noun[:-2]
    if noun.endswith("s") and not noun.endswith(("ss", "us", "is")) and len(noun) > 2:
        return noun[:-1]
    return noun


def _plural(noun: str) -> str:
    """The plural of a singular, by rule where it is not irregular."""
    if noun in _irregular_plurals():
        return _irregular_plurals()[noun]
    if noun.endswith(("s", "x", "z", "ch", "sh")):
        return noun + "es"
    if noun.endswith("y") and noun[-2:-1] not in ("", "a", "e", "i", "o", "u"):
        return noun[:-1] + "ies"
    return noun + "s"


@cache
def _irregular_plurals() -> dict[str, str]:
    return dict(pair.split() for pair in listed(shipped_forms()["irregular"]))


@cache
def _irregular_singulars() -> dict[str, str]:
    return {plural: noun for noun, plural in _irregular_plurals().items()}


def _in_capitals(word: str) -> bool:
    return len(word) > 1 and word.isupper()
