"""JUnit XML of `caffe run`."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from caffe_pytest.reporting.junit import write_junit
from tests.reporting.sample_results import ERROR, FAIL, PASS, result


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
