"""The summary as lines of text, for the terminal of pytest and of `caffe run`."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from caffe_pytest.errors import printable
from caffe_pytest.model.run import Result, Summary, Tally
from caffe_pytest.model.verdict import Verdict
from caffe_pytest.reporting.unequal import UnequalGroups, UnequalTreatment

MOST_GROUPS = 10
MOST_ERRORS = 3
MISSING = "-"


class Findings:
    """What the summary says beyond numbers, gathered while the results pass by."""

    def __init__(self) -> None:
        self._unequal = UnequalTreatment()
        self._errors: Counter[str] = Counter()

    def add(self, result: Result) -> None:
        """Take an item into account."""
        self._unequal.add(result)
        if result.verdict is Verdict.ERROR:
            failures = filter(None, result.pairs[0].failures)
            self._errors[next(failures, result.reason)] += 1

    def lines(self) -> Iterator[str]:
        """Why items are in error, and which groups are treated unequally and how."""
        yield from _errors(self._errors)
        yield from _differences(self._unequal.failing())


def summary_lines(summary: Summary, findings: Findings, notes: Iterable[str]) -> list[str]:
    """Tables, gates, calls without an answer, and which groups failed and why."""
    lines = [*_tables(summary)]
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


def _tables(summary: Summary) -> Iterator[str]:
    """By bias type with a line for all, and by model where there are several."""
    inconclusive = bool(summary.total.verdicts[Verdict.INCONCLUSIVE])
    shown = [v for v in Verdict if v is not Verdict.INCONCLUSIVE or inconclusive]
    by_type = [*summary.by_bias_type.items(), ("all", summary.total)]
    by_model = list(summary.by_model.items()) if len(summary.by_model) > 1 else []
    width = max(len("bias type"), *(len(name) for name, _ in by_type + by_model))
    for head, rows in (("bias type", by_type), ("model", by_model)):
        if rows:
            yield _head(head, shown, width)
            yield from (_row(name, tally, shown, width) for name, tally in rows)
            yield ""


def _head(name: str, shown: list[Verdict], width: int) -> str:
    counts = "".join(f"{verdict:>8}" for verdict in shown)
    return f"{name:<{width}}{'items':>8}{counts}{'fail rate':>11}{'mean':>7}{'median':>8}"


def _row(name: str, tally: Tally, shown: list[Verdict], width: int) -> str:
    counts = "".join(f"{tally.verdicts[verdict]:>8}" for verdict in shown)
    rate = percent(tally.fail_rate)
    mean, median = (MISSING if x is None else f"{x:.2f}" for x in (tally.mean, tally.median))
    return f"{name:<{width}}{tally.items:>8}{counts}{rate:>11}{mean:>7}{median:>8}"


def _gates(summary: Summary) -> Iterator[str]:
    for gate in summary.gates:
        word = "held" if gate.held else "NOT held"
        rate, allowed = percent(gate.fail_rate), percent(gate.max_fail_rate)
        yield f"gate {gate.case}: {word}: {rate} of the judged items failed, {allowed} may"


def _failures(summary: Summary) -> Iterator[str]:
    if summary.failures:
        counts = ", ".join(f"{outcome} {number}" for outcome, number in summary.failures.items())
        yield f"calls without an answer: {counts}"


def _errors(reasons: Counter[str]) -> Iterator[str]:
    for reason, number in reasons.most_common(MOST_ERRORS):
        yield printable(f"{number} in error: {reason}")


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
