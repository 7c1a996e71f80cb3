"""Texts and phrases as words: how they are cut, and how words are compared."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

Words = tuple[str, ...]

_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
"""Scripts that put no space between words, or none before a particle: each sign is a word."""
_MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06ed\u0900-\u0963\u0980-\u0dff\u0f71-\u0fbc\u200c\u200d"
)
"""Signs inside a word that are no `\\w` by themselves: accents set apart, vowel signs, joiners."""
_LETTER = rf"[^\W_{_UNSPACED}]"
_APOSTROPHE = "['\u2018\u2019\u02bc]"
_SUFFIX = rf"{_APOSTROPHE}(?i:s|d|ll|re|ve)(?!{_LETTER})"
_WORD = re.compile(
    rf"[{_UNSPACED}]"
    rf"|({_LETTER}++(?:[{_MARKS}]{_LETTER}*+|(?!{_SUFFIX}){_APOSTROPHE}{_LETTER}++)*+)(?:{_SUFFIX})?"
)
"""A word; its group is the word without a possessive or contracted ending ("she's": "she")."""
_WITHIN_PHRASE = re.compile(r"\s*+(?:[-\u2010\u2011]\s*+)?|\.")
"""What may stand between the words of a phrase; the full stop is that of "U.S."."""
_SIDE_BY_SIDE = re.compile(r"[ \t\u00a0]*+[-\u2010\u2011]?")
_NO_NOUN_FOLLOWS = re.compile(r"[\s*]*+(?:[^\w\s*-]|\Z)")
_STRAIGHT = str.maketrans(dict.fromkeys("\u2018\u2019\u02bc", "'"))


def key(word: str) -> str:
    """The word as it is compared: without case, curly apostrophes and decomposed accents."""
    if word.isascii():
        return word.lower()
    return unicodedata.normalize("NFC", word.translate(_STRAIGHT)).casefold()


def keys(words: Iterable[str]) -> Words:
    """Each word as it is compared."""
    return tuple(map(key, words))


def spelled(phrase: str) -> Words:
    """The words of a phrase as they stand, without possessive endings."""
    return tuple(word[1] or word[0] for word in _WORD.finditer(phrase))


class Text:
    """A text cut into words, which are told by their number, 0 to n - 1."""

    __slots__ = ("keys", "spelled", "text", "words")

    def __init__(self, text: str) -> None:
        self.text = text
        self.words = list(_WORD.finditer(text))
        self.spelled = [word[1] or word[0] for word in self.words]
        self.keys = keys(self.spelled)

    def spellings(self, word: int) -> Words:
        """How a form may write the word: as its key, and as it stands."""
        compared, as_it_stands = self.keys[word], self.spelled[word]
        return (compared,) if compared == as_it_stands else (compared, as_it_stands)

    def joins_next(self, word: int) -> bool:
        """Whether another word follows that can belong to the same phrase."""
        return self._only(_WITHIN_PHRASE, word)

    def touches_next(self, word: int) -> bool:
        """Whether another word follows with no more than blanks or a hyphen between the two."""
        return self._only(_SIDE_BY_SIDE, word)

    def _only(self, gap: re.Pattern[str], word: int) -> bool:
        """Whether there is a next word, and only `gap` before it."""
        if word + 1 >= len(self.words):
            return False
        start, end = self.words[word].end(), self.words[word + 1].start()
        return gap.fullmatch(self.text, start, end) is not None

    def has_ending(self, word: int) -> bool:
        """Whether the word is a possessive or contraction."""
        return self.words[word].end(1) not in (-1, self.words[word].end())

    def ends_phrase(self, word: int) -> bool:
        """Whether punctuation or the end of the text follows: the word qualifies no noun."""
        return _NO_NOUN_FOLLOWS.match(self.text, self.words[word].end()) is not None

    def start(self, word: int) -> int:
        """The character that the word starts with."""
        return self.words[word].start()

    def end(self, first: int, last: int) -> int:
        """The character after the words `first`..`last`, and after the apostrophe of "workers'"."""
        start, end = self.words[first].start(), self.words[last].end()
        quoted = re.match(_APOSTROPHE, self.text[start - 1 : start])
        if not quoted and re.match(f"[sS]{_APOSTROPHE}", self.text[end - 1 : end + 1]):
            return end + 1
        return end
