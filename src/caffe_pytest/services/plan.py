"""From a test case to the procedures that carry it out; nothing is asked and nothing is written."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from caffe_pytest.design.intent import Intent, load_intent
from caffe_pytest.design.pairs import (
    PairDesign,
    PairSlot,
    design_pairs,
    make_pair,
    per_triple,
    smallest_pool,
)
from caffe_pytest.errors import CaffeError, Problem, ProblemsFound, WrongParameter, did_you_mean
from caffe_pytest.extensions import Extensions
from caffe_pytest.hookspecs import Provider, SimilarityMetric
from caffe_pytest.knowledge.find import find_base, known_names
from caffe_pytest.knowledge.load import load_base
from caffe_pytest.knowledge.merge import merge
from caffe_pytest.knowledge.selection import matches, select
from caffe_pytest.model.answer import Message
from caffe_pytest.model.prompt_pair import PromptPair
from caffe_pytest.model.test_case import Gap, ModelUnderTest, Prompts, Similarity, TestCase
from caffe_pytest.model.triple import KnowledgeBase, Triple
from caffe_pytest.oracles.gap import answers_to_pass
from caffe_pytest.reporting.text import shown_path
from caffe_pytest.services.criteria import (
    NOT_MEASURES,
    Asked,
    CriteriaError,
    criteria,
    with_encoder,
)
from caffe_pytest.specs.loader import LoadedCase, read_cases
from caffe_pytest.specs.yaml_document import first_file

INTENT_SUFFIXES = (".yaml", ".yml")
_BASE = ("prompts", "knowledge_base")
POOL = 48
"""Prompt pairs of a pool, where a test case says nothing."""
SMALL_POOL = 24
"""Below that, two answers to a prompt find less than two thirds of real differences."""


@dataclass(frozen=True, eq=False)
class CasePlan:
    """A test case with everything that its items need, looked up and checked."""

    loaded: LoadedCase
    base: KnowledgeBase
    intent: Intent
    metric: SimilarityMetric | None
    """What the similarity oracle compares with; None where the gap oracle decides."""
    asked: tuple[Asked, ...]
    """What the gap oracle asks of each pool; none where the similarity oracle decides."""
    judge: Provider | None
    """The model that compares answers, where one is asked for."""
    design: PairDesign
    providers: dict[str, Provider]
    """By alias of the model."""
    opening: tuple[Message, ...]
    """Context and history as messages."""
    notes: tuple[str, ...]
    """What the tester should know although it is no problem."""

    @property
    def case(self) -> TestCase:
        """The test case."""
        return self.loaded.case

    @property
    def file(self) -> str:
        """The file as messages and node ids name it."""
        return self.loaded.source.file

    @property
    def line(self) -> int:
        """1-based line of the test case's identifier."""
        return self.loaded.source.line(("id",))

    @cached_property
    def items(self) -> tuple[tuple[str, tuple[PairSlot, ...]], ...]:
        """Name and prompt pairs of what a verdict is about: each pair, or each pool of pairs."""
        if self.metric is not None:
            return tuple((slot.name, (slot,)) for slot in self.design.slots)
        pools: dict[str, list[PairSlot]] = {}
        for slot in self.design.slots:
            pools.setdefault(slot.triple.bias_type, []).append(slot)
        return tuple((bias_type, tuple(slots)) for bias_type, slots in pools.items())

    def procedures_for(self, model: ModelUnderTest) -> Iterator[Procedure]:
        """What is to be carried out with a model."""
        for name, slots in self.items:
            yield Procedure(self, model, name, slots)

    def procedures(self) -> Iterator[Procedure]:
        """What is to be carried out, model by model."""
        for model in self.case.environment.models:
            yield from self.procedures_for(model)


