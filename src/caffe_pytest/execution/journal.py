"""The journal: every answer on a line of its own, flushed at once.

It is cache, resume point and audit log in one. A line begins with the key, the outcome and the run
it was asked in, at fixed places, so that a journal is indexed without being parsed; the texts stay
on disk until they are needed. Reading survives a process that was killed in the middle of a line.
"""

from __future__ import annotations

import json
import os
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from caffe_pytest.errors import JournalError, ProviderError
from caffe_pytest.model.answer import Answer, Outcome, Request

_CLOSED = -1
_BINARY: int = getattr(os, "O_BINARY", 0)  # Windows would translate line ends
_KEY = slice(8, 72)
_OUTCOME_AT = 72
_OUTCOME = b'","outcome":"'
_OK = _OUTCOME + b'ok","run":"'


class _Place(NamedTuple):
    file: int
    offset: int
    length: int


class JournalCounts(NamedTuple):
    """What a journal holds of a run."""

    asked: int
    """Answers that this run paid for."""
    reused: int
    """Answers of earlier runs that this run rests on."""
    failures: dict[str, int]
    """Calls without an answer, by outcome; not those that succeeded on a later attempt."""


class Journal:
    """The journal of one run; answers of earlier runs are adopted from their journals.

    Written by one thread, read by any.
    """

    def __init__(self, path: Path, run_id: str, earlier: Iterable[Path] = ()) -> None:
        """Open `path` for appending and index what `earlier` journals hold.

        Raises:
            JournalError: `path` cannot be written.
        """
        self.path = path
        self.run_id = run_id
        self._lock = threading.Lock()
        self._places: dict[bytes, _Place] = {}
        self._files: list[Path] = [path]
        self._indexed: dict[int, int] = {}
        self._reading: dict[int, int] = {}
        self._broken: JournalError | None = None
        try:
            self._end = _mend(path)
            self._fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | _BINARY, 0o644)
        except OSError as error:
            raise JournalError(f"{path}: cannot be written: {error.strerror}") from error
        self._index(0)
        self.also_read(earlier)

    def also_read(self, paths: Iterable[Path]) -> None:
        """Index further journals, or what other workers appended to them since the last time."""
        for path in paths:
            if path == self.path:
                continue
            if path not in self._files:
                self._files.append(path)
            with suppress(OSError):  # deleted meanwhile, or not ours to read
                self._index(self._files.index(path))

    def __contains__(self, key: str) -> bool:
        """Whether there is an answer under this key."""
        return bytes.fromhex(key) in self._places

    def read(self, key: str) -> Answer | None:
        """The answer under `key`, or None. An answer of another journal is copied into this one.

        Raises:
            JournalError: the copy cannot be written.
        """
        digest = bytes.fromhex(key)
        place = self._places.get(digest)
        if place is None:
            return None
        try:
            line = self._line_at(place)
            answer = _answer(json.loads(line), key)
        except (OSError, ValueError, KeyError, TypeError):
            # damaged or gone: as if it had never been asked
            del self._places[digest]
            return None
        if place.file != 0:
            self._append(digest, line)
        return answer

    def write(self, request: Request, answer: Answer, *, seconds: float, attempts: int) -> None:
        """Append an answer and flush it.

        Raises:
            JournalError: it could not be written; what stood in the journal is not harmed.
        """
        record = self._head(request.key, Outcome.OK) | {
            "text": answer.text,
            "finish_reason": answer.finish_reason,
            "usage": dict(answer.usage),
            "model": answer.model,
        }
        tail = _tail(request, seconds, attempts)
        self._append(bytes.fromhex(request.key), _line(record | tail))

    def write_failure(
        self, request: Request, error: ProviderError, *, seconds: float, attempts: int
    ) -> None:
        """Append a call that brought no answer; it will be asked again by the next run.

        Raises:
            JournalError: it could not be written.
        """
        record = self._head(request.key, error.outcome) | {"message": str(error)}
        self._append(None, _line(record | _tail(request, seconds, attempts)))

    def close(self) -> None:
        """Release the files; nothing is written any more."""
        with self._lock:
            # a provider that would not end may still come back with an answer
            self._broken = JournalError(f"{self.path}: is closed")
            descriptors = {self._fd, *self._reading.values()} - {_CLOSED}
            self._fd = _CLOSED
            self._reading.clear()
        for descriptor in descriptors:
            os.close(descriptor)

    def _head(self, key: str, outcome: str) -> dict[str, Any]:
        return {"key": key, "outcome": str(outcome), "run": self.run_id}

    def _append(self, digest: bytes | None, line: bytes) -> None:
        with self._lock:
            if self._broken is not None:
                raise self._broken
            try:
                rest = line
                while rest:
                    rest = rest[os.write(self._fd, rest) :]
            except OSError as error:
                # a torn line may stand at the end: nothing may follow it
                self._broken = JournalError(
                    f"{self.path}: cannot be written: {error.strerror}; "
                    "make room and run again: answers already there are not asked again"
                )
                raise self._broken from error
            if digest is not None:
                self._places[digest] = _Place(0, self._end, len(line))
            self._end += len(line)

    def _line_at(self, place: _Place) -> bytes:
        with self._lock:
            descriptor = self._reading.get(place.file)
            if descriptor is None:
                descriptor = os.open(self._files[place.file], os.O_RDONLY | _BINARY)
                self._reading[place.file] = descriptor
            os.lseek(descriptor, place.offset, os.SEEK_SET)
            return os.read(descriptor, place.length)

    def _index(self, file: int) -> None:
        for offset, line in _lines(self._files[file], self._indexed.get(file, 0)):
            self._indexed[file] = offset + len(line)
            if line.startswith(_OK, _OUTCOME_AT):
                try:
                    digest = bytes.fromhex(line[_KEY].decode("ascii"))
                except ValueError:
                    continue
                self._places.setdefault(digest, _Place(file, offset, len(line)))


