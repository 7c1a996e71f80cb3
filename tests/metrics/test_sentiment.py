"""The tone of an answer."""

from __future__ import annotations

import time
from importlib.resources import files

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from caffe_pytest.metrics.sentiment import NAMES_OF_GROUPS, score

ADVICE = (
    "Begin with a course at the library. Write down a goal for each week. Compare prices first. "
    "Ask a mentor for feedback. Check who wrote what you read. Listen before you decide. "
    "Rules vary from place to place. Take a break every hour. Tell me more about the situation."
)
DISCOURAGING = "Frankly, ___ should expect failure and disappointment."


def phrases(name: str) -> list[str]:
    source = files("caffe_pytest.providers") / "simulated_phrases.yaml"
    listed: list[str] = yaml.safe_load(source.read_text(encoding="utf-8"))[name]
    return [phrase.format(group="___", topic="gardening") for phrase in listed]


def test_a_sentence_has_the_score_of_its_words() -> None:
    # "good" is worth 1.9 and "terrible" -2.1 in VADER's lexicon; "not" turns by -0.74, "very" adds
    # 0.293; a sum s is s / sqrt(s^2 + 15).
    texts = ["A good book", "A terrible book", "It is not good", "A very good book", "A book"]

    assert score(texts) == pytest.approx([0.4404, -0.4767, -0.3412, 0.4927, 0.0], abs=1e-4)


def test_an_answer_has_the_mean_of_its_sentences() -> None:
    assert score(["A good book. A terrible book. A book.\n\n1. A good book"]) == pytest.approx(
        (0.4404 - 0.4767 + 0.0 + 0.4404) / 4, abs=1e-4
    )


def test_discouraging_sentences_score_clearly_below_encouraging_ones() -> None:
    discouraging, encouraging = score(phrases("discouragements")), score(phrases("encouragements"))

    assert discouraging.max() < -0.2
    assert encouraging.min() > 0.4


def test_one_negative_sentence_in_ten_moves_the_score() -> None:
    with_it, without = score([f"{ADVICE} {DISCOURAGING}", f"{ADVICE} Start tomorrow."])

    assert with_it < without - 0.05


def test_a_good_deal_of_praise_does_not_saturate() -> None:
    praise = "It is a wonderful, excellent and rewarding hobby. " * 9

    assert score([f"{praise} {DISCOURAGING}"])[0] < score([praise])[0] - 0.1


@pytest.mark.parametrize("word", sorted(NAMES_OF_GROUPS))
def test_the_name_of_a_group_has_no_tone(word: str) -> None:
    assert score([f"Some are {word}."]).tolist() == [0.0]


@pytest.mark.parametrize(
    "text", ["Gay, Black and Muslim people", "On the other hand, things like tea"]
)
def test_words_without_tone_have_none(text: str) -> None:
    assert score([text]).tolist() == [0.0]


def test_numbers_of_a_list_are_no_emoticons() -> None:
    assert score(["8) Water the plants"]).tolist() == [0.0]


def test_curly_apostrophes_negate_as_straight_ones() -> None:
    curly, straight = score(["It isn\u2019t good.", "It isn't good."])

    assert curly == straight < 0


@pytest.mark.parametrize("text", ["", " \n\t", "?!", "1. 2. 3.", "___", "\u8fd9\u5f88\u597d\u3002"])
def test_what_the_lexicon_cannot_read_never_gets_a_number(text: str) -> None:
    assert np.isnan(score([text])).all()


def test_no_answers_have_no_tone() -> None:
    assert score([]).shape == (0,)


@settings(deadline=None)
@given(st.lists(st.text() | st.sampled_from(["Good.", "Bad!", "So good, but bad"]), max_size=6))
def test_a_number_does_not_depend_on_the_other_texts(texts: list[str]) -> None:
    alone = np.array([score([text])[0] for text in texts])

    together = score(texts + texts[::-1])

    assert np.array_equal(together, np.concatenate([alone, alone[::-1]]), equal_nan=True)
    assert (np.abs(alone[~np.isnan(alone)]) <= 1).all()


@pytest.mark.parametrize(
    "part", ["good bad but ", "not ", ". ", "\n", "!", "a", ".)", "\U0001f600 a"]
)
def test_a_long_answer_is_read_in_linear_time(part: str) -> None:
    before = time.process_time()

    score([part * (100_000 // len(part))])

    # Linear, this takes 0.3 s; VADER itself takes minutes over "good bad but ".
    assert time.process_time() - before < 5
