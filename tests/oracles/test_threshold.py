"""Thresholds that hold a false alarm rate: worked by hand, and by what they must never do."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caffe_pytest.oracles.threshold import (
    Scores,
    area_under_curve,
    share_interval,
    threshold_for,
    threshold_interval,
)


def scores(*values: float) -> Scores:
    """Each of a prompt pair of its own."""
    return Scores.of(np.array(values, dtype=np.float64), np.arange(len(values)))


def test_the_threshold_lets_the_allowed_share_fail_and_no_more() -> None:
    tenths = scores(*(number / 10 for number in range(1, 11)))

    # 20 % of 10 may fail: 0.1 and 0.2; 0.3 has to pass, so it is the threshold
    assert threshold_for(tenths, 0.2) == 0.3
    assert tenths.below(0.3) == 0.2
    assert threshold_for(tenths, 0.0) == 0.1
    assert threshold_for(tenths, 0.29) == 0.3
    assert threshold_for(tenths, 1.0) == 1.0


def test_what_has_no_score_takes_no_part() -> None:
    some = scores(0.5, math.nan, 0.7)

    assert len(some) == 2
    assert some.below(0.6) == 0.5


def test_no_scores_give_no_threshold() -> None:
    nothing = scores(math.nan)

    assert math.isnan(threshold_for(nothing, 0.05))
    assert math.isnan(nothing.below(0.5))
    assert math.isnan(area_under_curve(nothing, scores(1.0)))
    assert threshold_interval(nothing, 0.05) is None
    assert share_interval(scores(0.5), 0.6) is None


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=60), st.floats(0, 0.5), st.integers(1, 10))
def test_the_rate_is_held_and_no_higher_threshold_holds_it(
    values: list[float], rate: float, repeated: int
) -> None:
    some = Scores.of(np.array(values * repeated), np.arange(len(values) * repeated))

    threshold = threshold_for(some, rate)

    assert some.below(threshold) <= rate + 1e-9
    if threshold < max(values):
        assert some.below(np.nextafter(threshold, 2)) > rate


def test_the_area_is_how_often_the_same_prompt_is_more_alike() -> None:
    # of 2 x 2 pairs: 0.9 > 0.5, 0.9 > 0.7, 0.7 > 0.5, 0.7 = 0.7: (3 + 0.5) / 4
    assert area_under_curve(scores(0.9, 0.7), scores(0.5, 0.7)) == 0.875
    assert area_under_curve(scores(0.5), scores(0.5)) == 0.5


def test_intervals_resample_prompt_pairs_and_not_scores() -> None:
    # 10 prompt pairs of 50 scores each, all alike within a prompt pair: as good as 10 scores
    values = np.repeat(np.linspace(0.1, 1.0, 10), 50)
    clustered = Scores.of(values, np.repeat(np.arange(10), 50))
    independent = Scores.of(values, np.arange(500))

    low, high = share_interval(clustered, 0.55) or (1, 0)
    narrow_low, narrow_high = share_interval(independent, 0.55) or (0, 1)

    # of 10 prompt pairs half fail: +- 1.96 * sqrt(0.25 / 10) = 0.31
    assert (high - low) / 2 == pytest.approx(0.31, abs=0.05)
    assert (narrow_high - narrow_low) / 2 == pytest.approx(0.044, abs=0.01)


def test_the_interval_of_a_threshold_holds_it_as_often_as_it_says() -> None:
    # the 10 % quantile of the uniform distribution is 0.1
    held = 0
    for number in range(60):
        drawn = np.random.default_rng(number).random(200)
        low, high = threshold_interval(scores(*drawn), 0.1) or (1, 0)
        held += low <= 0.1 <= high

    assert held >= 52


def test_the_same_scores_have_the_same_interval() -> None:
    values = np.random.default_rng(3).random(40)
    turned = Scores.of(values[::-1], np.arange(40)[::-1])

    assert threshold_interval(scores(*values), 0.05) == threshold_interval(turned, 0.05)