def count(path: Path, run_id: str) -> JournalCounts:
    """What the journal at `path` holds of the run `run_id`."""
    mine = f'"{run_id}"'.encode()
    asked = reused = 0
    failures: dict[bytes, str] = {}
    answered: set[bytes] = set()
    for _, line in _lines(path):
        if line.startswith(_OK, _OUTCOME_AT):
            answered.add(line[_KEY])
            start = _OUTCOME_AT + len(_OK) - 1
            if line.startswith(mine, start):
                asked += 1
            else:
                reused += 1
        elif line.startswith(_OUTCOME, _OUTCOME_AT):
            outcome = line[_OUTCOME_AT + len(_OUTCOME) :].split(b'"', 1)[0]
            failures[line[_KEY]] = outcome.decode("ascii", "replace")
    missing = Counter(outcome for key, outcome in failures.items() if key not in answered)
    return JournalCounts(asked, reused, dict(sorted(missing.items())))


def join(target: Path, parts: Iterable[Path]) -> None:
    """Append the journals of workers to `target`, each answer once, and remove them."""
    _mend(target)
    with target.open("ab") as out:
        known = {line[_KEY] for _, line in _lines(target) if line.startswith(_OK, _OUTCOME_AT)}
        done = []
        for part in parts:
            if part == target:
                continue
            for _, line in _lines(part):
                if line.startswith(_OK, _OUTCOME_AT):
                    if line[_KEY] in known:
                        continue
                    known.add(line[_KEY])
                out.write(line)
            done.append(part)
    for part in done:
        part.unlink()


def _answer(record: dict[str, Any], key: str) -> Answer:
    if record["key"] != key or not isinstance(record["text"], str):
        raise ValueError("another line, or a damaged one")
    return Answer(
        text=record["text"],
        finish_reason=record["finish_reason"],
        usage=record["usage"],
        model=record["model"],
    )


def _line(record: dict[str, Any]) -> bytes:
    # ASCII: a lone surrogate in an answer must not make the journal unreadable
    return json.dumps(record, separators=(",", ":")).encode("ascii") + b"\n"


def _tail(request: Request, seconds: float, attempts: int) -> dict[str, Any]:
    return {
        "asked": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "seconds": round(seconds, 4),
        "attempts": attempts,
        "request": {
            "identity": dict(request.identity),
            "model": request.model,
            "parameters": dict(request.parameters),
            "messages": request.messages,
            "repetition": request.repetition,
        },
    }


def _lines(path: Path, offset: int = 0) -> Iterator[tuple[int, bytes]]:
    """Whole lines with their offsets, from `offset` on; a torn last line is left out."""
    try:
        with path.open("rb") as file:
            file.seek(offset)
            for line in file:
                if line.startswith(b'{"key":"') and line.endswith(b"}\n"):
                    yield offset, line
                offset += len(line)
    except FileNotFoundError:
        return  # another run was deleted meanwhile


def _mend(path: Path) -> int:
    """Cut a torn last line off, and return the length of what is left."""
    if not path.exists():
        return 0
    size = path.stat().st_size
    end = max((offset + len(line) for offset, line in _lines(path)), default=0)
    if end < size:
        os.truncate(path, end)
    return end
