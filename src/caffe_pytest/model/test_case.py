"""The test case a tester writes, field by field, as CAFFE maps ISO/IEC/IEEE 29119 (its Table 1)."""

from __future__ import annotations

import re
from itertools import combinations
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    GetJsonSchemaHandler,
    StringConstraints,
    Tag,
    field_validator,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError

from caffe_pytest.errors import did_you_mean
from caffe_pytest.model.triple import Name, NotBlank, Text, as_name

Prose = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1), NotBlank]
Share = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]
Margin = Annotated[float, Field(ge=0.0, le=2.0, allow_inf_nan=False)]
ADDRESS = r"^https?://[^\s/@?#]+(/[^\s@?#]*)?$"
EnvironmentVariable = Annotated[str, StringConstraints(pattern=r"^env:[A-Za-z_][A-Za-z0-9_]*$")]


_SECRET = re.compile(
    r"(api|access|private|subscription)[-_ ]?key$|secret|passw|authorization|credential|cookie"
    r"|(^|[-_ ])(token|auth)$|(access|auth|ad|bearer|session|hf)[-_ ]?token$",
    re.IGNORECASE,
)
_SECRET_VALUE = re.compile(r"^\s*(bearer|basic)\s", re.IGNORECASE)


def _without_secrets(parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters are written to the run's folder: a key among them would stand there for good."""
    for name, value in parameters.items():
        shown = isinstance(value, str) and _SECRET_VALUE.match(value)
        if _SECRET.search(name) or shown:
            raise PydanticCustomError(
                "secret",
                "keys and passwords never stand in a file; write `api_key: env:NAME` beside the "
                "model's name, or set the environment variable that litellm reads",
                {"at": (name,)},
            )
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, dict):
                _without_secrets(part)
    return parameters


Parameters = Annotated[dict[str, Any], AfterValidator(_without_secrets)]


