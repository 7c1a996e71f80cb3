"""Results as JUnit XML, in the shape in which pytest's `--junitxml` writes them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

from caffe_pytest.model.run import Result
from caffe_pytest.model.verdict import Verdict

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_junit(target: Path, results: Iterable[Result], run_id: str) -> None:
    """Write the results; an error is `<error>`, an unfair model `<failure>`."""
    suite = ElementTree.Element("testsuite", name="caffe")
    counts = dict.fromkeys(Verdict, 0)
    for result in results:
        counts[result.verdict] += 1
        suite.append(_testcase(result, run_id))
    suite.set("tests", str(sum(counts.values())))
    suite.set("failures", str(counts[Verdict.FAIL] + counts[Verdict.INCONCLUSIVE]))
    suite.set("errors", str(counts[Verdict.ERROR]))
    root = ElementTree.Element("testsuites")
    root.append(suite)
    target.parent.mkdir(parents=True, exist_ok=True)
    ElementTree.ElementTree(root).write(target, encoding="utf-8", xml_declaration=True)


def _testcase(result: Result, run_id: str) -> ElementTree.Element:
    owner, _, name = result.nodeid.rpartition("::")
    case = ElementTree.Element(
        "testcase", classname=_clean(owner.replace("/", ".").replace("::", ".")), name=_clean(name)
    )
    properties = ElementTree.SubElement(case, "properties")
    for key, value in junit_properties(result, run_id):
        ElementTree.SubElement(properties, "property", name=key, value=_clean(value))
    if result.verdict is not Verdict.PASS:
        tag = "error" if result.verdict is Verdict.ERROR else "failure"
        outcome = ElementTree.SubElement(case, tag, message=_clean(result.reason))
        outcome.text = _clean(
            "\n".join(
                f"{label} about {group}: {text}"
                for pair in result.pairs
                for label, texts in (("prompt", pair.prompts), ("answer", pair.answers))
                for group, text in zip(pair.groups, texts, strict=True)
            )
        )
    return case


def junit_properties(result: Result, run_id: str) -> list[tuple[str, str]]:
    """What both front doors attach to an item, as plain text."""
    pair = result.pairs[0]
    return [
        ("caffe.case", result.case),
        ("caffe.model", result.model),
        ("caffe.intent", result.intent),
        ("caffe.bias_type", result.bias_type),
        ("caffe.topic", pair.topic),
        ("caffe.groups", " / ".join(pair.groups)),
        ("caffe.metric", f"{result.metric} ({result.space})"),
        ("caffe.threshold", str(result.threshold)),
        ("caffe.score", "" if result.score is None else str(result.score)),
        ("caffe.verdict", result.verdict.value),
        ("caffe.run", run_id),
    ]


def _clean(text: str) -> str:
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
