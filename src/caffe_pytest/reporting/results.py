"""`results.jsonl`: one line an item, in the order of the run, whoever judged it and when."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from caffe_pytest.errors import CaffeError, JournalError
from caffe_pytest.model.run import Result
from caffe_pytest.reporting.whole_file import whole_file


class PartWriter:
    """Writes results as they are judged; each line begins with the item's place in the run."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb", buffering=1 << 16)

    def write(self, position: int, result: Result) -> None:
        """Append a result.

        Raises:
            JournalError: it cannot be written; the run has to stop.
        """
        line = f"{position}\t{result.model_dump_json()}\n"
        try:
            self._file.write(line.encode("utf-8"))
        except OSError as error:
            remedy = "make room and run again: no answer is asked twice"
            cause = f"{self._file.name}: cannot be written: {error.strerror}"
            raise JournalError(f"{cause}; {remedy}") from error

    def close(self) -> None:
        """Write out what is buffered."""
        self._file.close()


class _Line(NamedTuple):
    position: int
    part: Path
    offset: int
    length: int


def join_parts(target: Path, parts: Iterable[Path]) -> int:
    """Write `target` from the parts of all workers, in the order of the run, and remove them.

    An item that was judged twice (a rerun) keeps its last result. Returns the number of items.
    """
    parts = list(parts)
    lines: dict[int, _Line] = {}
    for part in parts:
        for line in _index(part):
            lines[line.position] = line
    handles = {part: part.open("rb") for part in parts}
    try:
        with whole_file(target) as out:
            for position in sorted(lines):
                line = lines[position]
                handles[line.part].seek(line.offset)
                out.write(handles[line.part].read(line.length))
    finally:
        for handle in handles.values():
            handle.close()
    for part in parts:
        part.unlink()
    return len(lines)


def _index(part: Path) -> Iterator[_Line]:
    offset = 0
    with part.open("rb") as file:
        for line in file:
            position, tab, _ = line[:20].partition(b"\t")
            if tab and line.endswith(b"\n"):  # else torn by the end of its process
                start = offset + len(position) + 1
                yield _Line(int(position), part, start, len(line) - len(position) - 1)
            offset += len(line)


def read_results(path: Path) -> Iterator[Result]:
    """The results in a file, one by one.

    Raises:
        CaffeError: a line is damaged; the message names it.
    """
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                yield Result.model_validate_json(line)
            except ValidationError as error:
                what = error.errors()[0]["msg"]
                raise CaffeError(
                    f"{path}:{number}: this is no result of a run: {what}; run the test cases again"
                ) from error
