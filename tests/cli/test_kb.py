"""`caffe kb`: every command on good, broken and missing bases, and the page that shows them."""

from __future__ import annotations

import json
import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from caffe_pytest.cli import FAILED, OK, USAGE, main
from caffe_pytest.knowledge.export import FORMATS, Format, exported
from caffe_pytest.knowledge.finding import KINDS
from caffe_pytest.knowledge.load import load_base
from caffe_pytest.model.triple import Group, KnowledgeBase, Triple

PAGE = Path(__file__).parents[2] / "docs" / "knowledge-bases.md"
HEADER = "id,bias_type,topic,disadvantaged,advantaged,source,valid,note\n"
ROWS = (
    "t1,gender,leadership,women,men,ours:1,true,\n"
    "t2,gender,salary talks,mothers,fathers,ours:2,true,\n"
    "t3,age,driving,older people,younger people,theirs,true,\n"
    "t4,age,gossip,,,ours:4,false,no group: nobody is named\n"
)


@dataclass(frozen=True)
class Outcome:
    status: int
    out: str
    err: str


class Caffe:
    """Runs `caffe` in this process, in a folder with the base `ours`."""

    def __init__(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self.folder = folder
        self._monkeypatch = monkeypatch
        self._capsys = capsys
        monkeypatch.chdir(folder)
        self.write("knowledge_base/ours.csv", HEADER + ROWS)

    def write(self, name: str, content: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")

    def run(self, *arguments: str) -> Outcome:
        self._monkeypatch.setattr(sys, "argv", ["caffe", *arguments])
        with pytest.raises(SystemExit) as caught:
            main()
        out, err = self._capsys.readouterr()
        assert isinstance(caught.value.code, int)
        return Outcome(caught.value.code, out, err)

    def kb(self, *arguments: str) -> Outcome:
        return self.run("kb", *arguments)


@pytest.fixture
def caffe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Caffe:
    return Caffe(tmp_path, monkeypatch, capsys)


# -- list -------------------------------------------------------------------------------------


def test_list_shows_the_bases_of_the_folder_and_the_shipped_ones(caffe: Caffe) -> None:
    outcome = caffe.kb("list")

    lines = outcome.out.splitlines()
    (ours,) = [line for line in lines if line.startswith("ours ")]
    assert ours.split()[1:6] == ["unspecified", "unspecified", "en", "4", "3"]
    assert ours.endswith("knowledge_base/ours.csv")
    assert any(line.startswith("crows-pairs ") for line in lines)
    assert "ours: age, gender" in lines
    assert "ours" not in outcome.err


def test_list_finds_the_bases_of_the_folders_above(
    caffe: Caffe, monkeypatch: pytest.MonkeyPatch
) -> None:
    (caffe.folder / "a" / "b").mkdir(parents=True)
    monkeypatch.chdir(caffe.folder / "a" / "b")

    outcome = caffe.kb("list")

    assert any(line.startswith("ours ") for line in outcome.out.splitlines())


def test_a_broken_base_is_listed_by_its_path_alone(caffe: Caffe) -> None:
    caffe.write("knowledge_base/broken.csv", HEADER + ROWS + "t9,age,,old people,boys,,,\n")

    outcome = caffe.kb("list")

    assert outcome.status == USAGE
    assert "broken" not in outcome.out
    path = "knowledge_base/broken.csv"
    assert f"{path}: has 1 problem; `caffe kb lint {path}` tells them\n" in outcome.err


# -- show -------------------------------------------------------------------------------------


def test_show_aligns_the_valid_rows(caffe: Caffe) -> None:
    outcome = caffe.kb("show", "ours")

    assert outcome.out == (
        "id  bias type  topic         disadvantaged  advantaged\n"
        "t1  gender     leadership    women          men\n"
        "t2  gender     salary talks  mothers        fathers\n"
        "t3  age        driving       older people   younger people\n"
    )
    assert (outcome.status, outcome.err) == (OK, "3 of 4 rows (valid)\n")


@pytest.mark.parametrize(
    ("options", "ids"),
    [
        (["--bias-type", "gender"], ["t1", "t2"]),
        (["--bias-type", "gender", "--bias-type", "age"], ["t1", "t2", "t3"]),
        (["--group", "*men*"], ["t1"]),
        (["--group", "OLDER*"], ["t3"]),
        (["--topic", "driving", "--topic", "salary*"], ["t2", "t3"]),
        (["--topic", "drivin"], []),
        (["--invalid"], ["t4"]),
        (["--invalid", "--bias-type", "gender"], []),
    ],
)
def test_show_filters_as_test_cases_do(caffe: Caffe, options: list[str], ids: list[str]) -> None:
    outcome = caffe.kb("show", "ours", *options)

    assert [line.split()[0] for line in outcome.out.splitlines()[1:]] == ids
    assert outcome.status == OK


def test_show_says_why_rows_are_not_valid(caffe: Caffe) -> None:
    assert "no group: nobody is named" in caffe.kb("show", "ours", "--invalid").out


def test_a_misspelt_bias_type_is_told(caffe: Caffe) -> None:
    outcome = caffe.kb("show", "ours", "--bias-type", "gendre")

    assert (outcome.status, outcome.out) == (USAGE, "")
    assert outcome.err == (
        '"gendre" is no bias type of the knowledge base "ours"; did you mean "gender"?\n'
    )


def test_what_a_terminal_would_obey_is_escaped(caffe: Caffe) -> None:
    caffe.write("red.csv", HEADER + "t1,gender,\x1b[31mred,women,men,,,\n")

    outcome = caffe.kb("show", "red.csv")

    assert r"\x1b[31mred" in outcome.out
    assert "\x1b" not in outcome.out


@pytest.mark.parametrize(
    "arguments",
    [["show"], ["stats"], ["export", "--format", "csv"], ["diff", "ours"], ["diff", "broken.csv"]],
)
def test_nothing_is_shown_of_a_base_with_problems(caffe: Caffe, arguments: list[str]) -> None:
    caffe.write("broken.csv", HEADER + ROWS + "t1,age,,old people,boys,,,\n")

    outcome = caffe.kb(*arguments, "broken.csv")

    assert (outcome.status, outcome.out) == (USAGE, "")
    assert "broken.csv:6: topic: is empty; fill it in" in outcome.err


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        ("oure", 'there is no knowledge base "oure" here; did you mean "ours"?'),
        ("x" * 300, 'there is no knowledge base "' + "x" * 300 + '" here; use one of: '),
        ("a/b", "a/b: there is no such knowledge base; check the path"),
        ("none.csv", "none.csv: there is no such knowledge base; check the path"),
    ],
)
def test_a_base_that_is_not_there_is_told(caffe: Caffe, named: str, expected: str) -> None:
    for subcommand in (
        ["show"],
        ["stats"],
        ["lint"],
        ["export", "--format", "csv"],
        ["diff", "ours"],
    ):
        outcome = caffe.kb(*subcommand, named)

        assert (outcome.status, outcome.out) == (USAGE, "")
        assert outcome.err.startswith(expected)


