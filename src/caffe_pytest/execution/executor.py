"""Asks models ahead of time: one event loop in a thread, and lanes with a limit each.

pytest runs items one by one, and so does the loop of `caffe run`. They submit the calls of items to
come, then wait for those of the item at hand. Adding a call costs microseconds: it joins a queue,
and at most as many tasks as the lane's limit work on it.
"""

from __future__ import annotations

import asyncio
import logging
import random
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
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

SHRINK = 0.7
"""What is left of a lane's limit when the provider says that it was too much."""

PATIENCE = 4
"""Times the attempts allowed after which a call is given up although the lane moves."""

LONGEST_FAREWELL = 2.0
"""Seconds a provider gets to end its calls, and again to close."""

_log = logging.getLogger(__name__)

Reply = Answer | ProviderError
"""What became of a call: an answer, or why there is none."""


@dataclass(frozen=True, slots=True)
class Call:
    """A request and who is to answer it."""

    provider: Provider
    request: Request
    timeout: float
    """Seconds for one attempt."""


@dataclass(slots=True, eq=False)
class _Turn:
    """A call in the queue of its lane, with what has happened to it so far."""

    call: Call
    attempts: int = 0
    spent: int = 0
    """Attempts that count: being told to wait does not while others of the lane are answered."""
    started: float = 0.0
    answered_before: int = 0


