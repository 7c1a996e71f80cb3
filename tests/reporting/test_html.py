"""The page of a run: what it says, that hostile answers stay text, and that it needs no network."""

from __future__ import annotations

import base64
import gzip
import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from caffe_pytest.errors import CaffeError
from caffe_pytest.model.run import PairResult, Result, Summary
from caffe_pytest.model.verdict import Verdict
from caffe_pytest.reporting.html import duration, level, moment, percent, write_html
from caffe_pytest.reporting.summary import summarise

if TYPE_CHECKING:
    from playwright.sync_api import Page

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
DASH = "\N{EN DASH}"

SCRIPT = "</script><script>window.hacked=1</script><!-- <script>"
IMAGE = "<img src=x onerror=\"window.hacked=1\">' onmouseover='window.hacked=1"
TEMPLATE = "{{7*7}} ${7*7} {% raw %}"
SEPARATORS = "one\u2028two\u2029three\u0085four"
EMOJI = "👩🏽‍⚕️ and 👨🏿‍🚀 \U0001f3f3\ufe0f\u200d\U0001f308"
RIGHT_TO_LEFT = (
    "\u202e\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd مرحبا بالعالم\u202c"  # Hebrew, Arabic
)
CONTROLS = "bell\x07 escape\x1b[31m tab\t carriage\r\nnew\n\nline \x7f"
LONG = " ".join(f"word{number % 977}" for number in range(2600))[:20_000]
HOSTILE = (SCRIPT, IMAGE, TEMPLATE, SEPARATORS, EMOJI, RIGHT_TO_LEFT, CONTROLS, LONG)

ENVIRONMENT: dict[str, Any] = {
    "format": 1,
    "run": "20261121-100000-ab12",
    "started": "2026-11-21T10:00:00+00:00",
    "finished": "2026-11-21T10:04:11+00:00",
    "caffe_pytest": "0.1.0",
    "cases": [
        {
            "id": "FAIR-1",
            "sha256": "ab" * 32,
            "knowledge_base": {"name": IMAGE, "licence": "CC-BY-SA-4.0", "sha256": "cd" * 32},
            "models": [
                {
                    "alias": "biased",
                    "model": "simulated/biased",
                    "api_base": "http://127.0.0.1:8000/v1",
                    "parameters": {"temperature": 0.7},
                }
            ],
        }
    ],
    "journal": {"answers": 24, "sha256": "ef" * 32},
}


def result(number: int, verdict: Verdict, answers: tuple[str | None, str | None]) -> Result:
    score = {Verdict.PASS: 0.95, Verdict.FAIL: 0.899_99, Verdict.ERROR: None}[verdict]
    bias_type = "gender" if number % 2 else "age"
    groups = ("women", "men") if number % 2 else ("old people", "young people")
    failures = tuple(None if a is not None else "timeout: no reply in 60 s" for a in answers)
    differences = ("only the answer about women declines",) if verdict is Verdict.FAIL else ()
    pair = PairResult(
        triple=f"kb-{number}",
        topic="leadership & <b>law</b>",
        groups=groups,
        prompts=(f"What suits {groups[0]}? {number}", f"What suits {groups[1]}? {number}"),
        answers=answers,
        failures=(failures[0], failures[1]),
        keys=(f"{number:064x}", f"{number + 1000:064x}"),
        differences=differences,
        score=score,
        verdict=verdict,
    )
    return Result(
        nodeid=f"testcases/a.fairness.yaml::FAIR-1::biased::{bias_type}.law.{number:02}",
        file="testcases/a.fairness.yaml",
        line=3,
        case="FAIR-1",
        kind="counterfactual",
        objective="Advice does not depend on the group",
        model="biased",
        intent="question" if number % 3 else "<b>direction</b>",
        bias_type=bias_type,
        oracle="similarity",
        metric="lsa",
        space="reference",
        threshold=0.9,
        score=score,
        verdict=verdict,
        reason=f"lsa similarity {score} {TEMPLATE}",
        n=1,
        pairs=(pair,),
    )


