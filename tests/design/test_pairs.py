"""Which pairs a test case has, what they are called, and that their order never changes by luck."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caffe_pytest.design.intent import Intent, load_intent
from caffe_pytest.design.pairs import design_pairs, make_pair, slug, template_order
from caffe_pytest.design.sampling import sample_size
from caffe_pytest.extensions import load_extensions
from caffe_pytest.knowledge.load import load_base
from caffe_pytest.knowledge.shipped import shipped_folder
from caffe_pytest.model.test_case import Plateau, Prompts, Sample
from caffe_pytest.model.triple import Triple

NAME_OF_A_NODE = re.compile(r"^[A-Za-z0-9][A-Za-z0-9_.+-]*$")


@cache
def recommendation() -> Intent:
    paths = load_extensions().intents
    return load_intent(next(path for path in paths if path.stem == "recommendation"))


@cache
def shipped() -> tuple[Triple, ...]:
    base = load_base(shipped_folder() / "crows-pairs" / "base.yaml")
    return tuple(triple for triple in base.triples if triple.valid)


def prompts(**fields: Any) -> Prompts:
    return Prompts(knowledge_base=("ours",), **fields)


def triple(identifier: str, topic: str = "work", first: str = "women", then: str = "men") -> Triple:
    return Triple(
        id=identifier, bias_type="gender", topic=topic, disadvantaged=first, advantaged=then
    )


def names(triples: list[Triple], **fields: Any) -> list[str]:
    design = design_pairs(triples, recommendation(), prompts(**fields))
    return [slot.name for slot in design.slots]


# -- names ------------------------------------------------------------------------------------


def test_a_name_tells_bias_type_topic_groups_and_number() -> None:
    assert names(
        [triple("t1", "Leadership at work", "Black women", "white men")], per_triple=2
    ) == [
        "gender.leadership-at-work.black-women-white-men.01",
        "gender.leadership-at-work.black-women-white-men.02",
    ]


def test_triples_that_would_share_a_name_add_their_id() -> None:
    triples = [triple("t1", "work!"), triple("t2", "work?"), triple("t3", "driving")]

    assert names(triples, per_triple=1) == [
        "gender.work.women-men.t1.01",
        "gender.work.women-men.t2.01",
        "gender.driving.women-men.01",
    ]


def test_ids_that_differ_in_case_or_punctuation_alone_still_make_different_names() -> None:
    triples = [triple(identifier) for identifier in ("a1", "A1", "a.1", "a-1", "a_1", "a+1")]

    found = names(triples, per_triple=2)

    assert len(set(found)) == 12
    assert all(NAME_OF_A_NODE.match(name) for name in found)


def test_the_names_of_the_shipped_base_are_unique_and_fit_for_a_node_id() -> None:
    found = names(list(shipped()), per_triple=12)

    assert len(found) == len(set(found)) == 12 * len(shipped())
    assert all(NAME_OF_A_NODE.match(name) for name in found)


@settings(deadline=None, max_examples=150)
@given(
    st.lists(
        st.tuples(
            st.from_regex(r"\A[A-Za-z0-9][A-Za-z0-9_.+-]{0,3}\Z"),
            st.text(min_size=1, max_size=5).filter(str.strip),
            st.text(min_size=1, max_size=5).filter(str.strip),
            st.text(min_size=1, max_size=5).filter(str.strip),
        ),
        min_size=1, max_size=8, unique_by=lambda row: row[0],
    )
)  # fmt: skip
def test_names_are_unique_whatever_the_triples_say(rows: list[tuple[str, ...]]) -> None:
    found = names([triple(*row) for row in rows], per_triple=11)

    assert len(set(found)) == len(found) == 11 * len(rows)
    assert all(NAME_OF_A_NODE.match(name) for name in found)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Leadership at work", "leadership-at-work"),
        ("  C++ & C#  ", "c-c"),
        ("Café Ökonomie", "cafe-okonomie"),
        ("[brackets]/slash::colon", "brackets-slash-colon"),
        ("女性", "6a7ffd13"),
        ("женщины", "7dc2a50f"),
        ("!?", "8faf838e"),
    ],
)
def test_a_slug_is_made_of_plain_words(text: str, expected: str) -> None:
    assert slug(text) == expected


def test_slugs_of_different_texts_without_latin_letters_differ() -> None:
    assert len({slug(text) for text in ("女性", "男性", "женщины", "!", "?")}) == 5


# -- numbers ----------------------------------------------------------------------------------


def test_by_default_a_triple_has_the_twelve_prompts_of_the_paper() -> None:
    design = design_pairs([triple("t1"), triple("t2", "driving")], recommendation(), prompts())

    assert [slot.number for slot in design.slots] == [*range(1, 13), *range(1, 13)]


def test_with_a_plateau_each_triple_has_its_own_number() -> None:
    rule = Plateau(epsilon=0.05, patience=1, at_most=16)

    design = design_pairs(shipped()[:60], recommendation(), prompts(plateau=rule))

    counts = Counter(slot.triple.id for slot in design.slots)
    assert all(2 <= count <= 16 for count in counts.values())
    assert len(set(counts.values())) > 1


def test_a_plateau_that_no_prompt_reached_is_counted() -> None:
    rule = Plateau(epsilon=1e-9, patience=3, at_most=5)

    design = design_pairs(shipped()[:10], recommendation(), prompts(plateau=rule))

    assert design.plateau_not_reached == 10
    assert len(design.slots) == 50


def test_a_sample_is_drawn_from_each_bias_type_by_itself() -> None:
    sample = Sample(margin=0.1, confidence=0.9)
    everything = design_pairs(shipped(), recommendation(), prompts(per_triple=3))

    sampled = design_pairs(shipped(), recommendation(), prompts(per_triple=3, sample=sample))

    there = Counter(slot.triple.bias_type for slot in everything.slots)
    taken = Counter(slot.triple.bias_type for slot in sampled.slots)
    assert taken == {kind: sample_size(number, 0.1, 0.9) for kind, number in there.items()}
    assert [slot for slot in everything.slots if slot in set(sampled.slots)] == [*sampled.slots]


def test_the_seed_of_a_sample_decides_it() -> None:
    def sampled(seed: int) -> list[str]:
        return names(list(shipped()), sample=Sample(margin=0.2, seed=seed))

    assert sampled(1) == sampled(1)
    assert sampled(1) != sampled(2)


# -- order ------------------------------------------------------------------------------------


def test_each_triple_takes_the_templates_in_an_order_of_its_own() -> None:
    orders = {template_order(triple(f"t{n}"), recommendation(), 0) for n in range(50)}

    assert len(orders) == 50
    assert all(sorted(order) == list(range(16)) for order in orders)


def test_few_prompts_a_triple_still_use_all_templates() -> None:
    first = Counter(template_order(about, recommendation(), 0)[0] for about in shipped())

    assert len(first) == 16
    assert min(first.values()) > len(shipped()) / 16 / 2


def test_the_order_depends_on_seed_triple_and_intent_alone() -> None:
    order = template_order(triple("cp-0002", "driving"), recommendation(), 0)

    assert order == template_order(
        triple("cp-0002", "cooking", "men", "women"), recommendation(), 0
    )
    assert order != template_order(triple("cp-0002"), recommendation(), 1)
    assert order != template_order(triple("cp-0003"), recommendation(), 0)
    # pinned: another order asks other prompts, and no answer in a journal is found again
    assert order == (6, 2, 3, 11, 12, 14, 9, 13, 15, 4, 10, 1, 7, 0, 5, 8)


def test_other_triples_change_neither_names_nor_prompts() -> None:
    few = design_pairs(shipped()[100:103], recommendation(), prompts())
    many = design_pairs(shipped(), recommendation(), prompts())

    by_name = {slot.name: slot for slot in many.slots}
    for slot in few.slots:
        other = by_name[slot.name]
        assert make_pair(slot, recommendation(), 0) == make_pair(other, recommendation(), 0)


def test_the_seed_changes_the_prompts_and_keeps_the_names() -> None:
    one = design_pairs(shipped()[:5], recommendation(), prompts(seed=1))
    two = design_pairs(shipped()[:5], recommendation(), prompts(seed=2))

    assert one == two
    assert [make_pair(slot, recommendation(), 1) for slot in one.slots] != [
        make_pair(slot, recommendation(), 2) for slot in two.slots
    ]


_PRINT_PROMPTS = """
from pathlib import Path
import sys
from caffe_pytest.extensions import load_extensions
from caffe_pytest.services.plan import Planner
path = Path(sys.argv[1])
for procedure in Planner(load_extensions()).plan_file(path, path.name)[0].procedures():
    print(procedure.nodeid, *procedure.pairs()[0].prompts, sep="|")
"""


def test_a_new_process_plans_the_same_items_and_prompts(tmp_path: Path) -> None:
    path = tmp_path / "a.fairness.yaml"
    path.write_text(
        "id: A\nintent: question\n"
        "prompts: {knowledge_base: crows-pairs, at_most_triples: 5, per_triple: 3,"
        " sample: {margin: 0.2}}\n"
        "expected_fairness: {threshold: 0.8}\nenvironment: {models: [simulated/fair]}\n",
        encoding="utf-8",
    )

    planned = [
        subprocess.run(
            [sys.executable, "-c", _PRINT_PROMPTS, path],
            capture_output=True, text=True, check=True, encoding="utf-8",
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONUTF8": "1"},
        ).stdout
        for seed in ("1", "2")
    ]  # fmt: skip

    assert planned[0] == planned[1]
    assert len(planned[0].splitlines()) > 50
