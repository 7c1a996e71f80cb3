"""Similarity of two texts by the topics they mix: latent Dirichlet allocation.

`lda` is the published metric, fitted by scikit-learn; `lda-gensim` is fitted by gensim. Both infer
the topics of a text by `variational_bayes`, and share the shipped reference space.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import chain
from typing import TYPE_CHECKING, Any

from caffe_pytest.errors import DamagedArtefact
from caffe_pytest.metrics.bag_of_words import BagsOfWords, count_terms, has_words, slices
from caffe_pytest.metrics.cosine import cosines
from caffe_pytest.metrics.variational_bayes import exp_digamma, infer_topics

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# numpy, scikit-learn and gensim are imported where they are used: a session that compares no texts
# does not pay for them.

NAME = "lda"
VERSION = "1"
GENSIM_NAME = "lda-gensim"
GENSIM_VERSION = "1"

REFERENCE = "lda-en-1.npz"
"""File name of the shipped space, in the package `caffe_pytest.metrics.reference`."""
REFERENCE_SHA256 = "0995c36c9f87a0ed4246beb1628228b15de0e421d0eb22cc2eccc7d7d1388df5"
"""SHA-256 of the shipped space, 64 hexadecimal digits."""

GENSIM_PASSES = 10
"""Times that gensim reads all texts before it is done; scikit-learn's number of iterations."""

_TEXTS_AT_ONCE = 4096
"""Texts whose terms are counted together: bounds the memory beside the mixtures."""


@dataclass(frozen=True, slots=True, eq=False)
class LdaSpace:
    """A space of texts: V terms that stem from k topics (Blei, Ng & Jordan 2003)."""

    terms: Mapping[str, int]
    """Lower-case term -> its row, 0..V-1."""
    words: NDArray[np.float64]
    """(V, k), positive: `exp(E[log beta])` of each topic, times any positive number for a term."""
    prior: float
    """Of every topic in the mixture of a text, before a word is seen (alpha); positive."""

    def __post_init__(self) -> None:
        self.words.setflags(write=False)

    @property
    def topics(self) -> int:
        """k, at least 1."""
        return int(self.words.shape[1])

    @classmethod
    def fit(cls, texts: Sequence[str], *, topics: int = 30, seed: int = 42) -> LdaSpace:
        """The space of `texts` as CAFFE fits it: the published space of a run.

        This is scikit-learn's `CountVectorizer()` followed by
        `LatentDirichletAllocation(topics, random_state=seed)`: batch variational Bayes, 10
        iterations, both priors 1 / topics.

        Raises ValueError where `topics` is below 1 or no text has a term (a word of two or more
        letters or digits).
        """
        _check(texts, topics)
        import numpy as np
        from sklearn.decomposition import LatentDirichletAllocation
        from sklearn.feature_extraction.text import CountVectorizer

        vectorizer = CountVectorizer()
        counts = vectorizer.fit_transform(texts)
        model = LatentDirichletAllocation(topics, random_state=seed).fit(counts)
        # A plain int: scikit-learn's columns are numpy integers, slower as an index.
        terms = {term: int(column) for term, column in vectorizer.vocabulary_.items()}
        components = np.asarray(model.components_, dtype=np.float64)
        return cls(terms=terms, words=_expected_words(components), prior=1 / topics)

    @classmethod
    def fit_gensim(
        cls,
        texts: Sequence[str],
        *,
        topics: int = 30,
        seed: int = 42,
        passes: int = GENSIM_PASSES,
        rare: int = 1,
    ) -> LdaSpace:
        """The space of `texts` as gensim's `LdaModel` fits it, with the terms of `fit`.

        This is `LdaModel(num_topics=topics, random_state=seed, passes=passes, update_every=0,
        decay=0)`: batch variational Bayes, both priors 1 / topics, in float64. Its E-step is ours,
        without a random start and for many texts at once, which makes it the faster fit. A term in
        fewer texts than `rare` is left out.

        Raises ValueError where `topics` or `passes` is below 1 or no text has a term.
        """
        _check(texts, topics)
        if passes < 1:
            raise ValueError(f"gensim needs at least 1 pass over the texts, not {passes}")
        from sklearn.feature_extraction.text import CountVectorizer

        found = CountVectorizer(min_df=rare).fit(texts).vocabulary_
        terms = {term: int(column) for term, column in found.items()}
        model = _gensim_model(count_terms(texts, terms), terms, topics, seed, passes)
        return cls(terms=terms, words=_expected_words(model.state.get_lambda()), prior=1 / topics)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """One row per text, (n, k): its share of each topic, summing to 1.

        A row of zeros where the space knows no term of the text. A row depends on nothing but its
        text: the same bits alone, in any batch, in any order.
        """
        import numpy as np

        rows = np.empty((len(texts), self.topics))
        for part in slices(len(texts), _TEXTS_AT_ONCE):
            bags = count_terms(texts[part], self.terms)
            gamma = infer_topics(bags, self.words, self.prior)
            gamma[bags.lengths == 0] = 0.0
            total = gamma.sum(axis=1, keepdims=True)
            rows[part] = gamma / np.where(total > 0, total, 1.0)
        return rows

    def similarity(self, first: Sequence[str], second: Sequence[str]) -> NDArray[np.float64]:
        """Cosine of the topic shares of `first[i]` and `second[i]`: (n,), each in 0..1.

        NaN where there is nothing to compare: the space knows no term of one of the two texts
        (scikit-learn says that such a text mixes all topics alike). Two identical texts with a
        known term give exactly 1; the order of the two texts does not matter.

        Raises ValueError where `first` and `second` are not of one length.
        """
        return cosines(first, second, self.embed)


