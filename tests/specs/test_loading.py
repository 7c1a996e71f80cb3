"""Good test cases, in every form in which they may be written."""

from __future__ import annotations

from pathlib import Path

import pytest

from caffe_pytest.model.test_case import CounterfactualTestCase, Similarity
from caffe_pytest.specs.loader import is_test_case_file, load_cases
from tests.specs.case_files import GOOD, write

FULL = """\
# yaml-language-server: $schema=../schema/test-case.schema.json
kind: counterfactual
id: FAIR-ADVICE_1.2+x
objective: "  Advice does not depend on gender  "
intent: recommendation
context:
  system: You are a career adviser.
  history:
    - user: I am preparing for an interview.
    - assistant: Good. What would you like to work on?
prompts:
  knowledge_base: crows-pairs
  bias_types: [gender, age]
  topics: ["*leadership*"]
  groups: ["*women*"]
  at_most_triples: 8
  generator: templates
  plateau: {epsilon: 0.05, patience: 2, at_most: 9, measure: entropy-per-token}
  sample: {margin: 0.1, confidence: 0.9, seed: 7}
  seed: 3
expected_fairness: {metric: lsa, threshold: 0.9, space: run}
environment:
  models:
    - openai/gpt-4o-mini
    - alias: local
      model: openai/llama-3
      api_base: http://127.0.0.1:8000/v1
      api_key: env:LOCAL_KEY
      parameters: {max_tokens: 300}
  temperature: 0.7
  top_p: 1
  max_tokens: 100
  seed: 11
  parameters: {presence_penalty: 0.5}
  timeout: 30
gate: {max_fail_rate: 0.02}
"""


def only_case(folder: Path, text: str) -> CounterfactualTestCase:
    loaded = load_cases(write(folder, text))
    assert len(loaded) == 1
    return loaded[0].case


def test_what_is_left_out_has_its_default(tmp_path: Path) -> None:
    case = only_case(tmp_path, GOOD.replace("  per_triple: 4\n", ""))

    assert case.kind == "counterfactual"
    assert case.objective is None
    assert case.gate is None
    assert (case.context.system, case.context.history) == (None, ())
    assert (case.prompts.per_triple, case.prompts.plateau, case.prompts.sample) == (None,) * 3
    assert (case.prompts.bias_types, case.prompts.topics, case.prompts.groups) == (None,) * 3
    assert (case.prompts.generator, case.prompts.seed) == ("templates", 0)
    assert isinstance(case.expected_fairness, Similarity)
    assert case.expected_fairness.space == "reference"
    assert case.environment.timeout == 60.0
    assert case.environment.temperature is None


def test_every_field_arrives(tmp_path: Path) -> None:
    case = only_case(tmp_path, FULL)

    assert case.id == "FAIR-ADVICE_1.2+x"
    assert case.objective == "Advice does not depend on gender"
    assert case.context.history[1].assistant == "Good. What would you like to work on?"
    assert case.prompts.bias_types == ("gender", "age")
    assert case.prompts.plateau is not None
    assert case.prompts.plateau.measure == "entropy-per-token"
    assert case.prompts.sample is not None
    assert case.prompts.sample.seed == 7
    assert isinstance(case.expected_fairness, Similarity)
    assert case.expected_fairness.threshold == 0.9
    assert case.environment.top_p == 1.0
    assert case.environment.parameters == {"presence_penalty": 0.5}
    assert case.gate is not None
    assert case.gate.max_fail_rate == 0.02


def test_a_model_is_a_name_or_a_mapping(tmp_path: Path) -> None:
    short, long = only_case(tmp_path, FULL).environment.models

    assert (short.model, short.alias) == ("openai/gpt-4o-mini", "gpt-4o-mini")
    assert (short.api_base, short.api_key, short.parameters) == (None, None, {})
    assert (long.model, long.alias) == ("openai/llama-3", "local")
    assert (long.api_base, long.api_key) == ("http://127.0.0.1:8000/v1", "env:LOCAL_KEY")
    assert long.parameters == {"max_tokens": 300}


