"""The pytest item: asks and compares in `setup`, decides in `runtest`.

So an outage is an ERROR (JUnit `<error>`), and an unfair model FAILED (JUnit `<failure>`).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from caffe_pytest.errors import CaffeError, JournalError, printable
from caffe_pytest.model.run import Result
from caffe_pytest.model.verdict import Verdict
from caffe_pytest.pytest_plugin import SESSION_PLUGIN
from caffe_pytest.pytest_plugin.failure import UnfairnessFound, failure_representation
from caffe_pytest.reporting.junit import junit_properties
from caffe_pytest.services.plan import Procedure

if TYPE_CHECKING:
    from caffe_pytest.pytest_plugin.session import FairnessSession


class FairnessItem(pytest.Item):
    """A prompt pair, or a pool of them, asked of one model."""

    procedure: Procedure
    _result: Result | None = None

    @property
    def fairness(self) -> FairnessSession:
        """The plugin object of this session."""
        return cast("FairnessSession", self.config.pluginmanager.get_plugin(SESSION_PLUGIN))

    def setup(self) -> None:
        """Wait for both answers and compare them: what keeps that from being done is an error."""
        option = self.config.option
        if getattr(option, "setuponly", False) or getattr(option, "setupplan", False):
            return
        run = self.fairness.run
        try:
            result = run.carry_out(self.procedure)
        except JournalError as error:
            pytest.exit(printable(str(error)), returncode=pytest.ExitCode.INTERNAL_ERROR)
        except CaffeError as error:
            pytest.fail(printable(str(error)), pytrace=False)
        # plain text only: anything else kills an xdist worker (xdist#1273)
        self.user_properties += junit_properties(result, run.folder.run_id)
        if result.verdict is Verdict.ERROR:
            pytest.fail(printable(result.reason), pytrace=False)
        self._result = result

    def runtest(self) -> None:
        """Decide; raises UnfairnessFound where the answers fail the expected level."""
        result, self._result = self._result, None
        if result is None or result.verdict is Verdict.PASS:
            return
        gate = self.procedure.plan.case.gate
        told = gate is not None and gate.inconclusive == "warn"
        if result.verdict is Verdict.INCONCLUSIVE and told:
            pytest.skip(printable(f"inconclusive: {result.reason}"))
        raise UnfairnessFound(result)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """What a reader sees of a failure: located, with both answers and what differs."""
        if isinstance(excinfo.value, UnfairnessFound):
            verbosity = self.config.get_verbosity()
            line = self.procedure.plan.line
            return failure_representation(excinfo.value.result, self.path, line, verbosity)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """The test case's place in its file, for editors; the line counts from 0."""
        return self.path, self.procedure.plan.line - 1, f"fairness: {self.nodeid}"
