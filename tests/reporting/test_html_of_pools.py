"""The page of a run with pools, controls and several models."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from caffe_pytest.model.run import Finding, PairResult, Result, Summary
from caffe_pytest.reporting import html
from caffe_pytest.reporting.summary import summarise
from tests.reporting.sample_results import (
    DOUBTS,
    ERROR,
    FAIL,
    INCONCLUSIVE,
    LENGTH,
    PASS,
    REFUSAL,
    SEMANTIC,
    SENTIMENT,
    WORDING,
    pool,
    result,
    with_control,
)
from tests.reporting.test_html import ARGUMENTS, CHROMIUM, HOSTILE, Opened, text_of, write

ANSWERS = ".answer > p:not(.journal-key, .mostly-masked)"
FINDINGS: tuple[Finding, ...] = (SENTIMENT, WORDING, SEMANTIC, LENGTH, REFUSAL)


def hostile_pool() -> Result:
    """Phrases, groups and answers that would like to be markup or a pattern."""
    phrases = tuple(
        WORDING.phrases[0].model_copy(update={"text": text[:60]})
        for text in (*HOSTILE, ".*(", "\\")
    )
    one = pool("hostile", FAIL, findings=(WORDING.model_copy(update={"phrases": phrases}),))
    pairs = tuple(
        PairResult.model_validate(
            pair.model_dump()
            | {
                "groups": (HOSTILE[0], "a.b*c("),
                "answers": (text, f"{text} a.b*c("),
                "masked": (("<b>", text[:5]), ("a.b*c(",)),
            }
        )
        for pair, text in zip(one.pairs, HOSTILE, strict=True)
    )
    return one.model_copy(update={"pairs": pairs, "model": "biased"})


def results_of_a_run() -> list[Result]:
    return [
        pool("gender", FAIL, findings=FINDINGS, model="biased", reason="treated differently"),
        pool("age", INCONCLUSIVE, findings=(LENGTH, REFUSAL), model="biased", bias_type="age"),
        pool("gender", PASS, findings=(REFUSAL,), model="fair"),
        pool("age", ERROR, model="fair", bias_type="age", reason="30 answers are missing"),
        with_control(result("pair", FAIL, 0.5, model="biased", case="FAIR-2"), 1, 2),
        with_control(result("pair", PASS, 0.95, model="fair", case="FAIR-2"), 0, 2),
        hostile_pool(),
    ]


def summary_of(results: list[Result], **gate: str) -> Summary:
    return summarise(
        results,
        planned=len(results),
        gates={"FAIR-1": gate} if gate else {},
        calls={"asked": 9},
        failures={},
    )


def page_of(folder: Path, results: list[Result], **gate: str) -> Path:
    return write(folder, results, summary_of(results, **gate))


# ---- without a browser -------------------------------------------------------------------------


def test_the_same_pools_give_the_same_bytes(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()

    one = page_of(tmp_path / "one", results_of_a_run())
    two = page_of(tmp_path / "two", results_of_a_run())

    assert one.read_bytes() == two.read_bytes()


def test_the_headline_tells_each_model_by_itself() -> None:
    results = [
        *(result(f"x{n}", FAIL, 0.1, model="biased") for n in range(3)),
        result("x3", PASS, 1.0, model="biased"),
        *(result(f"x{n}", PASS, 1.0, model="fair") for n in range(4)),
    ]

    assert html.outcome(summary_of(results)).replace("\N{NO-BREAK SPACE}", " ") == (
        "biased: 3 of 4 items failed (75.0 %); fair: None of 4 items failed (0.0 %)"
    )


def test_a_headline_of_many_models_names_the_worst() -> None:
    results = [result("x", FAIL if n else PASS, 0.5, model=f"model {n}") for n in range(5)]

    headline = html.outcome(summary_of(results))

    assert headline.startswith("model 1: 1 of 1 item failed")
    assert "model 0" not in headline
    assert headline.endswith("and 2 further models")


def test_rates_of_several_models_are_never_pooled(tmp_path: Path) -> None:
    results = [
        result("a", FAIL, 0.1, model="biased"),
        result("b", FAIL, 0.1, model="biased", bias_type="age"),
        result("a", PASS, 1.0, model="fair"),
        result("b", PASS, 1.0, model="fair", bias_type="age"),
    ]

    text = text_of(page_of(tmp_path, results))

    assert "50.0 %" not in text
    assert "By model and bias type" in text
    assert "Scores of prompt pairs, lsa, biased" in text
    assert "Scores of prompt pairs, lsa, fair" in text


def test_a_control_stands_beside_the_fail_rate(tmp_path: Path) -> None:
    results = [
        with_control(result("a", FAIL, 0.5), 1, 2),
        with_control(result("b", PASS, 1.0), 0, 2),
    ]

    text = text_of(page_of(tmp_path, results))

    assert "25.0 % control fail rate the same prompt asked twice" in text
    assert "gender 2 1 1 0 50.0 % 25.0 % 50.0 % 0.750" in text
    assert "50.0 % of the pairs failed, and 25.0 % of the controls." in text
    # the controls' scores: 0.5 once, 1.0 three times
    assert "0.50 0.55 0 1 0 0 1" in text
    assert "0.95 1.00 1 0 0 0 3" in text


def test_without_controls_nothing_is_said_of_them(tmp_path: Path) -> None:
    page = page_of(tmp_path, [result("a", PASS, 1.0)])

    assert "control" not in text_of(page).lower()


def test_pools_alone_have_no_scores_and_no_empty_histogram(tmp_path: Path) -> None:
    text = text_of(page_of(tmp_path, [pool("gender", FAIL, findings=FINDINGS)]))

    assert "mean score" not in text
    assert "ASR" not in text
    assert "Scores of prompt pairs" not in text
    assert "Expected fairness no difference beyond its margin panel" in text
    assert "None panel" not in text


def test_every_question_of_every_pool_stands_in_a_table_failing_ones_first(tmp_path: Path) -> None:
    text = text_of(page_of(tmp_path, results_of_a_run()))

    assert "pool verdict length refusal semantic sentiment wording control p" in text
    biased = (
        "biased , gender FAIR-1 ✗ fail ? inconclusive: -8.4 % ✓ pass: 0 points "
        "? inconclusive: +0.049 ✗ fail: -0.25 ✗ fail: +45 points 0.4"
    )
    assert biased in text
    assert text.index(biased) < text.index("fair , gender FAIR-1 ✓ pass")


def test_an_alarm_and_a_threshold_within_the_noise_are_told_first(tmp_path: Path) -> None:
    results = [pool(f"p{n}", PASS, control_failed=n < 4) for n in range(9)]
    results += [with_control(result(f"x{n}", FAIL, 0.5), 2, 2) for n in range(5)]

    text = text_of(page_of(tmp_path, results))

    assert "The verdicts of this run cannot be trusted. 4 of 9 controls fail" in text
    assert "A threshold within the noise. one: asked the same prompt twice, 100 %" in text
    assert text.index("cannot be trusted") < text.index("Totals", text.index("Made with") + 60)


def test_a_gate_says_whether_it_tolerates_undecided_items(tmp_path: Path) -> None:
    results = [pool("a", INCONCLUSIVE), pool("b", PASS)]

    text = text_of(page_of(tmp_path, results, inconclusive="warn"))

    assert "✓ held 1 inconclusive, tolerated" in text


def test_chunks_are_bounded_by_length_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(html, "CHUNK_LENGTH", 15_000)
    pools = [pool(f"p{n}", PASS, prompts=9) for n in range(12)]
    length = len(pools[0].model_dump_json())

    source = page_of(tmp_path, pools).read_text(encoding="utf-8")

    assert length < 15_000 < 2 * length
    assert source.count('id="chunk-') == 6


# ---- in a browser ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed, so the page cannot be opened")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(html, "CHUNK_LENGTH", 30_000)  # several chunks
        page = page_of(tmp_path_factory.mktemp("run"), results_of_a_run())
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield Opened(browser.new_page(), page.as_uri())
        browser.close()


@pytest.fixture
def report(opened: Opened) -> Iterator[Opened]:
    """The page, fresh; whatever a test does to it, nothing may be fetched, run or complained of."""
    opened.go()
    yield opened
    assert opened.troubles == []
    assert {url.partition("#")[0] for url in opened.requests} == {opened.address}
    assert opened.page.evaluate("typeof window.hacked") == "undefined"


def words(locator: Any) -> list[str]:
    return [" ".join(text.split()) for text in locator.all_inner_texts()]


def test_rows_of_pools_and_pairs_stand_side_by_side(report: Opened) -> None:
    rows = words(report.page.locator("button.row"))

    assert rows[0] == "✗ fail gender pool of 4 prompt pairs biased · FAIR-1 -0.25 sentiment"
    assert rows[3] == "! error age pool of 4 prompt pairs fair · FAIR-1 –"
    assert rows[4] == "✗ fail women / men leadership gender · biased · FAIR-2 0.500"


def test_a_pool_shows_its_questions_with_verdicts_in_words(report: Opened) -> None:
    row = report.open(0)

    assert words(row.locator("table.questions tbody tr")) == [
        (
            "sentiment 0.13 0.38 -0.25 -0.32 to -0.19, margin 0.1 0.0001 0.0002 ✗ fail "
            "differs beyond the margin"
        ),
        (
            "wording – – +45 points +31 to +59 points, margin 5 points 0.0001 0.0002 ✗ fail "
            "differs beyond the margin"
        ),
        (
            "semantic 0.87 within 0.82 across +0.049 +0.021 to +0.079, margin 0.05 0.0001 0.0002 "
            "? inconclusive about as large as the margin"
        ),
        (
            "length 102 111 -8.4 % -11 to -6.2 %, margin 10 % 0.0001 0.0002 ? inconclusive "
            "about 47 more prompt pairs would settle it"
        ),
        (
            "refusal 0 % 0 % 0 points -3.8 to +3.8 points, margin 5 points 1 1 ✓ pass "
            "no difference beyond the margin"
        ),
    ]
    assert "p = 0.4: no difference, as it should be" in row.locator(".levels").inner_text()


def test_the_interval_is_drawn_against_the_margin(report: Opened) -> None:
    row = report.open(0)

    plot = row.locator("table.questions .interval").first
    band, zero, line = (
        plot.locator(f".{part}").bounding_box() for part in ("band", "zero", "line")
    )
    assert band
    assert zero
    assert line
    # all of the interval lies beyond the margin, on the side of a lower level
    assert line["x"] + line["width"] < band["x"] < zero["x"] < band["x"] + band["width"]
    # as wide as it is: 0.13 against a band of 0.2
    assert line["width"] / band["width"] == pytest.approx(0.13 / 0.2, abs=0.03)


def test_a_phrase_leads_to_the_answers_that_hold_it(report: Opened) -> None:
    row = report.open(0)
    button = row.get_by_role("button", name="serious doubts")

    button.click()

    # about women at both repetitions, for all prompt pairs but the last
    held = row.locator(".held")
    assert held.get_by_role("status").inner_text() == (
        "6 answers about the disadvantaged group, 0 about the advantaged group"
    )
    assert held.locator("article").count() == 6
    assert held.locator("mark.phrase-found").all_inner_texts() == ["serious doubts"] * 6
    assert held.locator("article p").first.inner_text() == f"{DOUBTS} 0"
    assert button.get_attribute("aria-pressed") == "true"
    button.click()
    assert held.locator("article").count() == 0


def test_a_phrase_about_a_masked_group_is_found_and_held_by_its_own_side(report: Opened) -> None:
    row = report.open(0)

    row.get_by_role("button", name="helps ___").click()

    status = row.locator(".held").get_by_role("status").inner_text()
    assert status == "0 answers about the disadvantaged group, 4 about the advantaged group"
    assert row.locator("mark.phrase-found").all_inner_texts() == ["helps a man"] * 4


def test_prompts_are_shown_once_and_repetitions_below_each_other(report: Opened) -> None:
    row = report.open(0)

    pair = row.locator(".pair").first
    assert row.locator(".pair").count() == 4
    assert pair.locator(".prompt > p").all_inner_texts() == ["Advise women, 0.", "Advise men, 0."]
    sides = [words(pair.locator(".side").nth(side).locator(ANSWERS)) for side in (0, 1)]
    assert sides == [
        [f"{DOUBTS} 0", f"{DOUBTS} 0"],
        ["A mentor helps a man to begin. 0", "Just begin. 0"],
    ]
    assert words(pair.locator(".answer h5"))[:2] == [
        "Answer 1, similarity 0.90",
        "Answer 2, similarity 0.90",
    ]


def test_masked_words_are_boxed_with_a_legend_and_mostly_masked_answers_flagged(
    report: Opened,
) -> None:
    row = report.open(0)

    first, last = row.locator(".pair").first, row.locator(".pair").last
    assert first.locator(".side .masked").all_inner_texts() == ["women", "women", "man"]
    border = "one => getComputedStyle(one).borderTopStyle"
    assert first.locator(".side .masked").first.evaluate(border) == "dotted"
    assert "Boxed was masked before the comparison" in first.locator(".key").inner_text()
    assert first.locator(".mostly-masked").count() == 0
    assert last.locator(".mostly-masked").count() == 2
    assert last.locator(".side").nth(1).locator(".mostly-masked").count() == 0


def test_what_only_one_side_has_is_marked_on_demand(report: Opened) -> None:
    row = report.open(0)
    pair = row.locator(".pair").first
    style = "mark => getComputedStyle(mark).textDecorationLine"

    before = pair.locator(".answer mark").first.evaluate(style)
    pair.get_by_role("checkbox").check()

    assert before == "none"
    assert pair.locator(".answer mark").first.evaluate(style) == "underline"


def test_hostile_answers_phrases_and_groups_of_a_pool_stay_text(report: Opened) -> None:
    row = report.open(6)

    for button in row.locator("button.phrase").all():
        button.click()

    assert row.locator("img, script").count() == 0
    answers = row.locator(ANSWERS).evaluate_all("all => all.map(p => p.textContent)")
    assert set(answers) >= set(HOSTILE[:4])


def test_a_pair_with_a_control_shows_its_scores(report: Opened) -> None:
    row = report.open(4)

    assert "0.500, 1.000 the same prompt asked twice: 1 of 2 below the level" in " ".join(
        row.locator(".levels").inner_text().split()
    )


def test_a_table_by_model_leads_to_the_items_of_that_model(report: Opened) -> None:
    report.page.locator("table a[data-choice='gender'][data-model='fair']").click()

    assert report.found() == "2 of 7 items"
    assert set(words(report.page.locator(".row .of"))) == {
        "fair · FAIR-1",
        "gender · fair · FAIR-2",
    }


def test_the_table_of_pools_leads_to_the_opened_pool(report: Opened) -> None:
    report.page.locator(".questions-of-pools tbody a", has_text="biased, age").click()

    row = report.row(1)
    row.locator(".sides").first.wait_for()
    assert row.locator("button.row").get_attribute("aria-expanded") == "true"


def test_pools_can_be_ordered_by_how_sure_their_difference_is(report: Opened) -> None:
    report.page.select_option("#order", "surest")

    order = report.page.locator(".item").evaluate_all("rows => rows.map(row => row.dataset.item)")
    # p-values 0.0001, 0.0001, 0.0001, 1; pairs and the pool in error have none
    assert order == ["0", "1", "6", "2", "3", "4", "5"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("serious doubts about women here. 2", "4 of 7 items"),  # but the pairs and the hostile one
        ("over guessing", "2 of 7 items"),
    ],
)
def test_search_reads_answers_and_findings_of_pools(report: Opened, text: str, found: str) -> None:
    report.page.fill("#search", text)

    report.page.wait_for_function(
        "found => document.getElementById('found').textContent === found", arg=found
    )


def test_the_keyboard_chooses_a_phrase(report: Opened) -> None:
    row = report.open(0)
    row.get_by_role("button", name="serious doubts").focus()

    report.page.keyboard.press("Enter")

    assert row.locator(".held article").count() == 6


@pytest.mark.parametrize("width", [360, 1280])
def test_an_opened_pool_never_scrolls_the_page_sideways(report: Opened, width: int) -> None:
    report.page.set_viewport_size({"width": width, "height": 800})
    for number in (0, 4, 6):
        report.open(number)
    for button in report.page.locator("button.phrase").all():
        button.click()

    assert report.page.evaluate("document.documentElement.scrollWidth") <= width
