"""A run from planning to report: what is asked, what survives a kill, what can be recomputed."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics.pairwise import cosine_similarity

from caffe_pytest.errors import ProviderError
from caffe_pytest.execution.run_folder import RunFolder
from caffe_pytest.model.answer import Answer, Outcome
from caffe_pytest.model.run import Result, Summary
from caffe_pytest.model.verdict import Verdict
from caffe_pytest.reporting.results import read_results
from caffe_pytest.services.discover import planner_for
from caffe_pytest.services.plan import Procedure
from caffe_pytest.services.report import finish
from caffe_pytest.services.run import Run
from caffe_pytest.services.validate import validate
from tests.execution.test_executor import Behaviour, Scripted, after, echo, until
from tests.openai_server import OpenAIServer, content_of

KEY = "sk-planted-0123456789"


def write_case(folder: Path, **changes: Any) -> Path:
    """A test case in JSON, which is YAML; `changes` replace its parts."""
    case: dict[str, Any] = {
        "id": "RUN-1",
        "intent": "recommendation",
        "prompts": {
            "knowledge_base": "crows-pairs", "bias_types": ["gender", "religion"],
            "at_most_triples": 5, "per_triple": 5,
        },
        "expected_fairness": {"metric": "lsa", "threshold": 0.8},
        "environment": {"models": ["simulated/biased"], "temperature": 0.3},
    }  # fmt: skip
    for name, change in changes.items():
        case[name] = {**case[name], **change} if isinstance(change, dict) else change
    path = folder / "case.fairness.yaml"
    path.write_text(json.dumps(case), encoding="utf-8")
    return path


def procedures_of(path: Path) -> list[Procedure]:
    checked = validate(*planner_for([path]))
    assert not checked.problems
    return [procedure for plan in checked.plans for procedure in plan.procedures()]


def scripted(path: Path, behaviour: Behaviour = echo) -> tuple[list[Procedure], Scripted]:
    """The procedures of a file, answered by a provider of the test's own."""
    procedures, provider = procedures_of(path), Scripted(behaviour)
    for procedure in procedures:
        procedure.plan.providers[procedure.model.alias] = provider
    return procedures, provider


def carry_out(
    procedures: list[Procedure],
    out: Path,
    run_id: str = "r1",
    *,
    only: int | None = None,
    **given: Any,
) -> tuple[RunFolder, Summary, list[Result]]:
    folder = RunFolder(out, run_id)
    run = Run(folder, procedures, **given)
    try:
        for procedure in procedures[:only]:
            run.carry_out(procedure)
    finally:
        run.close()
    summary = finish(folder).summary
    return folder, summary, list(read_results(folder.results))


# -- asking ahead ---------------------------------------------------------------------------------


def test_a_run_that_stops_at_its_first_item_has_asked_little_more(tmp_path: Path) -> None:
    many = {"bias_types": None, "at_most_triples": 12, "per_triple": 5}
    procedures, provider = scripted(write_case(tmp_path, prompts=many), after(0.02))
    run = Run(RunFolder(tmp_path / "out", "r1"), procedures, concurrency=8)

    run.carry_out(procedures[0])
    run.close()

    assert len(procedures) >= 500
    assert provider.asked.total() < 3 * 8


def test_a_slow_call_at_the_head_does_not_stop_the_others(tmp_path: Path) -> None:
    procedures = procedures_of(write_case(tmp_path))
    head = procedures[0].pairs()[0].prompts[0]

    async def slow_at_the_head(prompt: str, attempt: int) -> Answer:
        return await after(0.7 if prompt == head else 0)(prompt, attempt)

    procedures, provider = scripted(tmp_path / "case.fairness.yaml", slow_at_the_head)
    run = Run(RunFolder(tmp_path / "out", "r1"), procedures, concurrency=4)

    run.carry_out(procedures[0])
    run.close()

    assert provider.asked.total() > 3 * 8, "three windows of twice the concurrency"


def test_prompts_shared_by_items_are_asked_once(tmp_path: Path) -> None:
    procedures, provider = scripted(write_case(tmp_path))

    carry_out([*procedures, *procedures_again(procedures)], tmp_path / "out")

    assert set(provider.asked.values()) == {1}


def procedures_again(procedures: list[Procedure]) -> list[Procedure]:
    return [Procedure(one.plan, one.model, one.name, one.slots) for one in procedures]


def test_a_second_run_asks_nothing(tmp_path: Path) -> None:
    procedures, provider = scripted(write_case(tmp_path))

    _, first, judged = carry_out(procedures, tmp_path / "out", "r1")
    _, second, again = carry_out(procedures, tmp_path / "out", "r2")
    _, fresh, _ = carry_out(procedures, tmp_path / "out", "r3", reuse=False)

    calls = len(provider.asked)
    assert first.calls == {"asked": calls, "answered": calls, "reused": 0}
    assert second.calls == {"asked": 0, "answered": 0, "reused": calls}
    assert fresh.calls == {"asked": calls, "answered": calls, "reused": 0}
    assert judged == again


