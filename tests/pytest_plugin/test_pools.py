"""Pools as pytest items: ids, selection, processes, gates, and what crosses into reports."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.pytest_plugin.small_case import CASE, TRIPLES, latest, results, verdicts

POOLS = """\
id: POOL-1
intent: recommendation
prompts: {knowledge_base: crows-pairs, bias_types: [gender, age], at_least: 24}
expected_fairness: {metric: sentiment, max_difference: {sentiment: 0.2}}
environment:
  models:
    - {alias: fair, model: simulated/fair}
    - {alias: tone, model: simulated/biased, parameters: {disparities: [tone], strength: 0.6}}
  temperature: 0.5
"""
PANEL = POOLS.replace("{metric: sentiment, max_difference: {sentiment: 0.2}}", "{metric: panel}")
FILE = "pools.fairness.yaml"
UNFAIR = {f"{FILE}::POOL-1::tone::gender", f"{FILE}::POOL-1::tone::age"}


@pytest.fixture
def pools(pytester: pytest.Pytester) -> Path:
    """Two models, two bias types: `tone` treats women and the old worse."""
    return write(pytester, POOLS)


@pytest.fixture
def mixed(pytester: pytest.Pytester, pools: Path) -> Path:
    """Pools, and pairs of another file."""
    (pytester.path / "triples.csv").write_text(TRIPLES, encoding="utf-8")
    (pytester.path / "advice.fairness.yaml").write_text(CASE, encoding="utf-8")
    return pools


def write(pytester: pytest.Pytester, text: str) -> Path:
    path = pytester.path / FILE
    path.write_text(text, encoding="utf-8")
    return path


def summary(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((latest(folder) / "summary.json").read_text())
    return found


def asked(folder: Path) -> list[str]:
    """The keys of all that was asked in the newest run."""
    lines = (latest(folder) / "journal.jsonl").read_bytes().splitlines()
    return [json.loads(line)["key"] for line in lines]


# -- items ------------------------------------------------------------------------------------


def test_a_pool_is_an_item_named_by_its_bias_type(pytester: pytest.Pytester, pools: Path) -> None:
    result = pytester.runpytest("--fairness", "--collect-only", "-q")

    ids = [line for line in result.outlines if line.startswith(FILE)]
    assert ids == [
        f"{FILE}::POOL-1::{model}::{bias_type}"
        for model in ("fair", "tone")
        for bias_type in ("age", "gender")
    ]
    result.stdout.fnmatch_lines(["fairness: 4 items, at most 384 prompts to 2 models"])
    assert not (pytester.path / ".caffe").exists()


def test_the_unfair_model_fails_and_the_fair_one_does_not(
    pytester: pytest.Pytester,
) -> None:
    write(pytester, PANEL)

    result = pytester.runpytest("--fairness")

    found = verdicts(pytester.path)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert {nodeid for nodeid, verdict in found.items() if verdict == "fail"} == UNFAIR
    assert "error" not in found.values()
    result.stdout.fnmatch_lines(["E   the groups are treated differently:*", "E  *sentiment*"])


def test_a_selected_pool_measures_what_it_measures_among_all(
    pytester: pytest.Pytester, pools: Path
) -> None:
    pytester.runpytest("--fairness")
    among_all = {one["nodeid"]: one for one in results(pytester.path)}

    result = pytester.runpytest("--fairness", "-k", "gender")

    alone = results(pytester.path)
    assert [one["bias_type"] for one in alone] == ["gender", "gender"]
    assert result.parseoutcomes()["deselected"] == 2
    for one in alone:
        whole = among_all[one["nodeid"]]
        assert one["p_value"] == whole["p_value"]
        assert one["control"] == whole["control"]
        assert measured(one) == measured(whole)


def measured(result: dict[str, Any]) -> dict[str, Any]:
    return {f["question"]: (f["difference"], f["interval"]) for f in result["findings"]}


def test_last_failed_runs_the_failed_pools_and_asks_nothing(
    pytester: pytest.Pytester, pools: Path
) -> None:
    pytester.runpytest("--fairness")

    result = pytester.runpytest("--fairness", "--lf")

    assert set(verdicts(pytester.path)) == UNFAIR
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert summary(pytester.path)["calls"]["asked"] == 0


def test_a_second_run_asks_nothing_and_says_the_same(
    pytester: pytest.Pytester, mixed: Path
) -> None:
    pytester.runpytest("--fairness")
    first = (latest(pytester.path) / "results.jsonl").read_bytes()

    pytester.runpytest("--fairness")

    assert summary(pytester.path)["calls"]["asked"] == 0
    assert (latest(pytester.path) / "results.jsonl").read_bytes() == first


# -- processes --------------------------------------------------------------------------------


def test_several_processes_write_the_same_bytes_and_ask_nothing_twice(
    pytester: pytest.Pytester, mixed: Path
) -> None:
    pytester.runpytest("--fairness", "--fairness-out=one")
    one = pytester.path / "one" / "latest" / "results.jsonl"

    result = pytester.runpytest_subprocess("--fairness", "--fairness-out=two", "-n2")

    two = pytester.path / "two" / "latest" / "results.jsonl"
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert one.read_bytes().count(b"\n") == 28
    assert one.read_bytes() == two.read_bytes()
    keys = Counter(
        json.loads(line)["key"] for line in two.with_name("journal.jsonl").read_bytes().splitlines()
    )
    assert set(keys.values()) == {1}
    assert json.loads(two.with_name("summary.json").read_text())["calls"] == {
        "asked": 432, "answered": 432, "reused": 0,
    }  # fmt: skip


def test_stopping_at_the_first_failure_leaves_answers_for_the_next_run(
    pytester: pytest.Pytester, pools: Path
) -> None:
    stopped = pytester.runpytest("--fairness", "-x", "-k", "tone")
    incomplete = summary(pytester.path)
    answered = asked(pytester.path)

    pytester.runpytest("--fairness", "-k", "tone")

    assert stopped.ret == pytest.ExitCode.TESTS_FAILED
    assert not incomplete["complete"]
    assert summary(pytester.path)["complete"]
    assert summary(pytester.path)["calls"]["asked"] == 192 - len(answered)


def test_an_interrupted_session_is_not_complete_and_loses_no_answer(
    pytester: pytest.Pytester, pools: Path
) -> None:
    conftest = pytester.makeconftest(
        """
        def pytest_runtest_logreport(report):
            if report.when == "call":
                raise KeyboardInterrupt
        """
    )
    stopped = pytester.runpytest_subprocess("--fairness")
    incomplete = summary(pytester.path)
    answered = asked(pytester.path)
    conftest.unlink()

    pytester.runpytest("--fairness")

    assert stopped.ret == pytest.ExitCode.INTERRUPTED
    assert (incomplete["complete"], incomplete["total"]["items"]) == (False, 1)
    assert len(results(pytester.path)) == 4
    assert summary(pytester.path)["calls"]["asked"] == 384 - len(answered)
    assert len(answered) == len(set(answered)) > 96


# -- gates ------------------------------------------------------------------------------------

UNDECIDED = PANEL.replace("at_least: 24", "at_least: 4").replace("[gender, age]", "[gender]")
ONE_MODEL = UNDECIDED[: UNDECIDED.index("    - {alias: tone")] + "  temperature: 0.5\n"


def test_an_inconclusive_pool_is_red(pytester: pytest.Pytester) -> None:
    write(pytester, ONE_MODEL)

    result = pytester.runpytest("--fairness")

    result.assert_outcomes(failed=1)
    assert verdicts(pytester.path) == {f"{FILE}::POOL-1::fair::gender": "inconclusive"}
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["E   the answers do not decide it:*"])


def test_an_inconclusive_pool_is_told_and_green_where_the_gate_says_so(
    pytester: pytest.Pytester,
) -> None:
    write(pytester, ONE_MODEL + "gate: {inconclusive: warn}\n")

    result = pytester.runpytest("--fairness", "-rs")

    result.assert_outcomes(skipped=1)
    assert result.ret == pytest.ExitCode.OK
    assert summary(pytester.path)["complete"]
    result.stdout.fnmatch_lines(["SKIPPED * inconclusive: the answers do not decide it:*"])


def test_an_unfair_pool_is_red_although_inconclusive_ones_are_told(
    pytester: pytest.Pytester, pools: Path
) -> None:
    write(pytester, POOLS + "gate: {inconclusive: warn}\n")

    result = pytester.runpytest("--fairness")

    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert result.parseoutcomes()["failed"] == 2


@pytest.mark.parametrize(("rate", "status"), [(0.5, 0), (0.49, 1)])
def test_so_many_pools_may_fail(pytester: pytest.Pytester, rate: float, status: int) -> None:
    write(pytester, POOLS + f"gate: {{max_fail_rate: {rate}}}\n")

    result = pytester.runpytest("--fairness")

    assert Counter(verdicts(pytester.path).values()) == {"pass": 2, "fail": 2}
    assert result.ret == status


UNSTEADY = """
from caffe_pytest.hookspecs import hookimpl
from caffe_pytest.model.answer import Answer


