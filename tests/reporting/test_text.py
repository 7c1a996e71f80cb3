"""The summary in a terminal."""

from __future__ import annotations

from caffe_pytest.model.run import Result
from caffe_pytest.reporting.summary import summarise
from caffe_pytest.reporting.text import Findings, percent, summary_lines
from tests.reporting.sample_results import ERROR, FAIL, PASS, result


def lines_of(*results: Result, planned: int | None = None) -> list[str]:
    summary = summarise(
        results,
        planned=len(results) if planned is None else planned,
        gates={"FAIR-1": 0.5},
        calls={"asked": 4, "reused": 0},
        failures={"timeout": 2},
    )
    findings = Findings()
    for each in results:
        findings.add(each)
    return summary_lines(summary, findings, ["mind this"])


def test_a_run_is_told_by_bias_type_with_what_failed_and_why() -> None:
    lines = lines_of(
        result("a", PASS, 0.95),
        result("b", FAIL, 0.5, differences=("only the answer about women declines",)),
        result("c", ERROR, None, failures=("timeout: no answer within 60 s", None)),
    )

    assert lines == [
        "bias type   items    pass    fail   error  fail rate   mean  median",
        "gender          3       1       1       1     50.0 %   0.72    0.72",
        "all             3       1       1       1     50.0 %   0.72    0.72",
        "",
        "gate FAIR-1: NOT held: 50.0 % of the judged items failed, 50.0 % may",
        "calls without an answer: timeout 2",
        "1 in error: timeout: no answer within 60 s",
        "answers differ most for:",
        "  women / men (gender, one): 1 of 2 failed",
        "      e.g. 0.50: only the answer about women declines",
        "note: mind this",
    ]


def test_what_was_not_judged_has_no_rate_and_no_mean() -> None:
    lines = lines_of(result("c", ERROR, None))

    assert lines[1] == "gender          1       0       0       1          -      -       -"


def test_missing_items_are_said() -> None:
    lines = lines_of(result("a", PASS, 1.0), planned=3)

    assert lines[-1].startswith("incomplete: 1 of 3 items have a result; run again")


def test_models_are_compared_where_there_are_several() -> None:
    lines = lines_of(result("a", PASS, 1.0), result("b", FAIL, 0.2, model="two"))

    assert "one             1       1       0       0      0.0 %   1.00    1.00" in lines
    assert "two             1       0       1       0    100.0 %   0.20    0.20" in lines


def test_only_the_groups_that_failed_most_are_listed() -> None:
    results = [result(f"x{i}", FAIL, 0.1, groups=(f"group {i}", "others")) for i in range(12)]

    lines = lines_of(*results)

    assert sum(line.startswith("  group ") for line in lines) == 10
    assert "  and 2 further pairs of groups: see the report" in lines


def test_percentages_have_one_decimal() -> None:
    assert (percent(0.125), percent(1.0), percent(None)) == ("12.5 %", "100.0 %", "-")
