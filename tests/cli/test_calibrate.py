"""`caffe calibrate`, as a user calls it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from caffe_pytest.errors import JournalError
from caffe_pytest.execution.executor import Executor
from caffe_pytest.execution.journal import Journal
from tests.cli.test_run import caffe
from tests.openai_server import OpenAIServer
from tests.pytest_plugin.small_case import CASE, TRIPLES

POOLED = """\
id: POOL-1
intent: recommendation
prompts: {knowledge_base: triples.csv, at_least: 8}
expected_fairness: {metric: panel}
environment: {models: [simulated/fair], temperature: 0.7}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "triples.csv").write_text(TRIPLES, encoding="utf-8")
    (tmp_path / "pool.fairness.yaml").write_text(POOLED, encoding="utf-8")
    return tmp_path


def only_run(folder: Path) -> Path:
    (run,) = (folder / ".caffe" / "runs").iterdir()
    return run


def calibration(folder: Path) -> dict[str, Any]:
    content = (only_run(folder) / "calibration.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(content)
    return loaded


def test_a_calibration_is_told_and_kept(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert caffe("calibrate") == 0

    out = capsys.readouterr().out
    place = f".caffe/runs/{only_run(folder).name}"
    assert "64 prompts asked, 64 answered; 0 answers reused" in out
    assert "POOL-1 with fair: 16 prompt pairs, 2 answers to each prompt" in out
    assert re.search(r"^  lsa, groups masked +0\.\d{3} +0\.\d{3} +0\.\d\d \[", out, re.MULTILINE)
    assert re.search(r"^  refusal +0\.0 points ", out, re.MULTILINE)
    assert "controls: 0 of 2 failed at 5 %" in out
    assert "advice: threshold: 0." in out
    assert "advice: for one verdict a pool, 8 prompt pairs x 2 answers suffice for max_gap" in out
    assert f"calibration: {place}/calibration.json" in out
    assert f"report: {place}/report/calibration.html" in out
    assert not (folder / ".caffe" / "latest").exists()


def test_a_run_reuses_the_answers_of_a_calibration(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    caffe("calibrate", "--answers", "3")
    capsys.readouterr()

    caffe("run")

    assert "0 prompts asked, 0 answered; 64 answers reused" in capsys.readouterr().out


def test_a_calibration_reuses_the_answers_of_a_run(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "pair.fairness.yaml").write_text(CASE, encoding="utf-8")
    caffe("run")
    capsys.readouterr()

    assert caffe("calibrate") == 0

    # the pool was asked twice, the pairs once: 3 triples x 4 prompts x 2 groups x 2 models
    assert "48 prompts asked, 48 answered; 112 answers reused" in capsys.readouterr().out


def test_the_rate_and_the_metric_are_chosen(folder: Path) -> None:
    assert caffe("calibrate", "--false-alarms", "0.2", "--metric", "lsa", "--pilot", "4") == 0

    told = calibration(folder)
    (model,) = told["models"]
    assert told["false_alarms"] == 0.2
    assert model["prompts"] == 8
    assert [one["metric"] for one in model["comparisons"]] == ["lsa", "lsa"]
    point = model["comparisons"][0]["at_threshold"]
    assert point["false_alarms"] <= 0.2
    assert len(model["comparisons"][0]["curve"]) == 101


def test_the_page_needs_no_script_and_no_network(folder: Path) -> None:
    caffe("calibrate")

    page = (only_run(folder) / "report" / "calibration.html").read_text(encoding="utf-8")
    assert "default-src 'none'; style-src 'sha256-" in page
    assert "<script" not in page
    assert not re.findall(r"(?:src|href)=\"(?!#|data:)", page)
    assert page.count('role="img"') == 2
    assert page.startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--metric", "lsi"), 'unknown metric "lsi"; did you mean "lsa"?'),
        (("--answers", "1"), "1 is not in the range"),
        (("--false-alarms", "0.9"), "0.9 is not in the range"),
        (("missing",), "there is no such file or folder"),
        (("--out", "triples.csv"), "triples.csv"),
    ],
)
def test_wrong_usage_is_exit_code_4_and_no_traceback(
    folder: Path, arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert caffe("calibrate", *arguments) == 4

    err = capsys.readouterr().err
    assert message in err
    assert "Traceback" not in err
    assert not (folder / ".caffe").exists()


def test_problems_keep_a_calibration_from_asking(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "b.fairness.yaml").write_text(CASE.replace("lsa", "lsi"), encoding="utf-8")

    assert caffe("calibrate") == 4
    assert 'unknown metric "lsi"; did you mean "lsa"?' in capsys.readouterr().err
    assert not (folder / ".caffe").exists()


def test_no_test_case_is_exit_code_5(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "pool.fairness.yaml").unlink()

    assert caffe("calibrate") == 5
    assert "nothing to calibrate" in capsys.readouterr().err


def test_an_outage_calibrates_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with OpenAIServer() as server:
        server.plant("unauthorised")
        text = POOLED.replace(
            "[simulated/fair]", f'[{{model: openai/one, alias: one, api_base: "{server.url}"}}]'
        )
        (folder / "pool.fairness.yaml").write_text(text, encoding="utf-8")

        status = caffe("calibrate")

    captured = capsys.readouterr()
    assert status == 1
    assert "POOL-1 with one: no calibration from nothing: unauthorised: " in captured.err
    assert "Traceback" not in captured.err
    assert "threshold" not in captured.out
    assert (only_run(folder) / "journal.jsonl").is_file()
    assert not (only_run(folder) / "calibration.json").exists()


def test_a_calibration_that_is_stopped_keeps_its_answers(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    wait, rounds = Executor.wait, iter(range(100))

    def stopped_in_the_second_round(*arguments: Any) -> Any:
        if next(rounds) == 1:
            raise KeyboardInterrupt
        return wait(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(Executor, "wait", stopped_in_the_second_round)
        status = caffe("calibrate")

    err = capsys.readouterr().err
    assert status == 2
    assert f"kept in .caffe/runs/{only_run(folder).name}/journal.jsonl; run it again" in err
    assert not (only_run(folder) / "calibration.json").exists()
    assert caffe("calibrate") == 0
    reused = re.search(r"(\d+) answers reused", capsys.readouterr().out)
    assert reused is not None
    assert int(reused[1]) >= 32


def test_a_disk_that_is_full_ends_it_with_exit_code_3(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise JournalError("journal.jsonl: cannot be written: No space left on device; make room")

    monkeypatch.setattr(Journal, "write", full)

    assert caffe("calibrate") == 3
    assert "No space left on device" in capsys.readouterr().err
