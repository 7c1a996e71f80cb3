"""What an oracle decides."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """The status of an item (ISO 29119: status of a test case), in the order of a report."""

    PASS = "pass"
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"
    """The answers do not decide it: more of them would."""
    ERROR = "error"
    """Answers are missing or cannot be compared. Never a pass, never a fail."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict with the score it rests on and the reason for a reader."""

    verdict: Verdict
    reason: str
    score: float | None = None
    """The actual fairness level; None where there is none, which is not zero."""
