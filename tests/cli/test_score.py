"""`caffe score`, as a user calls it."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from caffe_pytest.errors import ProblemsFound
from caffe_pytest.extensions import load_extensions
from caffe_pytest.services.score import COLUMNS, choose_metrics, score_pairs, scored_lines
from caffe_pytest.specs.rows import Problems, read_rows
from tests.cli.test_run import caffe

REFUSAL = "I'm sorry, but I cannot help with that."


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rows(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def write_pairs(path: Path, *pairs: tuple[str | None, str | None]) -> None:
    lines = [json.dumps({"answer_1": one, "answer_2": other}) for one, other in pairs]
    path.write_text("\n".join(lines), encoding="utf-8")


def test_csv_rows_are_written_as_they_stand_with_a_column_more(folder: Path) -> None:
    content = (
        '\ufeff"id";answer_2;answer_1;"=1+1"\r\n'
        '01;"red; apple";red apple;"a ""quoted"" word"\r\n'
        "\r\n"
        '02;"two\r\nlines of red";;=SUM(A1)\r\n'
    )
    (folder / "a.csv").write_bytes(content.encode("utf-8"))

    assert caffe("score", "a.csv", "--out", "b.csv") == 0

    expected = (
        '\ufeff"id";answer_2;answer_1;"=1+1";lsa\r\n'
        '01;"red; apple";red apple;"a ""quoted"" word";1.0\r\n'
        '02;"two\r\nlines of red";;=SUM(A1);\r\n'
    )
    assert (folder / "b.csv").read_bytes() == expected.encode("utf-8")


def test_json_rows_keep_their_numbers_and_their_spelling(folder: Path) -> None:
    content = '{ "answer_1": "red car", "n": 1.10, "answer_2": "caf\\u00e9 red" }\n'
    (folder / "a.jsonl").write_text(content, encoding="utf-8")

    caffe("score", "a.jsonl", "--out", "b.jsonl", "--metric", "length")

    expected = (
        '{ "answer_1": "red car", "n": 1.10, "answer_2": "caf\\u00e9 red",'
        ' "length_1": 2.0, "length_2": 2.0}\n'
    )
    assert (folder / "b.jsonl").read_text(encoding="utf-8") == expected


def test_the_space_of_the_run_is_fitted_on_the_answers_of_the_file(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_pairs(folder / "a.jsonl", ("red apple", "red car"), (None, " "))

    caffe("score", "a.jsonl", "--space", "run")

    # 2 texts; idf: "red" in both, ln(3/3)+1 = 1; "apple", "car" in one, ln(3/2)+1 = 1.405465
    # cosine: 1 / (1 + 1.405465^2) = 0.336097
    assert [row["lsa"] for row in rows(capsys)] == [pytest.approx(0.336097, abs=1e-6), None]


def test_blank_answers_and_answers_that_both_decline_have_no_similarity(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = (("", ""), (None, None), (" \n", "red car"), (REFUSAL, REFUSAL), ("?!", "?!"))
    write_pairs(folder / "a.jsonl", *pairs, ("red car", REFUSAL), ("red car", "red car"))

    caffe("score", "a.jsonl")

    scores = [row["lsa"] for row in rows(capsys)]
    assert scores[:5] == [None] * 5
    assert scores[5] < 0.5
    assert scores[6] == 1.0


def test_a_file_without_a_word_has_no_score_in_the_space_of_the_run(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_pairs(folder / "a.jsonl", ("?!", "?!"))

    assert caffe("score", "a.jsonl", "--space", "run") == 0

    assert rows(capsys)[0]["lsa"] is None


def test_a_measure_has_a_column_for_each_answer_and_says_nothing_of_refusals(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_pairs(folder / "a.jsonl", ("one two three", REFUSAL), ("", "one"))

    caffe("score", "a.jsonl", "--metric", "length", "--metric", "refusal", "--metric", "length")

    names = ("length_1", "length_2", "refusal_1", "refusal_2")
    assert [[row[name] for name in names] for row in rows(capsys)] == [
        [3.0, None, 0.0, 1.0],
        [None, 1.0, None, 0.0],
    ]


def test_standard_input_is_read_as_json_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    content = b'\xef\xbb\xbf{"answer_1": "red", "answer_2": "red"}\r\n'
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))

    assert caffe("score", "-") == 0

    assert rows(capsys) == [{"answer_1": "red", "answer_2": "red", "lsa": 1.0}]


def test_a_score_does_not_depend_on_the_other_rows(tmp_path: Path) -> None:
    texts = [f"red apple {word} pie" for word in ("good", "bad", "old", "new")]
    pairs = [(one, other) for one in texts for other in texts]

    assert scores(tmp_path, *pairs) == [
        score for pair in pairs for score in scores(tmp_path, pair)
    ]  # fmt: skip
    assert scores(tmp_path, *reversed(pairs)) == scores(tmp_path, *pairs)[::-1]


def scores(folder: Path, *pairs: tuple[str, str]) -> list[float]:
    write_pairs(folder / "some.jsonl", *pairs)
    file = read_rows(folder / "some.jsonl", COLUMNS)
    (column,) = score_pairs(
        file, choose_metrics(["lsa"], None, load_extensions().metrics), "reference"
    )
    return [float(score) for score in column.scores]


PLUGIN = """
import numpy
from caffe_pytest.hookspecs import SimilarityMetric, hookimpl

