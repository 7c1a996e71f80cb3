"""The journal: what is written is read again, whatever happened to the file or the process."""

from __future__ import annotations

import errno
import json
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from caffe_pytest.errors import JournalError, ProviderError
from caffe_pytest.execution.journal import Journal, count, join
from caffe_pytest.model.answer import Answer, Message, Outcome, Request


def request(prompt: str, repetition: int = 0) -> Request:
    identity = {"provider": "scripted"}
    return Request(identity, "m/one", {"temperature": 0.7}, (Message("user", prompt),), repetition)


def write(journal: Journal, *prompts: str) -> None:
    for prompt in prompts:
        journal.write(request(prompt), Answer(f"answer to {prompt}"), seconds=0.1, attempts=1)


def filled(path: Path, *prompts: str, run: str = "run-1") -> Path:
    journal = Journal(path, run)
    write(journal, *prompts)
    journal.close()
    return path


def read(path: Path, prompt: str) -> str | None:
    journal = Journal(path, "reader")
    answer = journal.read(request(prompt).key)
    journal.close()
    return answer.text if answer else None


TEXTS = {
    "plain": "An answer.",
    "emoji": "Fine \N{GRINNING FACE}\N{ZERO WIDTH JOINER}\N{WOMAN} e\N{COMBINING ACUTE ACCENT}",
    "lone surrogate": "broken \ud83d half",
    "lines": 'one\ntwo\r\nthree\u2028four\u0085"quoted"\\',
    "control characters": "\x00\x1b[31mred\x7f",
    "looks like a line": '{"key":"' + "0" * 64 + '","outcome":"ok","run":"x"}\n',
    "a megabyte": "long " * 200_000,
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_an_answer_is_read_as_it_was_written(tmp_path: Path, text: str) -> None:
    path = tmp_path / "journal.jsonl"
    answer = Answer(text, "stop", {"prompt_tokens": 3}, "one-2026")
    writer = Journal(path, "run-1")
    writer.write(request("hello"), answer, seconds=0.1, attempts=1)

    again = writer.read(request("hello").key)
    writer.close()
    reader = Journal(tmp_path / "other.jsonl", "run-2", [path])
    later = reader.read(request("hello").key)
    reader.close()

    assert again == answer
    assert later == answer


def test_a_prompt_with_a_lone_surrogate_has_a_key_and_a_line(tmp_path: Path) -> None:
    path = filled(tmp_path / "journal.jsonl", "half \ud83d")

    assert read(path, "half \ud83d") == "answer to half \ud83d"


def test_a_line_says_all_that_was_asked(tmp_path: Path) -> None:
    path = filled(tmp_path / "journal.jsonl", "hello")

    record = json.loads(path.read_text())

    assert record["request"] == {
        "identity": {"provider": "scripted"}, "model": "m/one",
        "parameters": {"temperature": 0.7}, "messages": [["user", "hello"]], "repetition": 0,
    }  # fmt: skip
    assert record["key"] == request("hello").key
    assert (record["outcome"], record["run"]) == ("ok", "run-1")


def test_a_torn_last_line_is_repaired_wherever_it_was_torn(tmp_path: Path) -> None:
    path = filled(tmp_path / "journal.jsonl", "first", "second", "third")
    whole = path.read_bytes()
    last = whole.rindex(b"\n", 0, -1) + 1

    for end in range(last, len(whole)):
        path.write_bytes(whole[:end])
        journal = Journal(path, "run-2")
        there = [request(prompt).key in journal for prompt in ("first", "second", "third")]
        write(journal, "third")
        answers = [journal.read(request(prompt).key) for prompt in ("first", "second", "third")]
        journal.close()

        assert there == [True, True, False], end
        assert [answer.text for answer in answers if answer] == [
            "answer to first", "answer to second", "answer to third",
        ]  # fmt: skip
        assert all(json.loads(line) for line in path.read_bytes().splitlines())


def test_a_torn_last_line_of_an_earlier_journal_is_never_read(tmp_path: Path) -> None:
    path = filled(tmp_path / "earlier.jsonl", "first", "second")
    torn = path.read_bytes()[:-20]
    path.write_bytes(torn)

    journal = Journal(tmp_path / "journal.jsonl", "run-2", [path])
    there = [request(prompt).key in journal for prompt in ("first", "second")]
    journal.close()

    assert there == [True, False]
    assert path.read_bytes() == torn, "another run's journal is not ours to repair"


@pytest.mark.parametrize("damage", [b"\x00" * 40, b"{{{{", b"\xff\xfe"], ids=repr)
def test_a_damaged_line_is_as_if_it_had_never_been_asked(tmp_path: Path, damage: bytes) -> None:
    path = filled(tmp_path / "journal.jsonl", "first", "second", "third")
    lines = path.read_bytes().splitlines(keepends=True)
    lines[1] = lines[1][:150] + damage + lines[1][150 + len(damage) :]
    path.write_bytes(b"".join(lines))

    assert read(path, "first") == "answer to first"
    assert read(path, "second") is None
    assert read(path, "third") == "answer to third"


def test_an_answer_of_an_earlier_run_is_adopted_verbatim(tmp_path: Path) -> None:
    earlier = filled(tmp_path / "earlier.jsonl", "known", "not needed", run="run-0")
    path = tmp_path / "journal.jsonl"
    journal = Journal(path, "run-1", [earlier])

    for _ in range(2):
        journal.read(request("known").key)
    journal.close()

    assert path.read_bytes() == earlier.read_bytes().splitlines(keepends=True)[0]
    assert count(path, "run-1") == (0, 1, {})


def test_the_journal_given_first_wins(tmp_path: Path) -> None:
    newer, older = tmp_path / "newer.jsonl", tmp_path / "older.jsonl"
    for path, text in ((newer, "new"), (older, "old")):
        journal = Journal(path, path.stem)
        journal.write(request("same"), Answer(text), seconds=0, attempts=1)
        journal.close()

    journal = Journal(tmp_path / "journal.jsonl", "run", [newer, older])
    answer = journal.read(request("same").key)
    journal.close()

    assert answer is not None
    assert answer.text == "new"


def test_an_earlier_journal_that_is_gone_costs_only_its_answers(tmp_path: Path) -> None:
    earlier = filled(tmp_path / "earlier.jsonl", "known")
    journal = Journal(
        tmp_path / "journal.jsonl", "run", [earlier, tmp_path / "never.jsonl", tmp_path]
    )

    earlier.unlink()
    answer = journal.read(request("known").key)
    journal.close()

    assert answer is None


def test_what_other_workers_append_is_found(tmp_path: Path) -> None:
    other = tmp_path / "journal.gw1.jsonl"
    writer = Journal(other, "run")
    journal = Journal(tmp_path / "journal.gw0.jsonl", "run", [other])
    write(writer, "first")
    journal.also_read([other])
    write(writer, "second")

    journal.also_read([other])
    there = [request(prompt).key in journal for prompt in ("first", "second")]
    journal.close()
    writer.close()

    assert there == [True, True]


def test_failures_are_recorded_but_are_no_answers(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    journal = Journal(path, "run-1")
    error = ProviderError(Outcome.TIMEOUT, "too slow")

    journal.write_failure(request("slow"), error, seconds=1, attempts=5)
    there = request("slow").key in journal
    journal.close()

    assert not there
    assert read(path, "slow") is None
    assert json.loads(path.read_text())["message"] == "too slow"


def test_counting_tells_asked_from_reused_and_failed(tmp_path: Path) -> None:
    earlier = filled(tmp_path / "earlier.jsonl", "old", run="run-0")
    path = tmp_path / "journal.jsonl"
    journal = Journal(path, "run-1", [earlier])
    for prompt, outcome in (("late", "timeout"), ("no", "rejected"), ("never", "rejected")):
        journal.write_failure(request(prompt), ProviderError(outcome, ""), seconds=1, attempts=1)
    write(journal, "new", "late")
    journal.read(request("old").key)
    journal.close()

    assert count(path, "run-1") == (2, 1, {"rejected": 2})


def test_joining_keeps_each_answer_once_and_removes_the_parts(tmp_path: Path) -> None:
    parts = [
        filled(tmp_path / "journal.gw0.jsonl", "a", "b"),
        filled(tmp_path / "journal.gw1.jsonl", "b", "c"),
    ]
    target = tmp_path / "journal.jsonl"

    join(target, [*parts, target])

    assert count(target, "run-1") == (3, 0, {})
    assert [path.exists() for path in parts] == [False, False]


def test_joining_glues_nothing_to_a_torn_line(tmp_path: Path) -> None:
    target = filled(tmp_path / "journal.jsonl", "a", "b")
    target.write_bytes(target.read_bytes()[:-30])
    part = filled(tmp_path / "journal.gw0.jsonl", "c")
    part.write_bytes(part.read_bytes() + b'{"key":"torn')

    join(target, [part])

    assert [read(target, prompt) for prompt in "abc"] == ["answer to a", None, "answer to c"]


# -- processes that die, disks that fill ----------------------------------------------------------

WRITER = textwrap.dedent("""
    import os
    import sys
    from pathlib import Path
    from caffe_pytest.execution.journal import Journal
    from caffe_pytest.model.answer import Answer
    from tests.execution.test_journal import request

    journal = Journal(Path(sys.argv[1]), sys.argv[2])
    for number in range(int(sys.argv[3])):
        prompt = f"{sys.argv[2]} {number}"
        journal.write(request(prompt), Answer("word " * (number % 400)), seconds=0, attempts=1)
        os.write(1, f"{number}\\n".encode())
    """)


def writer(path: Path, run: str, number: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), run, str(number)],
        stdout=subprocess.PIPE, cwd=Path(__file__).parents[2],
    )  # fmt: skip


