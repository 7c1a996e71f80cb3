"""Simulated models: they answer offline, in-process, and their unfairness is known.

`simulated/fair` treats every group alike. `simulated/biased` treats the disadvantaged groups of the
test case's knowledge base worse, in ways and at a strength that its parameters set.
`simulated/noisy` does the same things to every group alike: it is bad, and not unfair. All vary
from one repetition to the next as real models do, the more so the higher the temperature. An answer
depends on the messages, the parameters and the repetition alone, so that a rerun, another order
and another machine give the same answers. They are the embedded default, and the ground truth
against which metrics and verdicts are measured.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from caffe_pytest.errors import CaffeError, WrongParameter, did_you_mean
from caffe_pytest.hookspecs import ProviderFactory, hookimpl
from caffe_pytest.model.answer import Answer, Message, Request
from caffe_pytest.model.test_case import ModelUnderTest
from caffe_pytest.model.triple import KnowledgeBase, Triple

PREFIX = "simulated"
VERSION = 1
"""Changes whenever the same request would get another answer."""

MODELS = ("simulated/fair", "simulated/biased", "simulated/noisy")

Disparity = Literal["refusal", "tone", "omission", "stereotype", "length"]
DISPARITIES: tuple[Disparity, ...] = ("refusal", "tone", "omission", "stereotype", "length")

REDRAWN_PER_DEGREE = 0.15
"""Share of an answer's choices that temperature 1.0 makes anew in every repetition."""
NOISIER = 4
"""Times the choices that `simulated/noisy` makes anew."""

_WORD = re.compile(r"\w+(?:['-]\w+)*")
_POINTS = 5
_LONGEST_NAME = 8


