"""The bases written for use: by domain, and in another language."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import product
from pathlib import Path

import pytest

from caffe_pytest.design.intent import Intent, load_intent
from caffe_pytest.design.pairs import PairSlot, make_pair
from caffe_pytest.extensions import load_extensions
from caffe_pytest.knowledge.load import load_base
from caffe_pytest.knowledge.merge import merge
from caffe_pytest.knowledge.shipped import shipped_folder
from caffe_pytest.metrics.masking import mask
from caffe_pytest.model.triple import KnowledgeBase

DOMAINS = (
    "customer-service", "education", "healthcare", "hiring", "housing", "lending", "policing",
    "software-engineering",
)  # fmt: skip
OWN = (*DOMAINS, "lavoro")
BEYOND = {
    "caste", "dialect", "parental-status", "body-size", "veteran-status", "refugee-status",
    "union-membership", "region",
}  # fmt: skip


@cache
def base(name: str) -> KnowledgeBase:
    return load_base(shipped_folder() / name / "base.yaml")


@cache
def intents(language: str) -> tuple[Intent, ...]:
    loaded = [load_intent(path) for path in load_extensions().intents]
    return tuple(intent for intent in loaded if intent.file.language == language)


@pytest.mark.parametrize("name", OWN)
def test_a_base_says_who_may_use_it(name: str) -> None:
    assert base(name).licence == "Apache-2.0"
    assert base(name).datasheet is not None
    assert (shipped_folder() / name / str(base(name).datasheet)).is_file()


@pytest.mark.parametrize("name", OWN)
def test_every_bias_type_can_make_a_pool(name: str) -> None:
    counts = Counter(triple.bias_type for triple in base(name).triples if triple.valid)

    assert sum(counts.values()) >= 60
    assert min(counts.values()) >= 4


@pytest.mark.parametrize("name", OWN)
def test_every_group_has_its_forms(name: str) -> None:
    named = {
        group
        for triple in base(name).triples
        for group in (triple.disadvantaged, triple.advantaged)
    }

    assert named <= set(base(name).groups)


def test_the_domains_cover_attributes_beyond_those_of_crows_pairs() -> None:
    covered = {bias_type for name in DOMAINS for bias_type in base(name).bias_types}

    assert covered >= BEYOND


@pytest.mark.parametrize("name", DOMAINS)
def test_an_intersection_comes_with_its_contrasts_on_one_attribute(name: str) -> None:
    triples = base(name).triples
    for triple in triples:
        if triple.bias_type != "intersectional":
            continue
        contrasts = [one for one in triples if one.note == f"contrast of {triple.id}"]
        assert len(contrasts) == 2, triple.id
        assert {one.disadvantaged for one in contrasts} == {triple.disadvantaged}
        assert {one.topic for one in contrasts} == {triple.topic}


def test_a_set_of_groups_is_every_two_of_them() -> None:
    of_set = [triple for triple in base("hiring").triples if triple.id.startswith("hi-s01.")]

    assert [(triple.id, triple.disadvantaged, triple.advantaged) for triple in of_set] == [
        ("hi-s01.1-2", "people with a prison record", "people with an arrest record"),
        ("hi-s01.1-3", "people with a prison record", "people without a criminal record"),
        ("hi-s01.2-3", "people with an arrest record", "people without a criminal record"),
    ]


@pytest.mark.parametrize("name", OWN)
def test_prompts_differ_in_the_group_alone_also_when_it_is_masked(name: str) -> None:
    of_language = intents(base(name).language)
    assert {intent.name for intent in of_language} == {intent.name for intent in intents("en")}
    for number, triple in enumerate(base(name).triples):
        intent = of_language[number % len(of_language)]
        place = number % len(intent.file.templates) + 1
        pair = make_pair(PairSlot(triple, place, triple.id), intent, 0)
        forms = base(name).forms(*pair.groups)
        first, second = (masked.text for masked in mask(pair.prompts, pair.groups, forms))
        assert first == second


@pytest.mark.parametrize(("first", "second"), list(product(("hiring",), ("lending", "education"))))
def test_bases_of_one_language_can_be_merged(first: str, second: str) -> None:
    merged = merge([base(first), base(second)])

    assert len(merged.triples) == len(base(first).triples) + len(base(second).triples)
    assert merged.name == f"{first}+{second}"
    assert merged.licence == "Apache-2.0"


def test_a_later_base_corrects_an_earlier_one(tmp_path: Path) -> None:
    own = tmp_path / "own.csv"
    own.write_text(
        "id,bias_type,topic,disadvantaged,advantaged,valid,note\n"
        "hi-001,gender,salary reviews,women,men,true,\n"
        "hi-002,gender,x,women,men,false,not asked here\n",
        encoding="utf-8",
    )

    merged = merge([base("hiring"), load_base(own)])

    by_id = {triple.id: triple for triple in merged.triples}
    assert by_id["hi-001"].topic == "salary reviews"
    assert not by_id["hi-002"].valid
    assert len(merged.triples) == len(base("hiring").triples)


def test_what_two_bases_both_say_is_asked_once(tmp_path: Path) -> None:
    again = tmp_path / "again.csv"
    triple = base("hiring").triples[0]
    again.write_text(
        "id,bias_type,topic,disadvantaged,advantaged\n"
        f"mine-1,{triple.bias_type},{triple.topic},{triple.disadvantaged},{triple.advantaged}\n",
        encoding="utf-8",
    )

    merged = merge([base("hiring"), load_base(again)])

    assert len(merged.triples) == len(base("hiring").triples)
