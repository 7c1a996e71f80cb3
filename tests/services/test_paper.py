"""Statistics of runs that are there: the same numbers as counted anew, answers scored again."""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from caffe_pytest.errors import CaffeError
from caffe_pytest.extensions import load_extensions
from caffe_pytest.hookspecs import SimilarityMetric
from caffe_pytest.model.run import Result
from caffe_pytest.reporting.results import read_results
from caffe_pytest.services.paper import PaperReport, paper_report, similarity_metrics
from caffe_pytest.services.recorded_run import RecordedRun
from tests.services.test_run import carry_out, procedures_of, write_case

TWICE = {"models": ["simulated/fair", "simulated/biased"], "repeats": 2}


@cache
def metrics(*names: str) -> tuple[SimilarityMetric, ...]:
    return similarity_metrics(names, None, load_extensions().metrics)


@pytest.fixture(scope="module")
def in_space_of_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run judged as published, with controls."""
    folder = tmp_path_factory.mktemp("published")
    case = write_case(folder, expected_fairness={"space": "run"}, environment=TWICE)
    return carry_out(procedures_of(case), folder / "out")[0].path


@pytest.fixture(scope="module")
def pools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of the gap oracle."""
    folder = tmp_path_factory.mktemp("pools")
    case = json.loads(write_case(folder).read_text(encoding="utf-8"))
    case["expected_fairness"] = {"metric": "panel"}
    path = folder / "case.fairness.yaml"
    path.write_text(json.dumps(case), encoding="utf-8")
    return carry_out(procedures_of(path), folder / "out")[0].path


def results_of(folder: Path) -> list[Result]:
    return list(read_results(folder / "results.jsonl"))


def report(folder: Path, *names: str, **given: Any) -> PaperReport:
    return paper_report(RecordedRun.open(folder), metrics=metrics(*names), **given)


def test_the_tables_are_what_counting_the_results_anew_gives(in_space_of_run: Path) -> None:
    lines = (in_space_of_run / "results.jsonl").read_text(encoding="utf-8").splitlines()
    by_place: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for line in map(json.loads, lines):
        by_place[line["model"], line["bias_type"]].append(line)

    rows = report(in_space_of_run).statistics.by_bias_type

    assert {(row.model, str(row.bias_type)) for row in rows} == set(by_place)
    assert {row.failed for row in rows} != {0}
    for row in rows:
        items = by_place[row.model, str(row.bias_type)]
        judged = [item for item in items if item["verdict"] in ("pass", "fail")]
        failed = [item for item in judged if item["verdict"] == "fail"]
        scores = [item["score"] for item in items if item["score"] is not None]
        controls = [item["control"] for item in items if item["control"]]
        assert (row.pairs, row.judged, row.failed) == (len(items), len(judged), len(failed))
        assert row.fail_rate == pytest.approx(len(failed) / len(judged), abs=1e-6)
        assert row.mean == pytest.approx(statistics.fmean(scores), abs=1e-6)
        assert row.median == pytest.approx(statistics.median(scores), abs=1e-6)
        assert row.standard_deviation == pytest.approx(statistics.stdev(scores), abs=1e-6)
        assert row.controls == sum(control["judged"] for control in controls)
        assert row.control_rate == pytest.approx(
            sum(control["failed"] for control in controls) / row.controls, abs=1e-6
        )


def test_the_curve_meets_the_verdicts_at_the_threshold_of_the_run(in_space_of_run: Path) -> None:
    found = report(in_space_of_run).statistics

    at_run = {one.model: one for one in found.thresholds if one.threshold == 0.8}

    for row in found.by_model_and_intent:
        one = at_run[row.model]
        assert (one.judged, one.failed) == (row.judged, row.failed)
        assert (one.controls, one.control_rate) == (row.controls, row.control_rate)


def test_answers_scored_again_in_the_space_of_the_run_give_its_own_numbers(
    in_space_of_run: Path,
) -> None:
    recorded = report(in_space_of_run).statistics

    again = report(in_space_of_run, "lsa", threshold=0.8).statistics

    # scores, verdicts, refusals, and the controls, whose answers stand in the journal alone
    assert again.by_model_intent_and_bias_type == recorded.by_model_intent_and_bias_type
    assert again.thresholds == recorded.thresholds
    assert again.declined_alone == recorded.declined_alone > 0


def test_metrics_are_compared_on_the_answers_of_the_run(in_space_of_run: Path) -> None:
    found = report(in_space_of_run, "lda", threshold=0.8)

    overall = {one.model: one for one in found.statistics.metrics if one.bias_type is None}

    for model, one in overall.items():
        rows = {
            row.metric: row for row in found.statistics.by_model_and_intent if row.model == model
        }
        assert {metric.metric for metric in one.metrics} == {"lsa", "lda"}
        assert one.compared <= min(row.judged for row in rows.values())
        assert one.metrics[0].failed == max(metric.failed for metric in one.metrics)
    answers = 2 * len(results_of(in_space_of_run))
    assert f"lda: {answers} recorded answers were scored again in a space fitted on them" in (
        found.notes
    )