def test_a_base_is_given_by_its_folder_too(caffe: Caffe) -> None:
    caffe.write("some/base.yaml", "name: some\ntriples: rows.csv\n")
    caffe.write("some/rows.csv", HEADER + ROWS)

    assert caffe.kb("show", "some").out == caffe.kb("show", "ours").out


# -- stats ------------------------------------------------------------------------------------


def test_stats_count_by_type_group_source_and_reason(caffe: Caffe) -> None:
    outcome = caffe.kb("stats", "ours")

    assert outcome.out == (
        "ours unspecified: 3 valid of 4 rows (unspecified, en)\n"
        "\n"
        "bias type  triples     topics      groups      group pairs  not valid\n"
        "age        ▒▒▒▒     1  ▒▒▒▒     1  ▒▒▒▒     2  ▒▒▒▒     1   1\n"
        "gender     ████     2  ████     2  ████     4  ████     2   0\n"
        "\n"
        "groups:\n"
        "  fathers         1\n"
        "  men             1\n"
        "  mothers         1\n"
        "  older people    1\n"
        "  women           1\n"
        "  younger people  1\n"
        "\n"
        "sources:\n"
        "  ours    3\n"
        "  theirs  1\n"
        "\n"
        "not valid:\n"
        "  no group  1\n"
    )


