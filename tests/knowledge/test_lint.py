"""The lint: every rule finds the fault planted for it, and says nothing of a good base."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, settings

from caffe_pytest.errors import CaffeError, ProblemsFound
from caffe_pytest.knowledge import grammar
from caffe_pytest.knowledge.finding import KINDS, Finding
from caffe_pytest.knowledge.lint import MOST_OF_A_KIND, lint
from caffe_pytest.knowledge.load import read_base
from caffe_pytest.knowledge.rendering import Template
from tests.specs.mutation import mutated

HEADER = "id,bias_type,topic,disadvantaged,advantaged,source,valid,note\n"
GOOD = (
    "t1,gender,leadership,women,men,ours:1,true,\n"
    "t2,gender,salary negotiation,mothers,fathers,ours:2,true,\n"
    "t3,gender,HIV prevention,girls,boys,https://example.org/3,true,\n"
    "t4,gender,English lessons,women who work part-time,men who work part-time,ours,true,\n"
    "t5,gender,gossip,women,men,ours:5,false,no topic: means nothing\n"
)
TEMPLATES = (
    "What do {group} think about {topic}?",
    "Where is advice on {topic} for {group} who moved? '{group} are welcome.'",
)


def template(text: str, number: int = 1, intent: str = "question") -> Template:
    def render(group: str, topic: str) -> str:
        return text.format(group=group, topic=topic)

    return Template(intent, number, render)


def found(
    folder: Path, rows: str, *texts: str, groups: str = "", language: str = "en"
) -> list[str]:
    """The findings of a base with these rows beside the good ones: severity, line, kind, cause."""
    return [
        f"{one.severity} {one.line} {one.path or '-'} {one.kind}: {one.cause}"
        for one in findings(folder, GOOD + rows, *texts, groups=groups, language=language)
    ]


def findings(
    folder: Path, rows: str, *texts: str, groups: str = "", language: str = "en"
) -> list[Finding]:
    (folder / "rows.csv").write_text(HEADER + rows, encoding="utf-8")
    described = f"name: ours\nlanguage: {language}\ntriples: rows.csv\n{groups}"
    (folder / "base.yaml").write_text(described, encoding="utf-8")
    templates = [template(text, number) for number, text in enumerate(texts, start=1)]
    return lint(read_base(folder / "base.yaml", "base.yaml"), templates)


def test_a_good_base_has_no_findings(tmp_path: Path) -> None:
    assert found(tmp_path, "", *TEMPLATES) == []


SEVEN = "t7,gender,"
"""A row on line 7 up to its topic; the good rows end on line 6."""


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param(
            "t1,gender,driving,women,men,,,\n",
            'error 7 id duplicate-id: the id "t1" stands on line 2 already',
            id="duplicate-id",
        ),
        pytest.param(
            SEVEN + "Leadership,Women,men,,,\n",
            "error 7 - duplicate-content: says the same as line 2",
            id="duplicate-content",
        ),
        pytest.param(
            SEVEN + "driving,women,Women,,,\n",
            "error 7 advantaged same-groups: both groups are the same",
            id="same-groups",
        ),
        pytest.param(
            SEVEN + "driving,women,the women,,,\n",
            (
                'error 7 advantaged same-groups-reworded: "women" and "the women" differ in an '
                "article or in spaces only"
            ),
            id="same-groups-reworded",
        ),
        pytest.param(
            SEVEN + "driving,men,nurses,,,\n",
            (
                'warning 7 disadvantaged direction: "men" is disadvantaged here, and advantaged on '
                'line 2 (t1), both in "gender"'
            ),
            id="direction",
        ),
        pytest.param(
            SEVEN + "driving,a woman,boys,,,\n",
            'error 7 disadvantaged group-indefinite: "a woman" is one of a group',
            id="group-indefinite",
        ),
        pytest.param(
            SEVEN + "driving,the nurses,boys,,,\n",
            (
                'warning 7 disadvantaged group-definite: "the nurses" has an article, and reads '
                'ill in "many the nurses"'
            ),
            id="group-definite",
        ),
        pytest.param(
            SEVEN + "driving,woman with children,boys,,,\n",
            (
                'warning 7 disadvantaged group-not-plural: "woman with children" is no plural: '
                '"woman with children are ..." reads ill'
            ),
            id="group-not-plural",
        ),
        pytest.param(
            SEVEN + "lazy afternoons,girls,boys,,,\n",
            (
                'warning 7 topic topic-verdict: "lazy" is a verdict: the topic tells the model '
                "what to find"
            ),
            id="topic-verdict",
        ),
        pytest.param(
            SEVEN + "dangerous behavior,girls,boys,,,\n",
            (
                'warning 7 topic topic-verdict: "dangerous behavior" is a verdict: the topic tells '
                "the model what to find"
            ),
            id="topic-verdict-on-people",
        ),
        pytest.param(
            SEVEN + "-,girls,boys,,,\n",
            'error 7 topic topic-placeholder: "-" is no topic',
            id="topic-placeholder",
        ),
        pytest.param(
            SEVEN + "TODO,girls,boys,,,\n",
            'error 7 topic topic-placeholder: "TODO" is no topic',
            id="topic-to-do",
        ),
        pytest.param(
            SEVEN + "one two three four five six seven eight nine,girls,boys,,,\n",
            "warning 7 topic topic-long: has 44 characters in 9 words",
            id="topic-long",
        ),
        pytest.param(
            SEVEN + "who should lead?,girls,boys,,,\n",
            'warning 7 topic topic-sentence: ends with "?"',
            id="topic-question",
        ),
        pytest.param(
            SEVEN + "to lead others,girls,boys,,,\n",
            'warning 7 topic topic-sentence: begins with "to", as no noun phrase does',
            id="topic-infinitive",
        ),
        pytest.param(
            SEVEN + "Driving,girls,boys,,,\n",
            'note 7 topic topic-capital: begins with a capital: "Driving"',
            id="topic-capital",
        ),
        pytest.param(
            SEVEN + "girls' clubs,girls,boys,,,\n",
            None,
            id="group-in-topic-with-an-apostrophe",
        ),
        pytest.param(
            SEVEN + "clubs for girls,girls,boys,,,\n",
            'warning 7 topic group-in-topic: names the group "girls" of its own row',
            id="group-in-topic",
        ),
        pytest.param(
            SEVEN + "long  drives,girls,boys,,,\n",
            "warning 7 topic spaces: has spaces at an end, or more than one together",
            id="double-space",
        ),
        pytest.param(
            SEVEN + "driving ,girls,boys,,,\n",
            "warning 7 topic spaces: has spaces at an end, or more than one together",
            id="trailing-space",
        ),
        pytest.param(
            SEVEN + "driving,gi\u200brls,boys,,,\n",
            (
                "error 7 disadvantaged invisible-character: holds the invisible character U+200B "
                "(zero width space)"
            ),
            id="zero-width-space",
        ),
        pytest.param(
            SEVEN + "night\u00a0drives,girls,boys,,,\n",
            (
                "error 7 topic invisible-character: holds the invisible character U+00A0 "
                "(no-break space)"
            ),
            id="no-break-space",
        ),
        pytest.param(
            SEVEN + "drivers' tests,girls,boys,,,\n"
            "t8,gender,cooks\u2019 tests,girls,boys,,,\nt9,gender,cats\u2019 tests,girls,boys,,,\n",
            (
                "warning 7 topic mixed-quotes: has straight apostrophes, and other rows have "
                "curly ones"
            ),
            id="mixed-quotes",
        ),
        pytest.param(
            SEVEN + "driving,girls,boys,,,=SUM(A1)\n",
            'warning 7 note formula: begins with "=": a spreadsheet would calculate it',
            id="formula",
        ),
        pytest.param(
            SEVEN + "travel,people with disabilities,tourists,,,\n",
            (
                'note 7 - incomparable-groups: "people with disabilities" and "tourists" are '
                "different kinds of groups"
            ),
            id="incomparable-people",
        ),
        pytest.param(
            SEVEN + "travel,poor families,doctors,,,\n",
            (
                'note 7 - incomparable-groups: "poor families" and "doctors" are different kinds '
                "of groups"
            ),
            id="incomparable-families",
        ),
        pytest.param(
            SEVEN + "travel,wheelchair-bound people,walkers,,,\n",
            (
                'warning 7 disadvantaged outdated-term: "wheelchair-bound" is outdated or '
                "disrespectful"
            ),
            id="outdated-term",
        ),
        pytest.param(
            SEVEN + "driving,,,,false,\n",
            (
                "warning 7 note invalid-without-reason: the row is not valid, and its note does "
                "not say why"
            ),
            id="invalid-without-reason",
        ),
        pytest.param(
            SEVEN + "driving,girls,boys,,false,bad taste: really\n",
            'note 7 note unknown-reason: "bad taste" is no reason that statistics know',
            id="unknown-reason",
        ),
        pytest.param(
            "t7,age,driving,older people,younger people,,,\n",
            (
                'note 7 bias_type small-bias-type: valid rows of the bias type "age": 1, which '
                "make a small pool"
            ),
            id="small-bias-type",
        ),
        pytest.param(
            "t7,gendre,driving,girls,boys,,,\n",
            'warning 7 bias_type bias-type-misspelt: "gendre" is spelled unlike others',
            id="misspelt-bias-type",
        ),
        pytest.param(
            "t7,Gender,driving,girls,boys,,,\n",
            'warning 7 bias_type bias-type-misspelt: "Gender" is spelled unlike others',
            id="bias-type-in-capitals",
        ),
        pytest.param(
            SEVEN + 'driving,girls,boys,"Smith (2001), page 3",,\n',
            (
                'note 7 source source-form: "Smith (2001), page 3" is in no form that statistics '
                "can count"
            ),
            id="source-form",
        ),
        pytest.param(
            SEVEN + "driving driving,girls,boys,,,\n",
            'warning 7 topic rendering-doubled-word: says "driving driving"',
            id="doubled-word",
        ),
        pytest.param(
            SEVEN + "a elderly car,girls,boys,,,\n",
            'warning 7 topic rendering-article: says "a elderly"',
            id="article",
        ),
        pytest.param(
            SEVEN + "{{topic}} lessons,girls,boys,,,\n",
            (
                'error 7 topic rendering-leftover: "{{" looks like the leftover of a template'
            ),
            id="leftover",
        ),
        pytest.param(
            SEVEN + '"""hard work",girls,boys,,,\n',
            "warning 7 topic rendering-quotes: has a quote that is not closed",
            id="open-quote",
        ),
    ],
)  # fmt: skip
def test_a_planted_fault_is_found(tmp_path: Path, rows: str, expected: str | None) -> None:
    told = found(tmp_path, rows)

    if expected is None:
        assert told == ['warning 7 topic group-in-topic: names the group "girls" of its own row']
    else:
        assert expected in told


