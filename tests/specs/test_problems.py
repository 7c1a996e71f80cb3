"""Where problems are said to stand, what to do about them, and what no message may say."""

from __future__ import annotations

from pathlib import Path

import pytest

from caffe_pytest.errors import Problem, ProblemsFound, did_you_mean, printable
from caffe_pytest.extensions import Extensions, load_extensions
from caffe_pytest.services.plan import Planner
from caffe_pytest.specs.loader import load_cases
from caffe_pytest.specs.yaml_document import dotted, read_text
from tests.specs.case_files import GOOD, NAME, problems_of, with_line, write

SECRET = "sk-proj-4f9a7c1e"  # made up


@pytest.fixture(scope="module")
def extensions() -> Extensions:
    return load_extensions()


def places(problems: tuple[Problem, ...]) -> list[tuple[int, str]]:
    return [(problem.line, problem.path) for problem in problems]


# -- form -------------------------------------------------------------------------------------


def test_a_problem_says_where_what_and_what_to_do() -> None:
    problem = Problem("a.fairness.yaml", 5, "intent", "is missing", "add `intent:`")

    assert str(problem) == "a.fairness.yaml:5: intent: is missing; add `intent:`"


def test_a_problem_of_a_whole_file_names_neither_line_nor_path() -> None:
    problem = Problem("a.fairness.yaml", 0, "", "the file is empty", "fill it in")

    assert str(problem) == "a.fairness.yaml: the file is empty; fill it in"


def test_what_a_terminal_would_obey_or_hide_is_escaped() -> None:
    problem = Problem("a\nb", 1, "k\x1b[31m", "line\r\nline\u202e", "remove\x00 it\u200b\xa0")

    assert str(problem) == r"a\nb:1: k\x1b[31m: line\r\nline\u202e; remove\x00 it\u200b\xa0"


def test_letters_of_any_script_are_left_as_they_are() -> None:
    assert printable('"Führung" 指導 🙂') == '"Führung" 指導 🙂'


def test_problems_come_in_the_order_of_the_file_and_once() -> None:
    first = Problem("a", 2, "x", "is missing", "add it")
    second = Problem("a", 10, "b", "is missing", "add it")

    found = ProblemsFound([second, first, second])

    assert found.problems == (first, second)
    assert str(found) == f"{first}\n{second}"


def test_a_path_is_written_as_people_write_it() -> None:
    assert dotted(("prompts", "bias_types", 0)) == "prompts.bias_types[0]"
    assert dotted(("models", 3, "alias")) == "models[3].alias"
    assert dotted((0, "x")) == "[0].x"
    assert dotted(()) == ""
    assert dotted(("k" * 1000, "x")) == "k" * 60 + "....x"


@pytest.mark.parametrize(
    ("word", "remedy"),
    [
        ("recomendation", 'did you mean "recommendation"?'),
        ("RECOMMENDATION", 'did you mean "recommendation"?'),
        ("zzz", "use one of: question, recommendation"),
    ],
)
def test_the_remedy_for_an_unknown_word_is_the_closest_known_one(word: str, remedy: str) -> None:
    assert did_you_mean(word, ["recommendation", "question"]) == remedy


def test_a_long_list_of_known_words_may_be_described_instead() -> None:
    assert did_you_mean("zzz", ["question"], listing="see the list") == "see the list"
    assert did_you_mean("zzz", []) == "there are none"


# -- places -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("intent: recommendation", "intent: 5", (2, "intent")),
        ("  knowledge_base: triples.csv\n", "", (3, "prompts.knowledge_base")),
        ("per_triple: 4", "per_triple: 4.5", (5, "prompts.per_triple")),
        ("0.8", "'0.8'", (6, "expected_fairness.threshold")),
        (", threshold: 0.8", "", (6, "expected_fairness.threshold")),
        ("[simulated/fair]", "[simulated/fair, 5]", (8, "environment.models[1]")),
        ("[simulated/fair]", "\n  - model: m\n    alias: a b", (10, "environment.models[0].alias")),
        ("[simulated/fair]", "\n  - model: m\n    alas: x", (10, "environment.models[0].alas")),
        ("[simulated/fair]", "[a/b, c/d, e/b]", (8, "environment.models[2]")),
    ],
)
def test_a_problem_stands_at_the_line_of_the_nearest_part(
    tmp_path: Path, old: str, new: str, place: tuple[int, str]
) -> None:
    path = write(tmp_path, GOOD.replace(old, new))

    assert places(problems_of(path)) == [place]


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("  bias_types: [gender, gendre]", (6, "prompts.bias_types[1]")),
        ("  topics: ['*', cooking]", (6, "prompts.topics[1]")),
        ("  groups:\n    - women\n    - wimen", (8, "prompts.groups[1]")),
    ],
)
def test_a_filter_that_matches_nothing_is_named_by_its_place_in_the_list(
    tmp_path: Path, extensions: Extensions, line: str, place: tuple[int, str]
) -> None:
    path = write(tmp_path, with_line(GOOD, "per_triple: 4", line))

    assert places(problems_of(path, extensions)) == [place]


