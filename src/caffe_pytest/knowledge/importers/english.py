"""What English says for groups of people: names, nouns, pronouns, peoples.

The words stand in `english.yaml`; here is how they are looked up and put together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

PEOPLE = "people"
LONGEST_TERM = 4
"""Words of a name of a group that are looked up together."""
_WHO_SOMEBODY_IS = {"gender", "race", "religion", "orientation"}

Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Term:
    """How a base calls what some words name."""

    kind: str
    pattern: str
    """With {} for the noun described, or whole."""
    head: str = ""
    """The noun beside it, where the words held one."""
    alone: str = ""
    """Instead of "{} people": "Muslims"."""

    def called(self, head: str) -> str:
        """The name of the group, `head` being the noun described where the words held none."""
        noun = self.head or head or PEOPLE
        return self.alone if self.alone and noun == PEOPLE else self.pattern.replace("{}", noun)

    @property
    def needs_head(self) -> bool:
        """Whether the noun described has to be found elsewhere."""
        return "{}" in self.pattern and not self.head


@dataclass(frozen=True)
class English:
    """Looks up how a base calls the groups that words name."""

    terms: Mapping[str, Term]
    nouns: Mapping[str, str]
    """Nouns for people by their forms: "kid" -> "children"."""
    pronouns: Mapping[str, str]
    beside: frozenset[str]
    people_of: Callable[[str], Term | None]
    seldom_disadvantaged: frozenset[str]

    def stripped(self, words: Words) -> Words:
        """Without the articles and verbs on either side."""
        start, end = 0, len(words)
        folded = folded_words(words)
        while start < end and folded[start] in self.beside:
            start += 1
        while start < end and folded[end - 1] in self.beside:
            end -= 1
        return words[start:end]

    def pronoun(self, words: Words) -> str:
        """ "women" or "men" where all words are pronouns of theirs; else empty."""
        found = {self.pronouns.get(word, "") for word in folded_words(words)}
        return found.pop() if len(found) == 1 else ""

    def noun(self, word: str) -> str:
        """The plural of a noun for people; empty for other words."""
        return self.nouns.get(folded_words((word,))[0], "")

    def term(self, words: Words) -> Term | None:
        """What some words name: the whole of them, or the longest part that names something."""
        words = self.stripped(words)
        for length in range(min(len(words), LONGEST_TERM), 0, -1):
            for start in range(len(words) - length + 1):
                found = self._exactly(words[start : start + length])
                if found is not None:
                    return found
        return None

    def with_next(self, words: Words, after: Words) -> Term | None:
        """What the last of some words names together with the one behind it."""
        both = (*words[-1:], *after[:1])
        return self._exactly(both) if len(both) == 2 else None

    def _exactly(self, words: Words) -> Term | None:
        folded = " ".join(folded_words(words))
        found = self.terms.get(folded) or self._plural(folded, words)
        if found is not None or len(words) == 1:
            return found or self.people_of(words[0])
        head = self.noun(words[-1])
        if not head:
            return self.people_of(" ".join(words))
        described = self._exactly(words[:-1])
        if described is None or "{}" not in described.pattern or described.head:
            return None
        return replace(described, head=head)

    def _plural(self, folded: str, words: Words) -> Term | None:
        """Of an adjective used as a noun: "Asians"."""
        one = self.terms.get(folded.removesuffix("s")) if folded.endswith("s") else None
        is_adjective = one is not None and "{}" in one.pattern and words[-1][0].isalpha()
        return replace(one, head=PEOPLE) if one and is_adjective else None


def direction_doubtful(disadvantaged: str, advantaged: str) -> bool:
    """Whether the group named as disadvantaged is the other one in most pairs of English."""
    seldom = english().seldom_disadvantaged
    first, second = (set(name.casefold().split()) & seldom for name in (disadvantaged, advantaged))
    return bool(first) and not second


def names_group(words: Words) -> bool:
    """Whether one of the words is a noun for women or men, a pronoun, or the name of a people."""
    language = english()
    return any(
        language.pronoun((word,))
        or language.people_of(word)
        or ((term := language.terms.get(word)) and term.kind in _WHO_SOMEBODY_IS)
        for word in words
    )


@cache
def english() -> English:
    """The language, read once."""
    text = (files("caffe_pytest.knowledge.importers") / "english.yaml").read_text(encoding="utf-8")
    shipped: dict[str, Any] = yaml.safe_load(text)
    nouns = {
        form: plural
        for kind in ("gender", "age", "work")
        for plural, forms in shipped["nouns"][kind].items()
        for form in _listed(forms)
    }
    for plural, forms in shipped["heads"].items():
        name = PEOPLE if plural in _listed(shipped["as_people"]) else plural
        nouns |= dict.fromkeys(_listed(forms), name)
    pronouns = {
        form: plural for plural, forms in shipped["pronouns"].items() for form in _listed(forms)
    }
    plurals = {name for names in shipped["nouns"].values() for name in names}
    terms = {
        form: Term(kind, pattern, alone=_alone(pattern, plurals))
        for part in ("nouns", "adjectives")
        for kind, patterns in shipped[part].items()
        for pattern, forms in patterns.items()
        for form in _listed(forms)
    }
    return English(
        terms=terms,
        nouns={form: name for form, name in nouns.items() if form not in pronouns},
        pronouns=pronouns,
        beside=frozenset(_listed(shipped["beside"])),
        people_of=_peoples(shipped),
        seldom_disadvantaged=frozenset(_listed(shipped["seldom_disadvantaged"])),
    )


def folded_words(words: Sequence[str]) -> Words:
    """In small letters, without the sign of a possessive."""
    folded = (word.replace("\u2019", "'").casefold() for word in words)
    return tuple(word.removesuffix("'s").removesuffix("'") or word for word in folded)


def _alone(pattern: str, plurals: set[str]) -> str:
    plural = pattern.removesuffix(" {}") + "s"
    return plural if plural in plurals else ""


def _peoples(shipped: Mapping[str, Any]) -> Callable[[str], Term | None]:
    in_s, with_people = _listed(shipped["peoples_in_s"]), _listed(shipped["people_words"])
    ends_in_s = tuple(_listed(shipped["endings_in_s"]))
    ends_with_people = tuple(_listed(shipped["endings_with_people"]))

    def people_of(word: str) -> Term | None:
        folded = folded_words((word,))[0]
        if folded in with_people or (word[0].isupper() and folded.endswith(ends_with_people)):
            return Term("people", word[0].upper() + word[1:] + " {}")
        one = folded.removesuffix("s")
        if one in in_s or (word[0].isupper() and len(one) > 4 and one.endswith(ends_in_s)):
            name = (word[0].upper() + word[1:]).removesuffix("'s").removesuffix("s")
            return Term("people", name + " {}", PEOPLE if folded.endswith("s") else "", name + "s")
        return None

    return people_of


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
