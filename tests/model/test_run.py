"""When a run is green."""

from __future__ import annotations

import json

import pytest

from caffe_pytest.model.run import GateResult, Summary, Tally
from caffe_pytest.model.verdict import Verdict


def tally(**counts: int) -> Tally:
    verdicts = {verdict: counts.get(verdict.value, 0) for verdict in Verdict}
    return Tally(
        items=sum(verdicts.values()), verdicts=verdicts, fail_rate=None, asr=None, mean=None,
        median=None, standard_deviation=None,
    )  # fmt: skip


def summary(
    cases: dict[str, Tally], gates: dict[str, bool] | None = None, *, missing: int = 0
) -> Summary:
    total = tally(
        **{
            verdict.value: sum(case.verdicts[verdict] for case in cases.values())
            for verdict in Verdict
        }
    )
    return Summary(
        complete=not missing,
        planned=total.items + missing,
        total=total,
        by_bias_type={}, by_intent={}, by_model={}, by_metric={},
        by_case=cases,
        failures={},
        gates=tuple(
            GateResult(case=case, max_fail_rate=0.5, fail_rate=0.1, held=held)
            for case, held in (gates or {}).items()
        ),
        calls={},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("cases", "gates", "missing", "green"),
    [
        pytest.param({"A": tally(**{"pass": 3})}, {}, 0, True, id="all-passed"),
        pytest.param({"A": tally(**{"pass": 3})}, {}, 1, False, id="items-missing"),
        pytest.param({"A": tally(**{"pass": 3, "fail": 1})}, {}, 0, False, id="one-failed"),
        pytest.param(
            {"A": tally(**{"pass": 3, "fail": 1})}, {"A": True}, 0, True, id="tolerated"
        ),
        pytest.param(
            {"A": tally(**{"pass": 3, "fail": 1})}, {"A": True}, 2, False, id="gate-but-missing"
        ),
        pytest.param(
            {"A": tally(**{"pass": 3, "fail": 1})}, {"A": False}, 0, False, id="gate-not-held"
        ),
        pytest.param(
            {"A": tally(fail=1), "B": tally(fail=1)}, {"A": True}, 0, False, id="gate-of-another"
        ),
        pytest.param(
            {"A": tally(fail=1), "B": tally(fail=1)},
            {"A": True, "B": True}, 0, True, id="two-gates",
        ),
        pytest.param({"A": tally(error=1, **{"pass": 9})}, {}, 0, False, id="error"),
        pytest.param(
            {"A": tally(error=1, **{"pass": 9})}, {"A": True}, 0, False, id="error-behind-a-gate"
        ),
        pytest.param({"A": tally(inconclusive=1)}, {"A": True}, 0, False, id="inconclusive"),
    ],
)  # fmt: skip
def test_a_run_is_green_where_all_was_judged_and_no_failure_is_untolerated(
    cases: dict[str, Tally], gates: dict[str, bool], missing: int, green: bool
) -> None:
    assert summary(cases, gates, missing=missing).green is green


def test_a_summary_is_plain_json_and_comes_back_the_same() -> None:
    before = summary({"A": tally(**{"pass": 3, "fail": 1})}, {"A": True})

    after = Summary.model_validate(json.loads(json.dumps(before.as_json())))

    assert after == before
    assert before.as_json()["total"]["verdicts"] == {
        "pass": 3, "fail": 1, "inconclusive": 0, "error": 0,
    }  # fmt: skip
