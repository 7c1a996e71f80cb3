"""The minimal edit: sentences come back whole, and only what differs is an edit."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caffe_pytest.knowledge.importers.minimal_edit import Piece, changes, minimal_edit

SENTENCES = st.text(max_size=80) | st.lists(
    st.sampled_from(["The", "the", "old", "man's", "man\u2019s", ",", "  ", ".", "well-off", "\n"])
).map(" ".join)


def edits(first: str, second: str) -> list[tuple[str, str]]:
    pieces = minimal_edit(first, second)
    return [
        (" ".join(pieces[at].words[0]), " ".join(pieces[at].words[1])) for at in changes(pieces)
    ]


def joined(pieces: tuple[Piece, ...], side: int) -> str:
    return "".join("".join((piece.first, piece.second)[side]) for piece in pieces)


@given(SENTENCES, SENTENCES)
def test_joined_pieces_give_both_sentences_back(first: str, second: str) -> None:
    pieces = minimal_edit(first, second)

    assert (joined(pieces, 0), joined(pieces, 1)) == (first, second)


@given(SENTENCES, SENTENCES)
def test_same_and_different_pieces_take_turns_and_tell_the_truth(first: str, second: str) -> None:
    pieces = minimal_edit(first, second)

    for piece in pieces:
        sides = [
            "".join(side).replace("\u2019", "'").casefold() for side in (piece.first, piece.second)
        ]
        alike = "".join(sides[0].split()) == "".join(sides[1].split())
        assert alike or not piece.same
        assert piece.first or piece.second
    assert all(one.same != other.same for one, other in pairwise(pieces))


@given(SENTENCES)
def test_a_sentence_does_not_differ_from_itself(sentence: str) -> None:
    assert all(piece.same for piece in minimal_edit(sentence, sentence))


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("Most black kids play.", "Most white kids play.", [("black", "white")]),
        ("Blacks never listen", "blacks  never listen.", []),
        ("Women don't know how", "Men know how", [("Women don't", "Men")]),
        (
            "She let her friend pay her bill",
            "He let his friend pay his bill",
            [("She", "He"), ("her", "his"), ("her", "his")],
        ),
        ("so poor", "so poor, and poor", [("", "and poor")]),
        ("the man\u2019s car", "the man's car", []),
        ("a b", "", [("a b", "")]),
    ],
)
def test_what_differs_is_an_edit(first: str, second: str, expected: list[tuple[str, str]]) -> None:
    assert edits(first, second) == expected


@pytest.mark.parametrize(
    "pair",
    [
        ("a b " * 50_000, "b a " * 50_000),
        (" ".join(map(str, range(100_000))), " ".join(map(str, range(100_000, 0, -1)))),
        (" " * 100_000, "x" * 100_000),
        ("x-" * 50_000, "x'" * 50_000),
    ],
    ids=["repeated", "reversed", "space", "joined"],
)
def test_long_and_hostile_sentences_take_seconds_at_most(pair: tuple[str, str]) -> None:
    started = time.process_time()

    pieces = minimal_edit(*pair)

    assert time.process_time() - started < 5
    assert (joined(pieces, 0), joined(pieces, 1)) == pair
