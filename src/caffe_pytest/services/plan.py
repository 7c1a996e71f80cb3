"""From a test case to the procedures that carry it out; nothing is asked and nothing is written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from caffe_pytest.design.intent import Intent, load_intent
from caffe_pytest.design.pairs import PairDesign, PairSlot, design_pairs, make_pair, per_triple
from caffe_pytest.errors import CaffeError, Problem, ProblemsFound, WrongParameter, did_you_mean
from caffe_pytest.extensions import Extensions
from caffe_pytest.hookspecs import Provider, SimilarityMetric
from caffe_pytest.knowledge.find import find_base, known_names
from caffe_pytest.knowledge.load import load_base
from caffe_pytest.knowledge.selection import matches, select
from caffe_pytest.model.answer import Message
from caffe_pytest.model.prompt_pair import PromptPair
from caffe_pytest.model.test_case import ModelUnderTest, TestCase
from caffe_pytest.model.triple import KnowledgeBase, Triple
from caffe_pytest.reporting.text import shown_path
from caffe_pytest.specs.loader import LoadedCase, read_cases
from caffe_pytest.specs.yaml_document import first_file

INTENT_SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True, eq=False)
class CasePlan:
    """A test case with everything that its items need, looked up and checked."""

    loaded: LoadedCase
    base: KnowledgeBase
    intent: Intent
    metric: SimilarityMetric
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

    def procedures(self) -> Iterator[Procedure]:
        """What is to be carried out, model by model."""
        for model in self.case.environment.models:
            for slot in self.design.slots:
                yield Procedure(self, model, slot)


@dataclass(frozen=True, slots=True, eq=False)
class Procedure:
    """The steps behind one item: ask one model both prompts of a pair, compare, decide."""

    plan: CasePlan
    model: ModelUnderTest
    slot: PairSlot

    @property
    def name(self) -> str:
        """Unique in its test case and model."""
        return self.slot.name

    @property
    def nodeid(self) -> str:
        """Unique in the session, stable from one to the next."""
        return f"{self.plan.file}::{self.plan.case.id}::{self.model.alias}::{self.slot.name}"

    def pair(self) -> PromptPair:
        """The prompts; raises NotCounterfactual where a template depends on the group."""
        return make_pair(self.slot, self.plan.intent, self.plan.case.prompts.seed)


class Planner:
    """Plans test cases; files are read once, however many test cases name them."""

    def __init__(self, extensions: Extensions) -> None:
        self._extensions = extensions
        self._loaded_intents: dict[Path, Intent] = {}
        self._loaded_bases: dict[Path, KnowledgeBase] = {}
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

    def intent_path(self, named: str, near: Path) -> Path | None:
        """The file of a built-in or registered intent, or of a path given instead of a name.

        Raises:
            ProblemsFound: the file of a registered intent is wrong.
        """
        if named.lower().endswith(INTENT_SUFFIXES):
            return first_file([near / named, Path(named)])
        in_order = sorted(self._extensions.intents, key=lambda path: path.stem != named)
        return next((path for path in in_order if self.intent(path).name == named), None)

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
        return sorted(self.intent(path).name for path in self._extensions.intents)


class _CasePlanner:
    """Looks up what one test case names, and gathers what is wrong."""

    def __init__(self, planner: Planner, loaded: LoadedCase) -> None:
        self._planner = planner
        self._loaded = loaded
        self._case = loaded.case
        self._problems: list[Problem] = []

    def plan(self) -> CasePlan:
        self._check_identifier()
        intent, base, metric = self._intent(), self._base(), self._metric()
        providers = self._providers(base) if base is not None else {}
        triples = self._triples(base) if base is not None else []
        if intent is not None:
            self._check_number(intent)
        if self._problems or intent is None or base is None or metric is None:
            raise ProblemsFound(self._problems)
        try:
            design = design_pairs(triples, intent, self._case.prompts)
        except CaffeError as error:  # a plateau is found by rendering the templates
            raise ProblemsFound([problem_of_intent(self._loaded, error)]) from error
        return CasePlan(
            loaded=self._loaded,
            base=base,
            intent=intent,
            metric=metric,
            design=design,
            providers=providers,
            opening=_opening(self._case),
            notes=tuple(_notes(self._case, intent, design)),
        )

    def _complain(self, path: tuple[str | int, ...], cause: str, remedy: str) -> None:
        self._problems.append(self._loaded.source.problem(path, cause, remedy))

    def _check_identifier(self) -> None:
        here = f"{self._loaded.source.file}:{self._loaded.source.line(('id',))}"
        first = self._planner.place_of(self._case.id, here)
        if first != here:
            cause = f'the id "{self._case.id}" stands in {first} already'
            self._complain(("id",), cause, "give each test case its own id")

    def _intent(self) -> Intent | None:
        named = self._case.intent
        try:
            path = self._planner.intent_path(named, self._loaded.path.parent)
            if path is not None:
                return self._planner.intent(path)
            cause = f'unknown intent "{named}"'
            remedy = did_you_mean(named, self._planner.intent_names)
            if named.lower().endswith(INTENT_SUFFIXES):
                cause, remedy = f'no file "{named}"', "give its path from the folder of this file"
            self._complain(("intent",), cause, remedy)
        except ProblemsFound as found:
            self._problems += found.problems
        return None

    def _base(self) -> KnowledgeBase | None:
        named = self._case.prompts.knowledge_base
        registered = self._planner.extensions.knowledge_bases
        path = find_base(named, self._loaded.path.parent, registered)
        if path is None:
            cause = f'unknown knowledge base "{named}"'
            remedy = did_you_mean(named, known_names(self._loaded.path.parent, registered))
            if named.lower().endswith((".csv", ".yaml", ".yml")):
                cause, remedy = f'no file "{named}"', "give its path from the folder of this file"
            self._complain(("prompts", "knowledge_base"), cause, remedy)
            return None
        try:
            return self._planner.base(path)
        except ProblemsFound as found:
            self._problems += found.problems
            return None

    def _metric(self) -> SimilarityMetric | None:
        named = self._case.expected_fairness.metric
        metric = self._planner.extensions.metrics.get(named)
        if metric is None:
            remedy = did_you_mean(named, self._planner.extensions.metrics)
            self._complain(("expected_fairness", "metric"), f'unknown metric "{named}"', remedy)
        return metric

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


def _notes(case: TestCase, intent: Intent, design: PairDesign) -> Iterator[str]:
    if intent.file.answer == "label":
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
