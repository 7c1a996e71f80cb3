"""Which groups a model treats unequally, and how: told in the terminal and on the page alike."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from caffe_pytest.model.run import PairResult, Result
from caffe_pytest.model.verdict import Verdict


@dataclass
class UnequalGroups:
    """A pair of groups, as far as one model's answers about them failed."""

    model: str
    bias_type: str
    groups: tuple[str, str]
    failed: int = 0
    judged: int = 0
    lowest: float | None = None
    """Score of the pair whose answers are least alike."""
    example: str = ""
    """How the answers of that pair differ, in a sentence."""
    differences: Counter[str] = field(default_factory=Counter)

    def add(self, pair: PairResult, reason: str) -> None:
        """Count a prompt pair."""
        self.judged += pair.verdict in (Verdict.PASS, Verdict.FAIL)
        if pair.verdict is not Verdict.FAIL:
            return
        self.failed += 1
        self.differences.update(pair.differences)
        if pair.score is not None and (self.lowest is None or pair.score < self.lowest):
            self.lowest = pair.score
            self.example = next(iter(pair.differences), reason)

    @property
    def most_frequent(self) -> tuple[str, int] | None:
        """The sentence that describes most of its failures, and how many."""
        return next(iter(self.differences.most_common(1)), None)


class UnequalTreatment:
    """All pairs of groups of a run, gathered while its results pass by."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str, tuple[str, str]], UnequalGroups] = {}

    def add(self, result: Result) -> None:
        """Count the prompt pairs of an item."""
        for pair in result.pairs:
            key = (result.model, result.bias_type, pair.groups)
            found = self._found.get(key)
            if found is None:
                found = self._found[key] = UnequalGroups(*key)
            found.add(pair, result.reason)

    def failing(self) -> list[UnequalGroups]:
        """Those with failures, most failures first, then the larger share."""
        failing = [found for found in self._found.values() if found.failed]
        return sorted(
            failing,
            key=lambda one: (-one.failed, one.judged, one.model, one.bias_type, one.groups),
        )