class Unsteady:
    identity = {"provider": "unsteady"}
    lane = "unsteady"

    def __init__(self, model, base):
        pass

    def check_parameters(self, parameters):
        pass

    async def ask(self, request, *, timeout):
        return Answer("one two three four" * (1 + request.repetition))

    async def close(self):
        pass


@hookimpl
def register_providers(register):
    register("unsteady", Unsteady)
"""


def test_failing_controls_make_a_run_red_although_all_pools_pass(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(UNSTEADY)
    text = ONE_MODEL.replace("simulated/fair", "unsteady/one").replace("[gender]", "[gender, age]")
    text = text.replace("{metric: panel}", "{metric: length}")
    write(pytester, text.replace("at_least: 4", "at_least: 24"))

    result = pytester.runpytest("--fairness")

    result.assert_outcomes(passed=2)
    assert [one["control"]["failed"] for one in results(pytester.path)] == [1, 1]
    assert summary(pytester.path)["control_alarm"]
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_a_model_out_of_reach_is_an_error_of_its_pools(pytester: pytest.Pytester) -> None:
    absent = "{alias: absent, model: openai/none, api_key: env:CAFFE_TEST_NO_SUCH_KEY}"
    write(pytester, ONE_MODEL.replace("{alias: fair, model: simulated/fair}", absent))

    result = pytester.runpytest("--fairness")

    result.assert_outcomes(errors=1)
    assert verdicts(pytester.path) == {f"{FILE}::POOL-1::absent::gender": "error"}
    result.stdout.fnmatch_lines(["*16 of 16 answers are missing: 16 unauthorised*"])


# -- what crosses into reports ----------------------------------------------------------------

WALK = """
import json


