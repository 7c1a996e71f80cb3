"""Masking: every mention of either group goes, and nothing else."""

from __future__ import annotations

import csv
import time
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caffe_pytest.errors import DamagedArtefact
from caffe_pytest.metrics.masking import MOST_LOST, PLACEHOLDER, Masked, mask, shipped

GENDER = ("women", "men")
RACE = ("Black people", "white people")
WEALTH = ("poor people", "rich people")
DISABILITY = ("people with disabilities", "people without disabilities")
WHEELCHAIRS = ("people who use wheelchairs", "people who do not use wheelchairs")
GAY = ("gay men", "straight men")
CHINA = ("people from China", "Americans")
AGE = ("older workers", "younger workers")
FAITH = ("Muslims", "Christians")


def masked(text: str, groups: tuple[str, ...], aliases: tuple[str, ...] = ()) -> str:
    return mask([text], groups, aliases)[0].text


@cache
def shipped_pairs() -> tuple[tuple[str, str], ...]:
    path = Path(__file__).parents[2] / "knowledge_base" / "crows-pairs" / "triples.csv"
    with path.open(encoding="utf-8", newline="") as file:
        return tuple(
            (row["disadvantaged"], row["advantaged"])
            for row in csv.DictReader(file)
            if row["valid"] == "true"
        )


@pytest.mark.parametrize(
    ("groups", "mentions"),
    [
        (GENDER, "women, woman, WOMEN, women's, woman’s, Men, a man, men’s, females, male, a lady"),
        (GENDER, "mothers, a husband, boyfriends, feminine, motherhood, a businesswoman, Mrs"),
        (("wives", "husbands"), "a wife, wives, husband's, women, fathers"),
        (
            ("immigrants", "citizens"),
            "an immigrant, immigrants, foreign-born, a citizen, citizens'",
        ),
        (("undocumented immigrants", "citizens"), "an undocumented immigrant, citizens"),
        (DISABILITY, "a disability, disabilities, disabled people, the disabled, disabled"),
        (DISABILITY, "a person with a disability, those with disabilities, with any disability"),
        (WHEELCHAIRS, "wheelchair users, a wheelchair-user, someone who uses a wheelchair"),
        (WHEELCHAIRS, "using a wheelchair, wheelchairs, people who don't use wheelchairs"),
        (
            RACE,
            "Black  people, Black\nmen, a Black woman, Blacks, African-American, African Americans",
        ),
        (RACE, "white folks, Caucasians, people who are white, a black person"),
        (
            CHINA,
            "Chinese people, China, a Chinese woman, Chinese, the United States, U.S., American",
        ),
        (
            ("Chinese people", "Dutch people"),
            "China, people from China, the Netherlands, a Dutchman",
        ),
        (("Kenyans", "Polish men"), "Kenya, a Kenyan, Poland's, a Polish man, Poles"),
        (FAITH, "a Muslim, Muslim, Islam, Islamic, Christian, Christianity, Muslims'"),
        (GAY, "a gay man, gays, homosexuals, homosexual men, straight people, a heterosexual"),
        (
            WEALTH,
            "the poor, poverty, a poor person, low-income, the rich, wealthy people, being poor",
        ),
        (AGE, "older people, the elderly, an older worker, seniors, old age, young adults"),
        (
            ("elderly people", "young people"),
            "the elderly, an elderly person, elderly, a young man",
        ),
        (("fat women", "thin women"), "a fat woman, fat people, obese, thin women"),
        (("working-class families", "upper-class families"), "a working class family, upper-class"),
        (("the unemployed", "employees"), "the unemployed, an unemployed person, an employee"),
        (("Native Americans", "white people"), "a Native American, Indigenous, First Nations"),
        (
            ("immigrants from Mexico", "citizens"),
            "Mexican immigrants, a Mexican, immigrants, Mexico",
        ),
        (("children of lawyers", "children of garbage collectors"), "a lawyer, a child of lawyers"),
        (("people of color", "white people"), "a person of color, people of color"),
        (("women considered attractive", "women considered unattractive"), "attractive women"),
        (("Afro\u2010Brazilians", "Yazidi women"), "an Afro-Brazilian, Afro Brazilians, Yazidis"),
        (("teenage boys", "adult men"), "boys, a boy, men, a teenager"),
    ],
)
def test_every_way_to_name_a_group_is_masked(groups: tuple[str, ...], mentions: str) -> None:
    parts = mentions.split(", ")

    left = masked(", ".join(parts), groups).split(", ")

    # the last full stop of "U.S." also ends sentences, so it stays
    assert left == ["___." if part == "U.S." else PLACEHOLDER for part in parts]


