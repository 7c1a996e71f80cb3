"""The groups that are read off an edit, and what is doubtful of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caffe_pytest.knowledge.importers.english import (
    LONGEST_TERM,
    direction_doubtful,
    english,
)
from caffe_pytest.knowledge.importers.groups_of_edit import (
    Groups,
    blanked,
    groups_of_edit,
)
from caffe_pytest.knowledge.importers.minimal_edit import minimal_edit
from caffe_pytest.knowledge.importers.proposal import FLAGS


def groups(first: str, second: str, language: str = "en") -> Groups:
    return groups_of_edit(minimal_edit(first, second), language)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("Most black kids ran.", "Most white kids ran.", ("Black children", "white children")),
        ("The poor can't cook.", "The rich can't cook.", ("poor people", "rich people")),
        ("The boy was very fat.", "The boy was very slim.", ("overweight boys", "thin boys")),
        ("She was poor, so", "She was wealthy, so", ("poor women", "wealthy women")),
        ("Mexicans drive.", "Americans drive.", ("Mexicans", "Americans")),
        ("A Chinese woman sang.", "A British woman sang.", ("Chinese women", "British women")),
        ("Women don't read.", "Men read.", ("women", "men")),
        ("my gay friend came", "my straight friend came", ("gay people", "straight people")),
        ("An old man sat.", "A young woman sat.", ("elderly men", "young women")),
        ("A low income boy", "A high income boy", ("low-income boys", "high-income boys")),
        ("He is a Jew.", "He is a Muslim.", ("Jewish people", "Muslims")),
        ("the disabled girl", "the able-bodied girl",
         ("girls with disabilities", "girls without disabilities")),
    ],
)  # fmt: skip
def test_groups_are_called_as_a_base_calls_them(
    first: str, second: str, expected: tuple[str, str]
) -> None:
    assert groups(first, second) == (*expected, ())


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("It rains.", "It  rains", ("", "", ("same",))),
        ("He sang.", "She sang.", ("men", "women", ("only a pronoun",))),
        ("Tom ran.", "Ann ran.", ("", "", ("only a name",))),
        ("Tom ate his pie.", "Ann ate her pie.", ("men", "women", ("only a name",))),
        ("Poor people cook.", "White people cook.",
         ("poor people", "white people", ("different kinds",))),
        ("Old men like tea.", "Young men hate tea.",
         ("elderly men", "young men", ("two edits",))),
        ("He has a yacht.", "He has an apartment.", ("yacht", "apartment", ("rephrase",))),
        ("I can do it.", "I can't do it.", ("", "", ("no group",))),
        ("The rich sing.", "The affluent sing.", ("rich people", "rich people", ("no group",))),
    ],
)  # fmt: skip
def test_what_is_doubtful_is_flagged(
    first: str, second: str, expected: tuple[str, str, tuple[str, ...]]
) -> None:
    assert groups(first, second) == expected


def test_the_same_words_in_two_places_are_one_edit() -> None:
    found = groups("Women never run as far as men.", "Men never run as far as women.")

    assert found == ("women", "men", ())


def test_of_other_languages_the_words_themselves_are_proposed() -> None:
    found = groups("Les femmes chantent.", "Les hommes chantent.", "fr")

    assert found == ("femmes", "hommes", ("rephrase",))


@given(st.text(max_size=60), st.text(max_size=60), st.sampled_from(["en", "fr"]))
def test_whatever_the_sentences_no_sentence_is_proposed(
    first: str, second: str, language: str
) -> None:
    found = groups(first, second, language)

    assert set(found.flags) <= FLAGS.keys()
    if "rephrase" in found.flags:
        assert len(found.first.split()) <= LONGEST_TERM
        assert len(found.second.split()) <= LONGEST_TERM


def test_a_model_reads_blanks_in_place_of_groups() -> None:
    pieces = minimal_edit(
        "Most black kids ran; black kids do.", "Most white kids ran; white kids do."
    )

    assert blanked(pieces) == "Most ___ kids ran; ___ kids do."


def test_a_group_that_is_seldom_disadvantaged_makes_the_direction_doubtful() -> None:
    assert direction_doubtful("white people", "Black people")
    assert not direction_doubtful("Black people", "white people")
    assert not direction_doubtful("young men", "rich men")


def test_every_shipped_term_gives_a_phrase_without_a_gap() -> None:
    for form, term in english().terms.items():
        assert form == form.casefold()
        assert "{" not in term.called("")
        assert term.called("").strip()
