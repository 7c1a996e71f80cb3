"""The paper's statistics, by numbers worked out by hand."""

from __future__ import annotations

import csv
import io
import json
from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caffe_pytest.design.sampling import sample_size
from caffe_pytest.model.run import Control, PaperStatistics, Result
from caffe_pytest.model.verdict import Verdict
from caffe_pytest.reporting.paper import PaperCount, Strata, margin_reached
from caffe_pytest.reporting.paper_tables import FORMATS, paper_lines, paper_notes
from tests.reporting.sample_results import ERROR, FAIL, PASS, result

DECLINES = "I'm sorry, but I can't help with that."


def paired(
    name: str,
    verdict: Verdict,
    score: float | None,
    *,
    control: tuple[float, ...] = (),
    metric: str = "lsa",
    threshold: float = 0.8,
    intent: str = "question",
    model: str = "one",
    bias_type: str = "gender",
    answers: tuple[str | None, str | None] = ("an answer", "another"),
) -> Result:
    """A pair with answers of its own: the same name is the same answers, whoever scores them."""
    made = result(name, verdict, score, bias_type=bias_type, model=model, answers=answers)
    keys = f"{name}-1", f"{name}-2"
    failed = sum(one < threshold for one in control)
    return made.model_copy(
        update={
            "metric": metric,
            "threshold": threshold,
            "intent": intent,
            "pairs": (made.pairs[0].model_copy(update={"keys": keys}),),
            "control": Control(failed=failed, judged=len(control), scores=control)
            if control
            else None,
        }
    )


RESULTS = [
    paired("a", PASS, 0.9, control=(0.75, 0.95)),
    paired("b", FAIL, 0.5, control=(0.9, 0.8)),
    paired("c", FAIL, 0.7),
    paired("d", ERROR, None),
    paired("e", FAIL, 0.85, bias_type="age", answers=(DECLINES, "Ask the bank for a loan.")),
    paired("f", PASS, 1.0, bias_type="age"),
]


def tables(results: list[Result], strata: Strata | None = None) -> PaperStatistics:
    count = PaperCount()
    for one in results:
        count.add(one)
    return count.tables(strata)


def test_table_4_leaves_errors_out_of_every_number_but_the_pairs() -> None:
    (row,) = tables(RESULTS).by_model_and_intent

    assert (row.model, row.intent, row.bias_type) == ("one", "question", None)
    assert (row.pairs, row.judged, row.failed, row.fail_rate) == (6, 5, 3, 0.6)
    assert row.mean == 0.79  # (0.9 + 0.5 + 0.7 + 0.85 + 1) / 5
    assert row.median == 0.85
    # squares 0.0121 + 0.0841 + 0.0081 + 0.0036 + 0.0441 = 0.152; / 4 = 0.038
    assert row.standard_deviation == pytest.approx(0.038**0.5, abs=1e-6)
    assert (row.controls, row.control_rate) == (4, 0.25)  # 0.75 of 0.75, 0.95, 0.9, 0.8


def test_table_4_by_bias_type_says_no_control_rate_where_there_is_no_control() -> None:
    age, gender = tables(RESULTS).by_bias_type

    assert (age.bias_type, age.fail_rate, age.control_rate) == ("age", 0.5, None)
    assert (gender.bias_type, gender.fail_rate) == ("gender", 0.666667)


def test_several_intents_get_a_line_over_all_of_them_for_each_model_alone() -> None:
    added = [
        paired("g", FAIL, 0.1, intent="advice"),
        paired("h", PASS, 1.0, intent="advice", model="two"),
    ]

    rows = tables([*RESULTS, *added]).by_model_and_intent

    assert [(row.model, row.intent, row.failed, row.judged) for row in rows] == [
        ("one", "advice", 1, 1),
        ("one", "question", 3, 5),
        ("one", None, 4, 6),
        ("two", "advice", 0, 1),
    ]


def test_metrics_and_thresholds_are_never_mixed_in_one_mean() -> None:
    again = [paired("a", FAIL, 0.9, threshold=0.95), paired("a", PASS, 0.99, metric="lda")]

    rows = tables([*RESULTS, *again]).by_model_and_intent

    assert [(row.metric, row.threshold, row.mean) for row in rows] == [
        ("lda", 0.8, 0.99),
        ("lsa", 0.8, 0.79),
        ("lsa", 0.95, 0.9),
    ]


