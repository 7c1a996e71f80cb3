"""What a run leaves behind: a result for every item, and the summary over them."""

from __future__ import annotations

from typing import Any, Literal

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
    repetition: int = 0
    """How often both prompts had been asked before."""
    masked: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    """Mentions of the groups that were masked in either answer before it was compared."""
    mostly_masked: tuple[bool, bool] = (False, False)
    """Whether masking took so much of an answer that little is left to compare."""
    score: float | None
    verdict: Verdict | None
    """None where the item is a pool: the verdict is about all its pairs together."""


class Phrase(Record):
    """A word or phrase that stands in answers about one group more than about the other."""

    text: str
    shares: tuple[float, float]
    """Of the answers about either group that hold it."""
    found: bool
    """Whether it alone is more than chance, however many phrases were looked at."""


class Finding(Record):
    """One question asked of a pool: how far the groups differ, and whether by chance."""

    question: str
    """`semantic`, `refusal`, `length`, ..."""
    metric: str
    """Name and version of what measured it."""
    levels: tuple[float | None, float | None]
    """Mean of either group; for a similarity, within the groups and across them."""
    similarity: bool = False
    """Whether the levels are of pairs of answers, within the groups and across them."""
    difference: float | None
    """Disadvantaged less advantaged group; for a similarity, within less across."""
    interval: tuple[float, float] | None
    """95 % interval of the difference."""
    margin: float
    """The difference still called fair."""
    scale: Literal["number", "share", "relative"]
    """`share`: of answers, 0..1; `relative`: the ratio of the levels less one, the levels being
    geometric means; `number`: in the metric's own unit."""
    p_value: float | None
    """Corrected for the questions asked of this pool."""
    p_adjusted: float | None
    """Corrected for the pools of the run as well."""
    verdict: Verdict
    compared: int
    """Prompt pairs that the question could be asked of."""
    more_prompts: int | None = None
    """About how many further prompt pairs would settle what is inconclusive; None = not known."""
    phrases: tuple[Phrase, ...] = ()


class Control(Record):
    """The same prompt against itself: what fails here is noise."""

    failed: int
    judged: int
    p_value: float | None = None
    """Of a pool whose repetitions were compared as if they were groups."""
    scores: tuple[float, ...] = ()
    """Of a prompt pair: the first answer to each prompt against the second."""
    keys: tuple[str, ...] = ()
    """Where the second answers stand in the journal."""


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
    threshold: float | None = None
    """Expected fairness level of the similarity oracle."""
    score: float | None = None
    """Actual fairness level of the similarity oracle; null where there is none."""
    gap: float | None = None
    """Of a pool: the difference that decided; its interval and p-values follow."""
    interval: tuple[float, float] | None = None
    p_value: float | None = None
    p_adjusted: float | None = None
    findings: tuple[Finding, ...] = ()
    """Every question that was asked of a pool, the failing ones first."""
    control: Control | None = None
    groups: tuple[str, str] | None = None
    """None where the item is about several pairs of groups."""
    topic: str | None = None
    """None where the item is about several topics."""
    verdict: Verdict
    reason: str
    n: int
    """Prompt pairs that were judged."""
    n_answers: int = 0
    """Answers that were judged."""
    pairs: tuple[PairResult, ...]


class Tally(Record):
    """Counts and scores of a group of items, as the paper reports them (its Tables 2 to 4)."""

    items: int
    verdicts: dict[Verdict, int]
    fail_rate: float | None
    """Failed items over judged items (pass and fail); null where none was judged."""
    control_rate: float | None = None
    """Failed over judged controls: the fail rate of a model that treats all groups alike."""
    controls: int = 0
    """Controls judged."""
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
    inconclusive_allowed: bool = False


