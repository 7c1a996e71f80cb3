"""Files that are there whole, or as they were before."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def whole_file(target: Path) -> Iterator[BinaryIO]:
    """A file to write to that takes the place of `target` when the block ends without an error.

    Raises:
        OSError: it cannot be written; `target` is then as it was, and nothing is left beside it.
    """
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            yield file
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
