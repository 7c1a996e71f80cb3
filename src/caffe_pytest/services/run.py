"""A run: ask ahead, judge, write down, and leave a folder from which all can be recomputed.

Both front doors drive the same object: pytest behind its items, `caffe run` in a plain loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from filelock import FileLock

from caffe_pytest.errors import CaffeError
from caffe_pytest.execution.executor import Call, Executor, Reply
from caffe_pytest.execution.journal import Journal
from caffe_pytest.execution.run_folder import RunFolder
from caffe_pytest.hookspecs import SimilarityMetric, Space
from caffe_pytest.model.answer import Answer, Message, Request
from caffe_pytest.model.prompt_pair import PromptPair
from caffe_pytest.model.run import Result
from caffe_pytest.reporting.results import PartWriter
from caffe_pytest.services.environment import describe_environment
from caffe_pytest.services.judge import judge
from caffe_pytest.services.plan import CasePlan, Procedure
from caffe_pytest.services.report import write_json

if TYPE_CHECKING:
    import numpy

DEFAULT_CONCURRENCY = 32

MOST_AHEAD = 10
"""Windows of procedures held ready behind a slow call, so that it does not stop all others."""


@dataclass(frozen=True, slots=True)
class _Prepared:
    pair: PromptPair
    calls: tuple[Call, Call]


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
        self._spaces: dict[tuple[str, str], Space] = {}
        self._ahead = 0 if alone else len(procedures)

    def announce(self, procedure: Procedure) -> None:
        """Send the calls of a procedure that this process will carry out next."""
        try:
            self._executor.submit(self._prepare(procedure).calls)
        except CaffeError:
            return  # reported when its turn comes

    def ask(self, procedure: Procedure) -> tuple[Reply, Reply]:
        """The replies to both prompts; the calls of procedures to come are sent meanwhile.

        Raises:
            NotCounterfactual: the prompts differ in more than the group.
            JournalError: an answer could not be written down; the run has to stop.
        """
        position = self._positions[id(procedure)]
        if position in self._judged:  # a rerun, because the first time brought no answer
            self._executor.forget_failures(self._prepare(procedure).calls)
        self._look_ahead(position)
        if procedure.plan.case.expected_fairness.space == "run":
            self._fit(procedure.plan)
        first, second = self._executor.wait(self._prepare(procedure).calls, meanwhile=self._top_up)
        return first, second

    def judge(self, procedure: Procedure, replies: tuple[Reply, Reply]) -> Result:
        """The result of a procedure, written to the run's folder."""
        prepared = self._prepare(procedure)
        keys = (prepared.calls[0].request.key, prepared.calls[1].request.key)
        answered = all(isinstance(reply, Answer) for reply in replies)
        space = self._space(procedure.plan) if answered else None
        result = judge(procedure, prepared.pair, keys, replies, space)
        position = self._positions[id(procedure)]
        self._parts.write(position, result)
        self._judged.add(position)
        self._prepared.pop(position, None)
        return result

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
            pair = procedure.pair()
            first, second = (_call(procedure, prompt) for prompt in pair.prompts)
            known = self._prepared[position] = _Prepared(pair, (first, second))
        return known

    def _space(self, plan: CasePlan) -> Space:
        key = (plan.metric.name, plan.case.expected_fairness.space)
        if key not in self._spaces:
            self._spaces[key] = _reference_space(plan.metric)
        return self._spaces[key]

    def _fit(self, plan: CasePlan) -> None:
        """Fit the space `run` on every answer of the run that is judged in it, once.

        Under pytest-xdist every worker needs every answer, whoever runs the item: the worker that
        holds the lock asks for all, the others find them in its journal and fit the same space.
        """
        key = (plan.metric.name, "run")
        if key in self._spaces:
            return
        judged_here = [
            procedure
            for procedure in self._procedures
            if procedure.plan.metric.name == plan.metric.name
            and procedure.plan.case.expected_fairness.space == "run"
        ]
        if self.folder.worker:
            with FileLock(self.folder.lock):
                self._journal.also_read(self.folder.journals_of_this_run())
                texts = self._texts(judged_here)
        else:
            texts = self._texts(judged_here)
        try:
            self._spaces[key] = plan.metric.fit(texts)
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
        calls: list[Call] = []
        for procedure in procedures:
            try:
                pair = procedure.pair()
            except CaffeError:
                continue  # reported when its turn comes
            calls += [_call(procedure, prompt) for prompt in pair.prompts]
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


def _call(procedure: Procedure, prompt: str) -> Call:
    plan, model = procedure.plan, procedure.model
    provider = plan.providers[model.alias]
    environment = plan.case.environment
    request = Request(
        identity=provider.identity,
        model=model.model,
        parameters=environment.parameters_for(model),
        messages=(*plan.opening, Message("user", prompt)),
    )
    return Call(provider, request, environment.timeout)
