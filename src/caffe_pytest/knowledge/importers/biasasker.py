"""BiasAsker (Wan, Wang, He, Gu, Bai and Lyu, ESEC/FSE 2023): social groups and biased properties.

https://github.com/yxwan123/BiasAsker. A property is a verdict ("are bad at math") and never becomes
a topic; the neutral subject of its category does. Groups have no order there: which of two is
disadvantaged is for a person to say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from caffe_pytest.errors import Problem, ProblemsFound
from caffe_pytest.knowledge.importers import proposal
from caffe_pytest.knowledge.importers.groups_topics import combined, contrasts
from caffe_pytest.knowledge.importers.proposal import Proposal, formula
from caffe_pytest.knowledge.importers.source import (
    Source,
    read_json,
    read_table,
    refuse_too_many,
)
from caffe_pytest.model.triple import as_name
from caffe_pytest.specs.rows import Problems
from caffe_pytest.specs.validation import quoted

NAME = "biasasker"
TOPICS: Mapping[str, str] = {
    "appearance": "appearance",
    "financial status": "managing money",
    "social status": "social standing",
    "crime": "obeying the law",
    "mistreatment": "being treated with respect",
    "personality": "personality",
    "ability": "skills and abilities",
    "morality": "moral values",
    "belief": "beliefs",
    "health": "health",
    "family & relationship": "family and relationships",
    "culture": "cultural traditions",
}
"""The neutral subject of each category of properties, in the order of their numbers from 1."""

GROUP_FILES = ("groups.csv", "groups_for_auto.csv", "groups_for_manual.csv")
PROPERTY_FILES = (
    "bias_annotation.csv", "sample_bias_data_for_auto.csv", "sample_bias_data_for_manual.csv",
)  # fmt: skip
GROUP_COLUMNS = {"group": ("group",), "attribute": ("category", "attribute")}
PROPERTY_COLUMNS = {"category": ("labels", "cat", "category")}
GROUP_KEYS, PROPERTY_KEYS = ("groups",), ("properties", "biases")


def read(path: Path) -> Source:
    """Every two groups of an attribute, on every category of properties.

    `path` is a folder with the published CSV files, the one with the groups (for all twelve
    categories), or JSON: `{"groups": {attribute: [...]}, "properties": {category: [...]}}`.

    Raises:
        ProblemsFound: it cannot be read, or the combinations are too many.
    """
    if path.is_dir():
        groups, columns = _groups(_one_of(path, GROUP_FILES))
        categories = _categories(_one_of(path, PROPERTY_FILES))
    elif path.suffix.lower() == ".json":
        groups, categories = _of_json(path)
        columns = (*GROUP_KEYS, PROPERTY_KEYS[0])
    else:
        groups, columns = _groups(path)
        categories = list(TOPICS)
    topics = [TOPICS.get(category, category) for category in categories]
    number = sum(combined(len(names), len(topics)) for names in groups.values())
    refuse_too_many(path.as_posix(), number)
    return Source(columns, (), _proposals(groups, topics))


def _one_of(folder: Path, names: Sequence[str]) -> Path:
    for name in names:
        if (folder / name).is_file():
            return folder / name
    cause = f"holds none of {', '.join(names)}"
    raise ProblemsFound([Problem(folder.as_posix(), 0, "", cause, "name the folder with the data")])


def _groups(path: Path) -> tuple[dict[str, list[str]], tuple[str, ...]]:
    table = read_table(path, GROUP_COLUMNS, tuple(GROUP_COLUMNS))
    problems = Problems(table.file.shown)
    groups: dict[str, dict[str, str]] = {}
    for row in table.rows(problems):
        attribute, group = table.cell(row, "attribute"), table.cell(row, "group")
        if not (attribute and group):
            problems.add(row.line, "", "lacks a group or its category", "fill it in")
        groups.setdefault(attribute, {}).setdefault(group.casefold(), group)
    problems.raise_if_any()
    return {attribute: list(names.values()) for attribute, names in groups.items()}, table.read


def _categories(path: Path) -> list[str]:
    """The categories that properties have, in the order in which they appear."""
    table = read_table(path, PROPERTY_COLUMNS, tuple(PROPERTY_COLUMNS))
    problems = Problems(table.file.shown)
    found: dict[str, None] = {}
    for row in table.rows(problems):
        for label in table.cell(row, "category").strip("[]").split(","):
            category = _category(label.strip())
            if category is None:
                cause = f"{quoted(label.strip())} is no category"
                known = ", ".join(TOPICS)
                problems.add(row.line, "", cause, f"use a number from 1 to 12, or one of: {known}")
            else:
                found[category] = None
    problems.raise_if_any()
    return list(found)


def _category(label: str) -> str | None:
    if label.isascii() and label.isdigit():
        number = int(label[:3])
        return list(TOPICS)[number - 1] if 1 <= number <= len(TOPICS) else None
    return label.casefold() if label.casefold() in TOPICS else None


def _of_json(path: Path) -> tuple[dict[str, list[str]], list[str]]:
    """Groups by attribute, and categories."""
    file = read_json(path)
    data: Any = file.data if isinstance(file.data, dict) else {}
    problems: list[Problem] = []
    groups = data.get(GROUP_KEYS[0])
    if not isinstance(groups, dict) or not groups:
        remedy = 'write {"groups": {"age": ["young people", "old people"]}, "properties": {...}}'
        raise ProblemsFound([file.problem(GROUP_KEYS, "should hold groups by attribute", remedy)])
    for attribute, names in groups.items():
        if not isinstance(names, list) or not all(isinstance(n, str) and n.strip() for n in names):
            place = (GROUP_KEYS[0], attribute)
            problems.append(file.problem(place, "should be a list of names", "write [a, b]"))
    key = next((key for key in PROPERTY_KEYS if key in data), "")
    given = data.get(key, dict.fromkeys(TOPICS))
    if not isinstance(given, dict | list) or not all(isinstance(c, str) and c for c in given):
        problems.append(file.problem((key,), "should hold categories", 'write {"health": [...]}'))
    if problems:
        raise ProblemsFound(problems)
    once = {
        attribute: list({name.strip().casefold(): name.strip() for name in names}.values())
        for attribute, names in groups.items()
    }
    return once, [category.strip().casefold() for category in given]


def _proposals(groups: Mapping[str, Sequence[str]], topics: Sequence[str]) -> Iterator[Proposal]:
    number = 0
    for attribute, names in groups.items():
        bias_type = as_name(attribute)
        for topic, first, second in contrasts(names, topics):
            number += 1
            proposed = Proposal(
                f"ba-{number:06}", bias_type, topic, first, second, proposal.FROM_LIST,
                (proposal.DIRECTION_UNKNOWN, proposal.BROAD_TOPIC), f"{NAME}:{attribute}",
            )  # fmt: skip
            yield proposed.with_flags(
                "" if bias_type == attribute else proposal.BIAS_TYPE, formula(first, second, topic)
            )
