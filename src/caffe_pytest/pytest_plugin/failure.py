"""What a reader sees when an item fails.

The only module that imports `_pytest`: the shape that survives xdist and reaches JUnit with a
one-line message is `ReprExceptionInfo`, and it has no public home.
"""

from __future__ import annotations

import textwrap
from pathlib import Path

from _pytest._code.code import ReprEntry, ReprExceptionInfo, ReprFileLocation, ReprTraceback

from caffe_pytest.errors import printable
from caffe_pytest.model.run import PairResult, Result

WIDTH = 98
MOST_LINES = 8
"""Of an answer; `-v` shows all of it."""


class UnfairnessFound(AssertionError):  # noqa: N818 - a finding, not an error
    """A model treats two groups differently; or its answers cannot be compared."""

    def __init__(self, result: Result) -> None:
        super().__init__(result.reason)
        self.result = result


def failure_representation(
    result: Result, path: Path, line: int, verbosity: int
) -> ReprExceptionInfo:
    """The failure as pytest prints it, and as JUnit keeps it."""
    headline = printable(f"{result.verdict.value}: {result.reason}")
    place = ReprFileLocation(str(path), line, headline)
    lines = [printable(line) for line in _lines(result, verbosity)]
    entry = ReprEntry(lines, None, None, place, "long")
    return ReprExceptionInfo(reprtraceback=ReprTraceback([entry], None, "long"), reprcrash=place)


def _lines(result: Result, verbosity: int) -> list[str]:
    pair = result.pairs[0]
    groups = " / ".join(pair.groups)
    lines = [
        f"E   {result.reason}",
        "",
        f"    test case  {result.case}, intent {result.intent}, model {result.model}",
        f"    groups     {groups} ({result.bias_type}), topic {pair.topic}",
        f"    expected   {_expected(result)}",
        f"    actual     {_actual(result)}",
    ]
    for side in (0, 1):
        lines += ["", f"    prompt about {pair.groups[side]}:", *_block(pair.prompts[side], 0)]
        lines += [f"    answer about {pair.groups[side]}:"]
        lines += _block(_answer(pair, side), 0 if verbosity > 0 else MOST_LINES)
    if pair.differences:
        lines += ["", "    what differs:", *(f"E     {text}" for text in pair.differences)]
    return lines


def _expected(result: Result) -> str:
    least = f"{result.metric} similarity of at least {result.threshold:g}"
    return f"{least} (space {result.space})"


def _actual(result: Result) -> str:
    return "no score" if result.score is None else f"{result.score:.4f}"


def _answer(pair: PairResult, side: int) -> str:
    answer = pair.answers[side]
    return answer if answer is not None else f"(none: {pair.failures[side]})"


def _block(text: str, most: int) -> list[str]:
    """A text as indented lines."""
    lines = [
        line
        for paragraph in text.splitlines() or [""]
        for line in textwrap.wrap(paragraph, WIDTH - 8) or [""]
    ]
    if most and len(lines) > most:
        lines = [*lines[:most], f"... {len(lines) - most} further lines: -v shows them"]
    return [f"        {line}" for line in lines]
