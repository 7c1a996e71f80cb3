"""A run that is there already, shown again: what the terminal said, the page, JUnit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from caffe_pytest.errors import CaffeError
from caffe_pytest.reporting.html import write_html
from caffe_pytest.reporting.junit import write_junit
from caffe_pytest.reporting.text import Findings, shown_path, summary_lines
from caffe_pytest.services.recorded_run import RecordedRun


def shown_lines(run: RecordedRun) -> Iterator[str]:
    """What a terminal showed at the end of the run.

    Raises:
        CaffeError: the run has no summary, or is damaged.
    """
    summary = run.summary
    findings = Findings()
    for result in run.results():
        findings.add(result)
    calls = {"asked": 0, "answered": 0, "reused": 0, **summary.calls}
    yield (
        f"run {run.run_id}: {calls['asked']} prompts asked, {calls['answered']} answered; "
        f"{calls['reused']} answers reused"
    )
    yield from summary_lines(summary, findings, run.environment.get("notes", ()))
    yield f"report: {shown_path(run.path.parent.resolve() / 'report' / 'index.html')}"


def write_page_again(target: Path, run: RecordedRun) -> None:
    """The page of a run, from its results.

    Raises:
        CaffeError: the run has no summary or is damaged, or `target` cannot be written.
    """
    write_html(target, results=run.path, summary=run.summary, environment=run.environment)


def write_junit_again(target: Path, run: RecordedRun) -> None:
    """The results of a run as JUnit XML.

    Raises:
        CaffeError: the run has no summary or is damaged, or `target` cannot be written.
    """
    tolerant = {gate.case for gate in run.summary.gates if gate.inconclusive_allowed}
    try:
        write_junit(target, run.results(), run.run_id, tolerant=tolerant)
    except OSError as error:
        what = f"{target}: cannot be written: {error.strerror}"
        raise CaffeError(f"{what}; make room, or name another file") from error
