"""Files `*.fairness.yaml` as test cases; what `collect` and `caffe validate` both read with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from caffe_pytest.errors import Problem, ProblemsFound, did_you_mean
from caffe_pytest.model.test_case import KINDS, TestCase
from caffe_pytest.specs.validation import validate
from caffe_pytest.specs.yaml_document import Document, SourceMap, read_documents

SUFFIXES = (".fairness.yaml", ".fairness.yml")


@dataclass(frozen=True)
class LoadedCase:
    """A test case with the file and lines it was read from."""

    case: TestCase
    path: Path
    source: SourceMap


def is_test_case_file(path: Path) -> bool:
    """Whether the file's name says that it holds test cases."""
    return path.name.endswith(SUFFIXES)


def load_cases(path: Path, shown: str | None = None) -> list[LoadedCase]:
    """The test cases of a file, in its order; `shown` is how messages name the file.

    Raises:
        ProblemsFound: with every problem of the file.
    """
    name = shown if shown is not None else str(path)
    documents, problems = read_documents(path, name)
    if not documents and not problems:
        problems.append(
            Problem(name, 0, "", "the file is empty", "run `caffe init` for a first test case")
        )
    cases: list[LoadedCase] = []
    for document in documents:
        case, found = _read_case(document)
        problems += found
        if case is not None:
            cases.append(LoadedCase(case, path, document.source))
    problems += _same_ids(cases)
    if problems:
        raise ProblemsFound(problems)
    return cases


def _read_case(document: Document) -> tuple[TestCase | None, list[Problem]]:
    data, source = document.data, document.source
    if data is None:
        return None, [source.problem((), "an empty document", "remove the `---` above it")]
    if not isinstance(data, dict):
        return None, [source.problem((), "a test case is a mapping", "write `id: ...` lines")]
    kind = data.get("kind", "counterfactual")
    model = KINDS.get(kind) if isinstance(kind, str) else None
    if model is None:
        return None, [
            source.problem(("kind",), f'unknown kind "{kind}"', did_you_mean(str(kind), KINDS))
        ]
    return validate(document, model)  # type: ignore[return-value]


def _same_ids(cases: list[LoadedCase]) -> list[Problem]:
    first: dict[str, LoadedCase] = {}
    problems = []
    for loaded in cases:
        other = first.setdefault(loaded.case.id, loaded)
        if other is not loaded:
            cause = f'the id "{loaded.case.id}" stands on line {other.source.line(("id",))} already'
            problems.append(loaded.source.problem(("id",), cause, "give each test case its own id"))
    return problems
