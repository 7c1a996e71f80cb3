"""A finding about a pool, in words: told in the terminal, in JUnit and on the page alike.

The disadvantaged group stands first everywhere.
"""

from __future__ import annotations

from caffe_pytest.metrics import judge, wording
from caffe_pytest.model.run import Control, Finding, Phrase
from caffe_pytest.model.verdict import Verdict

MOST_PHRASES = 3

MISSING = "-"
"""Stands where there is no value, which is not zero."""


def sentence(finding: Finding, *, phrases: bool = True) -> str:
    """What was found, how sure it is, what would have been fair, and the phrases that tell.

    `sentiment 0.13 against 0.38, -0.26 (95 % interval -0.32 to -0.19, margin 0.1)`
    """
    if finding.difference is None:
        return f"{finding.question}: nothing to compare"
    told = f"{finding.question} {_observed(finding, finding.difference)}"
    if finding.interval is not None:
        told += f" (95 % interval {interval(finding)}, margin {margin(finding)})"
    named = [phrase_in_words(p) for p in finding.phrases if p.found][:MOST_PHRASES]
    return f"{told}: {', '.join(named)}" if phrases and named else told


def amount(finding: Finding, value: float | None) -> str:
    """A difference with its sign, in the unit of the finding."""
    if value is None:
        return MISSING
    size = _size(finding, abs(value))
    nothing = not any(digit in size for digit in "123456789")
    return size if nothing else f"{'+' if value > 0 else '-'}{size}"


def interval(finding: Finding) -> str:
    """`+0.02 to +0.08`, in the unit of the finding."""
    if finding.interval is None:
        return MISSING
    low, high = (amount(finding, end) for end in finding.interval)
    return f"{low.removesuffix(_unit(finding))} to {high}"


def margin(finding: Finding) -> str:
    """The difference still called fair, in the unit of the finding."""
    factor = 1 if finding.scale == "number" else 100
    return f"{factor * finding.margin:g}{_unit(finding)}"


def level(finding: Finding, side: int) -> str:
    """The mean of the first or second group, in the unit of the finding.

    Of a similarity: within the groups, and across them.
    """
    value = finding.levels[side]
    if value is None or finding.question == judge.NAME:
        return MISSING
    if finding.scale == "share":
        return share(value)
    return f"{value:.0f}" if finding.scale == "relative" else f"{value:.2f}"


def share(value: float) -> str:
    """A share of answers: `36 %`, `2.1 %`."""
    return f"{_percent(value)} %"


def chance(p_value: float | None) -> str:
    """A p-value with two digits."""
    return MISSING if p_value is None else f"{p_value:.2g}"


def phrase_in_words(phrase: Phrase) -> str:
    """`"have trouble with" in 14 % of answers against 0 %`."""
    first, second = phrase.shares
    return f'"{phrase.text}" in {share(first)} of answers against {share(second)}'


def verdict_in_words(finding: Finding) -> str:
    """What was decided of the question, and what would decide it."""
    if finding.verdict is Verdict.FAIL:
        return "differs beyond the margin"
    if finding.verdict is Verdict.PASS:
        return "no difference beyond the margin"
    if finding.difference is None:
        return "nothing to compare"
    if finding.more_prompts is None:
        return "about as large as the margin"
    return f"about {finding.more_prompts:,} more prompt pairs would settle it"


def control_in_words(control: Control) -> str:
    """What came of comparing a pool's repetitions as if they were groups."""
    told = f"repetitions compared as if they were groups, p = {chance(control.p_value)}"
    if control.failed:
        return f"{told}: they differ, which chance alone seldom brings about"
    return f"{told}: no difference, as it should be"


def _observed(finding: Finding, difference: float) -> str:
    told = amount(finding, difference)
    if finding.question == wording.NAME:
        return f"{told} over guessing which answer is about which group"
    if finding.question == judge.NAME:
        preferred = "disadvantaged" if difference > 0 else "advantaged"
        return f"prefers answers about the {preferred} group, {told}" if difference else told
    first, second = (level(finding, side) for side in (0, 1))
    if finding.similarity:
        return f"{first} within a group against {second} across, {told}"
    return told if MISSING in (first, second) else f"{first} against {second}, {told}"


def _size(finding: Finding, value: float) -> str:
    if finding.scale == "number":
        return f"{value:.3f}" if value < 0.0995 else f"{value:.2f}"
    return f"{_percent(value)}{_unit(finding)}"


def _unit(finding: Finding) -> str:
    return {"number": "", "share": " points", "relative": " %"}[finding.scale]


def _percent(value: float) -> str:
    """Two digits where there are as many; nothing at all is `0`."""
    return f"{100 * value:.1f}" if 0 < value < 0.0995 else f"{100 * value:.0f}"
