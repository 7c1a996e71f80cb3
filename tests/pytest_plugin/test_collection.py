"""YAML files as pytest nodes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.pytest_plugin.small_case import CASE, ITEMS


def test_items_have_readable_ids_without_brackets(
    pytester: pytest.Pytester, case_file: Path
) -> None:
    result = pytester.runpytest("--fairness", "--collect-only", "-q")

    ids = [line for line in result.outlines if "::" in line]
    assert len(ids) == ITEMS
    assert "advice.fairness.yaml::FAIR-1::fair::gender.leadership.women-men.01" in ids
    assert not any("[" in node for node in ids)


def test_collecting_asks_nothing_and_leaves_nothing(
    pytester: pytest.Pytester, case_file: Path
) -> None:
    result = pytester.runpytest("--fairness", "--collect-only")

    result.stdout.fnmatch_lines(["fairness: 24 items, at most 48 prompts to 2 models"])
    assert not (pytester.path / ".caffe").exists()


def test_without_the_option_test_cases_are_left_alone(
    pytester: pytest.Pytester, case_file: Path
) -> None:
    pytester.makepyfile("def test_ok(): pass")

    result = pytester.runpytest()

    result.assert_outcomes(passed=1)


def test_naming_a_test_case_without_the_option_says_what_is_missing(
    pytester: pytest.Pytester, case_file: Path
) -> None:
    result = pytester.runpytest("advice.fairness.yaml")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*advice.fairness.yaml holds fairness test cases: add --fairness"])


def test_the_ini_option_switches_it_on(pytester: pytest.Pytester, case_file: Path) -> None:
    pytester.makeini("[pytest]\nfairness = true\n")

    result = pytester.runpytest("--collect-only", "-q")

    result.stdout.fnmatch_lines([f"{ITEMS} tests collected*"])


def test_a_session_without_the_option_imports_one_module_of_ours(
    pytester: pytest.Pytester,
) -> None:
    script = pytester.makepyfile(
        """
        import sys, pytest
        pytest.main(["-q", "--collect-only", *sys.argv[1:]])
        print("IMPORTED", *sorted(sys.modules))
        """
    )

    imported = []
    for arguments in ([], ["-p", "no:caffe"]):
        lines = pytester.run(sys.executable, script, *arguments).outlines
        imported.append(set(next(line for line in lines if line.startswith("IMPORTED")).split()))

    assert imported[0] - imported[1] == {"caffe_pytest", "caffe_pytest.pytest_plugin"}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["-k", "age and biased"], 4),
        (["-m", "fairness(bias_type='gender')"], 16),
        (["-m", "fairness(model='fair', topic='driving')"], 4),
        (["-m", "not fairness"], 0),
        (["advice.fairness.yaml::FAIR-1"], 24),
        (["advice.fairness.yaml::FAIR-1::fair"], 12),
        (["advice.fairness.yaml::FAIR-1::fair::gender.driving.women-men.02"], 1),
    ],
)
def test_items_are_selected_by_id_keyword_and_mark(
    pytester: pytest.Pytester, case_file: Path, arguments: list[str], expected: int
) -> None:
    result = pytester.runpytest("--fairness", "--collect-only", "-q", *arguments)

    assert sum("FAIR-1::" in line for line in result.outlines) == expected


def test_items_stand_where_their_test_case_begins(
    pytester: pytest.Pytester, case_file: Path
) -> None:
    case_file.write_text("# a comment\n\n" + CASE, encoding="utf-8")

    items, _ = pytester.inline_genitems("--fairness")

    path, line, _ = items[0].reportinfo()
    assert (path, line) == (case_file, 2)  # counted from 0


def test_all_problems_of_a_file_are_one_collection_error_and_nothing_else_is_lost(
    pytester: pytest.Pytester, case_file: Path
) -> None:
    broken = CASE.replace("FAIR-1", "FAIR-2").replace("0.8", "1.5").replace("intent:", "intend:")
    (pytester.path / "broken.fairness.yaml").write_text(broken, encoding="utf-8")

    result = pytester.runpytest("--fairness", "--continue-on-collection-errors", "-q")

    result.stdout.fnmatch_lines(
        [
            '*broken.fairness.yaml:3: intend: unknown key "intend"; did you mean "intent"?',
            "*broken.fairness.yaml:7: expected_fairness.threshold: 1.5 is out of range;*",
        ],
        consecutive=False,
    )
    assert result.parseoutcomes()["errors"] == 1
    assert result.parseoutcomes()["passed"] >= 12


def test_a_broken_file_keeps_a_run_from_asking_anything(
    pytester: pytest.Pytester, case_file: Path
) -> None:
    (pytester.path / "broken.fairness.yaml").write_text("- 1", encoding="utf-8")

    result = pytester.runpytest("--fairness")

    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert not (pytester.path / ".caffe").exists()


def test_the_plugin_can_be_blocked_by_its_name(pytester: pytest.Pytester, case_file: Path) -> None:
    result = pytester.runpytest("-p", "no:caffe", "--fairness")

    assert result.ret == pytest.ExitCode.USAGE_ERROR


def test_a_conftest_registers_a_knowledge_base(pytester: pytest.Pytester, case_file: Path) -> None:
    pytester.makeconftest(
        """
        from pathlib import Path
        from caffe_pytest.hookspecs import hookimpl

        @hookimpl
        def register_knowledge_bases(register):
            register("ours", Path(__file__).parent / "triples.csv")
        """
    )
    case_file.write_text(CASE.replace("triples.csv", "ours"), encoding="utf-8")

    items, _ = pytester.inline_genitems("--fairness")

    assert len(items) == ITEMS
