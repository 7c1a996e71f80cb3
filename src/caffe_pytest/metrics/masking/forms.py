"""A form: words that name a group, and where they have to stand to do so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import NamedTuple

from caffe_pytest.metrics.masking.words import Words


class Position(IntEnum):
    """Where a form has to stand to be a mention, the freest first."""

    ANYWHERE = 0
    PRONOUN = 1
    """Anywhere too, but nothing around it goes with it."""
    BEFORE_PERSON = 2
    """As an adjective before a word for persons: "poor families"."""
    AS_NOUN = 3
    """Where no noun follows: "the poor are"."""


class Form(NamedTuple):
    """Words that may name a group."""

    words: Words
    """As keys; a word with capitals is found in capitals alone."""
    position: Position


def anywhere(phrases: Iterable[Words]) -> Iterator[Form]:
    """A form of each phrase, which may stand anywhere."""
    return (Form(words, Position.ANYWHERE) for words in phrases)


def adjective_forms(adjective: Words, heads: Iterable[str]) -> Iterator[Form]:
    """The adjective before a word for persons, and in "who are poor" after one of `heads`."""
    yield Form(adjective, Position.BEFORE_PERSON)
    yield Form(("being", *adjective), Position.ANYWHERE)
    yield from postmodifier_forms((("who", "are", *adjective), ("who", "is", *adjective)), heads)


def postmodifier_forms(postmodifiers: Iterable[Words], heads: Iterable[str]) -> Iterator[Form]:
    """What stands after a head, as in "people with a disability", without and with the head."""
    for words in postmodifiers:
        yield from anywhere((words, *((head, *words) for head in heads)))