def test_a_killed_process_loses_no_answer_it_acknowledged(tmp_path: Path) -> None:
    source = random.Random(5)
    processes = [writer(tmp_path / f"{kill}.jsonl", "run", 1_000_000) for kill in range(5)]

    for kill, process in enumerate(processes):
        assert process.stdout is not None
        first = process.stdout.readline()
        time.sleep(source.uniform(0, 0.1))
        process.send_signal(signal.SIGKILL)
        said = [first, *process.stdout.readlines()]
        process.wait()
        process.stdout.close()
        acknowledged = [int(line) for line in said if line.endswith(b"\n")]
        journal = Journal(tmp_path / f"{kill}.jsonl", "next")
        lost = [n for n in acknowledged if journal.read(request(f"run {n}").key) is None]
        journal.close()

        assert acknowledged, "killed before it wrote anything"
        assert lost == []


def test_two_runs_write_side_by_side(tmp_path: Path) -> None:
    paths = [tmp_path / "runs" / name / "journal.jsonl" for name in ("one", "two")]
    for path in paths:
        path.parent.mkdir(parents=True)

    processes = [writer(path, path.parent.name, 300) for path in paths]
    outputs = [process.communicate()[0] for process in processes]

    assert [output.count(b"\n") for output in outputs] == [300, 300]
    for path in paths:
        name = path.parent.name
        assert count(path, name) == (300, 0, {})
        assert read(path, f"{name} 299") is not None


