"""Rows of a CSV or JSONL file, each with its line and with the text it was read from.

Used for answers that were collected elsewhere. Any input, however broken, ends in rows or in
problems; never in another exception.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from caffe_pytest.errors import Problem, ProblemsFound
from caffe_pytest.specs.validation import quoted

Format = Literal["csv", "jsonl"]
FORMATS: Mapping[str, Format] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
"""By the suffix of a file's name."""
STANDARD_INPUT = "standard input"
"""How messages name it."""
MOST_SHOWN = 20
"""Problems of one file that are told; a wrong separator would make one a row."""
MAX_BYTES = 1 << 30
"""The text of a file is kept in memory."""
LONGEST_CELL = 1 << 30
"""Python's own limit is 131,072 characters, which a long answer exceeds."""

_BYTE_ORDER_MARK = "\ufeff"
_SEPARATORS = ",;\t"
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
"""`splitlines` would also end a line at signs that may stand in an answer."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a file."""

    line: int
    """1-based line it begins on."""
    text: str
    """As it stands in the file, without the end of its line."""
    cells: Mapping[str, Any]
    """By column: text in CSV, any value of JSON in JSONL."""


class Problems:
    """What is wrong with a file: all of it is counted, the first problems are told."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.found = 0
        self._shown: list[Problem] = []

    def add(self, line: int, path: str, cause: str, remedy: str) -> None:
        """Note a problem; `line` is 1-based, 0 for the whole file."""
        self.found += 1
        if len(self._shown) < MOST_SHOWN:
            self._shown.append(Problem(self.file, line, path, cause, remedy))

    def raise_if_any(self) -> None:
        """End here where there is a problem.

        Raises:
            ProblemsFound: with the first of them, and how many there are.
        """
        if not self.found:
            return
        shown = list(self._shown)
        if self.found > len(shown):
            cause, remedy = f"{self.found} problems", f"the first {MOST_SHOWN} of them follow"
            shown.append(Problem(self.file, 0, "", cause, remedy))
        raise ProblemsFound(shown)


@dataclass(frozen=True)
class RowFile:
    """The text of a file of rows; its rows are read anew each time they are asked for."""

    shown: str
    """How messages name the file."""
    format: Format
    text: str = field(repr=False)
    separator: str = ""
    """Of a CSV file: comma, semicolon or tab."""
    columns: tuple[str, ...] = ()
    """Of a CSV file; the objects of a JSONL file each have their own."""
    header: str = ""
    """Of a CSV file: its first line as it stands, without its end."""
    newline: str = "\n"
    byte_order_mark: str = ""
    """What stood before the text, where something did: spreadsheets know UTF-8 by it."""

    def rows(self, problems: Problems) -> Iterator[Row]:
        """The rows that can be read, in the order of the file; what is wrong with the others."""
        return self._of_csv(problems) if self.format == "csv" else self._of_jsonl(problems)

    def _of_csv(self, problems: Problems) -> Iterator[Row]:
        records = _records(self.text, self.separator, problems)
        next(records)  # the header
        for line, text, cells in records:
            if len(cells) == len(self.columns):
                yield Row(line, text, dict(zip(self.columns, cells, strict=True)))
            else:
                cause = f"has {len(cells)} cells, the first line {len(self.columns)}"
                problems.add(line, "", cause, "quote cells that hold separators")

    def _of_jsonl(self, problems: Problems) -> Iterator[Row]:
        for line, match in enumerate(_LINE.finditer(self.text), start=1):
            text = match[0].strip("\r\n\t ")
            if not text:
                continue
            try:
                cells = json.loads(text, object_pairs_hook=_once, parse_constant=_refuse)
            except RecursionError:
                problems.add(line, "", "is nested too deeply", "write plain values")
            except ValueError as error:
                what = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
                problems.add(line, "", f"not valid JSON: {what}", "write one JSON object a line")
            else:
                if isinstance(cells, dict):
                    yield Row(line, text, cells)
                else:
                    problems.add(line, "", "is no JSON object", "write one JSON object a line")


def read_rows(path: Path, required: Sequence[str], standard_input: bytes | None = None) -> RowFile:
    """The rows of a file; its suffix says which format.

    `required` are the columns that a CSV file has to have. With `standard_input` the rows are
    those, as JSONL, and `path` does not matter.

    Raises:
        ProblemsFound: the file cannot be read, is empty, is no UTF-8 text, or lacks a column.
    """
    if standard_input is not None:
        text = _decoded(standard_input, STANDARD_INPUT)
        return _jsonl(STANDARD_INPUT, text, required)
    shown = path.as_posix()
    file_format = FORMATS.get(path.suffix.lower())
    if file_format is None:
        raise _wrong(shown, "is neither CSV nor JSONL by its name", "rename it to *.csv or *.jsonl")
    text = _decoded(_content(path, shown), shown)
    if file_format == "jsonl":
        return _jsonl(shown, text, required)
    return _csv(shown, text, required)


def as_text(value: str) -> str:
    """Text that can be written; what JSON can carry and is no character becomes U+FFFD.

    That is half of a surrogate pair, and NUL.
    """
    paired = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return paired.replace("\0", "\ufffd")


def csv_cells(cells: Sequence[str], separator: str) -> str:
    """The cells as they stand in a line of CSV; only what has to be quoted is."""
    return separator.join(
        '"' + cell.replace('"', '""') + '"' if set(cell) & {separator, '"', "\r", "\n"} else cell
        for cell in cells
    )


def _content(path: Path, shown: str) -> bytes:
    try:
        if path.exists() and not path.is_file():
            raise _wrong(shown, "this is no file", "name a file with rows")  # a pipe may not end
        size = path.stat().st_size
        if size > MAX_BYTES:
            cause = f"the file has {size:,} bytes"
            raise _wrong(shown, cause, f"split it: {MAX_BYTES:,} are the limit")
        return path.read_bytes()
    except (OSError, ValueError) as error:
        cause = f"cannot be read: {getattr(error, 'strerror', None) or error}"
        raise _wrong(shown, cause, "check the path and its permissions") from error


def _decoded(raw: bytes, shown: str) -> str:
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise _wrong(shown, "is not in UTF-8 here", "save it as UTF-8 text", line) from error
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise _wrong(shown, "holds a NUL byte: this is no text", "save it as UTF-8 text", line)
    return text


def _jsonl(shown: str, text: str, required: Sequence[str]) -> RowFile:
    text = text.removeprefix(_BYTE_ORDER_MARK)
    if not text.strip():
        keys = ", ".join(required)
        raise _wrong(shown, "holds no rows", f"write one JSON object a line, with the keys {keys}")
    return RowFile(shown, "jsonl", text, newline=_newline(text))


def _csv(shown: str, text: str, required: Sequence[str]) -> RowFile:
    mark = _BYTE_ORDER_MARK if text.startswith(_BYTE_ORDER_MARK) else ""
    text = text.removeprefix(_BYTE_ORDER_MARK)
    if not text.strip():
        raise _wrong(shown, "the file is empty", f"begin with the line {','.join(required)}")
    problems = Problems(shown)

    def known(separator: str) -> int:
        header = next(_records(text, separator, Problems(shown)), None)
        return len({cell.strip() for cell in header[2]} & set(required)) if header else 0

    separator = max(_SEPARATORS, key=known)
    records = _records(text, separator, problems)
    line, header, cells = next(records, (1, "", []))
    problems.raise_if_any()
    columns = tuple(cell.strip() for cell in cells)
    for name in required:
        if name not in columns:
            remedy = f"add it to the first line, which has {quoted(', '.join(columns))}"
            problems.add(line, "", f'the column "{name}" is missing', remedy)
    for name in sorted({name for name in columns if columns.count(name) > 1}):
        problems.add(line, "", f'the column "{name}" stands twice', "keep one of them")
    problems.raise_if_any()
    if next(records, None) is None and not problems.found:
        raise _wrong(shown, "holds no rows", "add a row below the first line")
    return RowFile(shown, "csv", text, separator, columns, header, _newline(text), mark)


def _records(text: str, separator: str, problems: Problems) -> Iterator[tuple[int, str, list[str]]]:
    """The rows that are not blank: the line each begins on, its text, its cells."""
    taken: list[str] = []

    def lines() -> Iterator[str]:
        for match in _LINE.finditer(text):
            taken.append(match[0])
            yield match[0]

    csv.field_size_limit(LONGEST_CELL)
    # strict: an unclosed quote is an error, not a row as long as the file
    reader = csv.reader(lines(), delimiter=separator, strict=True)
    line = 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield line, "".join(taken).rstrip("\r\n"), cells
            line += len(taken)
            taken.clear()
    except csv.Error as error:
        problems.add(line, "", f"not valid CSV: {error}", "check the quotes from this line on")


def _newline(text: str) -> str:
    """How the first line ends."""
    end = text.find("\n")
    return "\r\n" if end > 0 and text[end - 1] == "\r" else "\n"


def _once(members: list[tuple[str, Any]]) -> dict[str, Any]:
    cells = dict(members)
    if len(cells) < len(members):
        raise ValueError("a key stands twice")
    return cells


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no number; write null")


def _wrong(shown: str, cause: str, remedy: str, line: int = 0) -> ProblemsFound:
    return ProblemsFound([Problem(shown, line, "", cause, remedy)])
