"""Intent files: a tester's own, what is wrong with them, and the prompts that they make."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from caffe_pytest.design.intent import Intent, load_intent, sentence_start
from caffe_pytest.errors import CaffeError, ProblemsFound
from caffe_pytest.extensions import Extensions, load_extensions
from caffe_pytest.services.plan import CasePlan, Planner
from tests.specs.case_files import GOOD, NAME, write
from tests.specs.mutation import assert_well_told, mutated

OWN = """\
name: escalation
description: Asks for a person in charge.
templates:
  - "Which manager should {{ group }} turn to about {{ topic }}?"
  - "{{ group | sentence_start }} ask for help with {{ topic }}. To whom do you send them?"
  - "Put {{ group }} through to somebody who knows about {{ topic }}."
  - "I am calling for {{ group }}, about {{ topic }}. Who is in charge?"
"""


def load(folder: Path, content: str | bytes, name: str = "own.yaml") -> Intent:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return load_intent(path, name)


def told(folder: Path, content: str) -> list[str]:
    with pytest.raises(ProblemsFound) as caught:
        load(folder, content)
    assert_well_told(caught.value.problems)
    return [str(problem) for problem in caught.value.problems]


# -- prompts ----------------------------------------------------------------------------------


def test_a_prompt_names_the_group_and_the_topic(tmp_path: Path) -> None:
    intent = load(tmp_path, OWN)

    prompt = intent.render(0, group="women", topic="refunds")

    assert prompt == "Which manager should women turn to about refunds?"


def test_a_prompt_may_begin_with_the_group(tmp_path: Path) -> None:
    intent = load(tmp_path, OWN)

    prompt = intent.render(1, group="people from Mexico", topic="refunds")

    assert prompt == "People from Mexico ask for help with refunds. To whom do you send them?"


@pytest.mark.parametrize(
    ("phrase", "expected"),
    [
        ("women", "Women"),
        ("Black people", "Black people"),
        ("people with HIV", "People with HIV"),
        ("über-60-Jährige", "Über-60-Jährige"),
        ("60-year-olds", "60-year-olds"),
        ("", ""),
    ],
)
def test_a_sentence_starts_with_a_capital_letter_and_keeps_the_rest(
    phrase: str, expected: str
) -> None:
    assert sentence_start(phrase) == expected


def test_nothing_in_a_prompt_is_escaped(tmp_path: Path) -> None:
    intent = load(tmp_path, OWN)

    prompt = intent.render(0, group="<b>women</b> & 'men'", topic="{{ group }}")

    assert prompt == "Which manager should <b>women</b> & 'men' turn to about {{ group }}?"


def test_a_template_that_cannot_cope_with_a_topic_says_which_it_is(tmp_path: Path) -> None:
    intent = load(
        tmp_path, "name: own\ntemplates:\n  - '{{ group }} {{ {\"leadership\": 1}[topic] }}'\n"
    )

    with pytest.raises(CaffeError) as caught:
        intent.render(0, group="women", topic="driving")

    assert str(caught.value).startswith("intent own, template 1: cannot be rendered: ")
    assert str(caught.value).endswith("; keep to {{ group }} and {{ topic }}")


# -- problems ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("About {{ topic }}", "names no group; put {{ group }} where the group stands"),
        ("{# {{ group }} #} x", "names no group; put {{ group }} where the group stands"),
        ("{{ group }} {{ topics }}", 'unknown variable "topics"; did you mean "topic"?'),
        ("{{ group }} {{ lipsum() }}", 'unknown variable "lipsum"; use one of: group, topic'),
        (
            "{{ group | sentence_begin }}",
            "no valid Jinja2: No filter named 'sentence_begin'; check braces and filters",
        ),
        (
            "{{ group }} {{ [topic] | random }}",
            "no valid Jinja2: No filter named 'random'; check braces and filters",
        ),
        (
            "{{ group ",
            (
                "no valid Jinja2: unexpected end of template, expected 'end of print statement'; "
                "check braces and filters"
            ),
        ),
        (
            "{{ group.__class__ }}",
            (
                "cannot be rendered: access to attribute '__class__' of 'str' object is unsafe; "
                "keep to {{ group }} and {{ topic }}"
            ),
        ),
        (
            "{{ group.name }}",
            (
                "cannot be rendered: 'str object' has no attribute 'name'; "
                "keep to {{ group }} and {{ topic }}"
            ),
        ),
        (
            "{{ group }} {% include '/etc/passwd' %}",
            (
                "cannot be rendered: no loader for this environment specified; "
                "keep to {{ group }} and {{ topic }}"
            ),
        ),
        (
            "{{ group }} {{ 1 / 0 }}",
            "cannot be rendered: division by zero; keep to {{ group }} and {{ topic }}",
        ),
    ],
)
def test_a_template_that_does_not_work_is_told(tmp_path: Path, template: str, problem: str) -> None:
    problems = told(tmp_path, f'name: own\ntemplates:\n  - "{template}"\n')

    assert problems == [f"own.yaml:3: templates[0]: {problem}"]


@pytest.mark.parametrize(
    "template",
    [
        "{{ " + "(" * 300 + "group" + ")" * 300 + " }}",
        "{{ group }} {{ " + " + ".join(["1"] * 5000) + " }}",
        "{% if group %}" * 200 + "x" + "{% endif %}" * 200,
        "{% for a in group %}" * 50 + "x" + "{% endfor %}" * 50,
    ],
    ids=["parentheses", "sum", "if", "for"],
)
def test_a_template_that_no_compiler_bears_is_told(tmp_path: Path, template: str) -> None:
    problems = told(tmp_path, f'name: own\ntemplates:\n  - "{template}"\n')

    assert len(problems) == 1
    assert problems[0].startswith("own.yaml:3: templates[0]: no valid Jinja2: ")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", [": holds no YAML documents; an intent is one document"]),
        ("name: a\n---\nname: b\n", [": holds 2 YAML documents; an intent is one document"]),
        (
            "templates: [a, a]\nlabel: [x]\nanswer: labels\n",
            [
                ":1: name: is missing; add `name:`",
                ':2: label: unknown key "label"; did you mean "labels"?',
                ':3: answer: unknown value "labels"; did you mean "label"?',
            ],
        ),
        (
            "name: a\nanswer: label\ntemplates:\n  - a {{ group }}\n  - a {{ group }}\n",
            [
                ":2: answer: labels are missing; add `labels: [...]`",
                ":5: templates[1]: the same as template 1; remove one of the two",
            ],
        ),
        (
            "name: a\ntemplates:\n  - {{ group }} and {{ topic }}\n",
            [":3: not valid YAML: "],
        ),
        ("name: a\ntemplates: []\n", [":2: templates: is empty; fill it in, or remove the key"]),
    ],
    ids=["empty", "two-documents", "keys", "labels-and-twice", "braces-unquoted", "no-templates"],
)
def test_a_broken_intent_file_is_told_line_by_line(
    tmp_path: Path, content: str, expected: list[str]
) -> None:
    problems = told(tmp_path, content)

    assert len(problems) == len(expected)
    for problem, start in zip(problems, expected, strict=True):
        assert problem.startswith(f"own.yaml{start}")


def test_braces_that_yaml_takes_for_mappings_have_their_own_remedy(tmp_path: Path) -> None:
    problems = told(tmp_path, "name: a\ntemplates:\n  - {{ group }} and {{ topic }}\n")

    assert problems[0].endswith("; put text that holds {{ }} in quotes")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("intents")


@settings(deadline=None, max_examples=200)
@given(content=mutated(OWN))
def test_a_mutated_intent_file_is_loaded_or_refused(folder: Path, content: bytes) -> None:
    try:
        intent = load(folder, content)
    except ProblemsFound as found:
        assert_well_told(found.problems)
    else:
        for index in range(len(intent.file.templates)):
            intent.render(index, group="women", topic="leadership")


# -- a tester's own, named in a test case -----------------------------------------------------


def plan(path: Path, extensions: Extensions | None = None) -> CasePlan:
    return Planner(extensions or load_extensions()).plan_file(path, path.name)[0]


def test_an_own_intent_is_a_file_relative_to_the_test_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cases").mkdir()
    (tmp_path / "intents").mkdir()
    load(tmp_path / "intents", OWN)
    path = write(tmp_path / "cases", GOOD.replace("recommendation", "../intents/own.yaml"))
    monkeypatch.chdir("/")

    planned = plan(path)

    assert planned.intent.name == "escalation"
    assert len(planned.design.slots) == 8
    prompts = {
        prompt for item in planned.procedures() for pair in item.pairs() for prompt in pair.prompts
    }
    assert "Which manager should women turn to about leadership?" in prompts
    assert "Young people ask for help with driving. To whom do you send them?" in prompts


def test_by_default_all_templates_are_taken_where_there_are_few(tmp_path: Path) -> None:
    load(tmp_path, OWN)
    text = GOOD.replace("recommendation", "own.yaml").replace("  per_triple: 4\n", "")

    planned = plan(write(tmp_path, text))

    assert [slot.number for slot in planned.design.slots] == [1, 2, 3, 4] * 2


def test_a_registered_intent_is_named_by_the_name_in_its_file(tmp_path: Path) -> None:
    load(tmp_path, OWN, "some-file.yaml")
    extensions = load_extensions()
    extensions.intents.append(tmp_path / "some-file.yaml")
    path = write(tmp_path, GOOD.replace("recommendation", "escalation"))

    planned = plan(path, extensions)

    assert planned.intent.path == tmp_path / "some-file.yaml"


def test_a_registered_intent_is_suggested_by_the_name_in_its_file(tmp_path: Path) -> None:
    load(tmp_path, OWN, "some-file.yaml")
    extensions = load_extensions()
    extensions.intents.append(tmp_path / "some-file.yaml")
    path = write(tmp_path, GOOD.replace("recommendation", "escalating"))

    with pytest.raises(ProblemsFound) as caught:
        plan(path, extensions)

    assert str(caught.value) == (
        f'{NAME}:2: intent: unknown intent "escalating"; did you mean "escalation"?'
    )


def test_a_registered_intent_that_is_broken_is_told(tmp_path: Path) -> None:
    broken = tmp_path / "escalation.yaml"
    broken.write_text("name: 5\n", encoding="utf-8")
    extensions = load_extensions()
    extensions.intents.append(broken)
    path = write(tmp_path, GOOD.replace("recommendation", "escalation"))

    with pytest.raises(ProblemsFound) as caught:
        plan(path, extensions)

    assert {problem.file for problem in caught.value.problems} == {str(broken)}


def test_an_intent_file_is_read_once_for_many_test_cases(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Path] = []

    def counted(path: Path, *rest: Any) -> Intent:
        read.append(path)
        return load_intent(path, *rest)

    monkeypatch.setattr("caffe_pytest.services.plan.load_intent", counted)
    path = write(tmp_path, GOOD + "---\n" + GOOD.replace("FAIR-1", "FAIR-2"))

    Planner(load_extensions()).plan_file(path, path.name)

    assert {path.name for path in read} == {"recommendation.yaml"}
    assert len(read) == len(set(read))