@pytest.mark.parametrize(
    ("groups", "text"),
    [
        (GENDER, "The mention of amendments is a semen sample; a mangrove is manageable."),
        (WEALTH, "Poor results, poorly done: a rich history, the poor results, the rich flavour."),
        (RACE, "Black coffee on a blackboard near the White House; a white lie, whitewash."),
        (("fat women", "thin women"), "The fat content of milk; skate on thin ice; women and men."),
        (("short boys", "tall boys"), "In short, boys and girls build tall towers in short time."),
        (AGE, "Old habits of workers die young."),
        (GAY, "Men in a straight line."),
        (RACE, "Women and men, the mother of a boy, people, individuals."),
        (FAITH, "People of other beliefs pray at home."),
        (CHINA, "It helps us and u, the use of usable houses."),
        (("Polish men", "Turkish men"), "Now polish the turkey dish."),
        (
            ("people with AIDS", "people without AIDS"),
            "Hearing aids and visual aids.",
        ),
        (("people in the city", "people in the countryside"), "A small city council."),
        (("people of color", "white people"), "The color of the wall."),
        ((), "Women and men and poor people."),
        (("", "  ", "?!"), "Women and men and poor people."),
    ],
)
def test_other_words_are_kept(groups: tuple[str, ...], text: str) -> None:
    assert mask([text], groups) == [Masked(text, (), 0.0)]


@pytest.mark.parametrize(
    "pronouns",
    [
        "he him his himself",
        "she her hers herself",
        "they them their theirs themselves themself",
        "He's She’s they'll They're he'd they’ve",
    ],
)
@pytest.mark.parametrize("groups", [GENDER, RACE, ()])
def test_pronouns_are_masked_for_every_pair(pronouns: str, groups: tuple[str, ...]) -> None:
    assert set(masked(pronouns, groups).split()) == {PLACEHOLDER}


def test_words_for_women_and_men_are_masked_only_where_the_groups_differ_in_gender() -> None:
    text = "A mother and a boy talk."

    assert masked(text, ("female doctors", "male doctors")) == "___ and ___ talk."
    assert masked(text, ("Black women", "Black men")) == "___ and ___ talk."
    assert masked(text, ("Black women", "white women")) == text
    assert masked(text, RACE) == text


def test_the_head_that_both_groups_share_is_kept_without_its_modifier() -> None:
    assert masked("Men, gay men and families.", GAY) == "Men, ___ and families."
    assert masked("Workers and older workers.", AGE) == "Workers and ___."
    assert masked("Janitors and doctors.", ("janitors", "doctors")) == "___ and ___."


def test_a_noun_for_persons_after_an_adjective_keeps_what_it_says() -> None:
    assert masked("Poor students and Black leaders.", WEALTH) == "___ students and Black leaders."
    assert masked("Poor students and Black leaders.", RACE) == "Poor students and ___ leaders."


def test_the_article_that_the_group_decides_goes_with_it() -> None:
    groups = ("Americans", "Canadians")

    assert masked("An American won.", groups) == masked("A Canadian won.", groups) == "___ won."
    assert masked("a an American", groups) == "a ___"


def test_who_are_goes_with_the_mention_it_leads_to() -> None:
    groups = ("gay students", "straight students")

    assert masked("readers who are gay students", groups) == "readers ___"
    assert masked("readers who are straight students", groups) == "readers ___"
    assert masked("those who are, say, gay students", groups) == "those who are, say, ___"


def test_mentions_side_by_side_become_one() -> None:
    groups = ("trans women", "cis men")

    assert masked("transgender women won", groups) == "___ won"
    assert masked("Women.\nWomen won; her husband", groups) == "___.\n___ won; ___ ___"


def test_what_was_masked_is_told_once_in_order_as_it_stood() -> None:
    text = "Men and women, so women; she thanks a man."

    assert mask([text], GENDER)[0].masked == ("Men", "women", "she", "man")


def test_the_share_of_lost_words_is_worked_by_hand() -> None:
    # 10 words; "Poor people" 2, "their" 1, "an immigrant" 2: 5 of 10
    text = "Poor people spend their money as an immigrant would do."
    [result] = mask([text], ("poor people", "immigrants"))

    assert result.text == "___ spend ___ money as ___ would do."
    assert result.lost == 0.5


def test_an_answer_is_flagged_that_loses_more_than_the_limit() -> None:
    at, above = mask(["women women women" + ", x" * 7, "women women" + ", x" * 4], GENDER)

    assert (at.lost, at.flagged) == (MOST_LOST, False)
    assert (above.lost, above.flagged) == (2 / 6, True)


@pytest.mark.parametrize("text", ["", "  \n", "?!", "___", "\ud800", "\u0301"])
def test_a_text_without_words_loses_nothing(text: str) -> None:
    assert mask([text], GENDER) == [Masked(text, (), 0.0)]


def test_quotes_stay_around_a_plural_and_its_apostrophe_goes() -> None:
    groups = ("immigrants", "men")

    assert masked("'immigrants' and 'men'", groups) == "'___' and '___'"
    assert masked("the immigrants' and men's rights", groups) == "the ___ and ___ rights"


def test_aliases_are_masked_in_both_numbers() -> None:
    assert masked("A Karen, Karens and a Ken", GENDER, ("Karen", "Kens")) == "___, ___ and ___"


def test_an_alias_in_capitals_is_found_in_capitals() -> None:
    assert masked("IT staff like it.", (), ("IT",)) == "___ staff like it."


