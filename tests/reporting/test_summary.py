"""The totals of a run, by numbers worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from caffe_pytest.model.run import Result, Summary
from caffe_pytest.model.verdict import Verdict
from caffe_pytest.reporting.summary import summarise
from tests.reporting.sample_results import (
    ERROR,
    FAIL,
    INCONCLUSIVE,
    PASS,
    pool,
    result,
    with_control,
)

RESULTS = [
    result("a", PASS, 0.95),
    result("b", PASS, 1.0),
    result("c", FAIL, 0.5),
    result("d", FAIL, 0.75, bias_type="age", case="FAIR-2"),
    result("e", ERROR, None, bias_type="age", case="FAIR-2"),
]


def summary(planned: int = 5, gates: dict[str, dict[str, Any]] | None = None) -> Summary:
    return summarise(
        RESULTS, planned=planned, gates=gates or {}, calls={"asked": 9, "reused": 0},
        failures={"timeout": 1},
    )  # fmt: skip


def test_errors_are_left_out_of_rates_and_means() -> None:
    total = summary().total

    assert total.items == 5
    assert total.verdicts == {PASS: 2, FAIL: 2, ERROR: 1, INCONCLUSIVE: 0}
    assert total.fail_rate == total.asr == 0.5  # 2 of 4
    assert total.mean == pytest.approx(0.8)  # (0.95 + 1 + 0.5 + 0.75) / 4
    assert total.median == pytest.approx(0.85)  # (0.75 + 0.95) / 2
    # deviations 0.15, 0.2, -0.3, -0.05: squares 0.0225 + 0.04 + 0.09 + 0.0025 = 0.155; / 3
    assert total.standard_deviation == pytest.approx((0.155 / 3) ** 0.5, abs=1e-6)


def test_the_same_is_told_by_bias_type_and_test_case() -> None:
    found = summary()

    assert found.by_bias_type["gender"].fail_rate == pytest.approx(1 / 3, abs=1e-6)
    assert found.by_bias_type["age"].fail_rate == 1.0
    assert found.by_case["FAIR-2"].standard_deviation is None  # one score has none
    assert list(found.by_model) == ["one"]


def test_nothing_judged_gives_no_rate_rather_than_zero() -> None:
    found = summarise([result("e", ERROR, None)], planned=1, gates={}, calls={}, failures={}).total

    assert (found.fail_rate, found.asr, found.mean, found.median) == (None, None, None, None)


@pytest.mark.parametrize(
    ("allowed", "held"), [(0.33, False), (0.34, True), (0.0, False), (1.0, True)]
)
def test_a_gate_holds_up_to_its_share(allowed: float, held: bool) -> None:
    gate = summary(gates={"FAIR-1": {"max_fail_rate": allowed}}).gates[0]

    assert gate.fail_rate == pytest.approx(1 / 3, abs=1e-6)
    assert gate.held is held


def test_a_gate_never_holds_over_an_error() -> None:
    gate = summary(gates={"FAIR-2": {"max_fail_rate": 1.0}}).gates[0]

    assert gate.held is False


def test_missing_items_make_a_run_incomplete_and_never_green() -> None:
    found = summarise([result("a", PASS, 1.0)], planned=2, gates={}, calls={}, failures={})

    assert found.complete is False
    assert found.green is False


@pytest.mark.parametrize(
    ("results", "gates", "green"),
    [
        ([result("a", PASS, 1.0)], {}, True),
        ([result("a", FAIL, 0.1)], {}, False),
        ([result("a", FAIL, 0.1)], {"FAIR-1": {"max_fail_rate": 1.0}}, True),
        ([result("a", FAIL, 0.1)], {"FAIR-2": {"max_fail_rate": 1.0}}, False),
        ([result("a", ERROR, None)], {"FAIR-1": {"max_fail_rate": 1.0}}, False),
    ],
)
def test_only_tolerated_failures_leave_a_run_green(
    results: list[Result], gates: dict[str, dict[str, Any]], green: bool
) -> None:
    found = summarise(results, planned=1, gates=gates, calls={}, failures={})

    assert found.green is green


def test_the_control_rate_is_of_controls_judged_and_none_without_any() -> None:
    found = summarise(
        [
            with_control(result("a", FAIL, 0.5), 1, 2),
            with_control(result("b", PASS, 1.0), 0, 1),
            pool("c", PASS, control_failed=True),
            result("d", PASS, 1.0, bias_type="age"),
        ],
        planned=4, gates={}, calls={}, failures={},
    )  # fmt: skip

    # 1 of 2, 0 of 1 and 1 of 1
    assert (found.total.control_rate, found.total.controls) == (0.5, 4)
    assert (found.by_bias_type["age"].control_rate, found.by_bias_type["age"].controls) == (None, 0)


@pytest.mark.parametrize(
    ("failed", "judged", "alarm"),
    [
        # chance of so many or more at 5 % each:
        (0, 0, False),
        (1, 1, False),  # 0.05
        (2, 3, True),  # 3 * 0.05^2 * 0.95 + 0.05^3 = 0.00725
        (2, 4, False),  # 1 - 0.95^4 - 4 * 0.05 * 0.95^3 = 0.01402
        (3, 9, True),  # 0.00836
        (3, 10, False),  # 0.01150
    ],
)
def test_more_failing_controls_than_chance_explains_raise_the_alarm(
    failed: int, judged: int, alarm: bool
) -> None:
    results = [pool(f"p{n}", PASS, control_failed=n < failed) for n in range(judged)]

    found = summarise(results, planned=judged, gates={}, calls={}, failures={})

    assert found.control_alarm is alarm
    assert found.green is not alarm


def test_controls_of_prompt_pairs_raise_no_alarm() -> None:
    results = [with_control(result(f"x{n}", PASS, 1.0), 2, 2) for n in range(9)]

    found = summarise(results, planned=9, gates={}, calls={}, failures={})

    assert found.total.control_rate == 1.0
    assert found.control_alarm is False


@pytest.mark.parametrize(
    ("verdicts", "gate", "held", "green"),
    [
        ((PASS, INCONCLUSIVE), None, None, False),
        ((PASS, INCONCLUSIVE), {"inconclusive": "fail"}, False, False),
        ((PASS, INCONCLUSIVE), {"inconclusive": "warn"}, True, True),
        ((INCONCLUSIVE,), {"inconclusive": "warn"}, True, True),
        ((FAIL, INCONCLUSIVE), {"inconclusive": "warn"}, False, False),
        ((FAIL, INCONCLUSIVE), {"max_fail_rate": 1.0, "inconclusive": "warn"}, True, True),
        ((FAIL, INCONCLUSIVE), {"max_fail_rate": 1.0}, False, False),
        # half of the two judged items, whatever is not decided
        ((FAIL, PASS, INCONCLUSIVE), {"max_fail_rate": 0.5, "inconclusive": "warn"}, True, True),
        ((FAIL, PASS, INCONCLUSIVE), {"max_fail_rate": 0.4, "inconclusive": "warn"}, False, False),
        ((ERROR, INCONCLUSIVE), {"inconclusive": "warn"}, False, False),
    ],
)
def test_a_gate_says_whether_undecided_items_fail_the_run(
    verdicts: tuple[Verdict, ...], gate: dict[str, Any] | None, held: bool | None, green: bool
) -> None:
    results = [pool(f"p{n}", verdict) for n, verdict in enumerate(verdicts)]
    gates = {} if gate is None else {"FAIR-1": gate}

    found = summarise(results, planned=len(results), gates=gates, calls={}, failures={})

    assert [one.held for one in found.gates] == ([] if held is None else [held])
    assert found.green is green