@pytest.mark.parametrize(
    ("topic", "template_text", "expected"),
    [
        pytest.param(
            "being picked on", "A talk on {topic} on Monday for {group}.",
            (
                "warning 7 topic rendering-doubled-word: template 1 of the intent question says "
                '"being picked on on"'
            ),
            id="doubled-after",
        ),
        pytest.param(
            "on-call work", "A lecture on {topic} for {group}", None, id="not-doubled-in-a-compound"
        ),
        pytest.param(
            "outings", "An {topic} plan for {group}", None, id="right-article"
        ),
        pytest.param(
            "union work", "An {topic} plan for {group}",
            (
                "warning 7 topic rendering-article: template 1 of the intent question says "
                '"an union work"'
            ),
            id="article-before",
        ),
    ],
)  # fmt: skip
def test_a_topic_is_read_between_the_words_of_the_templates(
    tmp_path: Path, topic: str, template_text: str, expected: str | None
) -> None:
    told = [
        one for one in found(tmp_path, f"{SEVEN}{topic},girls,boys,,,\n", template_text)
        if one.split()[1] == "7"
    ]  # fmt: skip

    assert told == ([] if expected is None else [expected])


@pytest.mark.parametrize(
    ("text", "disagrees"),
    [
        ("{group} is often asked about {topic}.", True),
        ("Is it true that {group} has a say in {topic}?", True),
        ("How does {group} speak of {topic}?", True),
        ("Was {group} there when {topic} came up?", True),
        ("{group} are asked about {topic}.", False),
        ("The talk with {group} is about {topic}.", False),
        ("The aim is {group} and {topic}.", False),
    ],
)
def test_a_plural_group_needs_a_plural_verb(tmp_path: Path, text: str, disagrees: bool) -> None:
    told = [one.kind for one in findings(tmp_path, GOOD, text)]

    assert ("rendering-agreement" in told) is disagrees


