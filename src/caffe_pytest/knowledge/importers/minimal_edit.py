"""Where two sentences differ: the words that stand in one and not in the other.

The words that both sentences hold exactly once are aligned first, then those between them (patience
diff: Bram Cohen, 2010). A fixed number of rounds, each of which sorts what is left, bounds the time
by O(n log n) whatever the sentences are.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

MOST_ROUNDS = 8
"""After which what lies between aligned words is one edit; sentences need two or three."""

_TOKEN = re.compile(r"\s*(?:\w+(?:['\u2019-]\w+)*|[^\w\s])|\s+\Z")
_APOSTROPHES = str.maketrans("\u2018\u2019", "''")

Span = tuple[int, int]
"""Positions from the first to behind the last."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of two sentences: the same words in both, or what stands in their place."""

    first: tuple[str, ...]
    """Words and punctuation marks, each with the white space before it."""
    second: tuple[str, ...]
    same: bool
    """Whether both hold the same words; case and white space do not count."""

    @property
    def words(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The words of either side as they stand, without punctuation."""
        return _words(self.first), _words(self.second)


def minimal_edit(first: str, second: str) -> tuple[Piece, ...]:
    """The pieces of two sentences, in order; joined, each side gives its sentence back."""
    tokens = tuple(_TOKEN.findall(first)), tuple(_TOKEN.findall(second))
    keys = tuple([_key(token) for token in side] for side in tokens)
    whole = (0, len(keys[0])), (0, len(keys[1]))
    return tuple(
        Piece(tokens[0][slice(*one)], tokens[1][slice(*other)], same)
        for one, other, same in _joined(_aligned(keys[0], keys[1], *whole))
    )


def changes(pieces: Sequence[Piece]) -> list[int]:
    """Positions of the pieces in which words differ, not punctuation alone."""
    return [at for at, piece in enumerate(pieces) if not piece.same and any(piece.words)]


def _key(token: str) -> str:
    return token.strip().translate(_APOSTROPHES).casefold()


def _words(tokens: Sequence[str]) -> tuple[str, ...]:
    stripped = (token.strip() for token in tokens)
    return tuple(word for word in stripped if word and (word[0].isalnum() or word[0] == "_"))


def _joined(spans: Iterator[tuple[Span, Span, bool]]) -> Iterator[tuple[Span, Span, bool]]:
    """Neighbours of one kind as one; what is empty on both sides left out."""
    open_one: tuple[Span, Span, bool] | None = None
    for one, other, same in spans:
        if one[0] == one[1] and other[0] == other[1]:
            continue
        if open_one is not None and open_one[2] == same:
            open_one = (open_one[0][0], one[1]), (open_one[1][0], other[1]), same
            continue
        if open_one is not None:
            yield open_one
        open_one = one, other, same
    if open_one is not None:
        yield open_one


def _aligned(
    first: Sequence[str], second: Sequence[str], one: Span, other: Span, rounds: int = MOST_ROUNDS
) -> Iterator[tuple[Span, Span, bool]]:
    (start, end), (begin, stop) = one, other
    while start < end and begin < stop and first[start] == second[begin]:
        start, begin = start + 1, begin + 1
    while start < end and begin < stop and first[end - 1] == second[stop - 1]:
        end, stop = end - 1, stop - 1
    yield (one[0], start), (other[0], begin), True
    at, beside = start, begin
    for here, there in _anchors(first, second, (start, end), (begin, stop)) if rounds else ():
        yield from _aligned(first, second, (at, here), (beside, there), rounds - 1)
        yield (here, here + 1), (there, there + 1), True
        at, beside = here + 1, there + 1
    if (at, beside) == (start, begin):
        yield (start, end), (begin, stop), False
    else:
        yield from _aligned(first, second, (at, end), (beside, stop), rounds - 1)
    yield (end, one[1]), (stop, other[1]), True


def _anchors(
    first: Sequence[str], second: Sequence[str], one: Span, other: Span
) -> list[tuple[int, int]]:
    """Places of the words that stand once on either side, as many as keep their order."""
    counts = Counter(first[slice(*one)]), Counter(second[slice(*other)])
    places = {second[at]: at for at in range(*other)}
    both = [
        (at, places[word])
        for at in range(*one)
        if counts[0][word := first[at]] == 1 and counts[1][word] == 1
    ]
    # the longest run of rising places, by patience sorting
    ends: list[int] = []
    piles: list[int] = []
    before: list[int | None] = []
    for number, (_, place) in enumerate(both):
        pile = bisect_left(ends, place)
        before.append(piles[pile - 1] if pile else None)
        if pile == len(ends):
            ends.append(place)
            piles.append(number)
        else:
            ends[pile], piles[pile] = place, number
    rising: list[tuple[int, int]] = []
    last: int | None = piles[-1] if piles else None
    while last is not None:
        rising.append(both[last])
        last = before[last]
    return rising[::-1]
