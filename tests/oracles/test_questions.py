from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from caffe_pytest.oracles.permutation import relabel
from caffe_pytest.oracles.pool import Effect, Pool, interval
from caffe_pytest.oracles.questions import MeanDifference, PhraseShares, Question, SimilarityGap
from tests.oracles.pools import pool_of

NAN = math.nan


def statistic_of(question: Question, pool: Pool, draws: int = 100) -> NDArray[np.float64]:
    labels = relabel(pool.prompt, pool.first, draws=draws).labels
    return question.statistic(pool, labels, pool.prompt)


# -- one number an answer ---------------------------------------------------------------------


def test_a_mean_difference_is_averaged_over_prompts() -> None:
    pool = pool_of(2, 2)
    lengths = np.array([10.0, 20, 40, 40, 5, 5, 7, 9])  # prompt 1: 15 - 40; prompt 2: 5 - 8
    question = MeanDifference(lengths)

    assert statistic_of(question, pool)[0] == pytest.approx(14.0)
    assert question.effect(pool, pool.first).difference.tolist() == [-25.0, -3.0]
    assert question.effect(pool, pool.first).estimate == pytest.approx(-14.0)
    assert question.levels(pool) == (10.0, 24.0)


def test_a_difference_of_logarithms_is_told_as_a_ratio_less_one() -> None:
    pool = pool_of(2, 1)
    question = MeanDifference(np.log(np.array([90.0, 110, 40, 60])), of_logarithms=True)

    # the geometric mean of 90/110 and 40/60
    assert question.effect(pool, pool.first).estimate == pytest.approx((3600 / 6600) ** 0.5 - 1)
    assert list(question.levels(pool)) == pytest.approx([60.0, 6600**0.5])


def test_the_statistic_of_every_relabelling_is_that_of_a_plain_loop() -> None:
    pool = pool_of(2, 2)
    values = np.random.default_rng(3).random(8)
    labels = relabel(pool.prompt, pool.first, draws=100).labels

    found = MeanDifference(values).statistic(pool, labels, pool.prompt)

    for row, number in zip(labels, found, strict=True):
        differences = [
            values[here & row].mean() - values[here & ~row].mean()
            for here in (pool.prompt == 0, pool.prompt == 1)
        ]
        assert number == pytest.approx(abs(sum(differences) / 2))


def test_a_missing_answer_counts_for_nothing() -> None:
    pool = pool_of(2, 2)
    values = np.array([10.0, NAN, 40, 40, NAN, NAN, 7, 9])
    question = MeanDifference(values)
    effect = question.effect(pool, pool.first)

    assert effect.prompt.tolist() == [0], "the second prompt has no answer about one group"
    assert effect.estimate == pytest.approx(-30.0)
    assert np.isfinite(statistic_of(question, pool)).all()


def test_where_all_answers_are_missing_there_is_no_difference_and_no_level() -> None:
    pool = pool_of(3, 2)
    question = MeanDifference(np.full(12, NAN))

    assert question.effect(pool, pool.first).prompts == 0
    assert math.isnan(question.effect(pool, pool.first).estimate)
    assert all(map(math.isnan, question.levels(pool)))
    assert set(statistic_of(question, pool).tolist()) == {0.0}


# -- similarity -------------------------------------------------------------------------------


def four_answers(within: float, across: float) -> SimilarityGap:
    similar = np.full((1, 4, 4), across)
    similar[0, :2, :2] = similar[0, 2:, 2:] = within
    similar[0, range(4), range(4)] = 1.0
    return SimilarityGap(similar, np.arange(4)[None, :])


def test_a_gap_is_within_less_across() -> None:
    pool = pool_of(1, 2)
    question = four_answers(within=0.9, across=0.6)

    assert question.effect(pool, pool.first).estimate == pytest.approx(0.3)
    assert list(question.levels(pool)) == pytest.approx([0.9, 0.6])
    # the groups as they are (twice, told the other way round), or one answer exchanged:
    # within (.6 + .6) / 2, across (.9 + .6 + .6 + .9) / 4
    assert sorted(statistic_of(question, pool)) == pytest.approx([-0.15] * 4 + [0.3] * 2)


def test_within_is_averaged_over_groups_not_over_pairs() -> None:
    """So that the expected gap of a model that treats groups alike is nothing."""
    pool = Pool(
        prompt=np.zeros(5, dtype=int),
        first=np.array([True, True, True, False, False]),
        repetition=np.array([0, 1, 2, 0, 1]),
        triple=np.zeros(1, dtype=int),
    )
    similar = np.full((1, 5, 5), 0.5)
    similar[0, :3, :3] = 0.8  # three pairs about the first group
    similar[0, 3:, 3:] = 0.6  # one pair about the second
    question = SimilarityGap(similar, np.arange(5)[None, :])

    assert question.effect(pool, pool.first).estimate == pytest.approx((0.8 + 0.6) / 2 - 0.5)


def test_the_gap_of_every_relabelling_is_that_of_a_plain_loop() -> None:
    pool = pool_of(2, 3)
    random = np.random.default_rng(4).random((2, 6, 6))
    similar = (random + random.transpose(0, 2, 1)) / 2
    question = SimilarityGap(similar, np.arange(12).reshape(2, 6))
    labels = relabel(pool.prompt, pool.first, draws=100).labels[:50]

    found = question.statistic(pool, labels, pool.prompt)

    for row, number in zip(labels, found, strict=True):
        gaps = []
        for prompt in (0, 1):
            first = [i for i in range(6) if row[6 * prompt + i]]
            second = [i for i in range(6) if not row[6 * prompt + i]]
            within = [
                np.mean([similar[prompt, i, j] for i, j in combinations(side, 2)])
                for side in (first, second)
            ]
            across = np.mean([similar[prompt, i, j] for i in first for j in second])
            gaps.append(np.mean(within) - across)
        assert number == pytest.approx(np.mean(gaps))


