"""Cosines of pairs of texts in a space that embeds them; what `lsa` and `lda` score with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from caffe_pytest.metrics.bag_of_words import slices

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_VANISHED = 1e-18
"""Squared length, of at most 1, below which an embedding is rounding noise."""
_PAIRS_AT_ONCE = 512
"""2 x 512 x 300 numbers are 2.5 MB, which stay in a core's cache."""


def cosines(
    first: Sequence[str],
    second: Sequence[str],
    embed: Callable[[Sequence[str]], NDArray[np.float64]],
) -> NDArray[np.float64]:
    """Cosine of the embeddings of `first[i]` and `second[i]`: (n,), each in -1..1.

    `embed` gives (texts, k), each row of a length of at most 1, zero for a text that it knows
    nothing of: NaN for its pairs. Two identical texts that are known give exactly 1; the order of
    the two texts does not matter.

    Raises ValueError where `first` and `second` are not of one length.
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} texts cannot be paired with {len(second)}")
    import numpy as np

    # A run repeats many texts (refusals, counterfactuals of one prompt): embed each once.
    place: dict[str, int] = {}
    left = np.array([place.setdefault(text, len(place)) for text in first], dtype=np.intp)
    right = np.array([place.setdefault(text, len(place)) for text in second], dtype=np.intp)
    rows = embed(tuple(place))
    squares = dot(rows, rows)

    products = np.empty(len(first))
    for part in slices(len(first), _PAIRS_AT_ONCE):
        products[part] = dot(rows[left[part]], rows[right[part]])
    # One root of the product, not a product of roots: where both squares and the product are
    # the same number, its root is exact and the cosine is 1, not a neighbour of it.
    comparable = (squares[left] > _VANISHED) & (squares[right] > _VANISHED)
    lengths = np.sqrt(squares[left] * squares[right])
    cosines = np.full(len(first), np.nan)
    np.divide(products, lengths, out=cosines, where=comparable)
    cosines[(left == right) & (squares[left] > 0)] = 1.0
    np.clip(cosines, -1.0, 1.0, out=cosines)
    return cosines


def dot(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Products summed over the last axis, in an order that does not depend on the other axes."""
    product: NDArray[np.float64] = (first * second).sum(axis=-1)
    return product
