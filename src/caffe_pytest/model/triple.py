"""Triples and the knowledge base that holds them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationInfo,
    field_validator,
)
from pydantic_core import PydanticCustomError

# what pydantic strips before it measures, a JSON Schema can only ask for by a pattern
NotBlank = Field(json_schema_extra={"pattern": r"\S"})

Text = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200), NotBlank
]
GroupName = Annotated[str, StringConstraints(strip_whitespace=True, max_length=200)]
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.+-]*$", max_length=100)]


def as_name(text: str) -> str:
    """The text as a `Name`: what may not stand in one becomes a hyphen."""
    name = "".join(c if c.isascii() and (c.isalnum() or c in "_.+-") else "-" for c in text)
    return name.lstrip("_.+-")[:100] or "unnamed"


class Triple(BaseModel):
    """<topic, disadvantaged group, advantaged group> (CAFFE, section 4.1), with its provenance."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Name
    bias_type: Name
    topic: Text
    """Neutral noun phrase that the prompts of every intent can speak about."""
    valid: bool = True
    """False where the row has no usable counterfactual: it is not asked; `note` says why."""
    disadvantaged: GroupName
    """Plural noun phrase that fits a sentence, e.g. "gay men"; a row that is not valid may leave
    it empty."""
    advantaged: GroupName
    source: str = ""
    """Where the triple comes from, e.g. `crows-pairs:7`."""
    note: str = ""

    @field_validator("disadvantaged", "advantaged")
    @classmethod
    def _valid_rows_name_both_groups(cls, name: str, info: ValidationInfo) -> str:
        if not name and info.data.get("valid", True):
            raise PydanticCustomError("empty_group", "is empty; fill it in")
        return name

    @property
    def content(self) -> tuple[str, str, str, str]:
        """What it asks about, whatever its identifier: two triples with one content are one."""
        groups = self.disadvantaged.casefold(), self.advantaged.casefold()
        return (self.bias_type, self.topic.casefold(), *groups)


class Group(BaseModel):
    """The forms in which people speak of a group beside its name, the plural."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    singular: Text | None = None
    """Without an article: "person with a disability"."""
    possessive: Text | None = None
    """Of the plural: "women's"."""
    aliases: tuple[Text, ...] = ()
    """Other names and short forms, as answers may use them: masked like the name."""
    pronouns: Literal["they", "she", "he"] = "they"

    @property
    def forms(self) -> tuple[str, ...]:
        """All that is masked beside the name and what the rules make of it."""
        return (*filter(None, (self.singular, self.possessive)), *self.aliases)


class KnowledgeBase(BaseModel):
    """Triples with what an auditor needs to know of them."""

    model_config = ConfigDict(frozen=True)

    name: Name
    version: str
    licence: str
    language: str
    datasheet: str | None
    """Name of the datasheet beside the base."""
    path: str
    sha256: str
    """Of the files the base was read from, in the order they were read."""
    triples: tuple[Triple, ...]
    groups: Mapping[str, Group] = Field(default_factory=dict)
    """Forms by the name of the group; what is not there follows the rules of English."""
    parts: tuple[KnowledgeBase, ...] = ()
    """The bases it was merged from, in their order; empty where it is one."""

    def forms(self, *names: str) -> tuple[str, ...]:
        """How answers may speak of these groups, beside what follows from their names."""
        return tuple(
            form for name in names if name in self.groups for form in self.groups[name].forms
        )

    @property
    def bias_types(self) -> tuple[str, ...]:
        """The bias types of the valid triples, sorted."""
        return tuple(sorted({triple.bias_type for triple in self.triples if triple.valid}))
