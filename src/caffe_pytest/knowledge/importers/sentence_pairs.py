"""Pairs of sentences that differ in a group: what CrowS-Pairs and its translations consist of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from caffe_pytest.knowledge.importers import proposal
from caffe_pytest.knowledge.importers.english import direction_doubtful
from caffe_pytest.knowledge.importers.groups_of_edit import blanked, groups_of_edit
from caffe_pytest.knowledge.importers.minimal_edit import minimal_edit
from caffe_pytest.knowledge.importers.proposal import Proposal, formula
from caffe_pytest.knowledge.importers.source import Source, Table, read_table
from caffe_pytest.model.triple import as_name
from caffe_pytest.specs.rows import Problems
from caffe_pytest.specs.validation import quoted

MORE, LESS = "the sentence that stereotypes more", "the sentence that stereotypes less"
DIRECTION, BIAS_TYPE, NUMBER = "direction", "bias type", "number"
STEREO, ANTISTEREO = ("stereo", "stereotype"), ("antistereo", "anti-stereotype", "anti-stereo")


def read_pairs(
    path: Path, columns: Mapping[str, Sequence[str]], name: str, prefix: str, language: str
) -> Source:
    """The pairs of a CSV file; `name` stands in `source`, `prefix` begins the identifiers.

    A pair without a number of its own has that of its row, from 0.

    Raises:
        ProblemsFound: the file cannot be read, or lacks a column.
    """
    table = read_table(path, columns, (MORE, LESS))
    return Source(table.read, table.unread, _proposals(table, name, prefix, language))


def _proposals(table: Table, name: str, prefix: str, language: str) -> Iterator[Proposal]:
    problems = Problems(table.file.shown)
    lines: dict[str, int] = {}
    for row_number, row in enumerate(table.rows(problems)):
        number = table.cell(row, NUMBER) or str(row_number)
        if number in lines:
            cause = f"the number {quoted(number)} stands on line {lines[number]} already"
            problems.add(row.line, "", cause, "give each pair its own")
        lines[number] = row.line
        for meaning in (MORE, LESS):
            if not table.cell(row, meaning):
                column = table.column_of[meaning]
                problems.add(row.line, column, "is empty", "fill it in, or remove the row")
        if not problems.found:
            yield pair_proposal(
                id=as_name(f"{prefix}-{number:0>4}"),
                source=f"{name}:{number}",
                sentences=(table.cell(row, MORE), table.cell(row, LESS)),
                bias_type=table.cell(row, BIAS_TYPE),
                direction=table.cell(row, DIRECTION),
                language=language,
            )
    problems.raise_if_any()


def pair_proposal(
    *,
    id: str,  # noqa: A002 - the column of a base
    source: str,
    sentences: tuple[str, str],
    bias_type: str,
    direction: str,
    language: str = "en",
) -> Proposal:
    """What a pair of sentences proposes; its topic is left to a person, or to a model.

    Where the pair violates a stereotype its first sentence is about the advantaged group.
    """
    pieces = minimal_edit(*sentences)
    found = groups_of_edit(pieces, language)
    disadvantaged, advantaged = found.first, found.second
    folded = direction.casefold()
    if folded in ANTISTEREO:
        disadvantaged, advantaged = advantaged, disadvantaged
    doubtful = language == "en" and direction_doubtful(disadvantaged, advantaged)
    name = as_name(bias_type) if bias_type else ""
    proposed = Proposal(
        id, name, "", disadvantaged, advantaged, proposal.FROM_EDIT, found.flags, source,
        sentences=sentences, question=blanked(pieces),
    )  # fmt: skip
    return proposed.with_flags(
        "" if folded in (*STEREO, *ANTISTEREO) else proposal.DIRECTION_UNKNOWN,
        proposal.DIRECTION_DOUBTFUL if doubtful else "",
        "" if name and name == bias_type else proposal.BIAS_TYPE,
        formula(*sentences, bias_type, disadvantaged, advantaged),
    )
