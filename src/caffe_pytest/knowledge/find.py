"""Where a knowledge base named in a test case is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from caffe_pytest.specs.yaml_document import first_file

FILE_SUFFIXES = (".csv", ".yaml", ".yml")


def find_base(named: str, near: Path, registered: Mapping[str, Path]) -> Path | None:
    """The file of a base given by path, or by name; None where there is none.

    A path is relative to the folder `near`, which holds the test case, or to the working folder. A
    name is looked up among the folders `knowledge_base/` from `near` upwards, then among what is
    registered.
    """
    if named.lower().endswith(FILE_SUFFIXES):
        return first_file([near / named, Path(named)])
    beside = first_file(
        path
        for home in _homes(near)
        for path in (home / named / "base.yaml", *(home / (named + end) for end in FILE_SUFFIXES))
    )
    return beside or registered.get(named)


def known_names(near: Path, registered: Mapping[str, Path]) -> list[str]:
    """The names that a test case in the folder `near` may give."""
    names = set(registered)
    for home in _homes(near):
        names.update(path.parent.name for path in home.glob("*/base.yaml"))
        names.update(path.stem for path in home.glob("*") if path.suffix in FILE_SUFFIXES)
    return sorted(names)


def _homes(near: Path) -> list[Path]:
    return [folder / "knowledge_base" for folder in (near, *near.parents)]
