"""Which known terms stand in texts, and how often; what `lsa` and `lda` read of an answer."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_FEW = 8
"""Texts up to which a counter a text is faster than sorting the words of all."""

_words = re.compile(r"\w\w+").findall
r"""The words of `(?u)\b\w\w+\b`, scikit-learn's `token_pattern`: a run of word characters can only
match as a whole, so the boundaries need no look at."""


@dataclass(frozen=True, slots=True, eq=False)
class BagsOfWords:
    """The terms of n texts as the rows of a sparse matrix (CSR)."""

    columns: NDArray[np.intp]
    """(m,): of each text in turn, its known terms in ascending order."""
    counts: NDArray[np.float64]
    """(m,), each at least 1: how often the term stands in the text."""
    starts: NDArray[np.intp]
    """(n + 1,): text i has the terms `starts[i]` up to, without, `starts[i + 1]`."""

    @property
    def lengths(self) -> NDArray[np.intp]:
        """(n,): different known terms of each text, 0 where the text has none."""
        lengths: NDArray[np.intp] = self.starts[1:] - self.starts[:-1]
        return lengths


def has_words(texts: Sequence[str]) -> bool:
    """Whether a text has a word: two or more letters, digits or underscores."""
    return any(_words(text.lower()) for text in texts)


def count_terms(texts: Sequence[str], terms: Mapping[str, int]) -> BagsOfWords:
    """What `CountVectorizer(vocabulary=terms)` of scikit-learn counts in `texts`.

    `terms` maps lower-case words to columns 0..V-1. The order of the words in a text leaves no
    trace.
    """
    return _count_few(texts, terms) if len(texts) <= _FEW else _count_many(texts, terms)


def slices(texts: int, at_once: int) -> Iterator[slice]:
    """0..texts-1 in consecutive parts of at most `at_once`, to bound the memory of a step."""
    for start in range(0, texts, at_once):
        yield slice(start, min(start + at_once, texts))


def _count_few(texts: Sequence[str], terms: Mapping[str, int]) -> BagsOfWords:
    import numpy as np

    columns: list[int] = []
    counts: list[int] = []
    starts = [0]
    for text in texts:
        counted = Counter(map(terms.get, _words(text.lower())))
        counted.pop(None, None)
        known = sorted(column for column in counted if column is not None)
        columns += known
        counts += map(counted.__getitem__, known)
        starts.append(len(columns))
    return BagsOfWords(
        np.array(columns, dtype=np.intp),
        np.array(counts, dtype=np.float64),
        np.array(starts, dtype=np.intp),
    )


def _count_many(texts: Sequence[str], terms: Mapping[str, int]) -> BagsOfWords:
    import numpy as np

    unknown = -1
    found: list[int] = []
    ends = np.empty(len(texts), dtype=np.intp)
    for number, text in enumerate(texts):
        found.extend(map(terms.get, _words(text.lower()), repeat(unknown)))
        ends[number] = len(found)
    columns = np.array(found, dtype=np.int64)
    width = len(terms)
    # One sort of (text, column) for all texts; equal neighbours are one term, counted.
    keys = np.repeat(np.arange(len(texts)) * width, np.diff(ends, prepend=0)) + columns
    keys, counts = np.unique(keys[columns != unknown], return_counts=True)
    rows, columns = np.divmod(keys, width)
    return BagsOfWords(
        columns.astype(np.intp),
        counts.astype(np.float64),
        np.searchsorted(rows, np.arange(len(texts) + 1)).astype(np.intp),
    )