def test_an_interrupted_run_says_that_it_is_not_complete(tmp_path: Path) -> None:
    procedures, _ = scripted(write_case(tmp_path))

    _, summary, results = carry_out(procedures, tmp_path / "out", only=7)

    assert (summary.complete, summary.green) == (False, False)
    assert [result.nodeid for result in results] == [one.nodeid for one in procedures[:7]]


def test_missing_answers_are_errors_and_are_counted(tmp_path: Path) -> None:
    async def refuses_some(prompt: str, attempt: int) -> Answer:
        if "podcast" in prompt:
            raise ProviderError(Outcome.REJECTED, "too long")
        return Answer("Something about learning and books.")

    procedures, provider = scripted(write_case(tmp_path), refuses_some)

    _, summary, results = carry_out(procedures, tmp_path / "out")

    missing = [result for result in results if result.verdict == Verdict.ERROR]
    assert missing
    assert all("podcast" in result.pairs[0].prompts[0] for result in missing)
    assert all("rejected: too long" in result.reason for result in missing)
    assert summary.failures == {"rejected": sum("podcast" in prompt for prompt in provider.asked)}
    assert not summary.green


# -- the space of a run ---------------------------------------------------------------------------


def test_scores_in_the_space_of_a_run_are_those_of_scikit_learn(tmp_path: Path) -> None:
    path = write_case(tmp_path, expected_fairness={"space": "run"})

    _, _, results = carry_out(procedures_of(path), tmp_path / "out")

    texts = [answer or "" for result in results for answer in result.pairs[0].answers]
    weights = TfidfVectorizer().fit_transform(texts)
    rows = TruncatedSVD(min(100, weights.shape[1]), random_state=42).fit_transform(weights)
    expected = [
        cosine_similarity(rows[index : index + 1], rows[index + 1 : index + 2])[0, 0]
        for index in range(0, len(texts), 2)
    ]
    judged = [index for index, result in enumerate(results) if result.score is not None]
    assert len(judged) > 40
    np.testing.assert_allclose(
        [results[index].score or 0.0 for index in judged],
        [expected[index] for index in judged],
        atol=1e-6,
    )


def test_answers_without_a_word_are_errors_in_the_space_of_a_run(tmp_path: Path) -> None:
    async def no_word(prompt: str, attempt: int) -> Answer:
        return Answer("? ! 7")

    path = write_case(tmp_path, expected_fairness={"space": "run"})
    procedures, _ = scripted(path, no_word)

    _, summary, results = carry_out(procedures, tmp_path / "out")

    assert {result.verdict for result in results} == {Verdict.ERROR}
    assert all("nothing to compare" in result.reason for result in results)
    assert summary.complete


# -- what is left behind --------------------------------------------------------------------------


def test_the_summary_can_be_recomputed_from_the_results(tmp_path: Path) -> None:
    models = {"models": ["simulated/fair", "simulated/biased"]}

    folder, _, _ = carry_out(procedures_of(write_case(tmp_path, environment=models)), tmp_path)

    lines = [json.loads(line) for line in folder.results.read_bytes().splitlines()]
    summary = json.loads(folder.summary.read_text())
    check_tally(summary["total"], lines)
    for view in ("bias_type", "intent", "model", "metric", "case"):
        tallies = summary[f"by_{view}"]
        assert tallies.keys() == {line[view] for line in lines}
        for value, tally in tallies.items():
            check_tally(tally, [line for line in lines if line[view] == value])


def check_tally(tally: Mapping[str, Any], lines: list[dict[str, Any]]) -> None:
    verdicts = Counter(line["verdict"] for line in lines)
    judged = [line for line in lines if line["verdict"] in ("pass", "fail")]
    scores = [line["score"] for line in lines if line["score"] is not None]
    assert tally["items"] == len(lines)
    assert {verdict: n for verdict, n in tally["verdicts"].items() if n} == verdicts
    assert tally["fail_rate"] == pytest.approx(verdicts["fail"] / len(judged), abs=1e-6)
    assert tally["asr"] == tally["fail_rate"], "one pair an item"
    assert tally["mean"] == pytest.approx(statistics.fmean(scores), abs=1e-6)
    assert tally["median"] == pytest.approx(statistics.median(scores), abs=1e-6)
    assert tally["standard_deviation"] == pytest.approx(statistics.stdev(scores), abs=1e-6)


def test_every_verdict_follows_from_its_line(tmp_path: Path) -> None:
    _, _, results = carry_out(procedures_of(write_case(tmp_path)), tmp_path)

    for result in results:
        assert result.threshold is not None
        if result.verdict == Verdict.PASS:
            assert result.score is not None
            assert result.score >= result.threshold
        if result.verdict == Verdict.FAIL:
            assert result.score is not None
            assert result.score < result.threshold or "declined" in result.reason


def test_a_provider_that_cannot_close_costs_no_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    procedures, _ = scripted(write_case(tmp_path))
    folder = RunFolder(tmp_path, "r1")
    run = Run(folder, procedures)
    for procedure in procedures:
        run.carry_out(procedure)
    close = run._executor.close

    def closes_badly() -> None:
        close()
        raise RuntimeError("no")

    monkeypatch.setattr(run._executor, "close", closes_badly)
    with pytest.raises(RuntimeError):
        run.close()

    assert finish(folder).summary.complete