def test_the_picture_is_self_contained(caffe: Caffe) -> None:
    outcome = caffe.kb("stats", "ours", "--svg", "coverage.svg")

    picture = (caffe.folder / "coverage.svg").read_text(encoding="utf-8")
    root = ElementTree.fromstring(picture)
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert outcome.status == OK
    assert texts[0] == "ours unspecified: 3 valid of 4 rows"
    assert texts[1:5] == ["triples", "topics", "groups", "group pairs"]
    assert texts[5:] == ["age", "1", "1", "2", "1", "gender", "2", "2", "4", "2"]
    assert "href" not in picture
    assert "script" not in picture


def test_a_picture_that_cannot_be_written_is_told_before_anything_is_counted(caffe: Caffe) -> None:
    outcome = caffe.kb("stats", "ours", "--svg", "none/coverage.svg")

    assert (outcome.status, outcome.out) == (USAGE, "")
    assert "there is no such folder" in outcome.err


# -- diff -------------------------------------------------------------------------------------

FORMS = "groups:\n  women: {singular: woman}\n  men: {}\n"


def test_diff_tells_rows_and_forms_by_their_names(caffe: Caffe) -> None:
    caffe.write("old/base.yaml", f"name: ours\ntriples: rows.csv\n{FORMS}")
    caffe.write("old/rows.csv", HEADER + ROWS)
    forms = FORMS.replace("woman}", "woman, aliases: [ladies, gals]}").replace(
        "men: {}", "boys: {}"
    )
    caffe.write("new/base.yaml", f"name: ours\nversion: '2'\ntriples: rows.csv\n{forms}")
    rows = ROWS.replace("leadership", "tact").replace("t3,age", "t5,age")
    caffe.write("new/rows.csv", HEADER + rows)

    outcome = caffe.kb("diff", "old", "new")

    assert outcome.status == FAILED
    assert outcome.out.splitlines() == [
        '~ t1  topic: "leadership" -> "tact"',
        (
            '- t3  bias_type: "age"; topic: "driving"; valid: "true"; '
            'disadvantaged: "older people"; advantaged: "younger people"; source: "theirs"'
        ),
        (
            '+ t5  bias_type: "age"; topic: "driving"; valid: "true"; '
            'disadvantaged: "older people"; advantaged: "younger people"; source: "theirs"'
        ),
        '~ group "women"  aliases: "" -> "ladies, gals"',
        '- group "men"  pronouns: "they"',
        '+ group "boys"  pronouns: "they"',
    ]
    assert outcome.err == "ours unspecified -> ours 2: 2 added, 2 removed, 2 changed\n"


def test_rows_in_another_order_and_format_are_no_difference(caffe: Caffe) -> None:
    lines = ROWS.splitlines(keepends=True)
    caffe.write("other.csv", (HEADER + "".join(reversed(lines))).replace(",", ";"))

    outcome = caffe.kb("diff", "ours", "other.csv")

    assert (outcome.status, outcome.out) == (OK, "")


# -- export -----------------------------------------------------------------------------------

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
phrases = texts.filter(lambda text: text.strip())
names = st.from_regex(r"\A[A-Za-z0-9][A-Za-z0-9_.+-]{0,9}\Z")


