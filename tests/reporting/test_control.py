"""What the controls of a run say."""

from __future__ import annotations

import pytest

from caffe_pytest.reporting.control import Controls
from tests.reporting.sample_results import FAIL, PASS, pool, result, with_control


def controls_of(
    failed: int, items: int, controls_failed: int, *, model: str = "one", judged: int = 1
) -> Controls:
    """`items` items of which `failed` fail, and one control each."""
    controls = Controls()
    for n in range(items):
        verdict = FAIL if n < failed else PASS
        one = result(f"x{n}", verdict, 0.5, model=model)
        controls.add(with_control(one, int(n < controls_failed), judged))
    return controls


@pytest.mark.parametrize(
    ("failed", "controls_failed", "noted"),
    [
        (20, 19, True),  # 95 % of the controls fail too
        (10, 8, True),  # just four fifths as often
        (10, 7, False),
        (0, 0, False),
        (0, 1, False),  # nothing failed, so nothing failed by chance
        (1, 1, True),  # 5 % of 20
        (20, 0, False),
    ],
)
def test_controls_that_fail_nearly_as_often_as_the_pairs_are_noted(
    failed: int, controls_failed: int, noted: bool
) -> None:
    assert bool(list(controls_of(failed, 20, controls_failed).notes())) is noted


def test_a_note_names_rates_metric_and_threshold_and_what_to_do() -> None:
    (note,) = controls_of(20, 20, 19).notes()

    assert note.startswith(
        "one: asked the same prompt twice, 95 % of pairs fail too (100 % of those about two groups "
        "do): lsa at 0.9 cannot tell"
    )
    assert "caffe calibrate" in note


def test_a_handful_of_controls_says_nothing() -> None:
    assert list(controls_of(9, 9, 9).notes()) == []


def test_noise_that_is_rare_is_left_alone() -> None:
    # 1 of 40 controls fails, as 1 of 40 pairs does: 2.5 %
    assert list(controls_of(1, 40, 1).notes()) == []


def test_each_model_is_weighed_by_itself_and_a_few_are_told() -> None:
    controls = Controls()
    for model in "abcde":
        for n in range(10):
            one = result(f"x{n}", FAIL, 0.5, model=model)
            controls.add(with_control(one, int(model != "c"), 1))

    notes = list(controls.notes())

    assert [note[0] for note in notes[:3]] == ["a", "b", "d"]
    assert notes[3] == "the same holds for 1 further models or thresholds"


def test_the_alarm_counts_pools_alone() -> None:
    controls = controls_of(5, 10, 10)
    controls.add(pool("a", PASS, control_failed=True))
    controls.add(pool("b", PASS))

    assert controls.alarm.startswith("1 of 2 controls fail where about 1 in 20 would by chance")