def test_table_3_has_a_line_for_each_intent_and_bias_type() -> None:
    cells = tables(RESULTS).by_model_intent_and_bias_type

    assert [(cell.intent, cell.bias_type, cell.failed, cell.judged) for cell in cells] == [
        ("question", "age", 1, 2),
        ("question", "gender", 2, 3),
    ]


def test_the_curve_counts_below_a_threshold_and_declined_for_one_group_alone() -> None:
    curve = {one.threshold: one for one in tables(RESULTS).thresholds}

    assert list(curve) == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
    assert [one.below for one in curve.values()] == [0, 0, 0, 0, 0, 1, 1, 2, 3]
    assert [one.failed for one in curve.values()] == [1, 1, 1, 1, 1, 2, 2, 3, 3]
    assert curve[0.8].fail_rate == 0.6  # the verdicts' own threshold
    assert curve[0.9].control_rate == 0.5  # 0.75 and 0.8 of four; 0.9 is not below 0.9
    assert tables(RESULTS).declined_alone == 1


def test_a_pair_that_two_test_cases_judge_counts_once_in_the_curve() -> None:
    again = [paired("b", PASS, 0.5, threshold=0.4), paired("b", FAIL, 0.5, threshold=0.9)]

    curve = tables([*RESULTS, *again]).thresholds

    assert {one.judged for one in curve} == {5}


def test_table_2_compares_metrics_on_the_pairs_that_all_of_them_judged() -> None:
    by_lda = [
        paired("a", FAIL, 0.2, metric="lda"),
        paired("b", FAIL, 0.3, metric="lda"),
        paired("c", ERROR, None, metric="lda"),
        paired("e", PASS, 0.95, metric="lda", bias_type="age"),
        paired("other", FAIL, 0.0, metric="lda"),
    ]

    overall, age, gender = tables([*RESULTS, *by_lda]).metrics

    assert (overall.bias_type, overall.threshold, overall.compared) == (None, 0.9, 3)  # a, b, e
    # by lsa 0.9 passes at 0.9, 0.5 and 0.85 fail; by lda 0.2 and 0.3, and e, which is declined
    assert [(one.metric, one.failed) for one in overall.metrics] == [("lda", 3), ("lsa", 2)]
    assert (age.bias_type, age.compared) == ("age", 1)
    assert [(one.metric, one.failed) for one in age.metrics] == [("lda", 1), ("lsa", 1)]
    assert [(one.metric, one.fail_rate) for one in gender.metrics] == [("lda", 1.0), ("lsa", 0.5)]
    assert [one.controls for one in gender.metrics] == [0, 4]


def test_metrics_that_share_no_pair_are_not_compared() -> None:
    apart = [*RESULTS, paired("g", FAIL, 0.1, metric="lda", bias_type="religion")]

    (overall,) = [one for one in tables(apart).metrics if one.bias_type is None]

    assert overall.compared == 0
    assert {one.fail_rate for one in overall.metrics} == {None}
    assert "no pair judged by all" in "".join(paper_lines(tables(apart), (), run="r", form="text"))


def test_without_a_sample_the_pairs_of_the_run_are_the_population() -> None:
    age, gender = tables(RESULTS).samples

    assert (age.population, age.judged, age.margin_reached) == (2, 2, 0.0)
    # 384.1459 / (1 + 383.1459 / 4) = 3.97
    assert (gender.population, gender.needed, gender.judged) == (4, 4, 3)
    # 1.959964 * sqrt(0.25 / 3 * (4 - 3) / (4 - 1)) = 1.959964 / 6
    assert gender.margin_reached == 0.326661


def test_the_population_of_a_sample_is_what_the_run_says_of_it() -> None:
    case = {
        "intent": {"name": "question"},
        "knowledge_base": {"sha256": "1"},
        "seeds": {"prompts": 0, "sample": 0},
        "sample": {"margin": 0.1, "confidence": 0.9},
        "populations": {"gender": 1000},
    }
    other_base = {**case, "knowledge_base": {"sha256": "2"}, "populations": {"gender": 500}}

    age, gender = tables(RESULTS, Strata.of([case, case, other_base])).samples

    assert (gender.population, gender.margin, gender.confidence) == (1500, 0.1, 0.9)
    assert gender.needed == 65  # 67.6386 / (1 + 66.6386 / 1500) = 64.76
    assert (age.population, age.needed, age.margin_reached) == (None, None, None)


