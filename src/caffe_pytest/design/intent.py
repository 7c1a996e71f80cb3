"""Intents: what a prompt is for, and the templates that say it.

The built-in intents are the files in `intents/`; a tester's own intent is a file of the same form.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Literal

import jinja2
import jinja2.meta
from jinja2.sandbox import ImmutableSandboxedEnvironment
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from caffe_pytest.errors import CaffeError, Problem, ProblemsFound, did_you_mean
from caffe_pytest.hookspecs import hookimpl
from caffe_pytest.model.triple import Name, Text
from caffe_pytest.specs.validation import validate
from caffe_pytest.specs.yaml_document import SourceMap, read_documents

VARIABLES = ("group", "topic")
PLAIN = "keep to {{ group }} and {{ topic }}"

TemplateText = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


@hookimpl
def register_intents(register: Callable[[Path], None]) -> None:
    """Register the seven built-in intents."""
    for path in sorted((Path(__file__).parent / "intents").rglob("*.yaml")):
        register(path)


class IntentFile(BaseModel):
    """An intent as it is written."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: Name
    description: Text | None = None
    language: Name = "en"
    answer: Literal["text", "label"] = "text"
    """What is asked for: prose, or one of `labels`."""
    labels: tuple[Text, ...] = ()
    templates: Annotated[tuple[TemplateText, ...], Field(min_length=1)]
    """Jinja2 with the variables `group` and `topic`, and the filter `sentence_start`."""


@dataclass(frozen=True)
class Intent:
    """An intent with its compiled templates."""

    file: IntentFile
    path: Path
    sha256: str

    @property
    def name(self) -> str:
        """What test cases call it."""
        return self.file.name

    @cached_property
    def templates(self) -> tuple[jinja2.Template, ...]:
        """Compiled when the first prompt is rendered: collecting needs only their number."""
        return tuple(_environment().from_string(text) for text in self.file.templates)

    def render(self, template: int, *, group: str, topic: str) -> str:
        """The prompt that template number `template` (0-based) makes of a group and a topic.

        Raises:
            CaffeError: the template cannot cope with them.
        """
        try:
            return self.templates[template].render(group=group, topic=topic)
        except Exception as error:  # a template can raise anything
            where = f"intent {self.name}, template {template + 1}"
            raise CaffeError(f"{where}: cannot be rendered: {_said(error)}; {PLAIN}") from error


def sentence_start(phrase: str) -> str:
    """The phrase with its first letter upper-case, the rest as it is."""
    return phrase[:1].upper() + phrase[1:]


@lru_cache(maxsize=1)
def _environment() -> ImmutableSandboxedEnvironment:
    # sandboxed: intent files come from wherever testers got them
    environment = ImmutableSandboxedEnvironment(undefined=jinja2.StrictUndefined, autoescape=False)
    environment.filters["sentence_start"] = sentence_start
    # the same test case asks the same prompts: nothing random, and nothing from outside
    del environment.filters["random"]
    environment.globals.clear()
    return environment


def load_intent(path: Path, shown: str | None = None) -> Intent:
    """The intent in a file; `shown` is how messages name the file.

    Raises:
        ProblemsFound: with every problem of the file.
    """
    name = shown if shown is not None else str(path)
    documents, problems = read_documents(path, name)
    if not problems and len(documents) != 1:
        cause = f"holds {len(documents) or 'no'} YAML documents"
        problems = [Problem(name, 0, "", cause, "an intent is one document")]
    if problems:
        raise ProblemsFound(problems)
    file, problems = validate(documents[0], IntentFile)
    if file is not None:
        problems = _template_problems(file, documents[0].source)
    if file is None or problems:
        raise ProblemsFound(problems)
    return Intent(file, path, hashlib.sha256(path.read_bytes()).hexdigest())


def _template_problems(file: IntentFile, source: SourceMap) -> list[Problem]:
    problems: list[Problem] = []

    def complain(index: int, cause: str, remedy: str) -> None:
        problems.append(source.problem(("templates", index), cause, remedy))

    first: dict[str, int] = {}
    for index, text in enumerate(file.templates):
        if first.setdefault(text, index) != index:
            complain(index, f"the same as template {first[text] + 1}", "remove one of the two")
        try:
            template = _environment().from_string(text)
        except Exception as error:  # jinja2's own errors, and those of Python's compiler
            complain(index, f"no valid Jinja2: {_said(error)}", "check braces and filters")
            continue
        used = jinja2.meta.find_undeclared_variables(_environment().parse(text))
        for word in sorted(used - set(VARIABLES)):
            complain(index, f'unknown variable "{word}"', did_you_mean(word, VARIABLES))
        if "group" not in used:
            complain(index, "names no group", "put {{ group }} where the group stands")
        if used <= set(VARIABLES):
            try:
                template.render(group="women", topic="leadership")
            except Exception as error:  # a template can raise anything
                complain(index, f"cannot be rendered: {_said(error)}", PLAIN)
    if file.answer == "label" and not file.labels:
        problems.append(source.problem(("answer",), "labels are missing", "add `labels: [...]`"))
    return problems


def _said(error: Exception) -> str:
    return str(error).rstrip(".") or type(error).__name__
