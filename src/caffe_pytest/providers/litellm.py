"""Any model that litellm knows, and any OpenAI-compatible address.

litellm is imported with the first call: the import takes seconds, and nothing else needs it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any

from caffe_pytest.errors import ProviderError, WrongParameter
from caffe_pytest.extensions import ANY_MODEL
from caffe_pytest.hookspecs import ProviderFactory, hookimpl
from caffe_pytest.model.answer import Answer, Outcome, Request
from caffe_pytest.model.test_case import ModelUnderTest
from caffe_pytest.model.triple import KnowledgeBase

NO_KEY = "no-key"
"""Sent to an address of the tester's own that names no key: a key in the environment is for the
provider it was issued by, and goes nowhere else."""

LONGEST_MESSAGE = 500

OWN_FIELDS = {
    "api_base": "give `api_base` beside the model's name",
    "api_key": "give `api_key: env:NAME` beside the model's name: keys never stand in a file",
    "base_url": "give `api_base` beside the model's name",
    "max_retries": "failed calls are asked again by themselves",
    "messages": "messages come from `context` and `prompts`",
    "model": "give `model` beside the alias",
    "n": "each prompt is asked once",
    "num_retries": "failed calls are asked again by themselves",
    "stream": "answers are read whole",
    "timeout": "give `timeout` under `environment`",
}
"""Parameters of litellm that would get around what the test case says, with what to do instead."""

FINISHED = {"", "stop", "end", "end_turn", "eos", "eos_token", "stop_sequence", "stop_token",
            "complete", "completed", "done", "finished", "tool_calls", "tool_use",
            "function_call"}  # fmt: skip
"""Finish reasons of a whole answer, in the words of the providers."""
CUT = {"length", "max_tokens", "model_length", "incomplete", "max_output_tokens"}
HELD_BACK = {"content_filter", "content_filtered", "safety", "recitation", "blocklist",
             "prohibited_content", "guardrail_intervened", "refusal"}  # fmt: skip

REMEDIES = {
    Outcome.UNREACHABLE: "is it up, and can it be reached from here?",
    Outcome.UNAUTHORISED: "check the environment variable that holds its key",
    Outcome.REJECTED: "check the model's name, its parameters, and the address (most end in /v1)",
    Outcome.MALFORMED: "is this an OpenAI-compatible address?",
}

SECRET_NAMES = ("KEY", "TOKEN", "SECRET", "PASSWORD")
"""How the names of environment variables end whose values are kept out of messages."""
SHORTEST_SECRET = 8

_NO_CREDENTIALS = re.compile(r"missing credentials|missing\b.{0,40}\bapi.?key", re.IGNORECASE)

_CLASS_NAMES = re.compile(r"^(?:(?:litellm\.)?\w+(?:Error|Exception)(?: \w+Error)?(?:: | - ))+")
"""What litellm puts before a provider's own words."""

_import_lock = threading.Lock()


@hookimpl
def register_providers(register: Callable[[str, ProviderFactory], None]) -> None:
    """Register litellm for every model that no other provider claims."""
    register(ANY_MODEL, LiteLLMProvider)


class LiteLLMProvider:
    """Asks through `litellm.acompletion`."""

    def __init__(self, model: ModelUnderTest, _base: KnowledgeBase) -> None:
        self._model = model
        self._connected = False

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
        """Pass any parameter on, but for those that the test case has a field of its own for.

        Raises:
            WrongParameter: for the first of them.
        """
        for name in sorted(OWN_FIELDS.keys() & parameters.keys()):
            message = f"parameter {name} cannot stand here; {OWN_FIELDS[name]}"
            raise WrongParameter(name, message)
        for name, value in parameters.items():
            try:
                json.dumps(value)
            except TypeError as error:
                cause = f"parameter {name} cannot be sent: {error}"
                raise WrongParameter(name, f"{cause}; put the value in quotes") from error

    async def ask(self, request: Request, *, timeout: float) -> Answer:
        """Send the messages; see `Provider.ask`."""
        access = self._access()
        litellm = _litellm() if self._connected else await asyncio.to_thread(_litellm)
        self._connected = True
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
            where = self._model.api_base or self._model.model
            raise _provider_error(error, litellm, where, access.get("api_key")) from error
        return _answer(reply)

    async def close(self) -> None:
        """Close the connections that litellm keeps."""
        if self._connected:
            await _litellm().close_litellm_async_clients()

    def _access(self) -> dict[str, str]:
        access: dict[str, str] = {}
        if self._model.api_base is not None:
            access["api_base"] = self._model.api_base
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
        text, finish_reason = _text(choice.message), str(choice.finish_reason or "")
    except (AttributeError, IndexError, TypeError) as error:
        message = "the reply holds no choice with a message; is this an OpenAI-compatible address?"
        raise ProviderError(Outcome.MALFORMED, message) from error
    _refuse_unfinished(finish_reason, choice)
    usage = getattr(reply, "usage", None)
    counts = {
        name: count
        for name in ("prompt_tokens", "completion_tokens")
        if isinstance(count := getattr(usage, name, None), int)
    }
    return Answer(text, finish_reason, counts, str(getattr(reply, "model", "") or ""))


