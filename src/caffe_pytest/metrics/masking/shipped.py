"""The shipped forms as they stand in their file."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from caffe_pytest.errors import DamagedArtefact

FORMS = "group_forms.yaml"
"""File name of the shipped forms, in this package."""


@cache
def shipped_forms() -> dict[str, Any]:
    """The content of the file, read once per process.

    Raises DamagedArtefact (a CaffeError) where it cannot be read.
    """
    import yaml

    try:
        content = (files("caffe_pytest.metrics.masking") / FORMS).read_text(encoding="utf-8")
        forms = yaml.load(content, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (OSError, UnicodeError, yaml.YAMLError) as error:
        raise DamagedArtefact(
            f"{FORMS}: cannot be read ({' '.join(str(error).split())}); reinstall caffe-pytest"
        ) from error
    if not isinstance(forms, dict):
        raise DamagedArtefact(f"{FORMS}: is damaged; reinstall caffe-pytest")
    return forms


def listed(forms: str) -> list[str]:
    """The forms of a value of the file, where commas set them apart."""
    return [form for form in map(str.strip, forms.split(",")) if form]


@cache
def case_matters() -> frozenset[str]:
    """The forms that are another word in small letters."""
    return frozenset(listed(shipped_forms()["case_matters"]))