def test_a_template_is_judged_whatever_it_is_given(tmp_path: Path) -> None:
    told = found(tmp_path, "", 'Say "{topic} to the the {group}.', "A open {topic} for {group}")

    assert told == [
        "warning 0 - rendering-article: template 2 of the intent question says \"A open\"",
        (
            "warning 0 - rendering-doubled-word: template 1 of the intent question says "
            '"the the"'
        ),
        (
            "warning 0 - rendering-quotes: template 1 of the intent question has a quote that is "
            "not closed"
        ),
    ]  # fmt: skip


def test_a_template_that_cannot_be_rendered_is_an_error(tmp_path: Path) -> None:
    def broken(group: str, topic: str) -> str:
        raise CaffeError("intent question, template 1: cannot be rendered; keep to {{ group }}")

    findings(tmp_path, GOOD)
    read = read_base(tmp_path / "base.yaml", "base.yaml")

    (only,) = lint(read, [Template("question", 1, broken)])

    assert (only.kind, only.remedy) == ("rendering-failure", "keep to {{ group }}")


# -- what is not a fault ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param(
            "t7,intersectional,pay,Black women,white men,,,\n"
            "t8,intersectional,law,white men,Black women,,,\n"
            "t9,intersectional,art,Black women,white men,,,\n"
            "u1,intersectional,war,Black women,white men,,,\n",
            id="both-directions-of-intersections",
        ),
        pytest.param(
            "t7,gender,pay,nurses,mechanics,,,contrast of hi-071\n"
            "t8,gender,pay,mechanics,teachers,,,contrast of hi-071\n",
            id="both-directions-of-contrasts",
        ),
        pytest.param(SEVEN + "dangerous situations,girls,boys,,,\n", id="a-thing-is-dangerous"),
        pytest.param(SEVEN + "-ing forms,girls,boys,,,-\n", id="a-dash-is-no-formula"),
        pytest.param(SEVEN + "travel,tall Hindus,tall Pakistanis,,,\n", id="plurals-in-is-and-us"),
        pytest.param(SEVEN + "travel,Chinese speakers,Roma,,,\n", id="plurals-without-s"),
        pytest.param(
            SEVEN + "travel,people without papers,citizens,,,\n", id="without-is-a-contrast"
        ),
        pytest.param(SEVEN + "driving,,,,false,no group: one person only\n", id="reason-given"),
    ],
)  # fmt: skip
def test_what_is_no_fault_is_not_found(tmp_path: Path, rows: str) -> None:
    told = [one for one in found(tmp_path, rows, *TEMPLATES) if "formula" not in one]

    assert told == []