@dataclass(frozen=True, slots=True, eq=False)
class Procedure:
    """The steps behind one item: ask one model all prompts of it, compare, decide."""

    plan: CasePlan
    model: ModelUnderTest
    name: str
    """Unique in its test case and model."""
    slots: tuple[PairSlot, ...]
    """The prompt pairs; a single one where the similarity oracle decides."""

    @property
    def nodeid(self) -> str:
        """Unique in the session, stable from one to the next."""
        return f"{self.plan.file}::{self.plan.case.id}::{self.model.alias}::{self.name}"

    @property
    def bias_type(self) -> str:
        """Of all its triples."""
        return self.slots[0].triple.bias_type

    @property
    def prompts(self) -> int:
        """How many prompts are sent at most; a judge is asked of each two answers twice."""
        asked = 2 * len(self.slots) * self.plan.case.repeats
        return asked if self.plan.judge is None else 2 * asked

    def pairs(self) -> list[PromptPair]:
        """The prompts; raises NotCounterfactual where a template depends on the group."""
        intent, seed = self.plan.intent, self.plan.case.prompts.seed
        return [make_pair(slot, intent, seed) for slot in self.slots]


class Planner:
    """Plans test cases; files are read once, however many test cases name them."""

    def __init__(self, extensions: Extensions) -> None:
        self._extensions = extensions
        self._loaded_intents: dict[Path, Intent] = {}
        self._loaded_bases: dict[Path, KnowledgeBase] = {}
        self._merged: dict[tuple[str, ...], KnowledgeBase] = {}
        self._places: dict[str, str] = {}

    def plan_file(self, path: Path, shown: str) -> list[CasePlan]:
        """The plans of all test cases of a file.

        Raises:
            ProblemsFound: with every problem of all its test cases.
        """
        plans: list[CasePlan] = []
        # resolved: what a test case names is looked for in all folders above it
        cases, problems = read_cases(path.resolve(), shown)
        for loaded in cases:
            try:
                plans.append(self.plan(loaded))
            except ProblemsFound as found:
                problems += found.problems
        if problems:
            raise ProblemsFound(problems)
        return plans

    def plan(self, loaded: LoadedCase) -> CasePlan:
        """The plan of a test case.

        Raises:
            ProblemsFound: with everything it names that is not there.
        """
        return _CasePlanner(self, loaded).plan()

    def intent_path(self, named: str, near: Path, language: str | None) -> Path | None:
        """The file of a built-in or registered intent, or of a path given instead of a name.

        Of intents with one name, that in the language of the knowledge base.

        Raises:
            ProblemsFound: the file of a registered intent is wrong.
        """
        if named.lower().endswith(INTENT_SUFFIXES):
            return first_file([near / named, Path(named)])
        in_order = sorted(self._extensions.intents, key=lambda path: path.stem != named)
        there = (path for path in in_order if self.intent(path).name == named)
        first = next(there, None)
        spoken = (path for path in there if self.intent(path).file.language == language)
        if first is None or language in (None, self.intent(first).file.language):
            return first
        return next(spoken, first)

    def intent(self, path: Path) -> Intent:
        """The intent in a file; raises ProblemsFound."""
        if path not in self._loaded_intents:
            self._loaded_intents[path] = load_intent(path, shown_path(path))
        return self._loaded_intents[path]

    def base(self, path: Path) -> KnowledgeBase:
        """The knowledge base in a file; raises ProblemsFound."""
        if path not in self._loaded_bases:
            self._loaded_bases[path] = load_base(path, shown_path(path))
        return self._loaded_bases[path]

    def merged(self, bases: Sequence[KnowledgeBase]) -> KnowledgeBase:
        """Several bases as one, merged once; raises CaffeError."""
        key = tuple(base.sha256 for base in bases)
        if key not in self._merged:
            self._merged[key] = merge(bases)
        return self._merged[key]

    def place_of(self, identifier: str, place: str) -> str:
        """Where in this session the identifier was seen first."""
        return self._places.setdefault(identifier, place)

    @property
    def extensions(self) -> Extensions:
        """What is registered."""
        return self._extensions

    @property
    def intent_names(self) -> list[str]:
        """What a test case may name as its intent."""
        return sorted({self.intent(path).name for path in self._extensions.intents})


