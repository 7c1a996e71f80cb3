"""A row of a knowledge base that is linted."""

from __future__ import annotations

from dataclasses import dataclass

from caffe_pytest.knowledge.finding import Fault, Finding
from caffe_pytest.knowledge.groups import is_of_a_set
from caffe_pytest.knowledge.load import Place, ReadBase
from caffe_pytest.model.triple import Triple


@dataclass(frozen=True, slots=True)
class Row:
    """A triple and where it stands."""

    place: Place
    triple: Triple

    @property
    def of_set(self) -> bool:
        """Whether it was made of a set of groups, the middle ones of which stand on either side."""
        return is_of_a_set(self.triple.id)

    def finding(self, path: str, fault: Fault) -> Finding:
        """A finding about a column of the row."""
        return Finding(*self.place, path, fault.kind, fault.cause, fault.remedy)


def rows_of(read: ReadBase) -> list[Row]:
    """The rows of a base, in its order."""
    return [
        Row(place, triple) for place, triple in zip(read.places, read.base.triples, strict=True)
    ]
