"""The two groups that a pair of sentences contrasts, read off the words in which they differ.

English alone has rules: an adjective takes the noun that it describes ("black kids", "she was
poor"), and names are those of a base ("Black children"). In any other language the words of the
edit are proposed as they stand. Either way it is a proposal: a person decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from caffe_pytest.knowledge.importers import proposal
from caffe_pytest.knowledge.importers.english import (
    LONGEST_TERM,
    English,
    Term,
    Words,
    english,
    folded_words,
)
from caffe_pytest.knowledge.importers.minimal_edit import Piece, changes

BLANK = "___"
_REACH = 9
"""Words before an adjective among which its noun is looked for: "the kids were very poor"."""
_ORIGIN = {"race", "people", "nation"}
"""Kinds that sources contrast with each other: "Asian" and "American"."""


class Groups(NamedTuple):
    """The groups of the first and of the second sentence; empty where there is none."""

    first: str
    second: str
    flags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Edit:
    """One place where two sentences differ, and the words around it."""

    first: Words
    second: Words
    before: tuple[Words, Words]
    after: tuple[Words, Words]


def groups_of_edit(pieces: Sequence[Piece], language: str = "en") -> Groups:
    """The groups that two sentences contrast, from `minimal_edit`, with what is doubtful of them.

    The flags are those of `proposal.FLAGS`.
    """
    if not changes(pieces):
        return Groups("", "", (proposal.SAME,))
    edits = _edits(pieces)
    return _english(edits) if language == "en" else _as_they_stand(edits)


def blanked(pieces: Sequence[Piece]) -> str:
    """The first sentence with a blank for every word that differs."""
    return "".join(_stretch(piece) for piece in pieces).strip()


def _stretch(piece: Piece) -> str:
    if piece.same or not piece.words[0]:
        return "".join(piece.first)
    start = piece.first[0]
    return start[: len(start) - len(start.lstrip())] + BLANK


def _edits(pieces: Sequence[Piece]) -> list[_Edit]:
    """Each change once: the same words in two places are one change, also turned round."""
    sides = [[word for piece in pieces for word in piece.words[side]] for side in (0, 1)]
    at = [0, 0]
    known: dict[frozenset[Words], _Edit] = {}
    for piece in pieces:
        first, second = piece.words
        end = at[0] + len(first), at[1] + len(second)
        if not piece.same and (first or second):
            before = tuple(tuple(sides[i][max(at[i] - _REACH, 0) : at[i]]) for i in (0, 1))
            after = tuple(tuple(sides[i][end[i] : end[i] + 2]) for i in (0, 1))
            key = frozenset((folded_words(first), folded_words(second)))
            edit = _Edit(first, second, (before[0], before[1]), (after[0], after[1]))
            known.setdefault(key, edit)
        at = [*end]
    return list(known.values())


def _english(edits: Sequence[_Edit]) -> Groups:
    language = english()
    pronouns = [edit for edit in edits if _pronouns(edit, language)]
    others = [edit for edit in edits if edit not in pronouns and _content(edit, language)]
    more_differs = len(edits) - len(pronouns) > 1
    for edit in others:
        first, second = _terms(edit, language)
        if first is not None and second is not None:
            return _named(edit, first, second, [proposal.TWO_EDITS] if more_differs else [])
    flags = [proposal.TWO_EDITS] if len(others) > 1 else []
    if not others:
        if pronouns:
            return _by_pronouns(pronouns[0], language, [proposal.ONLY_A_PRONOUN])
        return Groups("", "", (proposal.NO_GROUP,))
    half_known = [edit for edit in others if any(_terms(edit, language))]
    if half_known or not any(_is_name(e.first) and _is_name(e.second) for e in others):
        return _half_known((half_known or others)[0], flags)
    flags.insert(0, proposal.ONLY_A_NAME)
    if pronouns:
        return _by_pronouns(pronouns[0], language, flags)
    return Groups("", "", tuple(flags))


def _terms(edit: _Edit, language: English) -> tuple[Term | None, Term | None]:
    first, second = language.term(edit.first), language.term(edit.second)
    if first is None or second is None:  # "low" and "high", before "income"
        longer = [language.with_next(*side) for side in zip(_sides(edit), edit.after, strict=True)]
        if all(longer):
            return longer[0], longer[1]
    return first, second


def _by_pronouns(edit: _Edit, language: English, flags: list[str]) -> Groups:
    return Groups(language.pronoun(edit.first), language.pronoun(edit.second), tuple(flags))


def _named(edit: _Edit, first: Term, second: Term, flags: list[str]) -> Groups:
    # beside a noun such as "Jew" only what stands next to it describes an adjective's people
    far = first.needs_head and second.needs_head
    heads = [
        _head(edit, side, far=far) if term.needs_head else ""
        for side, term in enumerate((first, second))
    ]
    # "a lesbian" beside "straight": what is described is what the other one names
    shared = first.head or second.head or heads[0] or heads[1]
    called = first.called(heads[0] or shared), second.called(heads[1] or shared)
    if called[0] == called[1]:
        flags = [proposal.NO_GROUP, *flags]
    if first.kind != second.kind and not {first.kind, second.kind} <= _ORIGIN:
        flags = [proposal.DIFFERENT_KINDS, *flags]
    return Groups(*called, tuple(flags))


def _half_known(edit: _Edit, flags: list[str]) -> Groups:
    """The words themselves where nothing better is known."""
    language = english()
    called: list[str] = []
    for side, words in enumerate(_sides(edit)):
        term = language.term(words)
        head = _head(edit, side, far=True) if term and term.needs_head else ""
        called.append(term.called(head) if term else " ".join(language.stripped(words)))
    return _rephrased(called[0], called[1], flags)


def _as_they_stand(edits: Sequence[_Edit]) -> Groups:
    """Of a language without rules: the words of the first edit that has some on both sides."""
    whole = [edit for edit in edits if edit.first and edit.second]
    if not whole:
        return Groups("", "", (proposal.NO_GROUP,))
    flags = [proposal.TWO_EDITS] if len(edits) > 1 else []
    if _is_name(whole[0].first) and _is_name(whole[0].second) and whole[0].before[0]:
        flags.insert(0, proposal.ONLY_A_NAME)
    first, second = (" ".join(words) for words in _sides(whole[0]))
    return _rephrased(first, second, flags)


def _rephrased(first: str, second: str, flags: list[str]) -> Groups:
    """Words as they stand, unless they are so many that they would give the sentence away."""
    if not all(0 < len(side.split()) <= LONGEST_TERM for side in (first, second)):
        return Groups("", "", (proposal.NO_GROUP, *flags))
    return Groups(first, second, (proposal.REPHRASE, *flags))


def _sides(edit: _Edit) -> tuple[Words, Words]:
    return edit.first, edit.second


def _pronouns(edit: _Edit, language: English) -> bool:
    genders = [language.pronoun(side) for side in _sides(edit)]
    return all(genders) and genders[0] != genders[1]


def _content(edit: _Edit, language: English) -> bool:
    return any(language.stripped(side) for side in _sides(edit))


def _is_name(words: Words) -> bool:
    """Whether the words may be a first name, with a family name or a possessive."""
    return 0 < len(words) <= 2 and all(word[0].isupper() for word in words)


def _head(edit: _Edit, side: int, *, far: bool) -> str:
    """The noun that an adjective describes: to the right, or, from `far`, before "was"."""
    language = english()
    words, after = _sides(edit)[side], edit.after[side]
    for at, word in enumerate(after):
        noun = language.noun(word)
        if noun:
            return noun
        part_of_term = at == 0 and language.with_next(words, after)  # "low income boys"
        if not (part_of_term or language.term((word,))):
            break
    for word in reversed(edit.before[side] if far else ()):
        noun = language.noun(word) or language.pronoun((word,))
        if noun:
            return noun
    return ""