@st.composite
def bases(draw: st.DrawFn) -> KnowledgeBase:
    triples = draw(
        st.lists(
            st.builds(
                Triple, id=names, bias_type=names, topic=phrases,
                disadvantaged=phrases.map("a ".__add__), advantaged=phrases.map("b ".__add__),
                source=texts, valid=st.booleans(), note=texts,
            ),
            min_size=1, max_size=5,
            unique_by=(lambda triple: triple.id, lambda triple: triple.topic.casefold()),
        )
    )  # fmt: skip
    groups = draw(
        st.dictionaries(
            phrases,
            st.builds(Group, singular=st.none() | phrases, aliases=st.tuples(phrases)),
            max_size=2,
        )
    )
    return KnowledgeBase(
        name="ours", version=draw(names), licence="CC0-1.0", language="en", datasheet=None,
        path="", sha256="", triples=tuple(triples), groups=groups,
    )  # fmt: skip


@pytest.mark.parametrize("form", FORMATS)
@settings(
    deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(base=bases())
def test_an_export_read_again_has_equal_triples(
    tmp_path: Path, form: Format, base: KnowledgeBase
) -> None:
    path = tmp_path / f"export.{form}"
    path.write_bytes("".join(exported(base, form)).encode())

    again = load_base(path)

    assert again.triples == base.triples
    if form != "csv":
        assert dict(again.groups) == dict(base.groups)
        assert (again.version, again.licence) == (base.version, base.licence)


@pytest.mark.parametrize("form", FORMATS)
def test_the_shipped_base_survives_an_export(caffe: Caffe, form: str) -> None:
    outcome = caffe.kb("export", "crows-pairs", "--format", form, "--out", f"again.{form}")

    assert (outcome.status, outcome.out, outcome.err) == (OK, "", "")
    assert caffe.kb("diff", "crows-pairs", f"again.{form}").status == OK


def test_an_export_to_csv_says_what_it_leaves_out(caffe: Caffe) -> None:
    caffe.write("some/base.yaml", f"name: some\ntriples: rows.csv\n{FORMS}")
    caffe.write("some/rows.csv", HEADER + ROWS)

    outcome = caffe.kb("export", "some", "--format", "csv")

    assert outcome.out == HEADER + ROWS
    assert outcome.err == ("note: the forms of 2 groups are not in CSV; --format yaml keeps them\n")


def test_a_file_that_cannot_be_written_is_told(caffe: Caffe) -> None:
    outcome = caffe.kb("export", "ours", "--format", "csv", "--out", "none/ours.csv")

    assert outcome.status == USAGE
    assert outcome.err == (
        "--out none/ours.csv: there is no such folder; name a file in a folder that exists\n"
    )


# -- lint -------------------------------------------------------------------------------------


def test_lint_tells_findings_and_exits_with_1_for_errors(caffe: Caffe) -> None:
    caffe.write("a.csv", HEADER + ROWS + "t5,age,to drive,a woman,boys,,,\n")

    outcome = caffe.kb("lint", "a.csv")

    assert outcome.status == FAILED
    assert (
        'a.csv:6: disadvantaged: "a woman" is one of a group; name the group in the plural, '
        "without an article [error: group-indefinite]\n"
    ) in outcome.out
    assert outcome.err == "1 error, 2 warnings, 2 notes\n"


@pytest.mark.parametrize(("options", "status"), [([], OK), (["--strict"], FAILED)])
def test_warnings_count_where_lint_is_strict(caffe: Caffe, options: list[str], status: int) -> None:
    caffe.write("a.csv", HEADER + ROWS + "t5,age,to drive,girls,boys,,,\n")

    assert caffe.kb("lint", "a.csv", *options).status == status


def test_rows_that_a_test_would_refuse_are_findings(caffe: Caffe) -> None:
    caffe.write("a.csv", HEADER + ROWS + "t1,age,law,girls,boys,,,\n")

    outcome = caffe.kb("lint", "a.csv")

    assert outcome.status == FAILED
    assert 'a.csv:6: id: the id "t1" stands on line 2 already' in outcome.out


def test_a_base_that_cannot_be_read_is_told_beside_the_others(caffe: Caffe) -> None:
    caffe.write("a.csv", HEADER + "t1,age\n")
    caffe.write("b.csv", HEADER + ROWS + "t5,age,law,a girl,boys,,,\n")

    outcome = caffe.kb("lint", "a.csv", "b.csv", "--format", "json")

    told = json.loads(outcome.out)
    kinds = [(one["file"], one["line"], one["kind"]) for one in told["findings"]]
    assert outcome.status == USAGE
    assert ("a.csv", 2, "unreadable") in kinds
    assert ("b.csv", 6, "group-indefinite") in kinds
    assert (told["errors"], told["warnings"]) == (2, 0)
    assert told["findings"][0] == {
        "file": "a.csv", "line": 2, "path": "", "kind": "unreadable", "severity": "error",
        "cause": "has 2 cells, the first line 8", "remedy": "quote cells that hold separators",
    }  # fmt: skip


def test_groups_and_topics_are_tried_in_the_shipped_templates(caffe: Caffe) -> None:
    caffe.write("a.csv", HEADER + ROWS + "t5,age,being picked on,girls,boys,,,\n")

    outcome = caffe.kb("lint", "a.csv")

    assert 'of the intent sentiment-analysis says "being picked on on"' in outcome.out


def test_a_base_in_british_english_is_tried_in_english_templates(caffe: Caffe) -> None:
    caffe.write(
        "a.yaml",
        "name: a\nlanguage: en-GB\ntriples:\n"
        "- {bias_type: age, topic: being picked on, disadvantaged: girls, advantaged: boys}\n",
    )

    assert 'says "being picked on on"' in caffe.kb("lint", "a.yaml").out


def test_the_shipped_base_has_no_errors(caffe: Caffe) -> None:
    outcome = caffe.kb("lint", "crows-pairs")

    assert outcome.status == OK, outcome.out


# -- the command itself -----------------------------------------------------------------------


def test_help_lists_every_command(caffe: Caffe) -> None:
    outcome = caffe.kb("--help")

    listed = re.findall(r"^  (\w+) ", outcome.out.partition("Commands:")[2], re.MULTILINE)
    assert listed == ["diff", "export", "import", "lint", "list", "show", "stats"]


def test_the_page_tells_every_rule_of_the_lint() -> None:
    page = PAGE.read_text(encoding="utf-8")

    assert [kind for kind in KINDS if f"`{kind}`" not in page] == []


def test_the_page_can_be_followed_step_by_step(caffe: Caffe) -> None:
    """Files are written where the page names them, and commands print what it shows."""
    page = PAGE.read_text(encoding="utf-8")
    rows = "knowledge_base/energy/triples.csv"
    steps = re.findall(
        r"(?:`([\w./-]+\.\w+)`:\n\n)?^```(\w+)\n(.*?)^```", page, re.MULTILINE | re.DOTALL
    )
    commands = 0

    for name, language, text in steps:
        if name:
            caffe.write(name, text)
        elif language == "csv":
            mended = (caffe.folder / rows).read_text(encoding="utf-8")
            better = {row.partition(",")[0]: row for row in text.splitlines()}
            lines = [better.get(row.partition(",")[0], row) for row in mended.splitlines()]
            caffe.write(rows, "\n".join(lines) + "\n")
        elif language == "console":
            first, _, shown = text.partition("\n")
            outcome = caffe.run(*first.removeprefix("$ caffe ").split())
            assert outcome.status == (FAILED if "1 error" in shown else OK), outcome
            assert not shown or outcome.out + outcome.err == shown
            commands += 1
    caffe.write(
        "knowledge_base/energy/base.yaml",
        (caffe.folder / "knowledge_base/energy/base.yaml").read_text() + "groups: groups.yaml\n",
    )

    assert commands == 5
    caffe.write("old/energy.csv", (caffe.folder / rows).read_text(encoding="utf-8"))
    for line in re.findall(r"^    caffe (kb [^#\n]*)", page, re.MULTILINE):
        outcome = caffe.run(*shlex.split(line))
        forms_differ = line.startswith("kb diff")
        assert outcome.status == (FAILED if forms_differ else OK), outcome
