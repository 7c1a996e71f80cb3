"""The plugin object of a session with `--fairness`: it owns the planner and the run."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from inspect import isroutine
from pathlib import Path
from typing import Any

import pytest

from caffe_pytest.errors import CaffeError
from caffe_pytest.execution.run_folder import DEFAULT_OUT, RunFolder, new_run_id
from caffe_pytest.extensions import load_extensions
from caffe_pytest.model.run import Summary
from caffe_pytest.model.verdict import Verdict
from caffe_pytest.pytest_plugin.collect import FairnessFile
from caffe_pytest.pytest_plugin.item import FairnessItem
from caffe_pytest.services.plan import Planner
from caffe_pytest.services.report import FinishedRun, finish
from caffe_pytest.services.run import DEFAULT_CONCURRENCY, Run
from caffe_pytest.specs.loader import is_test_case_file


class FairnessSession:
    """Hooks of one session, in the main process, a worker, or the controller of workers."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._worker: dict[str, Any] | None = getattr(config, "workerinput", None)
        self._planner: Planner | None = None
        self._run: Run | None = None
        self._done: FinishedRun | None = None
        self._problem = ""
        self._skipped: set[str] = set()
        self._skipped_by_workers = 0
        self._others_failed = False
        concurrency = config.getoption("fairness_concurrency")
        if concurrency is not None and concurrency < 1:
            raise pytest.UsageError("--fairness-concurrency: give a number from 1 up")
        self._concurrency: int = concurrency or DEFAULT_CONCURRENCY
        out = config.getoption("fairness_out") or config.rootpath / DEFAULT_OUT
        self._out = Path(config.invocation_params.dir, out)
        self._run_id = self._worker["caffe_run_id"] if self._worker else new_run_id()

        self._ours: set[str] = set()

    @property
    def planner(self) -> Planner:
        """Made when the first file is collected, after every conftest of its folders."""
        if self._planner is None:
            plugins = _with_hooks(self._config.pluginmanager.get_plugins())
            self._planner = Planner(load_extensions(plugins))
        return self._planner

    @property
    def run(self) -> Run:
        """The run under way."""
        if self._run is None:
            raise RuntimeError("an item ran outside of the session's loop")
        return self._run

    # -- collection ---------------------------------------------------------------------------

    def pytest_collect_file(
        self, file_path: Path, parent: pytest.Collector
    ) -> pytest.Collector | None:
        """Collect `*.fairness.yaml`, and nothing else."""
        if not is_test_case_file(file_path):
            return None
        file = FairnessFile.from_parent(parent, path=file_path)
        file.fairness = self
        return file

    # -- running ------------------------------------------------------------------------------

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Open the run when all is selected; close it whatever happens.

        Not in `pytest_collection_finish`, which pytest also calls for `--collect-only` and after
        broken files.
        """
        items = [item for item in session.items if isinstance(item, FairnessItem)]
        self._ours = {item.nodeid for item in items}
        if items and self._may_ask(session):
            try:
                self._run = self._open([item.procedure for item in items])
            except CaffeError as error:
                raise pytest.UsageError(str(error)) from error
        try:
            return (yield)
        finally:
            if self._run is not None:
                self._run.close()

    def _may_ask(self, session: pytest.Session) -> bool:
        option = session.config.option
        if option.collectonly or getattr(option, "setuponly", False):
            return False
        if getattr(option, "setupplan", False):
            return False
        return not (session.testsfailed and not option.continue_on_collection_errors)

    def _open(self, procedures: list[Any]) -> Run:
        workers = self._worker["workercount"] if self._worker else 1
        return Run(
            self._folder(),
            procedures,
            concurrency=max(1, self._concurrency // workers),
            reuse=not self._config.getoption("fairness_fresh"),
            alone=self._worker is None,
        )

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, nextitem: pytest.Item | None) -> None:
        """Announce the next item of an xdist worker, which knows no more than that one."""
        in_worker = self._worker is not None and self._run is not None
        if in_worker and isinstance(nextitem, FairnessItem):
            self.run.announce(nextitem.procedure)

    def _folder(self) -> RunFolder:
        worker = self._worker["workerid"] if self._worker else ""
        return RunFolder(self._out, self._run_id, worker)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell an xdist worker which run it is part of; called in the controller."""
        node.workerinput["caffe_run_id"] = self._run_id
        try:
            self._folder().create()  # here it fails with a message, in a worker with a traceback
        except CaffeError as error:
            raise pytest.UsageError(str(error)) from error

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Hear from a worker what it skipped; called in the controller."""
        output = getattr(node, "workeroutput", None) or {}
        self._skipped_by_workers += output.get("caffe_skipped", 0)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note what was skipped, and whether anything but an unfair model failed."""
        if report.skipped and report.when == "setup" and report.nodeid in self._ours:
            self._skipped.add(report.nodeid)
        if report.failed:
            verdict = dict(report.user_properties).get("caffe.verdict")
            unfair = report.when == "call" and verdict == Verdict.FAIL.value
            self._others_failed |= not unfair

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note whether anything could not be collected."""
        self._others_failed |= report.failed

    # -- reporting ----------------------------------------------------------------------------

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Write the report, once, when every process has stopped: after xdist ended its workers."""
        if self._worker is not None:
            session.config.workeroutput["caffe_skipped"] = len(self._skipped)  # type: ignore[attr-defined]
            return
        if not self._folder().environments():
            self._folder().remove_if_empty()
            return
        skipped = len(self._skipped) + self._skipped_by_workers
        try:
            self._done = finish(self._folder(), skipped=skipped)
        except CaffeError as error:
            self._problem = str(error)
            session.exitstatus = pytest.ExitCode.INTERNAL_ERROR
            return
        session.exitstatus = self._status(self._done.summary, exitstatus)

    def _status(self, summary: Summary, exitstatus: int) -> int:
        """Green where nothing but tolerated items failed; never where items are missing, or where
        no verdict can be trusted.

        An item that fails as it was marked to (`xfail`) is pytest's to forgive.
        """
        unsound = not summary.complete or summary.control_alarm
        if exitstatus == pytest.ExitCode.OK and unsound:
            return pytest.ExitCode.TESTS_FAILED
        tolerable = summary.green and not self._others_failed
        if exitstatus == pytest.ExitCode.TESTS_FAILED and tolerable:
            return pytest.ExitCode.OK
        return exitstatus

    def pytest_report_header(self) -> str | None:
        """The run's name, before anything is asked."""
        if self._worker is not None or self._config.option.collectonly:
            return None
        line = f"fairness: run {self._run_id}, {self._concurrency} calls at once for each provider"
        if getattr(self._config.option, "numprocesses", None):
            line += "; one process waits for models faster than several: -n 0"
        return line

    def pytest_report_collectionfinish(self, items: Sequence[pytest.Item]) -> str | None:
        """How much the selected items would ask at most, also with `--collect-only`."""
        ours = [item for item in items if isinstance(item, FairnessItem)]
        if not ours:
            return None
        models = len({item.procedure.model.alias for item in ours})
        known = "model" if models == 1 else "models"
        prompts = sum(item.procedure.prompts for item in ours)
        return f"fairness: {len(ours)} items, at most {prompts} prompts to {models} {known}"

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """The table by bias type, which groups failed and why, and where the report is."""
        if self._problem:
            terminalreporter.section("fairness", red=True)
            terminalreporter.write_line(self._problem)
        if self._done is None:
            return
        terminalreporter.section("fairness", bold=True)
        for line in self._done.lines:
            terminalreporter.write_line(line)


def _with_hooks(plugins: Iterable[object]) -> list[object]:
    """Those that implement hooks of ours: conftest files and `-p` modules."""
    return [
        plugin
        for plugin in plugins
        if any(
            isroutine(value) and hasattr(value, "caffe_impl")
            for value in getattr(plugin, "__dict__", {}).values()
        )
    ]
