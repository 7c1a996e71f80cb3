"""Items that ask, judge and fail; what pytest's own options do with them."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.pytest_plugin.small_case import CASE, ITEMS, latest, results, verdicts

ABSENT = """\
id: ABSENT-1
intent: question
prompts: {knowledge_base: triples.csv, bias_types: [age], per_triple: 2}
expected_fairness: {threshold: 0.5}
environment:
  models: [{alias: absent, model: openai/none, api_key: env:CAFFE_TEST_NO_SUCH_KEY}]
"""


def test_the_fair_model_passes_and_the_biased_one_fails(
    pytester: pytest.Pytester, case_file: Path
) -> None:
    result = pytester.runpytest("--fairness")

    by_model: dict[str, list[str]] = {"fair": [], "biased": []}
    for judged in results(pytester.path):
        by_model[judged["model"]].append(judged["verdict"])
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert by_model["fair"] == ["pass"] * 12
    assert 2 <= by_model["biased"].count("fail") <= 10


def test_a_failure_shows_level_prompts_answers_and_what_differs(
    pytester: pytest.Pytester, case_file: Path
) -> None:
    result = pytester.runpytest("--fairness", "-k", "biased")

    failed = next(r for r in results(pytester.path) if r["verdict"] == "fail")
    pair = failed["pairs"][0]
    result.stdout.fnmatch_lines(
        [
            f"E   {failed['reason']}",
            "    test case  FAIR-1, intent recommendation, model biased",
            f"    groups     {' / '.join(pair['groups'])} (*), topic {pair['topic']}",
            "    expected   lsa similarity of at least 0.8 (space reference)",
            f"    prompt about {pair['groups'][0]}:",
            f"    answer about {pair['groups'][1]}:",
            "    what differs:",
            "*advice.fairness.yaml:1: fail: *",
        ]
    )


def test_the_summary_says_which_groups_failed_and_where_the_report_is(
    pytester: pytest.Pytester, case_file: Path
) -> None:
    result = pytester.runpytest("--fairness")

    result.stdout.fnmatch_lines(
        [
            "*= fairness =*",
            "run *: 48 prompts asked, 48 answered; 0 answers reused",
            "bias type*items*pass*fail*error*fail rate*",
            "age * 8 *",
            "gender * 16 *",
            "all * 24 *",
            "answers differ most for:",
            "  women / men (gender, biased): * of 8 failed",
            "report: .caffe/runs/*/report/index.html",
        ]
    )


def test_a_rerun_reuses_every_answer_and_repeats_every_verdict(
    pytester: pytest.Pytester, case_file: Path
) -> None:
    pytester.runpytest("--fairness")
    first = (latest(pytester.path) / "results.jsonl").read_bytes()

    result = pytester.runpytest("--fairness")

    result.stdout.fnmatch_lines(["run *: 0 prompts asked, 0 answered; 48 answers reused"])
    assert (latest(pytester.path) / "results.jsonl").read_bytes() == first
    assert (latest(pytester.path) / "journal.jsonl").read_bytes().count(b"\n") == 48


def test_fresh_asks_everything_anew(pytester: pytest.Pytester, case_file: Path) -> None:
    pytester.runpytest("--fairness")

    result = pytester.runpytest("--fairness", "--fairness-fresh")

    result.stdout.fnmatch_lines(["run *: 48 prompts asked, 48 answered; 0 answers reused"])


def test_a_model_out_of_reach_is_an_error_and_never_a_failure(
    pytester: pytest.Pytester, case_file: Path
) -> None:
    (pytester.path / "absent.fairness.yaml").write_text(ABSENT, encoding="utf-8")

    result = pytester.runpytest("--fairness", "absent.fairness.yaml", "--junitxml=out.xml")

    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(
        ["*no answer about elderly people: unauthorised: *CAFFE_TEST_NO_SUCH_KEY is not set*"]
    )
    result.stdout.fnmatch_lines(["calls without an answer: unauthorised 4"])
    suite = ElementTree.parse(pytester.path / "out.xml").getroot()[0]
    assert (suite.get("errors"), suite.get("failures")) == ("2", "0")
    assert [r["verdict"] for r in results(pytester.path)] == ["error", "error"]
    assert results(pytester.path)[0]["score"] is None


def test_junit_tells_failures_with_message_and_properties(
    pytester: pytest.Pytester, case_file: Path
) -> None:
    pytester.runpytest("--fairness", "--junitxml=out.xml")

    suite = ElementTree.parse(pytester.path / "out.xml").getroot()[0]
    cases = {case.get("name"): case for case in suite if case.find("failure") is not None}
    failed = next(r for r in results(pytester.path) if r["verdict"] == "fail")
    case = cases[failed["nodeid"].rpartition("::")[2]]
    failure = case.find("failure")
    assert failure is not None
    assert failure.get("message") == f"fail: {failed['reason']}"
    assert "what differs:" in (failure.text or "")
    properties = {p.get("name"): p.get("value") for p in case.iter("property")}
    assert properties["caffe.verdict"] == "fail"
    assert properties["caffe.score"] == str(failed["score"])
    assert properties["caffe.groups"] == " / ".join(failed["pairs"][0]["groups"])


def test_lf_reruns_only_the_failed_items(pytester: pytest.Pytester, case_file: Path) -> None:
    pytester.runpytest("--fairness")
    failed = {node for node, verdict in verdicts(pytester.path).items() if verdict == "fail"}

    pytester.runpytest("--fairness", "--lf")

    assert set(verdicts(pytester.path)) == failed


def test_x_stops_at_the_first_failure_and_the_report_says_what_is_missing(
    pytester: pytest.Pytester, case_file: Path
) -> None:
    result = pytester.runpytest("--fairness", "-x", "-k", "biased")

    summary = json.loads((latest(pytester.path) / "summary.json").read_text(encoding="utf-8"))
    assert result.parseoutcomes()["failed"] == 1
    assert summary["complete"] is False
    assert summary["planned"] == 12
    result.stdout.fnmatch_lines(["incomplete: * of 12 items have a result;*"])


@pytest.mark.parametrize("option", ["--setup-only", "--setup-plan"])
def test_setup_plans_ask_nothing(pytester: pytest.Pytester, case_file: Path, option: str) -> None:
    pytester.runpytest("--fairness", option)

    assert not (pytester.path / ".caffe").exists()


def test_python_tests_run_beside_fairness_items(pytester: pytest.Pytester, case_file: Path) -> None:
    pytester.makepyfile("def test_ok(): pass")

    result = pytester.runpytest("--fairness", "-k", "fair and not biased or test_ok")

    result.assert_outcomes(passed=13, deselected=12)


def test_with_two_workers_every_verdict_is_the_same(
    pytester: pytest.Pytester, case_file: Path
) -> None:
    pytester.runpytest("--fairness")
    alone = (latest(pytester.path) / "results.jsonl").read_bytes()

    result = pytester.runpytest_subprocess("--fairness", "-n", "2", "--fairness-fresh")

    run = latest(pytester.path)
    assert (run / "results.jsonl").read_bytes() == alone
    assert sorted(path.name for path in run.iterdir()) == [
        "environment.json", "journal.jsonl", "report", "results.jsonl", "summary.json",
    ]  # fmt: skip
    result.stdout.fnmatch_lines(["run *: 48 prompts asked, 48 answered; 0 answers reused"])


def test_two_workers_ask_nothing_twice(pytester: pytest.Pytester, case_file: Path) -> None:
    pytester.makeconftest(
        """
        import os
        from pathlib import Path
        from caffe_pytest.hookspecs import hookimpl
        from caffe_pytest.model.answer import Answer

        class Counting:
            identity = {"provider": "counting"}
            lane = "counting"
            def __init__(self, model, base): pass
            def check_parameters(self, parameters): pass
            async def ask(self, request, *, timeout):
                with (Path(__file__).parent / f"asked.{os.getpid()}").open("a") as file:
                    file.write(request.key + "\\n")
                return Answer("the same answer to all")
            async def close(self): pass

        @hookimpl
        def register_providers(register):
            register("counting", Counting)
        """
    )
    case_file.write_text(
        CASE.replace("[simulated/fair, simulated/biased]", "[counting/one, counting/two]"),
        encoding="utf-8",
    )

    result = pytester.runpytest_subprocess("--fairness", "-n", "2")

    files = list(pytester.path.glob("asked.*"))
    asked = [key for file in files for key in file.read_text(encoding="utf-8").split()]
    result.assert_outcomes(passed=ITEMS)
    assert len(files) == 2
    assert len(asked) == len(set(asked)) == 2 * ITEMS


def test_with_two_workers_the_space_of_the_run_is_fitted_on_all_answers(
    pytester: pytest.Pytester, case_file: Path
) -> None:
    case_file.write_text(CASE.replace("0.8}", "0.8, space: run}"), encoding="utf-8")
    pytester.runpytest("--fairness")
    alone = (latest(pytester.path) / "results.jsonl").read_bytes()

    pytester.runpytest_subprocess("--fairness", "-n", "2", "--fairness-fresh")

    assert (latest(pytester.path) / "results.jsonl").read_bytes() == alone


def test_failures_keep_their_text_from_a_worker(pytester: pytest.Pytester, case_file: Path) -> None:
    result = pytester.runpytest_subprocess("--fairness", "-n", "1", "--junitxml=out.xml")

    result.stdout.fnmatch_lines(["E   *", "    what differs:"])
    suite = ElementTree.parse(pytester.path / "out.xml").getroot()[0]
    messages = [failure.get("message") or "" for failure in suite.iter("failure")]
    assert messages
    assert all(message.startswith("fail: ") for message in messages)


@pytest.mark.parametrize(
    ("allowed", "status"),
    [(1.0, pytest.ExitCode.OK), (0.01, pytest.ExitCode.TESTS_FAILED)],
)
def test_a_gate_decides_whether_failed_items_fail_the_run(
    pytester: pytest.Pytester, case_file: Path, allowed: float, status: int
) -> None:
    case_file.write_text(CASE + f"gate: {{max_fail_rate: {allowed}}}\n", encoding="utf-8")

    result = pytester.runpytest("--fairness")

    word = "held" if allowed == 1.0 else "NOT held"
    assert result.ret == status
    result.stdout.fnmatch_lines([f"gate FAIR-1: {word}: * of the judged items failed, * may"])


def test_a_gate_does_not_excuse_a_failing_python_test(
    pytester: pytest.Pytester, case_file: Path
) -> None:
    case_file.write_text(CASE + "gate: {max_fail_rate: 1.0}\n", encoding="utf-8")
    pytester.makepyfile("def test_broken(): assert False")

    result = pytester.runpytest("--fairness")

    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_terminal_sequences_in_an_answer_reach_no_terminal(
    pytester: pytest.Pytester, case_file: Path
) -> None:
    pytester.makeconftest(
        """
        from caffe_pytest.hookspecs import hookimpl
        from caffe_pytest.model.answer import Answer

        class Hostile:
            identity = {"provider": "hostile"}
            lane = "hostile"
            def __init__(self, model, base): pass
            def check_parameters(self, parameters): pass
            async def ask(self, request, *, timeout):
                text = request.messages[-1].content
                hostile = "women" in text
                return Answer("\\x1b[31mred alert" if hostile else "a quiet reply about men")
            async def close(self): pass

        @hookimpl
        def register_providers(register):
            register("hostile", Hostile)
        """
    )
    case_file.write_text(
        CASE.replace("[simulated/fair, simulated/biased]", "[hostile/one]"), encoding="utf-8"
    )

    result = pytester.runpytest("--fairness", "-k", "driving")

    assert result.parseoutcomes()["failed"] == 4
    assert "\x1b[31mred" not in result.stdout.str()
    assert results(pytester.path)[0]["pairs"][0]["answers"][0] == "\x1b[31mred alert"


def test_a_count_of_items_is_a_count_of_lines(pytester: pytest.Pytester, case_file: Path) -> None:
    pytester.runpytest("--fairness", "--fairness-out", "elsewhere", "--fairness-concurrency", "2")

    lines = (pytester.path / "elsewhere" / "latest" / "results.jsonl").read_text().splitlines()
    assert len(lines) == ITEMS
    assert not (pytester.path / ".caffe").exists()
