"""Totals of a run, and the paper's statistics by bias type, intent, model and metric."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from caffe_pytest.model.run import GateResult, Result, Summary, Tally
from caffe_pytest.model.test_case import Gate
from caffe_pytest.model.verdict import Verdict
from caffe_pytest.oracles import gap
from caffe_pytest.reporting.paper import PaperCount, Strata

ROUNDED_TO = 6

JUDGED = (Verdict.PASS, Verdict.FAIL)


@dataclass
class Count:
    """A tally in the making: what is known of a group of items while they pass by."""

    verdicts: Counter[Verdict] = field(default_factory=Counter)
    pairs: Counter[Verdict] = field(default_factory=Counter)
    scores: list[float] = field(default_factory=list)
    controls: int = 0
    controls_failed: int = 0

    def add(self, result: Result) -> None:
        """Take an item into account."""
        self.verdicts[result.verdict] += 1
        if result.control is not None:
            self.controls += result.control.judged
            self.controls_failed += result.control.failed
        for pair in result.pairs:
            if pair.verdict is not None:
                self.pairs[pair.verdict] += 1
            if pair.score is not None:
                self.scores.append(pair.score)

    def tally(self) -> Tally:
        """What was counted so far; a rate or mean of nothing is None."""
        scores = self.scores
        return Tally(
            items=self.verdicts.total(),
            verdicts={verdict: self.verdicts[verdict] for verdict in Verdict},
            fail_rate=fail_rate(self.verdicts),
            control_rate=_rounded(self.controls_failed / self.controls) if self.controls else None,
            controls=self.controls,
            asr=fail_rate(self.pairs),
            mean=_rounded(statistics.fmean(scores)) if scores else None,
            median=_rounded(statistics.median(scores)) if scores else None,
            standard_deviation=_rounded(statistics.stdev(scores)) if len(scores) > 1 else None,
        )


def fail_rate(verdicts: Mapping[Verdict, int]) -> float | None:
    """Failed over judged; None where nothing was judged."""
    judged = sum(verdicts.get(verdict, 0) for verdict in JUDGED)
    return _rounded(verdicts.get(Verdict.FAIL, 0) / judged) if judged else None


def _rounded(value: float) -> float:
    return round(value, ROUNDED_TO)


def summarise(
    results: Iterable[Result],
    *,
    planned: int,
    gates: Mapping[str, Mapping[str, Any]],
    calls: Mapping[str, int],
    failures: Mapping[str, int],
    strata: Strata | None = None,
) -> Summary:
    """The summary over results; `gates` has the content of each test case's gate."""
    views: dict[str, Callable[[Result], str]] = {
        "bias_type": lambda result: result.bias_type,
        "intent": lambda result: result.intent,
        "model": lambda result: result.model,
        "metric": lambda result: result.metric,
        "case": lambda result: result.case,
    }
    total, pools = Count(), Count()
    paper = PaperCount()
    counts: dict[str, dict[str, Count]] = {view: {} for view in views}
    for result in results:
        total.add(result)
        paper.add(result)
        if result.oracle == gap.NAME:
            pools.add(result)
        for view, value_of in views.items():
            counts[view].setdefault(value_of(result), Count()).add(result)
    tallies = {
        view: {value: count.tally() for value, count in sorted(by_value.items())}
        for view, by_value in counts.items()
    }
    complete = total.verdicts.total() == planned
    return Summary(
        complete=complete,
        planned=planned,
        total=total.tally(),
        by_bias_type=tallies["bias_type"],
        by_intent=tallies["intent"],
        by_model=tallies["model"],
        by_metric=tallies["metric"],
        by_case=tallies["case"],
        failures=dict(failures),
        gates=tuple(
            _gate(case, Gate.model_validate(gate), counts["case"].get(case), complete)
            for case, gate in sorted(gates.items())
        ),
        control_alarm=gap.control_alarm(pools.controls_failed, pools.controls),
        calls=dict(calls),
        paper=paper.tables(strata),
    )


def _gate(case: str, gate: Gate, count: Count | None, complete: bool) -> GateResult:
    """A gate holds over judged items alone: none may be missing, or in error.

    Inconclusive items are only told of where the gate says so.
    """
    verdicts = count.verdicts if count is not None else Counter()
    judged = sum(verdicts[verdict] for verdict in JUDGED)
    told = verdicts[Verdict.INCONCLUSIVE] if gate.inconclusive == "warn" else 0
    settled = complete and judged + told > 0 and judged + told == verdicts.total()
    return GateResult(
        case=case,
        max_fail_rate=gate.max_fail_rate,
        fail_rate=fail_rate(verdicts),
        held=settled and verdicts[Verdict.FAIL] <= gate.max_fail_rate * judged,
        inconclusive_allowed=gate.inconclusive == "warn",
    )
