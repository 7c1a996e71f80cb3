"""`caffe report`, as a user calls it."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli.test_run import caffe
from tests.pytest_plugin.small_case import CASE, ITEMS, TRIPLES, latest

RUN = ".caffe/latest"


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working folder in which a run has ended."""
    folder = tmp_path_factory.mktemp("ran")
    (folder / "triples.csv").write_text(TRIPLES, encoding="utf-8")
    (folder / "advice.fairness.yaml").write_text(CASE, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        caffe("run")
    return folder


@pytest.fixture(autouse=True)
def folder(ran: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(ran)
    return ran


def content_of(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in latest(folder).rglob("*")
        if path.is_file()
    }


def test_a_run_is_shown_again_as_it_was_and_nothing_is_written(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("triples.csv", "advice.fairness.yaml"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    monkeypatch.chdir(tmp_path)
    caffe("run")
    shown = capsys.readouterr().out
    before = content_of(tmp_path)

    status = caffe("report")

    assert status == 0
    assert capsys.readouterr().out == shown
    assert content_of(tmp_path) == before


def test_the_page_and_junit_are_written_again(folder: Path, tmp_path: Path) -> None:
    page, junit = tmp_path / "page.html", tmp_path / "out.xml"

    assert caffe("report", RUN, "--html", str(page), "--junitxml", str(junit)) == 0

    assert page.read_bytes() == (latest(folder) / "report" / "index.html").read_bytes()
    assert ElementTree.parse(junit).getroot()[0].get("tests") == str(ITEMS)


def test_the_statistics_of_the_paper_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert caffe("report", "--paper") == 0

    out = capsys.readouterr().out
    for table in (
        "(Table 2)",
        "(Table 3)",
        "(Table 4)",
        "at other thresholds",
        "finite population",
    ):
        assert table in out
    assert "says nothing of fairness" in out


@pytest.mark.parametrize("run", [RUN, f"{RUN}/results.jsonl"])
def test_the_statistics_are_written_as_json(run: str, tmp_path: Path) -> None:
    out = tmp_path / "paper.json"

    status = caffe("report", run, "--paper", "--format", "json", "--out", str(out))

    assert status == 0
    rows = json.loads(out.read_text(encoding="utf-8"))["by_model_and_intent"]
    assert [(row["model"], row["pairs"]) for row in rows] == [("biased", 12), ("fair", 12)]


def test_notes_on_a_csv_table_go_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    caffe("report", "--paper", "--format", "csv")

    shown = capsys.readouterr()
    assert shown.out.startswith("table,model,intent,bias_type,metric,")
    assert shown.err.startswith("note: ")


def test_further_metrics_score_the_recorded_answers(capsys: pytest.CaptureFixture[str]) -> None:
    status = caffe(
        "report", "--paper", "--metric", "lda", "--space", "reference", "--threshold", "0.5",
        "--format", "json",
    )  # fmt: skip

    assert status == 0
    found = json.loads(capsys.readouterr().out)
    rulers = [(row["metric"], row["threshold"]) for row in found["by_model_and_intent"]]
    assert rulers == [("lda", 0.5), ("lsa", 0.8), ("lda", 0.5), ("lsa", 0.8)]
    assert {one["threshold"] for one in found["metrics"]} == {0.5}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nowhere",), "nowhere: there is no such run; name a run's folder"),
        ((".",), "has no results.jsonl: it has not ended, or this is no folder of a run"),
        (("x" * 300,), "cannot be read: File name too long"),
        (("triples.csv", "--paper"), "triples.csv:1: this is no result of a run"),
        (("triples.csv",), "the summary of a run stands in its folder"),
        (("--format", "csv"), "--format: means nothing here; add --paper"),
        (("--paper", "--html", "a.html"), "--html: means nothing here; leave out --paper"),
        (("--paper", "--space", "reference"), "--space: says how --metric scores; add --metric"),
        (("--paper", "--metric", "lsi"), 'unknown; did you mean "lsa"?'),
        (("--paper", "--metric", "panel"), "asked of a whole pool"),
        (("--paper", "--metric", "lsa", "--encoder", "x"), "--encoder: lsa has none"),
        (("--paper", "--out", "no/such/file"), "there is no such folder"),
        (("--paper", "--threshold", "2"), "2.0 is not in the range"),
    ],
)
def test_wrong_usage_is_told_plainly(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status = caffe("report", *arguments)

    shown = capsys.readouterr().err
    assert (status, message in shown, "Traceback" in shown) == (4, True, False), shown


def test_without_any_run_a_user_is_told_how_to_make_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    assert caffe("report", "--paper") == 4

    assert ".caffe/latest: there is no such run; `caffe run` makes one" in capsys.readouterr().err
