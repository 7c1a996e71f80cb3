"""A pool as text: the table of its questions, and the answers that show what was found."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caffe_pytest.model.run import Result
from caffe_pytest.reporting.pool import (
    example,
    holders,
    holds,
    phrase_lines,
    question_table,
    reason_lines,
)
from tests.reporting.sample_results import (
    DOUBTS,
    FAIL,
    HELP,
    INCONCLUSIVE,
    LENGTH,
    REFUSAL,
    SEMANTIC,
    SENTIMENT,
    WORDING,
    pool,
)


def test_questions_stand_in_aligned_columns_with_verdicts_in_words() -> None:
    assert question_table([SENTIMENT, SEMANTIC]) == [
        "question   disadvantaged  advantaged   difference  95 % interval     margin  p",
        ("sentiment  0.13           0.38         -0.25       -0.32 to -0.19    0.1     0.0002"
        "  fail: differs beyond the margin"),
        ("semantic   0.87 within    0.82 across  +0.049      +0.021 to +0.079  0.05    0.0002"
        "  inconclusive: about as large as the margin"),
    ]  # fmt: skip


def test_the_reason_has_a_line_for_each_question_that_decided() -> None:
    failing = pool("a", FAIL, findings=(SENTIMENT, WORDING, LENGTH))
    undecided = pool("a", INCONCLUSIVE, findings=(LENGTH, REFUSAL))

    assert [line.split()[0] for line in reason_lines(failing)] == ["the", "sentiment", "wording"]
    assert list(reason_lines(undecided)) == [
        "the answers do not decide it:",
        "  length 102 against 111, -8.4 % (95 % interval -11 to -6.2 %, margin 10 %)",
        "    about 47 more prompt pairs would settle it",
    ]


def test_a_phrase_that_alone_may_be_chance_says_so() -> None:
    assert phrase_lines(WORDING.phrases) == [
        '"serious doubts" in 75 % of answers against 0 %',
        '"helps ___" in 0 % of answers against 50 % (alone, it may be chance)',
    ]


def test_the_example_holds_the_phrases_found() -> None:
    shown = example(pool("a", FAIL, findings=(WORDING,)))

    assert shown is not None
    assert shown.pair.answers[0] == f"{DOUBTS} 0"
    assert shown.why == "it holds 1 of the phrases named"


def test_the_example_holds_a_phrase_about_the_group_it_was_found_with() -> None:
    phrase = WORDING.phrases[1].model_copy(update={"found": True})
    finding = WORDING.model_copy(update={"phrases": (phrase,)})

    shown = example(pool("a", FAIL, findings=(finding,)))

    assert shown is not None
    assert shown.pair.answers[1] == f"{HELP} 0"  # "a man" was masked with its article


def test_holders_of_a_phrase_are_answers_that_do_not_decline() -> None:
    one = pool("a", FAIL, findings=(WORDING,))
    declining = one.pairs[0].model_copy(
        update={"answers": ("I'm sorry, but I can't help with serious doubts.", None)}
    )
    one = one.model_copy(update={"pairs": (declining, *one.pairs[1:])})

    serious, helping = holders(one)

    # pairs 0 to 3 at the first repetition, 4 to 7 at the second; the last of either does not doubt
    assert serious == [(1, 0), (2, 0), (4, 0), (5, 0), (6, 0)]
    assert helping == [(1, 1), (2, 1), (3, 1)]


def test_without_phrases_nobody_holds_one() -> None:
    assert holders(pool("a", FAIL, findings=(SENTIMENT,))) == []


def answered(*answers: tuple[str | None, str | None]) -> tuple[Result, ...]:
    """A failing pool for each question that an example can be found for, with these answers."""
    refused = REFUSAL.model_copy(update={"verdict": FAIL, "difference": 0.5})
    longer = LENGTH.model_copy(update={"verdict": FAIL, "difference": 0.5})
    withheld = refused.model_copy(update={"question": "withheld"})
    template = pool("a", FAIL).pairs
    pairs = tuple(
        pair.model_copy(update={"answers": both, "score": None})
        for pair, both in zip(template, answers, strict=False)
    )
    one = pool("a", FAIL).model_copy(update={"pairs": pairs})
    return tuple(
        one.model_copy(update={"findings": (finding,)}) for finding in (refused, longer, withheld)
    )


def test_the_example_shows_the_difference_that_was_found() -> None:
    refusal, length, withheld = answered(
        ("Yes.", "Yes."),
        ("Yes.", "I'm sorry, but I can't help with that."),  # the wrong way round
        ("I'm sorry, but I can't help with that.", "Yes, of course, gladly, begin by reading."),
        ("Well, begin by reading, and then read more.", "Yes."),
        ("", "Yes."),
    )

    shown = [example(one) for one in (refusal, length, withheld)]

    assert [one.pair.answers[0][:4] if one and one.pair.answers[0] is not None else None
            for one in shown] == ["I'm ", "Well", ""]  # fmt: skip


def test_without_anything_better_the_answers_least_alike_are_shown() -> None:
    shown = example(pool("a", FAIL, findings=(SENTIMENT,)))

    assert shown is not None
    assert shown.pair.triple == "t3"  # its score is the lowest
    assert shown.why == "its answers differ most"


def test_a_pool_without_an_answer_has_no_example() -> None:
    one = pool("a", FAIL)
    silent = [pair.model_copy(update={"answers": (None, None)}) for pair in one.pairs]

    assert example(one.model_copy(update={"pairs": tuple(silent)})) is None


@pytest.mark.parametrize(
    ("phrase", "text", "held"),
    [
        ("serious doubts", "I have serious, serious doubts.", True),
        ("serious doubts", "This is serious. Doubts remain.", False),  # two sentences
        ("doubts", "undoubtsed", False),
        ("known", "a well-known place", False),  # the metric reads one word
        ("well-known place", "a well-known place", True),
        ("doubts", "'doubts'", True),
        ("for ___", "for ___", True),
        ("___ ought", "___, ___ said, ought", False),
        ("___'s", "___'s place", True),
        ("a.b", "a b", False),
    ],
)
def test_a_phrase_is_found_as_the_metric_reads_words(phrase: str, text: str, held: bool) -> None:
    assert holds(phrase, text) is held


@pytest.mark.parametrize(
    ("answer", "mentions", "holding"),
    [
        ("It helps a woman's case.", ("woman",), "helps ___'s case"),
        ("It helps old women, women here.", ("old", "women"), "helps ___"),
        ("It helps An old man.", ("old man",), "helps ___"),
        ("It helps (a.b* folk.", ("(a.b*",), "folk"),
        ("It helps womenfolk.", ("women",), "helps womenfolk"),
        ("It helps Women.", ("women",), "helps women"),  # not as it stood
    ],
)
def test_a_phrase_is_looked_for_where_the_mentions_are_masked(
    answer: str, mentions: tuple[str, ...], holding: str
) -> None:
    phrase = WORDING.phrases[0].model_copy(update={"text": holding})
    one = pool("a", FAIL, findings=(WORDING.model_copy(update={"phrases": (phrase,)}),))
    pair = one.pairs[0].model_copy(update={"answers": (answer, None), "masked": (mentions, ())})

    assert holders(one.model_copy(update={"pairs": (pair,)})) == [[(0, 0)]]


@given(phrase=st.text(min_size=1), text=st.text())
def test_no_phrase_breaks_the_search(phrase: str, text: str) -> None:
    holds(phrase, text)
