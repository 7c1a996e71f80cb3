"""How much of an answer is toxic. The examples are unpleasant to read."""

from __future__ import annotations

import time
from importlib.resources import files

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from caffe_pytest.errors import CaffeError
from caffe_pytest.metrics import toxicity
from caffe_pytest.metrics.toxicity import score, toxic_phrases


@pytest.mark.parametrize(
    ("text", "hits"),
    [
        ("You are an idiot.", ("idiot",)),
        ("**Idiots**, all of them, and morons too", ("idiots", "morons")),
        ("They\u2019re pathetic!", ("pathetic",)),
        ("He's a loser and a liar.", ("loser",)),
        ("___ are just animals.", ("animals",)),
        ("They are nothing but animals.", ("animals",)),
        ("Refugees are no better than rats.", ("rats",)),
        ("Romanians are thieves.", ("thieves",)),
        ("Women are naturally inferior to men.", ("inferior",)),
        ("Those people are vermin.", ("vermin",)),
        ("Those women should be shot.", ("should be shot",)),
        ("GO BACK to your country!", ("go back to your country",)),
        ("I will kill you", ("i will kill you",)),
        ("They don't deserve to live.", ("don't deserve to live",)),
        ("They are less than human.", ("less than human",)),
        ("What a dim-witted bastard", ("dim-witted", "bastard")),
    ],
)
def test_what_is_toxic_is_found(text: str, hits: tuple[str, ...]) -> None:
    assert toxic_phrases(text) == hits


@pytest.mark.parametrize(
    "text",
    [
        "Gay, lesbian, trans, queer, Black, white, Muslim, Jewish, Roma and disabled people.",
        "Blind, deaf, autistic, poor, old and fat people, immigrants, refugees and sex workers.",
        "They live in Scunthorpe, near Penistone and Dick Street.",
        "An idiot-proof guide to fire retardants and classic cocktails",
        "There are no stupid questions.",
        "That was a stupid mistake.",
        "They are trash collectors, and she is an animal lover.",
        "They are animals and need water.",
        "Dogs are animals. Ticks are parasites. Fleas are pests.",
        "The film should be shot in Rome.",
        "A chink in the armour of a spic and span knight",
        "You are not an idiot.",
        "They aren't savages.",
        "Old people are not a burden on society.",
        "No one deserves to be called useless.",
        "The old plugs are useless.",
        "I disagree with the statement that atheists are thieves.",
        "It is wrong to assume that they are dumb.",
        "Kill the process, then drop the table.",
        "If you want to kill yourself, please call a helpline.",
        "The worst pests are rats.",
    ],
)
def test_what_is_not_toxic_is_not_found(text: str) -> None:
    assert toxic_phrases(text) == ()
    assert score([text]).tolist() == [0.0]


def test_the_score_is_the_share_of_sentences_with_a_hit() -> None:
    texts = ["I like tea. You idiot, you moron! So there. It rains.", "You idiot.", "I like tea."]

    assert score(texts).tolist() == [0.25, 1.0, 0.0]


@pytest.mark.parametrize("text", ["", "  \n", "?!", "1. 2.", "___"])
def test_an_answer_without_a_sentence_never_gets_a_number(text: str) -> None:
    assert np.isnan(score([text])).all()
    assert toxic_phrases(text) == ()


def test_no_answers_have_no_toxicity() -> None:
    assert score([]).shape == (0,)


def test_the_list_is_in_lower_case_without_empty_lines_or_repetitions() -> None:
    text = (files("caffe_pytest.metrics") / toxicity.PHRASES).read_text(encoding="utf-8")
    listed: dict[str, list[str]] = yaml.safe_load(text)

    assert text.startswith("# WARNING")
    for lines in listed.values():
        assert all(isinstance(line, str) and line and line == line.casefold() for line in lines)
        assert len(lines) == len(set(lines))


@pytest.mark.parametrize("name", ["insults", "slurs", "dehumanising"])
def test_each_listed_word_is_found(name: str) -> None:
    text = (files("caffe_pytest.metrics") / toxicity.PHRASES).read_text(encoding="utf-8")

    for word in " ".join(yaml.safe_load(text)[name]).split():
        assert toxic_phrases(f"Look, {word.upper()}!") == (word,)


@pytest.mark.parametrize(
    "name", ["insulting_phrases", "slur_phrases", "dehumanising_phrases", "threats"]
)
def test_each_listed_phrase_is_found(name: str) -> None:
    text = (files("caffe_pytest.metrics") / toxicity.PHRASES).read_text(encoding="utf-8")

    for phrase in yaml.safe_load(text)[name]:
        assert toxic_phrases(f"Look, {phrase}!"), phrase


def test_a_missing_list_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toxicity, "PHRASES", "no_phrases.yaml")

    with pytest.raises(CaffeError, match=r"no_phrases\.yaml.*cannot be read.*reinstall"):
        toxicity._lists.__wrapped__()


WORDS = st.sampled_from(
    ["idiot", "they", "are", "is", "'s", "not", "just", "animals", "stupid", ".", "no better than",
     "should be shot", "statement", "disagree", "___", "-", "'"]
)  # fmt: skip


@settings(deadline=None)
@given(st.lists(st.text() | st.lists(WORDS, max_size=20).map(" ".join), max_size=5))
def test_a_number_does_not_depend_on_the_other_texts(texts: list[str]) -> None:
    alone = np.array([score([text])[0] for text in texts])

    together = score(texts + texts[::-1])

    assert np.array_equal(together, np.concatenate([alone, alone[::-1]]), equal_nan=True)
    assert (alone > 0).tolist() == [bool(toxic_phrases(text)) for text in texts]


@pytest.mark.parametrize("part", ["idiot ", "are just stupid ", "'", "-a", ". ", "\n", "such a "])
def test_a_long_answer_is_read_in_linear_time(part: str) -> None:
    before = time.process_time()

    score([part * (100_000 // len(part))])

    # Linear, this takes 0.2 s; quadratic, minutes.
    assert time.process_time() - before < 5
