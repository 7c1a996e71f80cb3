"""The summary as lines of text, for the terminal of pytest and of `caffe run`."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from caffe_pytest.errors import printable
from caffe_pytest.model.run import Result, Summary, Tally
from caffe_pytest.model.verdict import Verdict
from caffe_pytest.oracles import gap
from caffe_pytest.reporting.control import Controls
from caffe_pytest.reporting.findings import (
    MOST_PHRASES,
    phrase_in_words,
    sentence,
    verdict_in_words,
)
from caffe_pytest.reporting.unequal import UnequalGroups, UnequalTreatment

MOST_GROUPS = 10
MOST_POOLS = 10
MOST_ERRORS = 3
MISSING = "-"


class Findings:
    """What the summary says beyond numbers, gathered while the results pass by."""

    def __init__(self) -> None:
        self.controls = Controls()
        self.pairs = 0
        """Items about one prompt pair each."""
        self._unequal = UnequalTreatment()
        self._errors: Counter[str] = Counter()
        self._pools: dict[Verdict, list[list[str]]] = {
            Verdict.FAIL: [],
            Verdict.INCONCLUSIVE: [],
        }

    def add(self, result: Result) -> None:
        """Take an item into account."""
        self.controls.add(result)
        pool = result.oracle == gap.NAME
        if not pool:
            self.pairs += 1
            self._unequal.add(result)
        elif result.verdict in self._pools:
            self._pools[result.verdict].append(list(_pool(result)))
        if result.verdict is Verdict.ERROR:
            failures = () if pool else filter(None, result.pairs[0].failures)
            self._errors[next(iter(failures), result.reason)] += 1

    def lines(self) -> Iterator[str]:
        """Why items are in error, and who is treated unequally and how."""
        yield from _errors(self._errors)
        failing, open_pools = self._pools.values()
        yield from _pools("treated differently, the disadvantaged group first:", failing)
        yield from _pools("not decided:", open_pools)
        yield from _differences(self._unequal.failing())
        for note in self.controls.notes():
            yield printable(f"note: {note}")


def summary_lines(summary: Summary, findings: Findings, notes: Iterable[str]) -> list[str]:
    """Tables, gates, calls without an answer, and which groups failed and why."""
    lines = []
    if summary.control_alarm:
        lines = ["THE VERDICTS OF THIS RUN CANNOT BE TRUSTED", findings.controls.alarm, ""]
    lines += _tables(summary, scores=bool(findings.pairs) or not summary.total.items)
    lines += _gates(summary)
    lines += _failures(summary)
    lines += findings.lines()
    lines += [f"note: {note}" for note in notes]
    if not summary.complete:
        lines.append(
            f"incomplete: {summary.total.items} of {summary.planned} items have a result; "
            "run again: answers that are there are not asked again"
        )
    return lines


def shown_path(path: Path) -> str:
    """A path as short as it can be typed from the working folder."""
    try:
        relative = os.path.relpath(path)
    except ValueError:  # on another drive
        return str(path)
    return str(path) if relative.startswith("..") else Path(relative).as_posix()


def percent(share: float | None) -> str:
    """A share with one decimal, or a dash where there is none."""
    return MISSING if share is None else f"{share * 100:.1f} %"


def _tables(summary: Summary, *, scores: bool) -> Iterator[str]:
    """By model where there are several, and by bias type with a line for all.

    Mean and median are of the scores of prompt pairs; `scores` is whether any item rests on them.
    """
    columns = _columns(summary, scores=scores)
    by_type = [*summary.by_bias_type.items(), ("all", summary.total)]
    by_model = list(summary.by_model.items()) if len(summary.by_model) > 1 else []
    width = max(len("bias type"), *(len(name) for name, _ in by_type + by_model))
    for head, rows in (("model", by_model), ("bias type", by_type)):
        if rows:
            heads = "".join(f"{title:>{wide}}" for title, wide, _ in columns)
            yield f"{head:<{width}}{heads}"
            for name, tally in rows:
                cells = "".join(f"{cell(tally):>{wide}}" for _, wide, cell in columns)
                yield f"{name:<{width}}{cells}"
            yield ""


Column = tuple[str, int, Callable[[Tally], str]]
"""Title, width, and what stands in it."""


def _columns(summary: Summary, *, scores: bool) -> list[Column]:
    columns: list[Column] = [("items", 8, lambda tally: str(tally.items))]
    columns += [
        (verdict, max(8, len(verdict) + 2), partial(_count, verdict))
        for verdict in Verdict
        if verdict is not Verdict.INCONCLUSIVE or summary.total.verdicts[verdict]
    ]
    columns.append(("fail rate", 11, lambda tally: percent(tally.fail_rate)))
    if summary.total.controls:
        columns.append(("control", 10, lambda tally: percent(tally.control_rate)))
    if scores:
        columns.append(("mean", 7, lambda tally: _level(tally.mean)))
        columns.append(("median", 8, lambda tally: _level(tally.median)))
    return columns


def _count(verdict: Verdict, tally: Tally) -> str:
    return str(tally.verdicts[verdict])


def _level(score: float | None) -> str:
    return MISSING if score is None else f"{score:.2f}"


def _gates(summary: Summary) -> Iterator[str]:
    for gate in summary.gates:
        word = "held" if gate.held else "NOT held"
        rate, allowed = percent(gate.fail_rate), percent(gate.max_fail_rate)
        told = f"gate {gate.case}: {word}: {rate} of the judged items failed, {allowed} may"
        tally = summary.by_case.get(gate.case)
        undecided = tally.verdicts[Verdict.INCONCLUSIVE] if tally else 0
        errors = tally.verdicts[Verdict.ERROR] if tally else 0
        if undecided:
            tolerated = "which it tolerates" if gate.inconclusive_allowed else "none may be"
            told += f"; {undecided} inconclusive, {tolerated}"
        yield f"{told}; {errors} in error, none may be" if errors else told


def _failures(summary: Summary) -> Iterator[str]:
    if summary.failures:
        counts = ", ".join(f"{outcome} {number}" for outcome, number in summary.failures.items())
        yield f"calls without an answer: {counts}"


def _errors(reasons: Counter[str]) -> Iterator[str]:
    for reason, number in reasons.most_common(MOST_ERRORS):
        yield printable(f"{number} in error: {reason}")


def _pool(result: Result) -> Iterator[str]:
    """A pool and the questions that decided it, a line each."""
    yield f"  {result.model}, {result.bias_type} ({result.case}):"
    decisive = [finding for finding in result.findings if finding.verdict is result.verdict]
    for finding in decisive:
        yield f"      {sentence(finding, phrases=False)}"
        for phrase in [one for one in finding.phrases if one.found][:MOST_PHRASES]:
            yield f"          {phrase_in_words(phrase)}"
        if finding.verdict is Verdict.INCONCLUSIVE:
            yield f"          {verdict_in_words(finding)}"
    if not decisive:
        yield f"      {result.reason}"


def _pools(title: str, pools: Sequence[Sequence[str]]) -> Iterator[str]:
    if pools:
        yield title
    for pool in pools[:MOST_POOLS]:
        yield from map(printable, pool)
    if len(pools) > MOST_POOLS:
        yield f"  and {len(pools) - MOST_POOLS} further pools: see the report"


def _differences(failing: Sequence[UnequalGroups]) -> Iterator[str]:
    if failing:
        yield "answers differ most for:"
    for unequal in failing[:MOST_GROUPS]:
        first, second = unequal.groups
        failed = f"{unequal.failed} of {unequal.judged} failed"
        yield printable(f"  {first} / {second} ({unequal.bias_type}, {unequal.model}): {failed}")
        score = MISSING if unequal.lowest is None else f"{unequal.lowest:.2f}"
        yield printable(f"      e.g. {score}: {unequal.example}")
    if len(failing) > MOST_GROUPS:
        yield f"  and {len(failing) - MOST_GROUPS} further pairs of groups: see the report"
