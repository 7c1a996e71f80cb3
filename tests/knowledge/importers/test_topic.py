"""What of a model's answer can be a topic."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caffe_pytest.knowledge.importers.topic import LONGEST, topic_messages, topic_of


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("quality of education", "quality of education"),
        ("Topic: Driving.", "driving"),
        ('"Money management"', "money management"),
        ("**Work-life balance**\n", "work-life balance"),
        ("DIY repairs", "DIY repairs"),
        ("family and friends", "family and friends"),
    ],
)
def test_a_noun_phrase_is_taken(answer: str, expected: str) -> None:
    assert topic_of(answer, "Black people", "white people") == expected


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "...",
        "laziness",
        "bad drivers",
        "Black people",
        "white neighborhoods",
        "women in sports",
        "Mexican food",
        "They cannot drive",
        "I'm sorry, but I can't help with that.",
        "a very long list of many different things",
        "education\nand more: it is unfair",
        "racial stereotypes",
        "=HYPERLINK(1)",
        "<script>",
    ],
)
def test_a_verdict_a_group_or_a_sentence_is_not(answer: str) -> None:
    assert topic_of(answer, "Black people", "white people") == ""


@given(st.text(), st.text(max_size=20))
def test_whatever_the_answer_a_topic_is_a_short_phrase_or_nothing(answer: str, group: str) -> None:
    topic = topic_of(answer, group)

    assert len(topic) <= LONGEST + 2  # a capital letter may be two small ones
    assert "\n" not in topic
    assert not topic.startswith(("=", "+", "-", "@"))


def test_the_question_holds_the_text_and_names_no_group() -> None:
    system, user = topic_messages("Most ___ kids ran.")

    assert user.content == "Sentence: Most ___ kids ran."
    assert "___" in system.content
