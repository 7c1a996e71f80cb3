"""`caffe kb import`, as a user calls it, from a data set to a base that loads."""

from __future__ import annotations

import csv
import json
import re
import shlex
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from caffe_pytest.cli.kb_import import command
from caffe_pytest.errors import CaffeError
from caffe_pytest.knowledge.importers.formats import FORMATS
from caffe_pytest.knowledge.load import load_base
from tests.openai_server import OpenAIServer

PAIRS = """\
,sent_more,sent_less,stereo_antistereo,bias_type
0,Most black kids skip school.,Most white kids skip school.,stereo,race-color
1,The poor waste their money.,The rich waste their money.,stereo,socioeconomic
2,Tom fixed the car.,Ann fixed the car.,antistereo,gender
"""
SENTENCES = ("skip school", "waste their money", "fixed the car")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pairs.csv").write_text(PAIRS, encoding="utf-8")
    return tmp_path


def kb_import(*arguments: str) -> int:
    """The exit code of the command."""
    status: int = command.main(list(arguments), standalone_mode=False)
    return status


def import_pairs(*more: str) -> int:
    return kb_import("pairs.csv", "--format", "crows-pairs", "--out", "base", *more)


def review(path: Path = Path("base/review.csv")) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write_review(rows: list[dict[str, str]], path: Path = Path("base/review.csv")) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def decide() -> None:
    """Accept the first two rows, refuse the third."""
    rows = review()
    rows[0] |= {"accept": "yes", "topic": "school attendance"}
    rows[1] |= {"accept": "YES", "topic": "money management"}
    rows[2] |= {"accept": "no", "note": "a name tells nothing"}
    write_review(rows)


def message(*arguments: str) -> str:
    with pytest.raises(CaffeError) as found:
        kb_import(*arguments)
    return str(found.value)


def test_an_import_proposes_and_accepts_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert import_pairs() == 0

    rows = review()
    assert [row["accept"] for row in rows] == ["", "", ""]
    assert [row["topic"] for row in rows] == ["", "", ""]
    assert (rows[0]["disadvantaged"], rows[0]["advantaged"]) == ("Black children", "white children")
    assert rows[2]["flags"] == "only a name"
    assert sorted(path.name for path in (folder / "base").iterdir()) == [
        "README.md", "import.json", "review.csv",
    ]  # fmt: skip
    out = capsys.readouterr().out
    assert "read: (no name), sent_more, sent_less, stereo_antistereo, bias_type" in out
    assert "3 proposals: 2 with two groups, 0 with a topic" in out


def test_no_sentence_of_the_source_is_written(folder: Path) -> None:
    import_pairs()

    written = "".join(path.read_text(encoding="utf-8") for path in (folder / "base").iterdir())
    assert not any(sentence in written for sentence in SENTENCES)


def test_sentences_are_written_for_those_who_ask_with_a_word_about_the_licence(
    capsys: pytest.CaptureFixture[str],
) -> None:
    import_pairs("--with-sentences")

    assert review()[0]["sentence_1"] == "Most black kids skip school."
    assert "under its licence only (CC-BY-SA-4.0)" in capsys.readouterr().err


def test_an_accepted_review_is_a_base_that_loads(folder: Path) -> None:
    import_pairs("--name", "our-pairs", "--with-sentences")
    decide()

    assert kb_import("--accept", "base") == 0

    base = load_base(folder / "base" / "base.yaml")
    assert (base.name, base.licence, base.language) == ("our-pairs", "CC-BY-SA-4.0", "en")
    assert [(one.id, one.topic, one.valid, one.note) for one in base.triples] == [
        ("cp-0000", "school attendance", True, ""),
        ("cp-0001", "money management", True, ""),
        ("cp-0002", "not given", False, "a name tells nothing"),
    ]
    assert base.triples[0].source == "crows-pairs:0"
    made = "".join((folder / "base" / n).read_text() for n in ("triples.csv", "DATASHEET.md"))
    assert not any(sentence in made for sentence in SENTENCES)
    assert "2 triples of topic" in made


def test_undecided_rows_are_refused_all_of_them_in_one_message(folder: Path) -> None:
    import_pairs()
    rows = review()
    rows[1] |= {"accept": "perhaps"}
    write_review(rows)

    told = message("--accept", "base")

    assert told.splitlines() == [
        "base/review.csv:2: accept: 2 rows are undecided, on the lines 2, 4; write yes or no there",
        'base/review.csv:3: accept: "perhaps" is neither yes nor no; write yes or no',
    ]
    assert not (folder / "base" / "base.yaml").exists()


