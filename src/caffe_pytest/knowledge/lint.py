"""The lint of a knowledge base: what would mislead a test, told row by row.

What the rules say of English is said of English bases only; the other rules hold in any language.
A phrase is judged once, where it stands first, however many rows have it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from caffe_pytest.knowledge.cells import cell_findings, mixed_quotes
from caffe_pytest.knowledge.finding import Fault, Finding
from caffe_pytest.knowledge.forms import form_findings
from caffe_pytest.knowledge.grammar import words
from caffe_pytest.knowledge.groups import PAIR
from caffe_pytest.knowledge.load import ReadBase, doubts
from caffe_pytest.knowledge.phrases import group_faults, topic_faults
from caffe_pytest.knowledge.rendering import (
    Surroundings,
    Template,
    faults_alone,
    faults_within,
    surroundings,
    template_faults,
)
from caffe_pytest.knowledge.row import Row, rows_of
from caffe_pytest.knowledge.row_rules import row_findings

MOST_OF_A_KIND = 20
"""Findings of one kind in a file that are told; the others are counted."""


def lint(read: ReadBase, templates: Sequence[Template] = ()) -> list[Finding]:
    """All findings about a base that could be read, sorted by place.

    `templates` are those that test cases may put the groups and topics of the base into; they are
    tried each once, with every phrase. Takes time linear in rows plus templates.
    """
    english = read.base.language.casefold().partition("-")[0] == "en"
    rows = rows_of(read)
    valid = [row for row in rows if row.triple.valid]
    found = [
        Finding(one.file, one.line, one.path, kind, one.cause, one.remedy)
        for kind, one in doubts(read.places, read.base.triples)
    ]
    found += cell_findings(read, rows, english=english)
    found += mixed_quotes(valid)
    found += row_findings(read, rows, english=english)
    found += form_findings(read, english=english)
    found += _phrases(_Phrases.of(valid), templates, read, english=english)
    return _at_most(sorted(set(found)))


def _at_most(findings: Iterable[Finding]) -> list[Finding]:
    counts: Counter[tuple[str, str]] = Counter()
    kept: list[Finding] = []
    for finding in findings:
        counts[finding.file, finding.kind] += 1
        if counts[finding.file, finding.kind] <= MOST_OF_A_KIND:
            kept.append(finding)
    for (file, kind), number in counts.items():
        if number > MOST_OF_A_KIND:
            cause = f"{number - MOST_OF_A_KIND:,} more of the kind {kind}"
            kept.append(Finding(file, 0, "", kind, cause, "mend those that are told first"))
    return kept


@dataclass(slots=True)
class _Phrases:
    """The different groups and topics, each with the first row and column that have it."""

    groups: dict[str, tuple[Row, str]] = field(default_factory=dict)
    topics: dict[str, tuple[Row, str]] = field(default_factory=dict)
    rows: Counter[str] = field(default_factory=Counter)
    """How many cells have a phrase."""

    @classmethod
    def of(cls, rows: Iterable[Row]) -> _Phrases:
        phrases = cls()
        for row in rows:
            phrases.topics.setdefault(row.triple.topic, (row, "topic"))
            phrases.rows[row.triple.topic] += 1
            for column in PAIR:
                group = getattr(row.triple, column)
                phrases.groups.setdefault(group, (row, column))
                phrases.rows[group] += 1
        return phrases

    def finding(self, phrase: str, first: tuple[Row, str], fault: Fault) -> Finding:
        """A finding where the phrase stands first, which tells how many cells have it."""
        row, column = first
        found = row.finding(column, fault)
        if self.rows[phrase] == 1:
            return found
        cause = f"{found.cause} ({self.rows[phrase]:,} cells have it)"
        return Finding(*row.place, column, fault.kind, cause, fault.remedy)


def _phrases(
    phrases: _Phrases, templates: Sequence[Template], read: ReadBase, *, english: bool
) -> Iterator[Finding]:
    of_groups, of_topics, failed = surroundings(templates)
    for message in failed:
        cause, _, remedy = message.partition("; ")
        yield Finding(read.base.path, 0, "", "rendering-failure", cause, remedy)
    for template, fault in template_faults(templates, english=english):
        cause = f"{template.name} {fault.cause}"
        yield Finding(read.base.path, 0, "", fault.kind, cause, fault.remedy)
    ordinary = _ordinary_words(phrases.topics) if english else frozenset()

    def of_group(group: str) -> Iterable[Fault]:
        return group_faults(group) if english else ()

    def of_topic(topic: str) -> Iterable[Fault]:
        return topic_faults(topic, ordinary) if english else ()

    yield from _each(phrases, phrases.groups, of_group, of_groups, english=english)
    yield from _each(phrases, phrases.topics, of_topic, of_topics, english=english)


def _each(
    phrases: _Phrases,
    firsts: dict[str, tuple[Row, str]],
    alone: Callable[[str], Iterable[Fault]],
    beside: Surroundings,
    *,
    english: bool,
) -> Iterator[Finding]:
    group = firsts is phrases.groups
    for phrase, first in firsts.items():
        for fault in (
            *alone(phrase),
            *faults_alone(phrase, english=english),
            *faults_within(phrase, beside, group=group, english=english),
        ):
            yield phrases.finding(phrase, first, fault)


def _ordinary_words(topics: Iterable[str]) -> frozenset[str]:
    """Words that a topic writes in small letters."""
    return frozenset(word for topic in topics for word in words(topic) if word.islower())
