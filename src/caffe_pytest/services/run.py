"""A run: ask ahead, judge, write down, and leave a folder from which all can be recomputed.

Both front doors drive the same object: pytest behind its items, `caffe run` in a plain loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from filelock import FileLock

from caffe_pytest.design.counterfactual import NotCounterfactual
from caffe_pytest.errors import CaffeError
from caffe_pytest.execution.executor import Call, Executor, Reply
from caffe_pytest.execution.journal import Journal
from caffe_pytest.execution.run_folder import RunFolder
from caffe_pytest.hookspecs import SimilarityMetric, Space
from caffe_pytest.metrics.judge import messages, parse, reconcile
from caffe_pytest.metrics.masking import mask
from caffe_pytest.model.answer import Answer, Message, Request
from caffe_pytest.model.prompt_pair import PromptPair
from caffe_pytest.model.run import Result
from caffe_pytest.model.test_case import Gap, Similarity
from caffe_pytest.reporting.results import PartWriter
from caffe_pytest.reporting.whole_file import whole_file
from caffe_pytest.services.environment import describe_environment
from caffe_pytest.services.judge import judge_pair, judge_pool, pool_answers
from caffe_pytest.services.plan import CasePlan, Procedure
from caffe_pytest.services.pools import Examined, PoolAnswer, examine_pool, judgeable
from caffe_pytest.services.report import write_json

if TYPE_CHECKING:
    import numpy

T = TypeVar("T")

DEFAULT_CONCURRENCY = 32

MOST_AHEAD = 10
"""Windows of procedures held ready behind a slow call, so that it does not stop all others."""


@dataclass(frozen=True, slots=True)
class _Prepared:
    pairs: list[PromptPair]
    calls: list[Call]
    """Both prompts of every pair, repetition by repetition, so that a model that changes its ways
    while it is asked does so for both groups."""

    @property
    def keys(self) -> list[tuple[str, str]]:
        return _in_pairs([call.request.key for call in self.calls])


class _Void:
    """The space in which nothing can be compared."""

    def similarity(self, first: Sequence[str], second: Sequence[str]) -> numpy.ndarray:
        import numpy

        assert len(first) == len(second)
        return numpy.full(len(first), numpy.nan)


class Run:
    """One process's share of a run."""

    def __init__(
        self,
        folder: RunFolder,
        procedures: Sequence[Procedure],
        *,
        concurrency: int = DEFAULT_CONCURRENCY,
        reuse: bool = True,
        alone: bool = True,
    ) -> None:
        """Open the folder and the journal, and note the environment.

        `procedures` are all that were selected, in the order they will be carried out. With `reuse`
        answers are taken from the journals of earlier runs in the same place. Where the process is
        not `alone`, others carry out some of the procedures: only what is announced is asked ahead.

        Raises:
            CaffeError: the folder cannot be written.
        """
        self.folder = folder
        self._procedures = procedures
        self._positions = {id(procedure): index for index, procedure in enumerate(procedures)}
        folder.create()
        earlier = folder.journals_of_earlier_runs() if reuse else []
        try:
            write_json(folder.environment, self._environment())
            self._journal = Journal(folder.journal, folder.run_id, earlier)
            self._parts = PartWriter(folder.results_part)
        except OSError as error:
            raise CaffeError(f"{folder.path}: cannot be written: {error.strerror}") from error
        self._judged: set[int] = set()
        self._executor = Executor(self._journal, concurrency=concurrency)
        self._window = 2 * concurrency
        self._prepared: dict[int, _Prepared] = {}
        self._spaces: dict[tuple[str, str, str], Space] = {}
        self._pools = [p for p in procedures if p.plan.metric is None]
        self._examined: dict[int, Examined] = {}
        self._judged_elsewhere: dict[int, Result] = {}
        self._ahead = 0 if alone else len(procedures)

    def announce(self, procedure: Procedure) -> None:
        """Send the calls of a procedure that this process will carry out next."""
        try:
            self._executor.submit(self._prepare(procedure).calls)
        except CaffeError:
            return  # reported when its turn comes

    def carry_out(self, procedure: Procedure) -> Result:
        """Ask, judge, and write the result down; procedures to come are asked ahead meanwhile.

        Raises:
            NotCounterfactual: the prompts differ in more than the group.
            JournalError: an answer could not be written down; the run has to stop.
        """
        position = self._positions[id(procedure)]
        again = position in self._judged  # a rerun, because the first time brought no answer
        if again:
            self._executor.forget_failures(self._prepare(procedure).calls)
        if procedure.plan.metric is None:
            if again:
                if self.folder.worker:  # another one may have asked
                    self._journal.also_read(self.folder.journals_of_this_run())
                self._examined[position] = self._examine(procedure, again=True)
                self._judged_elsewhere.pop(position, None)
            result = self._judge_pool(procedure)
        else:
            result = self._judge_pair(procedure, procedure.plan.metric)
        self._parts.write(position, result)
        self._judged.add(position)
        self._prepared.pop(position, None)
        return result

    def _judge_pair(self, procedure: Procedure, metric: SimilarityMetric) -> Result:
        self._look_ahead(self._positions[id(procedure)])
        if _space_of(procedure.plan) == "run":
            self._fit(metric)
        prepared = self._prepare(procedure)
        replies = self._replies(prepared.calls)
        answered = all(isinstance(reply, Answer) for reply in replies[0])
        space = self._space(procedure.plan, metric) if answered else None
        return judge_pair(procedure, prepared.pairs[0], prepared.keys, replies, space)

    def _judge_pool(self, procedure: Procedure) -> Result:
        """A pool's verdict needs the p-values of all pools of the run: the first asks for all."""
        prepared = self._prepare(procedure)
        position = self._positions[id(procedure)]
        if not self._examined and not self._judged_elsewhere:
            self._examine_all()
        elsewhere = self._judged_elsewhere.get(position)
        if elsewhere is not None:
            return elsewhere
        others = {
            at: 1.0 if result.p_value is None else result.p_value
            for at, result in self._judged_elsewhere.items()
        }
        p_values = others | {at: one.p_value for at, one in self._examined.items()}
        return judge_pool(
            procedure,
            prepared.pairs,
            prepared.keys,
            self._replies(prepared.calls),
            self._examined[position],
            [p_values[at] for at in sorted(p_values)],
        )

    def _examine_all(self) -> None:
        """Under pytest-xdist the worker that holds the lock judges for all."""
        if not self.folder.worker:
            self._examine_in_turn()
            return
        with FileLock(self.folder.lock):
            if not self.folder.pools.exists():
                self._journal.also_read(self.folder.journals_of_this_run())
                self._examine_in_turn()
                with whole_file(self.folder.pools) as file:
                    for procedure in self._pools:
                        if (at := self._positions[id(procedure)]) in self._examined:
                            result = self._judge_pool(procedure)
                            file.write(f"{at}\t{result.model_dump_json()}\n".encode())
                self._examined.clear()
        for line in self.folder.pools.read_text(encoding="utf-8").splitlines():
            place, _, content = line.partition("\t")
            self._judged_elsewhere[int(place)] = Result.model_validate_json(content)

    def _examine_in_turn(self) -> None:
        """Every pool of the run; the next ones are asked while one is examined."""
        ahead = iter(self._pools)

        def top_up() -> None:
            while self._executor.unfinished() < self._window:
                procedure = next(ahead, None)
                if procedure is None:
                    return
                self.announce(procedure)

        for procedure in self._pools:
            top_up()
            with suppress(NotCounterfactual):  # raised again when its turn comes
                examined = self._examine(procedure, meanwhile=top_up)
                self._examined[self._positions[id(procedure)]] = examined

    def _examine(
        self,
        procedure: Procedure,
        meanwhile: Callable[[], None] = lambda: None,
        *,
        again: bool = False,
    ) -> Examined:
        plan, prepared = procedure.plan, self._prepare(procedure)
        replies = self._replies(prepared.calls, meanwhile)
        answers = pool_answers(procedure, prepared.pairs, replies)
        preferences = self._preferences(plan, answers, again) if plan.judge is not None else []
        expected = plan.case.expected_fairness
        assert isinstance(expected, Gap)
        return examine_pool(answers, plan.asked, level=expected.level, preferences=preferences)

    def _preferences(
        self, plan: CasePlan, answers: Sequence[PoolAnswer], again: bool
    ) -> list[float]:
        """What the judge prefers of the two answers at each repetition, asked in both orders."""
        calls = []
        for first, second in judgeable(answers):
            one, other = answers[first], answers[second]
            calls += [_judge_call(plan, one, other), _judge_call(plan, other, one)]
        if again:
            self._executor.forget_failures(calls)
        choices = [
            parse(reply.text) if isinstance(reply, Answer) else None
            for reply in self._executor.wait(calls)
        ]
        return [reconcile(*both) for both in _in_pairs(choices)]

    def _replies(
        self, calls: Sequence[Call], meanwhile: Callable[[], None] | None = None
    ) -> list[tuple[Reply, Reply]]:
        return _in_pairs(self._executor.wait(calls, meanwhile=meanwhile or self._top_up))

    def close(self) -> None:
        """Stop asking and close the files; what is answered stays in the journal."""
        try:
            self._executor.close()
        finally:
            self._journal.close()
            self._parts.close()

    def _look_ahead(self, position: int) -> None:
        """Keep twice the concurrency of calls queued or under way, beyond the item at hand."""
        while self._prepared and (passed := next(iter(self._prepared))) < position:
            del self._prepared[passed]  # its item was skipped
        self._ahead = max(self._ahead, position + 1)
        self._executor.submit(self._prepare(self._procedures[position]).calls)
        self._top_up()

    def _top_up(self) -> None:
        while (
            self._ahead < len(self._procedures)
            and self._executor.unfinished() < self._window
            and len(self._prepared) < MOST_AHEAD * self._window
        ):
            self._ahead += 1
            self.announce(self._procedures[self._ahead - 1])

    def _prepare(self, procedure: Procedure) -> _Prepared:
        position = self._positions[id(procedure)]
        known = self._prepared.get(position)
        if known is None:
            pairs = procedure.pairs()
            known = self._prepared[position] = _Prepared(pairs, _calls(procedure, pairs))
        return known

    def _space(self, plan: CasePlan, metric: SimilarityMetric) -> Space:
        key = (metric.name, metric.version, _space_of(plan))
        if key not in self._spaces:
            self._spaces[key] = _reference_space(metric)
        return self._spaces[key]

    def _fit(self, metric: SimilarityMetric) -> None:
        """Fit the space `run` on every answer of the run that is judged in it, once.

        Under pytest-xdist every worker needs every answer, whoever runs the item: the worker that
        holds the lock asks for all, the others find them in its journal and fit the same space.
        """
        key = (metric.name, metric.version, "run")
        if key in self._spaces:
            return
        judged_here = [
            procedure
            for procedure in self._procedures
            if procedure.plan.metric is not None
            and (procedure.plan.metric.name, procedure.plan.metric.version) == key[:2]
            and _space_of(procedure.plan) == "run"
        ]
        if self.folder.worker:
            with FileLock(self.folder.lock):
                self._journal.also_read(self.folder.journals_of_this_run())
                texts = self._texts(judged_here)
        else:
            texts = self._texts(judged_here)
        try:
            self._spaces[key] = metric.fit(texts)
        except ValueError:
            self._spaces[key] = _Void()  # the answers do not suffice: no item gets a score

    def _texts(self, procedures: Sequence[Procedure]) -> list[str]:
        """Every answer to these procedures; a batch is waited for while the next is under way."""
        texts: list[str] = []
        batches = [
            procedures[start : start + self._window]
            for start in range(0, len(procedures), self._window)
        ]
        calls = [self._calls(batch) for batch in batches[:1]]
        for position in range(len(batches)):
            if position + 1 < len(batches):
                calls.append(self._calls(batches[position + 1]))
                self._executor.submit(calls[1])
            replies = self._executor.wait(calls.pop(0))
            texts += [reply.text for reply in replies if isinstance(reply, Answer)]
        return texts

    def _calls(self, procedures: Iterable[Procedure]) -> list[Call]:
        """The first repetition alone: it is what is judged."""
        calls: list[Call] = []
        for procedure in procedures:
            with suppress(NotCounterfactual):  # reported when its turn comes
                for pair in procedure.pairs():
                    calls += [_call(procedure, prompt, 0) for prompt in pair.prompts]
        return calls

    def _environment(self) -> dict[str, Any]:
        plans = dict.fromkeys(procedure.plan for procedure in self._procedures)
        return {
            "run": self.folder.run_id,
            "started": datetime.now(UTC).isoformat(timespec="seconds"),
            "planned": len(self._procedures),
            **describe_environment(list(plans)),
        }


