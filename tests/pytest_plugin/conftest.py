"""A small test case in a folder of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pytest_plugin.small_case import CASE, TRIPLES


@pytest.fixture
def case_file(pytester: pytest.Pytester) -> Path:
    """`advice.fairness.yaml` with 24 items: those of `fair` pass, some of `biased` fail."""
    (pytester.path / "triples.csv").write_text(TRIPLES, encoding="utf-8")
    path = pytester.path / "advice.fairness.yaml"
    path.write_text(CASE, encoding="utf-8")
    return path