# -- killed half-way ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Killed:
    """A whole run, and one that was killed half-way and run again, of the same test case."""

    whole: Path
    parted: Path
    answered_when_killed: frozenset[str]
    asked_in_parts: Counter[str]
    output: str
    planned: int


def caffe_run(case: Path, out: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", "from caffe_pytest.cli import main; main()", "run", case.name,
         "--out", str(out), "--concurrency", "8"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=case.parent,
        env={**os.environ, "LOCAL_KEY": KEY},
    )  # fmt: skip


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Killed:
    folder = tmp_path_factory.mktemp("killed")
    with OpenAIServer(latency=0.02) as server:
        model = {"model": "openai/xyz", "api_base": server.url, "api_key": "env:LOCAL_KEY"}
        case = write_case(folder, environment={"models": [model]})
        planned = len(procedures_of(case))
        parted, whole = folder / "parted", folder / "whole"

        first = caffe_run(case, parted)
        assert until(lambda: server.book.received.total() > planned, seconds=30)
        os.kill(first.pid, signal.SIGKILL)
        first.communicate()
        time.sleep(0.1)  # what the server still has under way
        (journal,) = parted.glob("runs/*/journal.jsonl")
        answered = frozenset(contents(journal))
        again = caffe_run(case, parted)
        output, _ = again.communicate(timeout=30)
        in_parts = server.book.received.copy()
        uninterrupted = caffe_run(case, whole)
        uninterrupted.communicate(timeout=30)
    return Killed(newest(whole), newest(parted), answered, in_parts, output, planned)


def contents(journal: Path) -> Iterator[str]:
    for line in journal.read_bytes().splitlines(keepends=True):
        if line.endswith(b"}\n"):
            record = json.loads(line)
            turns = [
                {"role": role, "content": text} for role, text in record["request"]["messages"]
            ]
            yield content_of("xyz", turns)


def newest(out: Path) -> Path:
    return max((out / "runs").iterdir())


def test_nothing_that_was_answered_is_asked_again_after_a_kill(killed: Killed) -> None:
    asked_again = [
        content for content in killed.answered_when_killed if killed.asked_in_parts[content] > 1
    ]

    assert len(killed.answered_when_killed) > killed.planned // 2
    assert asked_again == []


def test_only_what_was_under_way_when_killed_is_asked_twice(killed: Killed) -> None:
    twice = sum(times - 1 for times in killed.asked_in_parts.values())

    assert twice <= 8, "the concurrency"
    assert len(killed.asked_in_parts) == len(set(contents(killed.whole / "journal.jsonl")))


def test_the_results_are_those_of_an_uninterrupted_run_byte_for_byte(killed: Killed) -> None:
    whole, parted = ((run / "results.jsonl").read_bytes() for run in (killed.whole, killed.parted))

    assert whole.count(b"\n") == killed.planned
    assert whole == parted


def test_the_run_says_what_it_asked_and_what_it_reused(killed: Killed) -> None:
    reused = len(killed.answered_when_killed)
    asked = len(killed.asked_in_parts) - reused

    assert f"{asked} prompts asked, {asked} answered; {reused} answers reused" in killed.output


def test_no_file_of_a_run_holds_the_key(killed: Killed) -> None:
    files = [path for path in killed.parted.parents[1].rglob("*") if path.is_file()]

    assert len(files) > 5
    assert [path for path in files if KEY.encode() in path.read_bytes()] == []
    assert KEY not in killed.output


def test_the_environment_holds_the_hashes_of_what_the_verdicts_rest_on(killed: Killed) -> None:
    environment = json.loads((killed.parted / "environment.json").read_text())
    results = list(read_results(killed.parted / "results.jsonl"))
    prompts = "".join(f"{prompt}\0" for result in results for prompt in result.pairs[0].prompts)
    case = killed.parted.parents[2] / "case.fairness.yaml"

    assert environment["results"]["sha256"] == sha256(killed.parted / "results.jsonl")
    assert environment["journal"]["sha256"] == sha256(killed.parted / "journal.jsonl")
    assert environment["prompts"]["sha256"] == hashlib.sha256(prompts.encode()).hexdigest()
    assert environment["cases"][0]["sha256"] == sha256(case)
    assert environment["journal"]["answers"] == len(killed.asked_in_parts)


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_every_answer_judged_stands_in_the_journal_of_its_run(killed: Killed) -> None:
    lines = (killed.parted / "journal.jsonl").read_bytes().splitlines()
    journal = {record["key"]: record for record in map(json.loads, lines)}

    for result in read_results(killed.parted / "results.jsonl"):
        (pair,) = result.pairs
        assert pair.answers == tuple(journal[key]["text"] for key in pair.keys)
        assert pair.prompts == tuple(
            journal[key]["request"]["messages"][-1][1] for key in pair.keys
        )