def _reference_space(metric: SimilarityMetric) -> Space:
    try:
        return metric.reference()
    except CaffeError:
        raise
    except Exception as error:  # whatever a plugin raises
        raise CaffeError(f"the metric {metric.name} has no reference space: {error!r}") from error


def _space_of(plan: CasePlan) -> str:
    expected = plan.case.expected_fairness
    return expected.space if isinstance(expected, Similarity) else "reference"


def _calls(procedure: Procedure, pairs: Sequence[PromptPair]) -> list[Call]:
    """Both prompts of every pair, repetition by repetition."""
    return [
        _call(procedure, prompt, repetition)
        for repetition in range(procedure.plan.case.repeats)
        for pair in pairs
        for prompt in pair.prompts
    ]


def _call(procedure: Procedure, prompt: str, repetition: int) -> Call:
    plan, model = procedure.plan, procedure.model
    provider = plan.providers[model.alias]
    environment = plan.case.environment
    request = Request(
        identity=provider.identity,
        model=model.model,
        parameters=environment.parameters_for(model),
        messages=(*plan.opening, Message("user", prompt)),
        repetition=repetition,
    )
    return Call(provider, request, environment.timeout)


def _judge_call(plan: CasePlan, first: PoolAnswer, second: PoolAnswer) -> Call:
    """Which of two answers to one request is better; the groups are masked."""
    expected = plan.case.expected_fairness
    assert isinstance(expected, Gap)
    assert expected.judge is not None
    assert plan.judge is not None
    texts = (first.prompt, first.text or "", second.text or "")
    prompt, one, other = (
        masked.text for masked in mask(texts, sorted(first.groups), first.aliases)
    )
    request = Request(
        identity=plan.judge.identity,
        model=expected.judge.model,
        parameters={"temperature": 0.0, **expected.judge.parameters},
        messages=messages(prompt, one, other),
    )
    return Call(plan.judge, request, plan.case.environment.timeout)


def _in_pairs(values: Sequence[T]) -> list[tuple[T, T]]:
    return list(zip(values[::2], values[1::2], strict=True))
