"""Where a knowledge base named in a test case is looked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from caffe_pytest.extensions import load_extensions
from caffe_pytest.knowledge.find import find_base, known_names


def made(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("", encoding="utf-8")
    return path


def test_a_path_is_relative_to_the_test_case(tmp_path: Path) -> None:
    here = tmp_path / "cases"
    path = made(tmp_path / "data" / "ours.csv")
    here.mkdir()

    assert find_base("../data/ours.csv", here, {}) == here / "../data/ours.csv"
    assert find_base(str(path), here, {}) == path


def test_a_path_is_relative_to_the_working_folder_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(tmp_path / "data" / "ours.YAML")
    monkeypatch.chdir(tmp_path)

    assert find_base("data/ours.YAML", tmp_path / "cases", {}) == Path("data/ours.YAML")


def test_the_file_beside_the_test_case_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    near = made(tmp_path / "cases" / "ours.csv")
    made(tmp_path / "ours.csv")
    monkeypatch.chdir(tmp_path)

    assert find_base("ours.csv", tmp_path / "cases", {}) == near


@pytest.mark.parametrize("file", ["ours/base.yaml", "ours.csv", "ours.yaml", "ours.yml"])
def test_a_name_is_looked_up_in_knowledge_base_folders_upwards(tmp_path: Path, file: str) -> None:
    path = made(tmp_path / "knowledge_base" / file)

    assert find_base("ours", tmp_path / "a" / "b", {}) == path


def test_the_nearest_folder_wins_over_others_and_over_what_is_registered(tmp_path: Path) -> None:
    near = made(tmp_path / "a" / "knowledge_base" / "ours.csv")
    made(tmp_path / "knowledge_base" / "ours" / "base.yaml")

    assert find_base("ours", tmp_path / "a", {"ours": tmp_path}) == near


def test_a_registered_name_is_found_from_anywhere(tmp_path: Path) -> None:
    registered = load_extensions().knowledge_bases

    path = find_base("crows-pairs", tmp_path, registered)

    assert path is not None
    assert path.name == "base.yaml"
    assert path.parent.name == "crows-pairs"


@pytest.mark.parametrize(
    "named", ["ours", "ours.csv", "folder.csv", "a\0b", "a\0b.csv", "x" * 300, "x" * 300 + ".csv"]
)
def test_what_is_not_there_is_none(tmp_path: Path, named: str) -> None:
    (tmp_path / "folder.csv").mkdir()

    assert find_base(named, tmp_path, {}) is None


def test_the_names_that_may_be_given_are_those_near_by_and_those_registered(tmp_path: Path) -> None:
    made(tmp_path / "knowledge_base" / "ours" / "base.yaml")
    made(tmp_path / "knowledge_base" / "ours" / "triples.csv")
    made(tmp_path / "knowledge_base" / "README.md")
    made(tmp_path / "a" / "knowledge_base" / "products.csv")

    names = known_names(tmp_path / "a" / "b", {"crows-pairs": tmp_path})

    assert names == ["crows-pairs", "ours", "products"]
