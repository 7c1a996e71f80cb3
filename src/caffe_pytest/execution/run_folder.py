"""The folder a run leaves behind, and the names of the files in it."""

from __future__ import annotations

import secrets
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from caffe_pytest.errors import CaffeError

DEFAULT_OUT = ".caffe"


def new_run_id() -> str:
    """A name that sorts by time: `20261121-093012-4f1c`."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


@dataclass(frozen=True)
class RunFolder:
    """`<out>/runs/<run id>/`, as one process of the run sees it."""

    out: Path
    run_id: str
    worker: str = ""
    """Of pytest-xdist; each worker writes files of its own, the controller joins them."""

    @property
    def path(self) -> Path:
        """The folder itself."""
        return self.out / "runs" / self.run_id

    @property
    def journal(self) -> Path:
        """Every answer; what this process appends to."""
        return self._own("journal", ".jsonl")

    @property
    def results_part(self) -> Path:
        """Results in the order they were judged, until `results` is written."""
        return self._own("results", ".part")

    @property
    def environment(self) -> Path:
        """Models, versions, seeds, and sha256 of what the verdicts rest on."""
        return self._own("environment", ".json")

    @property
    def results(self) -> Path:
        """One line an item."""
        return self.path / "results.jsonl"

    @property
    def summary(self) -> Path:
        """Totals."""
        return self.path / "summary.json"

    @property
    def html(self) -> Path:
        """The page for people."""
        return self.path / "report" / "index.html"

    @property
    def lock(self) -> Path:
        """Held by the worker that asks for all."""
        return self.path / "ask.lock"

    @property
    def pools(self) -> Path:
        """Results of all pools, for the workers that did not judge them."""
        return self.path / "pools.part"

    def _own(self, stem: str, suffix: str) -> Path:
        return self.path / (f"{stem}.{self.worker}{suffix}" if self.worker else stem + suffix)

    def create(self) -> None:
        """Make the folder; an `out` made here stays out of version control.

        Raises:
            CaffeError: it cannot be made.
        """
        try:
            ours = not self.out.exists()
            self.path.mkdir(parents=True, exist_ok=True)
            if ours:
                ignore = self.out / ".gitignore"
                ignore.write_text("# made by caffe-pytest\n*\n", encoding="utf-8")
        except OSError as error:
            raise CaffeError(
                f"{self.out}: cannot be written: {error.strerror}; choose another folder"
            ) from error

    def remove_if_empty(self) -> None:
        """Take the folder back where no process had anything to run."""
        with suppress(OSError):
            self.path.rmdir()

    def result_parts(self) -> list[Path]:
        """What the processes of this run judged."""
        return sorted(self.path.glob("results*.part"))

    def environments(self) -> list[Path]:
        """What the processes of this run noted of the environment."""
        return sorted(self.path.glob("environment*.json"))

    def journals_of_earlier_runs(self) -> list[Path]:
        """Journals of other runs, the newest run first: what was asked need not be asked again."""
        journals = (self.out / "runs").glob("*/journal*.jsonl")
        others = [path for path in journals if path.parent != self.path]
        return sorted(others, key=lambda path: (path.parent.name, path.name), reverse=True)

    def journals_of_this_run(self) -> list[Path]:
        """Journals of all workers of this run."""
        return sorted(self.path.glob("journal*.jsonl"))

    def point_latest(self) -> None:
        """Let `<out>/latest` point at this run; whatever else is called so is left alone."""
        latest = self.out / "latest"
        if latest.exists() and not latest.is_symlink():
            return
        link = self.out / f"latest.{self.run_id}"
        with suppress(OSError):  # no links to be had here: the terminal names the folder
            link.symlink_to(Path("runs") / self.run_id, target_is_directory=True)
            link.replace(latest)
