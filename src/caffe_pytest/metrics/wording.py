"""Which words and phrases stand in which answers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NAME = "wording"
VERSION = "1"

LONGEST = 3
"""Words in a phrase."""
LEAST_SHARE = 0.02
"""Of the answers of a pool that hold a phrase; rarer ones cannot be told from chance."""
LEAST_ANSWERS = 4
MOST_PHRASES = 4000
"""The phrases that stand in most answers, where there are more."""

_WORD = re.compile(r"\w+(?:['\u2019-]\w+)*")
_SENTENCE = re.compile(r"[^.!?\n;:]+")


@dataclass(frozen=True, eq=False)
class Wording:
    """Phrases, and the answers that hold them."""

    phrases: tuple[str, ...]
    holds: NDArray[np.float32]
    """(answers, phrases): 1 where the answer holds the phrase, however often, else 0."""


def find_phrases(answers: Sequence[str]) -> Wording:
    """The words and phrases, of up to `LONGEST` words of one sentence, that answers share.

    Phrases that stand in exactly the same answers are one, told by its longest.
    """
    import numpy as np

    held = [_phrases(answer) for answer in answers]
    counts = Counter(phrase for phrases in held for phrase in phrases)
    least = max(LEAST_ANSWERS, LEAST_SHARE * len(answers))
    common = [p for p, n in counts.items() if least <= n <= len(answers) - least]
    common.sort(key=lambda phrase: (-counts[phrase], phrase))
    column = {phrase: place for place, phrase in enumerate(common[:MOST_PHRASES])}
    holds = np.zeros((len(answers), len(column)), dtype=np.float32)
    for row, phrases in zip(holds, held, strict=True):
        row[[column[phrase] for phrase in phrases if phrase in column]] = 1.0
    return _merged(list(column), holds)


def _phrases(answer: str) -> set[str]:
    found: set[str] = set()
    for sentence in _SENTENCE.findall(answer):
        words = [word.casefold() for word in _WORD.findall(sentence)]
        for length in range(1, LONGEST + 1):
            found.update(
                " ".join(words[start : start + length]) for start in range(len(words) - length + 1)
            )
    return found


def _merged(phrases: list[str], holds: NDArray[np.float32]) -> Wording:
    """Phrases with one and the same set of answers, as the longest of them."""
    longest: dict[bytes, int] = {}
    for place, phrase in enumerate(phrases):
        key = holds[:, place].tobytes()
        other = longest.get(key)
        if other is None or (len(phrase), phrase) > (len(phrases[other]), phrases[other]):
            longest[key] = place
    kept = sorted(longest.values())
    return Wording(tuple(phrases[place] for place in kept), holds[:, kept])
