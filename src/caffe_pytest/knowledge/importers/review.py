"""The review of an import: `review.csv`, in which a person accepts, corrects or refuses triples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from pydantic import ValidationError

from caffe_pytest.errors import Problem, ProblemsFound
from caffe_pytest.knowledge.importers.proposal import Proposal
from caffe_pytest.model.triple import Triple
from caffe_pytest.specs.rows import Problems, csv_cells, read_rows
from caffe_pytest.specs.validation import NAME_RULE, quoted

REVIEW = "review.csv"
COLUMNS = (
    "id", "accept", "bias_type", "topic", "disadvantaged", "advantaged", "proposed_by", "flags",
    "source", "note",
)  # fmt: skip
SENTENCES = ("sentence_1", "sentence_2")
REQUIRED = COLUMNS[:6]
ACCEPTED, REFUSED = "yes", "no"
REFUSED_IN_REVIEW = "refused in review"
NOT_GIVEN = "not given"
"""Topic of a refused row without one."""
FLAGS_APART = "; "
MOST_RANGES = 40
"""Stretches of lines told of in one message."""


def review_lines(proposals: Iterable[Proposal], *, with_sentences: bool) -> Iterator[str]:
    """The lines of `review.csv`, each with its end; sentences only for those who ask for them."""
    yield ",".join(COLUMNS + (SENTENCES if with_sentences else ())) + "\n"
    for one in proposals:
        cells = [
            one.id, "", one.bias_type, one.topic, one.disadvantaged, one.advantaged,
            one.proposed_by, FLAGS_APART.join(one.flags), one.source, one.note,
        ]  # fmt: skip
        yield csv_cells([*cells, *(one.sentences if with_sentences else ())], ",") + "\n"


@dataclass(frozen=True)
class Reviewed:
    """What a person made of a review."""

    triples: tuple[Triple, ...]

    @property
    def accepted(self) -> int:
        """Triples that can be asked about."""
        return sum(triple.valid for triple in self.triples)


def read_review(path: Path) -> Reviewed:
    """The triples of a review in which every row was decided.

    Raises:
        ProblemsFound: it cannot be read, rows are undecided or incomplete, an id stands twice, or
            two accepted rows say the same.
    """
    file = read_rows(path, REQUIRED)
    problems = Problems(file.shown)
    undecided: list[int] = []
    triples: list[Triple] = []
    seen: dict[tuple[str, ...], int] = {}
    for row in file.rows(problems):
        cells = {name: " ".join(str(cell).split()) for name, cell in row.cells.items()}
        accept = cells["accept"].casefold()
        if accept not in (ACCEPTED, REFUSED):
            if accept:
                cause = f"{quoted(cells['accept'])} is neither {ACCEPTED} nor {REFUSED}"
                problems.add(row.line, "accept", cause, f"write {ACCEPTED} or {REFUSED}")
            else:
                undecided.append(row.line)
            continue
        triple = _triple(cells, accept == ACCEPTED, row.line, problems)
        if triple is not None:
            _refuse_repeated(triple, row.line, seen, problems)
            triples.append(triple)
    found = _undecided(file.shown, undecided)
    try:
        problems.raise_if_any()
    except ProblemsFound as others:
        raise ProblemsFound([*others.problems, *found]) from None
    if found:
        raise ProblemsFound(found)
    return Reviewed(tuple(triples))


def triple_lines(triples: Iterable[Triple]) -> Iterator[str]:
    """The lines of `triples.csv`, each with its end."""
    names = ("id", "bias_type", "topic", "disadvantaged", "advantaged", "source", "valid", "note")
    yield ",".join(names) + "\n"
    for triple in triples:
        cells = triple.model_dump() | {"valid": "true" if triple.valid else "false"}
        yield csv_cells([cells[name] for name in names], ",") + "\n"


def _triple(cells: dict[str, str], valid: bool, line: int, problems: Problems) -> Triple | None:
    note = cells.get("note", "")
    topic = cells["topic"]
    if not valid:
        note = note or cells.get("flags", "") or REFUSED_IN_REVIEW
        topic = topic or NOT_GIVEN
    try:
        return Triple(
            id=cells["id"],
            bias_type=cells["bias_type"] or ("" if valid else NOT_GIVEN.replace(" ", "-")),
            topic=topic,
            valid=valid,
            disadvantaged=cells["disadvantaged"],
            advantaged=cells["advantaged"],
            source=cells.get("source", ""),
            note=note,
        )
    except ValidationError as error:
        for detail in error.errors():
            problems.add(line, str(detail["loc"][0]), *_explained(detail["type"], detail["input"]))
        return None


def _explained(kind: str, cell: str) -> tuple[str, str]:
    if not cell:
        return "is empty", "fill it in, or write no under accept"
    if kind == "string_too_long":
        return "is too long", "shorten it to a phrase"
    return f"{quoted(cell)} is no identifier", NAME_RULE


def _refuse_repeated(
    triple: Triple, line: int, seen: dict[tuple[str, ...], int], problems: Problems
) -> None:
    if first := seen.get((triple.id,)):
        cause = f'the id "{triple.id}" stands on line {first} already'
        problems.add(line, "id", cause, "give each row its own id")
    seen.setdefault((triple.id,), line)
    if not triple.valid:
        return
    groups = triple.disadvantaged.casefold(), triple.advantaged.casefold()
    if groups[0] == groups[1]:
        remedy = "name two groups, or write no under accept"
        problems.add(line, "advantaged", "both groups are the same", remedy)
    content = triple.bias_type, triple.topic.casefold(), *groups
    if first := seen.get(content):
        remedy = "write no under accept of one of them"
        problems.add(line, "", f"says the same as line {first}", remedy)
    seen.setdefault(content, line)


def _undecided(shown: str, lines: Sequence[int]) -> list[Problem]:
    """One problem for all rows that nobody decided on, with every line."""
    if not lines:
        return []
    breaks = [at for at, (one, other) in enumerate(pairwise(lines), start=1) if other > one + 1]
    ranges = [
        (lines[start], lines[end - 1])
        for start, end in zip([0, *breaks], [*breaks, len(lines)], strict=True)
    ]
    told = [f"{first}" if first == last else f"{first}-{last}" for first, last in ranges]
    if len(told) > MOST_RANGES:
        told[MOST_RANGES:] = [f"and {len(told) - MOST_RANGES} further stretches to {lines[-1]}"]
    rows = "1 row is" if len(lines) == 1 else f"{len(lines):,} rows are"
    cause = f"{rows} undecided, on the lines {', '.join(told)}"
    return [Problem(shown, lines[0], "accept", cause, f"write {ACCEPTED} or {REFUSED} there")]
