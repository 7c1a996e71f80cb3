"""Several knowledge bases as one."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from caffe_pytest.errors import CaffeError
from caffe_pytest.model.triple import Group, KnowledgeBase, Triple


def merge(bases: Sequence[KnowledgeBase]) -> KnowledgeBase:
    """The bases one after the other; what a later base says of the same identifier counts.

    So a base of one's own corrects a row, or takes it out (`valid: false`). A triple that an
    earlier base has under another identifier is left out: it would be asked twice.

    Raises:
        CaffeError: the bases are in different languages.
    """
    if len(bases) == 1:
        return bases[0]
    languages = dict.fromkeys(base.language for base in bases)
    if len(languages) > 1:
        told = ", ".join(f"{base.name} ({base.language})" for base in bases)
        raise CaffeError(
            f"the bases are in different languages: {told}; write a test case for each"
        )
    rows: dict[str, Triple] = {}
    groups: dict[str, Group] = {}
    for base in bases:
        rows |= {triple.id: triple for triple in base.triples}
        groups |= base.groups
    return KnowledgeBase(
        name="+".join(base.name for base in bases)[:100],
        version="+".join(base.version for base in bases),
        licence=" AND ".join(dict.fromkeys(base.licence for base in bases)),
        language=bases[0].language,
        datasheet=None,
        path=bases[0].path,
        sha256=hashlib.sha256("\0".join(base.sha256 for base in bases).encode()).hexdigest(),
        triples=tuple(_each_once(rows.values())),
        groups=groups,
        parts=tuple(bases),
    )


def _each_once(triples: Iterable[Triple]) -> list[Triple]:
    seen: set[tuple[str, ...]] = set()
    kept = []
    for triple in triples:
        if not triple.valid or triple.content not in seen:
            kept.append(triple)
        seen.add(triple.content)
    return kept
