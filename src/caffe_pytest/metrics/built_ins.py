"""The metrics that test cases may name without a plugin, on one screen."""

from __future__ import annotations

from collections.abc import Callable

from caffe_pytest.hookspecs import SimilarityMetric, hookimpl
from caffe_pytest.metrics import lsa


@hookimpl
def register_metrics(register: Callable[[SimilarityMetric], None]) -> None:
    """Register the built-in metrics."""
    register(SimilarityMetric(lsa.NAME, lsa.VERSION, lsa.reference_space, fit=lsa.LsaSpace.fit))
