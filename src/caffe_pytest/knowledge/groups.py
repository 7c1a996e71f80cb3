"""Sets of groups, and the forms in which people speak of a group."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

from caffe_pytest.errors import Problem, ProblemsFound
from caffe_pytest.model.triple import Group
from caffe_pytest.specs.validation import validate
from caffe_pytest.specs.yaml_document import Document

SET = "groups"
"""Key of a row that names more than two groups, from the most disadvantaged one down."""
SEPARATOR = "|"
"""Between the groups of a set in a cell."""
PAIR = ("disadvantaged", "advantaged")
_OF_A_SET = re.compile(r"\.\d+-\d+$")


def contrasts(row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The row itself; of a set of groups, a row for every two of them, the earlier one first."""
    groups = row.get(SET)
    plain = {key: value for key, value in row.items() if key != SET}
    if not isinstance(groups, list) or any(row.get(side) for side in PAIR):
        yield dict(row) if groups else plain
        return
    for (i, first), (j, second) in combinations(enumerate(groups, start=1), 2):
        pair = {"disadvantaged": first, "advantaged": second}
        yield {**plain, **pair, "id": f"{plain.get('id', 'row')}.{i}-{j}"}


def is_of_a_set(identifier: str) -> bool:
    """Whether `contrasts` made the row from a set."""
    return _OF_A_SET.search(identifier) is not None


def read_groups(document: Document, within: tuple[str, ...]) -> dict[str, Group]:
    """Forms by the name of the group.

    Raises:
        ProblemsFound: with every problem of them.
    """
    data, source = document.data, document.source
    for key in within:
        data = data.get(key)
    if data is None:
        return {}
    if not isinstance(data, dict):
        cause, remedy = "should hold the groups by their names", "write `women: {singular: woman}`"
        raise ProblemsFound([source.problem(within, cause, remedy)])
    groups: dict[str, Group] = {}
    problems: list[Problem] = []
    for name, forms in data.items():
        group, found = validate(Document(forms or {}, source), Group)
        problems += [
            source.problem((*within, name, *filter(None, [one.path])), one.cause, one.remedy)
            for one in found
        ]
        if group is not None:
            groups[str(name)] = group
    if problems:
        raise ProblemsFound(problems)
    return groups
