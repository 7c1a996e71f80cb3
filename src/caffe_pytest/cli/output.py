"""Where commands write rows to: a file, whole or not at all, or standard output."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from caffe_pytest.errors import CaffeError
from caffe_pytest.reporting.whole_file import whole_file


def check_folder(out: Path | None) -> None:
    """Find out before anything is scored that a file cannot be written.

    Raises:
        CaffeError: its folder is not there, or it is a folder itself.
    """
    if out is not None and (out.is_dir() or not out.parent.is_dir()):
        what = "is a folder" if out.is_dir() else "there is no such folder"
        raise CaffeError(f"--out {out}: {what}; name a file in a folder that exists")


def write_rows(lines: Iterable[str], out: Path | None) -> None:
    """Write lines, each with its end, as UTF-8.

    Raises:
        CaffeError: the file cannot be written; it is then as it was.
    """
    if out is None:
        stream = sys.stdout.buffer
        for line in lines:
            stream.write(line.encode("utf-8"))
        stream.flush()
        return
    try:
        with whole_file(out) as file:
            for line in lines:
                file.write(line.encode("utf-8"))
    except OSError as error:
        what = f"{out}: cannot be written: {error.strerror}"
        raise CaffeError(f"{what}; make room, or name another file") from error
