"""What pools find: worked by hand, and by simulating the tests themselves."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from caffe_pytest.oracles.gap import Criterion
from caffe_pytest.oracles.permutation import extremeness, relabel
from caffe_pytest.oracles.pool import Pool
from caffe_pytest.oracles.power import (
    MOST_PROMPTS,
    Detectable,
    Noise,
    corrected_level,
    detectable,
    fewest,
    measure_noise,
    pooled_noise,
    prompts_needed,
    smallest_p_value,
)
from caffe_pytest.oracles.questions import MeanDifference, PhraseShares, SimilarityGap
from tests.oracles.pools import pool_of

Numbers = NDArray[np.float64]
ROUNDS = 300
"""A power of 80 % is then simulated to 2.3 points, one standard deviation."""


def found(pool: Pool, level: float, draw: Callable[[np.random.Generator], Numbers]) -> float:
    """Share of simulated pools in which relabelling finds the drawn values to differ."""
    labels = relabel(pool.prompt, pool.first, draws=2000).labels
    hits = 0
    for number in range(ROUNDS):
        question = MeanDifference(draw(np.random.default_rng(number)))
        statistic = question.statistic(pool, labels, pool.prompt)
        hits += bool(extremeness(statistic)[0] <= level)
    return hits / ROUNDS


def test_a_level_is_shared_out_to_questions_and_pools() -> None:
    assert corrected_level(0.05, 5, 2) == pytest.approx(0.005)
    assert corrected_level(0.05, 0, 0) == 0.05


def test_the_smallest_mean_is_near_what_the_normal_distribution_gives_by_hand() -> None:
    # 2.802 = 1.960 + 0.842, and 5000 answers a side: 2.802 * sqrt(2 / 5000) = 0.05603
    smallest = detectable(1000, 5, 0.05).mean_in_sd

    assert smallest == pytest.approx(0.05603, abs=5e-5)


def test_the_smallest_share_is_that_of_fishers_test_worked_by_hand() -> None:
    # 4 answers a side, none about the other group holds it (base 0). One-sided tails: 4 of 4
    # against 0 of 4: 1/70, so p = 2/70 = 0.029; 3 of 4: 2 * 5/70 = 0.14. So all 4 are needed, in 80
    # % of pools: share^4 = 0.8, share = 0.9457.
    smallest = detectable(2, 2, 0.06, base=0.0).share

    assert smallest == pytest.approx(0.8**0.25, abs=1e-5)


@pytest.mark.parametrize(("prompts", "repeats", "level"), [(48, 2, 0.05), (24, 3, 0.005)])
def test_four_of_five_simulated_pools_find_the_smallest_mean(
    prompts: int, repeats: int, level: float
) -> None:
    smallest = detectable(prompts, repeats, level).mean_in_sd
    pool = pool_of(prompts, repeats)

    def draw(random: np.random.Generator) -> Numbers:
        of_prompts = 5 * random.normal(size=prompts)  # what differs between prompts costs nothing
        shift = (smallest or math.nan) * pool.first
        return of_prompts[pool.prompt] + random.normal(size=len(pool.prompt)) + shift

    assert found(pool, level, draw) == pytest.approx(0.8, abs=0.06)


@pytest.mark.parametrize(("prompts", "repeats", "level"), [(48, 2, 0.05), (24, 3, 0.005)])
def test_four_of_five_simulated_pools_find_the_smallest_share(
    prompts: int, repeats: int, level: float
) -> None:
    smallest = detectable(prompts, repeats, level).share
    pool = pool_of(prompts, repeats)

    def draw(random: np.random.Generator) -> Numbers:
        chance = np.where(pool.first, 0.02 + (smallest or math.nan), 0.02)
        return (random.random(len(pool.prompt)) < chance).astype(np.float64)

    assert found(pool, level, draw) == pytest.approx(0.8, abs=0.07)


def test_more_prompts_more_answers_and_a_higher_level_find_smaller_differences() -> None:
    growing = [(12, 2, 0.005), (48, 2, 0.005), (48, 5, 0.005), (48, 5, 0.05)]

    sizes = [detectable(*size) for size in growing]

    assert [one.share for one in sizes] == sorted((one.share or 1 for one in sizes), reverse=True)
    assert [one.mean_in_sd for one in sizes] == sorted(
        (one.mean_in_sd or 9 for one in sizes), reverse=True
    )


@pytest.mark.parametrize(
    ("prompts", "repeats", "level"),
    [
        (1, 2, 0.05),  # 6 labellings: no p-value below 2/6
        (2, 2, 0.05),  # 36: none below 2/36 = 0.056
        (48, 2, 0.05 / 600),  # 10,000 relabellings: none below 1/10,000
    ],
)
def test_what_no_relabelling_can_show_is_found_by_no_pool(
    prompts: int, repeats: int, level: float
) -> None:
    assert detectable(prompts, repeats, level) == Detectable(None, None)


def test_the_smallest_p_value_of_few_relabellings_is_that_of_the_two_extreme_ones() -> None:
    assert smallest_p_value(3, 2) == pytest.approx(2 / 216)
    assert smallest_p_value(100, 2) == 1 / 10_000


@pytest.mark.parametrize("size", [(0, 2, 0.05), (4, 0, 0.05), (4, 2, 0.0), (4, 2, 1.0)])
def test_no_pool_finds_nothing(size: tuple[int, int, float]) -> None:
    with pytest.raises(ValueError, match="no pool"):
        detectable(*size)


def test_the_prompts_needed_are_just_enough() -> None:
    wanted = Detectable(share=0.1, mean_in_sd=0.3)

    needed = prompts_needed(wanted, 2, 0.005)

    assert needed is not None
    enough, too_few = detectable(needed, 2, 0.005), detectable(needed - 1, 2, 0.005)
    assert (enough.share or 1) <= 0.1
    assert (enough.mean_in_sd or 1) <= 0.3
    assert (too_few.share or 1) > 0.1 or (too_few.mean_in_sd or 1) > 0.3


def test_what_is_not_wanted_needs_no_prompts() -> None:
    assert prompts_needed(Detectable(None, 0.3), 2, 0.005) == prompts_needed(
        Detectable(0.9, 0.3), 2, 0.005
    )
    assert prompts_needed(Detectable(None, 0.0), 2, 0.005) is None


@pytest.mark.parametrize("wanted", [1, 2, 3, 47, 48, 49, 1000])
def test_the_fewest_are_found(wanted: int) -> None:
    assert fewest(lambda prompts: prompts >= wanted) == wanted
    assert fewest(lambda prompts: prompts > MOST_PROMPTS * 2) is None


def test_the_noise_of_a_mean_is_that_of_its_answers() -> None:
    # answers of standard deviation 3, 4 a side: sqrt(2/4) * 3 = 2.121
    pool = pool_of(200, 4)
    values = 3 * np.random.default_rng(1).normal(size=len(pool.prompt)) + 100 * pool.prompt

    noise = measure_noise(
        pool, Criterion("length", MeanDifference(values), 1), repeats=4, level=0.05
    )

    assert noise is not None
    assert noise.spread == pytest.approx(3 * math.sqrt(0.5), rel=0.1)
    smallest = detectable(48, 2, 0.005).mean_in_sd or math.nan
    assert noise.smallest(48, 2, 0.005) == pytest.approx(3 * smallest, rel=0.1)


def test_what_the_group_does_is_not_noise() -> None:
    # within a prompt pair a shift of 0.5 adds 0.5^2 / 3 to the variance of 4 answers: 4 % of spread
    pool = pool_of(2000, 2)
    values = np.random.default_rng(1).normal(size=len(pool.prompt)) + 0.5 * pool.first

    noise = measure_noise(pool, Criterion("tone", MeanDifference(values), 1), repeats=2, level=0.05)

    assert noise is not None
    assert noise.spread == pytest.approx(1.04, rel=0.1)


def test_the_noise_of_logarithms_is_told_as_a_ratio() -> None:
    noise = Noise("ratio", math.sqrt(2 / 2) * 0.1, 48, 2)

    smallest = 0.1 * (detectable(48, 2, 0.05).mean_in_sd or math.nan)

    assert noise.smallest(48, 2, 0.05) == pytest.approx(math.exp(smallest) - 1)


def test_no_case_seen_is_not_no_noise() -> None:
    pool = pool_of(24, 2)
    nothing = MeanDifference(np.zeros(len(pool.prompt)))

    noise = measure_noise(
        pool, Criterion("refusal", nothing, 0.05, of_shares=True), repeats=2, level=0.05
    )

    assert noise == Noise("share", 0.0, 24, 2)
    assert noise.smallest(24, 2, 0.05) == detectable(24, 2, 0.05).share


def test_what_cannot_be_compared_has_no_noise() -> None:
    pool = pool_of(4, 2)
    missing = MeanDifference(np.full(len(pool.prompt), np.nan))

    assert measure_noise(pool, Criterion("length", missing, 1), repeats=2, level=0.05) is None


def vectors(random: np.random.Generator, prompts: int, repeats: int, gap: float) -> SimilarityGap:
    """Answers as vectors of 20 numbers; the groups' means are so far apart that the gap is `gap`.

    Of dot products, within less across is half the squared distance of the means.
    """
    apart = random.normal(size=(prompts, 1, 20))
    apart *= math.sqrt(2 * gap) / np.linalg.norm(apart, axis=2, keepdims=True)
    first = np.repeat([1.0, 0.0], repeats)[None, :, None]
    answers = 0.1 * random.normal(size=(prompts, 2 * repeats, 20)) + first * apart
    places = np.arange(prompts * 2 * repeats).reshape(prompts, -1)
    return SimilarityGap(np.einsum("pid,pjd->pij", answers, answers), places)


@pytest.mark.parametrize(("prompts", "repeats"), [(48, 2), (24, 3)])
def test_about_four_of_five_simulated_pools_find_the_smallest_gap(
    prompts: int, repeats: int
) -> None:
    # the noise is measured on another pool, of two answers: pilot and plan differ in size
    pilot = Criterion("semantic", vectors(np.random.default_rng(1), 48, 2, 0.0), 0.05)
    noise = measure_noise(pool_of(48, 2), pilot, repeats=2, level=0.05)
    assert noise is not None
    smallest = noise.smallest(prompts, repeats, 0.05)
    assert smallest is not None
    pool = pool_of(prompts, repeats)
    labels = relabel(pool.prompt, pool.first, draws=1000).labels

    hits = 0
    for number in range(100):
        question = vectors(np.random.default_rng(100 + number), prompts, repeats, smallest)
        hits += bool(extremeness(question.statistic(pool, labels, pool.prompt))[0] <= 0.05)

    assert 0.65 <= hits / 100 <= 0.95


def test_the_noise_of_wording_is_the_largest_of_its_phrases() -> None:
    pool = pool_of(48, 2)
    holds = (np.random.default_rng(1).random((len(pool.prompt), 300)) < 0.2).astype(np.float32)
    question = PhraseShares(holds, np.ones(len(pool.prompt), dtype=bool))

    noise = measure_noise(pool, Criterion("wording", question, 0.05), repeats=2, level=0.05)

    # of 300 independent phrases, 5 % at most: 2 (1 - Phi(z)) = 0.05 / 300, z = 3.76
    assert noise is not None
    assert noise.spread == pytest.approx(3.76, abs=0.35)
    assert (noise.smallest(48, 2, 0.05) or 0) > (detectable(48, 2, 0.05).share or 1)


def test_pools_are_as_heavy_as_their_prompts() -> None:
    # sqrt((1 * 10 + 9 * 30) / 40) = sqrt(7)
    noises = [Noise("mean", 1.0, 10, 2), Noise("mean", 3.0, 30, 2)]

    pooled = pooled_noise(noises)

    assert pooled.spread == pytest.approx(math.sqrt(7))
    assert pooled.compared == 40