def test_what_a_provider_refuses_stands_where_the_parameter_does(
    tmp_path: Path, extensions: Extensions
) -> None:
    models = "\n    - model: simulated/biased\n      parameters:\n        strength: 7"
    own = write(tmp_path, GOOD.replace("[simulated/fair]", models), "own.fairness.yaml")
    common = write(tmp_path, GOOD + "  parameters: {strength: 7}\n", "common.fairness.yaml")

    assert places(problems_of(own, extensions)) == [
        (11, "environment.models[0].parameters.strength")
    ]
    assert places(problems_of(common, extensions)) == [(9, "environment.parameters.strength")]


def test_a_problem_in_a_merged_mapping_stands_where_it_was_written(tmp_path: Path) -> None:
    models = """
    - &base
      alias: one
      model: openai/a
      api_base: nowhere
    - <<: *base
      alias: two"""
    path = write(tmp_path, GOOD.replace(" [simulated/fair]", models))

    assert places(problems_of(path)) == [
        (12, "environment.models[0].api_base"),
        (12, "environment.models[1].api_base"),
    ]


def test_a_key_of_its_own_keeps_its_line_whatever_is_merged_after_it(tmp_path: Path) -> None:
    models = """
    - &base
      alias: one
      model: openai/a
      parameters: {a: 1}
    - alias: a b
      parameters: 5
      <<: *base"""
    path = write(tmp_path, GOOD.replace(" [simulated/fair]", models))

    assert places(problems_of(path)) == [
        (13, "environment.models[1].alias"),
        (14, "environment.models[1].parameters"),
    ]


def test_a_line_is_counted_as_editors_do_in_a_text_of_any_script(tmp_path: Path) -> None:
    text = 'objective: "Übergroße Größe € € €"\n\n' + GOOD.replace("FAIR-1", "FAIR\x01")

    problems = problems_of(write(tmp_path, text))

    assert [str(problem) for problem in problems] == [
        f"{NAME}:3: holds the character \\x01, which YAML does not allow; remove it"
    ]


def test_an_unclosed_quote_is_said_to_stand_where_it_begins(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD.replace("triples.csv", '"triples.csv'))

    problem = problems_of(path)[0]

    assert problem.line == 4
    assert "quoted scalar that begins here" in problem.cause


def test_a_name_near_by_is_suggested_for_an_unknown_knowledge_base(
    tmp_path: Path, extensions: Extensions
) -> None:
    path = write(tmp_path, GOOD.replace("triples.csv", "prodcts"))
    (tmp_path / "knowledge_base").mkdir()
    (tmp_path / "knowledge_base" / "products.csv").write_text("", encoding="utf-8")

    problems = problems_of(path, extensions)

    assert [problem.remedy for problem in problems] == ['did you mean "products"?']


# -- all at once ------------------------------------------------------------------------------


def test_all_problems_of_a_file_are_found_at_once(tmp_path: Path, extensions: Extensions) -> None:
    malformed = GOOD.replace("0.8", "1.5").replace("intent:", "intend:")
    twice = with_line(GOOD.replace("FAIR-1", "FAIR-2"), "per_triple: 4", "  per_triple: 5")
    unknown = GOOD.replace("FAIR-1", "FAIR-3").replace("recommendation", "advise")
    unknown = unknown.replace("lsa", "lso").replace("triples.csv", "no.csv")
    same = GOOD.replace("FAIR-1", "FAIR-3")
    broken = "id: [\n"
    path = write(tmp_path, "---\n".join([malformed, twice, unknown, same, broken]))

    problems = problems_of(path, extensions)

    assert places(problems) == [
        (1, "intent"),
        (2, "intend"),
        (6, "expected_fairness.threshold"),
        (15, "prompts.per_triple"),
        (21, "intent"),
        (23, "prompts.knowledge_base"),
        (25, "expected_fairness.metric"),
        (29, "id"),
        (39, ""),
    ]


def test_a_place_is_complained_of_once(tmp_path: Path) -> None:
    models = "[{model: 'a b', alias: 'a b', api_key: [x]}, {alias: 7}, ~]"
    path = write(tmp_path, GOOD.replace("[simulated/fair]", models))

    found = [path for _, path in places(problems_of(path))]

    assert found == [
        "environment.models[0].alias",
        "environment.models[0].api_key",
        "environment.models[1].alias",
        "environment.models[1].model",
        "environment.models[2]",
    ]


def test_a_bad_value_behind_an_alias_is_complained_of_once(tmp_path: Path) -> None:
    path = write(tmp_path, "a: &x !!python/name:os.system x\nb: [*x, *x]\n")

    tags = [problem for problem in problems_of(path) if "tag" in problem.cause]

    assert places(tuple(tags)) == [(1, "a")]


def test_a_broken_base_named_by_many_test_cases_is_told_once(
    tmp_path: Path, extensions: Extensions
) -> None:
    path = write(tmp_path, GOOD + "---\n" + GOOD.replace("FAIR-1", "FAIR-2"))
    (tmp_path / "triples.csv").write_text("id,topic\n", encoding="utf-8")

    problems = problems_of(path, extensions)

    assert len(problems) == len(set(problems)) == 3
    assert {problem.file for problem in problems} == {str(tmp_path / "triples.csv")}