def kinds(value):
    if isinstance(value, dict):
        return set().union(*map(kinds, value.values()), *map(kinds, value))
    if isinstance(value, (list, tuple)):
        return set().union(*map(kinds, value))
    return {type(value).__module__ + "." + type(value).__qualname__}


def pytest_runtest_logreport(report):
    plain = report._to_json()
    json.dumps(plain)
    found = kinds(report.user_properties) | kinds(plain) | kinds(report.sections)
    with open("kinds.txt", "a") as file:
        file.write("\\n".join(found) + "\\n")
"""


def test_no_number_of_numpy_crosses_into_a_report(pytester: pytest.Pytester, mixed: Path) -> None:
    pytester.makeconftest(WALK)
    write(pytester, PANEL)

    pytester.runpytest("--fairness")

    kinds = set((pytester.path / "kinds.txt").read_text().split())
    assert kinds <= {f"builtins.{kind}" for kind in ("str", "int", "float", "bool", "NoneType")}
    for one in results(pytester.path):
        json.dumps(one, allow_nan=False)


def test_a_wrong_expectation_is_one_collection_error(pytester: pytest.Pytester) -> None:
    write(pytester, PANEL.replace("panel", "panle"))

    result = pytester.runpytest("--fairness")

    assert result.parseoutcomes() == {"errors": 1}
    result.stdout.fnmatch_lines(
        [f'*{FILE}:4: expected_fairness.metric: unknown metric "panle"; did you mean "panel"?']
    )