class Part(BaseModel):
    """Base of all parts of a test case: frozen, strict about types, no unknown keys."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, use_attribute_docstrings=True
    )


def _not_both(first: str, second: str) -> dict[str, Any]:
    """For a JSON Schema: of two keys, one at most says something."""
    said = {"not": {"type": "null"}}
    return {"not": {"required": [first, second], "properties": {first: said, second: said}}}


class Turn(Part):
    """One turn of the conversation before the prompt: either `user` or `assistant` says it."""

    model_config = ConfigDict(
        json_schema_extra={"minProperties": 1, **_not_both("user", "assistant")}
    )

    user: Prose | None = None
    """What the user said."""
    assistant: Prose | None = None
    """What the model answered."""

    @model_validator(mode="after")
    def _one_speaker(self) -> Turn:
        if (self.user is None) == (self.assistant is None):
            raise PydanticCustomError(
                "one_speaker", "a turn has one speaker; keep either `user` or `assistant`"
            )
        return self


class Context(Part):
    """Context and History: what precedes the prompt, the same for every group."""

    system: Prose | None = None
    """System prompt."""
    history: tuple[Turn, ...] = ()
    """Earlier turns of the conversation, in order."""


class Plateau(Part):
    """Prompts are added until a further one brings little new vocabulary (CAFFE, section 5.2)."""

    epsilon: Annotated[float, Field(gt=0.0, allow_inf_nan=False)] = 0.02
    """Gain of entropy, in bits, below which a prompt brought nothing new."""
    patience: Annotated[int, Field(ge=1)] = 3
    """How many prompts in a row must bring nothing new."""
    at_most: Annotated[int, Field(ge=2, le=1000)] = 20
    """Upper bound of prompts for a triple."""
    measure: Literal["entropy", "entropy-per-token"] = "entropy"
    """`entropy` is what the authors' code computes; `entropy-per-token` is the paper's formula,
    which ends at the fourth prompt whatever the prompts are."""


class Sample(Part):
    """A random sample of the pairs, large enough for a share with this margin of error."""

    margin: Annotated[float, Field(ge=0.001, lt=1.0)] = 0.05
    """Half-width of the confidence interval of a share."""
    confidence: Annotated[float, Field(ge=0.5, le=0.9999)] = 0.95
    """Confidence level of that interval."""
    seed: int = 0
    """The same seed takes the same sample."""


Texts = Annotated[tuple[Text, ...], Field(min_length=1)]


def _as_list(value: Any) -> Any:
    if isinstance(value, str):
        return (value,)
    return tuple(value) if isinstance(value, list) else value


_NUMBERS = ("per_triple", "plateau", "at_least")


class Prompts(Part):
    """Test data: which triples, and how many prompt pairs from each."""

    model_config = ConfigDict(
        json_schema_extra={"allOf": [_not_both(*pair) for pair in combinations(_NUMBERS, 2)]}
    )

    knowledge_base: Annotated[Texts, BeforeValidator(_as_list, json_schema_input_type=Text | Texts)]
    """Name of a knowledge base, or path of a CSV or YAML file of triples; or a list of them, of
    which the later ones correct the earlier by the identifiers of their rows."""
    bias_types: Annotated[tuple[Name, ...], Field(min_length=1)] | None = None
    """Only triples of these bias types; left out = all."""
    topics: Annotated[tuple[Text, ...], Field(min_length=1)] | None = None
    """Only triples with a topic that matches one of these patterns (`*` stands for anything)."""
    groups: Annotated[tuple[Text, ...], Field(min_length=1)] | None = None
    """Only triples with a group that matches one of these patterns."""
    at_most_triples: Annotated[int, Field(ge=1)] | None = None
    """At most so many triples of each bias type, spread over the base by the seed."""
    generator: Literal["templates"] = "templates"
    """Where prompts come from: the templates of the intent."""
    per_triple: Annotated[int, Field(ge=1, le=1000)] | None = None
    """Prompt pairs for a triple; left out = 12 (CAFFE, section 6.1), or all templates if fewer."""
    at_least: Annotated[int, Field(ge=1, le=100_000)] | None = None
    """Instead of `per_triple`: prompt pairs for each bias type, spread over as many triples as
    there are. The gap oracle takes 48 where nothing is said."""
    plateau: Plateau | None = None
    """Instead of `per_triple`: as many prompts as bring something new."""
    sample: Sample | None = None
    """A random sample of the pairs; left out = all of them."""
    seed: int = 0
    """Order of templates and choice of triples."""

    @property
    def says_how_many(self) -> list[str]:
        """Which rules for the number of prompt pairs are given; one at most."""
        return [name for name in _NUMBERS if getattr(self, name) is not None]

    @model_validator(mode="after")
    def _one_rule_for_the_number(self) -> Prompts:
        said = self.says_how_many
        if len(said) > 1:
            raise PydanticCustomError(
                "either_or",
                "`{first}` and `{second}` exclude each other; keep one of them",
                {"first": said[0], "second": said[1], "at": (said[1],)},
            )
        return self


class Similarity(Part):
    """Expected fairness level of the similarity oracle: one item a pair, the paper's verdict."""

    oracle: Literal["similarity"] = "similarity"
    metric: Name = "lsa"
    """How the two answers are compared."""
    encoder: Text | None = None
    """Name or folder of the encoder, for metrics that have one (`bert`,
    `sentence-transformers`)."""
    threshold: Share
    """PASS from this similarity on."""
    space: Literal["reference", "run"] = "reference"
    """`reference`: a frozen space, so that a verdict depends on its own answers alone. `run`:
    fitted on all answers of the run, as published."""


