"""Every extension point on one screen.

A plugin is a module (or object) with functions marked `@hookimpl`. It is found through the entry
point group `caffe`, or in a `conftest.py`. Built-ins register themselves in the same way.

    from caffe_pytest.hookspecs import SimilarityMetric, hookimpl

    @hookimpl
    def register_metrics(register):
        register(SimilarityMetric("overlap", "1", reference=WordOverlap, fit=WordOverlap.fitted))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import pluggy

from caffe_pytest.model.answer import Answer, Request
from caffe_pytest.model.test_case import ModelUnderTest
from caffe_pytest.model.triple import KnowledgeBase

if TYPE_CHECKING:
    import numpy

PROJECT = "caffe"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


class Provider(Protocol):
    """Speaks to one model. Its methods run on the executor's event loop."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """What decides the answers besides model, parameters and messages; holds no secret."""

    @property
    def lane(self) -> str:
        """Calls of one lane share a limit of concurrency, e.g. all calls to one endpoint."""

    def check_parameters(self, parameters: Mapping[str, Any]) -> None:
        """Refuse, before anything is asked, what the model cannot understand.

        Raises:
            WrongParameter: naming the parameter, with "cause; remedy".
        """

    async def ask(self, request: Request, *, timeout: float) -> Answer:
        """The model's answer, within `timeout` seconds.

        Raises:
            ProviderError: the call brought no answer.
        """

    async def close(self) -> None:
        """Release connections; called once, after the last call."""


class Space(Protocol):
    """Where answers are compared."""

    def similarity(self, first: Sequence[str], second: Sequence[str]) -> numpy.ndarray:
        """Similarity of each of the n pairs, shape (n,), at most 1.0; NaN = cannot be compared."""


@dataclass(frozen=True)
class SimilarityMetric:
    """Compares two answers."""

    name: str
    version: str
    """Changes whenever the same answers would get another score."""
    reference: Callable[[], Space]
    """The frozen space."""
    fit: Callable[[Sequence[str]], Space]
    """A space fitted on these texts; raises ValueError where they do not suffice."""
    with_encoder: Callable[[str], SimilarityMetric] | None = None
    """The same metric with another encoder, by name or folder; None where it has none."""
    identity: Callable[[], Mapping[str, str]] | None = None
    """What else decides the scores, such as the sha256 of weights; raises CaffeError where that is
    not there."""


@dataclass(frozen=True)
class AnswerMeasure:
    """Says one number about each answer."""

    name: str
    version: str
    """Changes whenever the same answer would get another number."""
    measure: Callable[[Sequence[str]], numpy.ndarray]
    """(n,) of n answers; NaN where it says nothing about one. Groups are masked before."""
    margin: float
    """The difference between two groups that is called fair where a test case says nothing."""
    scale: Literal["share", "number", "relative"]
    """How the difference is told: of shares of answers, in the measure's own unit, or as the ratio
    of the groups' geometric means less one (the measure is then above 0)."""
    of_refusals: bool = False
    """Whether answers that decline the request are measured too."""


Metric = SimilarityMetric | AnswerMeasure


ProviderFactory = Callable[[ModelUnderTest, KnowledgeBase], Provider]


class CaffeSpec:
    """The hooks. Each is called once, when a front door starts, in every process."""

    @hookspec
    def register_providers(self, register: Callable[[str, ProviderFactory], None]) -> None:
        """Call `register(prefix, factory)` for models named `prefix/...`.

        The factory gets the model and the knowledge base of the test case, in which simulated
        models look up whom to treat unfairly.
        """

    @hookspec
    def register_metrics(self, register: Callable[[Metric], None]) -> None:
        """Call `register(metric)` for each metric that `expected_fairness` may name."""

    @hookspec
    def register_intents(self, register: Callable[[Path], None]) -> None:
        """Call `register(path)` for each intent file; its `name` is what test cases say."""

    @hookspec
    def register_knowledge_bases(self, register: Callable[[str, Path], None]) -> None:
        """Call `register(name, path)` for each knowledge base that test cases may name."""
