"""The formats that a knowledge base can be imported from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from caffe_pytest.knowledge.importers import (
    biasasker,
    caffe,
    crows_pairs,
    crows_pairs_fr,
    groups_topics,
    stereoset,
)
from caffe_pytest.knowledge.importers.source import Source


@dataclass(frozen=True)
class Format:
    """How to read a data set, and what is known of it."""

    title: str
    read: Callable[[Path], Source]
    """Raises ProblemsFound, then or while its proposals are read."""
    language: str = "en"
    licence: str = "unspecified"
    """As published; a copy may say otherwise."""


FORMATS: Mapping[str, Format] = {
    crows_pairs.NAME: Format("CrowS-Pairs", crows_pairs.read, licence="CC-BY-SA-4.0"),
    crows_pairs_fr.NAME: Format(
        "French CrowS-Pairs", crows_pairs_fr.read, "fr", licence="CC-BY-SA-4.0"
    ),
    biasasker.NAME: Format("BiasAsker", biasasker.read),
    stereoset.NAME: Format("StereoSet", stereoset.read, licence="CC-BY-SA-4.0"),
    groups_topics.NAME: Format("lists of groups and topics", groups_topics.read),
    caffe.NAME: Format("the knowledge base of CAFFE", caffe.read),
}
"""By the name a user gives."""
