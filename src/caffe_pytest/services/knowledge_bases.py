"""Knowledge bases for people: finding them by name, listing them, linting them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from caffe_pytest.design.intent import Intent, load_intent
from caffe_pytest.errors import CaffeError, Problem, ProblemsFound, did_you_mean
from caffe_pytest.extensions import Extensions, conftest_plugins, load_extensions
from caffe_pytest.knowledge.find import FILE_SUFFIXES, find_base, known_names
from caffe_pytest.knowledge.finding import Finding
from caffe_pytest.knowledge.lint import lint
from caffe_pytest.knowledge.load import load_base, read_base
from caffe_pytest.knowledge.rendering import Template
from caffe_pytest.model.triple import KnowledgeBase
from caffe_pytest.reporting.text import shown_path
from caffe_pytest.specs.yaml_document import first_file


@dataclass(frozen=True)
class FoundBase:
    """A base that a test case in this folder could name."""

    name: str
    path: Path
    base: KnowledgeBase | None
    """None where it cannot be read."""
    problems: tuple[Problem, ...]


def extensions_here() -> Extensions:
    """What is registered for the working folder."""
    return load_extensions(conftest_plugins([Path.cwd()]))


def found_bases(extensions: Extensions) -> Iterator[FoundBase]:
    """The bases that a test case in the working folder can name, sorted by name."""
    here, registered = Path.cwd(), extensions.knowledge_bases
    for name in known_names(here, registered):
        path = find_base(name, here, registered)
        if path is None:
            continue
        try:
            yield FoundBase(name, path, load_base(path, shown_path(path)), ())
        except ProblemsFound as found:
            yield FoundBase(name, path, None, found.problems)


def base_path(named: str, extensions: Extensions) -> Path:
    """The file of a base given by name, by file, or by the folder of its `base.yaml`.

    Raises:
        CaffeError: there is none.
    """
    here, registered = Path.cwd(), extensions.knowledge_bases
    path = find_base(named, here, registered) or first_file([Path(named, "base.yaml"), Path(named)])
    if path is not None:
        return path
    if named.lower().endswith(FILE_SUFFIXES) or "/" in named:
        raise CaffeError(f"{named}: there is no such knowledge base; check the path")
    remedy = did_you_mean(named, known_names(here, registered))
    raise CaffeError(f'there is no knowledge base "{named}" here; {remedy}')


def open_base(named: str, extensions: Extensions) -> KnowledgeBase:
    """The base given by name or path.

    Raises:
        CaffeError: there is none.
        ProblemsFound: it has problems; nothing of it is then shown.
    """
    path = base_path(named, extensions)
    return load_base(path, shown_path(path))


def lint_base(path: Path, extensions: Extensions) -> list[Finding]:
    """The findings about the base in a file, tried with every intent in its language.

    Raises:
        ProblemsFound: the base, or a registered intent, cannot be read.
    """
    read = read_base(path, shown_path(path))
    return lint(read, tuple(_templates(read.base.language, extensions)))


def _templates(language: str, extensions: Extensions) -> Iterator[Template]:
    for path in extensions.intents:
        intent = load_intent(path, shown_path(path))
        if _primary(intent.file.language) == _primary(language):
            for number in range(len(intent.file.templates)):
                yield Template(intent.name, number + 1, partial(_render, intent, number))


def _primary(language: str) -> str:
    """ "en" of "en-GB"."""
    return language.casefold().partition("-")[0]


def _render(intent: Intent, number: int, group: str, topic: str) -> str:
    return intent.render(number, group=group, topic=topic)