class ModelUnderTest(Part):
    """A model, and how to reach it."""

    model: Text
    """Name as litellm knows it (`openai/gpt-4o-mini`), or `simulated/fair`, `simulated/biased`."""
    alias: Name = ""
    """What node ids and reports call it; left out = the last part of the name."""
    api_base: Annotated[str, StringConstraints(pattern=ADDRESS)] | None = None
    """Address of an OpenAI-compatible endpoint, without user name and password."""
    api_key: EnvironmentVariable | None = None
    """`env:NAME` of the environment variable that holds the key. Keys never stand in a file."""
    parameters: Parameters = Field(default_factory=dict)
    """Parameters for this model alone; they win over those of the environment."""

    @model_validator(mode="before")
    @classmethod
    def _short_form_and_alias(cls, value: Any) -> Any:
        given = {"model": value} if isinstance(value, str) else value
        if (
            not isinstance(given, dict)
            or "alias" in given
            or not isinstance(given.get("model"), str)
        ):
            return given
        return {**given, "alias": as_name(given["model"].strip().rstrip("/").rpartition("/")[2])}

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        short = {"type": "string", "pattern": r"\S", "maxLength": 200}
        return {"anyOf": [short, handler(core_schema)]}


PAIRED = ("threshold", "space")
"""Keys that only the similarity oracle has."""
POOLED = ("max_gap", "max_difference", "level", "semantic", "judge")
"""Keys that only the gap oracle has."""
POOLED_METRICS = (
    "panel", "refusal", "length", "sentiment", "toxicity", "wording", "label", "judge",
)  # fmt: skip
"""Built-in metrics that do not compare two answers: they need no key to say which oracle."""
_POOLED_SCHEMA: list[Any] = [
    *({"required": [key]} for key in ("oracle", *POOLED)),
    {"properties": {"metric": {"enum": list(POOLED_METRICS)}}},
]


class Gap(Part):
    """Expected fairness level of the gap oracle: one item a pool of prompt pairs.

    A pool is what one model answers to the prompts of one test case about one bias type.
    """

    model_config = ConfigDict(json_schema_extra={"anyOf": _POOLED_SCHEMA})

    oracle: Literal["gap"] = "gap"
    metric: Name = "panel"
    """`panel` asks of the answers whether they differ in similarity, refusals, length, tone and
    wording; any other metric asks one question."""
    max_gap: Margin | None = None
    """Margin of the similarity gap: the difference still called fair."""
    max_difference: dict[Name, Margin] = Field(default_factory=dict)
    """Margins of the other questions, by metric, e.g. `{refusal: 0.05}`."""
    level: Annotated[float, Field(ge=0.0001, le=0.5)] = 0.05
    """False alarm rate, over all pools of the run."""
    semantic: Name = "lsa"
    """The panel's measure of similarity."""
    encoder: Text | None = None
    """Name or folder of the encoder, for metrics that have one (`bert`,
    `sentence-transformers`)."""
    judge: ModelUnderTest | None = None
    """Model that compares two answers, for `metric: judge`."""


def _oracle(value: Any) -> str:
    """A pool has a gap, a pair a threshold; `oracle` may say it outright."""
    if isinstance(value, Similarity | Gap):
        return value.oracle
    if not isinstance(value, dict):
        return "similarity"
    if value.get("oracle") in ("similarity", "gap"):
        return str(value["oracle"])
    if any(key in value for key in PAIRED):
        return "similarity"
    pooled = value.get("metric", "panel") in POOLED_METRICS or any(key in value for key in POOLED)
    return "gap" if pooled else "similarity"


def _of_one_oracle(value: Any) -> Any:
    """Checked first: the rules of either oracle alone would tell it as something else."""
    if not isinstance(value, dict) or "oracle" in value:
        return value
    paired = [key for key in PAIRED if key in value]
    pooled = [key for key in POOLED if key in value]
    if paired and pooled:
        raise PydanticCustomError(
            "either_or",
            "`{first}` and `{second}` belong to different oracles; keep one of them",
            {"first": paired[0], "second": pooled[0], "at": (pooled[0],)},
        )
    metric = value.get("metric")
    if isinstance(metric, str) and not paired and _oracle(value) == "similarity":
        listing = "add `threshold:`, or `max_gap: 0.05` for one verdict on all pairs together"
        remedy = did_you_mean(metric, POOLED_METRICS, listing=listing, alike=0.75)
        misspelt = remedy != listing
        raise PydanticCustomError(
            "no_threshold",
            'unknown metric "{metric}"; {remedy}' if misspelt else "is missing; {remedy}",
            {
                "metric": metric,
                "remedy": remedy,
                "at": ("metric",) if misspelt else ("threshold",),
            },
        )
    return value


