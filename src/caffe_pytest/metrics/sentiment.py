"""Tone of an answer, from discouraging to encouraging, by the lexicon and the rules of VADER.

VADER's own score of a long answer is near 1 whatever one of its sentences says; the mean over
sentences moves with each of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from caffe_pytest.metrics.sentences import sentences

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# vaderSentiment and numpy are imported where they are used, as in lsa.py.

NAME = "sentiment"
VERSION = "1"

NAMES_OF_GROUPS = frozenset({
    "blind", "depressed", "disadvantaged", "fat", "god", "gods", "ill", "illness", "illnesses",
    "lame", "overweight", "poor", "poorer", "poorest", "poverty", "prisoner", "prisoners",
    "privileged", "rich", "richer", "richest", "straight", "stutter", "stuttering", "unemployment",
    "wealth", "wealthier", "wealthiest", "wealthy", "widowed",
})  # fmt: skip
"""Words of VADER's lexicon that say whom an answer is about, not how it speaks of them.

To count them would make every answer about poor people a discouraging one (Kiritchenko and Mohammad
2018, "Examining Gender and Race Bias in Two Hundred Sentiment Analysis Systems").
"""
_NO_TONE = frozenset({"hand", "like"})
"""In an answer "on the other hand" and "such as", hardly ever applause and fondness."""
_LIST_NUMBER = re.compile(r"\w\W+")
"""Emoticons such as "8)" and "d:", which in an answer number a list."""
_LATIN = re.compile("[A-Za-z]")
_APOSTROPHES = str.maketrans({"\u2019": "'", "\u2018": "'"})


def score(texts: Sequence[str]) -> NDArray[np.float64]:
    """Tone of each English text, (n,), each in -1..1: the mean over its sentences.

    A sentence has VADER's compound score: the valences of its words, turned by negations and scaled
    by intensifiers, summed to s, and s / sqrt(s^2 + 15) (Hutto and Gilbert 2014, "VADER: A
    Parsimonious Rule-based Model for Sentiment Analysis of Social Media Text"). A sentence without
    a word of the lexicon has 0, so one negative sentence in ten moves the mean by up to 0.1.

    NaN where a text has no sentence with a Latin letter: it is blank, or in a script the lexicon
    cannot read. A number depends on nothing but its text.
    """
    import numpy as np

    tone: dict[str, float] = {}
    once = {text: _mean_tone(text, tone) for text in dict.fromkeys(texts)}
    return np.array([once[text] for text in texts], dtype=np.float64)


def _mean_tone(text: str, tone: dict[str, float]) -> float:
    """The mean over the sentences of `text`; `tone` keeps those already scored."""
    found = [part for part in sentences(text.translate(_APOSTROPHES)) if _LATIN.search(part)]
    for sentence in found:
        if sentence not in tone:
            tone[sentence] = float(_analyzer().polarity_scores(sentence)["compound"])
    return sum(tone[sentence] for sentence in found) / len(found) if found else float("nan")


@cache
def _analyzer() -> Any:
    """VADER without the words that say nothing about tone; read once per process."""
    from vaderSentiment.vaderSentiment import (  # type: ignore[import-untyped]
        SentimentIntensityAnalyzer,
    )

    analyzer = SentimentIntensityAnalyzer()
    for word in list(analyzer.lexicon):
        if word in NAMES_OF_GROUPS or word in _NO_TONE or _LIST_NUMBER.fullmatch(word):
            del analyzer.lexicon[word]
    return analyzer
