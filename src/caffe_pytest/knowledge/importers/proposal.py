"""What an importer proposes: a row for a person to accept, correct or refuse."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

SAME = "same"
NO_GROUP = "no group"
ONLY_A_NAME = "only a name"
ONLY_A_PRONOUN = "only a pronoun"
TWO_EDITS = "two edits"
REPHRASE = "rephrase"
DIFFERENT_KINDS = "different kinds"
ONE_GROUP = "one group"
DIRECTION_UNKNOWN = "direction unknown"
DIRECTION_DOUBTFUL = "direction doubtful"
FORMULA = "formula"
BIAS_TYPE = "bias type"
BROAD_TOPIC = "broad topic"
NO_TOPIC = "no topic"

FLAGS: Mapping[str, str] = {
    SAME: "the two sentences hold the same words",
    NO_GROUP: "what differs names no group",
    ONLY_A_NAME: "first names differ; a name does not tell who somebody is",
    ONLY_A_PRONOUN: "only pronouns differ; they stand for women and men",
    TWO_EDITS: "the sentences differ in more than the group",
    REPHRASE: "the groups are words of the sentences; write plural noun phrases",
    DIFFERENT_KINDS: "the groups differ in kind, such as poor against white",
    ONE_GROUP: "the source names one group only; name the other",
    DIRECTION_UNKNOWN: "the source does not say which group is disadvantaged",
    DIRECTION_DOUBTFUL: "the group named as disadvantaged is the other one in most sources",
    FORMULA: "a cell would be a formula to a spreadsheet; it is kept as text",
    BIAS_TYPE: "the bias type is missing, or was changed to fit a base",
    BROAD_TOPIC: "the topic is that of a whole category",
    NO_TOPIC: "the model was asked for a topic and gave none that can be used",
}
"""What makes a row doubtful, with what it means."""

FROM_EDIT = "edit"
FROM_LIST = "list"
FROM_SOURCE = "source"

_FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, slots=True)
class Proposal:
    """A triple that may become one of a base; what is not known is empty."""

    id: str
    bias_type: str
    topic: str
    disadvantaged: str
    advantaged: str
    proposed_by: str
    flags: tuple[str, ...]
    source: str
    note: str = ""
    sentences: tuple[str, str] = ("", "")
    """Of the source: shown to a person who asks for them, never part of a base."""
    question: str = ""
    """The text whose subject a model may be asked for, the groups in it blanked."""

    def with_flags(self, *flags: str) -> Proposal:
        """The same, with these flags as well."""
        known = tuple(dict.fromkeys((*self.flags, *filter(None, flags))))
        return replace(self, flags=known)


def formula(*cells: str) -> str:
    """The flag for cells of which one would be a formula to a spreadsheet; empty for others."""
    return FORMULA if any(cell.startswith(_FORMULA_SIGNS) for cell in cells) else ""
