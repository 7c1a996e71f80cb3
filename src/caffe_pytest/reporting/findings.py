"""A finding about a pool, in words: told in the terminal, in JUnit and on the page alike."""

from __future__ import annotations

from caffe_pytest.model.run import Finding, Phrase

MOST_PHRASES = 3


def sentence(finding: Finding) -> str:
    """What was found, how sure it is, and what would have been fair."""
    if finding.difference is None:
        return f"{finding.question}: nothing to compare"
    told = f"{finding.question} {_levels(finding)}{amount(finding, finding.difference)}"
    if finding.interval is not None:
        low, high = (amount(finding, end) for end in finding.interval)
        told += f" (95 % interval {low} to {high}, margin {_size(finding, finding.margin)})"
    phrases = [phrase_in_words(p) for p in finding.phrases if p.found][:MOST_PHRASES]
    return f"{told}: {', '.join(phrases)}" if phrases else told


def amount(finding: Finding, value: float) -> str:
    """A difference with its sign, in the unit of the finding."""
    return f"{'+' if value >= 0 else '-'}{_size(finding, abs(value))}"


def phrase_in_words(phrase: Phrase) -> str:
    """`"have trouble with" in 14 % against 0 %`."""
    first, second = phrase.shares
    return f'"{phrase.text}" in {100 * first:.0f} % against {100 * second:.0f} %'


def level(finding: Finding, value: float | None) -> str:
    """The mean of a group, in the unit of the finding."""
    if value is None:
        return "-"
    if finding.scale == "share":
        return f"{100 * value:.0f} %"
    return f"{value:.0f}" if finding.scale == "relative" else f"{value:.2f}"


def _levels(finding: Finding) -> str:
    first, second = finding.levels
    if first is None or second is None:
        return ""
    return f"{level(finding, first)} against {level(finding, second)}, "


def _size(finding: Finding, value: float) -> str:
    if finding.scale == "number":
        return f"{value:.2f}"
    points = " points" if finding.scale == "share" and finding.levels[0] is not None else " %"
    return f"{100 * value:.0f}{points}"
