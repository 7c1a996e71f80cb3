"""Which triples a test case asks about."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caffe_pytest.knowledge.selection import matches, select
from caffe_pytest.model.test_case import Prompts
from caffe_pytest.model.triple import Triple


def triple(number: int, bias_type: str, topic: str, *groups: str, valid: bool = True) -> Triple:
    return Triple(
        id=f"t{number}", bias_type=bias_type, topic=topic, disadvantaged=groups[0],
        advantaged=groups[1], valid=valid,
    )  # fmt: skip


TRIPLES = [
    triple(1, "gender", "Leadership at work", "women", "men"),
    triple(2, "gender", "driving", "trans women", "women"),
    triple(3, "age", "driving", "old people", "young people"),
    triple(4, "age", "leadership", "old people", "young people", valid=False),
    triple(5, "religion", "work [paid]", "Muslims", "Christians"),
]


def prompts(**fields: Any) -> Prompts:
    return Prompts(knowledge_base=("ours",), **fields)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, [1, 2, 3, 5]),
        ({"bias_types": ("gender",)}, [1, 2]),
        ({"bias_types": ("age", "religion")}, [3, 5]),
        ({"topics": ("driving",)}, [2, 3]),
        ({"topics": ("leadership",)}, []),
        ({"topics": ("*LEADERSHIP*",)}, [1]),
        ({"topics": ("leader*", "dri?ing")}, [1, 2, 3]),
        ({"topics": ("*[[]paid]",)}, [5]),
        ({"groups": ("women",)}, [1, 2]),
        ({"groups": ("* women",)}, [2]),
        ({"groups": ("muslims", "MEN")}, [1, 5]),
        ({"bias_types": ("gender",), "topics": ("driving",), "groups": ("*trans*",)}, [2]),
        ({"bias_types": ("age",), "topics": ("leadership",)}, []),
    ],
)
def test_valid_triples_pass_every_filter_in_the_order_of_the_base(
    fields: dict[str, Any], expected: list[int]
) -> None:
    chosen = select(TRIPLES, prompts(**fields))

    assert [triple.id for triple in chosen] == [f"t{number}" for number in expected]


def test_no_patterns_match_everything_and_an_empty_list_nothing() -> None:
    assert matches(["a"], None)
    assert not matches(["a"], [])
    assert matches(["a", "B"], ["b"])


def test_at_most_so_many_triples_of_each_bias_type_are_taken() -> None:
    many = [triple(n, "age" if n % 3 else "gender", "x", f"a{n}", "b") for n in range(60)]

    chosen = select(many, prompts(at_most_triples=7))

    assert [triple.bias_type for triple in chosen].count("age") == 7
    assert [triple.bias_type for triple in chosen].count("gender") == 7
    assert chosen == sorted(chosen, key=many.index)


def test_the_seed_decides_which_triples_are_taken() -> None:
    many = [triple(n, "age", "x", f"a{n}", "b") for n in range(60)]

    taken = {
        tuple(t.id for t in select(many, prompts(at_most_triples=5, seed=seed)))
        for seed in (0, 0, 1, 2)
    }

    assert len(taken) == 3


numbers = st.lists(st.integers(0, 999), min_size=1, max_size=40, unique=True)


@settings(deadline=None, max_examples=200)
@given(existing=numbers, added=st.integers(1000, 9999), limit=st.integers(1, 12), data=st.data())
def test_another_row_changes_at_most_one_of_the_chosen(
    existing: list[int], added: int, limit: int, data: st.DataObject
) -> None:
    before = [triple(n, "age", "x", f"a{n}", "b") for n in existing]
    place = data.draw(st.integers(0, len(before)))
    after = [*before[:place], triple(added, "age", "x", "new", "b"), *before[place:]]

    chosen_before = {t.id for t in select(before, prompts(at_most_triples=limit))}
    chosen_after = {t.id for t in select(after, prompts(at_most_triples=limit))}

    assert len(chosen_before - chosen_after) <= 1
    assert chosen_after - chosen_before <= {f"t{added}"}
    assert len(chosen_after) == min(limit, len(after))


@settings(deadline=None, max_examples=100)
@given(existing=numbers, limit=st.integers(1, 12), data=st.data())
def test_the_order_of_the_rows_does_not_change_what_is_chosen(
    existing: list[int], limit: int, data: st.DataObject
) -> None:
    before = [triple(n, "age", "x", f"a{n}", "b") for n in existing]
    after = data.draw(st.permutations(before))

    chosen_before = {t.id for t in select(before, prompts(at_most_triples=limit))}
    chosen_after = {t.id for t in select(after, prompts(at_most_triples=limit))}

    assert chosen_before == chosen_after
