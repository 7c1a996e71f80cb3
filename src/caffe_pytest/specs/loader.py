"""Files `*.fairness.yaml` as test cases; what `collect` and `caffe validate` both read with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from caffe_pytest.errors import Problem, ProblemsFound, did_you_mean
from caffe_pytest.model.test_case import KINDS, TestCase
from caffe_pytest.specs.validation import quoted, validate
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
    cases, problems = read_cases(path, shown if shown is not None else str(path))
    if problems:
        raise ProblemsFound(problems)
    return cases


def read_cases(path: Path, shown: str) -> tuple[list[LoadedCase], list[Problem]]:
    """The test cases of a file that are well-formed, and the problems of the others."""
    documents, problems = read_documents(path, shown)
    if not documents and not problems:
        cause = "the file holds no test case"
        problems.append(Problem(shown, 0, "", cause, "run `caffe init` for a first one"))
    told = {(problem.line, problem.path) for problem in problems}
    cases: dict[str, LoadedCase] = {}
    for document in documents:
        case, found = _read_case(document)
        problems += [problem for problem in found if (problem.line, problem.path) not in told]
        if case is None:
            continue
        first = cases.setdefault(case.id, LoadedCase(case, path, document.source))
        if first.source is not document.source:
            line = first.source.line(("id",))
            cause = f'the id "{case.id}" stands on line {line} already'
            remedy = "give each test case its own id"
            problems.append(document.source.problem(("id",), cause, remedy))
    return list(cases.values()), problems


def _read_case(document: Document) -> tuple[TestCase | None, list[Problem]]:
    data, source = document.data, document.source
    if data is None:
        return None, [source.problem((), "an empty document", "remove the `---` above it")]
    if not isinstance(data, dict):
        cause = f"a test case is a mapping, and this is {quoted(data)}"
        return None, [source.problem((), cause, "write `id: ...` lines")]
    kind = data.get("kind", "counterfactual")
    model = KINDS.get(kind) if isinstance(kind, str) else None
    if model is None:
        cause = f"unknown kind {quoted(kind)}" if isinstance(kind, str) else "a kind is one word"
        return None, [source.problem(("kind",), cause, did_you_mean(str(kind), KINDS))]
    return validate(document, model)  # type: ignore[return-value]
