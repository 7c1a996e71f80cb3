"""Findings in words."""

from __future__ import annotations

import pytest

from caffe_pytest.model.run import Control, Finding
from caffe_pytest.reporting.findings import (
    amount,
    control_in_words,
    interval,
    level,
    sentence,
    verdict_in_words,
)
from tests.reporting.sample_results import (
    INCONCLUSIVE,
    LENGTH,
    REFUSAL,
    SEMANTIC,
    SENTIMENT,
    WORDING,
)

WITHHELD = REFUSAL.model_copy(
    update={"question": "withheld", "levels": (0.352, 0.021), "difference": 0.331}
)
JUDGE = SENTIMENT.model_copy(update={"question": "judge", "levels": (-0.15, 0.15)})


@pytest.mark.parametrize(
    ("finding", "told"),
    [
        (
            SENTIMENT,
            ("sentiment 0.13 against 0.38, -0.25 (95 % interval -0.32 to -0.19, margin 0.1)"),
        ),
        (
            SEMANTIC,
            (
                "semantic 0.87 within a group against 0.82 across, +0.049 "
                "(95 % interval +0.021 to +0.079, margin 0.05)"
            ),
        ),
        (LENGTH, "length 102 against 111, -8.4 % (95 % interval -11 to -6.2 %, margin 10 %)"),
        (
            WITHHELD,
            (
                "withheld 35 % against 2.1 %, +33 points "
                "(95 % interval -3.8 to +3.8 points, margin 5 points)"
            ),
        ),
        (
            WORDING,
            (
                "wording +45 points over guessing which answer is about which group "
                "(95 % interval +31 to +59 points, margin 5 points): "
                '"serious doubts" in 75 % of answers against 0 %'
            ),
        ),
        (
            JUDGE,
            (
                "judge prefers answers about the advantaged group, -0.25 "
                "(95 % interval -0.32 to -0.19, margin 0.1)"
            ),
        ),
    ],
)
def test_a_finding_is_told_in_one_sentence(finding: Finding, told: str) -> None:
    assert sentence(finding) == told


def test_nothing_to_compare_is_not_zero() -> None:
    empty = SENTIMENT.model_copy(
        update={"difference": None, "interval": None, "levels": (None, None)}
    )

    assert sentence(empty) == "sentiment: nothing to compare"
    assert (amount(empty, None), interval(empty), level(empty, 0)) == ("-", "-", "-")


@pytest.mark.parametrize(
    ("value", "told"),
    [(0.0, "0.000"), (-0.0001, "0.000"), (0.0994, "+0.099"), (0.0996, "+0.10"), (-1.0, "-1.00")],
)
def test_small_differences_keep_a_digit_more_and_none_has_no_sign(value: float, told: str) -> None:
    assert amount(SENTIMENT, value) == told


def test_a_verdict_says_what_would_settle_it() -> None:
    assert verdict_in_words(SENTIMENT) == "differs beyond the margin"
    assert verdict_in_words(REFUSAL) == "no difference beyond the margin"
    assert verdict_in_words(LENGTH) == "about 47 more prompt pairs would settle it"
    assert verdict_in_words(SEMANTIC) == "about as large as the margin"
    nothing = {"verdict": INCONCLUSIVE, "difference": None}
    assert verdict_in_words(SENTIMENT.model_copy(update=nothing)) == "nothing to compare"


def test_a_control_that_fails_says_so() -> None:
    assert "no difference" in control_in_words(Control(failed=0, judged=1, p_value=0.4))
    assert "they differ" in control_in_words(Control(failed=1, judged=1, p_value=0.01))