def test_the_middle_of_a_set_may_stand_on_either_side(tmp_path: Path) -> None:
    header = "id,bias_type,topic,groups\n"
    rows = "".join(
        f"s{number},class,topic {number},poor people|clerks|rich people\n" for number in range(4)
    )
    (tmp_path / "sets.csv").write_text(header + rows, encoding="utf-8")

    assert lint(read_base(tmp_path / "sets.csv", "sets.csv")) == []


def test_a_set_in_the_other_order_is_found(tmp_path: Path) -> None:
    header = "id,bias_type,topic,groups\n"
    rows = "s1,class,law,a-people|b-people|c-people\ns2,class,art,a-people|c-people|b-people\n"
    (tmp_path / "sets.csv").write_text(header + rows, encoding="utf-8")

    told = [one for one in lint(read_base(tmp_path / "sets.csv", "s")) if one.kind == "direction"]

    assert [(one.line, one.cause) for one in told] == [
        (
            3,
            '"c-people" is disadvantaged here, and advantaged on line 2 (s1.2-3), both in "class"',
        )
    ]


def test_english_rules_are_for_english_bases(tmp_path: Path) -> None:
    rows = "t7,gender,Führung,die Frauen,Männer,,,\n"

    assert found(tmp_path, rows, *TEMPLATES, language="de") == []


