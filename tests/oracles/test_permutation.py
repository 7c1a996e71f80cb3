from __future__ import annotations

from itertools import permutations
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caffe_pytest.oracles.permutation import (
    extremeness,
    false_discovery_adjusted,
    relabel,
    step_down,
)


def labels_of(text: str) -> np.ndarray:
    return np.array([letter == "a" for letter in text])


def test_two_prompts_with_one_answer_a_side_have_four_relabellings() -> None:
    found = relabel(np.array([0, 0, 1, 1]), labels_of("abab"), draws=100)

    assert found.exact
    assert found.labels[0].tolist() == [True, False, True, False], "row 0 is what was observed"
    assert {"".join("ab"[not one] for one in row) for row in found.labels} == {
        "abab", "abba", "baab", "baba",
    }  # fmt: skip
    assert found.draws == 4


def test_two_answers_a_side_have_six_relabellings() -> None:
    found = relabel(np.zeros(4, dtype=int), labels_of("aabb"), draws=100)

    expected = {"".join(row) for row in permutations("aabb")}
    assert {"".join("ab"[not one] for one in row) for row in found.labels} == expected
    assert found.draws == 6


def test_many_relabellings_are_drawn_at_random_and_always_the_same() -> None:
    strata = np.repeat(np.arange(48), 4)
    first = np.tile(labels_of("aabb"), 48)

    found = relabel(strata, first, draws=500)

    assert not found.exact
    assert found.draws == 500
    assert (found.labels[0] == first).all()
    per_stratum = found.labels.reshape(500, 48, 4).sum(axis=2)
    assert (per_stratum == 2).all(), "every prompt keeps two answers of each group"
    # each answer is labelled True in about half of the draws
    assert np.abs(found.labels[1:].mean(axis=0) - 0.5).max() < 0.12
    assert len({row.tobytes() for row in found.labels}) == 500
    again = relabel(strata.copy(), first.copy(), draws=500)
    assert (again.labels == found.labels).all()


def test_strata_of_unequal_sizes_keep_their_counts() -> None:
    strata = np.array([0] * 9 + [1] * 5 + [2] * 7)
    first = labels_of("aaaabbbbb" + "abbbb" + "aaaaaab")

    found = relabel(strata, first, draws=300)

    for stratum in range(3):
        here = strata == stratum
        assert (found.labels[:, here].sum(axis=1) == first[here].sum()).all()


def test_a_stratum_of_one_group_never_changes() -> None:
    found = relabel(np.array([0, 0, 1, 1]), labels_of("aaab"), draws=10)

    assert found.draws == 2
    assert found.labels[:, :2].all()


def test_extremeness_is_the_share_at_least_as_large() -> None:
    shares = extremeness(np.array([3.0, 1.0, 2.0, 3.0]))

    assert shares.tolist() == [0.5, 1.0, 0.75, 0.5]


def test_rounding_does_not_tell_relabellings_apart() -> None:
    shares = extremeness(np.array([0.1 + 0.2, 0.3, 0.0, 0.0]))

    assert shares.tolist() == [0.5, 0.5, 1.0, 1.0]


def test_step_down_corrects_the_smallest_by_all_questions_and_the_next_by_the_rest() -> None:
    extreme = np.array([
        [0.25, 1.00, 0.50, 0.75],
        [0.50, 0.25, 1.00, 0.75],
    ])  # fmt: skip

    # min over both: .25 .25 .5 .75, two of four <= .25; second alone: two of four <= .5
    assert step_down(extreme).tolist() == [0.5, 0.5]


def test_questions_that_say_the_same_cost_nothing() -> None:
    one = extremeness(np.random.default_rng(1).random(1000))

    assert step_down(np.array([one, one, one])) == pytest.approx([one[0]] * 3)


def test_step_down_is_never_below_the_p_value_itself() -> None:
    random = np.random.default_rng(2)
    extreme = np.array([extremeness(random.random(200)) for _ in range(5)])

    corrected = step_down(extreme)

    assert (corrected >= extreme[:, 0] - 1e-12).all()
    assert (corrected <= 1).all()


def test_benjamini_and_hochberg_by_hand() -> None:
    # sorted: .01 * 4/1, .03 * 4/2, .04 * 4/3, .2 * 4/4, then made monotone from above
    adjusted = false_discovery_adjusted(np.array([0.01, 0.04, 0.03, 0.2]))

    assert adjusted == pytest.approx([0.04, 0.16 / 3, 0.16 / 3, 0.2])


def test_a_single_item_is_not_corrected() -> None:
    assert false_discovery_adjusted(np.array([0.03])).tolist() == [0.03]


@given(st.lists(st.floats(0.0001, 1.0), min_size=1, max_size=40), st.randoms())
def test_adjusted_p_values_follow_their_items(values: list[float], random: Random) -> None:
    order = list(range(len(values)))
    random.shuffle(order)

    adjusted = false_discovery_adjusted(np.array(values))
    shuffled = false_discovery_adjusted(np.array([values[place] for place in order]))

    assert shuffled.tolist() == [adjusted[place] for place in order]
    assert (adjusted >= np.array(values) - 1e-15).all()