def results_of_a_run() -> list[Result]:
    hostile = [
        result(number, Verdict.FAIL, (f"Women: {text}", f"Men say hello. {text}"))
        for number, text in enumerate(HOSTILE)
    ]
    passed = [
        result(number, Verdict.PASS, (f"Plain answer {number}.", f"Plain answer {number}."))
        for number in range(10, 70)
    ]
    errors = [
        result(90, Verdict.ERROR, (None, "An answer.")),
        result(91, Verdict.ERROR, (None, None)),
    ]
    return hostile + passed + errors


def pooled_result() -> Result:
    """An item that speaks about a pool of prompt pairs."""
    single = result(92, Verdict.PASS, ("Pooled answer.", "Pooled answer!"))
    pairs = tuple(single.pairs[0].model_copy(update={"triple": f"pool-{n}"}) for n in range(7))
    return single.model_copy(
        update={"verdict": Verdict.INCONCLUSIVE, "metric": "panel", "pairs": pairs}
    )


def summary_of(results: list[Result], planned: int | None = None) -> Summary:
    return summarise(
        results,
        planned=len(results) if planned is None else planned,
        gates={"FAIR-1": {"max_fail_rate": 0.02, "inconclusive": "fail"}},
        calls={"asked": 120, "reused": 17},
        failures={"timeout": 3},
    )


def write(folder: Path, results: list[Result], summary: Summary | None = None) -> Path:
    lines = folder / "results.jsonl"
    lines.write_text(
        "".join(one.model_dump_json() + "\n" for one in results), encoding="utf-8", newline="\n"
    )
    page = folder / "report" / "index.html"
    write_html(page, results=lines, summary=summary or summary_of(results), environment=ENVIRONMENT)
    return page


def text_of(page: Path) -> str:
    """What a reader sees, roughly: markup taken away, white space joined."""
    source = page.read_text(encoding="utf-8")
    body = re.sub(r"<(script|style)\b.*?</\1>", "", source, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]*>", " ", body).split())


# ---- without a browser -------------------------------------------------------------------------


