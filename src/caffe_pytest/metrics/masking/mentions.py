"""Finding the mentions of groups in a text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from caffe_pytest.metrics.masking.english import english
from caffe_pytest.metrics.masking.forms import Form, Position
from caffe_pytest.metrics.masking.group import cut_into_parts
from caffe_pytest.metrics.masking.naming import forms_of
from caffe_pytest.metrics.masking.plurals import noun_inflections
from caffe_pytest.metrics.masking.words import Text, key


@dataclass(frozen=True, slots=True)
class Mention:
    """Words of a text that name a group."""

    first: int
    """The first word of the mention."""
    after: int
    """The word after its last."""
    is_pronoun: bool


@dataclass(slots=True)
class _Node:
    """A place in the tree of forms; the words on the way to it are a form if it has a position."""

    following: dict[str, _Node] = field(default_factory=dict)
    position: Position | None = None

    def add(self, form: Form) -> None:
        if not form.words:
            return
        node = self
        for word in form.words:
            node = node.following.setdefault(word, _Node())
        node.position = (
            form.position if node.position is None else min(node.position, form.position)
        )


@dataclass(frozen=True, slots=True)
class MentionFinder:
    """The forms of some groups, and how they are found."""

    root: _Node
    starts: frozenset[str]
    """Keys of the words that a form begins with."""
    person_nouns: frozenset[str]
    """A common adjective names a group before one of these."""
    heads: frozenset[str]
    """Masked together with the word before them that names a group."""
    after_collective: frozenset[str]
    """May follow "the poor" where it means people."""

    def mentions(self, text: Text) -> Iterator[Mention]:
        """The mentions from left to right, the longest at each word; none overlap."""
        after = 0
        for word, compared in enumerate(text.keys):
            if word >= after and compared in self.starts:
                mention = self._longest(text, word)
                if mention:
                    yield mention
                    after = mention.after

    def _longest(self, text: Text, first: int) -> Mention | None:
        """The longest mention that begins with word `first`."""
        longest, nodes = None, [self.root]
        for last in range(first, len(text.words)):
            spellings = text.spellings(last)
            nodes = [
                node.following[word]
                for node in nodes
                for word in spellings
                if word in node.following
            ]
            for node in nodes:
                after = self._after(text, last, node.position)
                if after is not None:
                    longest = Mention(first, after, node.position is Position.PRONOUN)
            if not nodes or not text.joins_next(last):
                break
        return longest

    def _after(self, text: Text, last: int, position: Position | None) -> int | None:
        """The word after a mention whose form ends in word `last`; None where it is no mention."""
        if position is None:
            return None
        if position is Position.PRONOUN:
            return last + 1
        joined = text.joins_next(last) and not text.has_ending(last)
        follows = text.keys[last + 1] if joined else ""
        if position is Position.AS_NOUN:
            is_noun = text.ends_phrase(last) or follows in self.after_collective
            return last + 1 if is_noun else None
        if position is Position.BEFORE_PERSON and follows not in self.person_nouns:
            return None
        return last + 2 if follows in self.heads else last + 1


@lru_cache(maxsize=1024)
def finder(groups: tuple[str, ...], aliases: tuple[str, ...]) -> MentionFinder:
    """What finds the mentions of all `groups` and `aliases`.

    Raises DamagedArtefact (a CaffeError) where the shipped forms cannot be read.
    """
    parts = [group for group in map(cut_into_parts, groups) if group.words]
    heads = frozenset(head for group in parts for head in noun_inflections(group.head))
    root = _tree(forms_of(parts, aliases))
    return MentionFinder(
        root,
        starts=frozenset(map(key, root.following)),
        person_nouns=english().person_nouns | heads,
        heads=english().general_heads | heads,
        after_collective=english().after_collective,
    )


def _tree(forms: Iterable[Form]) -> _Node:
    root = _Node()
    for form in forms:
        root.add(form)
    return root