ExpectedFairness = Annotated[
    Annotated[Similarity, Tag("similarity")] | Annotated[Gap, Tag("gap")],
    Discriminator(_oracle),
    BeforeValidator(_of_one_oracle),
]


class Environment(Part):
    """Test environment: the models and their parameters."""

    models: Annotated[tuple[ModelUnderTest, ...], Field(min_length=1)]
    """Every model is asked every prompt."""
    temperature: Annotated[float, Field(ge=0.0, le=2.0)] | None = None
    top_p: Annotated[float, Field(gt=0.0, le=1.0)] | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    seed: int | None = None
    """Passed to the model; decides the answers of simulated models."""
    parameters: Parameters = Field(default_factory=dict)
    """Any further parameter of the provider, passed through."""
    timeout: Annotated[float, Field(gt=0.0, le=3600.0)] = 60.0
    """Seconds for one attempt."""
    repeats: Annotated[int, Field(ge=1, le=1000)] | None = None
    """How often each prompt is asked. The gap oracle needs 2 or more, and takes 2 where nothing is
    said. With the similarity oracle a second time is the control: the same prompt against itself.
    """

    @field_validator("models")
    @classmethod
    def _aliases_differ(cls, models: tuple[ModelUnderTest, ...]) -> tuple[ModelUnderTest, ...]:
        seen: set[str] = set()
        for index, model in enumerate(models):
            if model.alias in seen:
                raise PydanticCustomError(
                    "same_alias",
                    'two models are called "{alias}"; give one of them another `alias`',
                    {"alias": model.alias, "at": (index,)},
                )
            seen.add(model.alias)
        return models

    def parameters_for(self, model: ModelUnderTest) -> dict[str, Any]:
        """What is sent with every prompt; the model's own parameters win."""
        common = {
            name: value
            for name in ("temperature", "top_p", "max_tokens", "seed")
            if (value := getattr(self, name)) is not None
        }
        return {**common, **self.parameters, **model.parameters}


class Gate(Part):
    """When the items of this test case together turn the run red."""

    max_fail_rate: Share = 0.0
    """Share of judged items that may fail without failing the run. Errors always fail it."""
    inconclusive: Literal["fail", "warn"] = "fail"
    """Whether items that the answers do not decide fail the run, or are only told."""


class CounterfactualTestCase(Part):
    """Counterfactual prompt pairs are asked, and the two answers of a pair compared."""

    kind: Literal["counterfactual"] = "counterfactual"
    id: Name
    """Identifier, unique in the session; letters, digits and `_ . + -`."""
    objective: Prose | None = None
    """What the test case is to show, in a sentence for the reader of the report."""
    intent: Text
    """Prompt intent: a built-in one, or the path of an intent file of your own (`*.yaml`)."""
    context: Context = Context()
    prompts: Prompts
    expected_fairness: ExpectedFairness
    environment: Environment
    gate: Gate | None = None

    @property
    def repeats(self) -> int:
        """How often each prompt is asked."""
        pooled = self.expected_fairness.oracle == "gap"
        return self.environment.repeats or (2 if pooled else 1)

    @model_validator(mode="after")
    def _enough_repeats(self) -> CounterfactualTestCase:
        if self.expected_fairness.oracle == "gap" and self.repeats < 2:
            raise PydanticCustomError(
                "repeats",
                "the gap oracle asks each prompt twice or more, to tell a difference from noise; "
                "give 2 or more, or a `threshold` for one verdict a pair",
                {"at": ("environment", "repeats")},
            )
        return self


TestCase = CounterfactualTestCase
"""Any test case; further kinds join here as a union over `kind`."""

KINDS: dict[str, type[Part]] = {"counterfactual": CounterfactualTestCase}
