"""Large knowledge bases: read in seconds and little memory, or refused as quickly."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from caffe_pytest.errors import ProblemsFound
from caffe_pytest.knowledge.lint import lint
from caffe_pytest.knowledge.load import MOST_PROBLEMS, load_base, read_base

ROWS = 20_000
HEADER = "id,bias_type,topic,disadvantaged,advantaged,source,valid,note\n"
SECONDS = 10
"""Half a second on a laptop; what grows with the square of the rows takes minutes."""


def rows(number: int = ROWS) -> str:
    return "".join(
        f"row-{n},type-{n % 7},topic number {n % 500},members of club {n // 500},"
        f"guests of club {n // 500},made:{n},true,\n"
        for n in range(number)
    )


def written(path: Path, content: str) -> Path:
    path.write_bytes(content.encode())
    return path


@pytest.mark.parametrize("form", ["plain", "as-spreadsheets-write-it"])
def test_a_large_base_is_loaded_in_seconds(tmp_path: Path, form: str) -> None:
    content = HEADER + rows()
    if form != "plain":
        content = "\ufeff" + content.replace(",", ";").replace("\n", "\r\n")
    path = written(tmp_path / "large.csv", content)

    start = time.perf_counter()
    base = load_base(path)

    assert len(base.triples) == ROWS
    assert base.triples[-1].topic == "topic number 499"
    assert time.perf_counter() - start < SECONDS


def test_a_large_base_takes_little_memory(tmp_path: Path) -> None:
    pytest.importorskip("resource", reason="only Unix tells the peak of a process")
    path = written(tmp_path / "large.csv", HEADER + rows())
    program = (
        "import json, resource, sys\n"
        "from pathlib import Path\n"
        "from caffe_pytest.knowledge.load import load_base\n"
        "def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "before = peak(); base = load_base(Path(sys.argv[1]))\n"
        "print(json.dumps([len(base.triples), peak() - before]))\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", program, str(path)], check=True, stdout=subprocess.PIPE
    )

    triples, grown = json.loads(done.stdout)
    in_megabytes = grown / (1024 * 1024 if sys.platform == "darwin" else 1024)
    assert triples == ROWS
    assert in_megabytes < 100, "2 kB a row, and a few copies of the file"


def test_a_large_base_is_linted_in_seconds(tmp_path: Path) -> None:
    read = read_base(written(tmp_path / "large.csv", HEADER + rows()))

    start = time.perf_counter()
    found = lint(read)

    assert found == []
    assert time.perf_counter() - start < SECONDS


@pytest.mark.parametrize(
    ("last_row", "expected"),
    [
        ("row-0,type-1,law,women,men,,,\n", f'large.csv:{ROWS + 2}: id: the id "row-0" stands on'),
        ("last,type-1,,women,men,,,\n", f"large.csv:{ROWS + 2}: topic: is empty; fill it in"),
        ("last,type-1\n", f"large.csv:{ROWS + 2}: has 2 cells, the first line 8;"),
        ('last,type-1,"law,women,men,,,\n', f"large.csv:{ROWS + 2}: not valid CSV:"),
        ("last,type-1,l\0w,women,men,,,\n", "large.csv: the file is binary, or not in UTF-8;"),
    ],
    ids=["id-twice", "empty-cell", "missing-cells", "open-quote", "nul"],
)
def test_a_fault_in_the_last_row_of_a_large_base_is_told_with_its_line(
    tmp_path: Path, last_row: str, expected: str
) -> None:
    path = written(tmp_path / "large.csv", HEADER + rows() + last_row)

    start = time.perf_counter()
    with pytest.raises(ProblemsFound) as caught:
        load_base(path, "large.csv")

    assert len(caught.value.problems) == 1
    assert str(caught.value).startswith(expected)
    assert time.perf_counter() - start < SECONDS


def test_a_large_base_that_is_wrong_throughout_is_told_in_part(tmp_path: Path) -> None:
    path = written(tmp_path / "large.csv", HEADER + rows() + rows())

    start = time.perf_counter()
    with pytest.raises(ProblemsFound) as caught:
        load_base(path)

    assert len(caught.value.problems) <= MOST_PROBLEMS
    assert time.perf_counter() - start < SECONDS


def test_a_gigantic_cell_is_refused_whatever_others_allow_the_reader(tmp_path: Path) -> None:
    path = written(tmp_path / "large.csv", HEADER + f"t1,age,law,women,men,,,{'x' * 200_000}\n")
    before = csv.field_size_limit(1 << 30)

    try:
        with pytest.raises(ProblemsFound, match=r"field larger than field limit \(131072\)"):
            load_base(path)
    finally:
        csv.field_size_limit(before)


@pytest.mark.parametrize("cell", ["=1+1", "+law", "-law", "@law", '=HYPERLINK("x")'])
def test_a_formula_is_kept_as_the_text_it_is(tmp_path: Path, cell: str) -> None:
    quoted = cell.replace('"', '""')
    content = HEADER + f't1,gender,"{quoted}",women,men,,,"{quoted}"\n'

    (triple,) = load_base(written(tmp_path / "formula.csv", content)).triples

    assert (triple.topic, triple.note) == (cell, cell)
