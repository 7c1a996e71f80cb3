"""Knowledge bases read from CSV and YAML files, with a line number for every problem.

A YAML base says what an auditor needs to know (licence, version, datasheet) and holds its triples,
or names the CSV file beside it that does. A CSV file alone is a base too; what it cannot say is
`unspecified`.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, WithJsonSchema

from caffe_pytest.errors import Problem, ProblemsFound, did_you_mean
from caffe_pytest.knowledge.groups import (
    PAIR,
    SEPARATOR,
    SET,
    contrasts,
    is_of_a_set,
    read_groups,
)
from caffe_pytest.model.triple import Group, KnowledgeBase, Name, Text, Triple, as_name
from caffe_pytest.specs.validation import NAME_RULE, quoted, validate
from caffe_pytest.specs.yaml_document import (
    Document,
    SourceMap,
    first_file,
    read_documents,
    read_text,
)

COLUMNS = (
    "id", "bias_type", "topic", "disadvantaged", "advantaged", "source", "valid", "note",
)  # fmt: skip
REQUIRED = ("bias_type", "topic", "disadvantaged", "advantaged")
MOST_PROBLEMS = 50
"""Of one file; a wrong separator would make one a row."""
LONGEST_CELL = 131_072
"""Characters, as Python's reader has it: behind a longer one is a quote that was not closed."""

_BOOLEANS = {
    "": True,
    "true": True,
    "yes": True,
    "1": True,
    "false": False,
    "no": False,
    "0": False,
}

Place = tuple[str, int]
"""A file as messages name it, and a 1-based line of it."""
Placed = tuple[Place, Triple]


@dataclass(frozen=True, slots=True)
class ReadBase:
    """A base as it was read, with where its parts stand; it may hold doubtful rows."""

    base: KnowledgeBase
    places: tuple[Place, ...]
    """Of each triple."""
    tables: tuple[tuple[Path, str], ...]
    """The CSV files of its rows, each with how messages name it."""
    forms: tuple[SourceMap, tuple[str, ...]] | None
    """The document with the forms of its groups, and the path to them in it."""


