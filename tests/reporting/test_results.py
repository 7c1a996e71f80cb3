"""`results.jsonl`, from the parts that processes wrote."""

from __future__ import annotations

from pathlib import Path

import pytest

from caffe_pytest.errors import CaffeError
from caffe_pytest.model.run import Result
from caffe_pytest.reporting.results import PartWriter, join_parts, read_results
from tests.reporting.sample_results import FAIL, PASS, result


def part(folder: Path, name: str, *entries: tuple[int, Result]) -> Path:
    path = folder / f"results.{name}.part"
    writer = PartWriter(path)
    for position, entry in entries:
        writer.write(position, entry)
    writer.close()
    return path


def names(path: Path) -> list[str]:
    return [entry.nodeid.rpartition("::")[2] for entry in read_results(path)]


def test_parts_of_workers_are_joined_in_the_order_of_the_run(tmp_path: Path) -> None:
    a, b, c = (result(name, PASS, 1.0) for name in "abc")
    parts = [part(tmp_path, "gw0", (0, a), (2, c)), part(tmp_path, "gw1", (1, b))]

    number = join_parts(tmp_path / "results.jsonl", parts)

    assert number == 3
    assert names(tmp_path / "results.jsonl") == ["a", "b", "c"]
    assert [path.name for path in tmp_path.iterdir()] == ["results.jsonl"]


def test_an_item_judged_twice_keeps_its_last_result(tmp_path: Path) -> None:
    parts = [part(tmp_path, "x", (0, result("a", FAIL, 0.1)), (0, result("a", PASS, 0.95)))]

    join_parts(tmp_path / "results.jsonl", parts)

    assert [entry.verdict for entry in read_results(tmp_path / "results.jsonl")] == [PASS]


def test_a_torn_line_of_a_killed_process_is_left_out(tmp_path: Path) -> None:
    path = part(tmp_path, "x", (0, result("a", PASS, 1.0)), (1, result("b", PASS, 1.0)))
    path.write_bytes(path.read_bytes()[:-20])

    join_parts(tmp_path / "results.jsonl", [path])

    assert names(tmp_path / "results.jsonl") == ["a"]


def test_a_damaged_results_file_is_refused_with_its_line(tmp_path: Path) -> None:
    path = part(tmp_path, "x", (0, result("a", PASS, 1.0)))
    join_parts(tmp_path / "results.jsonl", [path])
    with (tmp_path / "results.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"nodeid": 1}\n')

    with pytest.raises(CaffeError, match=r"results\.jsonl:2: this is no result of a run"):
        list(read_results(tmp_path / "results.jsonl"))
