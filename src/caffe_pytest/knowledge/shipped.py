"""The knowledge bases that come with the package."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from caffe_pytest.hookspecs import hookimpl


def shipped_folder() -> Path:
    """The folder of the shipped bases: inside the wheel, or at the root of a checkout."""
    inside = Path(__file__).parent / "bases"
    return inside if inside.is_dir() else Path(__file__).parents[3] / "knowledge_base"


@hookimpl
def register_knowledge_bases(register: Callable[[str, Path], None]) -> None:
    """Register every folder that holds a `base.yaml`."""
    for base in sorted(shipped_folder().glob("*/base.yaml")):
        register(base.parent.name, base)
