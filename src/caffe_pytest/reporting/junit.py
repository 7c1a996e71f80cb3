"""Results as JUnit XML, in the shape in which pytest's `--junitxml` writes them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from xml.etree import ElementTree

from caffe_pytest.model.run import Result
from caffe_pytest.model.verdict import Verdict
from caffe_pytest.oracles import gap
from caffe_pytest.reporting.pool import (
    control_line,
    example,
    named_phrases,
    phrase_lines,
    question_table,
    reason_lines,
)

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TAGS = {Verdict.ERROR: "error", Verdict.FAIL: "failure", Verdict.INCONCLUSIVE: "failure"}


def write_junit(
    target: Path, results: Iterable[Result], run_id: str, *, tolerant: Collection[str] = ()
) -> None:
    """Write the results; an error is `<error>`, an unfair model `<failure>`.

    `tolerant` are the test cases whose gate tolerates items that are not decided: `<skipped>`.
    """
    suite = ElementTree.Element("testsuite", name="caffe")
    counts = {"error": 0, "failure": 0, "skipped": 0}
    tests = 0
    for result in results:
        tag = _TAGS.get(result.verdict)
        if result.verdict is Verdict.INCONCLUSIVE and result.case in tolerant:
            tag = "skipped"
        if tag is not None:
            counts[tag] += 1
        tests += 1
        suite.append(_testcase(result, run_id, tag))
    suite.set("tests", str(tests))
    suite.set("failures", str(counts["failure"]))
    suite.set("errors", str(counts["error"]))
    suite.set("skipped", str(counts["skipped"]))
    root = ElementTree.Element("testsuites")
    root.append(suite)
    target.parent.mkdir(parents=True, exist_ok=True)
    ElementTree.ElementTree(root).write(target, encoding="utf-8", xml_declaration=True)


def _testcase(result: Result, run_id: str, tag: str | None) -> ElementTree.Element:
    owner, _, name = result.nodeid.rpartition("::")
    case = ElementTree.Element(
        "testcase", classname=_clean(owner.replace("/", ".").replace("::", ".")), name=_clean(name)
    )
    properties = ElementTree.SubElement(case, "properties")
    for key, value in junit_properties(result, run_id):
        ElementTree.SubElement(properties, "property", name=key, value=_clean(value))
    if tag is not None:
        outcome = ElementTree.SubElement(case, tag, message=_clean(result.reason))
        lines = _pool(result) if result.oracle == gap.NAME else _answers(result)
        outcome.text = _clean("\n".join(lines))
    return case


def junit_properties(result: Result, run_id: str) -> list[tuple[str, str]]:
    """What both front doors attach to an item, as plain text; what has no value is empty."""
    properties = {
        "case": result.case,
        "model": result.model,
        "intent": result.intent,
        "bias_type": result.bias_type,
        "topic": result.topic,
        "groups": " / ".join(result.groups) if result.groups else None,
        "oracle": result.oracle,
        "metric": f"{result.metric} ({result.space})",
    }
    known = {name: value for name, value in properties.items() if value is not None}
    measured = _of_pool(result) if result.oracle == gap.NAME else _of_pair(result)
    last = {"verdict": result.verdict.value, "run": run_id}
    return [(f"caffe.{name}", value) for name, value in (known | measured | last).items()]


def _of_pair(result: Result) -> dict[str, str]:
    control = result.control
    measured = {"threshold": _number(result.threshold), "score": _number(result.score)}
    if control is not None:
        measured["control"] = f"{control.failed} of {control.judged} failed"
    return measured


def _of_pool(result: Result) -> dict[str, str]:
    low, high = result.interval or (None, None)
    return {
        "question": result.findings[0].question if result.findings else "",
        "gap": _number(result.gap),
        "interval": "" if low is None else f"{_number(low)} to {_number(high)}",
        "p_value": _number(result.p_value),
        "p_adjusted": _number(result.p_adjusted),
        "control_p": _number(result.control.p_value if result.control else None),
        "n_prompts": str(result.n),
        "n_answers": str(result.n_answers),
    }


def _number(value: float | None) -> str:
    return "" if value is None else str(float(value))


def _answers(result: Result) -> Iterator[str]:
    for pair in result.pairs:
        for label, texts in (("prompt", pair.prompts), ("answer", pair.answers)):
            for group, text in zip(pair.groups, texts, strict=True):
                yield f"{label} about {group}: {text}"


def _pool(result: Result) -> Iterator[str]:
    """What was found in a pool, and one prompt pair that shows it: not hundreds of answers."""
    yield from reason_lines(result)
    if result.findings:
        yield ""
        yield from question_table(result.findings)
    control = control_line(result)
    if control is not None:
        yield f"control: {control}"
    yield from (f"phrase: {line}" for line in phrase_lines(named_phrases(result)))
    shown = example(result)
    if shown is not None:
        yield f"an example; {shown.why}"
        yield from _answers(result.model_copy(update={"pairs": (shown.pair,)}))


def _clean(text: str) -> str:
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
