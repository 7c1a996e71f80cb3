"""The executor: who is asked, how often, how many at once, and that nothing ever hangs."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from caffe_pytest.errors import CaffeError, JournalError, ProviderError
from caffe_pytest.execution import executor as module
from caffe_pytest.execution.executor import Call, Executor, Reply
from caffe_pytest.execution.journal import Journal
from caffe_pytest.model.answer import Answer, Message, Outcome, Request

Behaviour = Callable[[str, int], Awaitable[Answer]]


async def echo(prompt: str, attempt: int) -> Answer:
    return Answer(f"answer to {prompt}", "stop")


class Scripted:
    """A provider that does what the test says, and notes what it was asked."""

    identity: Mapping[str, Any] = {"provider": "scripted"}

    def __init__(self, behaviour: Behaviour = echo, lane: str = "scripted") -> None:
        self.lane = lane
        self.asked: Counter[str] = Counter()
        self.times: list[float] = []
        self.under_way = 0
        self.most_under_way = 0
        self.closed = 0
        self._behaviour = behaviour

    def check_parameters(self, parameters: Mapping[str, Any]) -> None:
        pass

    async def ask(self, request: Request, *, timeout: float) -> Answer:
        prompt = request.messages[-1].content
        self.asked[prompt] += 1
        self.times.append(time.monotonic())
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            return await self._behaviour(prompt, self.asked[prompt])
        finally:
            self.under_way -= 1

    async def close(self) -> None:
        self.closed += 1


def call(provider: Scripted, prompt: str, timeout: float = 5.0) -> Call:
    request = Request(provider.identity, "scripted/one", {}, (Message("user", prompt),))
    return Call(provider, request, timeout)


def calls(provider: Scripted, number: int, prefix: str = "prompt") -> list[Call]:
    return [call(provider, f"{prefix} {index}") for index in range(number)]


def after(seconds: float) -> Behaviour:
    async def behaviour(prompt: str, attempt: int) -> Answer:
        await asyncio.sleep(seconds)
        return Answer(f"answer to {prompt}")

    return behaviour


def failing(error: BaseException, attempts: int = 1_000) -> Behaviour:
    """Raises `error` at the first so many attempts."""

    async def behaviour(prompt: str, attempt: int) -> Answer:
        if attempt <= attempts:
            raise error
        return Answer(f"answer to {prompt}")

    return behaviour


def texts(replies: list[Reply]) -> list[str]:
    return [reply.text if isinstance(reply, Answer) else reply.outcome for reply in replies]


def until(condition: Callable[[], bool], seconds: float = 5.0) -> bool:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.002)
    return condition()


@pytest.fixture(autouse=True)
def _hardly_any_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FIRST_BACKOFF", 0.002)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    opened = Journal(tmp_path / "journal.jsonl", "run-1")
    yield opened
    opened.close()


@pytest.fixture
def executor(journal: Journal) -> Iterator[Executor]:
    started = Executor(journal, concurrency=4)
    yield started
    started.close()


# -- what is asked --------------------------------------------------------------------------------


def test_replies_come_in_the_order_of_the_calls(executor: Executor) -> None:
    async def later_ones_sooner(prompt: str, attempt: int) -> Answer:
        await asyncio.sleep(0.02 if prompt.endswith("0") else 0)
        return Answer(prompt)

    replies = executor.wait(calls(Scripted(later_ones_sooner), 4))

    assert texts(replies) == ["prompt 0", "prompt 1", "prompt 2", "prompt 3"]


def test_a_request_under_way_is_not_asked_again(executor: Executor) -> None:
    provider = Scripted(after(0.05))
    executor.submit([call(provider, "same")])
    assert until(lambda: provider.under_way == 1)

    replies = executor.wait([call(provider, "same"), call(provider, "same")])

    assert texts(replies) == ["answer to same"] * 2
    assert provider.asked["same"] == 1


def test_a_request_answered_before_is_not_asked_again(executor: Executor) -> None:
    provider = Scripted()
    executor.wait(calls(provider, 3))

    executor.submit(calls(provider, 3))
    replies = executor.wait(calls(provider, 3))

    assert texts(replies) == [f"answer to prompt {index}" for index in range(3)]
    assert set(provider.asked.values()) == {1}


def test_what_an_earlier_journal_holds_is_never_asked(tmp_path: Path) -> None:
    provider = Scripted()
    earlier = Journal(tmp_path / "earlier.jsonl", "run-0")
    earlier.write(call(provider, "known").request, Answer("long known"), seconds=1, attempts=1)
    earlier.close()
    journal = Journal(tmp_path / "journal.jsonl", "run-1", [tmp_path / "earlier.jsonl"])
    executor = Executor(journal)

    replies = executor.wait([call(provider, "known"), call(provider, "new")])
    executor.close()
    journal.close()

    assert texts(replies) == ["long known", "answer to new"]
    assert provider.asked == {"new": 1}


def test_repetitions_are_calls_of_their_own(executor: Executor) -> None:
    provider = Scripted()
    requests = [
        Request(provider.identity, "m", {}, (Message("user", "same"),), repetition)
        for repetition in range(3)
    ]

    executor.wait([Call(provider, request, 1.0) for request in requests])

    assert provider.asked["same"] == 3


# -- how many at once -----------------------------------------------------------------------------


def test_no_more_calls_are_under_way_than_allowed(executor: Executor) -> None:
    provider = Scripted(after(0.01))

    executor.wait(calls(provider, 40))

    assert provider.most_under_way == 4


def test_lanes_do_not_wait_for_each_other(executor: Executor) -> None:
    slow, quick = Scripted(after(30), lane="slow"), Scripted(lane="quick")
    executor.submit(calls(slow, 20))

    started = time.monotonic()
    replies = executor.wait(calls(quick, 20, "quick"))

    assert len(replies) == 20
    assert time.monotonic() - started < 2
    assert until(lambda: slow.under_way == 4)


def test_two_providers_of_one_lane_share_its_limit(executor: Executor) -> None:
    total = {"now": 0, "most": 0}

    async def counted(prompt: str, attempt: int) -> Answer:
        total["now"] += 1
        total["most"] = max(total["most"], total["now"])
        await asyncio.sleep(0.01)
        total["now"] -= 1
        return Answer(prompt)

    one, other = Scripted(counted), Scripted(counted)

    executor.wait([*calls(one, 10, "a"), *calls(other, 10, "b")])

    assert total["most"] == 4


def test_a_call_submitted_while_workers_run_out_of_work_is_answered(executor: Executor) -> None:
    # a lost wake-up would leave it in the queue: workers end while the main thread appends
    provider = Scripted()

    for number in range(3_000):
        executor.submit([call(provider, f"{number}")])
    replies = executor.wait([call(provider, f"{number}") for number in range(3_000)])

    assert len(replies) == 3_000
    assert until(lambda: executor.unfinished() == 0)


# -- what goes wrong ------------------------------------------------------------------------------


@pytest.mark.parametrize("outcome", [o for o in Outcome if o.worth_retrying])
def test_what_may_pass_is_asked_again(executor: Executor, outcome: Outcome) -> None:
    provider = Scripted(failing(ProviderError(outcome, "not now"), attempts=2))

    replies = executor.wait([call(provider, "once more")])

    assert texts(replies) == ["answer to once more"]
    assert provider.asked["once more"] == 3


@pytest.mark.parametrize("outcome", [o for o in Outcome if not o.worth_retrying and o != "ok"])
def test_what_will_not_pass_is_asked_once(executor: Executor, outcome: Outcome) -> None:
    provider = Scripted(failing(ProviderError(outcome, "never")))

    replies = executor.wait([call(provider, "hopeless")])

    assert texts(replies) == [outcome]
    assert provider.asked["hopeless"] == 1


def test_a_call_is_given_up_after_the_attempts_allowed(journal: Journal) -> None:
    executor = Executor(journal, attempts=3)
    provider = Scripted(failing(ProviderError(Outcome.UNREACHABLE, "down")))

    replies = executor.wait([call(provider, "hopeless")])
    executor.close()

    assert texts(replies) == ["unreachable"]
    assert provider.asked["hopeless"] == 3


def test_an_empty_answer_is_asked_again_and_then_a_failure(journal: Journal) -> None:
    async def nothing(prompt: str, attempt: int) -> Answer:
        return Answer(" \n\t")

    executor = Executor(journal, attempts=2)
    provider = Scripted(nothing)

    (reply,) = executor.wait([call(provider, "quiet")])
    executor.close()

    assert isinstance(reply, ProviderError)
    assert reply.outcome == Outcome.EMPTY
    assert provider.asked["quiet"] == 2


def test_each_attempt_has_its_own_time(journal: Journal) -> None:
    async def slow_at_first(prompt: str, attempt: int) -> Answer:
        await asyncio.sleep(30 if attempt == 1 else 0)
        return Answer("late but there")

    executor = Executor(journal)
    provider = Scripted(slow_at_first)

    replies = executor.wait([call(provider, "slow", timeout=0.05)])
    executor.close()

    assert texts(replies) == ["late but there"]


def test_a_timeout_says_how_long_was_waited(journal: Journal) -> None:
    executor = Executor(journal, attempts=1)

    (reply,) = executor.wait([call(Scripted(after(30)), "slow", timeout=0.05)])
    executor.close()

    assert isinstance(reply, ProviderError)
    assert reply.outcome == Outcome.TIMEOUT
    assert "no answer within 0.05 s" in str(reply)


def test_a_failure_is_not_asked_again_in_the_run_but_by_the_next(tmp_path: Path) -> None:
    provider = Scripted(failing(ProviderError(Outcome.REJECTED, "no"), attempts=1))
    path = tmp_path / "journal.jsonl"

    def run(earlier: list[Path], own: Path) -> list[Reply]:
        journal = Journal(own, "run", earlier)
        executor = Executor(journal)
        replies = [executor.wait([call(provider, "moody")])[0] for _ in range(2)]
        executor.close()
        journal.close()
        return replies

    first = run([], path)
    second = run([path], tmp_path / "second.jsonl")

    assert texts(first) == ["rejected", "rejected"]
    assert texts(second) == ["answer to moody", "answer to moody"]
    assert provider.asked["moody"] == 2


def test_a_kept_failure_holds_no_frames(executor: Executor) -> None:
    provider = Scripted(failing(ProviderError(Outcome.REJECTED, "no")))

    (reply,) = executor.wait([call(provider, "hopeless")])

    assert isinstance(reply, ProviderError)
    assert (reply.__traceback__, reply.__cause__, reply.__context__) == (None, None, None)


@pytest.mark.parametrize(
    "error", [KeyError("choices"), SystemExit(3), asyncio.CancelledError(), CaffeError("no base")]
)
def test_a_provider_that_breaks_fails_its_call_and_no_other(
    journal: Journal, error: BaseException
) -> None:
    async def breaks_now_and_then(prompt: str, attempt: int) -> Answer:
        if prompt == "bad":
            raise error
        return Answer(prompt)

    executor = Executor(journal, attempts=2)
    provider = Scripted(breaks_now_and_then)

    replies = executor.wait([call(provider, "bad"), *calls(provider, 5)])
    executor.close()

    assert texts(replies)[0] == "malformed"
    assert type(error).__name__ in str(replies[0])
    assert texts(replies)[1:] == [f"prompt {index}" for index in range(5)]


def test_a_provider_that_returns_no_answer_fails_its_call(journal: Journal) -> None:
    async def nothing_at_all(prompt: str, attempt: int) -> Answer:
        return None  # type: ignore[return-value]

    executor = Executor(journal, attempts=1)

    replies = executor.wait([call(Scripted(nothing_at_all), "hello")])
    executor.close()

    assert texts(replies) == ["malformed"]


def test_an_answer_that_cannot_be_written_down_stops_the_run(
    journal: Journal, executor: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*given: Any, **more: Any) -> None:
        raise JournalError("disk full")

    monkeypatch.setattr(journal, "write", full)
    provider = Scripted(after(0.005))

    with pytest.raises(JournalError, match="disk full"):
        executor.wait(calls(provider, 200))
    asked = provider.asked.total()
    time.sleep(0.05)

    assert provider.asked.total() == asked <= 12, "what cannot be kept must not be paid for"


def test_an_answer_that_cannot_be_read_back_is_asked_once_more_and_no_more(
    journal: Journal, executor: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(key: str) -> None:
        journal._places.pop(bytes.fromhex(key), None)

    monkeypatch.setattr(journal, "read", damaged)
    provider = Scripted()

    with pytest.raises(JournalError, match="cannot be read"):
        executor.wait([call(provider, "lost")])

    assert provider.asked["lost"] <= 3


# -- rate limits ----------------------------------------------------------------------------------


def test_retry_after_is_honoured_and_holds_up_the_whole_lane(executor: Executor) -> None:
    told = ProviderError(Outcome.RATE_LIMITED, "slow down", retry_after=0.2)

    async def limited_at_first(prompt: str, attempt: int) -> Answer:
        if prompt == "prompt 0" and attempt == 1:
            raise told
        await asyncio.sleep(0.01)
        return Answer(prompt)

    provider = Scripted(limited_at_first)

    executor.wait(calls(provider, 40))

    gaps = [
        later - sooner for sooner, later in zip(provider.times, provider.times[1:], strict=False)
    ]
    assert sum(gap >= 0.15 for gap in gaps) == 1
    assert provider.asked.total() == 41


def test_another_lane_goes_on_during_a_pause(executor: Executor) -> None:
    told = ProviderError(Outcome.RATE_LIMITED, "slow down", retry_after=60)
    limited, free = Scripted(failing(told), lane="limited"), Scripted(lane="free")
    executor.submit(calls(limited, 3))

    replies = executor.wait(calls(free, 10, "free"))

    assert len(replies) == 10


def test_fewer_calls_are_under_way_after_a_rate_limit(journal: Journal) -> None:
    async def at_most_three(prompt: str, attempt: int) -> Answer:
        if provider.under_way > 3:
            raise ProviderError(Outcome.RATE_LIMITED, "too many", retry_after=0.005)
        await asyncio.sleep(0.002)
        return Answer(prompt)

    provider = Scripted(at_most_three)
    executor = Executor(journal, concurrency=32)

    replies = executor.wait(calls(provider, 300))
    executor.close()

    assert all(isinstance(reply, Answer) for reply in replies)
    refused = provider.asked.total() - 300
    assert refused < 300, f"{refused} calls were refused"


def test_a_quota_fails_no_call_while_the_lane_moves(journal: Journal) -> None:
    """60 answers at 200 a second, 32 at once: five attempts would not do for many of them."""
    left = {"at": time.monotonic(), "calls": 1.0}

    async def quota(prompt: str, attempt: int) -> Answer:
        now = time.monotonic()
        left["calls"] = min(2.0, left["calls"] + (now - left["at"]) * 200)
        left["at"] = now
        if left["calls"] < 1:
            raise ProviderError(Outcome.RATE_LIMITED, "quota", retry_after=0.005)
        left["calls"] -= 1
        return Answer(prompt)

    executor = Executor(journal, concurrency=32)

    replies = executor.wait(calls(Scripted(quota), 60))
    executor.close()

    assert all(isinstance(reply, Answer) for reply in replies)


def test_a_lane_that_is_always_limited_is_given_up(executor: Executor) -> None:
    told = ProviderError(Outcome.RATE_LIMITED, "insufficient quota", retry_after=0.0)

    replies = executor.wait(calls(Scripted(failing(told)), 6))

    assert texts(replies) == ["rate-limited"] * 6


def test_a_call_that_alone_is_always_limited_is_given_up(executor: Executor) -> None:
    async def too_large_for_any_quota(prompt: str, attempt: int) -> Answer:
        if prompt == "huge":
            raise ProviderError(Outcome.RATE_LIMITED, "request too large", retry_after=0.0)
        return Answer(prompt)

    provider = Scripted(too_large_for_any_quota)

    replies = executor.wait([call(provider, "huge"), *calls(provider, 2_000)])

    assert texts(replies)[0] == "rate-limited"
    assert provider.asked["huge"] <= 20
    assert all(isinstance(reply, Answer) for reply in replies[1:])


# -- ending ---------------------------------------------------------------------------------------


def test_close_ends_promptly_while_calls_are_under_way(journal: Journal) -> None:
    executor = Executor(journal, concurrency=8)
    provider = Scripted(after(60))
    executor.submit(calls(provider, 100))
    assert until(lambda: provider.under_way == 8)

    started = time.monotonic()
    executor.close()

    assert time.monotonic() - started < 1
    assert provider.closed == 1
    assert provider.asked.total() == 8
    assert "caffe-executor" not in {thread.name for thread in threading.enumerate()}


def test_closing_twice_does_no_harm(journal: Journal) -> None:
    executor = Executor(journal)
    executor.wait(calls(Scripted(), 2))

    executor.close()
    executor.close()


@pytest.mark.parametrize("wrong", ["raises", "hangs"])
def test_a_provider_that_does_not_close_holds_up_nobody(
    journal: Journal, monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    class Stubborn(Scripted):
        async def close(self) -> None:
            if wrong == "raises":
                raise RuntimeError("no")
            await asyncio.sleep(60)

    monkeypatch.setattr(module, "LONGEST_FAREWELL", 0.05)
    executor = Executor(journal)
    good = Scripted(lane="good")
    executor.wait([*calls(Stubborn(), 1), *calls(good, 1, "good")])

    executor.close()

    assert good.closed == 1
    assert "caffe-executor" not in {thread.name for thread in threading.enumerate()}


def test_a_provider_that_will_not_be_cancelled_holds_up_nobody(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    released = threading.Event()

    async def blocks_the_loop(prompt: str, attempt: int) -> Answer:
        released.wait(10)
        return Answer("too late")

    monkeypatch.setattr(module, "LONGEST_FAREWELL", 0.05)
    executor = Executor(journal)
    provider = Scripted(blocks_the_loop)
    executor.submit(calls(provider, 1))
    assert until(lambda: provider.under_way == 1)

    started = time.monotonic()
    executor.close()
    took = time.monotonic() - started
    journal.close()
    released.set()

    assert took < 2
    assert until(lambda: "caffe-executor" not in {t.name for t in threading.enumerate()})


def test_queued_calls_can_be_forgotten(executor: Executor) -> None:
    gate = threading.Event()

    async def gated(prompt: str, attempt: int) -> Answer:
        while not gate.is_set():
            await asyncio.sleep(0.002)
        return Answer(prompt)

    provider = Scripted(gated)
    executor.submit(calls(provider, 50))
    assert until(lambda: provider.under_way == 4)

    executor.forget_queued()
    gate.set()

    assert until(lambda: executor.unfinished() == 0)
    assert provider.asked.total() == 4
    assert texts(executor.wait([call(provider, "prompt 49")])) == ["prompt 49"]


def test_the_waiting_thread_looks_up_now_and_then(executor: Executor) -> None:
    looked = []

    executor.wait([call(Scripted(after(0.5)), "slow")], meanwhile=lambda: looked.append(1))

    assert looked


def test_ctrl_c_arrives_while_an_answer_is_waited_for(executor: Executor) -> None:
    async def presses_ctrl_c(prompt: str, attempt: int) -> Answer:
        os.kill(os.getpid(), signal.SIGINT)
        return await after(60)(prompt, attempt)

    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        executor.wait(calls(Scripted(presses_ctrl_c), 1))
    executor.close()

    assert time.monotonic() - started < 2


def test_a_loop_that_died_is_noticed(executor: Executor) -> None:
    provider = Scripted(after(60))
    executor.submit(calls(provider, 1))
    executor._loop.call_soon_threadsafe(executor._loop.stop)

    with pytest.raises(CaffeError, match="ended the thread"):
        executor.wait(calls(provider, 1))
    with pytest.raises(CaffeError, match="ended the thread"):
        executor.wait(calls(provider, 3))

    assert provider.closed == 1


# -- cost -----------------------------------------------------------------------------------------


def test_adding_a_call_costs_microseconds(executor: Executor) -> None:
    waiting = calls(Scripted(after(60)), 20_000)
    for one in waiting:
        assert one.request.key  # hashing is not what is measured

    started = time.perf_counter()
    executor.submit(waiting)
    each = (time.perf_counter() - started) / len(waiting)

    assert each < 100e-6, f"{each * 1e6:.1f} microseconds"


def test_nothing_is_kept_of_calls_that_were_waited_for(executor: Executor) -> None:
    provider = Scripted()

    executor.wait(calls(provider, 500))

    assert not executor._open
    assert until(lambda: not executor._tasks)
