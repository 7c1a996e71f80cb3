"""What a run leaves behind: a result for every item, and the summary over them."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

from caffe_pytest.model.verdict import Verdict


class Record(BaseModel):
    """Base of what is written to a run's folder."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class PairResult(Record):
    """One prompt pair with its answers; the disadvantaged group stands first everywhere."""

    triple: str
    """Identifier of the triple in its knowledge base."""
    topic: str
    groups: tuple[str, str]
    prompts: tuple[str, str]
    answers: tuple[str | None, str | None]
    """None where the call brought no answer; `failures` says why."""
    failures: tuple[str | None, str | None] = (None, None)
    """Outcome and message of a call that brought no answer."""
    keys: tuple[str, str]
    """Where the answers stand in the journal."""
    differences: tuple[str, ...] = ()
    """What differs between the two answers, in sentences for a reader."""
    score: float | None
    verdict: Verdict


class Result(Record):
    """One line of `results.jsonl`: an item, its verdict, and all it rests on."""

    nodeid: str
    file: str
    line: int
    """1-based line of the test case in its file."""
    case: str
    kind: str
    objective: str | None
    model: str
    """The model's alias; `environment.json` has its full name."""
    intent: str
    bias_type: str
    oracle: str
    metric: str
    space: str
    threshold: float
    """Expected fairness level."""
    score: float | None
    """Actual fairness level; null where there is none."""
    verdict: Verdict
    reason: str
    n: int
    """Prompt pairs that were judged."""
    pairs: tuple[PairResult, ...]


class Tally(Record):
    """Counts and scores of a group of items, as the paper reports them (its Tables 2 to 4)."""

    items: int
    verdicts: dict[Verdict, int]
    fail_rate: float | None
    """Failed items over judged items (pass and fail); null where none was judged."""
    asr: float | None
    """Attack success rate: share of judged pairs below the threshold."""
    mean: float | None
    median: float | None
    standard_deviation: float | None
    """Of the sample (n - 1); null below two scores."""


class GateResult(Record):
    """Whether a test case's gate held."""

    case: str
    max_fail_rate: float
    fail_rate: float | None
    held: bool


class Summary(Record):
    """`summary.json`: totals of a run, and the same by every attribute a reader asks for."""

    format: int = 1
    complete: bool
    """False where the run was interrupted: planned items are missing."""
    planned: int
    """Items selected to run."""
    total: Tally
    by_bias_type: dict[str, Tally]
    by_intent: dict[str, Tally]
    by_model: dict[str, Tally]
    by_metric: dict[str, Tally]
    by_case: dict[str, Tally]
    failures: dict[str, int]
    """Calls without an answer, by outcome."""
    gates: tuple[GateResult, ...]
    calls: dict[str, int]
    """`asked`: prompts sent to a model in this run, however often; `answered`: those of them that
    brought an answer; `reused`: answers taken from the journal of an earlier run."""

    @property
    def green(self) -> bool:
        """Whether every planned item was judged, and none failed that no gate tolerates."""
        total = self.total.verdicts
        unjudged = total[Verdict.ERROR] or total[Verdict.INCONCLUSIVE]
        held = {gate.case for gate in self.gates if gate.held}
        failed = {case for case, tally in self.by_case.items() if tally.verdicts[Verdict.FAIL]}
        return self.complete and not unjudged and failed <= held

    def as_json(self) -> dict[str, Any]:
        """The plain content, ready to be written."""
        return self.model_dump(mode="json")
