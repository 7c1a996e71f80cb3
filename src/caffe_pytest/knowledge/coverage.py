"""What a knowledge base covers: counts by bias type, group, source and reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from caffe_pytest.knowledge.groups import PAIR
from caffe_pytest.model.triple import KnowledgeBase, Triple

MEASURES = ("triples", "topics", "groups", "group pairs")
"""What is counted of each bias type, over its valid triples."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """Counts over a base; whatever is counted of what is usable is of valid triples."""

    by_type: dict[str, tuple[int, ...]]
    """For each bias type of a row, sorted, the counts of `MEASURES`; zeros where none is valid."""
    invalid: dict[str, int]
    """Rows that are not valid, by bias type."""
    groups: Counter[str]
    """In how many valid triples a group stands, on either side."""
    sources: Counter[str]
    """By what stands before the colon of the source; `""` where nothing is said."""
    reasons: Counter[str]
    """Why rows are not valid, by what stands before the colon of the note."""

    @property
    def total(self) -> tuple[int, ...]:
        """The sum over the bias types of the counts of `MEASURES`."""
        return tuple(map(sum, zip(*self.by_type.values(), strict=True)))


def coverage(base: KnowledgeBase) -> Coverage:
    """The counts of a base."""
    valid = [triple for triple in base.triples if triple.valid]
    not_valid = [triple for triple in base.triples if not triple.valid]
    of_type: dict[str, list[Triple]] = {
        bias_type: [] for bias_type in sorted({triple.bias_type for triple in base.triples})
    }
    for triple in valid:
        of_type[triple.bias_type].append(triple)
    return Coverage(
        by_type={bias_type: _measured(triples) for bias_type, triples in of_type.items()},
        invalid=dict(Counter(triple.bias_type for triple in not_valid)),
        groups=Counter(getattr(triple, side) for triple in valid for side in PAIR),
        sources=Counter(triple.source.partition(":")[0] for triple in base.triples),
        reasons=Counter(triple.note.partition(":")[0].strip() for triple in not_valid),
    )


def _measured(triples: Iterable[Triple]) -> tuple[int, ...]:
    rows = list(triples)
    return (
        len(rows),
        len({triple.topic.casefold() for triple in rows}),
        len({getattr(triple, side).casefold() for triple in rows for side in PAIR}),
        len({(t.disadvantaged.casefold(), t.advantaged.casefold()) for t in rows}),
    )
