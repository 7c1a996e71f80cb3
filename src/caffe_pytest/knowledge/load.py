"""Knowledge bases read from CSV and YAML files, with a line number for every problem.

A YAML base says what an auditor needs to know (licence, version, datasheet) and holds its triples,
or names the CSV file beside it that does. A CSV file alone is a base too; what it cannot say is
`unspecified`.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, WithJsonSchema

from caffe_pytest.errors import Problem, ProblemsFound, did_you_mean
from caffe_pytest.model.triple import KnowledgeBase, Name, Text, Triple, as_name
from caffe_pytest.specs.validation import NAME_RULE, quoted, validate
from caffe_pytest.specs.yaml_document import Document, first_file, read_documents, read_text

COLUMNS = tuple(Triple.model_fields)
REQUIRED = ("bias_type", "topic", "disadvantaged", "advantaged")
MOST_PROBLEMS = 50
"""Of one file; a wrong separator would make one a row."""

_BOOLEANS = {
    "": True,
    "true": True,
    "yes": True,
    "1": True,
    "false": False,
    "no": False,
    "0": False,
}

Numbered = tuple[int, Triple]
"""A triple with the 1-based line it stands on."""


class _YamlBase(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    name: Name
    version: Text = "unspecified"
    title: str = ""
    licence: Text = "unspecified"
    language: Name = "en"
    datasheet: Text | None = None
    triples: Annotated[Any, WithJsonSchema({})] = Field()
    """A list of triples, or the name of a CSV file beside this one."""


def load_base(path: Path, shown: str | None = None) -> KnowledgeBase:
    """The knowledge base in a CSV or YAML file; `shown` is how messages name the file.

    Raises:
        ProblemsFound: with the problems of the file, the first 50 of them.
    """
    name = shown if shown is not None else str(path)
    if path.suffix.lower() == ".csv":
        described = _YamlBase(name=as_name(path.stem), triples=path.name)
        return _assemble(described, path, [path], _read_csv(path, name), name)
    documents, problems = read_documents(path, name)
    if problems:
        raise ProblemsFound(problems)
    if len(documents) != 1:
        cause = f"holds {len(documents) or 'no'} YAML documents"
        raise ProblemsFound([Problem(name, 0, "", cause, "a knowledge base is one document")])
    described_or_none, problems = validate(documents[0], _YamlBase)
    if described_or_none is None:
        raise ProblemsFound(problems)
    described = described_or_none
    if isinstance(described.triples, str):
        rows = path.parent / described.triples
        if rows.suffix.lower() != ".csv" or first_file([rows]) is None:
            cause, remedy = f'no CSV file "{described.triples}"', "name one beside this file"
            raise ProblemsFound([documents[0].source.problem(("triples",), cause, remedy)])
        shown_rows = str(Path(name).parent / described.triples)
        return _assemble(described, path, [path, rows], _read_csv(rows, shown_rows), shown_rows)
    return _assemble(described, path, [path], _from_yaml(documents[0]), name)


def _assemble(
    described: _YamlBase, path: Path, files: Sequence[Path], rows: list[Numbered], shown: str
) -> KnowledgeBase:
    _refuse_doubtful(rows, shown)
    return KnowledgeBase(
        name=described.name,
        version=described.version,
        licence=described.licence,
        language=described.language,
        datasheet=described.datasheet,
        path=str(path),
        sha256=hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest(),
        triples=tuple(triple for _, triple in rows),
    )


def _from_yaml(document: Document) -> list[Numbered]:
    given, source = document.data["triples"], document.source
    if not isinstance(given, list) or not given:
        raise ProblemsFound(
            [source.problem(("triples",), "holds no triples", "list them, or name a CSV file")]
        )
    rows: list[Numbered] = []
    problems: list[Problem] = []
    for number, item in enumerate(given, start=1):
        row = {"id": f"row-{number}", **item} if isinstance(item, dict) else item
        triple, found = validate(Document(row, source), Triple)
        where = ("triples", number - 1)
        problems += [
            source.problem((*where, *filter(None, [problem.path])), problem.cause, problem.remedy)
            for problem in found
        ]
        if triple is not None:
            rows.append((source.line(where), triple))
    if problems:
        raise ProblemsFound(problems[:MOST_PROBLEMS])
    return rows


def _read_csv(path: Path, shown: str) -> list[Numbered]:
    text = read_text(path, shown)
    header, _, _ = text.lstrip("\r\n").partition("\n")
    separator = max(",;\t", key=header.count)
    # strict: an unclosed quote is an error, not a row as long as the file
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    rows = _numbered(reader, shown)
    line, columns = next(rows, (0, []))
    if not columns:
        cause, remedy = "the file is empty", f"begin with the line {','.join(COLUMNS[:5])}"
        raise ProblemsFound([Problem(shown, 0, "", cause, remedy)])
    return _triples(rows, _columns(columns, shown, line), shown)


def _numbered(reader: Any, shown: str) -> Iterator[tuple[int, list[str]]]:
    """The rows that are not empty, each with the line it begins on."""
    line = 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield line, cells
            line = reader.line_num + 1
    except csv.Error as error:
        cause, remedy = f"not valid CSV: {error}", "check the quotes from this line on"
        raise ProblemsFound([Problem(shown, line, "", cause, remedy)]) from error


def _columns(header: Sequence[str], shown: str, line: int) -> list[str]:
    columns = [name.strip() for name in header]
    if len(columns) == 1:
        cause = "the first line names one column only"
        remedy = "separate columns by commas, semicolons or tabs"
        raise ProblemsFound([Problem(shown, line, "", cause, remedy)])
    problems = [
        Problem(shown, line, "", f"unknown column {quoted(name)}", did_you_mean(name, COLUMNS))
        for name in columns
        if name not in COLUMNS
    ]
    problems += [
        Problem(shown, line, "", f'the column "{name}" is missing', "add it to the first line")
        for name in REQUIRED
        if name not in columns
    ]
    if len(set(columns)) < len(columns):
        problems.append(Problem(shown, line, "", "a column stands twice", "keep one of them"))
    if problems:
        raise ProblemsFound(problems)
    return columns


def _triples(
    rows: Iterable[tuple[int, list[str]]], columns: Sequence[str], shown: str
) -> list[Numbered]:
    triples: list[Numbered] = []
    problems: list[Problem] = []
    for number, (line, cells) in enumerate(rows, start=1):
        if len(cells) != len(columns):
            cause = f"has {len(cells)} cells, the first line {len(columns)}"
            problems.append(Problem(shown, line, "", cause, "quote cells that hold separators"))
        else:
            try:
                row = dict(zip(columns, cells, strict=True))
                triples.append((line, _triple(row, number)))
            except ValidationError as error:
                problems += [_cell_problem(detail, shown, line) for detail in error.errors()]
        if len(problems) >= MOST_PROBLEMS:
            break
    if not triples and not problems:
        problems.append(Problem(shown, 0, "", "holds no triples", "add a row below the header"))
    if problems:
        raise ProblemsFound(problems[:MOST_PROBLEMS])
    return triples


def _triple(row: dict[str, str], number: int) -> Triple:
    valid = row.get("valid", "").strip().casefold()
    return Triple.model_validate(
        {**row, "id": row.get("id", "").strip() or f"row-{number}",
         "valid": _BOOLEANS.get(valid, row.get("valid"))}
    )  # fmt: skip


def _cell_problem(detail: Any, shown: str, line: int) -> Problem:
    column, kind, cell = str(detail["loc"][0]), detail["type"], detail["input"]
    cause, remedy = f"{quoted(cell)} is neither true nor false", "write true or false"
    if kind == "string_too_short" or not cell.strip():
        cause, remedy = "is empty", "fill it in"
    elif kind == "string_too_long":
        cause, remedy = "is too long", f"keep to {detail['ctx']['max_length']} characters"
    elif kind == "string_pattern_mismatch":
        cause, remedy = f"{quoted(cell)} is no identifier", NAME_RULE
    return Problem(shown, line, column, cause, remedy)


def _refuse_doubtful(rows: Sequence[Numbered], shown: str) -> None:
    """What makes a base useless for counterfactuals although every row is well-formed."""
    problems: list[Problem] = []
    ids: dict[str, int] = {}
    contents: dict[tuple[str, ...], int] = {}
    for line, triple in rows:
        if triple.id in ids:
            cause = f'the id "{triple.id}" stands on line {ids[triple.id]} already'
            problems.append(Problem(shown, line, "id", cause, "give each triple its own id"))
        ids.setdefault(triple.id, line)
        if not triple.valid:
            continue
        groups = (triple.disadvantaged.casefold(), triple.advantaged.casefold())
        if groups[0] == groups[1]:
            remedy = "name two groups, or set valid to false"
            problems.append(Problem(shown, line, "advantaged", "both groups are the same", remedy))
        content = (triple.bias_type, triple.topic.casefold(), *groups)
        if content in contents:
            cause = f"says the same as line {contents[content]}"
            problems.append(Problem(shown, line, "", cause, "remove one of the two"))
        contents.setdefault(content, line)
    if problems:
        raise ProblemsFound(problems[:MOST_PROBLEMS])