def test_a_full_disk_stops_the_run_and_harms_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = filled(tmp_path / "journal.jsonl", "before")
    journal = Journal(path, "run-2")
    write(journal, "also before")
    real_write, calls = os.write, []

    def fills_up(descriptor: int, content: bytes) -> int:
        calls.append(1)
        if len(calls) == 1:
            return real_write(descriptor, content[: len(content) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", fills_up)
        with pytest.raises(JournalError, match="No space left on device; make room and run again"):
            write(journal, "too much")
    with pytest.raises(JournalError, match="No space left"):
        write(journal, "after there is room again")
    still_there = [journal.read(request(prompt).key) for prompt in ("before", "also before")]
    journal.close()
    following = Journal(path, "run-3")
    write(following, "too much")
    following.close()

    assert all(still_there)
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert [line["request"]["messages"][0][1] for line in lines] == [
        "before", "also before", "too much",
    ]  # fmt: skip


def test_a_closed_journal_takes_nothing_more(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.jsonl", "run")
    journal.close()
    journal.close()

    with pytest.raises(JournalError, match="is closed"):
        write(journal, "late")


def test_a_journal_that_cannot_be_opened_says_why(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match=r"journal\.jsonl: cannot be written"):
        Journal(tmp_path / "no such folder" / "journal.jsonl", "run")


# -- garbage --------------------------------------------------------------------------------------

KEY = request("hello").key.encode()
PIECES = st.sampled_from(
    [
        b'{"key":"', KEY, b"z" * 64, b'","outcome":"', b'ok","run":"', b"timeout", b'"run-1"',
        b'"text":"x"', b'"text":null', b"}\n", b"\n", b"\x00", b"\xff", b"[[", b"null", b",",
    ]
)  # fmt: skip
GARBAGE = st.one_of(st.binary(max_size=400), st.lists(PIECES, max_size=30).map(b"".join))


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(garbage=GARBAGE)
def test_no_garbage_stops_a_run(tmp_path: Path, garbage: bytes) -> None:
    earlier, path = tmp_path / "earlier.jsonl", tmp_path / "journal.jsonl"
    good = filled(tmp_path / "good.jsonl", "good").read_bytes()
    earlier.write_bytes(good + garbage)
    path.write_bytes(garbage)

    journal = Journal(path, "run-1", [earlier])
    journal.read(request("hello").key)
    answer = journal.read(request("good").key)
    write(journal, "new")
    new = journal.read(request("new").key)
    journal.close()
    count(path, "run-1")
    join(path, [earlier])

    assert answer is not None
    assert new is not None
    assert read(path, "new") == "answer to new"
    (tmp_path / "good.jsonl").unlink()


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=st.text(st.characters(), max_size=60), parameters=st.dictionaries(st.text(), st.floats())
)
def test_any_text_and_any_parameters_survive(
    tmp_path: Path, text: str, parameters: dict[str, Any]
) -> None:
    path = tmp_path / "journal.jsonl"
    path.unlink(missing_ok=True)
    asked = Request({}, "m", parameters, (Message("user", text),))
    journal = Journal(path, "run")

    journal.write(asked, Answer(text), seconds=0, attempts=1)
    answer = journal.read(asked.key)
    journal.close()

    assert answer == Answer(text)
    assert count(path, "run") == (1, 0, {})
