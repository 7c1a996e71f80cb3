"""Texts with a placeholder for every mention of a group."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from caffe_pytest.metrics.masking.mentions import Mention, finder
from caffe_pytest.metrics.masking.words import Text

PLACEHOLDER = "___"
"""Stands for a mention. No metric knows it as a word, and `\\w+` counts it as one."""
MOST_LOST = 0.30
"""Share of its words that an answer may lose before its score is flagged."""

_ARTICLES = (("a",), ("an",))
_CLAUSES = (("who", "are"), ("who", "is"), ("who", "were"), ("who", "was"))


@dataclass(frozen=True, slots=True)
class Masked:
    """A text in which no group is named."""

    text: str
    masked: tuple[str, ...]
    """What was masked, as it stood, each spelling once, in order of first appearance."""
    lost: float
    """Share of the words of the text that were masked, 0..1; 0 for a text without words."""

    @property
    def flagged(self) -> bool:
        """Whether more than `MOST_LOST` of the words are gone: a score then says little."""
        return self.lost > MOST_LOST


def mask(texts: Sequence[str], groups: Sequence[str], aliases: Sequence[str] = ()) -> list[Masked]:
    """Each text with the mentions of all `groups` and `aliases` replaced by `PLACEHOLDER`.

    Pronouns of the third person are masked whatever the groups are; words for women and men
    ("mother", "brotherly") only where the groups differ in gender. What all groups share is kept:
    "men" of "gay men" and "straight men" goes only together with "gay" or "straight". The longest
    mention wins, mentions side by side become one placeholder, and "a", "an" or "who are" before a
    mention goes with it, because the group may have decided what stands there ("a woman", "an
    immigrant"; "people who are poor", "poor people"). A group, alias or part of one in capitals
    alone ("US") is found in capitals alone.

    A single group shares nothing, so its head and the words for gender are masked. The order and
    repetition of groups and aliases do not count. Masking a masked text changes nothing. Takes
    time linear in the length of a text.

        >>> mask(["Women often do more, so thank a woman."], ["women", "men"])[0].text
        '___ often do more, so thank ___.'

    Raises DamagedArtefact where the shipped forms cannot be read.
    """
    of_groups = finder(tuple(sorted(set(groups))), tuple(sorted(set(aliases))))
    return [_masked(text, of_groups.mentions(text)) for text in map(Text, texts)]


def _masked(text: Text, mentions: Iterable[Mention]) -> Masked:
    parts: list[str] = []
    spellings: dict[str, None] = {}
    copied = lost = 0
    previous = Mention(0, 0, is_pronoun=True)  # before the text, where nothing merges
    for mention in mentions:
        end = text.end(mention.first, mention.after - 1)
        spellings.setdefault(text.text[text.start(mention.first) : end])
        whole = _with_what_leads_to_it(text, mention, previous)
        if not _merge(text, previous, whole):
            parts += text.text[copied : text.start(whole.first)], PLACEHOLDER
        lost += whole.after - whole.first
        copied, previous = end, whole
    parts.append(text.text[copied:])
    return Masked("".join(parts), tuple(spellings), lost / len(text.words) if lost else 0.0)


def _with_what_leads_to_it(text: Text, mention: Mention, previous: Mention) -> Mention:
    """The mention with an article before it, and with a "who are" before that."""
    first = mention.first
    if not mention.is_pronoun:
        for choices in (_ARTICLES, _CLAUSES):
            first = _start_of(text, choices, first, previous.after)
    return replace(mention, first=first)


def _start_of(text: Text, choices: Sequence[tuple[str, ...]], end: int, least: int) -> int:
    """Where one of these phrases begins that ends before word `end`; `end` where none does."""
    for words in choices:
        start = end - len(words)
        there = start >= least and tuple(text.keys[start:end]) == words
        if there and all(text.joins_next(word) for word in range(start, end)):
            return start
    return end


def _merge(text: Text, first: Mention, second: Mention) -> bool:
    """Whether two mentions stand side by side; a pronoun keeps its own placeholder."""
    return (
        not (first.is_pronoun or second.is_pronoun)
        and first.after == second.first
        and text.touches_next(second.first - 1)
    )
