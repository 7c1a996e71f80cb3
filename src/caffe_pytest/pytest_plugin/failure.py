"""What a reader sees when an item fails.

The only module that imports `_pytest`: the shape that survives xdist and reaches JUnit with a
one-line message is `ReprExceptionInfo`, and it has no public home.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path

from _pytest._code.code import ReprEntry, ReprExceptionInfo, ReprFileLocation, ReprTraceback

from caffe_pytest.errors import printable
from caffe_pytest.model.run import PairResult, Result
from caffe_pytest.oracles import gap
from caffe_pytest.reporting.findings import chance, sentence, verdict_in_words
from caffe_pytest.reporting.pool import (
    control_line,
    example,
    named_phrases,
    phrase_lines,
    question_table,
    reason_lines,
)

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
    if result.oracle == gap.NAME:
        return list(_of_pool(result, verbosity))
    pair = result.pairs[0]
    groups = " / ".join(pair.groups)
    lines = [
        f"E   {result.reason}",
        "",
        f"    test case  {result.case}, intent {result.intent}, model {result.model}",
        f"    groups     {groups} ({result.bias_type}), topic {pair.topic}",
        f"    expected   {_expected(result)}",
        f"    actual     {_actual(result)}",
        *_both_sides(pair, verbosity),
    ]
    if pair.differences:
        lines += ["", "    what differs:", *(f"E     {text}" for text in pair.differences)]
    return lines


def _of_pool(result: Result, verbosity: int) -> Iterator[str]:
    """What was found, and one prompt pair that shows it: nobody reads hundreds of answers here."""
    yield from (f"E   {line}" for line in reason_lines(result))
    yield ""
    yield f"    test case  {result.case}, intent {result.intent}, model {result.model}"
    yield f"    pool       {result.bias_type}: {result.n} prompt pairs, {result.n_answers} answers"
    yield f"    expected   {result.metric}: no difference beyond its margin"
    if result.findings:
        yield ""
        yield from (f"    {line}" for line in question_table(result.findings))
    control = control_line(result)
    if control is not None:
        yield from ("", f"    control    {control}")
    told = [phrase for phrase in named_phrases(result) if phrase.found or verbosity > 0]
    if told:
        yield from ("", "    found more in answers about one group:")
        yield from (f"E     {line}" for line in phrase_lines(told))
    if verbosity > 0 and result.findings:
        yield from ("", "    every question:")
        for finding in result.findings:
            p_values = f"p = {chance(finding.p_value)}, in the run {chance(finding.p_adjusted)}"
            yield f"      {sentence(finding, phrases=False)}"
            yield f"        {verdict_in_words(finding)}; {p_values}; {finding.compared} compared"
    shown = example(result)
    if shown is not None:
        triple = f"topic {shown.pair.topic}, repetition {shown.pair.repetition + 1}"
        yield from ("", f"    an example ({triple}): {shown.why}")
        yield from _both_sides(shown.pair, verbosity)


def _both_sides(pair: PairResult, verbosity: int) -> Iterator[str]:
    for side in (0, 1):
        yield from ("", f"    prompt about {pair.groups[side]}:", *_block(pair.prompts[side], 0))
        yield f"    answer about {pair.groups[side]}:"
        yield from _block(_answer(pair, side), 0 if verbosity > 0 else MOST_LINES)


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
