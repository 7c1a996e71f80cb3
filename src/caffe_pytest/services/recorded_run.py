"""A run that is there already: its results, and what stands beside them. Writes nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from caffe_pytest.errors import CaffeError
from caffe_pytest.execution.run_folder import DEFAULT_OUT
from caffe_pytest.model.run import Result, Summary
from caffe_pytest.reporting.results import read_results
from caffe_pytest.services.environment import sha256_of

LATEST = Path(DEFAULT_OUT) / "latest"
RESULTS = "results.jsonl"
AGAIN = "run its test cases again: answers that are there are not asked again"


@dataclass(frozen=True)
class RecordedRun:
    """The results of a run, with the folder they stand in or without."""

    shown: str
    """As the user named it."""
    path: Path
    """`results.jsonl`, or a file like it."""
    folder: Path | None
    """Of the run; None where the results are all there is."""

    @classmethod
    def open(cls, path: Path) -> RecordedRun:
        """The run in a folder, or in a file of results.

        Raises:
            CaffeError: there is none, it has not ended, or its results are not what it wrote.
        """
        shown = str(path)
        try:
            there = path.exists()
        except OSError as error:  # a name that is too long, a folder that may not be entered
            raise _unreadable(path, error) from error
        if not there:
            remedy = "`caffe run` makes one" if path == LATEST else "name a run's folder"
            raise CaffeError(f"{shown}: there is no such run; {remedy}")
        if path.is_dir():
            run = cls(shown, path / RESULTS, path.resolve())
            if not run.path.is_file():
                what = "has no results.jsonl: it has not ended, or this is no folder of a run"
                raise CaffeError(f"{shown}: {what}; {AGAIN}")
            run.check_unchanged()
            return run
        beside = path.parent.resolve()
        whole = path.name == RESULTS and (beside / "environment.json").is_file()
        run = cls(shown, path, beside if whole else None)
        run.check_unchanged()
        return run

    @property
    def run_id(self) -> str:
        """The name of its folder, or of the file."""
        return self.folder.name if self.folder is not None else self.path.stem

    @cached_property
    def environment(self) -> Mapping[str, Any]:
        """The content of `environment.json`; empty where there is no folder.

        Raises:
            CaffeError: it cannot be read.
        """
        if self.folder is None:
            return {}
        path = self.folder / "environment.json"
        found = _json(_content(path))
        if not isinstance(found, dict) or not isinstance(found.get("cases"), list):
            raise CaffeError(f"{path}: is damaged, or of a run that has not ended; {AGAIN}")
        return found

    @cached_property
    def summary(self) -> Summary:
        """The content of `summary.json`.

        Raises:
            CaffeError: there is none, or it cannot be read.
        """
        if self.folder is None:
            raise CaffeError(
                f"{self.shown}: the summary of a run stands in its folder; name that folder, "
                "or add --paper"
            )
        path = self.folder / "summary.json"
        try:
            return Summary.model_validate_json(_content(path))
        except ValidationError as error:
            what = "is damaged, or of a run that has not ended"
            raise CaffeError(f"{path}: {what}; {AGAIN}") from error

    def check_complete(self) -> None:
        """Refuse a run of which items are missing.

        Raises:
            CaffeError: saying how many.
        """
        if self.folder is not None and not self.summary.complete:
            items, planned = self.summary.total.items, self.summary.planned
            what = f"the run is incomplete: {items} of {planned} items have a result"
            raise CaffeError(f"{self.shown}: {what}; {AGAIN}")

    def check_unchanged(self) -> None:
        """Refuse results that are not those the run wrote, where the run says which they are.

        Raises:
            CaffeError: they are not.
        """
        written = self.environment.get("results", {}).get("sha256")
        try:
            changed = written is not None and sha256_of(self.path) != written
        except OSError as error:
            raise _unreadable(self.path, error) from error
        if changed:
            raise CaffeError(
                f"{self.path}: these are not the results that the run wrote: the SHA-256 in "
                f"environment.json is another; {AGAIN}, or copy the file elsewhere and name the "
                "copy"
            )

    def results(self) -> Iterator[Result]:
        """One by one.

        Raises:
            CaffeError: a line is damaged, there is none, or the file cannot be read.
        """
        empty = True
        try:
            for result in read_results(self.path):
                empty = False
                yield result
        except OSError as error:
            raise _unreadable(self.path, error) from error
        if empty:
            raise CaffeError(f"{self.path}: holds no result; {AGAIN}")


def _content(path: Path) -> str:
    """Empty where there is no file."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise _unreadable(path, error) from error


def _json(text: str) -> object:
    """None where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _unreadable(path: Path, error: OSError) -> CaffeError:
    return CaffeError(f"{path}: cannot be read: {error.strerror}; name a file you may read")
