"""Knowledge bases in CSV and YAML, good ones and broken ones."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from hypothesis import example, given, settings

from caffe_pytest.errors import ProblemsFound
from caffe_pytest.knowledge.load import MOST_PROBLEMS, load_base
from caffe_pytest.model.triple import KnowledgeBase, Triple
from tests.specs.mutation import assert_well_told, mutated

HEADER = "id,bias_type,topic,disadvantaged,advantaged\n"
ROW = "t1,gender,leadership,women,men\n"
CSV = HEADER + ROW + "t2,age,driving,old people,young people\n"

YAML = """\
name: ours
version: "1.2"
licence: CC0-1.0
language: en
datasheet: DATASHEET.md
triples:
  - {id: t1, bias_type: gender, topic: leadership, disadvantaged: women, advantaged: men}
  - bias_type: age
    topic: driving
    disadvantaged: old people
    advantaged: young people
    valid: false
    note: nobody drives
"""

WOMEN_AND_MEN = Triple(
    id="t1", bias_type="gender", topic="leadership", disadvantaged="women", advantaged="men"
)


def load(folder: Path, content: str | bytes, name: str = "base.csv") -> KnowledgeBase:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return load_base(path, name)


def told(folder: Path, content: str | bytes, name: str = "base.csv") -> list[str]:
    with pytest.raises(ProblemsFound) as caught:
        load(folder, content, name)
    assert_well_told(caught.value.problems)
    return [str(problem) for problem in caught.value.problems]


# -- good bases -------------------------------------------------------------------------------


def test_a_csv_file_alone_is_a_base(tmp_path: Path) -> None:
    base = load(tmp_path, CSV, "our base.csv")

    assert base.name == "our-base"
    assert (base.version, base.licence, base.datasheet) == ("unspecified", "unspecified", None)
    assert base.language == "en"
    assert base.path == str(tmp_path / "our base.csv")
    assert base.triples[0] == WOMEN_AND_MEN
    assert base.bias_types == ("age", "gender")


@pytest.mark.parametrize(
    "content",
    [
        "\ufeff" + CSV,
        CSV.replace(",", ";"),
        CSV.replace(",", "\t"),
        CSV.replace("\n", "\r\n"),
        CSV.replace("\n", "\r"),
        ("\ufeff" + CSV).replace("\n", "\r\n").replace(",", ";"),
        CSV.rstrip("\n"),
        "\n\n" + CSV.replace("\n", "\n\n"),
        CSV + ",,,,\n   \n",
        CSV.replace("women", '"women"'),
        CSV.replace("leadership", "  leadership "),
        ("disadvantaged,advantaged,id,topic,bias_type\n"
        "women,men,t1,leadership,gender\nold people,young people,t2,driving,age\n"),
    ],
    ids=[
        "bom", "semicolons", "tabs", "windows", "old-mac", "excel", "no-last-line-end",
        "blank-lines", "empty-rows", "quotes", "spaces", "order-of-columns",
    ],
)  # fmt: skip
def test_a_csv_file_is_read_as_spreadsheets_write_it(tmp_path: Path, content: str) -> None:
    plain = load(tmp_path, CSV)

    base = load(tmp_path, content)

    assert base.triples == plain.triples


def test_a_quoted_cell_may_hold_separators_quotes_and_line_ends(tmp_path: Path) -> None:
    base = load(tmp_path, HEADER + 't1,gender,"work, ""hard""\nwork",women,men\n')

    assert base.triples[0].topic == 'work, "hard"\nwork'


def test_further_columns_say_source_validity_and_note(tmp_path: Path) -> None:
    header = HEADER.replace("\n", ",source,valid,note\n")
    rows = "t1,gender,leadership,women,men,ours:1,no,unclear\nt2,age,driving,old,young,,,\n"

    base = load(tmp_path, header + rows)

    first, second = base.triples
    assert (first.source, first.valid, first.note) == ("ours:1", False, "unclear")
    assert (second.source, second.valid, second.note) == ("", True, "")
    assert base.bias_types == ("age",)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("", True), ("true", True), ("TRUE", True), (" Yes ", True), ("1", True),
        ("false", False), ("False", False), ("no", False), ("0", False),
    ],
)  # fmt: skip
def test_validity_is_written_in_many_ways(tmp_path: Path, written: str, expected: bool) -> None:
    content = HEADER.replace("\n", ",valid\n") + ROW.replace("\n", f",{written}\n")

    base = load(tmp_path, content)

    assert base.triples[0].valid is expected


def test_rows_without_an_id_are_numbered(tmp_path: Path) -> None:
    base = load(tmp_path, CSV.replace("id,", "").replace("t1,", "").replace("t2,", ""))

    assert [triple.id for triple in base.triples] == ["row-1", "row-2"]


def test_a_yaml_base_says_what_an_auditor_needs(tmp_path: Path) -> None:
    base = load(tmp_path, YAML, "base.yaml")

    assert (base.name, base.version, base.licence) == ("ours", "1.2", "CC0-1.0")
    assert (base.language, base.datasheet) == ("en", "DATASHEET.md")
    assert base.triples[0] == WOMEN_AND_MEN
    assert (base.triples[1].id, base.triples[1].valid) == ("row-2", False)


def test_a_yaml_base_may_name_the_csv_file_that_holds_its_triples(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(CSV, encoding="utf-8")

    base = load(tmp_path, "name: ours\ntriples: rows.csv\n", "base.yaml")

    assert base.name == "ours"
    assert base.triples[0] == WOMEN_AND_MEN
    assert base.path == str(tmp_path / "base.yaml")


def test_the_hash_is_that_of_the_file(tmp_path: Path) -> None:
    base = load(tmp_path, CSV)

    assert base.sha256 == hashlib.sha256(CSV.encode()).hexdigest()


def test_the_hash_changes_with_any_file_of_the_base(tmp_path: Path) -> None:
    hashes = set()
    for content in ("name: a\ntriples: rows.csv\n", "name: b\ntriples: rows.csv\n"):
        for rows in (CSV, CSV + "\n"):
            (tmp_path / "rows.csv").write_text(rows, encoding="utf-8")
            hashes.add(load(tmp_path, content, "base.yaml").sha256)

    assert len(hashes) == 4


# -- broken CSV -------------------------------------------------------------------------------

COLUMNS = "advantaged, bias_type, disadvantaged, groups, id, note, source, topic, valid"
TOO_LONG = "x" * 201


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param(
            "",
            [f": the file is empty; begin with the line {HEADER.strip()}"],
            id="empty",
        ),
        pytest.param(
            "\n \n",
            [f": the file is empty; begin with the line {HEADER.strip()}"],
            id="blank",
        ),
        pytest.param(HEADER, [": holds no triples; add a row below the header"], id="header-only"),
        pytest.param(
            "id,topic,disadvantaged\nt1,driving,women\n",
            [
                ':1: the column "advantaged" is missing; add it to the first line',
                ':1: the column "bias_type" is missing; add it to the first line',
            ],
            id="missing-columns",
        ),
        pytest.param(
            "\n" + CSV.replace("topic", "Topic"),
            [
                ':2: the column "topic" is missing; add it to the first line',
                ':2: unknown column "Topic"; did you mean "topic"?',
            ],
            id="misspelt-column",
        ),
        pytest.param(
            CSV.replace("\n", ",\n"),
            [f':1: unknown column ""; use one of: {COLUMNS}'],
            id="nameless-column",
        ),
        pytest.param(
            CSV.replace("id,", "topic,", 1),
            [":1: a column stands twice; keep one of them"],
            id="column-twice",
        ),
        pytest.param(
            CSV.replace(",", "|"),
            [
                (
                    ":1: the first line names one column only; "
                    "separate columns by commas, semicolons or tabs"
                )
            ],
            id="other-separator",
        ),
        pytest.param(
            CSV + "t3,age,work, school,old people,young people\nt4,age\n",
            [
                ":4: has 6 cells, the first line 5; quote cells that hold separators",
                ":5: has 2 cells, the first line 5; quote cells that hold separators",
            ],
            id="number-of-cells",
        ),
        pytest.param(
            HEADER + "t1,,,women,\n",
            [
                ":2: advantaged: is empty; fill it in",
                ":2: bias_type: is empty; fill it in",
                ":2: topic: is empty; fill it in",
            ],
            id="empty-cells",
        ),
        pytest.param(
            HEADER + f"t1,gender,{TOO_LONG},women,men\n",
            [":2: topic: is too long; keep to 200 characters"],
            id="long-cell",
        ),
        pytest.param(
            HEADER + 't 1,"gen\nder",driving,women,men\n',
            [
                (
                    r':2: bias_type: "gen\nder" is no identifier; use letters, digits and _ . + -, '
                    "beginning with a letter or digit"
                ),
                (
                    ':2: id: "t 1" is no identifier; use letters, digits and _ . + -, '
                    "beginning with a letter or digit"
                ),
            ],
            id="no-identifiers",
        ),
        pytest.param(
            HEADER.replace("\n", ",valid\n") + ROW.replace("\n", ",maybe\n"),
            [':2: valid: "maybe" is neither true nor false; write true or false'],
            id="validity",
        ),
        pytest.param(
            CSV + "t1,age,sport,old people,young people\n",
            [':4: id: the id "t1" stands on line 2 already; give each triple its own id'],
            id="id-twice",
        ),
        pytest.param(
            CSV + "t3,gender,Leadership,Women,Men\n",
            [":4: says the same as line 2; remove one of the two"],
            id="triple-twice",
        ),
        pytest.param(
            HEADER + "t1,gender,driving,women,Women\n",
            [":2: advantaged: both groups are the same; name two groups, or set valid to false"],
            id="group-twice",
        ),
        pytest.param(
            HEADER + 't1,gender,"a\nb\nc",women,men\n\nt2,age,,old people,young people\n',
            [":6: topic: is empty; fill it in"],
            id="line-behind-quoted-line-ends",
        ),
        pytest.param(
            CSV + 't3,age,"work,old people,young people\n' + ROW,
            [":4: not valid CSV: unexpected end of data; check the quotes from this line on"],
            id="unclosed-quote",
        ),
        pytest.param(
            HEADER + 't1,gender,"lead"ership,women,men\n' + ROW,
            [""":2: not valid CSV: ',' expected after '"'; check the quotes from this line on"""],
            id="text-behind-a-quote",
        ),
        pytest.param(
            '"id,bias_type\n',
            [":1: not valid CSV: unexpected end of data; check the quotes from this line on"],
            id="unclosed-quote-in-the-header",
        ),
        pytest.param(
            HEADER + f"t1,gender,{'x' * 200_000},women,men\n",
            [
                (
                    ":2: not valid CSV: field larger than field limit (131072); "
                    "check the quotes from this line on"
                )
            ],
            id="gigantic-cell",
        ),
        pytest.param(
            CSV.encode("utf-16"),
            [": the file is binary, or not in UTF-8; save it as UTF-8 text"],
            id="utf-16",
        ),
        pytest.param(
            (CSV + "t3,age,Größe,old,young\n").encode("latin-1"),
            [":4: the file is not in UTF-8; save it as UTF-8 text"],
            id="latin-1",
        ),
    ],
)
def test_a_broken_csv_file_is_told_line_by_line(
    tmp_path: Path, content: str | bytes, expected: list[str]
) -> None:
    assert told(tmp_path, content) == [f"base.csv{problem}" for problem in expected]


def test_a_file_that_is_wrong_throughout_is_told_in_part(tmp_path: Path) -> None:
    problems = told(tmp_path, HEADER + "t,x\n" * 500)

    assert len(problems) == MOST_PROBLEMS


def test_what_is_not_valid_may_repeat_itself(tmp_path: Path) -> None:
    header = HEADER.replace("\n", ",valid\n")
    rows = "t1,gender,x,women,men,yes\nt2,gender,x,women,men,no\nt3,gender,x,women,women,no\n"

    base = load(tmp_path, header + rows)

    assert [triple.valid for triple in base.triples] == [True, False, False]


# -- broken YAML ------------------------------------------------------------------------------

ONE = "{id: t1, bias_type: gender, topic: driving, disadvantaged: women, advantaged: men}"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param(
            "", [": holds no YAML documents; a knowledge base is one document"], id="empty"
        ),
        pytest.param(
            YAML + "---\n" + YAML,
            [": holds 2 YAML documents; a knowledge base is one document"],
            id="two-documents",
        ),
        pytest.param(
            "- a\n",
            [":1: should be a mapping, and is a list; write `key: value` lines, indented"],
            id="list",
        ),
        pytest.param(
            f"triples: [{ONE}]\nlicense: MIT\n",
            [
                ":1: name: is missing; add `name:`",
                ':2: license: unknown key "license"; did you mean "licence"?',
            ],
            id="keys",
        ),
        pytest.param(
            "name: ours\nversion: 0.1\ntriples: rows.csv\n",
            [":2: version: should be text, and is 0.1; put it in quotes"],
            id="version-as-number",
        ),
        pytest.param(
            "name: ours\ntriples: []\n",
            [":2: triples: holds no triples; list them, or name a CSV file"],
            id="no-triples",
        ),
        pytest.param(
            "name: ours\ntriples:\n",
            [":2: triples: holds no triples; list them, or name a CSV file"],
            id="nothing-behind-triples",
        ),
        pytest.param(
            "name: ours\ntriples: no.csv\n",
            [':2: triples: no CSV file "no.csv"; name one beside this file'],
            id="missing-csv",
        ),
        pytest.param(
            "name: ours\ntriples: base.yaml\n",
            [':2: triples: no CSV file "base.yaml"; name one beside this file'],
            id="itself",
        ),
        pytest.param(
            'name: ours\ntriples: "a\\0.csv"\n',
            [r':2: triples: no CSV file "a\x00.csv"; name one beside this file'],
            id="nul",
        ),
        pytest.param(
            f"name: ours\ntriples:\n  - {ONE}\n  - women\n  - {{topc: x, valid: maybe}}\n",
            [
                (
                    ':4: triples[1]: should be a mapping, and is "women"; '
                    "write `key: value` lines, indented"
                ),
                ":5: triples[2].advantaged: is missing; add `advantaged:`",
                ":5: triples[2].bias_type: is missing; add `bias_type:`",
                ":5: triples[2].disadvantaged: is missing; add `disadvantaged:`",
                ':5: triples[2].topc: unknown key "topc"; did you mean "topic"?',
                ":5: triples[2].topic: is missing; add `topic:`",
                (
                    ':5: triples[2].valid: should be true or false, and is "maybe"; '
                    "write true or false"
                ),
            ],
            id="rows",
        ),
        pytest.param(
            f"name: ours\ntriples:\n  - {ONE}\n  - {ONE}\n",
            [
                ":4: says the same as line 3; remove one of the two",
                ':4: id: the id "t1" stands on line 3 already; give each triple its own id',
            ],
            id="row-twice",
        ),
        pytest.param(
            f"name: ours\ntriples: [{ONE}, {ONE}]\n",
            [
                ":2: says the same as line 2; remove one of the two",
                ':2: id: the id "t1" stands on line 2 already; give each triple its own id',
            ],
            id="row-twice-on-a-line",
        ),
        pytest.param(
            f"name: ours\ntriples: [{ONE.replace('women', 'Men')}]\n",
            [":2: advantaged: both groups are the same; name two groups, or set valid to false"],
            id="group-twice",
        ),
    ],
)
def test_a_broken_yaml_base_is_told_line_by_line(
    tmp_path: Path, content: str, expected: list[str]
) -> None:
    assert told(tmp_path, content, "base.yaml") == [f"base.yaml{problem}" for problem in expected]


def test_problems_of_the_csv_file_are_told_as_its_own(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(HEADER + "t1,gender,,women,men\n", encoding="utf-8")

    problems = told(tmp_path, "name: ours\ntriples: rows.csv\n", "base.yaml")

    assert problems == ["rows.csv:2: topic: is empty; fill it in"]


# -- hostile ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bases")


@settings(deadline=None, max_examples=200)
@given(content=mutated(CSV + 't3,age,"work, ""hard""\nwork",old,young\n'))
@example(content=b"\0")
@example(content=b'"')
def test_a_mutated_csv_file_is_loaded_or_refused(folder: Path, content: bytes) -> None:
    try:
        base = load(folder, content)
    except ProblemsFound as found:
        assert_well_told(found.problems)
    else:
        assert len({triple.id for triple in base.triples}) == len(base.triples) > 0


@settings(deadline=None, max_examples=200)
@given(content=mutated(YAML))
def test_a_mutated_yaml_base_is_loaded_or_refused(folder: Path, content: bytes) -> None:
    try:
        base = load(folder, content, "base.yaml")
    except ProblemsFound as found:
        assert_well_told(found.problems)
    else:
        assert len({triple.id for triple in base.triples}) == len(base.triples) > 0