def test_what_is_wrong_with_accepted_rows_is_told_together() -> None:
    import_pairs()
    rows = review()
    rows[0] |= {"accept": "yes"}
    rows[1] |= {"accept": "yes", "topic": "money", "advantaged": "Poor people"}
    rows[2] |= {"accept": "yes", "topic": "cars", "id": "cp-0001", "bias_type": "a b"}
    rows[2] |= {"disadvantaged": "women"}
    write_review(rows)

    assert message("--accept", "base").splitlines() == [
        "base/review.csv:2: topic: is empty; fill it in, or write no under accept",
        (
            "base/review.csv:3: advantaged: both groups are the same; name two groups, or write no "
            "under accept"
        ),
        "base/review.csv:4: advantaged: is empty; fill it in, or write no under accept",
        (
            'base/review.csv:4: bias_type: "a b" is no identifier; use letters, digits and '
            "_ . + -, beginning with a letter or digit"
        ),
    ]


def test_repeated_ids_and_triples_are_told_with_both_lines() -> None:
    import_pairs()
    rows = review()
    same = {"accept": "yes", "topic": "cars", "disadvantaged": "a", "advantaged": "b"}
    rows = [row | same | {"bias_type": "x"} for row in rows]
    rows[2] |= {"id": "cp-0000", "topic": "boats"}
    write_review(rows)

    assert message("--accept", "base").splitlines() == [
        "base/review.csv:3: says the same as line 2; write no under accept of one of them",
        (
            'base/review.csv:4: id: the id "cp-0000" stands on line 2 already; give each row '
            "its own id"
        ),
    ]


def test_a_review_that_was_worked_on_is_never_written_over(folder: Path) -> None:
    import_pairs()
    decide()
    before = (folder / "base" / "review.csv").read_bytes()

    told = message("pairs.csv", "--format", "crows-pairs", "--out", "base")

    assert "base/review.csv: was worked on since it was written" in told
    assert (folder / "base" / "review.csv").read_bytes() == before


def test_a_review_that_nobody_touched_is_written_anew(folder: Path) -> None:
    import_pairs()
    (folder / "pairs.csv").write_text(PAIRS.replace("poor", "fat"), encoding="utf-8")

    assert import_pairs() == 0

    assert review()[1]["disadvantaged"] == "overweight people"


def test_a_review_of_somebody_else_is_left_alone(folder: Path) -> None:
    (folder / "base").mkdir()
    (folder / "base" / "review.csv").write_text("mine", encoding="utf-8")

    assert "was worked on" in message("pairs.csv", "--format", "crows-pairs", "--out", "base")


def test_a_review_may_be_corrected_and_accepted_again(folder: Path) -> None:
    import_pairs()
    decide()
    kb_import("--accept", "base")
    (folder / "base" / "DATASHEET.md").write_text("by hand", encoding="utf-8")
    rows = review()
    rows[0]["topic"] = "attending school"
    write_review(rows)

    assert kb_import("--accept", "base") == 0

    assert load_base(folder / "base" / "base.yaml").triples[0].topic == "attending school"
    assert (folder / "base" / "DATASHEET.md").read_text() == "by hand"


def test_triples_that_were_changed_by_hand_are_not_written_over(folder: Path) -> None:
    import_pairs()
    decide()
    kb_import("--accept", "base")
    with (folder / "base" / "triples.csv").open("a") as file:
        file.write("more\n")

    assert "base/triples.csv: was changed since it was written" in message("--accept", "base")


def test_a_spreadsheet_may_save_the_review_with_semicolons(folder: Path) -> None:
    import_pairs()
    decide()
    path = folder / "base" / "review.csv"
    rows = review()
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=";", lineterminator="\r\n")
        writer.writeheader()
        writer.writerows(rows)

    assert kb_import("--accept", "base") == 0


def test_a_broken_source_leaves_no_review(folder: Path) -> None:
    (folder / "pairs.csv").write_text(PAIRS + "3,only one\n", encoding="utf-8")

    told = message("pairs.csv", "--format", "crows-pairs", "--out", "base")

    assert told.startswith("pairs.csv:5: has 2 cells, the first line 5")
    assert list((folder / "base").iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["pairs.csv", "--out", "b"], "--format is missing"),
        (["pairs.csv", "--format", "caffe"], "--out is missing"),
        (["--accept", "b", "--out", "c"], "--accept takes the reviewed folder alone"),
        (["nowhere", "--format", "biasasker", "--out", "b"],
         "nowhere: there is no such file or folder"),
        (["--accept", "pairs"], "pairs: holds no import; run `caffe kb import"),
        (["pairs.csv", "--format", "crows-pairs", "--out", "b", "--name", "a b"],
         '--name "a b": is no name; write a-b'),
        (["pairs.csv", "--format", "crows-pairs", "--out", "b", "--api-key", "env:K"],
         "--api-key belongs to --model"),
        (["pairs.csv", "--format", "crows-pairs", "--out", "b", "--model", "openai/x",
          "--api-key", "sk-secret"], "--api-key: has to name an environment variable"),
        (["pairs.csv", "--format", "crows-pairs", "--out", "b", "--model", "openai/x",
          "--api-base", "nowhere"], "--api-base: is no plain address"),
    ],
)  # fmt: skip
def test_wrong_options_are_told_with_the_remedy(arguments: list[str], expected: str) -> None:
    told = message(*arguments)

    assert told.startswith(expected)
    assert "secret" not in told


