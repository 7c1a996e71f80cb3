"""What a test case asks of a pool, and with which margins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from caffe_pytest.extensions import load_extensions
from caffe_pytest.hookspecs import AnswerMeasure, Metric, SimilarityMetric
from caffe_pytest.model.test_case import Gap
from caffe_pytest.services.criteria import Asked, CriteriaError, criteria, with_encoder

METRICS = load_extensions().metrics
PROSE: tuple[str, ...] = ()
LABELS = ("positive", "negative", "neutral")


def asked(labels: Sequence[str] = PROSE, /, **given: Any) -> tuple[Asked, ...]:
    return criteria(Gap(**given), METRICS, labels)


def margins(questions: Sequence[Asked]) -> dict[str, float]:
    return {one.name: one.margin for one in questions}


def test_the_panel_asks_five_questions_of_prose() -> None:
    assert margins(asked()) == {
        "semantic": 0.05, "refusal": 0.05, "length": 0.1, "sentiment": 0.1, "wording": 0.05,
    }  # fmt: skip


def test_the_panel_asks_no_tone_and_no_length_of_labels() -> None:
    questions = asked(LABELS)

    assert margins(questions) == {"refusal": 0.05, "label": 0.05, "wording": 0.05}
    assert questions[1].labels == LABELS


def test_margins_of_the_test_case_win() -> None:
    questions = asked(max_gap=0.2, max_difference={"refusal": 0.01, "length": 0})

    assert margins(questions) == {
        "semantic": 0.2, "refusal": 0.01, "length": 0.0, "sentiment": 0.1, "wording": 0.05,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("metric", "kind", "margin"),
    [
        ("lsa", "similarity", 0.05),
        ("refusal", "measure", 0.05),
        ("length", "measure", 0.1),
        ("sentiment", "measure", 0.1),
        ("toxicity", "measure", 0.05),
        ("wording", "wording", 0.05),
    ],
)
def test_a_metric_alone_is_one_question(metric: str, kind: str, margin: float) -> None:
    (question,) = asked(metric=metric)

    assert (question.name, question.kind, question.margin) == (metric, kind, margin)
    assert question.version.startswith(f"{metric} ")


def test_max_gap_is_the_margin_of_a_similarity_alone() -> None:
    assert margins(asked(metric="lsa", max_gap=0.3)) == {"lsa": 0.3}


def test_every_built_in_measure_can_be_asked_alone() -> None:
    for name, metric in METRICS.items():
        (question,) = asked(metric=name)

        assert question.measure is metric or question.similarity is metric


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({"metric": "panle"}, ("metric",)),
        ({"metric": "label"}, ("metric",)),
        ({"metric": "judge"}, ("metric",)),
        ({"metric": "panel", "judge": {"model": "simulated/fair"}}, ("judge",)),
        ({"metric": "refusal", "max_gap": 0.1}, ("max_gap",)),
        ({"max_difference": {"tone": 0.1}}, ("max_difference", "tone")),
        ({"semantic": "length"}, ("semantic",)),
        ({"metric": "lsa", "semantic": "lsa"}, ("semantic",)),
        ({"encoder": "some/encoder"}, ("encoder",)),
        ({"metric": "length", "encoder": "some/encoder"}, ("encoder",)),
    ],
)
def test_what_cannot_be_asked_names_its_key(given: dict[str, Any], key: tuple[str, ...]) -> None:
    with pytest.raises(CriteriaError) as refused:
        asked(**given)

    cause, _, remedy = str(refused.value).partition("; ")
    assert refused.value.key == key
    assert cause
    assert remedy


@pytest.mark.parametrize("given", [{"max_gap": 0.1}, {"semantic": "lsa"}, {"encoder": "any"}])
def test_labels_have_no_similarity(given: dict[str, Any]) -> None:
    with pytest.raises(CriteriaError) as refused:
        asked(LABELS, **given)

    assert refused.value.key == tuple(given)


def test_an_encoder_goes_to_the_similarity_that_has_one() -> None:
    asked_for: list[str] = []

    def encoding(encoder: str) -> SimilarityMetric:
        asked_for.append(encoder)
        return plain

    plain = SimilarityMetric("encoded", "1", _unused, fit=_unused, with_encoder=encoding)
    metrics: dict[str, Metric] = {**METRICS, "encoded": plain}

    (alone,) = criteria(Gap(metric="encoded", encoder="a/b"), metrics, PROSE)
    panel = criteria(Gap(semantic="encoded", encoder="c/d"), metrics, PROSE)

    assert alone.name == "encoded"
    assert panel[0].name == "semantic"
    assert panel[0].version == "encoded 1"
    assert asked_for == ["a/b", "c/d"]
    assert with_encoder(plain, None) is plain


def test_a_measure_of_a_plugin_brings_its_own_margin() -> None:
    warmth = AnswerMeasure("warmth", "3", METRICS["length"].measure, 0.25, "number")  # type: ignore[union-attr]

    (question,) = criteria(Gap(metric="warmth"), {**METRICS, "warmth": warmth}, PROSE)

    assert (question.margin, question.version) == (0.25, "warmth 3")


def _unused(*_: Any) -> Any:
    raise AssertionError