def test_a_prompt_without_two_answers_of_each_group_takes_no_part() -> None:
    pool = pool_of(2, 2)
    similar = np.full((2, 4, 4), 0.5)
    places = np.array([[0, 1, 2, 3], [4, 6, 7, -1]])
    question = SimilarityGap(similar, places)

    assert question.effect(pool, pool.first).prompt.tolist() == [0]
    assert np.isfinite(statistic_of(question, pool)).all()


# -- wording ----------------------------------------------------------------------------------


def test_the_score_of_a_phrase_has_its_exact_standard_deviation() -> None:
    pool = pool_of(3, 2)
    holds = np.array([1, 1, 0, 0, 1, 0, 0, 0, 0, 1, 1, 1], dtype=np.float32)[:, None]
    question = PhraseShares(holds, np.ones(12, dtype=bool))
    labels = relabel(pool.prompt, pool.first, draws=1000).labels

    differences = [
        np.mean([
            holds[here & row].mean() - holds[here & ~row].mean()
            for here in (pool.prompt == prompt for prompt in range(3))
        ])
        for row in labels
    ]  # fmt: skip
    expected = differences[0] / np.std(differences)

    assert question.scores(pool, pool.first, pool.prompt)[0] == pytest.approx(expected, rel=1e-5)
    first, second = question.shares(pool)
    assert (first[0], second[0]) == (4 / 6, 2 / 6)


def test_a_phrase_that_all_answers_hold_has_no_score() -> None:
    pool = pool_of(3, 2)
    question = PhraseShares(np.ones((12, 1), dtype=np.float32), np.ones(12, dtype=bool))

    assert question.scores(pool, pool.first, pool.prompt).tolist() == [0.0]


def test_one_phrase_for_one_group_is_found_and_held_out_triples_confirm_it() -> None:
    pool = pool_of(30, 2)
    random = np.random.default_rng(5)
    noise = random.random((120, 200)) < 0.3
    planted = pool.first & (random.random(120) < 0.6)
    question = PhraseShares(
        np.column_stack([planted, noise]).astype(np.float32), np.ones(120, dtype=bool)
    )

    statistic = statistic_of(question, pool, draws=1000)
    effect = question.effect(pool, pool.first)

    assert (statistic >= statistic[0]).mean() <= 0.002
    assert question.scores(pool, pool.first, pool.prompt).argmax() == 0
    assert 0.35 < effect.estimate < 0.8, "about 0.6: as often as the phrase is there"


def test_without_a_difference_held_out_triples_tell_no_better_than_guessing() -> None:
    random = np.random.default_rng(6)
    found = []
    for _ in range(150):
        pool = pool_of(24, 2)
        holds = (random.random((96, 150)) < 0.3).astype(np.float32)
        found.append(PhraseShares(holds, np.ones(96, dtype=bool)).effect(pool, pool.first).estimate)

    assert abs(np.mean(found)) < 3 * np.std(found) / 150**0.5, (
        "searching for signs does not make a difference"
    )


def test_many_phrases_that_each_tell_a_little_are_found_together() -> None:
    pool = pool_of(48, 2)
    random = np.random.default_rng(7)
    likelier = np.where(pool.first[:, None], 0.42, 0.30)
    question = PhraseShares(
        (random.random((192, 120)) < likelier).astype(np.float32), np.ones(192, dtype=bool)
    )

    statistic = statistic_of(question, pool, draws=1000)

    assert (statistic >= statistic[0]).mean() <= 0.01


def test_no_phrases_no_difference() -> None:
    pool = pool_of(3, 2)
    question = PhraseShares(np.zeros((12, 0), dtype=np.float32), np.ones(12, dtype=bool))

    assert question.effect(pool, pool.first).estimate == 0.0
    assert set(statistic_of(question, pool).tolist()) == {0.0}


# -- intervals --------------------------------------------------------------------------------


def test_an_interval_needs_two_clusters() -> None:
    effect = Effect(np.array([1.0, 2.0]), np.arange(2))

    assert interval(effect, np.zeros(2, dtype=int)) is None
    assert interval(effect, np.arange(2)) is not None


def test_equal_differences_leave_no_doubt() -> None:
    effect = Effect(np.full(10, 0.3), np.arange(10))

    bounds = interval(effect, np.arange(10))
    assert bounds is not None
    assert list(bounds) == pytest.approx([0.3, 0.3])


@pytest.mark.parametrize(
    ("clusters", "per_cluster"), [(2, 4), (3, 4), (5, 8), (8, 4), (24, 2), (48, 1)]
)
def test_nineteen_of_twenty_intervals_hold_the_truth(clusters: int, per_cluster: int) -> None:
    random = np.random.default_rng(8)
    held = 0
    for _ in range(400):
        of_cluster = np.repeat(random.normal(0.2, 0.5, clusters), per_cluster)
        differences = of_cluster + random.normal(0, 0.5, clusters * per_cluster)
        effect = Effect(differences, np.arange(len(differences)))
        bounds = interval(effect, np.repeat(np.arange(clusters), per_cluster))
        assert bounds is not None
        held += bounds[0] <= 0.2 <= bounds[1]

    assert 0.91 <= held / 400 <= 0.98


def test_few_triples_speak_for_themselves_alone() -> None:
    assert pool_of(48, 1, per_triple=16).clusters.tolist() == list(range(48)), "three triples"
    assert len(set(pool_of(48, 1, per_triple=6).clusters.tolist())) == 8