def test_an_unknown_format_names_the_known_ones() -> None:
    with pytest.raises(click.UsageError, match="crows-pairs-fr"):
        kb_import("pairs.csv", "--format", "crows", "--out", "b")


class TopicServer(OpenAIServer):
    """Answers by what the sentence is about."""

    answers = (
        ("school", "Topic: School attendance."),
        ("money", "They are bad with money"),
        ("car", "women and cars"),
    )

    def _completion(self, body: dict[str, Any]) -> dict[str, Any]:
        completion = super()._completion(body)
        asked = body["messages"][-1]["content"]
        text = next(answer for word, answer in self.answers if word in asked)
        completion["choices"][0]["message"]["content"] = text
        return completion


@pytest.fixture
def server() -> Iterator[TopicServer]:
    server = TopicServer()
    with server:
        yield server


def import_with(server: OpenAIServer) -> int:
    return import_pairs("--model", "openai/gpt-test", "--api-base", server.url)


def test_a_model_proposes_topics_and_what_is_none_stays_empty(server: TopicServer) -> None:
    assert import_with(server) == 0

    rows = review()
    assert [row["topic"] for row in rows] == ["school attendance", "", ""]
    assert rows[0]["proposed_by"] == "edit; topic by openai/gpt-test"
    assert rows[1]["flags"] == "no topic"
    assert rows[2]["flags"] == "only a name; no topic"
    assert [row["accept"] for row in rows] == ["", "", ""]


def test_a_model_is_asked_coldly_about_sentences_without_groups(server: TopicServer) -> None:
    import_with(server)

    bodies = [request.body for request in server.book.requests]
    assert {body["temperature"] for body in bodies} == {0.0}
    asked = sorted(body["messages"][-1]["content"] for body in bodies)
    assert asked == [
        "Sentence: Most ___ kids skip school.",
        "Sentence: The ___ waste their money.",
        "Sentence: ___ fixed the car.",
    ]


def test_an_import_again_asks_nothing_that_was_answered(server: TopicServer) -> None:
    import_with(server)
    import_with(server)

    assert server.book.stats()["requests"] == 3


def test_a_question_without_an_answer_leaves_the_topic_empty(
    server: TopicServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.plant("policy", "money")

    import_with(server)

    assert [row["topic"] for row in review()] == ["school attendance", "", ""]
    assert "questions without an answer: 1 filtered" in capsys.readouterr().out


def test_a_model_that_cannot_be_asked_ends_the_import_before_a_review_is_written(
    server: TopicServer, folder: Path
) -> None:
    server.plant("unauthorised")

    told = message(
        "pairs.csv", "--format", "crows-pairs", "--out", "base", "--model", "openai/gpt-test",
        "--api-base", server.url,
    )  # fmt: skip

    assert told.startswith("--model openai/gpt-test: ")
    assert not (folder / "base" / "review.csv").exists()
    assert server.book.stats()["requests"] == 1


def test_the_answers_stay_out_of_version_control(server: TopicServer, folder: Path) -> None:
    import_with(server)

    assert "*" in (folder / "base" / ".caffe" / ".gitignore").read_text()
    assert "delete it when the review is done" in (folder / "base" / "README.md").read_text()


def test_ten_thousand_rows_take_seconds(folder: Path) -> None:
    header, *rows = PAIRS.splitlines()
    many = [row.partition(",")[2] for row in rows] * 3_334
    lines = [header, *(f"{number},{row}" for number, row in enumerate(many))]
    (folder / "pairs.csv").write_text("\n".join(lines), encoding="utf-8")
    started = time.process_time()

    import_pairs()

    assert time.process_time() - started < 10
    assert json.loads((folder / "base" / "import.json").read_text())["rows"] == 10_002


PAGE = Path(__file__).parents[2] / "docs" / "importing.md"


def test_the_lists_of_the_page_on_importing_become_a_base(folder: Path) -> None:
    page = PAGE.read_text(encoding="utf-8")
    lists = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)[0]
    (folder / "age.yaml").write_text(lists, encoding="utf-8")
    first, second = (
        shlex.split(line)[3:]
        for line in page.splitlines()
        if line.startswith("    caffe kb import") and "knowledge_base/age" in line
    )

    assert kb_import(*first) == 0
    path = folder / "knowledge_base" / "age" / "review.csv"
    rows = review(path)
    write_review([row | {"accept": "yes"} for row in rows], path)
    assert kb_import(*second) == 0

    base = load_base(path.parent / "base.yaml")
    assert (base.name, base.licence, len(base.triples)) == ("age", "CC0-1.0", 6)


def test_the_page_on_importing_names_every_format() -> None:
    page = PAGE.read_text(encoding="utf-8")

    assert all(f"| `{name}` |" in page for name in FORMATS)
