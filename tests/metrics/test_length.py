"""How many words an answer has."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caffe_pytest.metrics.length import score


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("one", 1),
        ("Two words.", 2),
        ("Don't stop: mother-in-law\u2019s tea, 3 cups!", 6),
        ("___ can do this, and ___'s friends too.", 8),
        ("- **First**\n- *second*", 2),
        ("caf\u00e9 na\u00efve", 2),
        ("word " * 10_000, 10_000),
    ],
)
def test_words_are_counted(text: str, words: int) -> None:
    assert score([text]).tolist() == [words]


@pytest.mark.parametrize("text", ["", "  \n", "...", "?!", "\U0001f600"])
def test_an_answer_without_a_word_never_gets_a_number(text: str) -> None:
    assert np.isnan(score([text])).all()


def test_no_answers_have_no_lengths() -> None:
    assert score([]).shape == (0,)
    assert score([]).dtype == np.float64


@given(st.lists(st.text(), max_size=6))
def test_a_number_does_not_depend_on_the_other_texts(texts: list[str]) -> None:
    alone = [score([text])[0] for text in texts]

    assert np.array_equal(score(texts + texts[::-1]), alone + alone[::-1], equal_nan=True)
