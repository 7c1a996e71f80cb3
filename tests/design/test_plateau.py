"""Where the vocabulary of prompts levels off, against numbers worked out by hand."""

from __future__ import annotations

from collections import Counter

import pytest

from caffe_pytest.design.plateau import PlateauFound, entropy, find_plateau
from caffe_pytest.model.test_case import Plateau

NEW_WORDS = [f"a{number} b{number}" for number in range(40)]
"""Prompts of which each brings two new words."""


@pytest.mark.parametrize(
    ("words", "bits"),
    [
        ({}, 0.0),
        # one word: nothing to be uncertain of, and m - 1 = 0
        ({"a": 7}, 0.0),
        # 1 bit + (2 - 1) / (2 * 2 * ln 2) = 1 + 0.360674
        ({"a": 1, "b": 1}, 1.360674),
        # 1 bit + 1 / (2 * 4 * ln 2) = 1 + 0.180337
        ({"a": 2, "b": 2}, 1.180337),
        # 2 bits + 3 / (2 * 4 * ln 2) = 2 + 0.541011
        ({"a": 1, "b": 1, "c": 1, "d": 1}, 2.541011),
        # 3/4 log2 4/3 + 1/4 log2 4 = 0.811278, + 1 / (2 * 4 * ln 2) = 0.180337
        ({"a": 3, "b": 1}, 0.991615),
        # 1/2 * 1 + 1/4 * 2 + 1/4 * 2 = 1.5, + 2 / (2 * 4 * ln 2) = 0.360674
        ({"a": 2, "b": 1, "c": 1}, 1.860674),
    ],
)
def test_entropy_with_the_correction_of_miller_and_madow(
    words: dict[str, int], bits: float
) -> None:
    assert entropy(Counter(words)) == pytest.approx(bits, abs=1e-6)


def test_the_same_prompt_over_and_over_brings_nothing_after_the_first() -> None:
    # H = 1.3607, 1.1803, 1.1202, 1.0902: prompts 2, 3 and 4 gain nothing
    found = find_plateau(["a b"] * 20, Plateau(patience=3))

    assert found == PlateauFound(prompts=4, reached=True)


def test_a_prompt_with_something_new_begins_the_count_anew() -> None:
    # H = 1.3607, 1.1803 (quiet), 1.8113 + 3 / (16 ln 2) = 2.0818 (new),
    # 1.9183 + 3 / (24 ln 2) = 2.0986 (+0.0168: quiet), 1.9544 + 3 / (32 ln 2) = 2.0897 (quiet)
    prompts = ["a b", "a b", "c d a b", "a b c d", "a b c d", "e f"]

    found = find_plateau(prompts, Plateau(epsilon=0.02, patience=2))

    assert found == PlateauFound(prompts=5, reached=True)


@pytest.mark.parametrize(("epsilon", "expected"), [(0.7, 3), (0.4, 5), (0.2, 8)])
def test_a_gain_below_epsilon_is_nothing_new(epsilon: float, expected: int) -> None:
    # 2, 4, ..., 16 words once each: H = log2 w + (w - 1) / (2 w ln 2)
    #   = 1.3607, 2.5410, 3.1861, 3.6312, 3.9711, 4.2462, 4.4772, 4.6763
    # gains   1.1803, 0.6451, 0.4451, 0.3400, 0.2751, 0.2310, 0.1991
    found = find_plateau(NEW_WORDS, Plateau(epsilon=epsilon, patience=1))

    assert found == PlateauFound(expected, reached=True)


def test_new_words_in_every_prompt_lead_to_no_plateau() -> None:
    found = find_plateau(NEW_WORDS, Plateau(epsilon=0.001, at_most=30))

    assert found == PlateauFound(prompts=30, reached=False)


def test_where_the_templates_end_the_plateau_is_not_reached() -> None:
    found = find_plateau(NEW_WORDS[:5], Plateau(epsilon=0.001, at_most=30))

    assert found == PlateauFound(prompts=5, reached=False)


def test_no_prompts_are_no_plateau() -> None:
    assert find_plateau([], Plateau()) == PlateauFound(prompts=0, reached=False)


@pytest.mark.parametrize("prompts", [NEW_WORDS, ["a b"] * 20, [" ".join(NEW_WORDS)] * 20])
def test_entropy_per_token_ends_at_the_fourth_prompt_whatever_the_prompts_are(
    prompts: list[str],
) -> None:
    # the paper's h_N = H(T_N) / |T_N| can only fall: 1.3607 / 2, 2.5410 / 4, 3.1861 / 6, ...
    found = find_plateau(prompts, Plateau(measure="entropy-per-token"))

    assert found == PlateauFound(prompts=4, reached=True)


def test_patience_decides_how_many_quiet_prompts_it_takes() -> None:
    found = [find_plateau(["a b"] * 20, Plateau(patience=patience)) for patience in (1, 2, 5)]

    assert [plateau.prompts for plateau in found] == [2, 3, 6]


def test_words_are_counted_whatever_their_case_and_punctuation() -> None:
    found = find_plateau(["Hello, world!", "hello world", "WORLD: hello?", "(hello) world"],
                         Plateau(patience=3))  # fmt: skip

    assert found == PlateauFound(prompts=4, reached=True)


def test_no_more_prompts_are_taken_from_the_source_than_are_needed() -> None:
    source = iter(["a b"] * 20)

    find_plateau(source, Plateau(patience=3))

    assert len(list(source)) == 16