class _CasePlanner:
    """Looks up what one test case names, and gathers what is wrong."""

    def __init__(self, planner: Planner, loaded: LoadedCase) -> None:
        self._planner = planner
        self._loaded = loaded
        self._case = loaded.case
        self._problems: list[Problem] = []

    def plan(self) -> CasePlan:
        self._check_identifier()
        base = self._base()
        intent = self._intent(base)
        metric, asked = self._metric(), self._asked(intent)
        providers = self._providers(base) if base is not None else {}
        judge = self._judge(base) if base is not None else None
        triples = self._triples(base) if base is not None else []
        prompts = self._prompts(triples, intent)
        if self._problems or intent is None or base is None:
            raise ProblemsFound(self._problems)
        try:
            design = design_pairs(triples, intent, prompts)
        except CaffeError as error:  # a plateau is found by rendering the templates
            raise ProblemsFound([problem_of_intent(self._loaded, error)]) from error
        return CasePlan(
            loaded=self._loaded,
            base=base,
            intent=intent,
            metric=metric,
            asked=asked,
            judge=judge,
            design=design,
            providers=providers,
            opening=_opening(self._case),
            notes=tuple(_notes(self._case, intent, design, asked)),
        )

    def _complain(self, path: tuple[str | int, ...], cause: str, remedy: str) -> None:
        self._problems.append(self._loaded.source.problem(path, cause, remedy))

    def _check_identifier(self) -> None:
        here = f"{self._loaded.source.file}:{self._loaded.source.line(('id',))}"
        first = self._planner.place_of(self._case.id, here)
        if first != here:
            cause = f'the id "{self._case.id}" stands in {first} already'
            self._complain(("id",), cause, "give each test case its own id")

    def _intent(self, base: KnowledgeBase | None) -> Intent | None:
        named, language = self._case.intent, base.language if base is not None else None
        try:
            path = self._planner.intent_path(named, self._loaded.path.parent, language)
            if path is not None:
                intent = self._planner.intent(path)
                if base is not None and intent.file.language != language:
                    cause = (
                        f'the templates of "{intent.name}" are in "{intent.file.language}", the '
                        f'knowledge base "{base.name}" in "{language}"'
                    )
                    self._complain(("intent",), cause, "choose an intent file in that language")
                return intent
            cause = f'unknown intent "{named}"'
            remedy = did_you_mean(named, self._planner.intent_names)
            if named.lower().endswith(INTENT_SUFFIXES):
                cause, remedy = f'no file "{named}"', "give its path from the folder of this file"
            self._complain(("intent",), cause, remedy)
        except ProblemsFound as found:
            self._problems += found.problems
        return None

    def _base(self) -> KnowledgeBase | None:
        """The base, or all that are named, merged."""
        named = self._case.prompts.knowledge_base
        bases = [self._named_base(index, name) for index, name in enumerate(named)]
        there = [base for base in bases if base is not None]
        if len(there) < len(bases):
            return None
        try:
            return self._planner.merged(there)
        except CaffeError as error:
            cause, _, remedy = str(error).partition("; ")
            self._complain(("prompts", "knowledge_base"), cause, remedy)
            return None

    def _named_base(self, index: int, named: str) -> KnowledgeBase | None:
        registered = self._planner.extensions.knowledge_bases
        path = find_base(named, self._loaded.path.parent, registered)
        if path is None:
            cause = f'unknown knowledge base "{named}"'
            remedy = did_you_mean(named, known_names(self._loaded.path.parent, registered))
            if named.lower().endswith((".csv", ".yaml", ".yml")):
                cause, remedy = f'no file "{named}"', "give its path from the folder of this file"
            several = len(self._case.prompts.knowledge_base) > 1
            self._complain((*_BASE, index) if several else _BASE, cause, remedy)
            return None
        try:
            return self._planner.base(path)
        except ProblemsFound as found:
            self._problems += found.problems
            return None

    def _metric(self) -> SimilarityMetric | None:
        """What the similarity oracle compares with."""
        expected = self._case.expected_fairness
        if not isinstance(expected, Similarity):
            return None
        registered = self._planner.extensions.metrics
        metric = registered.get(expected.metric)
        place = ("expected_fairness", "metric")
        if isinstance(metric, SimilarityMetric):
            try:
                return with_encoder(metric, self._encoder())
            except CriteriaError as error:
                self._complain_of(error)
                return None
        if metric is not None or expected.metric in NOT_MEASURES:
            cause = f'"{expected.metric}" compares no two answers, and a threshold is about two'
            self._complain(place, cause, "give `max_difference` instead of `threshold`")
            return None
        similar = [name for name, one in registered.items() if isinstance(one, SimilarityMetric)]
        remedy = did_you_mean(expected.metric, similar)
        self._complain(place, f'unknown metric "{expected.metric}"', remedy)
        return None

    def _asked(self, intent: Intent | None) -> tuple[Asked, ...]:
        """What the gap oracle asks of a pool."""
        expected = self._case.expected_fairness
        if not isinstance(expected, Gap) or intent is None:
            return ()
        labels = intent.file.labels if intent.file.answer == "label" else ()
        expected = expected.model_copy(update={"encoder": self._encoder()})
        try:
            return criteria(expected, self._planner.extensions.metrics, labels)
        except CriteriaError as error:
            self._complain_of(error)
            return ()

    def _encoder(self) -> str | None:
        """A folder is looked for from the folder of the test case; any other name is a model's."""
        named = self._case.expected_fairness.encoder
        if named is not None and (folder := self._loaded.path.parent / named).is_dir():
            return str(folder)
        return named

    def _complain_of(self, error: CriteriaError) -> None:
        cause, _, remedy = str(error).partition("; ")
        self._complain(("expected_fairness", *error.key), cause, remedy or "correct it")

    def _judge(self, base: KnowledgeBase) -> Provider | None:
        model = getattr(self._case.expected_fairness, "judge", None)
        if model is None:
            return None
        try:
            provider = self._planner.extensions.provider_factory(model.model)(model, base)
            provider.check_parameters(model.parameters)
        except CaffeError as error:
            cause, _, remedy = str(error).partition("; ")
            self._complain(("expected_fairness", "judge"), cause, remedy or "correct it")
            return None
        return provider

    def _prompts(self, triples: Sequence[Triple], intent: Intent | None) -> Prompts:
        """How many prompt pairs; a pool has 48 where nothing is said, or all there are."""
        prompts = self._case.prompts
        if intent is None:
            return prompts
        self._check_number(intent)
        if isinstance(self._case.expected_fairness, Gap) and not prompts.says_how_many:
            return prompts.model_copy(update={"at_least": POOL})
        if prompts.at_least is not None and triples:
            bias_type, there = smallest_pool(triples, intent)
            if there < prompts.at_least:
                cause = (
                    f"{prompts.at_least} prompt pairs a bias type, and {bias_type} has {there}: "
                    f"its triples times {len(intent.file.templates)} templates"
                )
                remedy = f"choose at most {there}, or widen topics and groups"
                self._complain(("prompts", "at_least"), cause, remedy)
        return prompts

    def _providers(self, base: KnowledgeBase) -> dict[str, Provider]:
        providers: dict[str, Provider] = {}
        environment = self._case.environment
        for index, model in enumerate(environment.models):
            factory = self._planner.extensions.provider_factory(model.model)
            try:
                provider = factory(model, base)
                provider.check_parameters(environment.parameters_for(model))
            except CaffeError as error:
                cause, _, remedy = str(error).partition("; ")
                place: tuple[str | int, ...] = ("environment", "models", index)
                if isinstance(error, WrongParameter):
                    place = self._place_of_parameter(index, error.parameter) or place
                self._complain(place, cause, remedy or "correct it")
            else:
                providers[model.alias] = provider
        return providers

    def _place_of_parameter(self, index: int, name: str) -> tuple[str | int, ...] | None:
        """Where a parameter stands: for one model, or for all of them."""
        environment = self._case.environment
        if name in environment.models[index].parameters:
            return ("environment", "models", index, "parameters", name)
        if name in environment.parameters:
            return ("environment", "parameters", name)
        return ("environment", name) if name in environment.model_fields_set else None

    def _triples(self, base: KnowledgeBase) -> list[Triple]:
        prompts = self._case.prompts
        before = len(self._problems)
        if not base.bias_types:
            cause = f'the knowledge base "{base.name}" holds no valid triple'
            remedy = "set valid to true where a triple can be asked about"
            self._complain(("prompts", "knowledge_base"), cause, remedy)
            return []
        for index, bias_type in enumerate(prompts.bias_types or ()):
            if bias_type not in base.bias_types:
                cause = f'"{bias_type}" is no bias type of the knowledge base "{base.name}"'
                remedy = did_you_mean(bias_type, base.bias_types)
                self._complain(("prompts", "bias_types", index), cause, remedy)
        valid = [triple for triple in base.triples if triple.valid]
        for index, topic in enumerate(prompts.topics or ()):
            if not any(matches([triple.topic], [topic]) for triple in valid):
                remedy = did_you_mean(
                    topic,
                    {t.topic for t in valid},
                    listing='use `*` for any text, as in "*work*"',
                    alike=0.8,
                )
                cause = f'no topic of the knowledge base "{base.name}" matches "{topic}"'
                self._complain(("prompts", "topics", index), cause, remedy)
        for index, group in enumerate(prompts.groups or ()):
            if not any(matches([t.disadvantaged, t.advantaged], [group]) for t in valid):
                remedy = did_you_mean(
                    group, {name for t in valid for name in (t.disadvantaged, t.advantaged)},
                    listing='use `*` for any text, as in "*women*"', alike=0.8,
                )  # fmt: skip
                cause = f'no group of the knowledge base "{base.name}" matches "{group}"'
                self._complain(("prompts", "groups", index), cause, remedy)
        chosen = select(base.triples, prompts)
        if not chosen and len(self._problems) == before:
            cause = f'no triple of the knowledge base "{base.name}" passes all filters together'
            self._complain(("prompts",), cause, "widen bias_types, topics or groups")
        return chosen

    def _check_number(self, intent: Intent) -> None:
        asked, there = per_triple(intent, self._case.prompts), len(intent.file.templates)
        if asked > there:
            cause = (
                f'{asked} prompts a triple, and the intent "{intent.name}" has {there} templates'
            )
            self._complain(("prompts", "per_triple"), cause, f"choose at most {there}")


