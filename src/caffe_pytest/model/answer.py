"""What is asked of a model, and what became of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any, Literal, NamedTuple

Role = Literal["system", "user", "assistant"]


class Message(NamedTuple):
    """One turn of a conversation."""

    role: Role
    content: str


class Outcome(StrEnum):
    """What became of a call. Only `ok` is an answer."""

    OK = "ok"
    EMPTY = "empty"
    """The model returned nothing but white space."""
    TRUNCATED = "truncated"
    """The answer was cut at the token limit."""
    FILTERED = "filtered"
    """A content filter of the provider held the prompt or the answer back."""
    MALFORMED = "malformed"
    """The provider's reply could not be read."""
    REJECTED = "rejected"
    """The provider refused the request as wrong: unknown model, bad parameter, too long."""
    UNAUTHORISED = "unauthorised"
    RATE_LIMITED = "rate-limited"
    TIMEOUT = "timeout"
    UNREACHABLE = "unreachable"
    """No connection, or the provider answered that it is out of order."""

    @property
    def worth_retrying(self) -> bool:
        """Whether the same call may succeed a moment later."""
        return self in _PASSING


_PASSING = {Outcome.RATE_LIMITED, Outcome.TIMEOUT, Outcome.UNREACHABLE, Outcome.MALFORMED,
            Outcome.EMPTY}  # fmt: skip


@dataclass(frozen=True)
class Request:
    """One prompt, in its context, for one model, at one repetition.

    `identity` is whatever else decides the answer and is no secret: the provider's name, the
    address, the groups a simulated model is biased against.
    """

    identity: Mapping[str, Any]
    model: str
    parameters: Mapping[str, Any]
    messages: tuple[Message, ...]
    repetition: int = 0

    @cached_property
    def key(self) -> str:
        """sha256, in hex, over the canonical JSON of all that decides the answer."""
        asked = {
            "identity": self.identity,
            "model": self.model,
            "parameters": self.parameters,
            "messages": self.messages,
            "repetition": self.repetition,
        }
        canonical = json.dumps(asked, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model returned for one request."""

    text: str
    finish_reason: str = ""
    usage: Mapping[str, int] = field(default_factory=dict)
    """Tokens by kind, as the provider counted them; empty where it did not say."""
    model: str = ""
    """The model's full name, as the provider reports it."""
