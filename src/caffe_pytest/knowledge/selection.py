"""Which triples of a knowledge base a test case asks about."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from itertools import groupby

from caffe_pytest.model.test_case import Prompts
from caffe_pytest.model.triple import Triple


def select(triples: Iterable[Triple], prompts: Prompts) -> list[Triple]:
    """The valid triples that pass every filter of `prompts`, in the order of the base."""
    chosen = [
        triple
        for triple in triples
        if triple.valid
        and (prompts.bias_types is None or triple.bias_type in prompts.bias_types)
        and matches([triple.topic], prompts.topics)
        and matches([triple.disadvantaged, triple.advantaged], prompts.groups)
    ]
    if prompts.at_most_triples is None:
        return chosen
    kept = set(_at_most(chosen, prompts.at_most_triples, prompts.seed))
    return [triple for triple in chosen if triple.id in kept]


def matches(words: Sequence[str], patterns: Sequence[str] | None) -> bool:
    """Whether a word matches a pattern, whatever the case; no patterns match everything."""
    return patterns is None or any(
        fnmatchcase(word.casefold(), pattern.casefold()) for word in words for pattern in patterns
    )


def _at_most(triples: Sequence[Triple], number: int, seed: int) -> Iterable[str]:
    """Identifiers, drawn by hash: another row in the base changes at most one of the chosen."""

    def draw(triple: Triple) -> bytes:
        return hashlib.sha256(f"{seed}\0{triple.id}".encode()).digest()

    in_types = sorted(triples, key=lambda triple: triple.bias_type)
    for _, same_type in groupby(in_types, key=lambda triple: triple.bias_type):
        for triple in sorted(same_type, key=draw)[:number]:
            yield triple.id