def test_the_same_identifier_in_two_files_is_found_by_one_planner(
    tmp_path: Path, extensions: Extensions
) -> None:
    planner = Planner(extensions)
    planner.plan_file(write(tmp_path, GOOD, "a.fairness.yaml"), "a.fairness.yaml")

    with pytest.raises(ProblemsFound) as caught:
        planner.plan_file(write(tmp_path, GOOD, "b.fairness.yaml"), "b.fairness.yaml")

    assert str(caught.value) == (
        'b.fairness.yaml:1: id: the id "FAIR-1" stands in a.fairness.yaml:1 already; '
        "give each test case its own id"
    )


def test_the_same_file_may_be_planned_again(tmp_path: Path, extensions: Extensions) -> None:
    planner, path = Planner(extensions), write(tmp_path)

    first, second = planner.plan_file(path, NAME), planner.plan_file(path, NAME)

    assert [plan.case.id for plan in first] == [plan.case.id for plan in second]


# -- secrets ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "written",
    [
        f"api_key: {SECRET}",
        f"api_key: '{SECRET}'",
        f"api_key: [{SECRET}]",
        f"api_key: {{a: {SECRET}}}",
        f"api_key: !!int {SECRET}",
        f"api_key: !secret {SECRET}",
        f"api_key: env:{SECRET}",
        f"api-key: {SECRET}",
        f"api_key: env:A, api_key: {SECRET}",
        f"api_key: '{SECRET}",
        f"parameters: {{api_key: {SECRET}}}",
        f"parameters: {{extra_headers: {{Authorization: Bearer {SECRET}}}}}",
        f"parameters: {{aws_secret_access_key: {SECRET}}}",
        f"parameters: {{tools: [{{server: {{headers: {{Cookie: {SECRET}}}}}}}]}}",
        f"parameters: {{extra_headers: {{X-Auth: {SECRET}}}}}",
        f"parameters: {{hf_token: {SECRET}}}",
        f"parameters: {{extra: {{login: Bearer {SECRET}}}}}",
        f"api_base: 'http://host/v1?key={SECRET}'",
        f"parameters: [{SECRET}]",
        f"api_base: http://user:{SECRET}@host/v1",
    ],
)
def test_a_key_in_a_file_is_refused_and_never_shown(
    tmp_path: Path, extensions: Extensions, written: str
) -> None:
    models = f"[{{model: openai/gpt-4o, {written}}}]"
    path = write(tmp_path, GOOD.replace("[simulated/fair]", models))

    problems = problems_of(path, extensions)

    assert problems
    assert not any(SECRET in str(problem) or SECRET in repr(problem) for problem in problems)


def test_a_key_made_of_digits_is_not_shown_either(tmp_path: Path) -> None:
    path = write(
        tmp_path, GOOD.replace("[simulated/fair]", "[{model: openai/x, api_key: 40412345678}]")
    )

    problems = problems_of(path)

    assert [str(problem) for problem in problems] == [
        (
            f"{NAME}:8: environment.models[0].api_key: has to name an environment variable; "
            "write env:NAME and put the key into NAME"
        )
    ]


def test_a_key_among_the_common_parameters_is_refused_whatever_the_model(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD + f"  parameters:\n    max_tokens: 5\n    api_key: {SECRET}\n")

    problems = problems_of(path)

    assert places(problems) == [(11, "environment.parameters.api_key")]
    assert "never stand in a file" in problems[0].cause


@pytest.mark.parametrize(
    "name", ["max_tokens", "stop_token_ids", "top_k", "logit_bias", "keywords", "presence_penalty"]
)
def test_a_parameter_that_is_no_secret_is_let_through(tmp_path: Path, name: str) -> None:
    path = write(tmp_path, GOOD + f"  parameters: {{{name}: 5}}\n")

    case = load_cases(path)[0].case

    assert case.environment.parameters == {name: 5}


# -- text -------------------------------------------------------------------------------------


def test_a_missing_file_is_a_problem(tmp_path: Path) -> None:
    problems = problems_of(tmp_path / "no.fairness.yaml")

    assert [str(problem) for problem in problems] == [
        (
            "no.fairness.yaml: cannot be read: No such file or directory; "
            "check the path and its permissions"
        )
    ]


@pytest.mark.parametrize("name", ["a\0b", "x" * 300, "\ud800"])
def test_a_path_that_no_file_can_have_is_a_problem(tmp_path: Path, name: str) -> None:
    with pytest.raises(ProblemsFound, match="cannot be read"):
        read_text(tmp_path / name, "it")


def test_a_folder_in_place_of_a_file_is_a_problem(tmp_path: Path) -> None:
    with pytest.raises(ProblemsFound, match="this is no file; name a file with text"):
        read_text(tmp_path, "it")


def test_a_file_too_large_to_be_text_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("caffe_pytest.specs.yaml_document.MAX_BYTES", 10)

    problems = problems_of(write(tmp_path, GOOD))

    assert [problem.cause for problem in problems] == [f"the file has {len(GOOD)} bytes"]