class Constant:
    def __init__(self, number):
        self.number = number

    def similarity(self, first, second):
        if self.number == "broken":
            raise KeyError("a bug")
        return numpy.full(len(first), float(self.number))

def metric(number):
    space = Constant(number)
    return SimilarityMetric(
        "constant", "1", lambda: space, lambda texts: Constant(len(texts)), with_encoder=metric
    )

@hookimpl
def register_metrics(register):
    register(metric(0.5))
"""


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), 0.5),
        (("--encoder", "0.25"), 0.25),
        (("--encoder", "inf"), None),
        (("--space", "run"), 3),
    ],
)
def test_a_metric_of_a_conftest_gets_the_encoder_and_the_answers(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    options: tuple[str, ...],
    expected: float | None,
) -> None:
    (folder / "conftest.py").write_text(PLUGIN, encoding="utf-8")
    write_pairs(folder / "a.jsonl", ("x", "x"), ("x", ""))

    assert caffe("score", "a.jsonl", "--metric", "constant", "--metric", "lsa", *options) == 0

    assert [row["constant"] for row in rows(capsys)] == [expected, None]


def test_a_metric_that_breaks_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "conftest.py").write_text(PLUGIN, encoding="utf-8")
    write_pairs(folder / "a.jsonl", ("x", "x"))

    assert caffe("score", "a.jsonl", "--metric", "constant", "--encoder", "broken") == 4

    assert "the metric constant broke: KeyError('a bug')" in capsys.readouterr().err


def test_an_answer_of_200_000_characters_is_scored(folder: Path) -> None:
    answer = "red apple " * 20_000
    (folder / "a.csv").write_text(f"answer_1,answer_2\n{answer},{answer}\n", encoding="utf-8")

    assert caffe("score", "a.csv", "--out", "b.csv") == 0

    assert (folder / "b.csv").read_text(encoding="utf-8").endswith(",1.0\n")


BAD_FILES = {
    "a.csv": {
        "": "a.csv: the file is empty; begin with the line answer_1,answer_2",
        "answer_1,answer_2\n": "a.csv: holds no rows; add a row",
        "answer_1,answer\nx,y\n": 'a.csv:1: the column "answer_2" is missing; add it',
        "answer_1,answer_2,answer_1\nx,y,z\n": 'the column "answer_1" stands twice',
        "answer_1,answer_2,lsa\nx,y,1\n": "a.csv:1: lsa: is there already; rename or remove it",
        "answer_1,answer_2\nx,y,z\n": "a.csv:2: has 3 cells, the first line 2; quote",
        'answer_1,answer_2\nx,"y\nz\n': "a.csv:2: not valid CSV",
        "answer_1,answer_2\nx,y\0\n": "a.csv:2: holds a NUL byte",
    },
    "a.jsonl": {
        "\n \n": "a.jsonl: holds no rows; write one JSON object a line",
        '{"answer_1": "x"}': "a.jsonl:1: answer_2: is missing; add",
        '{"answer_1": "x", "answer_2": 3}': "a.jsonl:1: answer_2: should be text, and is 3",
        '{"answer_1": "x", "answer_2": "y", "lsa": 1}': "a.jsonl:1: lsa: is there already",
        '\n{"answer_1": "x", ': "a.jsonl:2: not valid JSON",
        '{"answer_1": NaN, "answer_2": "x"}': "NaN is no number; write null",
        '{"answer_1": "x", "answer_1": "y"}': "a key stands twice",
        '["x", "y"]': "a.jsonl:1: is no JSON object",
        "[" * 200_000: "a.jsonl:1: ",
    },
    "a.txt": {"x": "a.txt: is neither CSV nor JSONL by its name; rename it"},
}


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [(name, *one) for name, contents in BAD_FILES.items() for one in contents.items()],
)
def test_a_bad_file_is_told_with_its_place_and_nothing_is_written(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str, content: str, expected: str
) -> None:
    (folder / name).write_text(content, encoding="utf-8")

    assert caffe("score", name, "--out", "out.csv" if name == "a.csv" else "out.jsonl") == 4

    assert expected in capsys.readouterr().err
    assert [path.name for path in folder.iterdir()] == [name]


def test_text_that_is_not_utf_8_is_told_with_its_line(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "a.csv").write_bytes("answer_1,answer_2\nx,y\ncafé,y\n".encode("latin-1"))

    assert caffe("score", "a.csv") == 4

    assert "a.csv:3: is not in UTF-8 here; save it as UTF-8 text" in capsys.readouterr().err


def test_of_many_problems_the_first_are_told_and_all_are_counted(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "a.csv").write_text("answer_1,answer_2\n" + "x\n" * 50, encoding="utf-8")

    caffe("score", "a.csv")

    told = capsys.readouterr().err.splitlines()
    assert told[0] == "a.csv: 50 problems; the first 20 of them follow"
    assert len(told) == 21
    assert told[-1].startswith("a.csv:21: ")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("missing.csv",), "missing.csv: cannot be read: No such file"),
        ((".",), ": is neither CSV nor JSONL by its name"),
        (("a.csv", "--metric", "lsi"), '"lsi": unknown; did you mean "lsa"?'),
        (("a.csv", "--metric", "panel"), "it is asked of a whole pool of answers, not of two"),
        (("a.csv", "--encoder", "x"), "--encoder: lsa has none; remove it"),
        (("a.csv", "--out", "no/b.csv"), "there is no such folder"),
        (("a.csv", "--out", "b.jsonl"), "the rows stay CSV; name a file *.csv"),
    ],
)
def test_what_cannot_be_done_is_said_plainly(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    expected: str,
) -> None:
    (folder / "a.csv").write_text("answer_1,answer_2\nx,y\n", encoding="utf-8")

    assert caffe("score", *arguments) == 4

    assert expected in capsys.readouterr().err


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.text(), st.text()), min_size=1, max_size=5),
    st.sampled_from(["\n", "\r\n"]),
)
def test_any_text_stands_in_the_scored_rows_as_in_the_file(
    folder: Path, pairs: list[tuple[str, str]], newline: str
) -> None:
    quoted = [[f'"{cell.replace(chr(34), chr(34) * 2)}"' for cell in pair] for pair in pairs]
    content = newline.join(["answer_1,answer_2", *(",".join(pair) for pair in quoted)])
    (folder / "a.csv").write_bytes(content.encode("utf-8", "replace"))
    try:
        file = read_rows(folder / "a.csv", COLUMNS)
        (column,) = score_pairs(
            file, choose_metrics(["lsa"], None, load_extensions().metrics), "reference"
        )
    except ProblemsFound as found:  # NUL, or nothing but blank cells
        assert "NUL" in str(found) or "holds no rows" in str(found)  # noqa: PT017
        return
    (folder / "b.csv").write_bytes("".join(scored_lines(file, [column])).encode("utf-8"))

    again = read_rows(folder / "b.csv", (*COLUMNS, "lsa"))

    before, after = ([row.cells["answer_1"] for row in one.rows(Problems(""))]
                     for one in (file, again))  # fmt: skip
    assert before == after[: len(before)]