@cache
def reference_space() -> LdaSpace:
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


def read_space(content: bytes, *, sha256: str) -> LdaSpace:
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
        values = np.exp(-float(archive["step"]) * np.arange(256.0))
        words = values[archive["steps_below_largest"]]
        return LdaSpace(
            terms={term: row for row, term in enumerate(terms)},
            words=words,
            prior=1 / words.shape[1],
        )


def _check(texts: Sequence[str], topics: int) -> None:
    if topics < 1:
        raise ValueError(f"an LDA space needs at least 1 topic, not {topics}")
    if not has_words(texts):
        raise ValueError(
            f"an LDA space cannot be fitted on {len(texts)} texts without a single word of two "
            "or more letters"
        )


def _expected_words(parameters: NDArray[np.float64]) -> NDArray[np.float64]:
    """`exp(E[log beta])`, (V, k), of topics with the Dirichlet `parameters`, (k, V)."""
    import numpy as np

    totals = exp_digamma(parameters.sum(axis=1, keepdims=True))
    return np.ascontiguousarray((exp_digamma(parameters) / totals).T)


def _gensim_model(
    bags: BagsOfWords, terms: Mapping[str, int], topics: int, seed: int, passes: int
) -> Any:
    """gensim's model of the texts in `bags`."""
    import numpy as np
    from gensim.models import LdaModel
    from scipy.sparse import csr_array

    class Model(LdaModel):  # type: ignore[misc]
        def inference(
            self, chunk: Sequence[Sequence[tuple[int, float]]], collect_sstats: bool = False
        ) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
            """Gamma, (n, k), and what the M-step adds to the topics, (k, V)."""
            chunk_bags = _bags(chunk)
            words = np.ascontiguousarray(self.expElogbeta.T)
            gamma = infer_topics(chunk_bags, words, 1 / topics, iterations=self.iterations)
            if not collect_sstats:
                return gamma, None
            theta = exp_digamma(gamma)
            text = np.repeat(np.arange(len(gamma)), chunk_bags.lengths)
            expected = np.einsum("ik,ik->i", theta[text], words[chunk_bags.columns])
            weights = chunk_bags.counts / (expected + np.finfo(np.float64).eps)
            shape = (len(gamma), len(words))
            ratios = csr_array((weights, chunk_bags.columns, chunk_bags.starts), shape=shape)
            return gamma, ((ratios.T @ theta) * words).T

    ends = bags.starts[1:-1]
    corpus = [
        list(zip(columns.tolist(), counts.tolist(), strict=True))
        for columns, counts in zip(
            np.split(bags.columns, ends), np.split(bags.counts, ends), strict=True
        )
    ]
    return Model(
        corpus,
        id2word={column: term for term, column in terms.items()},
        num_topics=topics,
        random_state=seed,
        passes=passes,
        # One update a pass that forgets the last: else a run of a few hundred answers, which is
        # less than one of gensim's chunks, would not have settled after 10 passes.
        update_every=0,
        decay=0.0,
        eval_every=None,
        dtype=np.float64,
    )


def _bags(chunk: Sequence[Sequence[tuple[int, float]]]) -> BagsOfWords:
    """Texts as gensim gives them, as bags of words."""
    import numpy as np

    lengths = np.array([len(text) for text in chunk], dtype=np.intp)
    pairs = np.array(list(chain.from_iterable(chunk)), dtype=np.float64).reshape(-1, 2)
    return BagsOfWords(
        columns=pairs[:, 0].astype(np.intp),
        counts=np.ascontiguousarray(pairs[:, 1]),
        starts=np.concatenate(([0], np.cumsum(lengths))).astype(np.intp),
    )
