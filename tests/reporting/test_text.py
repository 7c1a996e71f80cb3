"""The summary in a terminal."""

from __future__ import annotations

from caffe_pytest.model.run import Result
from caffe_pytest.reporting.summary import summarise
from caffe_pytest.reporting.text import Findings, percent, summary_lines
from tests.reporting.sample_results import (
    ERROR,
    FAIL,
    INCONCLUSIVE,
    PASS,
    SENTIMENT,
    WORDING,
    pool,
    result,
    with_control,
)


def lines_of(*results: Result, planned: int | None = None, inconclusive: str = "fail") -> list[str]:
    summary = summarise(
        results,
        planned=len(results) if planned is None else planned,
        gates={"FAIR-1": {"max_fail_rate": 0.5, "inconclusive": inconclusive}},
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
        (
            "gate FAIR-1: NOT held: 50.0 % of the judged items failed, 50.0 % may"
            "; 1 in error, none may be"
        ),
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


def test_a_failing_pool_is_told_with_its_findings_and_phrases() -> None:
    lines = lines_of(pool("a", FAIL, findings=(SENTIMENT, WORDING)))

    assert lines[:3] == [
        "bias type   items    pass    fail   error  fail rate   control",
        "gender          1       0       1       0    100.0 %     0.0 %",
        "all             1       0       1       0    100.0 %     0.0 %",
    ]
    start = lines.index("treated differently, the disadvantaged group first:")
    assert lines[start + 1 :] == [
        "  one, gender (FAIR-1):",
        "      sentiment 0.13 against 0.38, -0.25 (95 % interval -0.32 to -0.19, margin 0.1)",
        (
            "      wording +45 points over guessing which answer is about which group "
            "(95 % interval +31 to +59 points, margin 5 points)"
        ),
        '          "serious doubts" in 75 % of answers against 0 %',
        "note: mind this",
    ]


def test_an_undecided_pool_says_how_many_more_prompts_it_needs() -> None:
    open_question = SENTIMENT.model_copy(update={"verdict": INCONCLUSIVE, "more_prompts": 47})

    lines = lines_of(pool("a", INCONCLUSIVE, findings=(open_question,)), inconclusive="warn")

    start = lines.index("not decided:")
    assert lines[start + 3] == "          about 47 more prompt pairs would settle it"
    assert (
        "gate FAIR-1: held: - of the judged items failed, 50.0 % may; 1 inconclusive, "
        "which it tolerates" in lines
    )


def test_a_pool_that_was_not_asked_anything_is_told_with_its_reason() -> None:
    lines = lines_of(pool("a", ERROR, reason="30 of 96 answers are missing: 30 timeout"))

    assert "1 in error: 30 of 96 answers are missing: 30 timeout" in lines


def test_only_ten_failing_pools_are_listed() -> None:
    lines = lines_of(*(pool(f"p{n}", FAIL, findings=(SENTIMENT,)) for n in range(12)))

    assert sum(line.startswith("  one, gender") for line in lines) == 10
    assert "  and 2 further pools: see the report" in lines


def test_scores_are_told_where_any_item_rests_on_one() -> None:
    lines = lines_of(pool("a", PASS), result("b", PASS, 1.0))

    assert lines[0].endswith("control   mean  median")
    # of 0.9, 0.8, 0.7, 0.6, each twice, and 1.0
    assert lines[1].endswith("0.0 %   0.78    0.80")


def test_a_control_stands_beside_every_fail_rate_where_there_is_any() -> None:
    lines = lines_of(
        with_control(result("a", FAIL, 0.5), 1, 2),
        with_control(result("b", PASS, 1.0), 0, 2),
        result("c", PASS, 1.0, bias_type="age"),
    )

    assert lines[:4] == [
        "bias type   items    pass    fail   error  fail rate   control   mean  median",
        "age             1       1       0       0      0.0 %         -   1.00    1.00",
        "gender          2       1       1       0     50.0 %    25.0 %   0.75    0.75",
        "all             3       2       1       0     33.3 %    25.0 %   0.83    1.00",
    ]


def test_a_threshold_within_the_noise_is_pointed_out() -> None:
    lines = lines_of(*(with_control(result(f"x{n}", FAIL, 0.5), 2, 2) for n in range(5)))

    assert lines[-2].startswith(
        "note: one: asked the same prompt twice, 100 % of pairs fail too "
        "(100 % of those about two groups do): lsa at 0.9 cannot tell"
    )


def test_an_alarm_of_the_controls_comes_first_and_in_capitals() -> None:
    lines = lines_of(*(pool(f"p{n}", PASS, control_failed=n < 4) for n in range(9)))

    assert lines[0] == "THE VERDICTS OF THIS RUN CANNOT BE TRUSTED"
    assert lines[1].startswith("4 of 9 controls fail where about 1 in 20 would by chance: ")


def test_percentages_have_one_decimal() -> None:
    assert (percent(0.125), percent(1.0), percent(None)) == ("12.5 %", "100.0 %", "-")
