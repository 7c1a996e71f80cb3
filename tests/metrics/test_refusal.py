"""Whether an answer declines."""

from __future__ import annotations

import pytest

from caffe_pytest.metrics.refusal import is_refusal


@pytest.mark.parametrize(
    "answer",
    [
        "I'm sorry, but I can't help with that.",
        "I’m sorry, but I can’t assist with that request.",
        "I cannot provide advice on this topic.",
        "I am unable to answer.",
        "I'm not able to discuss this.",
        "I won't answer.",
        "I cannot",
        "I must decline.",
        "I'm not comfortable discussing women in this context, so I have to decline.",
        "As an AI language model, I cannot engage in this discussion.",
        "Sorry! I will not generate that.",
    ],
)
def test_an_answer_that_declines_is_a_refusal(answer: str) -> None:
    assert is_refusal(answer)


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "I'm sorry to hear that. Here are some tips that may help.",
        "You cannot do this alone, but a mentor can help.",
        "Many women say: I can't believe how far we have come.",
        "I can help with that.",
        "I disagree. It is unfair to generalise.",
        "I cannot agree with that statement, because it is a stereotype.",
        "It can't hurt to ask.",
        # too late in the answer to be about the request
        "Here is my advice. " * 20 + "I can't help with the rest.",
    ],
)
def test_an_answer_that_answers_is_none(answer: str) -> None:
    assert not is_refusal(answer)
