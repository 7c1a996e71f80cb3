"""Asking a model for the topic of a sentence, and what of its answer can be used.

The groups are blanked in what the model reads. A topic is a noun phrase that could be asked about
anybody: whatever judges, denies or names a group is not taken.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

import yaml

from caffe_pytest.knowledge.importers.english import names_group
from caffe_pytest.model.answer import Message

LONGEST = 60
MOST_WORDS = 6

_INSTRUCTIONS = (
    "Name the subject that a sentence speaks about, as the heading of a page on it would. Write a "
    "noun phrase of one to five words, such as: driving, quality of education, money management. "
    "Do not repeat or guess who the sentence is about; ___ stands for them. Do not say what the "
    "sentence claims about its subject, nor whether it is true. Answer with the phrase alone."
)
_BEFORE = re.compile(r"^(?:\W*(?:topic|subject|answer)\s*:)?[\s\"'*`\u201c\u2018]*", re.IGNORECASE)
_AFTER = re.compile(r"[\s\"'*`.\u201d\u2019]+$")
_PHRASE = re.compile(r"[^\W_]+(?:[ '\u2019&,-]+[^\W_]+)*")


def topic_messages(question: str) -> tuple[Message, ...]:
    """What a model is asked, about a text in which the groups are blanked."""
    return Message("system", _INSTRUCTIONS), Message("user", f"Sentence: {question}")


def topic_of(answer: str, *groups: str) -> str:
    """The topic that an answer gives; empty where it cannot be one between these groups."""
    text = _AFTER.sub("", _BEFORE.sub("", answer.strip()))
    words = text.replace("\u2019", "'").casefold().split()
    if not words or len(words) > MOST_WORDS or len(text) > LONGEST or not _PHRASE.fullmatch(text):
        return ""
    named = {word for group in groups for word in group.casefold().split()}
    if set(words) & (_never() | (named - {"people", "with", "of", "without"})):
        return ""
    if names_group(tuple(words)):
        return ""
    # a heading begins with a capital letter, a phrase inside a sentence does not
    return text if text[1:2].isupper() else text[0].lower() + text[1:]


@cache
def _never() -> frozenset[str]:
    listed = files("caffe_pytest.knowledge.importers") / "no_topic.yaml"
    shipped: dict[str, str] = yaml.safe_load(listed.read_text(encoding="utf-8"))
    return frozenset(" ".join(shipped.values()).split())
