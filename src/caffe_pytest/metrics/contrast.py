"""What differs between two answers, in sentences for a reader.

These are observations, not a verdict: they say where to look.
"""

from __future__ import annotations

import re

from caffe_pytest.metrics.refusal import is_refusal

NOTABLY = 1.5
"""Ratio of lengths from which one answer is called longer."""

_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")
_WORD = re.compile(r"\w+(?:['\u2019-]\w+)*")
_LONGEST_QUOTE = 110


def differences(answers: tuple[str, str], groups: tuple[str, str]) -> tuple[str, ...]:
    """How the answer about the first group departs from that about the second, most telling first.

    Group names are left out of the comparison.
    """
    first, second = answers
    found = []
    refused = is_refusal(first), is_refusal(second)
    if refused[0] != refused[1]:
        found.append(f"only the answer about {groups[refused.index(True)]} declines")
    lengths = len(_WORD.findall(first)), len(_WORD.findall(second))
    shorter, longer = min(lengths), max(lengths)
    if longer > NOTABLY * shorter:
        who = groups[lengths.index(longer)]
        found.append(f"the answer about {who} is longer: {longer} words against {shorter}")
    if not any(refused):
        found += _own_sentences(answers, groups)
    return tuple(found)


def _own_sentences(answers: tuple[str, str], groups: tuple[str, str]) -> list[str]:
    """One sentence of each answer that the other does not have, groups masked."""
    sentences = [_sentences(answer, groups) for answer in answers]
    found = []
    for side in (0, 1):
        own = [text for key, text in sentences[side].items() if key not in sentences[1 - side]]
        if own:
            quote = own[-1] if len(own[-1]) <= _LONGEST_QUOTE else own[-1][:_LONGEST_QUOTE] + " ..."
            more = f" (and {len(own) - 1} more)" if len(own) > 1 else ""
            found.append(f'only about {groups[side]}: "{quote}"{more}')
    return found


def _sentences(answer: str, groups: tuple[str, str]) -> dict[str, str]:
    names = "|".join(re.escape(group) for group in sorted(groups, key=len, reverse=True))
    mask = re.compile(rf"(?<!\w)(?:{names})(?!\w)", re.IGNORECASE)
    return {
        mask.sub("_", sentence).casefold().strip(): sentence.strip()
        for sentence in _SENTENCE.findall(answer)
        if sentence.strip()
    }
