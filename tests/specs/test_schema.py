"""The JSON Schema of test cases says what the loader does."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import (  # type: ignore[import-untyped]
    Draft7Validator,
    Draft202012Validator,
)

from caffe_pytest.specs import schema
from tests.specs.bad_files import BAD_FILES
from tests.specs.case_files import GOOD, problems_of, with_line, write
from tests.specs.test_loading import FULL

ROOT = Path(__file__).parents[2]


@cache
def validator() -> Draft7Validator:
    return Draft7Validator(json.loads(schema.test_case_schema()))


def models(text: str) -> str:
    return GOOD.replace("[simulated/fair]", f"[{text}]")


def prompts(line: str) -> str:
    return with_line(GOOD.replace("  per_triple: 4\n", ""), "triples.csv", line)


def context(text: str) -> str:
    return f"{GOOD}context: {text}\n"


GOOD_DOCUMENTS = {
    "short": GOOD,
    "full": FULL,
    "kind": "kind: counterfactual\n" + GOOD,
    "no-objective": GOOD + "objective: ~\n",
    "empty-context": context("{}"),
    "null-system": context("{system: ~}"),
    "null-assistant": context("{history: [{user: a, assistant: ~}]}"),
    "null-plateau": prompts("  per_triple: 3\n  plateau: ~"),
    "empty-plateau": prompts("  plateau: {}"),
    "threshold-one": GOOD.replace("0.8", "1"),
    "threshold-zero": GOOD.replace("0.8", "0"),
    "model-as-mapping": models("{model: openai/x, api_base: 'https://h.example:1/v1'}"),
    "model-of-any-script": models("openai/模型"),
    "parameters": GOOD + "  parameters: {a: [1, {b: ~}]}\n",
    "gate": GOOD + "gate: {max_fail_rate: 1}\n",
    "per-triple-at-its-limit": prompts("  per_triple: 1000"),
}

BAD_DOCUMENTS = {
    "empty": "{}",
    "list": "- a",
    "text": "a",
    "number": "5",
    "unknown-key": GOOD + "foo: 1\n",
    "unknown-key-inside": GOOD.replace("lsa", "lsa, foo: 1"),
    "unknown-kind": "kind: other\n" + GOOD,
    "number-as-kind": "kind: 5\n" + GOOD,
    "no-id": GOOD.replace("id: FAIR-1\n", ""),
    "id-with-space": GOOD.replace("FAIR-1", "FAIR 1"),
    "id-with-bracket": GOOD.replace("FAIR-1", "'FAIR[1]'"),
    "id-too-long": GOOD.replace("FAIR-1", "F" * 101),
    "id-as-number": GOOD.replace("FAIR-1", "1"),
    "intent-of-spaces": GOOD.replace("recommendation", "'  '"),
    "intent-null": GOOD.replace("recommendation", "~"),
    "objective-of-spaces": GOOD + "objective: ' '\n",
    "threshold-above-one": GOOD.replace("0.8", "1.5"),
    "threshold-below-zero": GOOD.replace("0.8", "-0.1"),
    "threshold-as-text": GOOD.replace("0.8", "'0.8'"),
    "threshold-as-bool": GOOD.replace("0.8", "true"),
    "unknown-space": GOOD.replace("lsa", "lsa, space: other"),
    "per-triple-zero": prompts("  per_triple: 0"),
    "per-triple-and-a-half": prompts("  per_triple: 1.5"),
    "per-triple-too-many": prompts("  per_triple: 1001"),
    "per-triple-and-plateau": prompts("  per_triple: 1\n  plateau: {}"),
    "plateau-without-gain": prompts("  plateau: {epsilon: 0}"),
    "plateau-of-one": prompts("  plateau: {at_most: 1}"),
    "unknown-measure": prompts("  plateau: {measure: words}"),
    "unknown-generator": prompts("  generator: llm"),
    "no-bias-types": prompts("  bias_types: []"),
    "bias-type-as-text": prompts("  bias_types: gender"),
    "bias-type-with-space": prompts("  bias_types: ['a b']"),
    "topic-of-spaces": prompts("  topics: [' ']"),
    "no-triples-at-most": prompts("  at_most_triples: 0"),
    "margin-too-small": prompts("  sample: {margin: 0.0001}"),
    "margin-one": prompts("  sample: {margin: 1}"),
    "confidence-one": prompts("  sample: {confidence: 1}"),
    "seed-as-text": prompts("  seed: x"),
    "no-models": models(""),
    "model-as-number": models("5"),
    "model-null": models("~"),
    "model-of-spaces": models("' '"),
    "model-without-name": models("{alias: x}"),
    "alias-with-space": models("{model: m, alias: 'a b'}"),
    "alias-null": models("{model: m, alias: ~}"),
    "api-base-no-address": models("{model: m, api_base: localhost}"),
    "api-base-with-password": models("{model: m, api_base: 'http://u:p@h/v1'}"),
    "api-key-in-the-file": models("{model: m, api_key: sk-123}"),
    "api-key-as-number": models("{model: m, api_key: 123}"),
    "parameters-as-list": models("{model: m, parameters: [a]}"),
    "too-hot": GOOD + "  temperature: 2.5\n",
    "no-top-p": GOOD + "  top_p: 0\n",
    "no-tokens": GOOD + "  max_tokens: 0\n",
    "no-time": GOOD + "  timeout: 0\n",
    "empty-turn": context("{history: [{}]}"),
    "two-speakers": context("{history: [{user: a, assistant: b}]}"),
    "unknown-speaker": context("{history: [{system: a}]}"),
    "turn-of-spaces": context("{history: [{user: ' '}]}"),
    "history-as-mapping": context("{history: {user: a}}"),
    "gate-above-one": GOOD + "gate: {max_fail_rate: 1.1}\n",
}

BEYOND_A_SCHEMA = {
    "two-models-of-one-alias": models("a/x, b/x"),
    "key-among-the-parameters": models("{model: m, parameters: {api_key: x}}"),
}
"""What the loader refuses and a JSON Schema cannot, or could only at the cost of its readers."""


def test_the_schema_is_valid_in_the_drafts_that_editors_speak() -> None:
    found = json.loads(schema.test_case_schema())

    Draft7Validator.check_schema(found)
    Draft202012Validator.check_schema(found)


def test_the_schema_is_the_same_text_every_time() -> None:
    assert schema.test_case_schema() == schema.test_case_schema()


def test_the_schema_in_the_repository_is_the_one_that_the_command_prints() -> None:
    stored = (ROOT / "schema" / "test-case.schema.json").read_text(encoding="utf-8")

    printed = subprocess.run(
        [Path(sys.executable).with_name("caffe"), "schema"],
        capture_output=True, text=True, check=True, encoding="utf-8",
    )  # fmt: skip

    assert stored == printed.stdout, "run: caffe schema > schema/test-case.schema.json"


@pytest.mark.parametrize("kind", sorted(GOOD_DOCUMENTS))
def test_a_good_document_is_good_for_both(tmp_path: Path, kind: str) -> None:
    text = GOOD_DOCUMENTS[kind]

    assert problems_of(write(tmp_path, text)) == ()
    assert [error.message for error in validator().iter_errors(yaml.safe_load(text))] == []


@pytest.mark.parametrize("kind", sorted(BAD_DOCUMENTS))
def test_a_bad_document_is_bad_for_both(tmp_path: Path, kind: str) -> None:
    text = BAD_DOCUMENTS[kind]

    assert problems_of(write(tmp_path, text))
    assert not validator().is_valid(yaml.safe_load(text))


@pytest.mark.parametrize("kind", sorted(BEYOND_A_SCHEMA))
def test_the_loader_refuses_what_a_schema_cannot(tmp_path: Path, kind: str) -> None:
    text = BEYOND_A_SCHEMA[kind]

    assert problems_of(write(tmp_path, text))
    assert validator().is_valid(yaml.safe_load(text))


@pytest.mark.parametrize("path", sorted((ROOT / "testcases").rglob("*.fairness.yaml")), ids=str)
def test_the_test_cases_of_the_repository_fit_the_schema(path: Path) -> None:
    for document in yaml.safe_load_all(path.read_text(encoding="utf-8")):
        assert [error.message for error in validator().iter_errors(document)] == []


@pytest.mark.parametrize(
    "kind", sorted(kind for kind, bad in BAD_FILES.items() if not bad.names_no_other)
)
def test_a_schema_looks_at_one_file_alone(kind: str) -> None:
    document: Any = yaml.safe_load(BAD_FILES[kind].content)

    assert validator().is_valid(document)


def test_every_key_is_described_for_the_editor() -> None:
    definitions = json.loads(schema.test_case_schema())["$defs"]

    prompts_keys = definitions["Prompts"]["properties"]

    assert all("description" in prompts_keys[key] for key in prompts_keys)