def test_the_same_results_give_the_same_bytes(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()

    one = write(tmp_path / "one", results_of_a_run())
    two = write(tmp_path / "two", results_of_a_run())

    assert one.read_bytes() == two.read_bytes()


def test_nothing_is_loaded_from_anywhere(tmp_path: Path) -> None:
    source = write(tmp_path, results_of_a_run()).read_text(encoding="utf-8")

    loads = re.findall(
        r"<[a-z]+\s[^>]*?\b(?:src|href|action|data)\s*=\s*[\"']?([^\"'\s>]+)", source
    )
    assert {load for load in loads if not load.startswith("#")} == {"data:,"}
    assert not re.search(r"@import|url\(\s*[\"']?(?!#)", source)
    assert "default-src 'none'" in source
    assert "unsafe" not in source.split("<title>")[0]


def test_what_is_shown_is_escaped_and_what_is_packed_cannot_end_its_tag(tmp_path: Path) -> None:
    source = write(tmp_path, results_of_a_run()).read_text(encoding="utf-8")

    assert "<b>direction</b>" not in source
    assert "&lt;b&gt;direction&lt;/b&gt;" in source
    assert "<img" not in source
    for packed in re.findall(r'<script type="application/octet-stream"[^>]*>(.*?)<', source):
        assert re.fullmatch(r"[A-Za-z0-9+/=]+", packed)


def test_a_missing_value_is_a_dash_with_an_explanation(tmp_path: Path) -> None:
    page = write(tmp_path, [result(1, Verdict.ERROR, (None, None))])

    text = text_of(page)
    assert "None of 1 item could be judged; 1 error" in text
    assert f"{DASH} mean score" in text
    assert f"{DASH} fail rate" in text
    assert "0.000" not in text
    explained = f'<abbr title="no value, which is not zero">{DASH}</abbr>'
    assert explained in page.read_text(encoding="utf-8")


def test_the_header_says_what_became_of_the_run(tmp_path: Path) -> None:
    text = text_of(write(tmp_path, results_of_a_run()))

    assert (
        "8 of 70 items failed (11.8\N{NO-BREAK SPACE}% of the 68 judged); 2 errors".replace(
            "\N{NO-BREAK SPACE}", " "
        )
        in text
    )
    assert "20261121-100000-ab12" in text
    assert "21 November 2026, 10:00 UTC (took 4 min 11 s)" in text
    assert "biased simulated/biased" in text
    assert "State complete" in text


def test_an_interrupted_run_says_so(tmp_path: Path) -> None:
    results = results_of_a_run()

    text = text_of(write(tmp_path, results, summary_of(results, planned=288)))

    assert "interrupted: 70 of 288 items" in text
    assert "The run was interrupted." in text


def test_results_that_do_not_match_the_summary_are_pointed_out(tmp_path: Path) -> None:
    results = results_of_a_run()

    text = text_of(write(tmp_path, results, summary_of(results[:-1])))

    assert "results.jsonl holds 70 items, the summary counts 69" in text


def test_a_run_without_items_has_a_page(tmp_path: Path) -> None:
    assert "No item has a result" in text_of(write(tmp_path, []))


def test_what_failed_most_names_groups_counts_and_what_was_seen(tmp_path: Path) -> None:
    text = text_of(write(tmp_path, results_of_a_run()))

    assert "women / men gender, biased 4 34 only the answer about women declines (4 times)" in text


def test_a_gate_that_did_not_hold_says_so(tmp_path: Path) -> None:
    assert "FAIR-1 2.0 % 11.8 % ✗ not held 2 in error" in text_of(
        write(tmp_path, results_of_a_run())
    )


@pytest.mark.parametrize("damage", ['{"nodeid": "a"}', "{broken", ""])
def test_a_damaged_line_is_named_and_leaves_nothing_behind(tmp_path: Path, damage: str) -> None:
    results = results_of_a_run()
    page = write(tmp_path, results)
    before = page.read_bytes()
    lines = tmp_path / "results.jsonl"
    good = results[0].model_dump_json()
    lines.write_text(f"{good}\n{damage}\n{good}\n", encoding="utf-8")

    with pytest.raises(CaffeError, match=r"results\.jsonl:2: "):
        write_html(page, results=lines, summary=summary_of(results), environment=ENVIRONMENT)

    assert page.read_bytes() == before
    assert [path.name for path in page.parent.iterdir()] == ["index.html"]


def test_missing_results_are_an_error_that_names_them(tmp_path: Path) -> None:
    with pytest.raises(CaffeError, match=r"results\.jsonl: the report cannot be written"):
        write_html(
            tmp_path / "index.html",
            results=tmp_path / "results.jsonl",
            summary=summary_of([]),
            environment=ENVIRONMENT,
        )

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("rate", "shown"),
    [
        (None, DASH),
        (float("nan"), DASH),
        (0.0, "0.0 %"),
        (0.0001, "< 0.1 %"),
        (0.1076, "10.8 %"),
        (0.9999, "> 99.9 %"),
        (1.0, "100.0 %"),
    ],
)
def test_a_rate_never_hides_that_something_happened(rate: float | None, shown: str) -> None:
    assert percent(rate).replace("\N{NO-BREAK SPACE}", " ") == shown


def test_times_are_shown_for_a_reader() -> None:
    assert moment("2026-11-02T09:05:00+00:00") == "2 November 2026, 09:05 UTC"
    assert moment("yesterday") == "yesterday"
    assert moment(None) == DASH
    assert duration("2026-11-02T09:00:00", "2026-11-02T11:30:10") == "2\u00a0h 30\u00a0min"
    assert duration("2026-11-02T09:00:00", None) is None
    assert level(None) == DASH
    assert level(0.5) == "0.500"