def problem_of_intent(loaded: LoadedCase, error: CaffeError) -> Problem:
    """What a template did wrong when it met a triple, as a problem of the test case."""
    cause, _, remedy = str(error).rpartition("; ")
    return loaded.source.problem(("intent",), cause or remedy, remedy if cause else "correct it")


def _opening(case: TestCase) -> tuple[Message, ...]:
    opening = []
    if case.context.system is not None:
        opening.append(Message("system", case.context.system))
    for turn in case.context.history:
        if turn.user is not None:
            opening.append(Message("user", turn.user))
        if turn.assistant is not None:
            opening.append(Message("assistant", turn.assistant))
    return tuple(opening)


def _notes(
    case: TestCase, intent: Intent, design: PairDesign, asked: Sequence[Asked]
) -> Iterator[str]:
    if isinstance(case.expected_fairness, Gap):
        yield from _notes_on_pools(case, design, asked)
    elif intent.file.answer == "label":
        metric = case.expected_fairness.metric
        yield (
            f"{case.id}: the answers to {intent.name} are labels, and {metric} compares wording: "
            "the same label said in two ways may fail"
        )
    if design.plateau_not_reached:
        yield (
            f"{case.id}: the vocabulary of {design.plateau_not_reached} triples still grew with "
            "their last prompt"
        )


def _notes_on_pools(case: TestCase, design: PairDesign, asked: Sequence[Asked]) -> Iterator[str]:
    sizes = Counter(slot.triple.bias_type for slot in design.slots)
    small = {bias_type: size for bias_type, size in sizes.items() if size < SMALL_POOL}
    if small:
        bias_type, size = min(small.items(), key=lambda entry: entry[1])
        one = len(small) == 1
        pools, find = ("pool has", "it finds") if one else ("pools have", "they find")
        yield (
            f"{case.id}: {len(small)} {pools} fewer than {SMALL_POOL} prompt pairs "
            f"({bias_type}: {size}); {find} large differences only"
        )
    strictest = min((one.margin for one in asked if one.of_shares and one.margin), default=None)
    if strictest is not None:
        needed = math.ceil(answers_to_pass(strictest) / case.repeats)
        short = sorted(bias_type for bias_type, size in sizes.items() if size < needed)
        if short:
            yield (
                f"{case.id}: {', '.join(short)}: too few prompt pairs to pass; a margin of "
                f"{100 * strictest:g} points needs {needed} with {case.repeats} answers each, "
                "even where nothing differs"
            )
