"""Counting terms: as scikit-learn counts them, whatever the text and the number of texts."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer

from caffe_pytest.metrics import bag_of_words
from caffe_pytest.metrics.bag_of_words import BagsOfWords, count_terms, has_words, slices

TERMS = {"red": 0, "car": 1, "apple": 2, "straße": 3, "42": 4, "i̇d": 5}
TEXTS = st.lists(
    st.text()
    | st.lists(st.sampled_from(["red", "Car", "a", "APPLE", "42", "-", "zebra"])).map(" ".join),
    max_size=20,
)


def dense(bags: BagsOfWords) -> list[list[float]]:
    rows = np.zeros((len(bags.lengths), len(TERMS)))
    rows[np.repeat(np.arange(len(rows)), bags.lengths), bags.columns] = bags.counts
    return list(rows.tolist())


def test_terms_are_counted_by_hand() -> None:
    bags = count_terms(("a red car, Red apple; zebra", "", "42"), TERMS)

    assert bags.columns.tolist() == [0, 1, 2, 4]
    assert bags.counts.tolist() == [2, 1, 1, 1]
    assert bags.starts.tolist() == [0, 3, 3, 4]
    assert bags.lengths.tolist() == [3, 0, 1]


@given(TEXTS)
def test_terms_are_counted_as_scikit_learn_does(texts: list[str]) -> None:
    expected = CountVectorizer(vocabulary=TERMS).transform(texts).toarray().tolist()

    assert dense(count_terms(texts, TERMS)) == expected


@given(TEXTS)
def test_few_texts_are_counted_like_many(texts: list[str]) -> None:
    few, many = bag_of_words._count_few(texts, TERMS), bag_of_words._count_many(texts, TERMS)

    for name in ("columns", "counts", "starts"):
        assert getattr(few, name).dtype == getattr(many, name).dtype
        assert getattr(few, name).tolist() == getattr(many, name).tolist()


@given(st.text())
def test_words_are_those_of_the_pattern_of_scikit_learn(text: str) -> None:
    pattern = CountVectorizer().token_pattern

    assert bag_of_words._words(text) == re.findall(pattern, text)
    assert has_words([text]) == bool(re.search(pattern, text.lower()))


@pytest.mark.parametrize(
    ("texts", "parts"), [(0, []), (3, [(0, 3)]), (4, [(0, 3), (3, 4)]), (6, [(0, 3), (3, 6)])]
)
def test_texts_are_taken_in_parts(texts: int, parts: list[tuple[int, int]]) -> None:
    assert [(part.start, part.stop) for part in slices(texts, 3)] == parts
