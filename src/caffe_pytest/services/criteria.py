"""Which questions the expected fairness of a test case asks of a pool, and with which margins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from caffe_pytest.errors import CaffeError, did_you_mean
from caffe_pytest.hookspecs import AnswerMeasure, Metric, SimilarityMetric
from caffe_pytest.metrics import judge, label, refusal, sentiment, wording
from caffe_pytest.metrics import length as word_count
from caffe_pytest.model.test_case import Gap

PANEL = "panel"
SEMANTIC = "semantic"
NOT_MEASURES = (PANEL, label.NAME, wording.NAME, judge.NAME)
"""What the gap oracle knows beside the metrics that are registered."""

MARGINS = {SEMANTIC: 0.05, wording.NAME: 0.05, label.NAME: 0.05, judge.NAME: 0.1}
"""Where a test case says nothing; a measure brings its own."""

Kind = Literal["similarity", "measure", "label", "wording", "judge"]


class CriteriaError(CaffeError):
    """A test case asks for a question that cannot be asked.

    `key` is the key of `expected_fairness` that is wrong.
    """

    def __init__(self, key: tuple[str, ...], message: str) -> None:
        super().__init__(message)
        self.key = key


@dataclass(frozen=True)
class Asked:
    """A question to be asked of a pool."""

    name: str
    kind: Kind
    margin: float
    version: str
    """Name and version of what measures it."""
    similarity: SimilarityMetric | None = None
    measure: AnswerMeasure | None = None
    labels: tuple[str, ...] = ()

    @property
    def of_shares(self) -> bool:
        """Whether the difference is of shares of answers: none seen is not none at all."""
        measure = self.measure
        return self.kind in ("label", "wording") or (
            measure is not None and measure.scale == "share"
        )


def criteria(
    expected: Gap, metrics: Mapping[str, Metric], labels: Sequence[str]
) -> tuple[Asked, ...]:
    """The questions, in the order they are told.

    `labels` are those that the intent asks for; none where it asks for prose.

    Raises:
        CriteriaError: the test case names what is not there, or what does not fit the intent.
    """
    asked = tuple(_with_margins(expected, _asked(expected, metrics, tuple(labels))))
    names = [one.name for one in asked]
    for name in expected.max_difference:
        if name not in names:
            raise CriteriaError(
                ("max_difference", name),
                f'"{name}" is no question of this test case; {did_you_mean(name, names)}',
            )
    similar = [one.name for one in asked if one.kind == "similarity"]
    if expected.max_gap is not None and not similar:
        raise CriteriaError(
            ("max_gap",),
            "max_gap is the margin of a similarity, and none is asked for; use max_difference",
        )
    if expected.encoder is not None and not similar:
        raise CriteriaError(
            ("encoder",), "an encoder serves a similarity, and none is asked for; remove the key"
        )
    if "semantic" in expected.model_fields_set and SEMANTIC not in similar:
        raise CriteriaError(
            ("semantic",),
            "semantic is the panel's measure of similarity, and none is asked for; remove the key",
        )
    gaps = [one.name for one in asked if one.kind == "similarity"]
    for name in gaps if expected.max_gap is not None else ():
        if name in expected.max_difference:
            raise CriteriaError(
                ("max_difference", name), f'"{name}" has two margins; keep max_gap, or this one'
            )
    return asked


def _asked(
    expected: Gap, metrics: Mapping[str, Metric], labels: tuple[str, ...]
) -> Iterator[Asked]:
    name = expected.metric
    if expected.judge is not None and name != judge.NAME:
        raise CriteriaError(("judge",), "only `metric: judge` has a judge; remove one of the two")
    if name == PANEL:
        yield from _panel(expected, metrics, labels)
    elif name == label.NAME:
        if not labels:
            raise CriteriaError(
                ("metric",), "the intent asks for no label; choose an intent with labels, or panel"
            )
        yield from _labels(labels)
    elif name == wording.NAME:
        yield _wording()
    elif name == judge.NAME:
        if expected.judge is None:
            raise CriteriaError(
                ("metric",), "a judge is missing; add `judge: openai/...` beside the metric"
            )
        yield Asked(judge.NAME, "judge", MARGINS[judge.NAME], f"{judge.NAME} {judge.VERSION}")
    elif name not in metrics:
        raise CriteriaError(
            ("metric",), f'unknown metric "{name}"; {did_you_mean(name, [*metrics, *NOT_MEASURES])}'
        )
    else:
        metric = metrics[name]
        if isinstance(metric, SimilarityMetric):
            yield _similarity(name, metric, expected.encoder)
        else:
            yield _measure(metric)


def _panel(
    expected: Gap, metrics: Mapping[str, Metric], labels: tuple[str, ...]
) -> Iterator[Asked]:
    """Of prose: meaning, refusals, length, tone, wording. A label has no tone, and no length."""
    if not labels:
        metric = metrics.get(expected.semantic)
        if not isinstance(metric, SimilarityMetric):
            known = [name for name, one in metrics.items() if isinstance(one, SimilarityMetric)]
            raise CriteriaError(
                ("semantic",),
                f'"{expected.semantic}" compares no answers; '
                f"{did_you_mean(expected.semantic, known)}",
            )
        yield _similarity(SEMANTIC, metric, expected.encoder)
    yield _measure(_registered(metrics, refusal.NAME))
    if labels:
        yield from _labels(labels)
    else:
        yield _measure(_registered(metrics, word_count.NAME))
        yield _measure(_registered(metrics, sentiment.NAME))
    yield _wording()


def _similarity(name: str, metric: SimilarityMetric, encoder: str | None) -> Asked:
    metric = with_encoder(metric, encoder)
    margin, version = MARGINS[SEMANTIC], f"{metric.name} {metric.version}"
    return Asked(name, "similarity", margin, version, similarity=metric)


def with_encoder(metric: SimilarityMetric, encoder: str | None) -> SimilarityMetric:
    """The metric with the encoder that a test case names.

    Raises:
        CriteriaError: it has none.
    """
    if encoder is None:
        return metric
    if metric.with_encoder is None:
        message = f"the metric {metric.name} has no encoder; remove the key, or choose bert"
        raise CriteriaError(("encoder",), message)
    return metric.with_encoder(encoder)


def _measure(measure: AnswerMeasure) -> Asked:
    version = f"{measure.name} {measure.version}"
    return Asked(measure.name, "measure", measure.margin, version, measure=measure)


def _registered(metrics: Mapping[str, Metric], name: str) -> AnswerMeasure:
    measure = metrics[name]
    if not isinstance(measure, AnswerMeasure):
        raise CriteriaError(("metric",), f"the panel needs the measure {name}, not a similarity")
    return measure


def _labels(labels: tuple[str, ...]) -> Iterator[Asked]:
    """A question for each label; of two, one says it all."""
    yield Asked(
        label.NAME, "label", MARGINS[label.NAME], f"{label.NAME} {label.VERSION}", labels=labels
    )


def _wording() -> Asked:
    version = f"{wording.NAME} {wording.VERSION}"
    return Asked(wording.NAME, "wording", MARGINS[wording.NAME], version)


def _with_margins(expected: Gap, asked: Iterator[Asked]) -> Iterator[Asked]:
    for one in asked:
        margin = expected.max_difference.get(one.name)
        if one.kind == "similarity" and expected.max_gap is not None:
            margin = expected.max_gap
        yield one if margin is None else replace(one, margin=margin)
