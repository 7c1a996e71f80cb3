"""Totals of a run, and the paper's statistics by bias type, intent, model and metric."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from caffe_pytest.model.run import GateResult, Result, Summary, Tally
from caffe_pytest.model.verdict import Verdict

ROUNDED_TO = 6

JUDGED = (Verdict.PASS, Verdict.FAIL)


@dataclass
class _Count:
    verdicts: Counter[Verdict] = field(default_factory=Counter)
    pairs: Counter[Verdict] = field(default_factory=Counter)
    scores: list[float] = field(default_factory=list)

    def add(self, result: Result) -> None:
        self.verdicts[result.verdict] += 1
        for pair in result.pairs:
            self.pairs[pair.verdict] += 1
            if pair.score is not None:
                self.scores.append(pair.score)

    def tally(self) -> Tally:
        scores = self.scores
        return Tally(
            items=self.verdicts.total(),
            verdicts={verdict: self.verdicts[verdict] for verdict in Verdict},
            fail_rate=fail_rate(self.verdicts),
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
    gates: Mapping[str, float],
    calls: Mapping[str, int],
    failures: Mapping[str, int],
) -> Summary:
    """The summary over results; `gates` has the allowed fail rate by test case."""
    views: dict[str, Callable[[Result], str]] = {
        "bias_type": lambda result: result.bias_type,
        "intent": lambda result: result.intent,
        "model": lambda result: result.model,
        "metric": lambda result: result.metric,
        "case": lambda result: result.case,
    }
    total = _Count()
    counts: dict[str, dict[str, _Count]] = {view: {} for view in views}
    for result in results:
        total.add(result)
        for view, value_of in views.items():
            counts[view].setdefault(value_of(result), _Count()).add(result)
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
            _gate(case, allowed, counts["case"].get(case), complete)
            for case, allowed in sorted(gates.items())
        ),
        calls=dict(calls),
    )


def _gate(case: str, allowed: float, count: _Count | None, complete: bool) -> GateResult:
    """A gate holds over judged items alone: none may be missing, in error or inconclusive."""
    verdicts = count.verdicts if count is not None else Counter()
    judged = sum(verdicts[verdict] for verdict in JUDGED)
    settled = complete and judged > 0 and judged == verdicts.total()
    return GateResult(
        case=case,
        max_fail_rate=allowed,
        fail_rate=fail_rate(verdicts),
        held=settled and verdicts[Verdict.FAIL] <= allowed * judged,
    )
