"""The pytest item: asks in `setup`, judges in `runtest`.

So an outage is an ERROR (JUnit `<error>`), and an unfair model FAILED (JUnit `<failure>`).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from caffe_pytest.errors import CaffeError, JournalError
from caffe_pytest.execution.executor import Reply
from caffe_pytest.model.answer import Answer
from caffe_pytest.model.run import Result
from caffe_pytest.model.verdict import Verdict
from caffe_pytest.pytest_plugin import SESSION_PLUGIN
from caffe_pytest.pytest_plugin.failure import UnfairnessFound, failure_representation
from caffe_pytest.reporting.junit import junit_properties
from caffe_pytest.services.plan import Procedure

if TYPE_CHECKING:
    from caffe_pytest.pytest_plugin.session import FairnessSession


class FairnessItem(pytest.Item):
    """A prompt pair, asked of one model."""

    procedure: Procedure
    _replies: tuple[Reply, Reply]

    @property
    def fairness(self) -> FairnessSession:
        """The plugin object of this session."""
        return cast("FairnessSession", self.config.pluginmanager.get_plugin(SESSION_PLUGIN))

    def setup(self) -> None:
        """Wait for both answers; their absence is an error, not a failure."""
        if self.config.getoption("setuponly", False) or self.config.getoption("setupplan", False):
            return
        try:
            self._replies = self.fairness.run.ask(self.procedure)
        except JournalError as error:
            pytest.exit(str(error), returncode=pytest.ExitCode.INTERNAL_ERROR)
        except CaffeError as error:
            pytest.fail(str(error), pytrace=False)
        if not all(isinstance(reply, Answer) for reply in self._replies):
            # judged all the same: the result says what is missing
            result = self.fairness.run.judge(self.procedure, self._replies)
            self._note(result)
            pytest.fail(result.reason, pytrace=False)

    def runtest(self) -> None:
        """Compare the answers; raises UnfairnessFound where they fail the expected level."""
        result = self.fairness.run.judge(self.procedure, self._replies)
        self._note(result)
        if result.verdict is not Verdict.PASS:
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

    def _note(self, result: Result) -> None:
        # plain text only: anything else kills an xdist worker (xdist#1273)
        self.user_properties += junit_properties(result)
        self.user_properties.append(("caffe.run", self.fairness.run.folder.run_id))