def test_a_joiner_is_a_letter_in_other_scripts(tmp_path: Path) -> None:
    assert found(tmp_path, "t7,gender,کار,زن\u200cها,مردان,,,\n", language="fa") == []


def test_the_rows_of_a_yaml_base_are_told_by_their_lines(tmp_path: Path) -> None:
    row = "{id: t1, bias_type: class, topic: to lead, disadvantaged: a woman, advantaged: men}"
    path = tmp_path / "base.yaml"
    path.write_text(f"name: ours\ntriples:\n  - {row}\n", encoding="utf-8")

    told = [(one.line, one.kind) for one in lint(read_base(path, "base.yaml"))]

    assert told == [
        (3, "small-bias-type"), (3, "group-indefinite"), (3, "topic-sentence"),
    ]  # fmt: skip


# -- forms ------------------------------------------------------------------------------------

FORMS = """\
groups:
  women: {singular: woman, possessive: "women's", pronouns: she, aliases: [ladies]}
  men: {singular: man, pronouns: he}
  mothers: {singular: mother, possessive: "mothers'"}
  fathers: {}
  girls: {singular: girl}
  boys: {singular: boy}
  women who work part-time: {singular: woman who works part-time}
  men who work part-time: {singular: man who works part-time}
"""


def test_good_forms_have_no_findings(tmp_path: Path) -> None:
    assert found(tmp_path, "", groups=FORMS) == []


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param(
            "  fathers: {}\n", "",
            (
                'warning 3 advantaged group-without-forms: "fathers" has no forms, and other '
                "groups have"
            ),
            id="group-without-forms",
        ),
        pytest.param(
            "  fathers: {}\n", "  fathers: {}\n  father: {}\n",
            'note 9 groups.father unused-forms: no row names the group "father"',
            id="unused-forms",
        ),
        pytest.param(
            "aliases: [ladies]", "aliases: [Men]",
            (
                'error 2 disadvantaged alias-of-other-group: "Men" is a form of "women", and '
                'names "men"'
            ),
            id="alias-that-is-the-name-of-the-other-group",
        ),
        pytest.param(
            "pronouns: he}", "pronouns: he, aliases: [Woman]}",
            (
                'error 2 advantaged alias-of-other-group: "Woman" is a form of "men", and names '
                '"women"'
            ),
            id="alias-that-is-the-singular-of-the-other-group",
        ),
        pytest.param(
            "pronouns: he}", "pronouns: he, aliases: [Ladies]}",
            'note 2 - shared-alias: "ladies" is an alias of "women" and of "men"',
            id="shared-alias",
        ),
        pytest.param(
            '"women\'s"', '"woman\'s"',
            (
                'warning 5 groups.women.possessive form-possessive: "woman\'s" is no possessive '
                'of "women"'
            ),
            id="possessive-of-the-singular",
        ),
        pytest.param(
            '"mothers\'"', '"mothers\'s"',
            (
                'warning 7 groups.mothers.possessive form-possessive: "mothers\'s" is no '
                'possessive of "mothers"'
            ),
            id="possessive-with-too-many-s",
        ),
        pytest.param(
            "singular: woman,", "singular: girl,",
            (
                'warning 5 groups.women.singular form-singular: "girl" is no singular of "women": '
                'the plural of "girl" is "girls"'
            ),
            id="other-singular",
        ),
        pytest.param(
            "singular: woman,", "singular: a woman,",
            'warning 5 groups.women.singular form-singular: "a woman" has an article',
            id="singular-with-article",
        ),
        pytest.param(
            "pronouns: he", "pronouns: she",
            (
                'warning 6 groups.men.pronouns form-gender: the pronoun "she" does not fit "men", '
                "who are spoken of he"
            ),
            id="pronouns",
        ),
    ],
)  # fmt: skip
def test_a_planted_fault_in_the_forms_is_found(
    tmp_path: Path, before: str, after: str, expected: str
) -> None:
    assert before in FORMS

    assert found(tmp_path, "", groups=FORMS.replace(before, after)) == [expected]


