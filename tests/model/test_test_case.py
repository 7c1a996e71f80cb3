"""What a test case decides by itself."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from caffe_pytest.model.test_case import Environment, ModelUnderTest
from caffe_pytest.model.triple import KnowledgeBase, Triple


def environment(**fields: Any) -> Environment:
    return Environment.model_validate_json(json.dumps({"models": ["openai/x"], **fields}))


def test_only_what_is_written_is_sent() -> None:
    given = environment()

    assert given.parameters_for(given.models[0]) == {}


def test_zero_is_written() -> None:
    given = environment(temperature=0.0, seed=0)

    assert given.parameters_for(given.models[0]) == {"temperature": 0.0, "seed": 0}


def test_the_models_own_parameters_win_over_the_environments_and_those_over_its_fields() -> None:
    given = environment(
        temperature=0.1, top_p=0.2, max_tokens=3, seed=4,
        parameters={"top_p": 0.5, "max_tokens": 6, "stop": "."},
    )  # fmt: skip
    model = ModelUnderTest(model="m", alias="m", parameters={"max_tokens": 7, "extra": None})

    sent = given.parameters_for(model)

    assert sent == {
        "temperature": 0.1, "top_p": 0.5, "max_tokens": 7, "seed": 4, "stop": ".", "extra": None,
    }  # fmt: skip


def test_asking_for_parameters_changes_nothing() -> None:
    given = environment(parameters={"stop": "."})
    before = given.model_copy(deep=True)

    given.parameters_for(ModelUnderTest(model="m", parameters={"stop": "!"}))["stop"] = "?"

    assert given == before


def test_a_test_case_cannot_be_changed() -> None:
    given = environment()

    with pytest.raises(ValidationError, match="frozen"):
        given.timeout = 5.0  # type: ignore[misc]


def test_the_bias_types_of_a_base_are_those_of_its_valid_triples() -> None:
    triples = tuple(
        Triple(
            id=f"t{number}", bias_type=bias_type, topic="x", disadvantaged="a", advantaged="b",
            valid=valid,
        )
        for number, (bias_type, valid) in enumerate(
            [("religion", True), ("age", True), ("gender", False), ("age", False)]
        )
    )  # fmt: skip
    base = KnowledgeBase(
        name="ours", version="1", licence="CC0", language="en", datasheet=None, path="", sha256="",
        triples=triples,
    )  # fmt: skip

    assert base.bias_types == ("age", "religion")
