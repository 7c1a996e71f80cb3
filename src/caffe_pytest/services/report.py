"""What a run leaves behind, written when all its processes have stopped."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from caffe_pytest.errors import CaffeError
from caffe_pytest.execution import journal
from caffe_pytest.execution.run_folder import RunFolder
from caffe_pytest.model.run import Result, Summary
from caffe_pytest.reporting.html import write_html
from caffe_pytest.reporting.junit import write_junit
from caffe_pytest.reporting.paper import Strata
from caffe_pytest.reporting.results import join_parts, read_results
from caffe_pytest.reporting.summary import summarise
from caffe_pytest.reporting.text import Findings, shown_path, summary_lines
from caffe_pytest.reporting.whole_file import whole_file
from caffe_pytest.services.environment import sha256_of


@dataclass(frozen=True)
class FinishedRun:
    """A run whose report is written."""

    summary: Summary
    lines: tuple[str, ...]
    """What a terminal shows of it."""


def finish(folder: RunFolder, *, skipped: int = 0) -> FinishedRun:
    """Join what the processes of a run wrote, and write results, summary, environment and page.

    `folder` is the view of the controlling process; `skipped` items were planned and left out on
    purpose. The run may have been interrupted: the summary then says that it is not complete.

    Raises:
        CaffeError: nothing was written by any process, or the folder cannot be written.
    """
    environment = _environment(folder)
    reading = _Reading()
    try:
        journal.join(folder.journal, folder.journals_of_this_run())
        join_parts(folder.results, folder.result_parts())
        counts = journal.count(folder.journal, folder.run_id)
        summary = summarise(
            reading.of(folder.results),
            planned=environment.pop("planned") - skipped,
            gates=environment["gates"],
            calls={
                "asked": counts.asked + sum(counts.failures.values()),
                "answered": counts.asked,
                "reused": counts.reused,
            },
            failures=counts.failures,
            strata=Strata.of(environment["cases"]),
        )
        environment |= {
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
            "prompts": {"sha256": reading.prompts.hexdigest()},
            "results": {"items": summary.total.items, "sha256": sha256_of(folder.results)},
            "journal": {
                "answers": counts.asked + counts.reused,
                "sha256": sha256_of(folder.journal),
            },
        }
        write_json(folder.environment, environment)
        write_json(folder.summary, summary.as_json())
        folder.html.parent.mkdir(exist_ok=True)
        write_html(folder.html, results=folder.results, summary=summary, environment=environment)
        folder.lock.unlink(missing_ok=True)
        folder.point_latest()
    except OSError as error:
        raise CaffeError(
            f"{folder.path}: the report cannot be written: {error.strerror}; "
            "the journal is complete: make room and run again"
        ) from error
    asked = f"{summary.calls['asked']} prompts asked, {summary.calls['answered']} answered"
    lines = [
        f"run {folder.run_id}: {asked}; {summary.calls['reused']} answers reused",
        *summary_lines(summary, reading.findings, environment["notes"]),
        f"report: {shown_path(folder.html)}",
    ]
    return FinishedRun(summary, tuple(lines))


class _Reading:
    """One pass over the results, for all that is to be known of them."""

    def __init__(self) -> None:
        self.findings = Findings()
        self.prompts = hashlib.sha256()
        """Over every prompt in the order of the results, each followed by a NUL byte."""

    def of(self, results: Path) -> Iterator[Result]:
        for result in read_results(results):
            self.findings.add(result)
            for pair in result.pairs:
                for prompt in pair.prompts:
                    self.prompts.update(prompt.encode("utf-8", "surrogatepass") + b"\0")
            yield result


def check_writable(target: Path) -> None:
    """Find out before anything is asked that a report cannot be written.

    Raises:
        CaffeError: saying where.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("ab"):
            pass
    except OSError as error:
        raise CaffeError(f"{target}: cannot be written: {error.strerror}") from error


def write_junit_report(target: Path, folder: RunFolder, summary: Summary) -> None:
    """The results as JUnit XML, for the front door that is not pytest.

    Raises:
        CaffeError: `target` cannot be written.
    """
    try:
        tolerant = {gate.case for gate in summary.gates if gate.inconclusive_allowed}
        write_junit(target, read_results(folder.results), folder.run_id, tolerant=tolerant)
    except OSError as error:
        raise CaffeError(f"{target}: cannot be written: {error.strerror}") from error


def _environment(folder: RunFolder) -> dict[str, Any]:
    described = folder.environments()
    if not described:
        raise CaffeError(f"{folder.path}: no process of this run has written anything")
    environment: dict[str, Any] = json.loads(described[0].read_text(encoding="utf-8"))
    for path in described:
        if path != folder.environment:
            path.unlink()
    return environment


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a JSON file for people and machines, whole or not at all."""
    text = json.dumps(content, indent=2, ensure_ascii=False, default=str) + "\n"
    with whole_file(path) as file:
        file.write(text.encode("utf-8"))
