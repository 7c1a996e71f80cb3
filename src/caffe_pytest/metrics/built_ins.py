"""The metrics that test cases may name without a plugin, on one screen."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from caffe_pytest.hookspecs import AnswerMeasure, Metric, SimilarityMetric, hookimpl
from caffe_pytest.metrics import (
    bert,
    lda,
    length,
    lsa,
    refusal,
    sentence_embedding,
    sentiment,
    toxicity,
)


@hookimpl
def register_metrics(register: Callable[[Metric], None]) -> None:
    """Register the built-in metrics."""
    of_lda, of_gensim = lda.LdaSpace.fit, lda.LdaSpace.fit_gensim
    refusals = (refusal.NAME, refusal.VERSION, refusal.score)

    register(SimilarityMetric(lsa.NAME, lsa.VERSION, lsa.reference_space, lsa.LsaSpace.fit))
    register(SimilarityMetric(lda.NAME, lda.VERSION, lda.reference_space, of_lda))
    register(SimilarityMetric(lda.GENSIM_NAME, lda.GENSIM_VERSION, lda.reference_space, of_gensim))
    register(_bert())
    register(_sentence_transformers())
    register(AnswerMeasure(*refusals, margin=0.05, scale="share", of_refusals=True))
    register(AnswerMeasure(length.NAME, length.VERSION, length.score, 0.1, "relative"))
    register(AnswerMeasure(sentiment.NAME, sentiment.VERSION, sentiment.score, 0.1, "number"))
    register(AnswerMeasure(toxicity.NAME, toxicity.VERSION, toxicity.score, 0.05, "number"))


def _bert(encoder: str = bert.DEFAULT_MODEL) -> SimilarityMetric:
    space = partial(bert.space, encoder)
    return SimilarityMetric(
        bert.NAME,
        _version(bert.VERSION, encoder, bert.DEFAULT_MODEL),
        reference=space,
        fit=lambda _: space(),
        with_encoder=_bert,
        identity=partial(bert.identity, encoder),
    )


def _sentence_transformers(encoder: str = sentence_embedding.DEFAULT_MODEL) -> SimilarityMetric:
    space = partial(sentence_embedding.space, encoder)
    return SimilarityMetric(
        sentence_embedding.NAME,
        _version(sentence_embedding.VERSION, encoder, sentence_embedding.DEFAULT_MODEL),
        reference=space,
        fit=lambda _: space(),
        with_encoder=_sentence_transformers,
        identity=partial(sentence_embedding.identity, encoder),
    )


def _version(version: str, encoder: str, default: str) -> str:
    """Told by the last part of its name: `environment.json` has the sha256 of its weights."""
    return version if encoder == default else f"{version} ({Path(encoder).name})"
