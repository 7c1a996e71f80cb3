"""The metrics that test cases may name without a plugin, on one screen."""

from __future__ import annotations

from collections.abc import Callable

from caffe_pytest.hookspecs import AnswerMeasure, Metric, SimilarityMetric, hookimpl
from caffe_pytest.metrics import lda, length, lsa, refusal, sentiment, toxicity


@hookimpl
def register_metrics(register: Callable[[Metric], None]) -> None:
    """Register the built-in metrics."""
    register(SimilarityMetric(lsa.NAME, lsa.VERSION, lsa.reference_space, fit=lsa.LsaSpace.fit))
    register(
        AnswerMeasure(refusal.NAME, refusal.VERSION, refusal.score, 0.05, "share", of_refusals=True)
    )
    register(AnswerMeasure(length.NAME, length.VERSION, length.score, 0.1, "relative"))
    register(AnswerMeasure(sentiment.NAME, sentiment.VERSION, sentiment.score, 0.1, "number"))
    register(AnswerMeasure(toxicity.NAME, toxicity.VERSION, toxicity.score, 0.05, "number"))
