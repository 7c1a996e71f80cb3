"""A loopback server that speaks the OpenAI chat API, for tests and benchmarks.

It answers as the simulated models do, over the shipped knowledge base, so that an answer depends on
the messages alone. Faults are planted by the test, or said in the prompt. It listens on 127.0.0.1
only. As a process of its own it ends when its standard input closes, with whoever started it:

    python -m tests.openai_server --latency 0.02
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from aiohttp import web

from caffe_pytest.knowledge.load import load_base
from caffe_pytest.knowledge.shipped import shipped_folder
from caffe_pytest.model.answer import Message
from caffe_pytest.providers.simulated import Simulation

FaultKind = Literal[
    "rate-limit", "server-error", "overloaded", "unauthorised", "forbidden", "not-found",
    "bad-request", "too-long", "policy", "slow", "reset", "empty", "no-content", "length",
    "content-filter", "html", "no-choices", "broken-json", "refusal", "teapot", "abort",
    "model-length", "incomplete", "eos-token",
]  # fmt: skip

STATUS: Mapping[str, tuple[int, str]] = {
    "rate-limit": (429, "Rate limit reached for requests"),
    "server-error": (500, "The server had an error while processing your request"),
    "overloaded": (503, "The engine is currently overloaded"),
    "unauthorised": (401, "Incorrect API key provided"),
    "forbidden": (403, "You are not allowed to sample from this model"),
    "not-found": (404, "The model `xyz` does not exist"),
    "bad-request": (400, "Unrecognized request argument supplied: shape"),
    "too-long": (400, "This model's maximum context length is 16 tokens"),
    "policy": (400, "Your request was rejected as a result of our content management policy"),
    "teapot": (418, "I am a teapot"),
}

CODES = {"too-long": "context_length_exceeded", "policy": "content_policy_violation"}


@dataclass
class Fault:
    """What goes wrong, for requests whose last message contains `containing`."""

    kind: FaultKind
    containing: str = ""
    times: int | None = None
    """How many requests it strikes; None for all."""
    retry_after: float | None = None
    seconds: float = 0.0
    """How long a slow answer takes."""
    quoting_key: bool = False
    """The message of the error repeats the Authorization header."""


@dataclass(frozen=True)
class Recorded:
    """A request as it came over the wire."""

    body: dict[str, Any]
    headers: dict[str, str]
    at: float
    """`time.monotonic()` when it came."""

    @property
    def content(self) -> str:
        """What requests are counted by."""
        return content_of(self.body["model"], self.body["messages"])


def content_of(model: str, messages: Sequence[Mapping[str, str]]) -> str:
    """The key under which `counts` has a request."""
    turns = [[message["role"], message["content"]] for message in messages]
    return json.dumps([model, turns], ensure_ascii=False)


@dataclass
class Book:
    """What the server has seen."""

    keep_requests: bool = True
    requests: list[Recorded] = field(default_factory=list)
    received: Counter[str] = field(default_factory=Counter)
    answered: Counter[str] = field(default_factory=Counter)
    faults: int = 0
    under_way: int = 0
    most_under_way: int = 0

    def stats(self) -> dict[str, int]:
        """Totals."""
        return {
            "requests": self.received.total(),
            "answered": self.answered.total(),
            "contents": len(self.received),
            "answered_again": sum(times - 1 for times in self.answered.values()),
            "faults": self.faults,
            "most_under_way": self.most_under_way,
        }


class OpenAIServer:
    """The server in a thread of its own; a context manager.

    `url` is its address, `book` what it has seen.
    """

    def __init__(
        self, *, latency: float = 0.0, per_second: float | None = None, keep_requests: bool = True
    ) -> None:
        """`per_second` is a quota; requests beyond it are told to come again."""
        self.latency = latency
        self.book = Book(keep_requests)
        self.url = ""
        self._faults: list[Fault] = []
        self._quota = _Quota(per_second) if per_second else None
        self._simulation = shipped_simulation()
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._stop: asyncio.Event
        self._thread = threading.Thread(target=self._serve, name="openai-server", daemon=True)

    def __enter__(self) -> OpenAIServer:
        self._thread.start()
        assert self._ready.wait(timeout=10)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(timeout=10)

    def plant(self, kind: FaultKind, containing: str = "", **more: Any) -> None:
        """Let requests go wrong, see `Fault`; the fault planted first strikes first."""
        self._faults.append(Fault(kind, containing, **more))

    def heal(self) -> None:
        """No more faults."""
        self._faults.clear()

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve_until_stopped())
        self._loop.close()

    async def _serve_until_stopped(self) -> None:
        self._stop = asyncio.Event()
        app = web.Application(client_max_size=1 << 26)
        app.router.add_post("/v1/chat/completions", self._complete)
        app.router.add_get("/stats", self._stats)
        app.router.add_get("/counts", self._counts)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0, backlog=1024)
        await site.start()
        port = runner.addresses[0][1]
        self.url = f"http://127.0.0.1:{port}/v1"
        self._ready.set()
        await self._stop.wait()
        await runner.cleanup()

    async def _stats(self, request: web.Request) -> web.Response:
        return web.json_response(self.book.stats())

    async def _counts(self, request: web.Request) -> web.Response:
        return web.json_response({"received": self.book.received, "answered": self.book.answered})

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        book = self.book
        book.under_way += 1
        book.most_under_way = max(book.most_under_way, book.under_way)
        try:
            return await self._reply(request)
        finally:
            book.under_way -= 1

    async def _reply(self, request: web.Request) -> web.StreamResponse:
        book = self.book
        body = await request.json()
        recorded = Recorded(body, dict(request.headers), time.monotonic())
        book.received[recorded.content] += 1
        if book.keep_requests:
            book.requests.append(recorded)
        if self.latency:
            await asyncio.sleep(self.latency)
        if self._quota is not None and (seconds := self._quota.take()) > 0:
            book.faults += 1
            return _error("rate-limit", retry_after=seconds)
        fault = self._fault(body["messages"][-1]["content"])
        if fault is not None:
            book.faults += 1
            if fault.kind != "slow":
                return self._strike(fault, body, request)
            await asyncio.sleep(fault.seconds)
        # counted first: a client that is gone before it reads has been answered all the same
        book.answered[recorded.content] += 1
        return web.json_response(self._completion(body))

    def _fault(self, prompt: str) -> Fault | None:
        for fault in self._faults:
            if fault.containing in prompt and fault.times != 0:
                if fault.times is not None:
                    fault.times -= 1
                return fault
        return None

    def _strike(
        self, fault: Fault, body: dict[str, Any], request: web.Request
    ) -> web.StreamResponse:
        if fault.kind in STATUS:
            key = request.headers.get("Authorization", "") if fault.quoting_key else ""
            return _error(fault.kind, retry_after=fault.retry_after, more=key)
        if fault.kind == "reset":
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        if fault.kind == "html":
            return web.Response(text="<html><body>Welcome</body></html>", content_type="text/html")
        if fault.kind == "broken-json":
            return web.Response(text='{"id": "chatcmpl-1", "choi', content_type="application/json")
        completion = self._completion(body)
        choice = completion["choices"][0]
        if fault.kind == "no-choices":
            del completion["choices"]
        elif fault.kind == "empty":
            choice["message"]["content"] = " \n"
        elif fault.kind == "no-content":
            choice["message"]["content"] = None
        elif fault.kind == "refusal":
            choice["message"] = {
                "role": "assistant", "content": None, "refusal": "I can't help with that.",
            }  # fmt: skip
        else:
            choice["finish_reason"] = fault.kind.replace("-", "_")
        return web.json_response(completion)

    def _completion(self, body: dict[str, Any]) -> dict[str, Any]:
        messages = [Message(turn["role"], turn["content"]) for turn in body["messages"]]
        name = "simulated/fair" if "fair" in body["model"] else "simulated/biased"
        given: dict[str, Any] = {
            name: body[name] for name in ("temperature", "seed") if name in body
        }
        answer = self._simulation.answer(name, messages, given)
        asked, said = answer.usage["prompt_tokens"], answer.usage["completion_tokens"]
        return {
            "id": f"chatcmpl-{self.book.received.total()}",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": body["model"] + "-2026-01-01",
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": answer.text},
                    "finish_reason": "stop",
                }
            ],
            "usage": {
                "prompt_tokens": asked,
                "completion_tokens": said,
                "total_tokens": asked + said,
            },
        }


class _Quota:
    """A bucket that fills at a steady rate, as providers' quotas do."""

    def __init__(self, per_second: float) -> None:
        self._rate = per_second
        self._most = per_second
        self._left = per_second
        self._at = time.monotonic()

    def take(self) -> float:
        """0.0 where a request is within the quota, else the seconds until one will be."""
        now = time.monotonic()
        self._left = min(self._most, self._left + (now - self._at) * self._rate)
        self._at = now
        if self._left >= 1:
            self._left -= 1
            return 0.0
        return (1 - self._left) / self._rate


def _error(kind: str, *, retry_after: float | None = None, more: str = "") -> web.Response:
    status, message = STATUS[kind]
    headers = {} if retry_after is None else {"Retry-After": f"{retry_after:g}"}
    detail = {
        "message": f"{message} {more}".strip(), "type": "error", "param": None,
        "code": CODES.get(kind, kind),
    }  # fmt: skip
    return web.json_response({"error": detail}, status=status, headers=headers)


@cache
def shipped_simulation() -> Simulation:
    """The simulated models over the shipped knowledge base."""
    base = load_base(shipped_folder() / "crows-pairs" / "base.yaml")
    return Simulation.of(base.sha256, base.triples)


def main() -> None:
    """Serve until standard input closes; the first line printed is the address."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before each answer")
    parser.add_argument("--per-second", type=float, default=None, help="a quota")
    given = parser.parse_args()
    server = OpenAIServer(latency=given.latency, per_second=given.per_second, keep_requests=False)
    with server:
        print(server.url, flush=True)  # noqa: T201
        sys.stdin.buffer.read()


if __name__ == "__main__":
    # runs from anywhere: `python path/to/tests/openai_server.py`
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    main()