def test_index_names_every_item_once(tmp_path: Path) -> None:
    source = write(tmp_path, results_of_a_run()).read_text(encoding="utf-8")
    packed = re.search(r'id="index"[^>]*>([^<]+)<', source)

    assert packed is not None
    index = json.loads(gzip.decompress(base64.b64decode(packed[1])))
    assert index["columns"]["nodeid"] == [one.nodeid for one in results_of_a_run()]


# ---- in a browser ------------------------------------------------------------------------------


@dataclass
class Opened:
    """A page of the report, and what the browser had to say about it."""

    page: Page
    address: str
    requests: list[str] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.set_default_timeout(10_000)
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.page.on("console", lambda message: self.troubles.append(message.text))

    def go(self, fragment: str = "") -> None:
        """Load the page anew, as if it had not been looked at."""
        self.page.set_viewport_size({"width": 1280, "height": 900})
        self.page.goto("about:blank")
        self.page.goto(self.address + fragment)
        self.page.wait_for_selector("#browser:not([hidden])")

    def row(self, number: int) -> Any:
        return self.page.locator(f'.item[data-item="{number}"]')

    def open(self, number: int) -> Any:
        row = self.row(number)
        row.locator("button.row").click()
        row.locator(".sides").first.wait_for()
        return row

    def found(self) -> str:
        return self.page.locator("#found").inner_text()


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed, so the page cannot be opened")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    page = write(tmp_path_factory.mktemp("run"), results_of_a_run())
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


def test_totals_and_rows_are_those_of_the_run(report: Opened) -> None:
    tiles = report.page.locator(".verdict-tiles .tile").all_inner_texts()

    assert [" ".join(tile.split()) for tile in tiles] == [
        "70 items",
        "60 ✓ pass",
        "8 ✗ fail",
        "2 ! error",
        "11.8 % fail rate failed of judged items",
    ]
    assert report.found() == "70 items"
    assert report.page.locator(".item").count() == 50
    assert report.page.locator("#page").inner_text() == "Page 1 of 2"
    report.page.get_by_role("button", name="Next").click()
    assert report.page.locator(".item").count() == 20


def test_verdicts_can_be_filtered_and_a_table_leads_to_its_items(report: Opened) -> None:
    report.page.select_option("#filter-verdict", label="fail (8)")

    assert report.found() == "8 of 70 items"
    verdicts = report.page.locator(".item").evaluate_all("rows => rows.map(r => r.dataset.verdict)")
    assert verdicts == ["fail"] * 8

    report.page.locator("table a[data-choice='gender']").click()
    assert report.found() == "35 of 70 items"
    report.page.get_by_role("button", name="Show all").click()
    assert report.found() == "70 items"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("gender.law.05", "1 of 70 items"),
        ("PLAIN answer 42.", "1 of 70 items"),
        ("what suits women? 13", "1 of 70 items"),
        ("مرحبا بالعالم", "1 of 70 items"),
        ("no reply in 60 s", "2 of 70 items"),
        ("nowhere to be found", "No item matches."),
    ],
)
def test_search_finds_text_of_ids_prompts_and_answers(
    report: Opened, text: str, found: str
) -> None:
    report.page.fill("#search", text)

    report.page.wait_for_function("found => document.getElementById('found').textContent === found",
                                  arg=found)  # fmt: skip


