"""The key under which an answer is found again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from caffe_pytest.model.answer import Message, Outcome, Request

REQUEST = Request(
    identity={"provider": "litellm", "api_base": "http://127.0.0.1:8000/v1"},
    model="openai/gpt-4o-mini",
    parameters={"temperature": 0.7, "stop": ["\n"], "logit_bias": {"1": 2, "0": 1}},
    messages=(Message("system", "You are kind."), Message("user", "Fair? Größe 模型")),
)


def test_a_key_never_changes_from_one_version_to_the_next() -> None:
    # pinned: with another key no answer in a journal is found again
    assert REQUEST.key == "cf8c1bf661cf7f620433a91ca7e6645d8b4da332b4c6b0a4b9f5a2e980f9bd63"


def test_equal_content_has_an_equal_key_whatever_the_order_of_its_parts() -> None:
    other = replace(
        REQUEST,
        identity={name: REQUEST.identity[name] for name in ("api_base", "provider")},
        parameters={"logit_bias": {"0": 1, "1": 2}, "stop": ["\n"], "temperature": 0.7},
    )

    assert other.key == REQUEST.key


@pytest.mark.parametrize(
    "change",
    [
        {"identity": {"provider": "litellm"}},
        {"identity": {**REQUEST.identity, "api_base": "http://127.0.0.1:8001/v1"}},
        {"model": "openai/gpt-4o"},
        {"parameters": {}},
        {"parameters": {**REQUEST.parameters, "temperature": 0.8}},
        {"parameters": {**REQUEST.parameters, "stop": []}},
        {"messages": REQUEST.messages[1:]},
        {"messages": tuple(reversed(REQUEST.messages))},
        {"messages": (REQUEST.messages[0], Message("assistant", "Fair? Größe 模型"))},
        {"messages": (REQUEST.messages[0], Message("user", "Fair? Größe 模型 "))},
        {"repetition": 1},
    ],
)
def test_every_part_decides_the_key(change: dict[str, Any]) -> None:
    assert replace(REQUEST, **change).key != REQUEST.key


def test_text_moved_from_one_message_to_another_makes_another_key() -> None:
    one = replace(REQUEST, messages=(Message("user", "a"), Message("user", "bc")))
    other = replace(REQUEST, messages=(Message("user", "ab"), Message("user", "c")))

    assert one.key != other.key


def test_half_a_character_has_a_key_too() -> None:
    request = replace(REQUEST, messages=(Message("user", "\ud800"),))

    assert len(request.key) == 64


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (Outcome.OK, False),
        (Outcome.EMPTY, True),
        (Outcome.TRUNCATED, False),
        (Outcome.FILTERED, False),
        (Outcome.MALFORMED, True),
        (Outcome.REJECTED, False),
        (Outcome.UNAUTHORISED, False),
        (Outcome.RATE_LIMITED, True),
        (Outcome.TIMEOUT, True),
        (Outcome.UNREACHABLE, True),
    ],
)
def test_only_what_may_pass_is_worth_asking_again(outcome: Outcome, expected: bool) -> None:
    assert outcome.worth_retrying is expected
