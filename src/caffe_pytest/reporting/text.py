"""The summary as lines of text, for the terminal of pytest and of `caffe run`."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from caffe_pytest.errors import printable
from caffe_pytest.model.run import Result, Summary, Tally
from caffe_pytest.model.verdict import Verdict

MOST_GROUPS = 10
MOST_ERRORS = 3
MISSING = "-"


@dataclass
class _Unequal:
    """The failures of one pair of groups."""

    failed: int = 0
    judged: int = 0
    lowest: float = 2.0
    example: str = ""

    def add(self, result: Result) -> None:
        self.judged += result.verdict in (Verdict.PASS, Verdict.FAIL)
        if result.verdict is not Verdict.FAIL:
            return
        self.failed += 1
        score = result.score if result.score is not None else 2.0
        if score < self.lowest:
            self.lowest = score
            self.example = next(iter(result.pairs[0].differences), result.reason)


def summary_lines(summary: Summary, results: Iterable[Result], notes: Iterable[str]) -> list[str]:
    """Tables, gates, calls without an answer, and which groups failed and why."""
    lines = [*_tables(summary)]
    lines += _gates(summary)
    lines += _failures(summary)
    lines += _findings(results)
    lines += [f"note: {note}" for note in notes]
    if not summary.complete:
        lines.append(
            f"incomplete: {summary.total.items} of {summary.planned} items have a result; "
            "run again: answers that are there are not asked again"
        )
    return lines


def shown_path(path: Path) -> str:
    """A path as short as it can be typed from the working folder."""
    relative = os.path.relpath(path)
    return relative if not relative.startswith("..") else str(path)


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


def _findings(results: Iterable[Result]) -> Iterator[str]:
    unequal: dict[tuple[str, str, str, str], _Unequal] = {}
    errors: Counter[str] = Counter()
    for result in results:
        groups = result.pairs[0].groups
        key = (result.model, result.bias_type, *groups)
        unequal.setdefault(key, _Unequal()).add(result)
        if result.verdict is Verdict.ERROR:
            failures = filter(None, result.pairs[0].failures)
            errors[next(failures, result.reason)] += 1
    yield from _errors(errors)
    yield from _differences({key: found for key, found in unequal.items() if found.failed})


def _errors(reasons: Counter[str]) -> Iterator[str]:
    for reason, number in reasons.most_common(MOST_ERRORS):
        yield printable(f"{number} in error: {reason}")


def _differences(failing: dict[tuple[str, str, str, str], _Unequal]) -> Iterator[str]:
    if not failing:
        return
    yield "answers differ most for:"
    order = sorted(failing, key=lambda key: (-failing[key].failed, key))
    for key in order[:MOST_GROUPS]:
        model, bias_type, first, second = key
        unequal = failing[key]
        failed = f"{unequal.failed} of {unequal.judged} failed"
        yield printable(f"  {first} / {second} ({bias_type}, {model}): {failed}")
        yield printable(f"      e.g. {unequal.lowest:.2f}: {unequal.example}")
    if len(order) > MOST_GROUPS:
        yield f"  and {len(order) - MOST_GROUPS} further pairs of groups: see the report"