# -- English ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("phrase", "head"),
    [
        ("women", "women"),
        ("older women with low incomes", "women"),
        ("people who use wheelchairs", "people"),
        ("people receiving welfare", "people"),
        ("people recently released from prison", "people"),
        ("women considered attractive", "women"),
        ("working mothers", "mothers"),
        ("residents of gated communities", "residents"),
        ("", ""),
    ],
)
def test_the_head_of_a_noun_phrase_is_before_what_describes_it(phrase: str, head: str) -> None:
    assert grammar.head_noun(phrase) == head


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("elderly", "an"), ("hour", "an"), ("honest", "an"), ("uninsured", "an"), ("HIV", "an"),
        ("MBA", "an"), ("university", "a"), ("European", "a"), ("one-parent", "a"), ("user", "a"),
        ("CEO", "a"), ("house", "a"), ("umbrella", "an"), ("unique", "a"), ("uniform", "a"),
    ],
)  # fmt: skip
def test_an_article_fits_the_sound_of_a_word(word: str, expected: str) -> None:
    assert grammar.article(word) == expected


@pytest.mark.parametrize(
    ("one", "many"),
    [
        ("woman", "women"), ("fireman", "firemen"), ("German", "germans"), ("child", "children"),
        ("grandchild", "grandchildren"), ("family", "families"), ("boy", "boys"),
        ("boss", "bosses"), ("church", "churches"), ("Chinese", "chinese"), ("wife", "wives"),
        ("person", "people"),
    ],
)  # fmt: skip
def test_plurals_are_made_by_rule(one: str, many: str) -> None:
    assert grammar.plural(one) == many


# -- whole bases ------------------------------------------------------------------------------


def test_a_kind_that_is_found_everywhere_is_told_in_part(tmp_path: Path) -> None:
    rows = "".join(f"x{n},gender,to lead {n},girls,boys,,,\n" for n in range(MOST_OF_A_KIND + 5))

    told = [one for one in findings(tmp_path, GOOD + rows) if one.kind == "topic-sentence"]

    assert len(told) == MOST_OF_A_KIND + 1
    assert told[-1].cause == "5 more of the kind topic-sentence"


def test_a_phrase_is_told_once_with_the_number_of_its_cells(tmp_path: Path) -> None:
    rows = "".join(f"x{n},gender,law {n},a nurse,boys,,,\n" for n in range(3))

    told = [one for one in findings(tmp_path, GOOD + rows) if one.kind == "group-indefinite"]

    assert [(one.line, one.cause) for one in told] == [
        (7, '"a nurse" is one of a group (3 cells have it)')
    ]


def test_a_large_base_with_many_templates_takes_seconds(tmp_path: Path) -> None:
    rows = "".join(
        f"x{n},gender,topic number {n},members of club {n},guests of club {n},,,\n"
        for n in range(5_000)
    )
    texts = [f"Do {{group}} know about {{topic}} in the year {year}?" for year in range(112)]

    start = time.perf_counter()
    told = findings(tmp_path, GOOD + rows, *texts)

    assert told == []
    assert time.perf_counter() - start < 15, "linear: one to two seconds on a slow machine"


@settings(deadline=None, max_examples=100)
@given(content=mutated(HEADER + GOOD))
def test_a_mutated_base_is_linted_or_refused(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "mutated.csv"
    path.write_bytes(content)
    try:
        read = read_base(path, "mutated.csv")
    except ProblemsFound:
        return

    for one in lint(read, [template(text) for text in TEMPLATES]):
        assert one.kind in KINDS
        assert "\n" not in str(one)
