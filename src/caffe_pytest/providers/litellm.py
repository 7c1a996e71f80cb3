"""Any model that litellm knows, and any OpenAI-compatible address.

litellm is imported with the first call: the import takes seconds, and nothing else needs it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from caffe_pytest.errors import ProviderError
from caffe_pytest.extensions import ANY_MODEL
from caffe_pytest.hookspecs import ProviderFactory, hookimpl
from caffe_pytest.model.answer import Answer, Outcome, Request
from caffe_pytest.model.test_case import ModelUnderTest
from caffe_pytest.model.triple import KnowledgeBase

NO_KEY = "no-key"
"""Sent to an address of the tester's own that names no key: a key in the environment is for the
provider it was issued by, and goes nowhere else."""

LONGEST_MESSAGE = 500

_import_lock = threading.Lock()


@hookimpl
def register_providers(register: Callable[[str, ProviderFactory], None]) -> None:
    """Register litellm for every model that no other provider claims."""
    register(ANY_MODEL, LiteLLMProvider)


class LiteLLMProvider:
    """Asks through `litellm.acompletion`."""

    def __init__(self, model: ModelUnderTest, _base: KnowledgeBase) -> None:
        self._model = model

    @cached_property
    def identity(self) -> Mapping[str, Any]:
        """The address decides the answers; the key does not."""
        address = {"api_base": self._model.api_base} if self._model.api_base else {}
        return {"provider": "litellm", **address}

    @cached_property
    def lane(self) -> str:
        """One lane for each address, or provider."""
        return self._model.api_base or self._model.model.partition("/")[0]

    def check_parameters(self, parameters: Mapping[str, Any]) -> None:
        """Any parameter is passed through: the model's provider knows which it takes."""

    async def ask(self, request: Request, *, timeout: float) -> Answer:
        """Send the messages; see `Provider.ask`."""
        litellm = await asyncio.to_thread(_litellm)
        access = self._access()
        try:
            reply = await litellm.acompletion(
                model=request.model,
                messages=[message._asdict() for message in request.messages],
                timeout=timeout,
                num_retries=0,
                max_retries=0,
                **access,
                **request.parameters,
            )
        except Exception as error:  # litellm raises its own errors, its providers', and plain ones
            raise _provider_error(error, litellm, access.get("api_key")) from error
        return _answer(reply)

    async def close(self) -> None:
        """Close the connections that litellm keeps."""
        litellm = _litellm()
        await litellm.close_litellm_async_clients()

    def _access(self) -> dict[str, str]:
        access: dict[str, str] = {}
        if self._model.api_base is not None:
            access["api_base"] = self._model.api_base
            if self._model.model.startswith("openai/"):
                access["api_key"] = NO_KEY
        if self._model.api_key is not None:
            name = self._model.api_key.removeprefix("env:")
            key = os.environ.get(name)
            if not key:
                message = f"the environment variable {name} is not set; put the key into it"
                raise ProviderError(Outcome.UNAUTHORISED, message)
            access["api_key"] = key
        return access


def _litellm() -> Any:
    with _import_lock:
        # without it litellm fetches its price list from the network when it is imported
        os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        import litellm

        litellm.suppress_debug_info = True
        litellm.telemetry = False
        logging.getLogger("LiteLLM").setLevel(logging.CRITICAL)
        return litellm


def _answer(reply: Any) -> Answer:
    try:
        choice = reply.choices[0]
        text, finish_reason = choice.message.content, str(choice.finish_reason or "")
    except (AttributeError, IndexError, TypeError) as error:
        message = "the reply holds no choice with a message; is this an OpenAI-compatible address?"
        raise ProviderError(Outcome.MALFORMED, message) from error
    if finish_reason == "length":
        message = "the answer was cut at the token limit; raise `max_tokens`"
        raise ProviderError(Outcome.TRUNCATED, message)
    if finish_reason == "content_filter":
        raise ProviderError(Outcome.FILTERED, "the provider's content filter held it back")
    usage = getattr(reply, "usage", None)
    counts = {
        name: count
        for name in ("prompt_tokens", "completion_tokens")
        if isinstance(count := getattr(usage, name, None), int)
    }
    return Answer(text or "", finish_reason, counts, str(getattr(reply, "model", "") or ""))


def _provider_error(error: Exception, litellm: Any, key: str | None) -> ProviderError:
    outcome = _outcome(error, litellm.exceptions)
    message = str(error) or type(error).__name__
    if key and key != NO_KEY:
        message = message.replace(key, "***")
    message = " ".join(message.split())
    if len(message) > LONGEST_MESSAGE:
        message = message[:LONGEST_MESSAGE] + " ..."
    return ProviderError(outcome, message, retry_after=_retry_after(error))


def _outcome(error: Exception, known: Any) -> Outcome:
    # the narrower classes first: litellm's content policy error is a bad request too
    table = [
        (known.ContentPolicyViolationError, Outcome.FILTERED),
        (known.AuthenticationError, Outcome.UNAUTHORISED),
        (known.PermissionDeniedError, Outcome.UNAUTHORISED),
        (known.RateLimitError, Outcome.RATE_LIMITED),
        (known.Timeout, Outcome.TIMEOUT),
        (known.NotFoundError, Outcome.REJECTED),
        (known.BadRequestError, Outcome.REJECTED),
        (known.UnprocessableEntityError, Outcome.REJECTED),
        (known.APIConnectionError, Outcome.UNREACHABLE),
        (known.ServiceUnavailableError, Outcome.UNREACHABLE),
        (known.InternalServerError, Outcome.UNREACHABLE),
        (known.APIResponseValidationError, Outcome.MALFORMED),
    ]
    for kind, outcome in table:
        if isinstance(error, kind):
            return outcome
    return Outcome.MALFORMED


def _retry_after(error: Exception) -> float | None:
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    try:
        return max(0.0, float(headers.get("retry-after", "")))
    except (TypeError, ValueError):
        return None
