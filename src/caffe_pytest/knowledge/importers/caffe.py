"""The knowledge base of the CAFFE paper, or any table of topics and groups.

The published file has a column `extraction` with "<topic, group 1, group 2>". Its groups stand in
the order of the sentences, so that those of a pair marked `antistereo` stand the wrong way round.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from caffe_pytest.knowledge.importers import proposal
from caffe_pytest.knowledge.importers.english import direction_doubtful
from caffe_pytest.knowledge.importers.proposal import Proposal, formula
from caffe_pytest.knowledge.importers.sentence_pairs import ANTISTEREO
from caffe_pytest.knowledge.importers.source import Source, Table, columns_of, read_table
from caffe_pytest.model.triple import as_name
from caffe_pytest.specs.rows import Problems, Row
from caffe_pytest.specs.validation import quoted

NAME = "caffe"
TRIPLE, TOPIC, FIRST, SECOND = "triple", "topic", "the first group", "the second group"
DIRECTION, BIAS_TYPE, NUMBER = "direction", "bias type", "number"
COLUMNS = {
    NUMBER: ("id", "index", ""),
    TRIPLE: ("extraction",),
    TOPIC: ("topic", "biased topic", "biased_topic", "stereotype"),
    FIRST: ("disadvantaged", "disadvantaged group", "disadvantaged_group", "group1", "group_1"),
    SECOND: ("advantaged", "advantaged group", "advantaged_group", "group2", "group_2"),
    DIRECTION: ("stereo_antistereo",),
    BIAS_TYPE: ("bias_type", "bias type", "bias"),
}
"""By what they mean; case does not count."""


def read(path: Path) -> Source:
    """The triples of the table.

    Raises:
        ProblemsFound: the file cannot be read, or lacks a column.
    """
    whole = TRIPLE in columns_of(path, COLUMNS)
    table = read_table(path, COLUMNS, (TRIPLE,) if whole else (TOPIC, FIRST, SECOND))
    return Source(table.read, table.unread, _proposals(table))


def _proposals(table: Table) -> Iterator[Proposal]:
    problems = Problems(table.file.shown)
    for row_number, row in enumerate(table.rows(problems)):
        parts = _parts(table, row, problems)
        if problems.found or not any(parts):
            continue
        topic, first, second = parts
        bias_type = table.cell(row, BIAS_TYPE)
        name = as_name(bias_type) if bias_type else ""
        number = table.cell(row, NUMBER) or str(row_number)
        turned = table.cell(row, DIRECTION).casefold() in ANTISTEREO
        # by the row: a file joined of several may repeat its numbers
        proposed = Proposal(
            f"caffe-{row_number:04}", name, topic, first, second, proposal.FROM_SOURCE, (),
            f"{NAME}:{number}", question=topic,
        )  # fmt: skip
        doubtful = turned or direction_doubtful(first, second)
        yield proposed.with_flags(
            proposal.DIRECTION_DOUBTFUL if doubtful else "",
            proposal.ONE_GROUP if not (first and second) else "",
            "" if name and name == bias_type else proposal.BIAS_TYPE,
            formula(topic, first, second, bias_type),
        )
    problems.raise_if_any()


def _parts(table: Table, row: Row, problems: Problems) -> tuple[str, str, str]:
    """Topic and groups; all empty where the row has no triple."""
    if TRIPLE not in table.column_of:
        return table.cell(row, TOPIC), table.cell(row, FIRST), table.cell(row, SECOND)
    written = table.cell(row, TRIPLE)
    parts = [part.strip() for part in written.strip("<> ").rsplit(",", 2)]
    if len(parts) == 3:
        return parts[0], parts[1], parts[2]
    if written:
        column = table.column_of[TRIPLE]
        cause = f"{quoted(written)} is no triple"
        problems.add(row.line, column, cause, "write it as <topic, group 1, group 2>")
    return "", "", ""
