"""Triples and the knowledge base that holds them."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

# what pydantic strips before it measures, a JSON Schema can only ask for by a pattern
NotBlank = Field(json_schema_extra={"pattern": r"\S"})

Text = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200), NotBlank
]
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
    disadvantaged: Text
    """Plural noun phrase that fits a sentence, e.g. "gay men"."""
    advantaged: Text
    source: str = ""
    """Where the triple comes from, e.g. `crows-pairs:7`."""
    valid: bool = True
    """False where the row has no usable counterfactual: it is not asked; `note` says why."""
    note: str = ""


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

    @property
    def bias_types(self) -> tuple[str, ...]:
        """The bias types of the valid triples, sorted."""
        return tuple(sorted({triple.bias_type for triple in self.triples if triple.valid}))
