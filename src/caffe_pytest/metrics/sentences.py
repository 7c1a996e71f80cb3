"""The sentences of an answer: what the metrics of tone and of toxicity average over."""

from __future__ import annotations

import re

MOST_WORDS = 80
"""A longer run of words is cut: a text without full stops is not one sentence."""

_END = re.compile(
    r"(?:(?<=[.!?\u2026])(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bDr\.)(?<!\bMr\.)(?<!\bMs\.)(?<!\bMrs\.))"
    r"[\"'\u2019\u201d)\]*_]*\s+|(?<=[\u3002\uff01\uff1f])|\n+"
)
_LETTER = re.compile(r"[^\W\d_]")


def sentences(text: str) -> list[str]:
    """The sentences, headings and list items of `text` in order, each with a letter.

    A full stop, question or exclamation mark before white space ends a sentence, as does the end of
    a line; "1." and "* * *" are none. Runs of more than `MOST_WORDS` words are cut.
    """
    return [
        sentence
        for part in _END.split(text)
        if _LETTER.search(part)
        for sentence in _cut(part.strip())
    ]


def _cut(part: str) -> list[str]:
    words = part.split()
    if len(words) <= MOST_WORDS:
        return [part]
    cut = (words[start : start + MOST_WORDS] for start in range(0, len(words), MOST_WORDS))
    return [piece for piece in map(" ".join, cut) if _LETTER.search(piece)]
