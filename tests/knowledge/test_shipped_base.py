"""The knowledge base that comes with the package."""

from __future__ import annotations

import csv
import re
from functools import cache
from pathlib import Path

from caffe_pytest.knowledge.load import load_base
from caffe_pytest.knowledge.shipped import shipped_folder
from caffe_pytest.model.triple import KnowledgeBase

BIAS_TYPES = (
    "age", "disability", "gender", "nationality", "physical-appearance", "race-color", "religion",
    "sexual-orientation", "socioeconomic",
)  # fmt: skip


@cache
def shipped() -> KnowledgeBase:
    return load_base(shipped_folder() / "crows-pairs" / "base.yaml")


def test_it_says_what_an_auditor_needs_to_know() -> None:
    base = shipped()

    assert base.name == "crows-pairs"
    assert re.fullmatch(r"\d+\.\d+\.\d+", base.version)
    assert base.licence == "CC-BY-SA-4.0"
    assert base.language == "en"
    assert base.datasheet is not None
    assert (Path(base.path).parent / base.datasheet).is_file()
    assert (Path(base.path).parent / "LICENSE").is_file()


def test_it_holds_at_least_200_valid_triples_of_all_nine_bias_types() -> None:
    valid = [triple for triple in shipped().triples if triple.valid]

    assert len(valid) >= 200
    assert shipped().bias_types == BIAS_TYPES
    for bias_type in BIAS_TYPES:
        assert sum(triple.bias_type == bias_type for triple in valid) >= 20


def test_each_id_is_the_row_of_its_source() -> None:
    for triple in shipped().triples:
        assert re.fullmatch(r"cp-\d{4}", triple.id)
        assert triple.source == f"crows-pairs:{int(triple.id[3:])}"
    assert len({triple.id for triple in shipped().triples}) == len(shipped().triples)


def test_no_group_is_on_both_sides_of_the_same_contrast() -> None:
    contrasts = {
        (triple.bias_type, triple.disadvantaged.casefold(), triple.advantaged.casefold())
        for triple in shipped().triples
        if triple.valid
    }

    turned = [contrast for contrast in contrasts if (contrast[0], *contrast[:0:-1]) in contrasts]

    assert turned == []


def test_topics_and_groups_fit_into_a_sentence() -> None:
    for triple in shipped().triples:
        for phrase in (triple.topic, triple.disadvantaged, triple.advantaged):
            assert phrase == " ".join(phrase.split())
            assert not phrase.endswith((".", ",", "?", "!"))
            assert not phrase.casefold().startswith(("a ", "an ", "the "))


def test_the_datasheet_counts_what_is_there() -> None:
    datasheet = (shipped_folder() / "crows-pairs" / "DATASHEET.md").read_text(encoding="utf-8")

    for bias_type in BIAS_TYPES:
        number = sum(triple.bias_type == bias_type for triple in shipped().triples)
        assert re.search(rf"\| {bias_type} \| {number} \|", datasheet), bias_type
    assert f"| **Total** | **{len(shipped().triples)}** |" in datasheet


def test_the_rows_are_in_the_order_of_the_source() -> None:
    path = shipped_folder() / "crows-pairs" / "triples.csv"

    with path.open(encoding="utf-8", newline="") as file:
        ids = [row["id"] for row in csv.DictReader(file)]

    assert ids == sorted(ids)
