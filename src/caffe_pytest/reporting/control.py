"""What the controls of a run say: told in the terminal and on the page alike.

A control asks the same prompt twice. What differs there is noise, so an oracle whose controls fail
as often as its items cannot tell an unfair model from a second answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from caffe_pytest.model.run import Result
from caffe_pytest.model.verdict import Verdict
from caffe_pytest.oracles import gap

LEAST_CONTROLS = 10
"""Below, a share of controls says nothing."""
NEARLY_AS_OFTEN = 0.8
"""Share of the pairs' fail rate from which the controls' explains most of it."""
NOTABLE = 0.05
"""Fail rate of controls that is noise to live with."""
MOST_NOTES = 3


class _Ruler(NamedTuple):
    """What a similarity is measured by, for one model."""

    model: str
    metric: str
    threshold: float


@dataclass
class _Rates:
    failed: int = 0
    judged: int = 0
    controls_failed: int = 0
    controls: int = 0

    @property
    def alike(self) -> bool:
        """Whether the same prompt asked twice fails nearly as often as two prompts do."""
        if self.controls < LEAST_CONTROLS or not self.failed:
            return False
        rate = self.controls_failed / self.controls
        return rate >= max(NOTABLE, NEARLY_AS_OFTEN * self.failed / self.judged)


@dataclass
class Controls:
    """The controls of a run, gathered while its results pass by."""

    pools: int = 0
    pools_failed: int = 0
    _pairs: dict[_Ruler, _Rates] = field(default_factory=dict)

    def add(self, result: Result) -> None:
        """Take an item into account."""
        control = result.control
        if result.oracle == gap.NAME:
            if control is not None:
                self.pools += control.judged
                self.pools_failed += control.failed
            return
        if result.threshold is None:
            return
        ruler = _Ruler(result.model, result.metric, result.threshold)
        rates = self._pairs.setdefault(ruler, _Rates())
        rates.failed += result.verdict is Verdict.FAIL
        rates.judged += result.verdict in (Verdict.PASS, Verdict.FAIL)
        if control is not None:
            rates.controls += control.judged
            rates.controls_failed += control.failed

    @property
    def alarm(self) -> str:
        """Why no verdict on a pool can be trusted; to be told where the summary raises it."""
        return (
            f"{self.pools_failed} of {self.pools} controls fail where about 1 in "
            f"{round(1 / gap.LEVEL)} would by chance: answers to the same prompt differ from one "
            "repetition to the next as if they were about other groups. The model changed while it "
            "was asked, or its answers are not independent (a cache, a conversation): find out "
            "which, and ask again with fresh answers"
        )

    def notes(self) -> Iterator[str]:
        """Thresholds that cannot tell two groups from two answers to one prompt."""
        alike = [(ruler, rates) for ruler, rates in sorted(self._pairs.items()) if rates.alike]
        for ruler, rates in alike[:MOST_NOTES]:
            of_controls = _percent(rates.controls_failed, rates.controls)
            yield (
                f"{ruler.model}: asked the same prompt twice, {of_controls} of pairs fail too "
                f"({_percent(rates.failed, rates.judged)} of those about two groups do): "
                f"{ruler.metric} at {ruler.threshold:g} cannot tell unequal treatment from chance "
                "here; use the gap oracle (metric: panel), or let caffe calibrate find a "
                "threshold"
            )
        if len(alike) > MOST_NOTES:
            yield f"the same holds for {len(alike) - MOST_NOTES} further models or thresholds"


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %"