class _YamlBase(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    name: Name
    version: Text = "unspecified"
    title: str = ""
    licence: Text = "unspecified"
    language: Name = "en"
    datasheet: Text | None = None
    triples: Annotated[Any, WithJsonSchema({})] = Field()
    """A list of triples, or the name of a CSV file beside this one, or a list of such names."""
    groups: Annotated[Any, WithJsonSchema({})] = None
    """Forms of the groups by their names, or the name of a YAML file beside this one."""


def load_base(path: Path, shown: str | None = None) -> KnowledgeBase:
    """The knowledge base in a CSV or YAML file; `shown` is how messages name the file.

    Raises:
        ProblemsFound: with the problems of the file, the first 50 of them.
    """
    read = read_base(path, shown)
    found = islice(doubts(read.places, read.base.triples), MOST_PROBLEMS)
    problems = [problem for _, problem in found]
    if problems:
        raise ProblemsFound(problems)
    return read.base


def read_base(path: Path, shown: str | None = None) -> ReadBase:
    """The knowledge base in a file, also where `doubts` has something to say about its rows.

    Raises:
        ProblemsFound: with what keeps the file from being read.
    """
    name = shown if shown is not None else str(path)
    if path.suffix.lower() == ".csv":
        described = _YamlBase(name=as_name(path.stem), triples=path.name)
        rows = _read_csv(path, name)
        return _assemble(described, [path], rows, {}, ((path, name),), None)
    document = _one_document(path, name, "a knowledge base is one document")
    described_or_none, problems = validate(document, _YamlBase)
    if described_or_none is None:
        raise ProblemsFound(problems)
    return _from_document(described_or_none, document, path, name)


def _from_document(described: _YamlBase, document: Document, path: Path, name: str) -> ReadBase:
    """A base with its triples and the forms of its groups, in this file or in files beside it."""
    files, groups_data = [path], document
    triples = described.triples
    if isinstance(described.groups, str):
        file = _beside(path, described.groups, (".yaml", ".yml"), document, "groups")
        shown_file = str(Path(name).parent / described.groups)
        groups_data = _one_document(file, shown_file, "write all groups into one document")
    within = () if groups_data is not document else ("groups",)
    groups = read_groups(groups_data, within)
    tables: list[tuple[Path, str]] = []
    if isinstance(triples, str) or (triples and all(isinstance(one, str) for one in triples)):
        rows: list[Placed] = []
        for named in [triples] if isinstance(triples, str) else triples:
            file = _beside(path, named, (".csv",), document, "triples")
            files.append(file)
            tables.append((file, str(Path(name).parent / named)))
            rows += _read_csv(*tables[-1])
    else:
        rows = _from_yaml(document)
    if groups_data is not document:
        files.append(path.parent / str(described.groups))
    forms = (groups_data.source, within) if groups else None
    return _assemble(described, files, rows, groups, tuple(tables), forms)


def _beside(
    path: Path, named: str, suffixes: tuple[str, ...], document: Document, key: str
) -> Path:
    file = path.parent / named
    if file.suffix.lower() not in suffixes or first_file([file]) is None:
        kind = suffixes[0][1:].upper()
        cause, remedy = f'no {kind} file "{named}"', "name one beside this file"
        raise ProblemsFound([document.source.problem((key,), cause, remedy)])
    return file


def _one_document(path: Path, name: str, remedy: str) -> Document:
    documents, problems = read_documents(path, name)
    if not problems and len(documents) != 1:
        cause = f"holds {len(documents) or 'no'} YAML documents"
        problems = [Problem(name, 0, "", cause, remedy)]
    if problems:
        raise ProblemsFound(problems)
    return documents[0]


def _assemble(
    described: _YamlBase,
    files: Sequence[Path],
    rows: list[Placed],
    groups: Mapping[str, Group],
    tables: tuple[tuple[Path, str], ...],
    forms: tuple[SourceMap, tuple[str, ...]] | None,
) -> ReadBase:
    """`files` has the file of the base itself first."""
    rows = _without_contrasts_said_already(rows)
    base = KnowledgeBase(
        name=described.name,
        version=described.version,
        licence=described.licence,
        language=described.language,
        datasheet=described.datasheet,
        path=str(files[0]),
        sha256=hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest(),
        triples=tuple(triple for _, triple in rows),
        groups=groups,
    )
    return ReadBase(base, tuple(place for place, _ in rows), tables, forms)


def _without_contrasts_said_already(rows: Sequence[Placed]) -> list[Placed]:
    """Two groups of a set that have a row of their own are asked about by that row."""
    own = {triple.content for _, triple in rows if not is_of_a_set(triple.id)}
    return [
        (place, triple)
        for place, triple in rows
        if not is_of_a_set(triple.id) or triple.content not in own
    ]


def _from_yaml(document: Document) -> list[Placed]:
    given, source = document.data["triples"], document.source
    if not isinstance(given, list) or not given:
        raise ProblemsFound(
            [source.problem(("triples",), "holds no triples", "list them, or name a CSV file")]
        )
    rows: list[Placed] = []
    problems: list[Problem] = []
    for number, item in enumerate(given, start=1):
        row = {"id": f"row-{number}", **item} if isinstance(item, dict) else item
        where = ("triples", number - 1)
        for one in contrasts(row) if isinstance(row, dict) else [row]:
            triple, found = validate(Document(one, source), Triple)
            problems += [
                source.problem(
                    (*where, *filter(None, [problem.path])), problem.cause, problem.remedy
                )
                for problem in found
            ]
            if triple is not None:
                rows.append(((source.file, source.line(where)), triple))
    if problems:
        raise ProblemsFound(problems[:MOST_PROBLEMS])
    return rows


def _read_csv(path: Path, shown: str) -> list[Placed]:
    columns, rows = read_cells(path, shown)
    return _triples(rows, columns, shown)


def read_cells(path: Path, shown: str) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    """The columns of a CSV file, and its rows as they stand, each with the line it begins on.

    Raises:
        ProblemsFound: the file or its first line cannot be read; while the rows are read, a row.
    """
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
    return _columns(columns, shown, line), rows


def _numbered(reader: Any, shown: str) -> Iterator[tuple[int, list[str]]]:
    """The rows that are not empty, each with the line it begins on."""
    line = 1
    try:
        for cells in reader:
            # the limit of Python's reader holds for the whole process, and others raise it
            if max(map(len, cells), default=0) > LONGEST_CELL:
                raise csv.Error(f"field larger than field limit ({LONGEST_CELL})")
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
    known = (*COLUMNS, SET)
    problems = [
        Problem(shown, line, "", f"unknown column {quoted(name)}", did_you_mean(name, known))
        for name in columns
        if name not in known
    ]
    problems += [
        Problem(shown, line, "", f'the column "{name}" is missing', "add it to the first line")
        for name in REQUIRED
        if name not in columns and not (SET in columns and name in PAIR)
    ]
    if len(set(columns)) < len(columns):
        problems.append(Problem(shown, line, "", "a column stands twice", "keep one of them"))
    if problems:
        raise ProblemsFound(problems)
    return columns


def _triples(
    rows: Iterable[tuple[int, list[str]]], columns: Sequence[str], shown: str
) -> list[Placed]:
    triples: list[Placed] = []
    problems: list[Problem] = []
    for number, (line, cells) in enumerate(rows, start=1):
        if len(cells) != len(columns):
            cause = f"has {len(cells)} cells, the first line {len(columns)}"
            problems.append(Problem(shown, line, "", cause, "quote cells that hold separators"))
        else:
            try:
                given = _given(dict(zip(columns, cells, strict=True)))
                row = {"id": f"row-{number}", **given}
                rows_of_set = contrasts(row) if SET in row else (row,)
                triples += [((shown, line), _triple(one)) for one in rows_of_set]
            except ValidationError as error:
                problems += [_cell_problem(detail, shown, line) for detail in error.errors()]
        if len(problems) >= MOST_PROBLEMS:
            break
    if not triples and not problems:
        problems.append(Problem(shown, 0, "", "holds no triples", "add a row below the header"))
    if problems:
        raise ProblemsFound(problems[:MOST_PROBLEMS])
    return triples


def _given(row: dict[str, str]) -> dict[str, Any]:
    """A row of a CSV file: no identifier is none, and a set of groups is a list."""
    given: dict[str, Any] = {**row}
    if not given.get("id", "").strip():
        given.pop("id", None)
    if SET in given:
        named = [name.strip() for name in given.pop(SET).split(SEPARATOR) if name.strip()]
        if named:
            given[SET] = named
    return given


def _triple(row: Mapping[str, Any]) -> Triple:
    valid = str(row.get("valid", "")).strip().casefold()
    return Triple.model_validate({**row, "valid": _BOOLEANS.get(valid, row.get("valid"))})


def _cell_problem(detail: Any, shown: str, line: int) -> Problem:
    kind, cell = detail["type"], detail["input"]
    if kind == "missing":
        column = str(detail["loc"][0])
        return Problem(shown, line, column, "is missing", "fill it in, or name `groups`")
    column = str(detail["loc"][0])
    cause, remedy = f"{quoted(cell)} is neither true nor false", "write true or false"
    if kind == "string_too_short" or not cell.strip():
        cause, remedy = "is empty", "fill it in"
    elif kind == "string_too_long":
        cause, remedy = "is too long", f"keep to {detail['ctx']['max_length']} characters"
    elif kind == "string_pattern_mismatch":
        cause, remedy = f"{quoted(cell)} is no identifier", NAME_RULE
    return Problem(shown, line, column, cause, remedy)


def doubts(places: Sequence[Place], triples: Sequence[Triple]) -> Iterator[tuple[str, Problem]]:
    """What makes a base useless for counterfactuals although every row is well-formed.

    Each with its kind: `duplicate-id`, `same-groups` or `duplicate-content`.
    """
    ids: dict[str, Place] = {}
    contents: dict[tuple[str, ...], Place] = {}
    for (shown, line), triple in zip(places, triples, strict=True):
        if triple.id in ids:
            first = _other(ids[triple.id], shown)
            cause = f'the id "{triple.id}" stands on {first} already'
            problem = Problem(shown, line, "id", cause, "give each triple its own id")
            yield "duplicate-id", problem
        ids.setdefault(triple.id, (shown, line))
        if not triple.valid:
            continue
        content = triple.content
        if content[2] == content[3]:
            remedy = "name two groups, or set valid to false"
            problem = Problem(shown, line, "advantaged", "both groups are the same", remedy)
            yield "same-groups", problem
        if content in contents:
            cause = f"says the same as {_other(contents[content], shown)}"
            yield "duplicate-content", Problem(shown, line, "", cause, "remove one of the two")
        contents.setdefault(content, (shown, line))


def _other(place: Place, shown: str) -> str:
    file, line = place
    return f"line {line}" if file == shown else f"{file}:{line}"