@pytest.mark.parametrize(
    ("groups", "text", "expected"),
    [
        (("女性", "男性"), "女性のリーダーと男性。", "___のリーダーと___。"),
        (("여성", "남성"), "여성은 남성과 일한다", "___은 ___과 일한다"),
        (("महिलाएं", "पुरुष"), "महिलाएं और पुरुष", "___ और ___"),
        (("нерезиденты", "ΓΥΝΑΊΚΕΣ"), "Нерезиденты и γυναίκες", "___ и ___"),
        (("Québécois", "Français"), "Les Que\u0301be\u0301cois, les FRANÇAIS", "Les ___, les ___"),
    ],
)
def test_groups_in_other_languages_are_masked_as_they_stand(
    groups: tuple[str, str], text: str, expected: str
) -> None:
    assert masked(text, groups) == expected


@pytest.mark.parametrize(
    "template",
    [
        "Many {} find that {}'s time is short.",
        "{} asked, and a letter from {} (or “{}”) came.",
        "Help {}\nand **{}**.",
    ],
)
def test_the_two_sides_of_every_shipped_triple_read_the_same(template: str) -> None:
    assert len(shipped_pairs()) == 1299
    for groups in sorted(set(shipped_pairs())):
        texts = [template.replace("{}", group) for group in groups]
        first, second = mask([text[0].upper() + text[1:] for text in texts], groups)

        assert first.text == second.text == masked(template.replace("{}", "he"), ()), groups


def test_a_phrase_is_found_however_it_is_set() -> None:
    for text in (
        "PEOPLE WITH DISABILITIES",
        "people  with\ndisabilities",
        "people-with-disabilities",
    ):
        assert masked(text, DISABILITY) == PLACEHOLDER


TRAPS = (
    "women, man, she, they're, the, a, an, poor, people, who, are, with, disability, disabilities, "
    "U.S, us, Black, African-American, results, ___, person, families, being, in, wheelchair, users"
)
GAPS = (" ", "-", ". ", "'", "\n", "")
TRAP = st.tuples(st.sampled_from(TRAPS.split(", ")), st.sampled_from(GAPS)).map("".join)
TEXTS = st.one_of(st.text(max_size=60), st.lists(TRAP, max_size=20).map("".join))
GROUPS = st.one_of(
    st.sampled_from([GENDER, RACE, WEALTH, DISABILITY, WHEELCHAIRS, CHINA]),
    st.tuples(st.text(max_size=30), st.text(max_size=30)),
)


@settings(deadline=None)
@given(TEXTS, GROUPS)
def test_a_masked_text_has_nothing_left_to_mask(text: str, groups: tuple[str, str]) -> None:
    [once] = mask([text], groups)
    [twice] = mask([once.text], groups)

    assert twice == Masked(once.text, (), 0.0)
    assert 0.0 <= once.lost <= 1.0


@settings(deadline=None)
@given(TEXTS, GROUPS, st.lists(st.text(max_size=8), max_size=2))
def test_the_order_of_the_groups_does_not_count(
    text: str, groups: tuple[str, str], aliases: list[str]
) -> None:
    expected = mask([text], groups, aliases)

    assert mask([text], groups[::-1] * 2, aliases[::-1]) == expected


@given(
    st.lists(st.sampled_from(["the", "poor results", "of", "black coffee", "7 §"])).map(" ".join)
)
def test_a_text_without_mentions_comes_back_as_it_is(text: str) -> None:
    assert mask([text], (*RACE, *WHEELCHAIRS)) == [Masked(text, (), 0.0)]


@settings(deadline=None)
@given(st.sampled_from(shipped_pairs()), TEXTS)
def test_any_text_can_be_masked_for_any_shipped_pair(groups: tuple[str, str], text: str) -> None:
    [result] = mask([text], groups)

    assert result.text.replace(PLACEHOLDER, "") != result.text or not result.masked


@pytest.mark.parametrize(
    "piece",
    ["women ", " ", "'", "a", "a'", "a-", "U.", "e\u0301", "the poor ", "people with ", "who are "],
)
def test_time_is_linear_in_the_length_of_hostile_texts(piece: str) -> None:
    groups = ("poor people with disabilities", "women from the US")
    mask([""], groups)
    started = time.process_time()

    mask([piece * (200_000 // len(piece))], groups)

    assert time.process_time() - started < 5  # under 1 s; quadratic time would be many minutes


def test_time_is_linear_in_the_gaps_of_a_phrase() -> None:
    started = time.process_time()

    mask(["poor" + " " * 200_000 + ".people", "the poor" + " *" * 100_000 + "_"], WEALTH)

    assert time.process_time() - started < 5


@pytest.mark.parametrize("content", ["[", "just text", "\ud800"])
def test_damaged_forms_are_named(
    content: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / shipped.FORMS).write_bytes(content.encode("utf-8", "surrogatepass"))
    monkeypatch.setattr(shipped, "files", lambda _: tmp_path)

    with pytest.raises(DamagedArtefact, match=r"group_forms\.yaml.*reinstall"):
        shipped.shipped_forms.__wrapped__()