class Planted(BaseModel):
    """What the tester may set among the model's `parameters`."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    strength: float = Field(default=0.4, ge=0.0, le=1.0)
    """Share of the answers that are treated worse: of those about disadvantaged groups, or of all
    where the model is noisy."""
    disparities: list[Disparity] = Field(default=list(DISPARITIES), min_length=1)
    """In which ways; each treated answer gets one of them."""
    bias_types: list[str] | None = None
    """Against the groups of which bias types; left out = all."""
    temperature: float = Field(default=0.7, ge=0.0)
    seed: int = 0
    top_p: float | None = None
    """Accepted, so that a test case may name real and simulated models; changes nothing."""
    max_tokens: int | None = None
    """Accepted, as above."""


@hookimpl
def register_providers(register: Callable[[str, ProviderFactory], None]) -> None:
    """Register the simulated models."""
    register(PREFIX, SimulatedProvider)


class SimulatedProvider:
    """A simulated model behind the interface of all providers."""

    lane = PREFIX

    def __init__(self, model: ModelUnderTest, base: KnowledgeBase) -> None:
        """Raises CaffeError where there is no such simulated model."""
        if model.model not in MODELS:
            remedy = did_you_mean(model.model, MODELS)
            raise CaffeError(f'unknown simulated model "{model.model}"; {remedy}')
        self._simulation = Simulation.of(base.sha256, base.triples)
        self.identity: Mapping[str, Any] = {
            "provider": PREFIX, "version": VERSION, "base": base.sha256[:16],
        }  # fmt: skip

    def check_parameters(self, parameters: Mapping[str, Any]) -> None:
        """Refuse values that plant nothing sensible; raises WrongParameter."""
        try:
            Planted.model_validate_json(json.dumps(dict(parameters)))
        except ValidationError as error:
            detail = error.errors()[0]
            name = ".".join(str(part) for part in detail["loc"])
            if detail["type"] == "extra_forbidden":
                what = "no simulated model has it"
                remedy = did_you_mean(name, Planted.model_fields)
            else:
                what = detail["msg"][:1].lower() + detail["msg"][1:]
                remedy = "docs/models.md lists the parameters of simulated models"
            message = f"parameter {name}: {what}; {remedy}"
            raise WrongParameter(str(detail["loc"][0]), message) from error

    async def ask(self, request: Request, *, timeout: float) -> Answer:  # noqa: ARG002
        """The simulated answer; it takes no time and never fails."""
        return self._simulation.answer(
            request.model, request.messages, request.parameters, request.repetition
        )

    async def close(self) -> None:
        """Nothing to release."""


@dataclass(frozen=True)
class _Subject:
    """Whom and what a prompt is about, as the simulated model understood it."""

    group: str
    topic: str
    bias_types: frozenset[str]
    """Under which the group is disadvantaged; empty for the others."""
    masked: str
    """The prompt without the name of the group: the same for both prompts of a pair."""


@dataclass(frozen=True)
class Simulation:
    """What simulated models know: the groups and topics of a knowledge base."""

    disadvantaged: Mapping[str, frozenset[str]]
    """Bias types by name of the group, lower-case."""
    groups: Mapping[str, str]
    """Names as the knowledge base spells them, by their lower-case form; topics too."""
    topics: Mapping[str, str]

    @classmethod
    def of(cls, sha256: str, triples: Sequence[Triple]) -> Simulation:
        """The simulation for a knowledge base; made once for each."""
        if sha256 not in _simulations:
            _simulations[sha256] = cls._read(triples)
        return _simulations[sha256]

    @classmethod
    def _read(cls, triples: Iterable[Triple]) -> Simulation:
        balance: Counter[tuple[str, str]] = Counter()
        groups: dict[str, str] = {}
        topics: dict[str, str] = {}
        for triple in triples:
            balance[_key(triple.disadvantaged), triple.bias_type] += 1
            balance[_key(triple.advantaged), triple.bias_type] -= 1
            for group in (triple.disadvantaged, triple.advantaged):
                groups.setdefault(_key(group), group)
            topics.setdefault(_key(triple.topic), triple.topic)
        sides: dict[str, set[str]] = {}
        for (group, bias_type), more in balance.items():
            sides.setdefault(group, set())
            if more > 0:
                sides[group].add(bias_type)
        disadvantaged = {group: frozenset(types) for group, types in sides.items() if types}
        return cls(disadvantaged, groups, topics)

    def answer(
        self,
        model: str,
        messages: Sequence[Message],
        parameters: Mapping[str, Any],
        repetition: int = 0,
    ) -> Answer:
        """The answer of a simulated model to a conversation."""
        planted = Planted.model_validate_json(json.dumps(dict(parameters)))
        subject = self._understand(messages[-1].content)
        before = "\0".join(f"{role}:{content}" for role, content in messages[:-1])
        common = _rng(planted.seed, before, subject.masked)
        own = _rng(planted.seed, before, messages[-1].content, str(repetition))
        redrawn = planted.temperature * REDRAWN_PER_DEGREE
        if model.endswith("/noisy"):
            redrawn = min(1.0, NOISIER * redrawn)
        speaker = _Speaker(subject, common, own, redrawn)
        disparity = self._disparity(model, subject, planted, own)
        text = speaker.say(messages[-1].content, disparity)
        counts = {
            "prompt_tokens": sum(len(_WORD.findall(message.content)) for message in messages),
            "completion_tokens": len(_WORD.findall(text)),
        }
        return Answer(text, "stop", counts, model)

    def _disparity(
        self, model: str, subject: _Subject, planted: Planted, own: random.Random
    ) -> Disparity | None:
        # drawn whatever the model, so that fair and biased differ in the planted answers alone
        hit = own.random() < planted.strength
        kind = own.choice(planted.disparities)
        chosen = planted.bias_types is None or subject.bias_types & set(planted.bias_types)
        against = model.endswith("/biased") and subject.bias_types and chosen
        return kind if hit and (against or model.endswith("/noisy")) else None

    def _understand(self, prompt: str) -> _Subject:
        words = list(_WORD.finditer(prompt))
        group = topic = ""
        masked = prompt
        for start, end in _spans(words):
            name = prompt[start:end]
            key = _key(name)
            if not group and key in self.groups:
                group = self.groups[key]
                masked = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "GROUP", prompt, flags=re.I)
            elif not topic and key in self.topics and key not in self.groups:
                topic = self.topics[key]
        types = self.disadvantaged.get(_key(group), frozenset())
        return _Subject(group or "people", topic or "this", types, masked)


_simulations: dict[str, Simulation] = {}


@dataclass
class _Speaker:
    """Puts an answer together; each choice is the common one, or now and then one of its own."""

    subject: _Subject
    common: random.Random
    own: random.Random
    redrawn: float

    def say(self, prompt: str, disparity: Disparity | None) -> str:
        labels = _labels_asked_for(prompt)
        if labels:
            return self._label(labels, disparity)
        phrases = _phrases()
        opening = self._one(phrases["openings"])
        points = self._several(phrases["points"], _POINTS)
        encouragement = self._one(phrases["encouragements"])
        closing = self._one(phrases["closings"])
        if disparity == "refusal":
            return self._fill([self.own.choice(phrases["refusals"])])
        if disparity == "tone":
            gloomy = self.own.sample(phrases["discouragements"], 3)
            return self._fill([opening, *points[:2], *gloomy])
        if disparity == "omission":
            return self._fill([opening, *points[:2], closing])
        if disparity == "length":
            return self._fill([points[0]])
        if disparity == "stereotype":
            encouragement = self.own.choice(phrases["stereotypes"])
        return self._fill([opening, *points, encouragement, closing])

    def _label(self, labels: Sequence[str], disparity: Disparity | None) -> str:
        sentence = self._one(_phrases()["label_sentences"])
        label = self._one(labels[:-1])
        if disparity == "refusal":
            return self._fill([self.own.choice(_phrases()["refusals"])])
        return sentence.replace("{label}", labels[-1] if disparity else label)

    def _one(self, choices: Sequence[str]) -> str:
        common, own = self.common.choice(choices), self.own.choice(choices)
        return own if self.own.random() < self.redrawn else common

    def _several(self, choices: Sequence[str], number: int) -> list[str]:
        chosen = self.common.sample(choices, number)
        for index in range(number):
            other = self.own.choice(choices)
            if self.own.random() < self.redrawn and other not in chosen:
                chosen[index] = other
        return chosen

    def _fill(self, sentences: Iterable[str]) -> str:
        subject = self.subject
        filled = (
            text.replace("{group}", subject.group).replace("{topic}", subject.topic)
            for text in sentences
        )
        return " ".join(sentence[:1].upper() + sentence[1:] for sentence in filled)


def _labels_asked_for(prompt: str) -> tuple[str, ...]:
    """The labels a classification prompt allows, the unkind one last."""
    text = prompt.casefold()
    if "toxic" in text:
        return ("not toxic", "toxic")
    if "positive" in text and "negative" in text:
        return ("neutral", "positive", "negative")
    return ()


def _spans(words: Sequence[re.Match[str]]) -> Iterable[tuple[int, int]]:
    """Character spans of word sequences, the longest first: "gay men" before "men"."""
    for length in range(_LONGEST_NAME, 0, -1):
        for first in range(len(words) - length + 1):
            yield words[first].start(), words[first + length - 1].end()


def _key(name: str) -> str:
    return " ".join(_WORD.findall(name.casefold()))


def _rng(seed: int, *parts: str) -> random.Random:
    digest = hashlib.sha256("\0".join((str(seed), *parts)).encode("utf-8", "surrogatepass"))
    return random.Random(digest.digest())


@lru_cache(maxsize=1)
def _phrases() -> dict[str, list[str]]:
    path = Path(__file__).with_name("simulated_phrases.yaml")
    phrases: dict[str, list[str]] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return phrases
