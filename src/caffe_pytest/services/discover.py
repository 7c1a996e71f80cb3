"""Which files a front door that is not pytest reads, and with which plugins."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from caffe_pytest.errors import CaffeError
from caffe_pytest.extensions import conftest_plugins, load_extensions
from caffe_pytest.services.plan import Planner
from caffe_pytest.specs.loader import is_test_case_file

SKIPPED = {"node_modules", "__pycache__", "build", "dist", "venv"}
"""Folders not searched, nor any whose name begins with a dot; a folder named outright is."""


def planner_for(paths: Sequence[Path]) -> tuple[Planner, list[Path]]:
    """A planner with the plugins of the `conftest.py` files on the way, and the files to plan.

    Raises:
        CaffeError: a path is not there, or a plugin cannot be loaded.
    """
    files = find_files(paths)
    folders = [folder for file in files for folder in _on_the_way(file.resolve().parent)]
    return Planner(load_extensions(conftest_plugins([Path.cwd(), *folders]))), files


def _on_the_way(folder: Path) -> list[Path]:
    """The folders from the working folder down to this one; only this one where it is elsewhere."""
    here = Path.cwd()
    if not folder.is_relative_to(here):
        return [folder]
    below = [parent for parent in folder.parents if parent.is_relative_to(here)]
    return [*reversed(below), folder]


def find_files(paths: Sequence[Path]) -> list[Path]:
    """The test-case files named by, or found below, these paths, each once, sorted per path.

    Raises:
        CaffeError: a path is not there, or is nothing that holds test cases by its name.
    """
    found: dict[Path, Path] = {}
    for path in paths:
        try:
            for file in _named_by(path):
                found.setdefault(file.resolve(), file)
        except OSError as error:
            remedy = "check the path and its permissions"
            raise CaffeError(f"{path}: cannot be read: {error.strerror}; {remedy}") from error
    return list(found.values())


def _named_by(path: Path) -> Iterable[Path]:
    if path.is_dir():
        if is_test_case_file(path):
            raise CaffeError(f"{path}: this is a folder with the name of a file; rename it")
        return _below(path)
    if not path.exists():
        raise CaffeError(f"{path}: there is no such file or folder; check the path")
    if not is_test_case_file(path):
        raise CaffeError(f"{path}: test cases stand in files named *.fairness.yaml; rename it")
    return [path]


def _below(folder: Path) -> Iterator[Path]:
    for here, folders, files in os.walk(folder):
        folders[:] = sorted(
            name for name in folders if name not in SKIPPED and not name.startswith(".")
        )
        for name in sorted(files):
            path = Path(here, name)
            if is_test_case_file(path):
                yield path