@dataclass(eq=False)
class _Lane:
    """Calls that share a limit. It shrinks when the provider asks for fewer, and grows back."""

    limit: int
    at_once: float
    """Calls that may be under way now, 1 to `limit`."""
    queue: deque[_Turn] = field(default_factory=deque)
    working: int = 0
    answered: int = 0
    closed_until: float = 0.0
    """Loop time before which nothing is sent: the provider asked for a pause."""
    shrunk_at: float = 0.0

    def grow(self) -> None:
        """One call more at once for every round of answers."""
        self.answered += 1
        self.at_once = min(self.limit, self.at_once + 1 / self.at_once)

    def shrink(self, sent: float, now: float) -> None:
        """Fewer at once, but only once for all calls that were under way together."""
        if sent >= self.shrunk_at:
            self.at_once = max(1.0, self.at_once * SHRINK)
            self.shrunk_at = now


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
        lanes: dict[str, _Lane] = {}
        for call in calls:
            key = call.request.key
            if key in self._open or key in self._failed or key in self._journal:
                continue
            self._open[key] = Future()
            name = call.provider.lane
            lane = self._lanes.get(name)
            if lane is None:
                lane = self._lanes[name] = _Lane(self._limit, at_once=self._limit)
            self._providers[id(call.provider)] = call.provider
            lane.queue.append(_Turn(call))
            lanes[name] = lane
        for lane in lanes.values():
            # also where all are busy: the last of them may be finding the queue empty just now
            self._wake(self._staff, lane)

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

    def forget_failures(self, calls: Sequence[Call]) -> None:
        """Let calls that brought no answer be asked once more."""
        for call in calls:
            self._failed.pop(call.request.key, None)

    def forget_queued(self) -> None:
        """Drop every call that has not been sent."""
        for lane in self._lanes.values():
            while (turn := _next(lane)) is not None:
                future = self._open.pop(turn.call.request.key, None)
                if future is not None:
                    future.cancel()

    def close(self) -> None:
        """Drop what is queued, cancel what is under way, close the providers, end the thread.

        A provider that fails to end or to close is left behind; its thread is a daemon.
        """
        self.forget_queued()
        self._wake(self._loop.stop)
        self._thread.join(timeout=3 * LONGEST_FAREWELL)

    def _wait_for(self, call: Call, meanwhile: Callable[[], None]) -> Reply:
        key = call.request.key
        for _ in range(2):
            self._await(key, meanwhile)
            if key in self._failed:
                return self._failed[key]
            answer = self._journal.read(key)
            if answer is not None:
                return answer
            self.submit([call])  # damaged on disk
        raise JournalError(
            f"{self._journal.path}: an answer just written cannot be read; is something else "
            "writing to this file, or is the disk damaged?"
        )

    def _await(self, key: str, meanwhile: Callable[[], None]) -> None:
        while (future := self._open.get(key)) is not None and self._fatal is None:
            try:
                future.result(timeout=SLICE)
            except TimeoutError:
                if not self._thread.is_alive():
                    self._fatal = CaffeError("a provider ended the thread that asks the models")
                meanwhile()
            else:
                self._open.pop(key, None)
        if self._fatal is not None:
            raise self._fatal

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._loop.run_until_complete(self._shut())
            self._loop.close()

    def _wake(self, callback: Callable[..., object], *arguments: object) -> None:
        with suppress(RuntimeError):  # the loop is closed: whoever waits is told so
            self._loop.call_soon_threadsafe(callback, *arguments)

    def _staff(self, lane: _Lane) -> None:
        for _ in range(min(int(lane.at_once) - lane.working, len(lane.queue))):
            lane.working += 1
            task = self._loop.create_task(self._work(lane))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _work(self, lane: _Lane) -> None:
        try:
            while lane.working <= lane.at_once and self._fatal is None:
                turn = _next(lane)
                if turn is None:
                    break
                await self._attend(turn, lane)
        except JournalError as error:
            self._fatal = error
        except Exception as error:  # a bug of ours: the waiting thread must hear of it
            self._fatal = CaffeError(f"asking models broke: {error!r}")
        finally:
            lane.working -= 1

    async def _attend(self, turn: _Turn, lane: _Lane) -> None:
        """One attempt: an answer, a failure, or back to the head of the queue."""
        while (seconds := lane.closed_until - self._loop.time()) > 0:
            await asyncio.sleep(seconds)
        request = turn.call.request
        sent = self._loop.time()
        turn.started = turn.started or time.monotonic()
        turn.attempts += 1
        turn.spent += 1
        try:
            answer = await self._ask(turn.call)
        except ProviderError as error:
            if await self._ask_again(turn, lane, error, sent):
                lane.queue.appendleft(turn)
                return
            # kept for the run: without the frames it was raised in
            error.__traceback__ = error.__cause__ = error.__context__ = None
            self._failed[request.key] = error
            self._journal.write_failure(
                request, error, seconds=_since(turn.started), attempts=turn.attempts
            )
        else:
            self._journal.write(
                request, answer, seconds=_since(turn.started), attempts=turn.attempts
            )
            lane.grow()
            self._staff(lane)
        future = self._open.get(request.key)
        if future is not None and not future.done():
            future.set_result(None)

    async def _ask(self, call: Call) -> Answer:
        try:
            async with asyncio.timeout(call.timeout):
                answer = await call.provider.ask(call.request, timeout=call.timeout)
                empty = not answer.text.strip()
        except ProviderError as error:
            if error.outcome in set(Outcome) - {Outcome.OK}:
                raise
            message = f"{error.outcome}: {error}"  # a word of a plugin's own
            raise ProviderError(Outcome.MALFORMED, message) from error
        except TimeoutError as error:
            message = f"no answer within {call.timeout:g} s; raise `timeout` or ask less at once"
            raise ProviderError(Outcome.TIMEOUT, message) from error
        except (Exception, SystemExit, asyncio.CancelledError) as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise  # by `close`
            message = f"the provider of {call.request.model} broke: {error!r}"
            raise ProviderError(Outcome.MALFORMED, message) from error
        if empty:
            raise ProviderError(Outcome.EMPTY, "the model returned an empty answer")
        return answer

    async def _ask_again(self, turn: _Turn, lane: _Lane, error: ProviderError, sent: float) -> bool:
        """Whether another attempt is due; waits for its time."""
        limited = error.outcome == Outcome.RATE_LIMITED
        if limited:
            lane.shrink(sent, self._loop.time())
            if lane.answered > turn.answered_before:
                turn.spent = min(turn.spent, 1)  # the lane moves: this call is only queueing
            turn.answered_before = lane.answered
        spent = turn.spent >= self._attempts or turn.attempts >= PATIENCE * self._attempts
        if spent or not Outcome(error.outcome).worth_retrying:
            return False
        seconds = _pause_after(error, turn.spent)
        if limited:
            # holds up the whole lane
            lane.closed_until = max(lane.closed_until, self._loop.time() + seconds)
        else:
            await asyncio.sleep(seconds)
        return True

    async def _shut(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=LONGEST_FAREWELL)
        await asyncio.gather(*(_close(provider) for provider in self._providers.values()))


def _next(lane: _Lane) -> _Turn | None:
    """The turn at the head of the queue, which two threads take from."""
    try:
        return lane.queue.popleft()
    except IndexError:
        return None


def _pause_after(error: ProviderError, attempts: int) -> float:
    """What the provider asked for and a little more, or full jitter."""
    if error.retry_after is not None:
        return min(error.retry_after, LONGEST_RETRY_AFTER) + random.uniform(0, FIRST_BACKOFF)
    longest = min(LONGEST_BACKOFF, FIRST_BACKOFF * 2**attempts)
    return random.uniform(FIRST_BACKOFF / 2, longest)


def _since(started: float) -> float:
    return time.monotonic() - started


async def _close(provider: Provider) -> None:
    try:
        async with asyncio.timeout(LONGEST_FAREWELL):
            await provider.close()
    except Exception as error:  # whatever a plugin raises: the answers are safe in the journal
        _log.warning("closing the provider of lane %s: %r", provider.lane, error)
