"""Plain lists of groups and topics: a triple for every two groups and every topic."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from caffe_pytest.errors import Problem, ProblemsFound
from caffe_pytest.knowledge.groups import SEPARATOR
from caffe_pytest.knowledge.importers import proposal
from caffe_pytest.knowledge.importers.proposal import Proposal, formula
from caffe_pytest.knowledge.importers.source import Source, read_table, refuse_too_many
from caffe_pytest.model.triple import Name, Text, as_name
from caffe_pytest.specs.rows import Problems
from caffe_pytest.specs.validation import validate
from caffe_pytest.specs.yaml_document import read_documents

NAME = "groups-topics"
COLUMNS = {
    "bias_type": ("bias_type",), "groups": ("groups",), "topics": ("topics", "topic"),
}  # fmt: skip
"""Of a CSV file; groups and topics are set apart by "|"."""
YAML_SUFFIXES = (".yaml", ".yml", ".json")


class GroupsAndTopics(BaseModel):
    """Groups of one kind, from the most disadvantaged one down, and what to ask about them."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    bias_type: Name
    groups: Annotated[tuple[Text, ...], Field(min_length=1)]
    topics: Annotated[tuple[Text, ...], Field(min_length=1)]


def read(path: Path) -> Source:
    """The triples that the lists of a YAML or CSV file combine to.

    Raises:
        ProblemsFound: the file cannot be read, or a list is missing or too short.
    """
    shown = path.as_posix()
    sets = _of_yaml(path, shown) if path.suffix.lower() in YAML_SUFFIXES else _of_csv(path)
    refuse_too_many(shown, sum(combined(len(one.groups), len(one.topics)) for one in sets))
    return Source(tuple(GroupsAndTopics.model_fields), (), _proposals(sets))


def combined(groups: int, topics: int) -> int:
    """How many triples so many groups and topics make."""
    return groups * (groups - 1) // 2 * topics


def contrasts(groups: Iterable[str], topics: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Topic and two groups, the earlier of which comes first."""
    for first, second in combinations(groups, 2):
        for topic in topics:
            yield topic, first, second


def _proposals(sets: Sequence[GroupsAndTopics]) -> Iterator[Proposal]:
    number = 0
    for one in sets:
        for topic, first, second in contrasts(one.groups, one.topics):
            number += 1
            yield Proposal(
                as_name(f"{one.bias_type}-{number:04}"), one.bias_type, topic, first, second,
                proposal.FROM_LIST, (), NAME,
            ).with_flags(formula(topic, first, second))  # fmt: skip


def _of_yaml(path: Path, shown: str) -> list[GroupsAndTopics]:
    documents, problems = read_documents(path, shown)
    sets: list[GroupsAndTopics] = []
    for document in documents:
        one, found = validate(document, GroupsAndTopics)
        problems += found
        if one is not None:
            problems += [
                document.source.problem((key, at), f'"{name}" stands there already', "remove it")
                for key, names in (("groups", one.groups), ("topics", one.topics))
                for at, name in _repeated(names)
            ]
            if len(one.groups) < 2:
                cause, remedy = "has one group", "name another to compare it with"
                problems.append(document.source.problem(("groups",), cause, remedy))
            sets.append(one)
    if not problems and not sets:
        cause, remedy = "holds no lists", "write bias_type, groups and topics"
        problems = [Problem(shown, 0, "", cause, remedy)]
    if problems:
        raise ProblemsFound(problems)
    return sets


def _of_csv(path: Path) -> list[GroupsAndTopics]:
    table = read_table(path, COLUMNS, tuple(COLUMNS))
    problems = Problems(table.file.shown)
    sets: list[GroupsAndTopics] = []
    for row in table.rows(problems):
        found = problems.found
        bias_type = table.cell(row, "bias_type")
        if not bias_type or bias_type != as_name(bias_type):
            remedy = "use letters, digits and _ . + -, beginning with a letter or digit"
            problems.add(row.line, "bias_type", "is no name", remedy)
        lists = {key: _listed(table.cell(row, key)) for key in ("groups", "topics")}
        for key, least in (("groups", 2), ("topics", 1)):
            if len(lists[key]) < least:
                cause = f"has {len(lists[key])} of at least {least}"
                problems.add(row.line, key, cause, f'set them apart by "{SEPARATOR}"')
            for _, name in _repeated(lists[key]):
                problems.add(row.line, key, f'"{name}" stands there already', "remove it")
        if problems.found == found:
            sets.append(GroupsAndTopics(bias_type=bias_type, **lists))
    problems.raise_if_any()
    return sets


def _listed(cell: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in cell.split(SEPARATOR) if part.strip())


def _repeated(names: Sequence[str]) -> Iterator[tuple[int, str]]:
    known: set[str] = set()
    for at, name in enumerate(names):
        if name.casefold() in known:
            yield at, name
        known.add(name.casefold())
