"""Where sentences begin and end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caffe_pytest.metrics.sentences import MOST_WORDS, sentences


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("... 1. 2.", []),
        ("One", ["One"]),
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ('He said "no." She left.', ['He said "no.', "She left."]),
        ("# Heading\n\n1. First\n2. Second", ["# Heading", "First", "Second"]),
        ("Rents rose 3.5 percent, e.g. here, says Dr. Wu.", None),
        ("\u4f60\u597d\u3002\u518d\u89c1\u3002", ["\u4f60\u597d\u3002", "\u518d\u89c1\u3002"]),
    ],
)
def test_a_text_is_cut_where_sentences_and_lines_end(text: str, found: list[str] | None) -> None:
    assert sentences(text) == ([text] if found is None else found)


def test_a_text_without_full_stops_is_cut() -> None:
    words = ["word"] * (2 * MOST_WORDS + 1)

    assert [len(part.split()) for part in sentences(" ".join(words))] == [MOST_WORDS, MOST_WORDS, 1]


@given(st.text())
def test_no_letter_is_lost_or_moved(text: str) -> None:
    letters = [sign for sign in "".join(sentences(text)) if sign.isalpha()]

    assert letters == [sign for sign in text if sign.isalpha()]
