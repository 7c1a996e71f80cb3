"""What a model's own noise allows: thresholds that hold a false alarm rate, and what pools find.

Every prompt is asked several times, into the journal of a run's folder, so that later runs reuse
the answers. Two answers to one prompt show what chance does; two about different groups show what
chance and the group do.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime

from caffe_pytest.design.pairs import PairSlot, slug
from caffe_pytest.errors import CaffeError, did_you_mean
from caffe_pytest.execution import journal
from caffe_pytest.execution.executor import Call, Executor, Reply
from caffe_pytest.execution.journal import Journal
from caffe_pytest.execution.run_folder import RunFolder
from caffe_pytest.hookspecs import Metric, SimilarityMetric, Space
from caffe_pytest.metrics.refusal import is_refusal
from caffe_pytest.model.answer import Answer
from caffe_pytest.model.prompt_pair import PromptPair
from caffe_pytest.model.test_case import Gap, ModelUnderTest, Similarity
from caffe_pytest.oracles.gap import LEVEL
from caffe_pytest.reporting.calibration import (
    Calibration,
    Comparison,
    ModelCalibration,
    PoolPower,
    write_calibration,
)
from caffe_pytest.services.criteria import Asked, criteria
from caffe_pytest.services.environment import describe_environment
from caffe_pytest.services.judge import failure_of, pool_answers
from caffe_pytest.services.plan import POOL, CasePlan, Procedure
from caffe_pytest.services.pool_power import Planned, pool_power
from caffe_pytest.services.pools import PoolAnswer, Reading
from caffe_pytest.services.price import cost_of
from caffe_pytest.services.report import write_json
from caffe_pytest.services.run import _calls, _in_pairs
from caffe_pytest.services.thresholds import Compared, Text, compare
from caffe_pytest.version import __version__

LEAST_ANSWERS = 2
SIZES = (6, 12, 24, 48, 96)
ANSWERS = (2, 3, 5)
QUANTILES = (5, 25, 50, 75, 95)
STEPS = 100
"""Of the curves, over the thresholds from 0 to 1."""
LOOKED_AT = 240
"""Prompt pairs of a bias type whose noise is measured: more of them would only take longer."""
AT_ONCE = 64
"""Calls waited for together; a model that answers none of the first is given up."""


@dataclass(eq=False)
class Subject:
    """One model in one test case, asked all of its prompts."""

    planned: CasePlan
    """As the test case says."""
    model: ModelUnderTest
    procedures: tuple[Procedure, ...]
    """One for each bias type, asking each prompt as often as the calibration does."""
    answers: list[list[PoolAnswer]] = field(default_factory=list)
    """Of each procedure."""
    replies: list[Reply] = field(default_factory=list)
    given_up: bool = False

    @property
    def calls(self) -> int:
        """How many it takes."""
        return sum(procedure.prompts for procedure in self.procedures)

    @property
    def often(self) -> int:
        """How often each prompt is asked."""
        return self.procedures[0].plan.case.repeats


@dataclass(frozen=True)
class Calls:
    """What was asked in this calibration; other calibrations of the same answers ask less."""

    asked: int
    answered: int
    reused: int
    """Answers of earlier runs."""
    seconds: float


def subjects(plans: Sequence[CasePlan], *, answers: int | None, pilot: int | None) -> list[Subject]:
    """What is to be asked: of every test case every model, each prompt `answers` times.

    Without `answers`, as often as the test case asks, and twice at least. With `pilot`, so many
    prompt pairs of each bias type, spread over the triples.
    """
    found = []
    for plan in plans:
        often = answers or max(LEAST_ANSWERS, plan.case.repeats)
        environment = plan.case.environment.model_copy(update={"repeats": often})
        case = plan.case.model_copy(update={"environment": environment})
        asking = replace(plan, loaded=replace(plan.loaded, case=case))
        for model in plan.case.environment.models:
            procedures = tuple(
                Procedure(asking, model, slug(bias_type), _pilot(slots, pilot))
                for bias_type, slots in _by_bias_type(plan).items()
            )
            found.append(Subject(plan, model, procedures))
    return found


def _by_bias_type(plan: CasePlan) -> dict[str, list[PairSlot]]:
    slots: defaultdict[str, list[PairSlot]] = defaultdict(list)
    for slot in plan.design.slots:
        slots[slot.triple.bias_type].append(slot)
    return dict(slots)


def _pilot(slots: Sequence[PairSlot], number: int | None) -> tuple[PairSlot, ...]:
    """The first prompt pair of every triple before the second of any, in the order of the slots."""
    if number is None:
        return tuple(slots)
    chosen = {slot.name for slot in sorted(slots, key=lambda slot: slot.number)[:number]}
    return tuple(slot for slot in slots if slot.name in chosen)


class Calibrator:
    """Asks the subjects, and says what their answers allow."""

    def __init__(
        self,
        folder: RunFolder,
        chosen: Sequence[Subject],
        metrics: Mapping[str, Metric],
        names: Sequence[str] = (),
    ) -> None:
        """Look the metrics up and load their spaces, before anything is asked.

        `names` are the similarities to calibrate, in place of those of the test cases.

        Raises:
            CaffeError: a metric is not there, or compares no answers.
        """
        self._folder = folder
        self._subjects = chosen
        self._metrics = metrics
        self._chosen = {id(one): _similarities(one.planned, metrics, names) for one in chosen}
        self._spaces: dict[tuple[str, str, str], Space] = {}
        for similarities in self._chosen.values():
            for metric in similarities:
                self._reference(metric)

    def ask(self, concurrency: int, advance: Callable[[int], None]) -> Calls:
        """Ask every prompt as often as planned; `advance` hears how many calls were settled.

        Raises:
            CaffeError: the folder cannot be written.
            JournalError: an answer could not be written down; those before it are kept.
        """
        folder = self._folder
        folder.create()
        started = datetime.now(UTC)
        plans = list(dict.fromkeys(one.procedures[0].plan for one in self._subjects))
        environment = {
            "run": folder.run_id,
            "command": "calibrate",
            "started": started.isoformat(timespec="seconds"),
            **describe_environment(plans),
        }
        try:
            write_json(folder.environment, environment)
        except OSError as error:
            raise CaffeError(f"{folder.path}: cannot be written: {error.strerror}") from error
        answers = Journal(folder.journal, folder.run_id, folder.journals_of_earlier_runs())
        executor = Executor(answers, concurrency=concurrency)
        try:
            self._ask_all(executor, advance)
        finally:
            executor.close()
            answers.close()
        counts = journal.count(folder.journal, folder.run_id)
        finished = datetime.now(UTC)
        calls = Calls(
            asked=counts.asked + sum(counts.failures.values()),
            answered=counts.asked,
            reused=counts.reused,
            seconds=round((finished - started).total_seconds(), 1),
        )
        environment |= {
            "finished": finished.isoformat(timespec="seconds"),
            "calls": asdict(calls),
        }
        write_json(folder.environment, environment)
        return calls

    def _ask_all(self, executor: Executor, advance: Callable[[int], None]) -> None:
        """The prompts of the next pool are under way while the answers to one come in."""
        turns = [(one, procedure) for one in self._subjects for procedure in one.procedures]
        prepared = [self._prepare(executor, turns[0])]
        for place, (subject, procedure) in enumerate(turns):
            if place + 1 < len(turns):
                prepared.append(self._prepare(executor, turns[place + 1]))
            pairs, calls = prepared.pop(0)
            replies: list[Reply] = []
            for start in range(0, len(calls), AT_ONCE):
                part = calls[start : start + AT_ONCE]
                if not subject.given_up:
                    replies += executor.wait(part)
                    subject.given_up = not any(
                        isinstance(reply, Answer) for reply in (*subject.replies, *replies)
                    )
                    if subject.given_up:
                        executor.forget_queued()
                advance(len(part))
            subject.replies += replies
            if len(replies) == len(calls):
                subject.answers.append(pool_answers(procedure, pairs, _in_pairs(replies)))

    def _prepare(self, executor: Executor, turn: tuple[Subject, Procedure]) -> _Prepared:
        subject, procedure = turn
        pairs = procedure.pairs()
        calls = _calls(procedure, pairs)
        if not subject.given_up:
            executor.submit(calls)
        return pairs, calls

    def calibrate(self, false_alarms: float) -> Calibration:
        """What the answers allow; `false_alarms`, 0..1, is the rate that thresholds hold.

        Raises:
            CaffeError: a metric broke.
        """
        pools = sum(len(one.procedures) for one in self._subjects)
        return Calibration(
            caffe_pytest=__version__,
            false_alarms=false_alarms,
            models=tuple(self._model(one, false_alarms, pools) for one in self._subjects),
        )

    def write(self, calibration: Calibration) -> None:
        """Leave `calibration.json` and the page in the folder.

        Raises:
            CaffeError: they cannot be written.
        """
        path = self._folder.path
        try:
            write_calibration(
                calibration, path / "calibration.json", path / "report" / "calibration.html"
            )
        except OSError as error:
            raise CaffeError(
                f"{path}: the calibration cannot be written: {error.strerror}; "
                "the journal is complete: make room and calibrate again"
            ) from error

    def _model(self, subject: Subject, rate: float, pools: int) -> ModelCalibration:
        plan, model = subject.planned, subject.model
        texts, declined = _texts(subject)
        failed = [reply for reply in subject.replies if not isinstance(reply, Answer)]
        missing = Counter(str(reply.outcome) for reply in failed)
        metrics = self._chosen[id(subject)]
        return ModelCalibration(
            case=plan.case.id,
            intent=plan.intent.name,
            model=model.alias,
            full_name=model.model,
            parameters=plan.case.environment.parameters_for(model),
            prompts=sum(len(procedure.slots) for procedure in subject.procedures),
            answers=subject.often,
            declined=declined,
            missing=dict(sorted(missing.items())),
            failure=failure_of(failed[0]) if failed else None,
            comparisons=tuple(
                one for metric in metrics for one in self._compare(plan, metric, texts, rate)
            ),
            pools=self._pools(subject, pools),
            cost=cost_of(model, plan.providers[model.alias], subject.replies),
            notes=tuple(_notes(subject, metrics)),
        )

    def _pools(self, subject: Subject, pools: int) -> PoolPower | None:
        """What the gap oracle finds of this model; None where there are no answers."""
        if not subject.answers:
            return None
        plan = subject.planned
        expected = plan.case.expected_fairness
        prompts = min(len(slots) for slots in _by_bias_type(plan).values())
        planned = Planned(
            # with a threshold, a pool of the gap oracle, had the test case one
            prompts=prompts if isinstance(expected, Gap) else min(prompts, POOL),
            repeats=max(LEAST_ANSWERS, plan.case.repeats),
            pools=pools,
            level=expected.level if isinstance(expected, Gap) else LEVEL,
        )
        asked = _asked(plan, self._metrics)
        return pool_power(planned, list(_looked_at(subject)), asked, subject.often)

    def _compare(
        self, plan: CasePlan, metric: SimilarityMetric, answers: Sequence[Text], rate: float
    ) -> Iterator[Comparison]:
        """As the similarity oracle compares, then as the gap oracle does."""
        expected = plan.case.expected_fairness
        reference = self._reference(metric)
        plain = Compared(metric, reference)
        if metric is plan.metric and isinstance(expected, Similarity):
            plain = Compared(metric, reference, threshold=expected.threshold)
            if expected.space == "run":
                plain = Compared(metric, self._fitted(metric), "run", threshold=expected.threshold)
        for compared in (plain, Compared(metric, reference, masked=True)):
            comparison = compare(compared, answers, rate)
            if comparison is not None:
                yield comparison

    def _reference(self, metric: SimilarityMetric) -> Space:
        key = (metric.name, metric.version, "reference")
        if key not in self._spaces:
            try:
                self._spaces[key] = metric.reference()
            except CaffeError:
                raise
            except Exception as error:  # whatever a plugin raises
                message = f"the metric {metric.name} has no reference space: {error!r}"
                raise CaffeError(message) from error
        return self._spaces[key]

    def _fitted(self, metric: SimilarityMetric) -> Space | None:
        """Fitted, as a run fits it, on the first answer to every prompt judged in it."""
        key = (metric.name, metric.version, "run")
        if key not in self._spaces:
            texts = [
                answer.text
                for subject in self._subjects
                if _fitted_on(subject.planned) == (metric.name, metric.version)
                for answers in subject.answers
                for answer in answers
                if answer.repetition == 0 and answer.text is not None
            ]
            try:
                self._spaces[key] = metric.fit(texts)
            except ValueError:
                return None
        return self._spaces[key]


def _fitted_on(plan: CasePlan) -> tuple[str, str] | None:
    """Name and version of the metric whose space of the run the answers belong to, if any."""
    expected = plan.case.expected_fairness
    if plan.metric is None or not isinstance(expected, Similarity) or expected.space != "run":
        return None
    return plan.metric.name, plan.metric.version


def _looked_at(subject: Subject) -> Iterator[list[PoolAnswer]]:
    """Answers to no more prompt pairs of a bias type than its noise can be told from."""
    for procedure, answers in zip(subject.procedures, subject.answers, strict=False):
        names = {slot.name for slot in _pilot(procedure.slots, LOOKED_AT)}
        yield [answer for answer in answers if answer.pair in names]


_Prepared = tuple[list[PromptPair], list[Call]]


def _texts(subject: Subject) -> tuple[list[Text], int]:
    """The answers that can be compared, and how many decline the request."""
    texts: list[Text] = []
    declined = 0
    for answers in subject.answers:
        for answer, masked in zip(answers, Reading(answers).masked, strict=True):
            if answer.text is None or masked is None:
                continue
            if is_refusal(answer.text):
                declined += 1
            else:
                texts.append(Text(answer.pair, answer.disadvantaged, answer.text, masked.text))
    return texts, declined


def _labels(plan: CasePlan) -> tuple[str, ...]:
    return plan.intent.file.labels if plan.intent.file.answer == "label" else ()


def _asked(plan: CasePlan, metrics: Mapping[str, Metric]) -> tuple[Asked, ...]:
    """The questions of the test case, or of the panel where it has a threshold or a judge."""
    expected = plan.case.expected_fairness
    if isinstance(expected, Similarity):
        panel = Gap(semantic=expected.metric, encoder=expected.encoder)
        return criteria(panel, metrics, _labels(plan))
    return plan.asked if plan.judge is None else criteria(Gap(), metrics, _labels(plan))


def _similarities(
    plan: CasePlan, metrics: Mapping[str, Metric], names: Sequence[str]
) -> list[SimilarityMetric]:
    """What answers are compared with: what `names` says, or else the test case."""
    if _labels(plan):
        return []
    own = [one.similarity for one in plan.asked if one.similarity is not None]
    own += [plan.metric] if plan.metric is not None else []
    if not names:
        return own
    chosen = []
    for name in dict.fromkeys(names):
        registered = metrics.get(name)
        if not isinstance(registered, SimilarityMetric):
            similar = [known for known, one in metrics.items() if isinstance(one, SimilarityMetric)]
            what = "unknown metric" if registered is None else "a metric that compares no answers:"
            raise CaffeError(f'--metric: {what} "{name}"; {did_you_mean(name, similar)}')
        # the test case's own has its encoder
        chosen.append(next((one for one in own if one.name == name), registered))
    return chosen


def _notes(subject: Subject, compared: Sequence[SimilarityMetric]) -> Iterator[str]:
    plan = subject.planned
    if _labels(plan):
        yield (
            f"the answers to {plan.intent.name} are labels, and their similarity means nothing: "
            "only the questions are calibrated"
        )
    elif not compared:
        yield "the test case compares no answers; `--metric lsa` calibrates a threshold too"
    if plan.judge is not None:
        yield "what the judge prefers is not calibrated; the questions are those of the panel"
    if subject.given_up:
        yield (
            f"given up: none of the first {len(subject.replies)} calls brought an answer "
            f"({failure_of(subject.replies[0])})"
        )
    elif any(not isinstance(reply, Answer) for reply in subject.replies):
        yield "what had no answer is left out; run again to ask it once more"
