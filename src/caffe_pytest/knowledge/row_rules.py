"""Rules about a row of a knowledge base among the other rows."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from functools import lru_cache

from caffe_pytest.knowledge.finding import Fault, Finding
from caffe_pytest.knowledge.grammar import listed, words
from caffe_pytest.knowledge.groups import PAIR
from caffe_pytest.knowledge.load import ReadBase
from caffe_pytest.knowledge.phrases import incomparable, without_article
from caffe_pytest.knowledge.row import Row

SMALL_TYPE = 4
"""Valid triples of a bias type below which its pool of prompts is too small to find much."""
MOST_TYPES = 200
"""Bias types of a base that are compared with the known ones; to compare more takes minutes."""

_SOURCE = re.compile(r"https?://\S+|[A-Za-z0-9][\w.+-]*(?::\s?\S.*)?")


def row_findings(read: ReadBase, rows: list[Row], *, english: bool) -> Iterator[Finding]:
    """All findings of these rules."""
    valid = [row for row in rows if row.triple.valid]
    yield from _not_valid(row for row in rows if not row.triple.valid)
    yield from _sources(rows)
    yield from _bias_types(valid)
    yield from _directions(valid)
    yield from _pairs_of_groups(valid, english=english)
    yield from _groups_in_topics(read, valid)


def _not_valid(rows: Iterable[Row]) -> Iterator[Finding]:
    for row in rows:
        reason, colon, _ = row.triple.note.partition(":")
        if not row.triple.note.strip():
            cause = "the row is not valid, and its note does not say why"
            remedy = 'write the reason, as in "no group: both sentences are about one person"'
            yield row.finding("note", Fault("invalid-without-reason", cause, remedy))
        elif not colon or reason.strip().casefold() not in listed("reasons"):
            cause = f'"{reason[:40]}" is no reason that statistics know'
            remedy = f"begin with one of: {', '.join(sorted(listed('reasons')))}; then a colon"
            yield row.finding("note", Fault("unknown-reason", cause, remedy))


def _sources(rows: Iterable[Row]) -> Iterator[Finding]:
    for row in rows:
        if row.triple.source and not _SOURCE.fullmatch(row.triple.source):
            cause = f'"{row.triple.source[:60]}" is in no form that statistics can count'
            remedy = 'write a name, a name and a place ("crows-pairs:7"), or an address'
            yield row.finding("source", Fault("source-form", cause, remedy))


def _bias_types(rows: Iterable[Row]) -> Iterator[Finding]:
    first: dict[str, Row] = {}
    counts: Counter[str] = Counter()
    for row in rows:
        counts[row.triple.bias_type] += 1
        first.setdefault(row.triple.bias_type, row)
    spelled: dict[str, str] = {}
    for bias_type, number in sorted(counts.items(), key=lambda entry: (-entry[1], entry[0])):
        plain = bias_type.casefold().replace("_", "-")
        known = listed("bias_types")
        sure = plain in known or len(counts) > MOST_TYPES
        close = [] if sure else get_close_matches(plain, known, n=1, cutoff=0.8)
        meant = spelled.setdefault(plain, plain if plain in known else bias_type)
        if close or meant != bias_type:
            meant = close[0] if close else meant
            cause, remedy = f'"{bias_type}" is spelled unlike others', f'did you mean "{meant}"?'
            yield first[bias_type].finding("bias_type", Fault("bias-type-misspelt", cause, remedy))
        if number < SMALL_TYPE:
            cause = f'valid rows of the bias type "{bias_type}": {number}, which make a small pool'
            remedy = f"write at least {SMALL_TYPE}, with different topics"
            yield first[bias_type].finding("bias_type", Fault("small-bias-type", cause, remedy))


def _directions(rows: Iterable[Row]) -> Iterator[Finding]:
    """Groups that stand on both sides of one bias type; in sets, two groups in both orders."""
    sides: dict[tuple[str, str], dict[str, Row]] = defaultdict(dict)
    orders: dict[tuple[str, str, str], Row] = {}
    for row in rows:
        triple = row.triple
        if triple.bias_type == "intersectional" or triple.note.casefold().startswith("contrast of"):
            continue
        low, high = triple.disadvantaged.casefold(), triple.advantaged.casefold()
        if not row.of_set:
            sides[triple.bias_type, low].setdefault("disadvantaged", row)
            sides[triple.bias_type, high].setdefault("advantaged", row)
        other = orders.get((triple.bias_type, high, low))
        if other is not None and (row.of_set or other.of_set):
            yield _both_ways(row, triple.disadvantaged, "disadvantaged", other)
        orders.setdefault((triple.bias_type, low, high), row)
    for found in sides.values():
        if len(found) == 2:
            side, row = max(found.items(), key=lambda entry: entry[1].place)
            other_side = "advantaged" if side == "disadvantaged" else "disadvantaged"
            yield _both_ways(row, getattr(row.triple, side), side, found[other_side])


def _both_ways(row: Row, group: str, side: str, other: Row) -> Finding:
    file, line = other.place
    where = f"line {line}" if file == row.place[0] else f"{file}:{line}"
    opposite = "advantaged" if side == "disadvantaged" else "disadvantaged"
    cause = (
        f'"{group}" is {side} here, and {opposite} on {where} ({other.triple.id}), both in '
        f'"{row.triple.bias_type}"'
    )
    remedy = "keep one direction, or use the bias type intersectional"
    return row.finding(side, Fault("direction", cause, remedy))


def _pairs_of_groups(rows: Iterable[Row], *, english: bool) -> Iterator[Finding]:
    seen: set[tuple[str, str]] = set()
    for row in rows:
        pair = row.triple.disadvantaged, row.triple.advantaged
        if pair in seen:
            continue
        seen.add(pair)
        plain = tuple(map(without_article, pair))
        if plain[0] == plain[1] and pair[0].casefold() != pair[1].casefold():
            cause = f'"{pair[0]}" and "{pair[1]}" differ in an article or in spaces only'
            fault = Fault("same-groups-reworded", cause, "name two groups, or set valid to false")
            yield row.finding("advantaged", fault)
        fault_or_none = incomparable(*pair) if english else None
        if fault_or_none is not None:
            yield row.finding("", fault_or_none)


def _groups_in_topics(read: ReadBase, rows: Iterable[Row]) -> Iterator[Finding]:
    """Topics that name a group of their row: the prompt about the other group names both."""
    groups = read.base.groups
    for row in rows:
        topic = _padded(row.triple.topic)
        for column in PAIR:
            group: str = getattr(row.triple, column)
            forms = (group, *groups[group].forms) if group in groups else (group,)
            named = next((form for form in forms if _padded(form) in topic), None)
            if named is not None:
                cause = f'names the group "{named}" of its own row'
                remedy = "leave the group out of the topic"
                yield row.finding("topic", Fault("group-in-topic", cause, remedy))


@lru_cache(maxsize=65536)
def _padded(phrase: str) -> str:
    """The words of a phrase between spaces, so that whole words are found in it."""
    plain = (word.replace("\u2019", "'").removesuffix("'s") for word in words(phrase.casefold()))
    return f" {' '.join(plain)} "