class PairStatistics(Record):
    """Prompt pairs of the similarity oracle, told as the paper tells them (CAFFE, Tables 3, 4)."""

    model: str
    intent: str | None
    """None = over all intents."""
    bias_type: str | None
    """None = over all bias types."""
    metric: str
    space: str
    threshold: float
    pairs: int
    """Judged, or in error."""
    judged: int
    failed: int
    fail_rate: float | None
    """Failed over judged pairs: the paper's fail rate and its ASR."""
    mean: float | None
    median: float | None
    standard_deviation: float | None
    """Of the sample (n - 1); null below two scores."""
    controls: int
    """Controls judged."""
    control_rate: float | None


class MetricFailures(Record):
    """How many of the compared pairs fail by one metric."""

    metric: str
    space: str
    failed: int
    fail_rate: float | None
    controls: int
    control_rate: float | None


class MetricComparison(Record):
    """Metrics on the same answers of one model: which of them fails most (CAFFE, Table 2)."""

    model: str
    bias_type: str | None
    """None = over all bias types."""
    threshold: float
    compared: int
    """Pairs that every metric judged."""
    metrics: tuple[MetricFailures, ...]
    """The one that fails most first."""


class ThresholdFailures(Record):
    """What would fail at a threshold."""

    model: str
    metric: str
    space: str
    threshold: float
    judged: int
    below: int
    """Pairs whose score is below the threshold: what the paper counts."""
    failed: int
    """These, and the pairs where the request is declined for one group alone."""
    fail_rate: float | None
    controls: int
    control_rate: float | None


class SampleReached(Record):
    """How exact the fail rate of a stratum is (CAFFE, section 5.2: intent x bias type)."""

    model: str
    intent: str
    bias_type: str
    population: int | None
    """Prompt pairs to choose from; null where the run does not say."""
    margin: float
    """Asked for: half-width of the confidence interval of a share."""
    confidence: float
    needed: int | None
    """Prompt pairs that reach this margin."""
    judged: int
    margin_reached: float | None


class PaperStatistics(Record):
    """The statistics of the CAFFE paper over the pairs of the similarity oracle."""

    by_model_and_intent: tuple[PairStatistics, ...]
    """Table 4; a model with several intents has a line over all of them."""
    by_bias_type: tuple[PairStatistics, ...]
    """The same, for each model, over all intents."""
    by_model_intent_and_bias_type: tuple[PairStatistics, ...]
    """Table 3."""
    metrics: tuple[MetricComparison, ...]
    """Table 2."""
    thresholds: tuple[ThresholdFailures, ...]
    """0.1 to 0.9."""
    samples: tuple[SampleReached, ...]
    declined_alone: int
    """Pairs that fail at every threshold: the request is declined for one group alone."""
    pools_left_out: int
    """Pools of the gap oracle: no pair of theirs has a verdict."""


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
    control_alarm: bool = False
    """True where pools' controls fail more often than chance explains: no verdict of the gap oracle
    in this run can be trusted."""
    calls: dict[str, int]
    """`asked`: prompts sent to a model in this run, however often; `answered`: those of them that
    brought an answer; `reused`: answers taken from the journal of an earlier run."""
    paper: PaperStatistics | None = None
    """What the CAFFE paper reports, of the same pairs."""

    @property
    def green(self) -> bool:
        """Whether every planned item was judged, and none failed that no gate tolerates."""
        held = {gate.case for gate in self.gates if gate.held}
        open_allowed = {gate.case for gate in self.gates if gate.inconclusive_allowed}
        failed = {case for case, tally in self.by_case.items() if tally.verdicts[Verdict.FAIL]}
        undecided = {
            case for case, tally in self.by_case.items() if tally.verdicts[Verdict.INCONCLUSIVE]
        }
        judged = self.complete and not self.total.verdicts[Verdict.ERROR]
        return judged and not self.control_alarm and failed <= held and undecided <= open_allowed

    def as_json(self) -> dict[str, Any]:
        """The plain content, ready to be written."""
        return self.model_dump(mode="json")
