"""What is wrong with the name of a group, or with a topic, taken by itself. English only."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache

from caffe_pytest.knowledge.finding import Fault
from caffe_pytest.knowledge.grammar import (
    complement,
    head_noun,
    is_plural,
    kind,
    listed,
    wording,
    words,
)

LONGEST_TOPIC = 60
"""Characters; a longer one makes the sentences of templates hard to read."""
MOST_WORDS = 8
_ENDS = (".", "?", "!", ":", ";", ",")


def group_faults(group: str) -> Iterator[Fault]:
    """What is wrong with the name of a group."""
    first, _, rest = group.partition(" ")
    article = first.casefold()
    if article in ("a", "an") and rest:
        cause = f'"{group}" is one of a group'
        yield Fault("group-indefinite", cause, "name the group in the plural, without an article")
    elif article == "the" and rest:
        cause = f'"{group}" has an article, and reads ill in "many {group}"'
        yield Fault("group-definite", cause, "name the group without an article")
    elif head_noun(group) and not is_plural(head_noun(group)):
        cause = f'"{group}" is no plural: "{group} are ..." reads ill'
        yield Fault("group-not-plural", cause, 'write a plural noun phrase, as in "gay men"')
    yield from outdated(group)


def topic_faults(topic: str, ordinary: frozenset[str]) -> Iterator[Fault]:
    """What is wrong with a topic; `ordinary` are words that others write in small letters."""
    small = topic.casefold().strip(" .<>[]()")
    if small in listed("placeholders") or not any(sign.isalnum() for sign in topic):
        cause = f'"{topic}" is no topic'
        yield Fault("topic-placeholder", cause, "name what both groups can be asked about")
        return
    if len(topic) > LONGEST_TOPIC or len(words(topic)) > MOST_WORDS:
        cause = f"has {len(topic)} characters in {len(words(topic))} words"
        remedy = f"keep to {LONGEST_TOPIC} characters and {MOST_WORDS} words"
        yield Fault("topic-long", cause, remedy)
    yield from _sentence(topic)
    yield from _capital(topic, ordinary)
    verdict = _verdicts().search(topic) or _verdicts_on_people().fullmatch(topic)
    if verdict:
        cause = f'"{verdict[0]}" is a verdict: the topic tells the model what to find'
        remedy = 'name the subject neutrally, as in "work ethic" for "lazy"'
        yield Fault("topic-verdict", cause, remedy)
    yield from outdated(topic)


def _sentence(topic: str) -> Iterator[Fault]:
    remedy = 'write a noun phrase, as in "finding a job"'
    first = words(topic)[0].casefold()
    if topic.endswith(_ENDS):
        yield Fault("topic-sentence", f'ends with "{topic[-1]}"', remedy)
    elif first in listed("clause_starts"):
        yield Fault("topic-sentence", f'begins with "{first}", as no noun phrase does', remedy)


def _capital(topic: str, ordinary: frozenset[str]) -> Iterator[Fault]:
    """A capital at the start of a word that is no proper name, as far as can be seen."""
    first = words(topic)[0]
    parts = [part for part in first.split("-") if part]
    if not parts or not parts[0][0].isupper() or any(sign.isupper() for sign in parts[0][1:]):
        return  # small, or "HIV", "eBay", "McDonald"
    small = first.casefold()
    known = small in listed("proper") or small.endswith(("ese", "ish", "ian"))
    if small in ordinary or not known:
        cause = f'begins with a capital: "{first}"'
        yield Fault("topic-capital", cause, f'write "{small}", unless it is a proper name')


def outdated(phrase: str) -> Iterator[Fault]:
    """Terms that people no longer want to be called by, each with one that respects them."""
    for found in _outdated().finditer(phrase):
        better = _terms()[found[0].casefold()]
        cause = f'"{found[0]}" is outdated or disrespectful'
        yield Fault("outdated-term", cause, f'write "{better}", or what people call themselves')


def incomparable(disadvantaged: str, advantaged: str) -> Fault | None:
    """Groups of different kinds: a difference between the answers then says little."""
    first, second = kind(disadvantaged), kind(advantaged)
    one_is_described = first != second and any(
        kind(group) == "people" and _describes(complement(group))
        for group in (disadvantaged, advantaged)
    )
    others = {first, second} - {"people", "nouns"}
    if not one_is_described and (first == second or not others):
        return None
    cause = f'"{disadvantaged}" and "{advantaged}" are different kinds of groups'
    return Fault("incomparable-groups", cause, "name groups that differ in one attribute only")


def _describes(after: list[str]) -> bool:
    """Whether a complement says what some people are like: "with disabilities", not "without"."""
    return after[:1] in (["with"], ["who"]) and after[1:2] not in (["no"], ["do"], ["have"])


def without_article(group: str) -> str:
    """The name of a group without an article, in small letters."""
    return re.sub(r"^(?:the|an?|all|some|most|many)\s+", "", " ".join(group.casefold().split()))


@cache
def _verdicts() -> re.Pattern[str]:
    return _any_of(listed("verdicts"))


@cache
def _verdicts_on_people() -> re.Pattern[str]:
    """Adjectives that may speak of things ("dangerous situations") where they speak of people."""
    adjectives = "|".join(map(re.escape, sorted(listed("verdicts_on_people"))))
    nouns = "people|persons?|behaviou?rs?|conduct|tendenc(?:y|ies)|attitudes?|nature|character"
    return re.compile(
        rf"(?:being )?(?:{adjectives})(?: (?:{nouns}|driv(?:ing|ers)))?", re.IGNORECASE
    )


@cache
def _outdated() -> re.Pattern[str]:
    return _any_of(frozenset(_terms()))


@cache
def _terms() -> Mapping[str, str]:
    return {term.casefold(): better for term, better in wording()["outdated"].items()}


def _any_of(phrases: frozenset[str]) -> re.Pattern[str]:
    longest_first = sorted(phrases, key=lambda phrase: (-len(phrase), phrase))
    joined = "|".join(map(re.escape, longest_first))
    # not within a compound: "wheelchair-bound" is a term, "non-handicapped" holds one
    return re.compile(rf"(?<!\w)(?:{joined})(?![\w])", re.IGNORECASE)
