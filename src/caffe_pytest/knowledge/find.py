"""Where a knowledge base named in a test case is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

FILE_SUFFIXES = (".csv", ".yaml", ".yml")


def find_base(named: str, near: Path, registered: Mapping[str, Path]) -> Path | None:
    """The file of a base given by path, or by name; None where there is none.

    A path is relative to the folder `near`, which holds the test case, or to the working folder. A
    name is looked up among the folders `knowledge_base/` from `near` upwards, then among what is
    registered.
    """
    if named.lower().endswith(FILE_SUFFIXES):
        candidates = [near / named, Path(named)]
        return next((path for path in candidates if path.is_file()), None)
    for folder in (near, *near.parents):
        home = folder / "knowledge_base"
        for path in (home / named / "base.yaml", *(home / (named + end) for end in FILE_SUFFIXES)):
            if path.is_file():
                return path
    return registered.get(named)
