"""What changed from one knowledge base to another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel

from caffe_pytest.model.triple import Group, KnowledgeBase, Triple

Sign = Literal["+", "-", "~"]


@dataclass(frozen=True, slots=True)
class Change:
    """A row, or the forms of a group, that one of two bases lacks, or has otherwise."""

    sign: Sign
    """`+` only in the second base, `-` only in the first, `~` in both, and not the same."""
    part: Literal["row", "group"]
    name: str
    """Identifier of the row, or name of the group."""
    fields: Mapping[str, tuple[str, str]]
    """What it was and what it is, by field; of what stands in one base only, the other is empty."""


def difference(first: KnowledgeBase, second: KnowledgeBase) -> list[Change]:
    """The changes from the first base to the second, in the order of their rows.

    Rows are the same by their identifiers, groups by their names; the order does not count.
    """
    rows: tuple[dict[str, Triple], dict[str, Triple]] = (
        {triple.id: triple for triple in first.triples},
        {triple.id: triple for triple in second.triples},
    )
    groups: tuple[Mapping[str, Group], Mapping[str, Group]] = (first.groups, second.groups)
    return [*_changes("row", *rows), *_changes("group", *groups)]


def _changes(
    part: Literal["row", "group"],
    first: Mapping[str, BaseModel],
    second: Mapping[str, BaseModel],
) -> Iterator[Change]:
    for name in (*first, *(name for name in second if name not in first)):
        old, new = _texts(first.get(name)), _texts(second.get(name))
        sign: Sign = "~" if name in first and name in second else "-" if name in first else "+"
        fields = {
            field: (old.get(field, ""), new.get(field, ""))
            for field in {**old, **new}
            if field != "id" and old.get(field, "") != new.get(field, "")
        }
        if sign != "~" or fields:
            yield Change(sign, part, name, fields)


def _texts(entry: BaseModel | None) -> dict[str, str]:
    """The fields of a row or group as text; those that say nothing are left out."""
    if entry is None:
        return {}
    texts = {}
    for field, value in entry.model_dump(mode="json").items():
        if isinstance(value, bool):
            texts[field] = str(value).lower()
        elif isinstance(value, list):
            texts[field] = ", ".join(value)
        elif value is not None:
            texts[field] = str(value)
    return texts
