from __future__ import annotations

import numpy as np
import pytest

from caffe_pytest.model.verdict import Verdict
from caffe_pytest.oracles.gap import (
    Criterion,
    Measured,
    control_alarm,
    decide,
    examine,
    examine_control,
    smallest_p_value,
)
from caffe_pytest.oracles.pool import Pool
from caffe_pytest.oracles.questions import MeanDifference
from tests.oracles.pools import pool_of

QUESTION = MeanDifference(np.zeros(4))


def measured(
    difference: float | None = 0.0,
    interval: tuple[float, float] | None = (-0.02, 0.02),
    *,
    margin: float = 0.05,
    p_value: float = 0.8,
    compared: int = 48,
    both_sides: bool = True,
) -> Measured:
    criterion = Criterion("length", QUESTION, margin, both_sides=both_sides)
    return Measured(criterion, difference, interval, (None, None), p_value, compared)


def verdict_of(
    *questions: Measured, others: tuple[float, ...] = (), level: float = 0.05
) -> Verdict:
    family = [smallest_p_value(questions), *others]
    return decide(questions, family, level, 48)[0].verdict


# -- verdicts ---------------------------------------------------------------------------------


def test_an_interval_within_the_margin_passes() -> None:
    assert verdict_of(measured(0.01, (-0.03, 0.05))) is Verdict.PASS


@pytest.mark.parametrize("interval", [(0.06, 0.2), (-0.2, -0.06)])
def test_significant_and_beyond_the_margin_fails_either_way(interval: tuple[float, float]) -> None:
    assert verdict_of(measured(sum(interval) / 2, interval, p_value=0.001)) is Verdict.FAIL


def test_a_gap_has_one_side() -> None:
    below = measured(-0.1, (-0.2, -0.06), p_value=0.9, both_sides=False)

    assert verdict_of(below) is Verdict.PASS


def test_significant_within_the_margin_passes() -> None:
    assert verdict_of(measured(0.03, (0.02, 0.04), p_value=0.0001)) is Verdict.PASS


def test_beyond_the_margin_without_significance_is_open() -> None:
    assert verdict_of(measured(0.1, (0.06, 0.2), p_value=0.06)) is Verdict.INCONCLUSIVE


def test_an_interval_across_the_margin_is_open() -> None:
    assert verdict_of(measured(0.06, (0.02, 0.1), p_value=0.001)) is Verdict.INCONCLUSIVE


def test_one_failing_question_fails_the_pool_and_one_open_question_leaves_it_open() -> None:
    passing, failing = measured(), measured(0.3, (0.2, 0.4), p_value=0.001)
    undecided = measured(0.06, (0.02, 0.1), p_value=0.2)

    assert verdict_of(passing, undecided, failing) is Verdict.FAIL
    assert verdict_of(passing, undecided) is Verdict.INCONCLUSIVE


def test_without_an_interval_nothing_passes_and_nothing_fails() -> None:
    assert verdict_of(measured(None, None, p_value=0.0001)) is Verdict.INCONCLUSIVE


def test_a_question_asked_of_few_prompts_does_not_pass() -> None:
    assert verdict_of(measured(compared=23)) is Verdict.INCONCLUSIVE
    assert verdict_of(measured(compared=24)) is Verdict.PASS


def test_a_pool_of_which_nothing_was_asked_is_open() -> None:
    assert decide([], [1.0], 0.05, 0)[0].verdict is Verdict.INCONCLUSIVE


# -- corrections ------------------------------------------------------------------------------


def test_one_of_many_pools_has_to_be_much_surer() -> None:
    failing = measured(0.3, (0.2, 0.4), p_value=0.01)

    assert verdict_of(failing) is Verdict.FAIL
    assert verdict_of(failing, others=(0.5,) * 9) is Verdict.INCONCLUSIVE, "0.01 * 10 > 0.05"


def test_one_of_many_significant_pools_need_not_be_surer() -> None:
    failing = measured(0.3, (0.2, 0.4), p_value=0.01)

    assert verdict_of(failing, others=(0.002,) * 9) is Verdict.FAIL


def test_p_values_are_told_corrected_for_the_run() -> None:
    failing = measured(0.3, (0.2, 0.4), p_value=0.01)
    other = measured(0.0, p_value=0.4)

    whole, questions = decide([failing, other], [0.01, 0.02, 0.03, 0.9], 0.05, 48)

    assert whole.p_adjusted == pytest.approx(0.04)  # 0.01 * 4/1, and the next ones are no smaller
    assert [one.p_adjusted for one in questions] == pytest.approx([0.04 / 3, 1.6 / 3])


# -- how many more ----------------------------------------------------------------------------


def test_how_many_more_prompts_by_hand() -> None:
    # half an interval of 0.5 has to shrink to the 0.25 between 0.75 and the margin: four times 48
    assert measured(0.75, (0.25, 1.25), margin=0.5).more_prompts() == 3 * 48


def test_a_difference_at_its_margin_is_never_settled() -> None:
    assert measured(0.05, (0.0, 0.1)).more_prompts() is None
    assert measured(None, None).more_prompts() is None


# -- pools of numbers -------------------------------------------------------------------------


def criteria(values: np.ndarray, *, of_shares: bool = False) -> list[Criterion]:
    return [Criterion("length", MeanDifference(values), 0.1, of_shares=of_shares)]


