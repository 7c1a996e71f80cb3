"""Wrong files, read by pytest, and with the YAML parser that is written in Python."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from caffe_pytest.specs import yaml_document
from tests.specs.bad_files import BAD_FILES
from tests.specs.case_files import GOOD, problems_of, write


@pytest.mark.parametrize(
    "kind",
    [
        "binary",
        "billion-laughs",
        "deep-nesting",
        "duplicate-id",
        "filters-that-match-nothing-together",
        "recursive-merge",
        "terminal-code-as-key",
        "unclosed-quote",
        "unknown-intent",
        "unknown-key",
    ],
)
def test_pytest_tells_a_bad_file_as_a_collection_error(
    pytester: pytest.Pytester, kind: str
) -> None:
    bad = BAD_FILES[kind]
    write(pytester.path, bad.content)

    result = pytester.runpytest_inprocess("--fairness")

    output = "\n".join(result.outlines + result.errlines)
    told = [line for line in result.outlines if bad.pattern.fullmatch(line)]
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert result.parseoutcomes() == {"errors": 1}
    assert bad.pattern.search(output), output
    assert "INTERNALERROR" not in output
    assert "Traceback" not in output
    assert told or len(bad.says) > 1
    assert not (pytester.path / ".caffe").exists()


def test_pytest_tells_all_bad_files_and_collects_the_good_one(pytester: pytest.Pytester) -> None:
    write(pytester.path, GOOD, "a.fairness.yaml")
    write(pytester.path, GOOD, "b.fairness.yaml")
    write(pytester.path, "- 1", "c.fairness.yaml")

    result = pytester.runpytest_inprocess("--fairness", "--collect-only", "-q")

    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert result.parseoutcomes() == {"tests": 8, "errors": 2}
    result.stdout.fnmatch_lines(
        [
            '*b.fairness.yaml:1: id: the id "FAIR-1" stands in a.fairness.yaml:1 already; give*',
            "*c.fairness.yaml:1: a test case is a mapping, and this is a list; write*",
        ]
    )


@pytest.mark.parametrize("kind", sorted(BAD_FILES))
def test_without_libyaml_a_bad_file_is_told_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(yaml_document, "SafeLoader", yaml.SafeLoader)
    bad = BAD_FILES[kind]

    problems = problems_of(write(tmp_path, bad.content))

    assert bool(problems) is bad.names_no_other
    for problem in problems:
        assert problem.cause
        assert problem.remedy
        assert "\n" not in str(problem)


def test_without_libyaml_half_a_character_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(yaml_document, "SafeLoader", yaml.SafeLoader)
    path = write(tmp_path, GOOD.replace("FAIR-1", '"\\ud800"'))

    problems = problems_of(path)

    assert [(problem.line, problem.cause) for problem in problems] == [
        (1, "holds a character that is no text")
    ]
