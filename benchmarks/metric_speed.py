"""How fast the metrics score answers, against plain scikit-learn and gensim, and what they tell.

Reads the answers that `lsa_spaces.py` reads. Every row is a way to score the same pairs: its time
to fit, to score all pairs at once and to score one pair at a time, in CPU seconds of this process,
as ratios to the plain way of its family; and the AUC, how often an A/A pair scores higher than an
A/B pair. No network.

    OPENBLAS_NUM_THREADS=1 python benchmarks/metric_speed.py --answers FILE.jsonl.gz
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import LatentDirichletAllocation, TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import cosine_similarity
from sklearn.pipeline import Pipeline, make_pipeline

from caffe_pytest.metrics import lda, lsa
from lsa_spaces import Pairs, pairs_of, read

Similarity = Callable[[Sequence[str], Sequence[str]], NDArray[np.float64]]
SINGLE_PAIRS = 200


@dataclass(frozen=True)
class Row:
    """A way to score pairs of texts."""

    family: str
    """Rows of a family are compared with its first."""
    name: str
    fit: Callable[[Sequence[str]], Similarity]


@dataclass(frozen=True)
class Measured:
    fit: float
    """Seconds."""
    batch: float
    """Seconds for all pairs in one call."""
    single: float
    """Microseconds for a pair in a call of its own."""
    auc: float


def plain_scikit_learn(pipeline: Callable[[], Pipeline]) -> Callable[[Sequence[str]], Similarity]:
    """Every text is transformed, every pair is a call of `cosine_similarity`."""

    def fit(texts: Sequence[str]) -> Similarity:
        model = pipeline().fit(texts)

        def similarity(first: Sequence[str], second: Sequence[str]) -> NDArray[np.float64]:
            left, right = model.transform(first), model.transform(second)
            return np.array(
                [
                    cosine_similarity(a[None], b[None])[0, 0]
                    for a, b in zip(left, right, strict=True)
                ]
            )

        return similarity

    return fit


def plain_gensim(texts: Sequence[str]) -> Similarity:
    """gensim's defaults, with its own inference, which starts at random."""
    from gensim.matutils import Sparse2Corpus
    from gensim.models import LdaModel

    vectorizer = CountVectorizer().fit(texts)

    def corpus(some: Sequence[str]) -> list[list[tuple[int, int]]]:
        return list(Sparse2Corpus(vectorizer.transform(some), documents_columns=False))

    names = dict(enumerate(vectorizer.get_feature_names_out()))
    model = LdaModel(
        corpus(texts), id2word=names, num_topics=30, random_state=42, passes=lda.GENSIM_PASSES
    )

    def similarity(first: Sequence[str], second: Sequence[str]) -> NDArray[np.float64]:
        left, right = (model.inference(corpus(some))[0] for some in (first, second))
        lengths = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
        cosines: NDArray[np.float64] = (left * right).sum(axis=1) / lengths
        return cosines

    return similarity


ROWS = (
    Row(
        "lsa",
        "plain scikit-learn",
        plain_scikit_learn(
            lambda: make_pipeline(TfidfVectorizer(), TruncatedSVD(100, random_state=42))
        ),
    ),
    Row("lsa", "lsa, run", lambda texts: lsa.LsaSpace.fit(texts).similarity),
    Row("lsa", "lsa, reference", lambda _: lsa.reference_space().similarity),
    Row(
        "lda",
        "plain scikit-learn",
        plain_scikit_learn(
            lambda: make_pipeline(
                CountVectorizer(), LatentDirichletAllocation(n_components=30, random_state=42)
            )
        ),
    ),
    Row("lda", "lda, run", lambda texts: lda.LdaSpace.fit(texts).similarity),
    Row("lda", "plain gensim", plain_gensim),
    Row("lda", "lda-gensim, run", lambda texts: lda.LdaSpace.fit_gensim(texts).similarity),
    Row("lda", "lda, reference", lambda _: lda.reference_space().similarity),
)


def measure(row: Row, texts: Sequence[str], pairs: Pairs, same: Pairs, other: Pairs) -> Measured:
    start = time.process_time()
    similarity = row.fit(texts)
    fit = time.process_time() - start
    similarity(*zip(*pairs[:2], strict=True))
    start = time.process_time()
    similarity(*zip(*pairs, strict=True))
    batch = time.process_time() - start
    start = time.process_time()
    for first, second in pairs[:: max(len(pairs) // SINGLE_PAIRS, 1)][:SINGLE_PAIRS]:
        similarity((first,), (second,))
    single = (time.process_time() - start) / min(SINGLE_PAIRS, len(pairs)) * 1e6
    scores = [similarity(*zip(*some, strict=True)) for some in (same, other)]
    a, b = (values[~np.isnan(values)] for values in scores)
    auc = float(roc_auc_score(np.r_[np.ones(len(a)), np.zeros(len(b))], np.r_[a, b]))
    return Measured(fit, batch, single, auc)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--answers", type=Path, required=True)
    parser.add_argument("--wordings", type=int, default=3, help="wordings of each topic")
    parser.add_argument("--pairs", type=int, default=20_000, help="pairs that are timed")
    parser.add_argument("--texts", type=int, default=None, help="texts to fit on; else all of A/A")
    parser.add_argument("--family", choices=sorted({row.family for row in ROWS}))
    arguments = parser.parse_args()
    if not arguments.answers.is_file():
        raise SystemExit(
            f"{arguments.answers}: there is no such file; it is not part of the project"
        )
    same, other = pairs_of(read(arguments.answers), arguments.wordings)
    texts = [text for pair in same for text in pair]
    # Every so many, so that a part of the texts still speaks of all topics.
    texts = texts[:: max(len(texts) // (arguments.texts or len(texts)), 1)]
    pairs = (same + other)[-arguments.pairs :]
    print(f"fitted on {len(texts):,} texts; {len(pairs):,} pairs of them timed; CPU time")
    print("family  way                  fit s  ratio   batch s  ratio   single us  ratio    AUC")
    plain: dict[str, Measured] = {}
    for row in ROWS:
        if arguments.family not in (None, row.family):
            continue
        found = measure(row, texts, pairs, same, other)
        base = plain.setdefault(row.family, found)
        print(
            f"{row.family:<7} {row.name:<19}"
            f"{found.fit:>7.2f} {found.fit / base.fit:>6.2f}"
            f"{found.batch:>10.2f} {found.batch / base.batch:>6.2f}"
            f"{found.single:>12.0f} {found.single / base.single:>6.2f}"
            f"{found.auc:>7.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
