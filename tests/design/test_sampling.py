"""How many pairs are a large enough sample, and which ones they are."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caffe_pytest.design.sampling import draw, sample_size
from caffe_pytest.model.test_case import Sample


@pytest.mark.parametrize(
    ("population", "margin", "confidence", "expected"),
    [
        # n0 = 1.959964^2 * 0.25 / 0.05^2 = 384.146
        (10**9, 0.05, 0.95, 385),
        (1000, 0.05, 0.95, 278),  # 384.146 / (1 + 383.146 / 1000) = 277.74
        (100, 0.05, 0.95, 80),  # 384.146 / (1 + 3.83146) = 79.51
        # n0 = 2.575829^2 * 0.25 / 0.01^2 = 16587.2
        (10**9, 0.01, 0.99, 16587),  # 16587.2 / 1.0000166 = 16586.96
        (5000, 0.01, 0.99, 3843),  # 16587.2 / (1 + 16586.2 / 5000) = 3842.0...
        # n0 = 1.644854^2 * 0.25 / 0.1^2 = 67.64
        (200, 0.1, 0.9, 51),  # 67.64 / (1 + 66.64 / 200) = 50.74
        (1, 0.05, 0.95, 1),
        (2, 0.05, 0.95, 2),
        (0, 0.05, 0.95, 0),
        (10, 0.999, 0.5, 1),
        (1, 0.999, 0.5, 1),
        (50, 0.001, 0.9999, 50),
    ],
)
def test_the_size_of_a_sample_by_cochran(
    population: int, margin: float, confidence: float, expected: int
) -> None:
    assert sample_size(population, margin, confidence) == expected


@settings(deadline=None)
@given(
    population=st.integers(1, 10**6),
    margin=st.floats(0.001, 0.999),
    confidence=st.floats(0.5, 0.9999),
)
def test_a_sample_is_never_empty_and_never_more_than_there_is(
    population: int, margin: float, confidence: float
) -> None:
    assert 1 <= sample_size(population, margin, confidence) <= population


def test_a_draw_is_sorted_and_without_repetition() -> None:
    drawn = draw(1000, Sample(), "question/gender")

    assert len(drawn) == 278
    assert drawn == sorted(set(drawn))
    assert 0 <= drawn[0] <= drawn[-1] < 1000


def test_the_same_seed_draws_the_same() -> None:
    assert draw(500, Sample(seed=4), "a") == draw(500, Sample(seed=4), "a")


def test_seed_and_stratum_change_the_draw() -> None:
    drawn = {
        tuple(draw(500, Sample(seed=seed), stratum)) for seed in (0, 1) for stratum in ("a", "b")
    }

    assert len(drawn) == 4


def test_a_small_population_is_taken_whole() -> None:
    assert draw(3, Sample(), "a") == [0, 1, 2]
    assert draw(0, Sample(), "a") == []


def test_every_part_of_the_population_is_reached() -> None:
    reached = {index for seed in range(40) for index in draw(200, Sample(seed=seed), "a")}

    assert reached == set(range(200))
