"""The expected fairness of a test case: how it is read, and what is said where it is wrong."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from caffe_pytest.cli import USAGE, main
from caffe_pytest.errors import ProblemsFound
from caffe_pytest.extensions import Extensions, load_extensions
from caffe_pytest.model.test_case import POOLED, POOLED_METRICS, Gap, Similarity
from caffe_pytest.specs import schema
from caffe_pytest.specs.loader import LoadedCase, load_cases
from tests.specs.case_files import GOOD, NAME, problems_of, with_line, write

SCHEMA = Draft202012Validator(json.loads(schema.test_case_schema()))
WITHOUT_NUMBER = GOOD.replace("  per_triple: 4\n", "")


def case(expected: str, text: str = WITHOUT_NUMBER) -> str:
    return text.replace("{metric: lsa, threshold: 0.8}", expected)


def loaded(folder: Path, expected: str) -> LoadedCase:
    path = write(folder, case(expected))
    (found,) = load_cases(path, path.name)
    return found


@pytest.fixture(scope="module")
def extensions() -> Extensions:
    return load_extensions()


# -- which oracle -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "expected",
    [
        "{}",
        "{oracle: gap}",
        "{oracle: gap, metric: lsa}",
        "{metric: lsa, max_gap: 0.1}",
        "{metric: of-a-plugin, max_difference: {of-a-plugin: 0.1}}",
        "{metric: judge, judge: simulated/fair}",
        "{metric: judge, judge: {model: openai/x, api_key: env:KEY}, max_difference: {judge: 1}}",
        "{max_gap: 0, max_difference: {refusal: 0.05, length: 2}, level: 0.01}",
        *(f"{{metric: {metric}}}" for metric in POOLED_METRICS),
    ],
)
def test_without_a_threshold_a_pool_is_judged(tmp_path: Path, expected: str) -> None:
    text = case(expected)

    found = loaded(tmp_path, expected).case

    assert isinstance(found.expected_fairness, Gap)
    assert found.repeats == 2
    assert SCHEMA.is_valid(yaml.safe_load(text))


@pytest.mark.parametrize(
    "expected",
    [
        "{threshold: 0.8}",
        "{metric: lsa, threshold: 0.8}",
        "{metric: lsa, threshold: 0.8, space: run}",
        "{oracle: similarity, threshold: 1}",
        "{metric: bert, threshold: 0, encoder: some/encoder}",
    ],
)
def test_with_a_threshold_a_pair_is_judged(tmp_path: Path, expected: str) -> None:
    text = case(expected)

    found = loaded(tmp_path, expected).case

    assert isinstance(found.expected_fairness, Similarity)
    assert found.repeats == 1
    assert SCHEMA.is_valid(yaml.safe_load(text))


# -- what is wrong ----------------------------------------------------------------------------

HERE = f"{NAME}:5: expected_fairness"
NOT_OF_PAIRS = "compares no two answers, and a threshold is about two; give `max_difference`"
PROSE = "the intent asks for no label; choose an intent with labels, or panel"

WRONG: dict[str, tuple[str, str]] = {
    "panel-misspelt": (
        case("{metric: panle}"), f'{HERE}.metric: unknown metric "panle"; did you mean "panel"?'
    ),
    "metric-misspelt": (
        case("{metric: refusals}"),
        f'{HERE}.metric: unknown metric "refusals"; did you mean "refusal"?',
    ),
    "metric-misspelt-with-a-margin": (
        case("{metric: lenght, level: 0.01}"),
        f'{HERE}.metric: unknown metric "lenght"; did you mean "length"?',
    ),
    "metric-without-threshold": (
        case("{metric: lsa}"),
        (f"{HERE}.threshold: is missing; add `threshold:`, or `max_gap: 0.05` for one verdict on "
        "all pairs together"),
    ),
    "no-threshold": (
        case("{oracle: similarity}"), f"{HERE}.threshold: is missing; add `threshold:`"
    ),
    "unknown-oracle": (
        case("{oracle: gapp}"), f'{HERE}.oracle: unknown value "gapp"; did you mean "gap"?'
    ),
    "threshold-and-max-gap": (
        case("{metric: lsa, threshold: 0.8, max_gap: 0.1}"),
        f"{HERE}.max_gap: `threshold` and `max_gap` belong to different oracles; keep one of them",
    ),
    "threshold-and-max-difference": (
        case("{threshold: 0.8, max_difference: {refusal: 0.1}}"),
        (f"{HERE}.max_difference: `threshold` and `max_difference` belong to different oracles; "
        "keep one of them"),
    ),
    "space-and-level": (
        case("{metric: lsa, space: run, level: 0.01}"),
        f"{HERE}.level: `space` and `level` belong to different oracles; keep one of them",
    ),
    "gap-with-threshold": (
        case("{oracle: gap, threshold: 0.8}"), f'{HERE}.threshold: unknown key "threshold"; use one'
    ),
    "negative-gap": (
        case("{max_gap: -0.1}"),
        f"{HERE}.max_gap: -0.1 is out of range; choose a number at least 0",
    ),
    "wide-gap": (
        case("{max_gap: 2.5}"), f"{HERE}.max_gap: 2.5 is out of range; choose a number at most 2"
    ),
    "gap-as-text": (
        case("{max_gap: '0.1'}"), f'{HERE}.max_gap: should be a number, and is "0.1"; write digits'
    ),
    "negative-difference": (
        case("{max_difference: {refusal: -0.1}}"),
        f"{HERE}.max_difference.refusal: -0.1 is out of range; choose a number at least 0",
    ),
    "difference-as-number": (
        case("{max_difference: 0.1}"),
        f"{HERE}.max_difference: should be a mapping, and is 0.1; write `key: value`",
    ),
    "level-zero": (
        case("{level: 0}"), f"{HERE}.level: 0 is out of range; choose a number at least 0.0001"
    ),
    "judge-without-model": (
        case("{metric: judge, judge: {alias: x}}"), f"{HERE}.judge.model: is missing; add `model:`"
    ),
    "panel-asked-once": (
        case("{metric: panel}") + "  repeats: 1\n",
        (f"{NAME}:8: environment.repeats: the gap oracle asks each prompt twice or more, to tell a "
        "difference from noise; give 2 or more"),
    ),
    "per-triple-and-at-least": (
        case("{metric: panel}", with_line(GOOD, "per_triple: 4", "  at_least: 4")),
        f"{NAME}:6: prompts.at_least: `per_triple` and `at_least` exclude each other; keep one",
    ),
    "max-gap-of-refusals": (
        case("{metric: refusal, max_gap: 0.1}"),
        (f"{HERE}.max_gap: max_gap is the margin of a similarity, and none is asked for; use "
        "max_difference"),
    ),
    "difference-of-an-unknown-question": (
        case("{max_difference: {refusals: 0.1}}"),
        (f'{HERE}.max_difference.refusals: "refusals" is no question of this test case; did you '
        'mean "refusal"?'),
    ),
    "difference-of-a-question-not-asked": (
        case("{metric: length, max_difference: {tone: 0.1}}"),
        f'{HERE}.max_difference.tone: "tone" is no question of this test case; use one of: length',
    ),
    "judge-missing": (
        case("{metric: judge}"),
        f"{HERE}.metric: a judge is missing; add `judge: openai/...` beside the metric",
    ),
    "judge-without-metric": (
        case("{metric: panel, judge: simulated/fair}"),
        f"{HERE}.judge: only `metric: judge` has a judge; remove one of the two",
    ),
    "judge-unknown": (
        case("{metric: judge, judge: simulated/unfair}"),
        f'{HERE}.judge: unknown simulated model "simulated/unfair"; did you mean "simulated/fair"?',
    ),
    "encoder-on-lsa": (
        case("{metric: lsa, threshold: 0.8, encoder: some/encoder}"),
        f"{HERE}.encoder: the metric lsa has no encoder; remove the key, or choose bert",
    ),
    "encoder-on-the-lsa-of-the-panel": (
        case("{encoder: some/encoder}"),
        f"{HERE}.encoder: the metric lsa has no encoder; remove the key, or choose bert",
    ),
    "encoder-on-refusals": (
        case("{metric: refusal, encoder: some/encoder}"),
        f"{HERE}.encoder: an encoder serves a similarity, and none is asked for; remove the key",
    ),
    "semantic-without-panel": (
        case("{metric: length, semantic: lsa}"),
        (f"{HERE}.semantic: semantic is the panel's measure of similarity, and none is asked for; "
        "remove the key"),
    ),
    "semantic-no-similarity": (
        case("{semantic: length}"), f'{HERE}.semantic: "length" compares no answers; use one of: '
    ),
    "threshold-of-refusals": (
        case("{metric: refusal, threshold: 0.8}"), f'{HERE}.metric: "refusal" {NOT_OF_PAIRS}'
    ),
    "threshold-of-a-panel": (
        case("{metric: panel, threshold: 0.8}"), f'{HERE}.metric: "panel" {NOT_OF_PAIRS}'
    ),
    "labels-of-prose": (case("{metric: label}"), f"{HERE}.metric: {PROSE}"),
    "more-pairs-than-there-are": (
        case("{metric: panel}", GOOD.replace("per_triple: 4", "at_least: 17")),
        (f"{NAME}:5: prompts.at_least: 17 prompt pairs a bias type, and gender has 16: its triples "
        "times 16 templates; choose at most 16, or widen topics and groups"),
    ),
}  # fmt: skip
"""What stands in the file, and how what is said of it begins."""

ONLY_WHEN_PLANNED = {
    "max-gap-of-refusals", "difference-of-an-unknown-question", "judge-missing", "labels-of-prose",
    "difference-of-a-question-not-asked", "judge-without-metric", "judge-unknown", "encoder-on-lsa",
    "encoder-on-the-lsa-of-the-panel", "encoder-on-refusals", "semantic-without-panel",
    "semantic-no-similarity", "threshold-of-refusals", "threshold-of-a-panel",
    "more-pairs-than-there-are", "metric-misspelt-with-a-margin",
}  # fmt: skip
"""A file says nothing of what is registered: neither the loader nor a JSON Schema sees these."""
BEYOND_A_SCHEMA = {"panel-asked-once"}
"""Two parts far from each other."""


@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_expectation_is_one_problem_with_a_remedy(
    tmp_path: Path, extensions: Extensions, kind: str
) -> None:
    text, said = WRONG[kind]

    (problem,) = problems_of(write(tmp_path, text), extensions)

    assert str(problem).startswith(said)
    assert problem.remedy
    assert "\n" not in str(problem)


@pytest.mark.parametrize("kind", WRONG)
def test_loader_and_schema_agree_on_a_wrong_expectation(tmp_path: Path, kind: str) -> None:
    text, _ = WRONG[kind]

    refused = bool(problems_of(write(tmp_path, text)))

    assert refused is (kind not in ONLY_WHEN_PLANNED)
    assert SCHEMA.is_valid(yaml.safe_load(text)) is (not refused or kind in BEYOND_A_SCHEMA)


def test_caffe_validate_shows_every_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for kind, (text, _) in WRONG.items():
        write(tmp_path, text.replace("FAIR-1", kind), f"{kind}.fairness.yaml")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["caffe", "validate", "."])

    with pytest.raises(SystemExit) as stopped:
        main()

    told = capsys.readouterr().err.splitlines()
    assert stopped.value.code == USAGE
    for kind, (_, said) in WRONG.items():
        assert any(line.startswith(said.replace(NAME, f"{kind}.fairness.yaml")) for line in told)


def test_a_misspelt_key_is_told_with_the_keys_of_its_oracle(tmp_path: Path) -> None:
    gap = problems_of(write(tmp_path, case("{max_gap: 0.1, levle: 0.1}")))
    pair = problems_of(write(tmp_path, case("{threshold: 0.1, spcae: run}")))

    assert [problem.remedy for problem in gap] == ['did you mean "level"?']
    assert [problem.remedy for problem in pair] == ['did you mean "space"?']


# -- whatever is written ----------------------------------------------------------------------

VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-1, 3), st.floats(-1, 3), st.just([]), st.just({}),
    st.sampled_from(["lsa", "panel", "judge", "gap", "similarity", "run", "simulated/fair", ""]),
    st.dictionaries(st.sampled_from(["refusal", "model", "a b"]), st.floats(-1, 3), max_size=2),
)  # fmt: skip
KEYS = st.sampled_from(["oracle", "metric", "encoder", "threshold", "space", *POOLED, "gap"])


@given(expected=st.one_of(VALUES, st.dictionaries(KEYS, VALUES, max_size=4)))
def test_loader_and_schema_agree_whatever_is_expected(
    tmp_path_factory: pytest.TempPathFactory, expected: Any
) -> None:
    document = yaml.safe_load(GOOD)
    document["expected_fairness"] = expected
    path = tmp_path_factory.getbasetemp() / NAME
    path.write_text(json.dumps(document), encoding="utf-8")

    try:
        load_cases(path, path.name)
        problems: tuple[Any, ...] = ()
    except ProblemsFound as found:
        problems = found.problems

    assert SCHEMA.is_valid(document) is not bool(problems)
    assert all(problem.cause and problem.remedy and problem.line for problem in problems)
