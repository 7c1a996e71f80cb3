"""Asks models ahead of time: one event loop in a thread, and lanes with a limit each.

pytest runs items one by one, and so does the loop of `caffe run`. They submit the calls of items to
come, then wait for those of the item at hand. Adding a call costs microseconds: it joins a queue,
and at most as many tasks as the lane's limit work on it.
"""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

from caffe_pytest.errors import CaffeError, JournalError, ProviderError
from caffe_pytest.execution.journal import Journal
from caffe_pytest.hookspecs import Provider
from caffe_pytest.model.answer import Answer, Outcome, Request

SLICE = 0.2
"""Seconds the main thread waits at a time, so that signals and timeouts arrive."""

FIRST_BACKOFF = 0.5
LONGEST_BACKOFF = 20.0
LONGEST_RETRY_AFTER = 120.0

Reply = Answer | ProviderError
"""What became of a call: an answer, or why there is none."""


@dataclass(frozen=True, slots=True)
class Call:
    """A request and who is to answer it."""

    provider: Provider
    request: Request
    timeout: float
    """Seconds for one attempt."""


@dataclass
class _Lane:
    limit: int
    queue: deque[Call] = field(default_factory=deque)
    working: int = 0
    closed_until: float = 0.0
    """Loop time before which nothing is sent: the provider asked for a pause."""


class Executor:
    """Asks each request at most once, and keeps every answer in the journal."""

    def __init__(self, journal: Journal, *, concurrency: int = 32, attempts: int = 5) -> None:
        self._journal = journal
        self._limit = concurrency
        self._attempts = attempts
        self._lanes: dict[str, _Lane] = {}
        self._providers: dict[int, Provider] = {}
        self._open: dict[str, Future[None]] = {}
        self._failed: dict[str, ProviderError] = {}
        self._fatal: CaffeError | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name="caffe-executor", daemon=True)
        self._thread.start()

    def submit(self, calls: Sequence[Call]) -> None:
        """Queue the calls that nobody has answered or asked yet; returns at once."""
        lanes: set[str] = set()
        for call in calls:
            key = call.request.key
            if key in self._open or key in self._failed or key in self._journal:
                continue
            self._open[key] = Future()
            lane = self._lanes.get(call.provider.lane)
            if lane is None:
                lane = self._lanes[call.provider.lane] = _Lane(self._limit)
            self._providers[id(call.provider)] = call.provider
            lane.queue.append(call)
            lanes.add(call.provider.lane)
        for name in lanes:
            if self._lanes[name].working < self._limit:
                self._loop.call_soon_threadsafe(self._staff, self._lanes[name])

    def wait(
        self, calls: Sequence[Call], meanwhile: Callable[[], None] = lambda: None
    ) -> list[Reply]:
        """The replies to the calls, in their order, submitting what is not under way.

        `meanwhile` is called now and then while they are not there yet.

        Raises:
            JournalError: an answer could not be written down; the run has to stop.
        """
        self.submit(calls)
        return [self._wait_for(call, meanwhile) for call in calls]

    def unfinished(self) -> int:
        """How many calls are queued or under way."""
        return sum(len(lane.queue) + lane.working for lane in self._lanes.values())

    def forget_queued(self) -> None:
        """Drop every call that has not been sent."""
        for lane in self._lanes.values():
            while lane.queue:
                try:
                    call = lane.queue.popleft()
                except IndexError:  # a worker took the last one
                    break
                future = self._open.pop(call.request.key, None)
                if future is not None:
                    future.cancel()

    def close(self) -> None:
        """Drop what is queued, cancel what is under way, close the providers, end the thread."""
        self.forget_queued()
        if not self._thread.is_alive():
            return
        asyncio.run_coroutine_threadsafe(self._shut(), self._loop).result(timeout=10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=10)
        self._loop.close()

    def _wait_for(self, call: Call, meanwhile: Callable[[], None]) -> Reply:
        key = call.request.key
        while (future := self._open.get(key)) is not None:
            try:
                future.result(timeout=SLICE)
            except TimeoutError:
                meanwhile()
                continue
            self._open.pop(key, None)
        if self._fatal is not None:
            raise self._fatal
        if key in self._failed:
            return self._failed[key]
        answer = self._journal.read(key)
        if answer is None:  # damaged on disk: ask again
            return self.wait([call])[0]
        return answer

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    def _staff(self, lane: _Lane) -> None:
        for _ in range(min(lane.limit - lane.working, len(lane.queue))):
            lane.working += 1
            task = self._loop.create_task(self._work(lane))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _work(self, lane: _Lane) -> None:
        try:
            while lane.queue:
                call = lane.queue.popleft()
                await self._settle(call, lane)
        finally:
            lane.working -= 1

    async def _settle(self, call: Call, lane: _Lane) -> None:
        """Bring one call to its end, whatever that is."""
        request = call.request
        started = time.monotonic()
        attempts = 0
        try:
            while True:
                await _pause(lane.closed_until - self._loop.time())
                attempts += 1
                try:
                    answer = await self._ask(call)
                except ProviderError as error:
                    if attempts >= self._attempts or not Outcome(error.outcome).worth_retrying:
                        self._failed[request.key] = error
                        self._journal.write_failure(
                            request, error, seconds=time.monotonic() - started, attempts=attempts
                        )
                        break
                    await self._back_off(error, attempts, lane)
                else:
                    seconds = time.monotonic() - started
                    self._journal.write(request, answer, seconds=seconds, attempts=attempts)
                    break
        except JournalError as error:
            self._fatal = error
        except Exception as error:  # a bug of ours or of a plugin: the waiting thread must hear it
            self._fatal = CaffeError(f"the call to {request.model} broke: {error!r}")
        finally:
            future = self._open.get(request.key)
            if future is not None and not future.done():
                future.set_result(None)

    async def _ask(self, call: Call) -> Answer:
        try:
            async with asyncio.timeout(call.timeout):
                answer = await call.provider.ask(call.request, timeout=call.timeout)
        except TimeoutError as error:
            message = f"no answer within {call.timeout:g} s; raise `timeout` or ask less at once"
            raise ProviderError(Outcome.TIMEOUT, message) from error
        if not answer.text.strip():
            raise ProviderError(Outcome.EMPTY, "the model returned an empty answer")
        return answer

    async def _back_off(self, error: ProviderError, attempts: int, lane: _Lane) -> None:
        """Full jitter, or what the provider asked for; a rate limit holds up the whole lane."""
        longest = min(LONGEST_BACKOFF, FIRST_BACKOFF * 2**attempts)
        seconds = random.uniform(FIRST_BACKOFF / 2, longest)
        if error.retry_after is not None:
            seconds = min(error.retry_after, LONGEST_RETRY_AFTER) + random.uniform(0, FIRST_BACKOFF)
        if error.outcome == Outcome.RATE_LIMITED:
            lane.closed_until = max(lane.closed_until, self._loop.time() + seconds)
        else:
            await _pause(seconds)

    async def _shut(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for provider in self._providers.values():
            await provider.close()


async def _pause(seconds: float) -> None:
    if seconds > 0:
        await asyncio.sleep(seconds)
