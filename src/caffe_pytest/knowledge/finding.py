"""What the lint of a knowledge base found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Literal

from caffe_pytest.errors import Problem

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
"""The worst first: an error misleads a test, a warning probably does, a note is to be known."""

KINDS: Mapping[str, Severity] = {
    "alias-of-other-group": "error",
    "bias-type-misspelt": "warning",
    "direction": "warning",
    "duplicate-content": "error",
    "duplicate-id": "error",
    "form-gender": "warning",
    "form-possessive": "warning",
    "form-singular": "warning",
    "formula": "warning",
    "group-definite": "warning",
    "group-in-topic": "warning",
    "group-indefinite": "error",
    "group-not-plural": "warning",
    "group-without-forms": "warning",
    "incomparable-groups": "note",
    "invalid-without-reason": "warning",
    "invisible-character": "error",
    "mixed-quotes": "warning",
    "outdated-term": "warning",
    "rendering-agreement": "warning",
    "rendering-article": "warning",
    "rendering-doubled-word": "warning",
    "rendering-failure": "error",
    "rendering-leftover": "error",
    "rendering-punctuation": "warning",
    "rendering-quotes": "warning",
    "same-groups": "error",
    "same-groups-reworded": "error",
    "shared-alias": "note",
    "small-bias-type": "note",
    "source-form": "note",
    "spaces": "warning",
    "topic-capital": "note",
    "topic-long": "warning",
    "topic-placeholder": "error",
    "topic-sentence": "warning",
    "topic-verdict": "warning",
    "unknown-reason": "note",
    "unreadable": "error",
    "unused-forms": "note",
}
"""Every rule, with how bad it is to break it."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a cell or phrase, wherever it stands."""

    kind: str
    """A key of `KINDS`."""
    cause: str
    remedy: str


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One thing that is wrong with a base, or doubtful in it."""

    file: str
    line: int
    """1-based; 0 where the finding is about a whole file."""
    path: str
    """The column, or where in the YAML document; empty for the whole row."""
    kind: str
    """A key of `KINDS`."""
    cause: str
    remedy: str

    @property
    def severity(self) -> Severity:
        """Of its kind."""
        return KINDS[self.kind]

    def __str__(self) -> str:
        problem = Problem(self.file, self.line, self.path, self.cause, self.remedy)
        return f"{problem} [{self.severity}: {self.kind}]"

    def as_json(self) -> dict[str, str | int]:
        """Its fields by name, and its severity."""
        return {**asdict(self), "severity": self.severity}
