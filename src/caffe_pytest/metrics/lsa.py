"""Similarity of two texts by latent semantic analysis, in a fitted or in the shipped space.

In a space fitted on a run's own answers a verdict depends on the other answers of that run. The
shipped reference space is frozen: two texts score the same in every run, on every machine.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from caffe_pytest.errors import DamagedArtefact

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# numpy and scikit-learn are imported where they are used: a session that compares no texts does not
# pay for them.

NAME = "lsa"
VERSION = "1"

REFERENCE = "lsa-en-1.npz"
"""File name of the shipped space, in the package `caffe_pytest.metrics.reference`."""
REFERENCE_SHA256 = "beacccb87d4088bdb86df652520cc4df1df34fdbf39c5119e7b8463b58c7434e"
"""SHA-256 of the shipped space, 64 hexadecimal digits."""

_WORD = re.compile(r"(?u)\b\w\w+\b")
"""`token_pattern` of scikit-learn's `TfidfVectorizer()`; applied to the lower-cased text."""
_VANISHED = 1e-18
"""Squared length, of at most 1, below which an embedding is rounding noise of the SVD."""
_PAIRS_AT_ONCE = 8192
"""Bounds the memory of a comparison: 2 x 8192 x 300 numbers are 39 MB."""


@dataclass(frozen=True, slots=True, eq=False)
class LsaSpace:
    """A vector space of texts: V terms, projected to k dimensions.

    An embedding is `sum over terms t of w[t] * scale[t] * components[t]`, where `w` is the tf-idf
    vector of the text as scikit-learn's `TfidfVectorizer()` computes it: `count * idf`, divided by
    its Euclidean length. All arithmetic is in float64.
    """

    terms: Mapping[str, int]
    """Lower-case term -> its row, 0..V-1."""
    idf: NDArray[np.float64]
    """(V,), each at least 1: `ln((1 + documents) / (1 + documents with the term)) + 1`."""
    components: NDArray[np.float64] | NDArray[np.int8]
    """(V, k): transposed right singular vectors, or whole steps of them in a shipped space."""
    scale: NDArray[np.float64]
    """(V,), positive: what one step in a row of `components` is worth; 1 in a fitted space."""

    def __post_init__(self) -> None:
        for array in (self.idf, self.components, self.scale):
            array.setflags(write=False)

    @property
    def dimensions(self) -> int:
        """k, at least 1."""
        return int(self.components.shape[1])

    @classmethod
    def fit(cls, texts: Sequence[str], *, dimensions: int = 100, seed: int = 42) -> LsaSpace:
        """The space of `texts` as CAFFE fits it: the published space of a run.

        This is scikit-learn's `TfidfVectorizer()` followed by `TruncatedSVD(dimensions,
        random_state=seed)` (Deerwester et al. 1990, "Indexing by latent semantic analysis").
        Fewer dimensions result where the texts have fewer terms, or are fewer, than `dimensions`.

        Raises ValueError where `dimensions` is below 1 or no text has a term (a word of two or
        more letters or digits).
        """
        if dimensions < 1:
            raise ValueError(f"an LSA space needs at least 1 dimension, not {dimensions}")
        if not any(_WORD.search(text.lower()) for text in texts):
            raise ValueError(
                f"an LSA space cannot be fitted on {len(texts)} texts without a single word of two "
                "or more letters"
            )
        import numpy as np
        from sklearn.feature_extraction.text import TfidfVectorizer

        vectorizer = TfidfVectorizer()
        weights = vectorizer.fit_transform(texts)
        # A plain int: scikit-learn's columns are numpy integers, slower as an index.
        terms = {term: int(column) for term, column in vectorizer.vocabulary_.items()}
        return cls(
            terms=terms,
            idf=np.asarray(vectorizer.idf_, dtype=np.float64),
            components=_right_singular_vectors(weights, min(dimensions, len(terms)), seed),
            scale=np.ones(len(terms)),
        )

    def embed(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """One row per text, (n, k); a row of zeros where the space knows no term of the text.

        A row depends on nothing but its text: the same bits alone, in any batch, in any order.
        """
        import numpy as np

        rows = np.zeros((len(texts), self.dimensions))
        for row, text in zip(rows, texts, strict=True):
            self._embed_into(row, text)
        return rows

    def similarity(self, first: Sequence[str], second: Sequence[str]) -> NDArray[np.float64]:
        """Cosine of the embeddings of `first[i]` and `second[i]`: (n,), each in -1..1.

        NaN where there is nothing to compare: the space knows no term of one of the two texts, or
        the dimensions kept hold nothing of it but rounding noise (scikit-learn says 0, or a cosine
        of the noise). Two identical texts with a known term give exactly 1; the order of the two
        texts does not matter.

        Raises ValueError where `first` and `second` are not of one length.
        """
        if len(first) != len(second):
            raise ValueError(f"{len(first)} texts cannot be paired with {len(second)}")
        import numpy as np

        # A run repeats many texts (refusals, counterfactuals of one prompt): embed each once.
        place: dict[str, int] = {}
        left = np.array([place.setdefault(text, len(place)) for text in first], dtype=np.intp)
        right = np.array([place.setdefault(text, len(place)) for text in second], dtype=np.intp)
        rows = self.embed(tuple(place))
        squares = _dot(rows, rows)

        products = np.empty(len(first))
        for start in range(0, len(first), _PAIRS_AT_ONCE):
            part = slice(start, start + _PAIRS_AT_ONCE)
            products[part] = _dot(rows[left[part]], rows[right[part]])
        # One root of the product, not a product of roots: where both squares and the product are
        # the same number, its root is exact and the cosine is 1, not a neighbour of it.
        comparable = (squares[left] > _VANISHED) & (squares[right] > _VANISHED)
        lengths = np.sqrt(squares[left] * squares[right])
        cosines = np.full(len(first), np.nan)
        np.divide(products, lengths, out=cosines, where=comparable)
        cosines[(left == right) & (squares[left] > 0)] = 1.0
        np.clip(cosines, -1.0, 1.0, out=cosines)
        return cosines

    def _embed_into(self, row: NDArray[np.float64], text: str) -> None:
        """Write the embedding of `text` into `row`, (k,), which is zero."""
        import numpy as np

        counts: dict[int, int] = {}
        known = self.terms.get
        for word in _WORD.findall(text.lower()):
            column = known(word)
            if column is not None:
                counts[column] = counts.get(column, 0) + 1
        if not counts:
            return
        # Sorted: two texts with the same words in another order get the same bits.
        columns = np.array(sorted(counts), dtype=np.intp)
        weights = np.array([counts[column] for column in columns.tolist()]) * self.idf[columns]
        weights *= self.scale[columns] / np.sqrt(_dot(weights, weights))
        # Not a matrix product: BLAS orders a sum by the shape of the batch and by the machine.
        # Reducing over the first axis adds whole rows one after the other, everywhere.
        np.add.reduce(self.components[columns] * weights[:, None], axis=0, out=row)


@cache
def reference_space() -> LsaSpace:
    """The shipped space of general English; loaded and verified once per process.

    Raises DamagedArtefact (a CaffeError) where the file is missing or its SHA-256 is not
    `REFERENCE_SHA256`.
    """
    try:
        content = (files("caffe_pytest.metrics") / "reference" / REFERENCE).read_bytes()
    except OSError as error:
        raise DamagedArtefact(
            f"{REFERENCE}: the reference space of the metric {NAME} cannot be read "
            f"({type(error).__name__}); reinstall caffe-pytest"
        ) from error
    return read_space(content, sha256=REFERENCE_SHA256)


def read_space(content: bytes, *, sha256: str) -> LsaSpace:
    """The space in `content`, the bytes of a file that `reference.build` wrote.

    Raises DamagedArtefact (a CaffeError) where the SHA-256 of `content` is not `sha256` (64
    hexadecimal digits): scores in a changed space cannot be compared with published ones.
    """
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise DamagedArtefact(
            f"{REFERENCE}: the reference space of the metric {NAME} is damaged: its SHA-256 is "
            f"{found}, not {sha256}; reinstall caffe-pytest"
        )
    import numpy as np

    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        terms = archive["terms"].tobytes().decode().split("\n")
        containing = archive["documents_with_term"].astype(np.float64)
        idf = np.log((1.0 + int(archive["documents"])) / (1.0 + containing)) + 1.0
        return LsaSpace(
            terms={term: row for row, term in enumerate(terms)},
            idf=idf,
            components=archive["components"],
            scale=archive["scale"].astype(np.float64),
        )


def _right_singular_vectors(weights: Any, dimensions: int, seed: int) -> NDArray[np.float64]:
    """(V, k) of a sparse (n, V) matrix, by scikit-learn's `TruncatedSVD`."""
    import numpy as np
    from sklearn.decomposition import TruncatedSVD

    if weights.shape[1] == 1:
        # scikit-learn refuses a single column, whose only direction is itself.
        return np.ones((1, 1))
    # The share of variance explained is 0/0 where all texts are the same; we do not use it.
    with np.errstate(divide="ignore", invalid="ignore"):
        svd = TruncatedSVD(dimensions, random_state=seed).fit(weights)
    return np.ascontiguousarray(svd.components_.T, dtype=np.float64)


def _dot(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Products summed over the last axis, in an order that does not depend on the other axes."""
    product: NDArray[np.float64] = (first * second).sum(axis=-1)
    return product