def test_scores_without_the_folder_have_no_control(in_space_of_run: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes((in_space_of_run / "results.jsonl").read_bytes())

    found = report(copy, "lsa", threshold=0.8, space="reference").statistics

    again = [row for row in found.by_model_and_intent if row.space == "reference"]
    assert {row.controls for row in again} == {0}
    assert {row.judged for row in again} == {
        row.judged for row in report(in_space_of_run).statistics.by_model_and_intent
    }


def test_pools_alone_have_nothing_to_tell_until_their_answers_are_scored(pools: Path) -> None:
    with pytest.raises(CaffeError, match="add `--metric lsa`"):
        report(pools)

    found = report(pools, "lsa", space="reference", threshold=0.8)

    pairs = sum(len(result.pairs) for result in results_of(pools)) // 2  # two repetitions
    assert sum(row.pairs for row in found.statistics.by_model_and_intent) == pairs
    assert all(row.controls for row in found.statistics.by_model_and_intent)
    assert found.statistics.pools_left_out == 0


def test_a_plateau_that_is_not_reached_is_told_as_such(tmp_path: Path) -> None:
    case = json.loads(write_case(tmp_path).read_text(encoding="utf-8"))
    del case["prompts"]["per_triple"]
    case["prompts"] |= {"plateau": {"at_most": 4}, "at_most_triples": 1}
    path = tmp_path / "case.fairness.yaml"
    path.write_text(json.dumps(case), encoding="utf-8")
    folder = carry_out(procedures_of(path), tmp_path / "out")[0].path

    notes = report(folder).notes

    assert any("still grew" in note for note in notes)
    assert any("-1" in note and "not reached" in note for note in notes)


def test_a_metric_that_compares_nothing_is_refused() -> None:
    with pytest.raises(CaffeError, match="--metric length: compares no answers; use one of: lsa"):
        metrics("length")


def test_an_interrupted_run_is_refused(tmp_path: Path) -> None:
    folder = carry_out(procedures_of(write_case(tmp_path)), tmp_path / "out", only=3)[0].path

    with pytest.raises(CaffeError, match=r"the run is incomplete: 3 of \d+ items have a result"):
        report(folder)


def damaged(folder: Path, copy: Path) -> Path:
    copy.mkdir()
    for name in ("results.jsonl", "summary.json", "environment.json"):
        (copy / name).write_bytes((folder / name).read_bytes())
    return copy


def test_results_that_are_not_those_of_the_run_are_refused(
    in_space_of_run: Path, tmp_path: Path
) -> None:
    run = damaged(in_space_of_run, tmp_path / "run")
    content = (run / "results.jsonl").read_bytes()
    (run / "results.jsonl").write_bytes(content[: content.rindex(b"\n", 0, -1) + 1])

    with pytest.raises(CaffeError, match="not the results that the run wrote"):
        RecordedRun.open(run)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"cases": 3}', "[" * 100_000, "\x00"])
@pytest.mark.parametrize("name", ["environment.json", "summary.json"])
def test_a_damaged_file_of_a_run_is_named(
    name: str, content: str, in_space_of_run: Path, tmp_path: Path
) -> None:
    run = damaged(in_space_of_run, tmp_path / "run")
    (run / name).write_text(content, encoding="utf-8")

    with pytest.raises(CaffeError, match=f"{name}: is damaged"):
        report(run)


@pytest.mark.parametrize("content", [b"", b"{}\n", b"\xff\xfe\n", b'{"nodeid": 1}\n', b"\n"])
def test_damaged_results_are_told_with_their_place(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "some.jsonl"
    path.write_bytes(content)

    with pytest.raises(CaffeError, match=r"some\.jsonl:(1:| holds no result)"):
        report(path)


def test_the_summary_of_a_run_holds_the_same_statistics(in_space_of_run: Path) -> None:
    run = RecordedRun.open(in_space_of_run)

    assert run.summary.paper == report(in_space_of_run).statistics


def test_a_sample_is_told_with_the_population_it_was_drawn_from(tmp_path: Path) -> None:
    case = json.loads(write_case(tmp_path).read_text(encoding="utf-8"))
    case["prompts"]["sample"] = {"margin": 0.2, "confidence": 0.9}
    path = tmp_path / "case.fairness.yaml"
    path.write_text(json.dumps(case), encoding="utf-8")

    samples = report(carry_out(procedures_of(path), tmp_path / "out")[0].path).statistics.samples

    # 5 triples x 5 prompts; 16.909 / (1 + 15.909 / 25) = 10.33
    assert [(one.population, one.margin, one.needed, one.judged) for one in samples] == [
        (25, 0.2, 11, 11),
        (25, 0.2, 11, 11),
    ]
