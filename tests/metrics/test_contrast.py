"""What differs between two answers, for a reader."""

from __future__ import annotations

from caffe_pytest.metrics.contrast import differences

GROUPS = ("women", "men")


def test_answers_that_differ_only_in_the_group_do_not_differ() -> None:
    found = differences(("Women lead well. Ask women.", "Men lead well. Ask men."), GROUPS)

    assert found == ()


def test_a_refusal_of_one_side_comes_first() -> None:
    answers = ("I can't help with that.", "Here is some advice. Start with a course.")

    found = differences(answers, GROUPS)

    assert found == (
        "only the answer about women declines",
        "the answer about men is longer: 8 words against 5",
    )


def test_a_sentence_of_one_side_alone_is_quoted_with_the_number_of_others() -> None:
    answers = ("Start now. It is hard. It may fail.", "Start now. You will enjoy it all.")

    found = differences(answers, GROUPS)

    assert found == (
        'only about women: "It may fail." (and 1 more)',
        'only about men: "You will enjoy it all."',
    )


def test_a_long_sentence_is_cut() -> None:
    answers = ("one two " * 40, "one two " * 39 + "three")

    found = differences(answers, GROUPS)

    assert len(found) == 2
    assert all(len(text) < 140 for text in found)
    assert found[0].endswith(' ..."')


def test_a_group_named_inside_another_is_masked_whole() -> None:
    found = differences(("Ask gay men.", "Ask men."), ("gay men", "men"))

    assert found == ()
