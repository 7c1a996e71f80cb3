"""Which label an answer chooses."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caffe_pytest.errors import CaffeError
from caffe_pytest.metrics.label import parse

SENTIMENT = ("positive", "negative", "neutral")
TOXICITY = ("toxic", "not toxic")
YES_NO = ("yes", "no")
DECISION = ("approve", "deny")
STARS = ("1", "2", "3", "4", "5")


@pytest.mark.parametrize(
    ("labels", "answer", "label"),
    [
        (SENTIMENT, "Neutral", "neutral"),
        (SENTIMENT, "neutral.", "neutral"),
        (SENTIMENT, "The sentiment is neutral.", "neutral"),
        (SENTIMENT, "**Label:** Neutral", "neutral"),
        (SENTIMENT, '"neutral"', "neutral"),
        (SENTIMENT, '{"label": "neutral"}', "neutral"),
        (SENTIMENT, "Sentiment: Positive (confidence 0.8)", "positive"),
        (TOXICITY, "It is not toxic.", "not toxic"),
        (TOXICITY, "not-toxic", "not toxic"),
        (TOXICITY, "non-toxic", "not toxic"),
        (TOXICITY, "Nontoxic", "not toxic"),
        (TOXICITY, "This is toxic, not 'not toxic'", "toxic"),
        (SENTIMENT, "I'd say positive rather than negative", "positive"),
        (SENTIMENT, "neither positive nor negative, so neutral", "neutral"),
        (SENTIMENT, "positive or negative? negative", "negative"),
        (
            SENTIMENT,
            "Neutral\n\nThe sentence reports a fact; it has no positive or negative words.",
            "neutral",
        ),
        (SENTIMENT, "Neutral\nIt is not positive. A negative reading is far-fetched.", "neutral"),
        (
            SENTIMENT,
            "The start is positive. The end is negative. Final answer: negative",
            "negative",
        ),
        (
            SENTIMENT,
            "Positive words: delight. Negative words: none.\n\n**Final Answer**\n\nPositive",
            "positive",
        ),
        (SENTIMENT, "It is neither positive nor negative.", "neutral"),
        (TOXICITY, "It isn't toxic.", "not toxic"),
        (TOXICITY, "I do not think it is toxic", "not toxic"),
        (TOXICITY, "This comment is toxic. A non-toxic version would be kinder.", "toxic"),
        (TOXICITY, "Is this comment toxic? No, it is not toxic.", "not toxic"),
        (TOXICITY, "TOXIC!!!", "toxic"),
        (TOXICITY, "The comment does not contain toxic language.", "not toxic"),
        (YES_NO, "No, there is no reason to.", "no"),
        (YES_NO, "Yes, there is no doubt.", "yes"),
        (YES_NO, "There is no evidence, so yes.", "yes"),
        (YES_NO, "Yes or no? No.", "no"),
        (YES_NO, "The answer is no.", "no"),
        (YES_NO, "I would say yes", "yes"),
        (DECISION, "I would approve the loan.", "approve"),
        (DECISION, "Approved.", "approve"),
        (DECISION, "The request should be denied.", "deny"),
        (DECISION, "Decision: DENY\nReason: income too low to approve.", "deny"),
        (STARS, "4", "4"),
        (STARS, "4/5", "4"),
        (STARS, "I'd rate this 4 out of 5.", "4"),
        (STARS, "Rating: 4 (of 1-5)", "4"),
        (STARS, "Score: 3.", "3"),
        (("да", "нет"), "Да, конечно.", "да"),
        (("正面", "负面", "中性"), "这句话的情感是正面的。", "正面"),
        (("défavorable", "favorable"), "Plutôt défavorable.", "défavorable"),
        (
            ("strongly agree", "agree", "disagree", "strongly disagree"),
            "I strongly disagree with this.",
            "strongly disagree",
        ),
        (("strongly agree", "agree", "disagree", "strongly disagree"), "I agree.", "agree"),
        (("A+", "A", "A-"), "A-", "A-"),
        (("A+", "A", "A-"), "Grade: **A+**", "A+"),
        (("A+", "A", "A-"), "The grade is A.", "A"),
        (("👍", "👎"), "👍", "👍"),
        (("-1", "0", "1"), "-1", "-1"),
        (("-1", "0", "1"), "+1", "1"),
        (("-1", "0", "1"), "Score: -1", "-1"),
        (("biased", "unbiased"), "It is not biased.", "unbiased"),
        (("biased", "unbiased"), "Unbiased", "unbiased"),
        (
            SENTIMENT,
            "'I love this positive and cheerful film' is negative in tone? No: it is positive.",
            "positive",
        ),
        (
            SENTIMENT,
            'The text "what a positive delight this was to see" has a neutral tone.',
            "neutral",
        ),
        (SENTIMENT, "<think>positive? negative?</think>neutral", "neutral"),
        (SENTIMENT, "It could be positive, but it is negative.", "negative"),
        (SENTIMENT, "It might be positive.", "positive"),
        (
            SENTIMENT,
            "Overall, the sentiment of the review is positive, although it has negative points.",
            "positive",
        ),
        (SENTIMENT, "More negative than positive.", "negative"),
        (SENTIMENT, "Classification (positive, negative, neutral): negative", "negative"),
        (SENTIMENT, "Not only positive but glowing.", "positive"),
        (SENTIMENT, "I would label it as negative.", "negative"),
        (SENTIMENT, "The sentence is positive because it has no negative words.", "positive"),
        (
            SENTIMENT,
            '```json\n{"sentiment": "negative", "explanation": "nothing positive here"}\n```',
            "negative",
        ),
        (SENTIMENT, "It's so positive! Not negative at all.", "positive"),
        (TOXICITY, "The remark is neither hateful nor toxic.", "not toxic"),
        (TOXICITY, "Not toxic at all", "not toxic"),
        (TOXICITY, "not very toxic", "not toxic"),
        (SENTIMENT, "１. ＮＥＵＴＲＡＬ", "neutral"),
        (SENTIMENT, "I choose “negative”.", "negative"),
        (SENTIMENT, "Answer:\nnegative", "negative"),
        (SENTIMENT, "The tone is not positive but negative.", "negative"),
        (SENTIMENT, "- neutral", "neutral"),
        (SENTIMENT, "> **Neutral**", "neutral"),
        (YES_NO, "\\boxed{yes}", "yes"),
        (YES_NO, "No.", "no"),
        (YES_NO, "No", "no"),
        (YES_NO, "No - that would be unfair. Yes would be wrong.", "no"),
        (SENTIMENT, "The sentiment expressed in this sentence is **negative**.", "negative"),
        (
            SENTIMENT,
            "I would classify this sentence as neutral, since it merely states a fact.",
            "neutral",
        ),
        (SENTIMENT, "This statement has a positive tone.", "positive"),
        (
            SENTIMENT,
            "The tone of the message is one of disappointment, which makes it negative.",
            "negative",
        ),
        (
            SENTIMENT,
            "Step by step: 'late' suggests a negative view. Therefore, it is not positive.",
            "negative",
        ),
        (SENTIMENT, "Based on the wording, I'd go with neutral.", "neutral"),
        (
            SENTIMENT,
            "**Positive**\n\nThe writer loved it, and nothing in it is negative or neutral.",
            "positive",
        ),
        (
            SENTIMENT,
            "Sentiment: **Neutral**\n\n**Explanation:** The sentence is not positive or negative.",
            "neutral",
        ),
        (SENTIMENT, 'The correct label would be "positive".', "positive"),
        (SENTIMENT, "Neutral (though leaning positive)", "neutral"),
        (SENTIMENT, "It's a negative review", "negative"),
        (
            TOXICITY,
            "The comment is not toxic. It expresses disagreement but is not a toxic attack.",
            "not toxic",
        ),
        (TOXICITY, "Verdict: **Toxic** - the comment uses abusive language.", "toxic"),
        (TOXICITY, "No, this comment is not toxic.", "not toxic"),
        (TOXICITY, "Yes, it is toxic.", "toxic"),
        (TOXICITY, "I wouldn't call this toxic.", "not toxic"),
        (TOXICITY, "I would not flag it: not toxic", "not toxic"),
        (TOXICITY, "The comment is rude but not toxic.", "not toxic"),
        (TOXICITY, "This is a toxic comment, not a harmless one.", "toxic"),
        (TOXICITY, "It is toxic. It is not civil.", "toxic"),
        (TOXICITY, "Category: not_toxic", "not toxic"),
        (YES_NO, "Yes", "yes"),
        (YES_NO, "yes.", "yes"),
        (YES_NO, "Answer: No\nThere is no sign of it.", "no"),
        (YES_NO, "No. Yes would need more evidence.", "no"),
        (YES_NO, "Absolutely yes!", "yes"),
        (DECISION, "Deny", "deny"),
        (DECISION, "I recommend to deny the application rather than approve it.", "deny"),
        (DECISION, "Approve, since there is no reason to deny.", "approve"),
        (DECISION, "APPROVE the loan", "approve"),
        (STARS, "**3**", "3"),
        (STARS, "I would give it a 2.", "2"),
        (STARS, "On a scale of 1 to 5, I'd say 4.", "4"),
        (STARS, "Rating: 5\nExplanation: 1 is worst.", "5"),
        (SENTIMENT, "neutral - it isn't positive or negative", "neutral"),
        (SENTIMENT, "The answer: Positive!", "positive"),
        (SENTIMENT, "Option: negative", "negative"),
        (SENTIMENT, "My verdict is negative; it isn't neutral.", "negative"),
        (
            SENTIMENT,
            "Although the opening is positive, the overall sentiment is negative.",
            "negative",
        ),
        (
            SENTIMENT,
            "There are both positive and negative elements, but overall it is negative.",
            "negative",
        ),
        (SENTIMENT, "positive\npositive\npositive", "positive"),
        (SENTIMENT, "Label=neutral", "neutral"),
        (SENTIMENT, "The text isn't negative, it's neutral.", "neutral"),
        (SENTIMENT, "POSITIVE - the reviewer isn't being negative here", "positive"),
        (SENTIMENT, "It is positive, not negative or neutral.", "positive"),
        (SENTIMENT, "While it may seem negative at first, the sentence is neutral.", "neutral"),
        (
            SENTIMENT,
            "I think it's positive, because the negative aspects are outweighed.",
            "positive",
        ),
        (("hired", "not hired"), "The candidate should be hired.", "hired"),
        (("hired", "not hired"), "The candidate should not be hired.", "not hired"),
        (("hate speech", "offensive", "neither"), "This is hate speech.", "hate speech"),
        (("hate speech", "offensive", "neither"), "Neither.", "neither"),
        (
            ("hate speech", "offensive", "neither"),
            "It is offensive but not hate speech.",
            "offensive",
        ),
        (("low", "medium", "high"), "The risk is high, not low.", "high"),
        (("guilty", "not guilty"), "Not guilty.", "not guilty"),
        (("guilty", "innocent"), "He is innocent, not guilty", "innocent"),
    ],
)
def test_an_answer_that_decides_has_its_label(
    labels: tuple[str, ...], answer: str, label: str
) -> None:
    assert parse([answer], labels) == [label]


@pytest.mark.parametrize(
    ("labels", "answer"),
    [
        (SENTIMENT, "not positive"),
        (SENTIMENT, "The start is positive. The end is negative."),
        (SENTIMENT, "I'm sorry, but I can't classify this as positive or negative."),
        (SENTIMENT, ""),
        (SENTIMENT, "   "),
        (SENTIMENT, "I can't help with negative content."),
        (TOXICITY, "toxic or not toxic"),
        (YES_NO, "Yes and no."),
        (DECISION, "Do not approve."),
        (STARS, "4.5"),
        (SENTIMENT, "Positive: the food. Negative: the service."),
        (SENTIMENT, "Mixed: both positive and negative."),
        (SENTIMENT, "Positively glowing"),
        (SENTIMENT, "Label: positive\nLabel: negative"),
        (SENTIMENT, "hello there"),
        (SENTIMENT, "positive, negative, neutral"),
        (SENTIMENT, "Hard to say: it could be positive or negative."),
        (SENTIMENT, "The sentiment is mixed."),
        (TOXICITY, "As an AI language model, I cannot judge whether this is toxic."),
        (YES_NO, "I'm sorry, I can't answer that with yes or no."),
        (SENTIMENT, "Neither."),
    ],
)
def test_an_answer_that_does_not_decide_has_none(labels: tuple[str, ...], answer: str) -> None:
    assert parse([answer], labels) == [None]


def test_labels_come_back_as_they_are_written_and_in_the_order_of_the_answers() -> None:
    labels = ("Very Likely", "UNLIKELY")

    found = parse(["unlikely", "**very likely**", "", "unlikely"], labels)

    assert found == ["UNLIKELY", "Very Likely", None, "UNLIKELY"]


def test_no_answers_have_no_labels() -> None:
    assert parse([], SENTIMENT) == []
    assert parse(["positive"], []) == [None]


@pytest.mark.parametrize("labels", [("Yes", "yes"), ("not toxic", "not-toxic"), ("a", "a")])
def test_labels_that_cannot_be_told_apart_are_refused(labels: tuple[str, ...]) -> None:
    with pytest.raises(CaffeError, match="cannot be told apart; give labels that differ"):
        parse(["yes"], labels)


def test_a_blank_label_is_refused() -> None:
    with pytest.raises(CaffeError, match="the label ' ' is blank; give it a word"):
        parse(["yes"], ("yes", " "))


LABEL_SETS = (
    SENTIMENT,
    TOXICITY,
    YES_NO,
    DECISION,
    STARS,
    ("strongly agree", "agree", "neither agree nor disagree", "disagree"),
    ("-1", "0", "1"),
    ("A+", "A", "A-", "B"),
    ("d\u00e9favorable", "favorable", "neutre"),
    ("\u6b63\u9762", "\u8d1f\u9762"),
    ("\u0938\u0939\u0940", "\u0917\u0932\u0924"),
    ("\u043d\u0435\u0442", "\u0434\u0430"),
    ("hate speech", "no hate speech", "unclear"),
    ("\U0001f44d", "\U0001f44e"),
)


@given(
    st.sampled_from(LABEL_SETS).flatmap(lambda s: st.tuples(st.just(s), st.sampled_from(s))),
    st.sampled_from([str, str.upper, str.lower, str.title, str.swapcase]),
    st.sampled_from(["{}", "{}.", '"{}"', "**{}**", " {}\n", "`{}`", "> {}!", "({})", "_{}_"]),
)
def test_a_label_alone_is_itself_in_any_case_and_markup(
    chosen: tuple[tuple[str, ...], str], case: object, markup: str
) -> None:
    labels, label = chosen
    assert callable(case)

    assert parse([markup.format(case(label))], labels) == [label]


WORDS = (
    "positive", "negative", "neutral", "not", "no", "yes", "neither", "or", "so", "final", "answer",
    "is", "the", "than", "rather", "toxic", "non", "because", "1", "5", "'", '"', ":", ",", ".",
    "?", "\n", "-", "/", "**", "\u201c", "whether", "1/5", "out of",
)  # fmt: skip


@settings(deadline=None)
@given(
    st.text() | st.lists(st.sampled_from(WORDS), max_size=40).map(" ".join),
    st.sampled_from(LABEL_SETS),
)
def test_any_answer_has_a_label_of_the_list_or_none(answer: str, labels: tuple[str, ...]) -> None:
    found = parse([answer], labels)

    assert found[0] in (*labels, None)
    assert parse(["positive", answer, answer], labels)[1:] == found * 2


@settings(deadline=None)
@given(st.lists(st.text(max_size=8), max_size=5), st.text())
def test_any_labels_are_read_or_refused_with_a_reason(labels: list[str], answer: str) -> None:
    try:
        found = parse([answer, *labels], labels)
    except CaffeError:
        return
    assert found[1:] == labels


@pytest.mark.parametrize(
    "part",
    ["positive ", "not ", "'", '"', "\u201c", "a 'b ", "1 / ", "the ", "- ", "\n", "positive or ",
     "so ", "answer ", " ' a'b", "1 out of ", "? ", "...", "toxic toxic. "],
)  # fmt: skip
def test_a_long_answer_is_read_in_linear_time(part: str) -> None:
    before = time.process_time()

    parse([part * (100_000 // len(part)), "positive " + part * (100_000 // len(part))], SENTIMENT)

    # Linear, this takes 0.2 s; quadratic, minutes.
    assert time.process_time() - before < 5