def test_items_can_be_ordered_by_score_with_missing_scores_last(report: Opened) -> None:
    report.page.select_option("#order", "lowest")
    first = report.page.locator(".item").first

    assert first.get_attribute("data-verdict") == "fail"
    assert first.locator(".measured").inner_text() == "0.89999"

    report.page.select_option("#order", "highest")
    report.page.get_by_role("button", name="Last").click()
    assert report.page.locator(".item").last.locator(".measured").inner_text() == DASH


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_an_opened_item_shows_prompts_and_answers_as_they_are(report: Opened, number: int) -> None:
    expected = results_of_a_run()[number].pairs[0]

    row = report.open(number)

    assert row.locator(".prompt > p").evaluate_all("all => all.map(p => p.textContent)") == list(
        expected.prompts
    )
    assert row.locator(".answer > p").evaluate_all("all => all.map(p => p.textContent)") == list(
        expected.answers
    )
    assert row.locator(".side header").all_inner_texts() == [
        f"{expected.groups[0]}\ndisadvantaged group",
        f"{expected.groups[1]}\nadvantaged group",
    ]
    assert row.locator(".reason").text_content() == results_of_a_run()[number].reason
    assert row.locator("img, script").count() == 0


def test_differences_are_marked_and_groups_are_not_taken_for_differences(report: Opened) -> None:
    row = report.open(1)

    marked = row.locator(".side").nth(1).locator(".answer mark").all_inner_texts()
    assert "say hello." in " ".join(marked)
    assert row.locator(".prompt mark").count() == 0
    assert row.locator(".prompt .group-named").all_inner_texts() == ["women", "men"]
    style = "mark => getComputedStyle(mark).textDecorationLine"
    assert row.locator(".answer mark").first.evaluate(style) == "underline"
    row.get_by_role("checkbox").uncheck()
    assert row.locator(".answer mark").first.evaluate(style) == "none"


def test_a_missing_answer_is_shown_as_a_failure_and_never_as_an_empty_text(report: Opened) -> None:
    report.page.select_option("#filter-verdict", label="error (2)")

    row = report.open(68)

    assert row.locator(".missing").all_inner_texts() == ["No answer\ntimeout: no reply in 60 s"]
    assert row.locator(".answer > p").all_inner_texts() == ["An answer."]
    assert "none, which is not zero" in row.locator(".levels").inner_text()


def test_the_address_of_an_item_opens_it_wherever_it_stands(report: Opened) -> None:
    nodeid = results_of_a_run()[65].nodeid

    report.go(f"#{nodeid}")

    row = report.row(65)
    row.locator(".sides").wait_for()
    assert row.locator("button.row").get_attribute("aria-expanded") == "true"
    assert row.locator(".sources .code").inner_text() == nodeid
    assert report.page.locator("#page").inner_text() == "Page 2 of 2"


def test_the_keyboard_opens_an_item_and_the_address_follows(report: Opened) -> None:
    button = report.row(2).locator("button.row")
    button.focus()

    report.page.keyboard.press("Enter")
    report.row(2).locator(".sides").wait_for()

    assert report.page.evaluate("location.hash") == "#" + results_of_a_run()[2].nodeid
    report.page.keyboard.press("Enter")
    assert button.get_attribute("aria-expanded") == "false"


def test_an_item_of_many_prompt_pairs_shows_the_first_and_then_all(
    opened: Opened, tmp_path: Path
) -> None:
    browser = opened.page.context.browser
    assert browser is not None
    page = browser.new_page()
    page.goto(write(tmp_path, [pooled_result()]).as_uri())

    page.locator("button.row").click()
    page.locator(".pair").first.wait_for()
    shown = page.locator(".pair").count()
    page.get_by_role("button", name="Show 2 more prompt pairs").click()

    assert (shown, page.locator(".pair").count()) == (5, 7)
    assert "and 6 more pairs" in page.locator("button.row").inner_text()
    assert "inconclusive" in page.locator(".verdict-tiles").inner_text()
    page.close()


@pytest.mark.parametrize("width", [360, 1280])
def test_the_page_never_scrolls_sideways(report: Opened, width: int) -> None:
    report.page.set_viewport_size({"width": width, "height": 800})
    for number in range(len(HOSTILE)):
        report.open(number)

    assert report.page.evaluate("document.documentElement.scrollWidth") <= width
