"""A data set as an importer sees it: a table whose columns are known by their names, or JSON."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from caffe_pytest.errors import Problem, ProblemsFound
from caffe_pytest.knowledge.importers.proposal import Proposal
from caffe_pytest.specs.rows import Problems, Row, RowFile, read_rows
from caffe_pytest.specs.validation import quoted
from caffe_pytest.specs.yaml_document import dotted, read_text

MOST_COMBINATIONS = 200_000
"""Proposals made of lists of groups and topics: more, no person reads."""

_HEADER_BYTES = 1 << 16
_SEPARATORS = ",;\t"
_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()

Place = tuple[str | int, ...]


@dataclass(frozen=True)
class Source:
    """What a data set proposes."""

    read: tuple[str, ...]
    """Columns or keys that were recognised."""
    unread: tuple[str, ...]
    """Columns that were not."""
    proposals: Iterable[Proposal]
    """In the order of the data set, read as they are asked for; ends in `ProblemsFound` where
    something is wrong with it."""


@dataclass(frozen=True)
class Table:
    """A CSV file in which each column that matters has been found."""

    file: RowFile
    column_of: Mapping[str, str]
    """By what it means."""

    def rows(self, problems: Problems) -> Iterator[Row]:
        """The rows; what is wrong with others goes to `problems`."""
        return self.file.rows(problems)

    def cell(self, row: Row, meaning: str) -> str:
        """What the row says, without white space around it; empty where it has no such column."""
        column = self.column_of.get(meaning)
        return "" if column is None else str(row.cells[column]).strip()

    @property
    def read(self) -> tuple[str, ...]:
        """The columns that were recognised, in the order of the file."""
        return tuple(name for name in self.file.columns if name in self.column_of.values())

    @property
    def unread(self) -> tuple[str, ...]:
        """The others, in the order of the file."""
        known = self.column_of.values()
        return tuple(name for name in self.file.columns if name and name not in known)


def read_table(path: Path, known: Mapping[str, Sequence[str]], required: Sequence[str]) -> Table:
    """A CSV file whose columns may be called by any of the names in `known`, whatever their case.

    Raises:
        ProblemsFound: it cannot be read, or has no column of a meaning that is `required`.
    """
    column_of = columns_of(path, known)
    # the file's own problems come first
    file = read_rows(path, sorted(column_of.values()) or [known[one][0] for one in required])
    if file.format != "csv":
        problem = Problem(file.shown, 0, "", "is not CSV", "name a file *.csv or *.tsv")
        raise ProblemsFound([problem])
    missing = [meaning for meaning in required if meaning not in column_of]
    if missing:
        header = quoted(", ".join(file.columns))
        raise ProblemsFound(
            Problem(
                file.shown, 1, "", f'no column for "{meaning}" in {header}',
                f"call one of them {' or '.join(known[meaning])}",
            )
            for meaning in missing
        )  # fmt: skip
    return Table(file, column_of)


def columns_of(path: Path, known: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The columns of a CSV file by their meaning; none where the file cannot be read."""
    try:
        with path.open("rb") as file:
            start = file.read(_HEADER_BYTES)
    except (OSError, ValueError):
        return {}  # told by whoever reads the rows
    header = start.decode("utf-8-sig", "replace").lstrip("\r\n").partition("\n")[0].rstrip("\r")
    best: dict[str, str] = {}
    for separator in _SEPARATORS:
        try:
            cells = next(csv.reader([header.replace("\0", "")], delimiter=separator), [])
        except csv.Error:
            continue  # told by whoever reads the rows
        # under the right separator the most columns are known
        names = {cell.strip().casefold(): cell.strip() for cell in cells}
        found = {
            meaning: names[name]
            for meaning, spellings in known.items()
            for name in reversed([spelling.casefold() for spelling in spellings])
            if name in names
        }
        best = max(best, found, key=len)
    return best


@dataclass(frozen=True)
class JsonFile:
    """A JSON file, with the line of any of its parts."""

    shown: str
    text: str
    data: Any

    def problem(self, place: Place, cause: str, remedy: str) -> Problem:
        """A problem with the part at `place`."""
        return Problem(self.shown, self.line(place), dotted(place), cause, remedy)

    def line(self, place: Place) -> int:
        """1-based line of a part, or of the nearest part that holds it."""
        at = _skip_space(self.text, 0)
        for part in place:
            inside = next((start for name, start in _members(self.text, at) if name == part), None)
            if inside is None:
                break
            at = inside
        return self.text.count("\n", 0, at) + 1


def read_json(path: Path) -> JsonFile:
    """A JSON file of at most 64 MB.

    Raises:
        ProblemsFound: it cannot be read, or is no JSON.
    """
    shown = path.as_posix()
    text = read_text(path, shown)
    try:
        return JsonFile(shown, text, json.loads(text))
    except json.JSONDecodeError as error:
        cause, remedy = f"not valid JSON: {error.msg}", "check quotes, commas and brackets"
        raise ProblemsFound([Problem(shown, error.lineno, "", cause, remedy)]) from error
    except (RecursionError, ValueError) as error:  # nested too deeply; a number of 5,000 digits
        problem = Problem(shown, 0, "", "not JSON that can be read", "write plain values")
        raise ProblemsFound([problem]) from error


def _members(text: str, at: int) -> Iterator[tuple[str | int, int]]:
    """Keys or numbers, and where each value begins, of what begins at `at`."""
    if text[at] not in "{[":
        return
    in_object, number = text[at] == "{", 0
    at = _skip_space(text, at + 1)
    while text[at] not in "]}":
        name: str | int = number
        if in_object:
            name, at = _DECODER.raw_decode(text, at)
            at = _skip_space(text, _skip_space(text, at) + 1)
        yield name, at
        _, at = _DECODER.raw_decode(text, at)
        at = _skip_space(text, at)
        if text[at] == ",":
            at = _skip_space(text, at + 1)
        number += 1


def _skip_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def refuse_too_many(shown: str, number: int) -> None:
    """End here where lists of groups and topics combine to more than a person reads.

    Raises:
        ProblemsFound: saying how many they are.
    """
    if number > MOST_COMBINATIONS:
        cause = f"groups and topics combine to {number:,} triples"
        remedy = f"shorten the lists to what you want to compare: {MOST_COMBINATIONS:,} at most"
        raise ProblemsFound([Problem(shown, 0, "", cause, remedy)])