def _refuse_unfinished(finish_reason: str, choice: Any) -> None:
    """Raise ProviderError where the model did not come to the end of its answer by itself."""
    # litellm calls a reason it does not know `stop`, and keeps the provider's word here
    own_fields = getattr(choice, "provider_specific_fields", None) or {}
    reason = str(own_fields.get("native_finish_reason") or finish_reason).casefold()
    if reason in CUT:
        message = "the answer was cut at the token limit; raise `max_tokens`"
        raise ProviderError(Outcome.TRUNCATED, message)
    if reason in HELD_BACK:
        raise ProviderError(Outcome.FILTERED, "the provider's content filter held it back")
    if reason not in FINISHED:
        message = f'the answer is not whole: its finish reason is "{reason}"'
        raise ProviderError(Outcome.MALFORMED, message)


def _text(message: Any) -> str:
    """What the model said; some models decline in a field of its own."""
    own_fields = getattr(message, "provider_specific_fields", None) or {}
    return message.content or own_fields.get("refusal") or ""


def _provider_error(error: Exception, litellm: Any, where: str, key: str | None) -> ProviderError:
    text = str(error).partition("\nTraceback ")[0] or type(error).__name__
    # litellm reports a missing key as an error of the server, or of the connection
    unauthorised = _NO_CREDENTIALS.search(text) is not None
    outcome = Outcome.UNAUTHORISED if unauthorised else _outcome(error, litellm.exceptions)
    message = _CLASS_NAMES.sub("", " ".join(text.split())) or type(error).__name__
    for secret in _secrets(key):
        message = message.replace(secret, "***")
    if len(message) > LONGEST_MESSAGE:
        message = message[:LONGEST_MESSAGE] + " ..."
    remedy = REMEDIES.get(outcome)
    told = f"{where}: {message}; {remedy}" if remedy else f"{where}: {message}"
    return ProviderError(outcome, told, retry_after=_retry_after(error))


def _secrets(key: str | None) -> list[str]:
    """The key that was sent, and any that litellm may have found in the environment.

    The longest first, so that none is left over in part.
    """
    found = {value for name, value in os.environ.items() if name.upper().endswith(SECRET_NAMES)}
    secrets = {value for value in found if len(value) >= SHORTEST_SECRET}
    if key and key != NO_KEY:
        secrets.add(key)
    return sorted(secrets, key=len, reverse=True)


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
        (known.APIResponseValidationError, Outcome.MALFORMED),
    ]
    if getattr(error, "code", None) in ("content_policy_violation", "content_filter"):
        return Outcome.FILTERED
    for kind, outcome in table:
        if isinstance(error, kind):
            return outcome
    return _by_status(error)


def _by_status(error: Exception) -> Outcome:
    # litellm gives the status 500 also to a reply that it could not read
    status = getattr(error, "status_code", None)
    if not isinstance(status, int) or not _went_wrong_there(error):
        return Outcome.MALFORMED
    if status in (401, 403):
        return Outcome.UNAUTHORISED
    return Outcome.REJECTED if 400 <= status < 500 else Outcome.UNREACHABLE


def _went_wrong_there(error: Exception) -> bool:
    """Whether the network or the server failed, by what the error was raised from."""
    import httpx
    import openai

    kinds = (OSError, httpx.HTTPError, openai.APIConnectionError, openai.APIStatusError)
    return any(
        isinstance(cause, kinds) and not type(cause).__module__.startswith("litellm")
        for cause in _causes(error)
    )


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause = error.__cause__ or error.__context__
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__


def _retry_after(error: Exception) -> float | None:
    # the provider's headers; `response` of most litellm errors is an empty one of its own
    response = getattr(error, "response", None)
    for headers in (
        getattr(error, "litellm_response_headers", None), getattr(response, "headers", None),
    ):  # fmt: skip
        try:
            return max(0.0, float((headers or {})["retry-after"]))
        except (KeyError, ValueError):
            continue
    return None
