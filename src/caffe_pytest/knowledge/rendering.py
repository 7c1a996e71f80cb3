"""What groups and topics do to the sentences of the templates around them.

A template is rendered once, with marks in the places of group and topic; each phrase is then read
between the words that stand beside a mark. So the work grows with templates plus phrases.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from caffe_pytest.errors import CaffeError
from caffe_pytest.knowledge.finding import Fault
from caffe_pytest.knowledge.grammar import article, head_noun, is_plural

GROUP, TOPIC = "\ue000", "\ue001"
"""Stand for a group and for a topic: signs for private use, which no text holds."""

_SINGULAR_VERBS = frozenset(
    ("is", "was", "has", "does", "isn't", "wasn't", "hasn't", "doesn't", "says", "wants", "needs")
)
_SUBJECT_FOLLOWS = frozenset(
    ("that", "if", "when", "because", "while", "whether", "although", "since", "where", "why",
     "how", "and", "but", "until", "once")
)  # fmt: skip
_QUESTION_WORDS = frozenset(("why", "how", "what", "when", "where"))
_ARTICLES = ("a", "an")
_MAY_BE_DOUBLED = frozenset(("had", "that", "very"))
_OPENING = re.compile(r"(?:^|[.!?:;]['\"\u2019\u201d]?\s+|['\"\u2018\u201c(]\s*)$")
_WORD_BEFORE = re.compile(r"([^\W_]+(?:['\u2019-][^\W_]+)*)\s*$")
_WORD_AFTER = re.compile(r"\s*([^\W_]+(?:['\u2019-][^\W_]+)*)")
_LEFT_OVER = re.compile(r"\{\{|\}\}|\{%|%\}|\$\{|\{\w*\}|<\w+>|\[\w+\]|%\(\w+\)s")
_SIGNS = frozenset(".?!,;:")


@dataclass(frozen=True, slots=True)
class Template:
    """A template of an intent, as the lint needs it."""

    intent: str
    number: int
    """1-based."""
    render: Callable[[str, str], str]
    """The prompt that it makes of a group and a topic; raises CaffeError."""

    @property
    def name(self) -> str:
        """As findings name it."""
        return f"template {self.number} of the intent {self.intent}"


@dataclass(slots=True)
class Surroundings:
    """What stands beside a group, or a topic, in templates; each with the first that has it."""

    before: dict[str, str] = field(default_factory=dict)
    """The word before, in small letters."""
    after: dict[str, str] = field(default_factory=dict)
    """The word after, in small letters."""
    signs: dict[str, str] = field(default_factory=dict)
    """The sign right after."""
    verbs_after: dict[str, str] = field(default_factory=dict)
    """A singular verb after, of which the phrase is the subject."""
    verbs_before: dict[str, str] = field(default_factory=dict)
    """A singular verb before, in a question."""

    def add(self, before: str, after: str, template: str) -> None:
        """Take in the texts on both sides of the phrase."""
        word_before, word_after = _WORD_BEFORE.search(before), _WORD_AFTER.match(after)
        previous = word_before[1].casefold() if word_before else ""
        following = word_after[1].casefold() if word_after else ""
        self.before.setdefault(previous, template)
        self.after.setdefault(following, template)
        if after[:1] in _SIGNS:
            self.signs.setdefault(after[:1], template)
        opens = _OPENING.search(before) is not None
        if following in _SINGULAR_VERBS and (opens or previous in _SUBJECT_FOLLOWS):
            self.verbs_after.setdefault(following, template)
        if word_before and previous in _SINGULAR_VERBS:
            ahead = before[: word_before.start()]
            earlier = _WORD_BEFORE.search(ahead)
            asks = earlier is not None and earlier[1].casefold() in _QUESTION_WORDS
            if asks or _OPENING.search(ahead):
                self.verbs_before.setdefault(previous, template)


def surroundings(templates: Iterable[Template]) -> tuple[Surroundings, Surroundings, list[str]]:
    """Those of groups, those of topics, and the messages of templates that cannot be rendered."""
    of_groups, of_topics = Surroundings(), Surroundings()
    failed: list[str] = []
    for template in templates:
        try:
            text = template.render(GROUP, TOPIC)
        except CaffeError as error:
            failed.append(str(error))
            continue
        for mark, found in ((GROUP, of_groups), (TOPIC, of_topics)):
            for match in re.finditer(mark, text):
                found.add(text[: match.start()], text[match.end() :], template.name)
    return of_groups, of_topics, failed


def faults_alone(phrase: str, *, english: bool) -> Iterator[Fault]:
    """What is wrong with a phrase in every sentence."""
    left = _LEFT_OVER.search(phrase)
    if left:
        cause = f'"{left[0]}" looks like the leftover of a template'
        yield Fault("rendering-leftover", cause, "write the words that belong there")
    if phrase.count('"') % 2 or phrase.count("\u201c") != phrase.count("\u201d"):
        yield Fault("rendering-quotes", "has a quote that is not closed", "close or remove it")
    for first, second in pairwise(phrase.split()):
        small = first.casefold()
        if small == second.casefold() and small not in _MAY_BE_DOUBLED:
            yield Fault("rendering-doubled-word", f'says "{first} {second}"', "remove one of them")
        elif english and small in _ARTICLES and article(second) != small:
            cause, remedy = f'says "{first} {second}"', f'write "{article(second)} {second}"'
            yield Fault("rendering-article", cause, remedy)


def faults_within(
    phrase: str, places: Surroundings, *, group: bool, english: bool
) -> Iterator[Fault]:
    """What is wrong with a phrase in templates, each kind of fault once."""
    parts = phrase.casefold().split()
    if not parts:
        return
    reword = "reword the template, or the phrase"

    def says(template: str, text: str) -> str:
        return f'{template} says "{text}"'

    first, last = parts[0], parts[-1]
    if first in places.before and first not in _MAY_BE_DOUBLED:
        cause = says(places.before[first], f"{first} {phrase}")
        yield Fault("rendering-doubled-word", cause, reword)
    elif last in places.after and last not in _MAY_BE_DOUBLED:
        cause = says(places.after[last], f"{phrase} {last}")
        yield Fault("rendering-doubled-word", cause, reword)
    if last[-1] in _SIGNS and places.signs:
        sign, template = next(iter(places.signs.items()))
        cause = says(template, f"{phrase}{sign}")
        yield Fault("rendering-punctuation", cause, "end the phrase without a sign")
    if english:
        yield from _articles(phrase, places)
    if english and group and is_plural(head_noun(phrase)):
        yield from _disagreements(phrase, places)


def _articles(phrase: str, places: Surroundings) -> Iterator[Fault]:
    right = article(phrase)
    for word in _ARTICLES:
        if word in places.before and word != right:
            cause = f'{places.before[word]} says "{word} {phrase}"'
            yield Fault("rendering-article", cause, "name the phrase without an article before it")


def _disagreements(group: str, places: Surroundings) -> Iterator[Fault]:
    """A singular verb beside a plural group that is its subject."""
    told = [f'{name} says "{group} {verb}"' for verb, name in places.verbs_after.items()]
    told += [f'{name} says "{verb} {group}"' for verb, name in places.verbs_before.items()]
    for cause in told[:1]:
        remedy = "write the verb in the plural in the template: groups are plural"
        yield Fault("rendering-agreement", cause, remedy)


def template_faults(
    templates: Iterable[Template], *, english: bool
) -> Iterator[tuple[Template, Fault]]:
    """What is wrong with templates whatever group and topic they are given."""
    for template in templates:
        try:
            text = template.render(GROUP, TOPIC)
        except CaffeError:
            continue  # `surroundings` tells it
        for fault in faults_alone(text, english=english):
            yield template, fault
