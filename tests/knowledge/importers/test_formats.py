"""Every format: what it proposes, and what is wrong with a file that it cannot read."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from caffe_pytest.errors import ProblemsFound
from caffe_pytest.knowledge.importers.formats import FORMATS
from caffe_pytest.knowledge.importers.proposal import Proposal

PAIRS = (
    ",sent_more,sent_less,stereo_antistereo,bias_type,annotations\n"
    '7,"Most black kids, here, ran.","Most white kids, here, ran.",stereo,race-color,[]\n'
    "8,He led.,She led.,antistereo,gender,[]\n"
)


def proposals(path: Path, name: str) -> list[Proposal]:
    return list(FORMATS[name].read(path).proposals)


def triples(path: Path, name: str) -> list[tuple[str, str, str, str]]:
    return [
        (one.bias_type, one.topic, one.disadvantaged, one.advantaged)
        for one in proposals(path, name)
    ]


def written(folder: Path, name: str, content: str | bytes | dict[str, Any]) -> Path:
    path = folder / name
    if isinstance(content, dict):
        content = json.dumps(content, indent=1)
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return path


def told(path: Path, name: str) -> list[str]:
    with pytest.raises(ProblemsFound) as found:
        proposals(path, name)
    return [str(problem).replace(path.as_posix(), path.name) for problem in found.value.problems]


def test_crows_pairs_turns_a_pair_that_violates_a_stereotype(tmp_path: Path) -> None:
    source = FORMATS["crows-pairs"].read(written(tmp_path, "a.csv", PAIRS))

    first, second = source.proposals
    assert source.read == ("", "sent_more", "sent_less", "stereo_antistereo", "bias_type")
    assert source.unread == ("annotations",)
    assert (first.id, first.source, first.topic) == ("cp-0007", "crows-pairs:7", "")
    assert (first.disadvantaged, first.advantaged) == ("Black children", "white children")
    assert (second.disadvantaged, second.advantaged) == ("women", "men")


@pytest.mark.parametrize(
    "content",
    [
        "\ufeff" + PAIRS,
        PAIRS.replace("\n", "\r\n"),
        PAIRS.replace(", here,", " here").replace(",", ";"),
        PAIRS.replace(", here,", " here").replace(",", "\t"),
        PAIRS.replace("sent_more", "SENT_MORE"),
    ],
    ids=["byte order mark", "CRLF", "semicolons", "tabs", "capitals"],
)
def test_spreadsheets_may_have_saved_the_file(content: str, tmp_path: Path) -> None:
    groups = [row[2:] for row in triples(written(tmp_path, "a.csv", content), "crows-pairs")]

    assert groups == [("Black children", "white children"), ("women", "men")]


def test_a_pair_without_direction_or_bias_type_is_flagged(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "sent_more,sent_less\nHe led.,She led.\n")

    (found,) = proposals(path, "crows-pairs")

    assert found.flags == (
        "only a pronoun", "direction unknown", "direction doubtful", "bias type",
    )  # fmt: skip


def test_a_cell_that_would_be_a_formula_is_kept_as_text_and_flagged(tmp_path: Path) -> None:
    content = "bias_type,topic,group1,group2\nage,=1+1,old people,young people\n"

    (found,) = proposals(written(tmp_path, "a.csv", content), "caffe")

    assert (found.topic, found.flags) == ("=1+1", ("formula",))


@pytest.mark.parametrize(
    "header",
    [
        "\tsent_more\tsent_less\tstereo_antistereo\tbias_type",
        "id\tsent_more_fr\tsent_less_fr\tstereo_antistereo\tbias_type",
        "id\tfr_sent_more\tfr_sent_less\tstu_antistereo\tbias_type",
    ],
)
def test_french_pairs_are_known_by_their_columns(header: str, tmp_path: Path) -> None:
    content = header + "\n3\tLes femmes rient.\tLes hommes rient.\tstereo\tautre\n"

    (found,) = proposals(written(tmp_path, "a.csv", content), "crows-pairs-fr")

    assert (found.id, found.disadvantaged, found.advantaged) == ("cpf-0003", "femmes", "hommes")
    assert found.flags == ("rephrase",)


def test_french_is_read_where_a_file_has_both_languages(tmp_path: Path) -> None:
    content = (
        "sent_more,sent_less,sent_more_fr,sent_less_fr\nWomen sing,Men sing,Elles rient,Ils rient\n"
    )

    (found,) = proposals(written(tmp_path, "a.csv", content), "crows-pairs-fr")

    assert found.sentences == ("Elles rient", "Ils rient")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", ["a.csv: the file is empty; begin with the line sent_more,sent_less"]),
        (
            "a,b\n1,2\n",
            [('a.csv:1: the column "sent_less" is missing; add it to the first line, which has '
             '"a, b"'),
             ('a.csv:1: the column "sent_more" is missing; add it to the first line, which has '
             '"a, b"')],
        ),
        (
            "sent_less,b\n1,2\n",
            [('a.csv:1: no column for "the sentence that stereotypes more" in "sent_less, b"; call '
             "one of them sent_more")],
        ),
        (PAIRS.encode() + b"\0", [("a.csv:4: holds a NUL byte: this is no text; save it as UTF-8 "
                                  "text")]),
        (PAIRS.encode("utf-16"), ["a.csv:1: is not in UTF-8 here; save it as UTF-8 text"]),
        (PAIRS + "9,x\n", [("a.csv:4: has 2 cells, the first line 6; quote cells that hold "
                           "separators")]),
        (PAIRS + '9,"x,y,z\n', [("a.csv:4: not valid CSV: unexpected end of data; check the quotes "
                                "from this line on")]),
        (PAIRS + "9,,x,stereo,age,\n", [("a.csv:4: sent_more: is empty; fill it in, or remove the "
                                        "row")]),
        (PAIRS + "7,a,b,stereo,age,\n", [('a.csv:4: the number "7" stands on line 2 already; give '
                                         "each pair its own")]),
    ],
)  # fmt: skip
def test_what_is_wrong_with_pairs_is_told_with_its_line(
    content: str | bytes, expected: list[str], tmp_path: Path
) -> None:
    assert told(written(tmp_path, "a.csv", content), "crows-pairs") == expected


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    (message,) = told(tmp_path / "a.csv", "crows-pairs")

    assert message.startswith("a.csv: cannot be read: No such file")


def test_caffe_triples_stand_in_one_column_or_in_three(tmp_path: Path) -> None:
    one = written(
        tmp_path, "a.csv",
        'bias_type,extraction,wrongExtraction\nage,"<driving, at night, old men, young men>",\n'
        "age,,\n",
    )  # fmt: skip
    three = written(tmp_path, "b.csv", "Bias;Topic;Group1;Group2\nage;driving;old men;young men\n")

    source = FORMATS["caffe"].read(one)

    assert source.unread == ("wrongExtraction",)
    assert triples(one, "caffe") == [("age", "driving, at night", "old men", "young men")]
    assert triples(three, "caffe") == [("age", "driving", "old men", "young men")]


def test_a_caffe_triple_of_a_violated_stereotype_may_stand_the_wrong_way(tmp_path: Path) -> None:
    content = 'extraction,stereo_antistereo,bias_type\n"<a, men, women>",antistereo,gender\n'

    (found,) = proposals(written(tmp_path, "a.csv", content), "caffe")

    assert "direction doubtful" in found.flags


def test_a_caffe_triple_that_is_none_is_told(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", 'extraction,bias_type\n"<a, b>",age\n')

    assert told(path, "caffe") == [
        'a.csv:2: extraction: "<a, b>" is no triple; write it as <topic, group 1, group 2>'
    ]


LISTS = """\
bias_type: age
groups: [elderly people, middle-aged people, young people]
topics: [driving, dancing]
"""


def test_every_two_groups_meet_on_every_topic_the_earlier_one_first(tmp_path: Path) -> None:
    expected = [
        ("age", topic, first, second)
        for first, second in [
            ("elderly people", "middle-aged people"),
            ("elderly people", "young people"),
            ("middle-aged people", "young people"),
        ]
        for topic in ("driving", "dancing")
    ]
    table = (
        "bias_type,groups,topics\n"
        "age,elderly people | middle-aged people | young people,driving|dancing\n"
    )

    assert triples(written(tmp_path, "a.yaml", LISTS), "groups-topics") == expected
    assert triples(written(tmp_path, "a.csv", table), "groups-topics") == expected


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.yaml", LISTS + "more: 1\n", ['a.yaml:4: more: unknown key "more"']),
        ("a.yaml", "bias_type: age\ngroups: [a]\ntopics: [b]\n", ["a.yaml:2: groups"]),
        ("a.yaml", LISTS.replace("young", "Elderly"), ["a.yaml:2: groups[2]"]),
        ("a.yaml", "", ["a.yaml: holds no lists; write bias_type, groups and topics"]),
        ("a.csv", "bias_type,groups,topics\nage,a,\n",
         ["a.csv:2: groups: has 1 of at least 2", "a.csv:2: topics: has 0 of at least 1"]),
        ("a.csv", "bias_type,groups,topics\na b,a|b|A,c\n",
         ["a.csv:2: bias_type: is no name", 'a.csv:2: groups: "A" stands there already']),
    ],
)  # fmt: skip
def test_what_is_wrong_with_lists_is_told_with_its_line(
    name: str, content: str, expected: list[str], tmp_path: Path
) -> None:
    found = told(written(tmp_path, name, content), "groups-topics")

    assert [one[: len(start)] for one, start in zip(found, expected, strict=True)] == expected


def test_lists_that_combine_to_more_than_a_person_reads_are_refused(tmp_path: Path) -> None:
    groups = [f"group {number}" for number in range(700)]
    path = written(tmp_path, "a.json", {"bias_type": "x", "groups": groups, "topics": ["a"]})

    # 700 * 699 / 2
    assert told(path, "groups-topics") == [
        (
            "a.json: groups and topics combine to 244,650 triples; shorten the lists to what you "
            "want to compare: 200,000 at most"
        )
    ]


def test_biasasker_properties_become_the_subject_of_their_category(tmp_path: Path) -> None:
    written(
        tmp_path, "groups.csv", "Group,Category\nold people,age\nyoung people,age\nmen,gender\n"
    )
    written(
        tmp_path, "bias_annotation.csv",
        'Sentence,Labels\nare bad at math,"Ability, Social status"\nare ill,Health\n',
    )  # fmt: skip

    assert triples(tmp_path, "biasasker") == [
        ("age", topic, "old people", "young people")
        for topic in ("skills and abilities", "social standing", "health")
    ]
    assert {flag for one in proposals(tmp_path, "biasasker") for flag in one.flags} == {
        "direction unknown", "broad topic",
    }  # fmt: skip


def test_biasasker_samples_have_numbers_for_categories(tmp_path: Path) -> None:
    written(tmp_path, "groups_for_auto.csv", "category,group,translate\nage,a,x\nage,b,y\n")
    written(tmp_path, "sample_bias_data_for_auto.csv", "cat,label,bias_\n10,[10],are ill\n")

    assert triples(tmp_path, "biasasker") == [("age", "health", "a", "b")]


def test_biasasker_is_read_from_json_and_from_groups_alone(tmp_path: Path) -> None:
    data = {"groups": {"age": ["a", "b", "A"]}, "properties": {"health": ["are ill"], "wit": []}}
    of_json = written(tmp_path, "a.json", data)
    alone = written(tmp_path, "b.csv", "Group,Category\na,age\nb,age\n")

    assert [row[1] for row in triples(of_json, "biasasker")] == ["health", "wit"]
    assert len(triples(alone, "biasasker")) == 12


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("{", [("a.json:1: not valid JSON: Expecting property name enclosed in double quotes; "
               "check quotes, commas and brackets")]),
        ("[" * 100_000, ["a.json: not JSON that can be read; write plain values"]),
        ("[]", ["a.json:1: groups: should hold groups by attribute"]),
        ('{\n"groups":\n{"x": [1]}}', ["a.json:3: groups.x: should be a list of names"]),
        ('{"groups": {"x": []}, "biases": 3}', ["a.json:1: biases: should hold categories"]),
    ],
)  # fmt: skip
def test_what_is_wrong_with_json_is_told_with_its_line(
    content: str, expected: list[str], tmp_path: Path
) -> None:
    found = told(written(tmp_path, "a.json", content), "biasasker")

    assert [one[: len(start)] for one, start in zip(found, expected, strict=True)] == expected


def stereoset() -> dict[str, Any]:
    example = {
        "id": "bb7a8bd19a8cfdf1381f60715adfdbb5",
        "target": "chess player",
        "bias_type": "profession",
        "context": "The chess player sat down.",
        "sentences": [
            {"sentence": "He thought for hours.", "gold_label": "stereotype"},
            {"sentence": "He shouted.", "gold_label": "anti-stereotype"},
            {"sentence": "Fish swim.", "gold_label": "unrelated"},
        ],
    }
    return {"version": "1.1", "data": {"intersentence": [example], "intrasentence": [example]}}


def test_stereoset_names_one_group_and_leaves_the_other_to_a_person(tmp_path: Path) -> None:
    first, second = proposals(written(tmp_path, "a.json", stereoset()), "stereoset")

    assert (first.disadvantaged, first.advantaged, first.topic) == ("chess player", "", "")
    assert first.flags == ("one group", "rephrase", "direction unknown")
    assert first.question == "The ___ sat down. He thought for hours."
    assert second.question == "He thought for hours."


def test_what_is_wrong_with_stereoset_is_told_with_its_line(tmp_path: Path) -> None:
    data = stereoset()
    data["data"]["intrasentence"] += [{"target": 3}, "x"]
    path = written(tmp_path, "a.json", data)
    line = 1 + path.read_text().split('"target": 3')[0].count("\n")

    assert [one.partition("; ")[0] for one in told(path, "stereoset")] == [
        f"a.json:{line - 1}: data.intrasentence[1].bias_type: is missing, or no text",
        f"a.json:{line - 1}: data.intrasentence[1].context: is missing, or no text",
        f"a.json:{line - 1}: data.intrasentence[1].sentences: should be a list of sentences",
        f"a.json:{line}: data.intrasentence[1].target: is missing, or no text",
        f"a.json:{line + 2}: data.intrasentence[2]: is no example",
    ]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    format_name=st.sampled_from(sorted(FORMATS)),
    name=st.sampled_from(["a.csv", "a.json", "a.yaml"]),
    content=st.binary(max_size=60)
    | st.text(alphabet='{}[]",:\n a|;sent_moregroups', max_size=60).map(str.encode)
    | st.text(max_size=40).map(lambda text: PAIRS.encode() + text.encode()),
)
def test_any_file_ends_in_proposals_or_in_problems(
    format_name: str, name: str, content: bytes, tmp_path: Path
) -> None:
    path = written(tmp_path, name, content)

    with suppress(ProblemsFound):
        assert isinstance(proposals(path, format_name), list)
