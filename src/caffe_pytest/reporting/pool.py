"""A pool as text: its questions as a table, and the answers that show best what was found.

For JUnit and for pytest's failures: a pool has hundreds of answers, and a reader two minutes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from caffe_pytest.metrics import length, refusal
from caffe_pytest.metrics.masking import PLACEHOLDER
from caffe_pytest.model.run import Finding, PairResult, Phrase, Result
from caffe_pytest.model.verdict import Verdict
from caffe_pytest.reporting.findings import (
    amount,
    chance,
    control_in_words,
    interval,
    level,
    margin,
    phrase_in_words,
    sentence,
    verdict_in_words,
)

HEAD = ("question", "disadvantaged", "advantaged", "difference", "95 % interval", "margin", "p", "")


def question_table(findings: Sequence[Finding]) -> list[str]:
    """The questions asked of a pool as aligned lines, the head first."""
    rows = [HEAD, *(_cells(finding) for finding in findings)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def phrase_lines(phrases: Sequence[Phrase]) -> list[str]:
    """Each phrase with its shares; one that alone may be chance says so."""
    return [
        phrase_in_words(phrase) + ("" if phrase.found else " (alone, it may be chance)")
        for phrase in phrases
    ]


def reason_lines(result: Result) -> Iterator[str]:
    """Why a pool does not pass, a line for each question that decided it."""
    decisive = [finding for finding in result.findings if finding.verdict is result.verdict]
    if not decisive:
        yield result.reason
        return
    failed = result.verdict is Verdict.FAIL
    yield "the groups are treated differently:" if failed else "the answers do not decide it:"
    for finding in decisive:
        yield f"  {sentence(finding, phrases=False)}"
        if not failed:
            yield f"    {verdict_in_words(finding)}"


def named_phrases(result: Result) -> tuple[Phrase, ...]:
    """The phrases that are told of a pool, the most telling first."""
    return next((finding.phrases for finding in result.findings if finding.phrases), ())


def control_line(result: Result) -> str | None:
    """What the control of a pool says; None where it has none."""
    return None if result.control is None else control_in_words(result.control)


@dataclass(frozen=True, slots=True)
class Example:
    """Both answers of a prompt pair that show what was found, and why these."""

    pair: PairResult
    why: str


def example(result: Result) -> Example | None:
    """The prompt pair whose answers show best what was found; None where there is no answer."""
    answered = [pair for pair in result.pairs if any(answer for answer in pair.answers)]
    if not answered:
        return None
    phrases = [phrase for phrase in named_phrases(result) if phrase.found]
    if phrases:
        count = partial(_phrases_held, phrases)
        pair = max(answered, key=count)
        held = count(pair)
        if held:
            return Example(pair, f"it holds {held} of the phrases named")
    for finding in result.findings:
        telling = _TELLING.get(finding.question)
        if finding.verdict is Verdict.FAIL and telling is not None and finding.difference:
            toward = 1 if finding.difference > 0 else -1
            value, pair = max(((toward * telling(one), one) for one in answered), key=_first)
            if value > 0:
                return Example(pair, f"its answers differ most in {finding.question}")
    scored = [pair for pair in answered if pair.score is not None]
    if scored:
        return Example(min(scored, key=lambda pair: pair.score or 0.0), "its answers differ most")
    return Example(answered[0], "the first")


def holders(result: Result) -> list[list[tuple[int, int]]]:
    """For each phrase of `named_phrases` the answers that hold it: place of the pair, and side.

    Answers that decline hold nothing: the shares of a phrase are of the others.
    """
    phrases = named_phrases(result)
    found: list[list[tuple[int, int]]] = [[] for _ in phrases]
    if phrases:
        for place, pair in enumerate(result.pairs):
            for side in (0, 1):
                text = _compared(pair, side)
                for phrase, of_phrase in zip(phrases, found, strict=True):
                    if text is not None and holds(phrase.text, text):
                        of_phrase.append((place, side))
    return found


def holds(phrase: str, masked: str) -> bool:
    """Whether a text in which the groups are masked holds the phrase, within one sentence."""
    return re.search(_pattern(phrase), masked.casefold()) is not None


def _cells(finding: Finding) -> tuple[str, ...]:
    within, across = (" within", " across") if finding.similarity else ("", "")
    return (
        finding.question,
        level(finding, 0) + within,
        level(finding, 1) + across,
        amount(finding, finding.difference),
        interval(finding),
        margin(finding),
        chance(finding.p_adjusted),
        f"{finding.verdict.value}: {verdict_in_words(finding)}",
    )


def _phrases_held(phrases: Sequence[Phrase], pair: PairResult) -> int:
    """How many of the phrases stand in the answer about the group that they are found with."""
    expected: tuple[list[str], list[str]] = ([], [])
    for phrase in phrases:
        expected[phrase.shares[0] < phrase.shares[1]].append(phrase.text)
    compared = (_compared(pair, side) if expected[side] else None for side in (0, 1))
    return sum(
        holds(phrase, text)
        for text, texts in zip(compared, expected, strict=True)
        if text is not None
        for phrase in texts
    )


def _compared(pair: PairResult, side: int) -> str | None:
    """An answer as its words were compared, the groups masked; None for one that says nothing."""
    text = pair.answers[side]
    if text is None or not text.strip() or refusal.is_refusal(text):
        return None
    return _masked(text, pair.masked[side])


def _masked(text: str, mentions: Sequence[str]) -> str:
    """The text with what the result says was masked in it masked once more."""
    if not mentions:
        return text
    one = "|".join(re.escape(mention) for mention in sorted(mentions, key=len, reverse=True))
    several = rf"(?:{one})(?:[ \t\u00a0]*-?(?:{one}))*"
    return re.sub(rf"(?<!\w)(?:(?i:an?)\s+)?{several}(?!\w)", PLACEHOLDER, text)


def _pattern(phrase: str) -> str:
    """Its words as the metric reads them: parts of one sentence, and no parts of a longer word."""
    words = r"[^\w.!?\n;:]+".join(map(re.escape, phrase.split(" ")))
    return rf"(?<!\w)(?<!\w['\u2019-]){words}(?![\w]|['\u2019-]\w)"


def _declines(pair: PairResult) -> float:
    first, second = (refusal.is_refusal(answer or "") for answer in pair.answers)
    return float(first) - float(second)


def _withheld(pair: PairResult) -> float:
    first, second = (not (answer or "").strip() for answer in pair.answers)
    return float(first) - float(second)


def _words(pair: PairResult) -> float:
    first, second = (len((answer or "").split()) for answer in pair.answers)
    return float(first - second)


_TELLING: dict[str, Callable[[PairResult], float]] = {
    refusal.NAME: _declines,
    length.NAME: _words,
    "withheld": _withheld,
}
"""How much the two answers of a prompt pair show of a difference, the disadvantaged group first."""


def _first(entry: tuple[float, PairResult]) -> float:
    return entry[0]
