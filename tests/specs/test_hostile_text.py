"""Whatever stands in a test-case file ends in test cases or in problems, never in anything else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from caffe_pytest.errors import ProblemsFound
from caffe_pytest.extensions import Extensions, load_extensions
from caffe_pytest.services.plan import Planner
from caffe_pytest.services.validate import validate
from caffe_pytest.specs import yaml_document
from caffe_pytest.specs.loader import load_cases
from tests.specs.case_files import GOOD, NAME, write
from tests.specs.mutation import assert_well_told, mutated, structures
from tests.specs.test_loading import FULL

THOROUGH = settings(deadline=None, max_examples=200)

KEYS = [
    "id", "kind", "intent", "objective", "context", "system", "history", "user", "assistant",
    "prompts", "knowledge_base", "bias_types", "topics", "groups", "per_triple", "plateau",
    "sample", "margin", "seed", "expected_fairness", "metric", "threshold", "environment",
    "models", "model", "alias", "api_base", "api_key", "parameters", "timeout", "gate",
    "counterfactual", "recommendation", "triples.csv", "gender", "lsa", "simulated/fair", "<<",
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    write(folder)
    return folder


@pytest.fixture(scope="module")
def extensions() -> Extensions:
    return load_extensions()


def plan(folder: Path, extensions: Extensions, content: bytes) -> None:
    """Plan the test cases, and prove every pair, or be told what is wrong."""
    path = folder / NAME
    path.write_bytes(content)
    checked = validate(Planner(extensions), [path])
    if checked.problems:
        assert_well_told(checked.problems)
    else:
        assert all(plan.design.slots for plan in checked.plans)


@THOROUGH
@given(content=mutated(GOOD))
@example(content=b"a: &a\n  <<: *a\n")
@example(content=b"id: !!int ''\n")
@example(content=b"id: !!float '_'\n")
@example(content=b"id: 0b_\n")
@example(content=b"{? : }")
def test_a_mutated_test_case_is_planned_or_refused(
    folder: Path, extensions: Extensions, content: bytes
) -> None:
    plan(folder, extensions, content)


@THOROUGH
@given(content=mutated(FULL))
def test_a_mutated_long_test_case_is_loaded_or_refused(folder: Path, content: bytes) -> None:
    path = folder / NAME
    path.write_bytes(content)

    try:
        load_cases(path)
    except ProblemsFound as found:
        assert_well_told(found.problems)


@THOROUGH
@given(data=structures(KEYS))
def test_any_structure_is_loaded_or_refused(folder: Path, data: Any) -> None:
    path = folder / NAME
    path.write_text(yaml.safe_dump(data, allow_unicode=True), encoding="utf-8")

    with pytest.raises(ProblemsFound) as caught:
        load_cases(path)

    assert_well_told(caught.value.problems)


@THOROUGH
@given(part=structures(KEYS), key=st.sampled_from(["prompts", "environment", "context", "gate"]))
def test_any_structure_in_place_of_a_part_is_planned_or_refused(
    folder: Path, extensions: Extensions, part: Any, key: str
) -> None:
    document = {**yaml.safe_load(GOOD), key: part}

    plan(folder, extensions, yaml.safe_dump(document, allow_unicode=True).encode())


@THOROUGH
@given(content=st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_any_bytes_are_refused(folder: Path, content: bytes) -> None:
    path = folder / NAME
    path.write_bytes(content)

    with pytest.raises(ProblemsFound) as caught:
        load_cases(path)

    assert_well_told(caught.value.problems)


@settings(deadline=None, max_examples=100)
@given(content=mutated(FULL))
def test_the_yaml_parser_in_python_is_no_less_robust(folder: Path, content: bytes) -> None:
    path = folder / NAME
    path.write_bytes(content)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(yaml_document, "SafeLoader", yaml.SafeLoader)
        try:
            load_cases(path)
        except ProblemsFound as found:
            assert_well_told(found.problems)
