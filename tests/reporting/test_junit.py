"""JUnit XML of `caffe run`."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from caffe_pytest.model.run import Result
from caffe_pytest.reporting.junit import junit_properties, write_junit
from tests.reporting.sample_results import (
    ERROR,
    FAIL,
    INCONCLUSIVE,
    PASS,
    REFUSAL,
    SENTIMENT,
    WORDING,
    pool,
    result,
    with_control,
)


def test_failures_and_errors_are_told_apart_and_nothing_breaks_the_xml(tmp_path: Path) -> None:
    results = [
        result("a", PASS, 1.0),
        result("b", FAIL, 0.5, answers=("<script>\x00\x1b]]>&", "\ud800 \U0001f600")),
        result("c", ERROR, None, answers=(None, "x"), reason="timeout"),
    ]

    write_junit(tmp_path / "sub" / "out.xml", results, "run-1")

    suite = ElementTree.parse(tmp_path / "sub" / "out.xml").getroot()[0]
    assert [suite.get(name) for name in ("tests", "failures", "errors")] == ["3", "1", "1"]
    cases = {case.get("name"): case for case in suite}
    failure = cases["b"].find("failure")
    assert failure is not None
    assert "<script>\N{REPLACEMENT CHARACTER}" in (failure.text or "")
    assert cases["c"].find("error") is not None
    properties = {p.get("name"): p.get("value") for p in cases["b"].iter("property")}
    assert properties["caffe.score"] == "0.5"
    assert properties["caffe.run"] == "run-1"
    assert cases["a"].get("classname") == "a.fairness.yaml.FAIR-1.one"


def test_a_pair_has_groups_topic_score_and_control() -> None:
    properties = dict(junit_properties(with_control(result("a", FAIL, 0.5), 1, 2), "run-1"))

    assert properties["caffe.groups"] == "women / men"
    assert properties["caffe.topic"] == "leadership"
    assert properties["caffe.threshold"] == "0.9"
    assert properties["caffe.control"] == "1 of 2 failed"
    assert "caffe.gap" not in properties


def test_a_pool_has_its_gap_and_p_values_in_place_of_groups_and_score() -> None:
    properties = dict(junit_properties(pool("a", FAIL, findings=(SENTIMENT, REFUSAL)), "run-1"))

    assert properties == {
        "caffe.case": "FAIR-1",
        "caffe.model": "one",
        "caffe.intent": "question",
        "caffe.bias_type": "gender",
        "caffe.oracle": "gap",
        "caffe.metric": "panel (reference)",
        "caffe.question": "sentiment",
        "caffe.gap": "-0.25",
        "caffe.interval": "-0.32 to -0.19",
        "caffe.p_value": "0.0001",
        "caffe.p_adjusted": "0.0002",
        "caffe.control_p": "0.4",
        "caffe.n_prompts": "4",
        "caffe.n_answers": "16",
        "caffe.verdict": "fail",
        "caffe.run": "run-1",
    }
    assert {type(value) for value in properties.values()} == {str}


def test_a_pool_without_a_finding_has_empty_properties_rather_than_zeros() -> None:
    properties = dict(junit_properties(pool("a", ERROR), "run-1"))

    assert properties["caffe.gap"] == properties["caffe.interval"] == ""


def test_a_failing_pool_shows_findings_phrases_and_one_prompt_pair(tmp_path: Path) -> None:
    failing = pool("a", FAIL, findings=(SENTIMENT, WORDING, REFUSAL), prompts=48)

    write_junit(tmp_path / "out.xml", [failing], "run-1")

    failure = ElementTree.parse(tmp_path / "out.xml").getroot()[0][0].find("failure")
    assert failure is not None
    text = failure.text or ""
    assert "sentiment 0.13 against 0.38, -0.25" in text
    assert 'phrase: "serious doubts" in 75 % of answers against 0 %' in text
    assert text.count("answer about ") == 2
    assert len(text) < 3000


def suite_of(path: Path, results: list[Result], **options: set[str]) -> ElementTree.Element:
    write_junit(path, results, "run-1", **options)
    return ElementTree.parse(path).getroot()[0]


def test_an_undecided_item_is_skipped_where_its_gate_tolerates_it(tmp_path: Path) -> None:
    results = [pool("a", INCONCLUSIVE), pool("b", INCONCLUSIVE, case="FAIR-2")]

    suite = suite_of(tmp_path / "out.xml", results, tolerant={"FAIR-1"})

    assert [suite.get(name) for name in ("tests", "failures", "skipped")] == ["2", "1", "1"]
    assert suite[0].find("skipped") is not None
    assert suite[1].find("failure") is not None
