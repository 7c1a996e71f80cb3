"""Similarity of two texts by latent semantic analysis, in a fitted or in the shipped space.

In a space fitted on a run's own answers a verdict depends on the other answers of that run. The
shipped reference space is frozen: two texts score the same in every run, on every machine.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from caffe_pytest.errors import DamagedArtefact
from caffe_pytest.metrics.bag_of_words import count_terms, has_words, slices
from caffe_pytest.metrics.cosine import cosines, dot

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

_TEXTS_AT_ONCE = 256
"""Texts whose terms are counted together: bounds the memory beside the embeddings."""


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
        if not has_words(texts):
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
        for part in slices(len(texts), _TEXTS_AT_ONCE):
            self._embed_into(rows[part], texts[part])
        return rows

    def similarity(self, first: Sequence[str], second: Sequence[str]) -> NDArray[np.float64]:
        """Cosine of the embeddings of `first[i]` and `second[i]`: (n,), each in -1..1.

        NaN where there is nothing to compare: the space knows no term of one of the two texts, or
        the dimensions kept hold nothing of it but rounding noise (scikit-learn says 0, or a cosine
        of the noise). Two identical texts with a known term give exactly 1; the order of the two
        texts does not matter.

        Raises ValueError where `first` and `second` are not of one length.
        """
        return cosines(first, second, self.embed)

    def _embed_into(self, rows: NDArray[np.float64], texts: Sequence[str]) -> None:
        """Write the embeddings of `texts` into `rows`, (n, k), which are zero."""
        import numpy as np

        bags = count_terms(texts, self.terms)
        weights = bags.counts * self.idf[bags.columns]
        scale = self.scale[bags.columns]
        starts = bags.starts.tolist()
        for row, start, end in zip(rows, starts[:-1], starts[1:], strict=True):
            if start == end:
                continue
            weight = weights[start:end]
            weight *= scale[start:end] / np.sqrt(dot(weight, weight))
            # Not a matrix product: BLAS orders a sum by the shape of the batch and by the machine,
            # and scipy's sparse one rounds once or twice a term, as its compiler liked. Reducing
            # over the first axis adds whole rows one after the other, everywhere.
            terms = self.components[bags.columns[start:end]]
            np.add.reduce(terms * weight[:, None], axis=0, out=row)


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