def test_few_answers_have_an_exact_p_value() -> None:
    pool = pool_of(3, 1)
    values = np.array([2.0, 1.0, 5.0, 3.0, 9.0, 4.0])  # the first group always has more

    [found] = examine(pool, criteria(values))

    assert found.p_value == 0.25, "two of the eight relabellings are as extreme"
    assert found.difference == pytest.approx(8 / 3)


def test_none_seen_is_not_none_at_all() -> None:
    pool = pool_of(48, 2)
    [found] = examine(pool, criteria(np.zeros(192), of_shares=True))

    # 1 - 0.025^(1/96): what 96 answers without a single refusal leave possible
    assert found.interval is not None
    assert list(found.interval) == pytest.approx([-0.0377, 0.0377], abs=1e-4)


def test_false_alarms_keep_their_level_and_differences_are_found() -> None:
    random = np.random.default_rng(9)
    alarms = hits = 0
    for _ in range(300):
        pool = pool_of(12, 2)
        values = np.repeat(random.normal(size=12), 4) + random.normal(size=48)
        alarms += examine(pool, criteria(values))[0].p_value <= 0.05
        hits += examine(pool, criteria(values + 1.2 * pool.first))[0].p_value <= 0.05

    assert alarms / 300 <= 0.08
    assert hits / 300 >= 0.9


def test_the_level_holds_over_several_questions() -> None:
    random = np.random.default_rng(10)
    alarms = 0
    for _ in range(200):
        pool = pool_of(12, 2)
        asked = [criteria(random.normal(size=48))[0] for _ in range(5)]
        alarms += smallest_p_value(examine(pool, asked)) <= 0.05

    assert alarms / 200 <= 0.09


def test_the_control_sees_what_changes_from_one_repetition_to_the_next_alone() -> None:
    pool = pool_of(24, 2)
    of_group = criteria(np.where(pool.first, 5.0, 0.0))
    of_repetition = criteria(np.where(pool.repetition == 0, 5.0, 0.0))

    assert examine_control(pool, of_group) == 1.0
    assert examine_control(pool, of_repetition) == pytest.approx(0.001)


def test_the_control_keeps_its_level_whatever_the_groups_do() -> None:
    random = np.random.default_rng(11)
    p_values = []
    for _ in range(200):
        pool = pool_of(12, 2)
        p_value = examine_control(pool, criteria(random.normal(size=48) + 2.0 * pool.first))
        assert p_value is not None
        p_values.append(p_value)

    assert (np.array(p_values) <= 0.05).mean() <= 0.09


def test_there_is_no_control_of_what_was_asked_once() -> None:
    assert examine_control(pool_of(12, 1), criteria(np.zeros(24))) is None


def test_the_alarm_counts_what_chance_would_bring() -> None:
    assert not control_alarm(0, 0)
    assert not control_alarm(3, 60), "5 % of 60"
    assert not control_alarm(7, 60)
    assert control_alarm(10, 60)
    assert control_alarm(3, 3)


def test_a_handful_of_prompts_decides_nothing() -> None:
    """Two prompts asked forty times say nothing of a third."""
    assert verdict_of(measured(compared=5)) is Verdict.INCONCLUSIVE
    failing = measured(0.3, (0.2, 0.4), p_value=0.001, compared=5)
    assert verdict_of(failing) is Verdict.INCONCLUSIVE


def test_a_question_asked_of_few_prompts_does_not_fail() -> None:
    failing = measured(0.3, (0.2, 0.4), p_value=0.001, compared=3)

    assert verdict_of(failing) is Verdict.INCONCLUSIVE


def test_longer_and_shorter_have_the_same_margin() -> None:
    """A tenth longer is a ratio of 1.1; its mirror image is 1 / 1.1, not 0.9."""
    ratio = Criterion("length", QUESTION, 0.1, of_ratios=True)

    assert list(ratio.fair) == pytest.approx([-1 / 11, 0.1])


def test_a_model_that_never_varies_says_each_thing_once() -> None:
    """Twelve prompts, three times the same answer: twelve answers, not 36."""
    pool = pool_of(12, 3)
    same = Pool(
        pool.prompt, pool.first, pool.repetition, pool.triple, said=2 * pool.prompt + pool.first
    )

    [varied] = examine(pool, criteria(np.zeros(72), of_shares=True))
    [repeated] = examine(same, criteria(np.zeros(72), of_shares=True))

    assert varied.interval is not None
    assert repeated.interval is not None
    assert varied.interval[1] == pytest.approx(1 - 0.025 ** (1 / 36))
    assert repeated.interval[1] == pytest.approx(1 - 0.025 ** (1 / 12))


def test_answers_that_a_question_was_not_asked_of_leave_more_possible() -> None:
    pool = pool_of(12, 2)
    values = np.zeros(48)
    values[pool.prompt % 2 == 1] = np.nan

    [found] = examine(pool, criteria(values, of_shares=True))

    assert found.interval is not None
    assert found.interval[1] == pytest.approx(1 - 0.025 ** (1 / 12))


def test_how_many_more_prompts_where_nothing_was_seen() -> None:
    """The bound falls with the number itself: 0.0740 at 48 answers, 0.05 at 72."""
    [found] = examine(
        pool_of(24, 2), [Criterion("refusal", MeanDifference(np.zeros(96)), 0.05, of_shares=True)]
    )

    assert found.more_prompts() == 12