@given(st.integers(2, 100_000), st.floats(0.005, 0.5), st.sampled_from([0.8, 0.9, 0.95, 0.99]))
def test_a_sample_of_the_needed_size_reaches_its_margin_and_one_less_does_not(
    population: int, margin: float, confidence: float
) -> None:
    needed = sample_size(population, margin, confidence)

    reached = margin_reached(population, needed, confidence)

    assert reached is not None
    assert reached <= margin + 1e-6
    if needed > 1:
        with_less = margin_reached(population, needed - 1, confidence)
        assert with_less is not None
        assert with_less >= margin - 1e-6


def test_a_large_population_has_the_margin_without_correction() -> None:
    z = NormalDist().inv_cdf(0.975)

    assert margin_reached(10**9, 385, 0.95) == pytest.approx(z * (0.25 / 385) ** 0.5, abs=1e-6)
    assert margin_reached(10, 0, 0.95) is None


def test_pools_are_left_out_and_told() -> None:
    made = paired("p", PASS, 0.4)
    pairs = (made.pairs[0].model_copy(update={"verdict": None}),)
    pool = made.model_copy(update={"oracle": "gap", "threshold": None, "pairs": pairs})

    found = tables([*RESULTS, pool])

    assert found.by_model_and_intent == tables(RESULTS).by_model_and_intent
    assert found.pools_left_out == 1
    assert any("pools of the gap oracle are left out (1)" in note for note in paper_notes(found))


def test_nothing_judged_gives_no_rate_rather_than_zero() -> None:
    (row,) = tables([paired("d", ERROR, None)]).by_model_and_intent

    assert (row.fail_rate, row.mean, row.median, row.standard_deviation) == (None,) * 4
    assert tables([paired("d", ERROR, None)]).samples[0].margin_reached is None


def test_a_fail_rate_without_a_control_is_said_to_say_nothing() -> None:
    with_controls, without = tables(RESULTS), tables(RESULTS[2:])

    assert any("as far as it lies above its control" in note for note in paper_notes(with_controls))
    assert any("says nothing of fairness" in note for note in paper_notes(without))


def test_the_order_of_results_changes_nothing() -> None:
    assert tables(RESULTS[::-1]) == tables(RESULTS)


def test_every_format_has_the_same_numbers() -> None:
    found = tables(RESULTS)
    shown = {form: "".join(paper_lines(found, ["mine"], run="r1", form=form)) for form in FORMATS}

    content = json.loads(shown["json"])
    assert content.pop("run") == "r1"
    assert content.pop("notes")[-1] == "mine"
    assert PaperStatistics.model_validate(content) == found
    rows = list(csv.DictReader(io.StringIO(shown["csv"])))
    assert {row["table"] for row in rows} == {
        "by_model_and_intent", "by_bias_type", "by_model_intent_and_bias_type", "metrics",
        "thresholds", "samples",
    }  # fmt: skip
    assert (rows[0]["fail_rate"], rows[0]["bias_type"]) == ("0.6", "")
    assert "one    question  lsa (reference) @ 0.8     60.0 %   25.0 %" in shown["text"]
    assert (
        "| one | question | lsa (reference) @ 0.8 | 60.0 % | 25.0 % | 3 | 5 | 1 |"
        in (shown["markdown"])
    )


def test_table_3_in_text_is_laid_out_as_the_paper_s_with_the_controls_below() -> None:
    lines = "".join(paper_lines(tables(RESULTS), (), run="r", form="text")).splitlines()

    at = next(number for number, line in enumerate(lines) if "(Table 3)" in line)

    assert [line.split() for line in lines[at + 1 : at + 4]] == [
        ["model", "intent", "metric", "@", "threshold", "all", "age", "gender"],
        ["one", "question", "lsa", "(reference)", "@", "0.8", "0.600", "0.500", "0.667"],
        ["control", "0.250", "-", "0.250"],
    ]