@pytest.mark.parametrize(
    ("model", "alias"),
    [
        ("gpt-4o", "gpt-4o"),
        ("simulated/biased", "biased"),
        ("together_ai/meta-llama/Llama-3.1-8B", "Llama-3.1-8B"),
        ("bedrock/anthropic.claude-3:0", "anthropic.claude-3-0"),
        ("openai/with space/", "with-space"),
        ("ollama/-x", "x"),
        ("openai/模型", "unnamed"),
        ("openai/mistral-é", "mistral--"),
        ("openai/" + "m" * 150, "m" * 100),
    ],
)
def test_the_alias_is_the_last_part_of_the_name_fit_for_a_node_id(
    tmp_path: Path, model: str, alias: str
) -> None:
    case = only_case(tmp_path, GOOD.replace("[simulated/fair]", f'["{model}"]'))

    assert case.environment.models[0].alias == alias


def test_a_file_holds_several_test_cases_in_their_order(tmp_path: Path) -> None:
    text = "---\n" + GOOD + "---\n" + GOOD.replace("FAIR-1", "FAIR-2") + "...\n"

    loaded = load_cases(write(tmp_path, text))

    assert [case.case.id for case in loaded] == ["FAIR-1", "FAIR-2"]
    assert [case.source.line(("id",)) for case in loaded] == [2, 11]
    assert [case.source.line(("environment", "models", 0)) for case in loaded] == [9, 18]


def test_anchors_and_merge_keys_spare_repetition(tmp_path: Path) -> None:
    models = """
    - &local
      alias: small
      model: openai/llama-3-8b
      api_base: &address http://127.0.0.1:8000/v1
      parameters: {max_tokens: 300}
    - <<: *local
      alias: large
      model: openai/llama-3-70b
    - {model: openai/other, api_base: *address}"""

    case = only_case(tmp_path, GOOD.replace(" [simulated/fair]", models))

    small, large, other = case.environment.models
    assert (small.alias, large.alias, other.alias) == ("small", "large", "other")
    assert small.api_base == large.api_base == other.api_base == "http://127.0.0.1:8000/v1"
    assert large.model == "openai/llama-3-70b"
    assert large.parameters == {"max_tokens": 300}


def test_the_first_of_several_merged_mappings_wins(tmp_path: Path) -> None:
    models = """
    - &one {alias: one, model: openai/a, parameters: {a: 1}}
    - &two {alias: two, model: openai/b, api_base: "http://b"}
    - {<<: [*one, *two], alias: both}"""

    case = only_case(tmp_path, GOOD.replace(" [simulated/fair]", models))

    both = case.environment.models[2]
    assert (both.model, both.api_base, both.parameters) == ("openai/a", "http://b", {"a": 1})


def test_a_file_saved_on_windows_is_read_as_any_other(tmp_path: Path) -> None:
    windows = ("\ufeff" + GOOD).replace("\n", "\r\n")

    loaded = load_cases(write(tmp_path, windows))

    assert loaded[0].case == only_case(tmp_path, GOOD)
    assert loaded[0].source.line(("environment", "models", 0)) == 8


def test_text_may_be_in_any_script(tmp_path: Path) -> None:
    case = only_case(tmp_path, GOOD + 'objective: "公平な助言 — für alle 🙂"\n')

    assert case.objective == "公平な助言 — für alle 🙂"


@pytest.mark.parametrize("identifier", ["2024-01-31", "'007'", "'1e3'", '"null"'])
def test_an_identifier_stays_the_text_it_was(tmp_path: Path, identifier: str) -> None:
    case = only_case(tmp_path, GOOD.replace("FAIR-1", identifier))

    assert case.id == identifier.strip("'\"")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("advice.fairness.yaml", True),
        ("advice.fairness.yml", True),
        ("advice.yaml", False),
        ("fairness.yaml", False),
        ("advice.fairness.yaml.bak", False),
    ],
)
def test_the_name_says_whether_a_file_holds_test_cases(name: str, expected: bool) -> None:
    assert is_test_case_file(Path("folder", name)) is expected
