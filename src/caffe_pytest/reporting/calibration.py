"""What a calibration found, as JSON, as lines for a terminal and as a page for people.

The same answers always give the same bytes: what depends on the day (how long it took, which
answers were reused) stands in the run's `environment.json`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from caffe_pytest.model.run import Record
from caffe_pytest.reporting import html
from caffe_pytest.reporting.whole_file import whole_file

MISSING = "-"
_STYLE = """
.curve { display: block; width: 100%; max-width: 46rem; height: auto; overflow: visible; }
.curve text { fill: var(--muted); font-size: 13px; }
.curve .grid line { stroke: var(--line); }
.curve path { fill: none; stroke-width: 3; stroke-linejoin: round; }
.curve .same { stroke: var(--pass); }
.curve .different { stroke: var(--fail); stroke-dasharray: 9 4; }
.curve .chosen { stroke: var(--ink); stroke-width: 2; stroke-dasharray: 2 4; }
.legend path { fill: none; stroke-width: 3; }
.legend .same { stroke: var(--pass); }
.legend .different { stroke: var(--fail); stroke-dasharray: 9 4; }
.scroll + .chart { margin-top: 0.75rem; }
.advice { max-width: 60rem; padding-left: 1.2rem; }
"""
WIDTH, HEIGHT = 640, 300
"""Of the drawing of a curve, in its own units."""


class Point(Record):
    """What a threshold does."""

    threshold: float
    false_alarms: float
    """Share of A/A pairs below it."""
    detections: float
    """Share of A/B pairs below it."""


class Distribution(Record):
    """Scores of pairs of answers."""

    pairs: int
    mean: float
    quantiles: dict[str, float]
    """By share in percent, `5` to `95`."""
    not_comparable: int
    """Pairs of answers that the metric has no score for."""


class Comparison(Record):
    """How one metric tells asking again (A/A) from changing the group (A/B)."""

    metric: str
    version: str
    space: Literal["reference", "run"]
    masked: bool
    """Whether the groups' names were masked, as the gap oracle does, or stand in the answers, as
    the similarity oracle compares them."""
    same: Distribution
    different: Distribution
    threshold: float | None
    """The largest of two decimals that holds the false alarm rate; None where none from 0 does."""
    exact_threshold: float
    interval: tuple[float, float] | None
    """95 % interval of the exact threshold, by prompt pairs."""
    at_threshold: Point | None
    detected_interval: tuple[float, float] | None
    """95 % interval of the detections at the threshold, by prompt pairs."""
    at_expected: Point | None
    """At the threshold of the test case, where it has one."""
    auc: float
    """How often an A/A pair is more alike than an A/B pair; 0.5 = no better than guessing."""
    curve: tuple[Point, ...]

    @property
    def name(self) -> str:
        """For a reader."""
        space = ", space run" if self.space == "run" else ""
        return f"{self.metric}{space}{', groups masked' if self.masked else ''}"

    @property
    def beyond_chance(self) -> bool:
        """Whether more A/B pairs fail at the threshold than A/A pairs do, for certain."""
        if self.at_threshold is None or self.detected_interval is None:
            return False
        return self.detected_interval[0] > self.at_threshold.false_alarms


class Size(Record):
    """The smallest difference that a pool of some size finds at 80 % power."""

    prompts: int
    answers: int
    """To each prompt."""
    smallest: float | None
    """None where it finds none, however large."""


class QuestionPower(Record):
    """What pools can find out about one question, for this model."""

    question: str
    of_similarity: bool
    """Whether `max_gap` is its margin."""
    scale: Literal["share", "number", "relative"]
    spread: float | None
    """Standard deviation of the difference in one prompt pair if the group made none, from answers
    relabelled. For wording: standard deviations that the most different phrase reaches by chance.
    None where no prompt pair could be compared."""
    compared: int
    """Prompt pairs."""
    margin: float
    smallest: float | None
    """What the planned pool finds."""
    prompts_needed: int | None
    """Prompt pairs with which a difference as large as the margin is found; None = too many, or
    not known."""
    sizes: tuple[Size, ...]

    @property
    def within_margin(self) -> bool:
        """Whether the planned pool finds differences as small as the margin."""
        return self.smallest is not None and self.smallest <= self.margin


class PoolPower(Record):
    """What the planned pools of a test case can find out about this model."""

    pools: int
    """Of all test cases and models calibrated together: the level is corrected for them."""
    prompts: int
    """Prompt pairs of the smallest planned pool."""
    answers: int
    """To each prompt, as planned."""
    level: float
    corrected_level: float
    """Bonferroni, over questions and pools."""
    questions: tuple[QuestionPower, ...]
    controls_failed: int
    controls: int
    problems: tuple[str, ...]
    """What kept pools from being looked at."""


class Cost(Record):
    """What the answers cost, whoever paid for them."""

    answers: int
    prompt_tokens: int | None
    """None where the provider did not count."""
    completion_tokens: int | None
    dollars: float | None
    """By litellm's price list; None where it does not know the model."""


class ModelCalibration(Record):
    """One model in one test case."""

    case: str
    intent: str
    model: str
    """Alias."""
    full_name: str
    parameters: dict[str, object]
    prompts: int
    """Prompt pairs."""
    answers: int
    """Asked for to each prompt."""
    declined: int
    """Answers that decline the request: left out of the scores."""
    missing: dict[str, int]
    """Calls without an answer, by outcome: left out."""
    failure: str | None
    """What the first of them said."""
    comparisons: tuple[Comparison, ...]
    pools: PoolPower | None
    cost: Cost
    notes: tuple[str, ...]

    @property
    def empty(self) -> bool:
        """Whether nothing could be learnt of this model."""
        return not self.comparisons and (self.pools is None or not self.pools.questions)

    @property
    def advice(self) -> list[str]:
        """What to write into the test case, in words."""
        return list(_advice(self))


class Calibration(Record):
    """`calibration.json`."""

    format: int = 1
    caffe_pytest: str
    false_alarms: float
    """The rate that the thresholds hold."""
    models: tuple[ModelCalibration, ...]


def write_calibration(calibration: Calibration, json: Path, page: Path) -> None:
    """Write both files, each whole or not at all; raises OSError."""
    content = _page(calibration).encode("utf-8")
    with whole_file(json) as file:
        file.write(calibration.model_dump_json(indent=2).encode("utf-8") + b"\n")
    page.parent.mkdir(exist_ok=True)
    with whole_file(page) as file:
        file.write(content)


def calibration_lines(calibration: Calibration) -> Iterator[str]:
    """What a terminal shows."""
    for model in calibration.models:
        yield ""
        yield (
            f"{model.case} with {model.model}: {model.prompts} prompt pairs, "
            f"{model.answers} answers to each prompt{left_out(model)}"
        )
        if model.comparisons:
            yield from _indented(_comparison_rows(calibration, model))
        if model.pools is not None and model.pools.questions:
            yield from _indented(_question_rows(model.pools))
            yield f"  {controls(model.pools)}"
        yield f"  {cost(model.cost)}"
        for note in model.notes:
            yield f"  note: {note}"
        for advice in model.advice:
            yield f"  advice: {advice}"


def left_out(model: ModelCalibration) -> str:
    """Which answers take no part in the scores; empty where all do."""
    parts = [f"{number} calls {outcome}" for outcome, number in model.missing.items()]
    parts += [f"{model.declined} answers decline"] if model.declined else []
    return f"; left out: {', '.join(parts)}" if parts else ""


def controls(pools: PoolPower) -> str:
    """How often the same prompt asked twice was found to differ."""
    if not pools.controls:
        return "controls: none"
    return f"controls: {pools.controls_failed} of {pools.controls} failed at 5 %"


def cost(spent: Cost) -> str:
    """Tokens and money, for a reader."""
    counted = [count for count in (spent.prompt_tokens, spent.completion_tokens) if count]
    tokens = " + ".join(f"{count:,}" for count in counted) + " tokens" if counted else "no tokens"
    money = "price unknown" if spent.dollars is None else f"${spent.dollars:,.4f}"
    return f"cost: {spent.answers:,} answers, {tokens} counted, {money}"


def difference(value: float | None, scale: str) -> str:
    """A difference in its unit: points for shares, percent for what is relative."""
    if value is None or not math.isfinite(value):
        return MISSING
    if scale == "share":
        return f"{100 * value:.1f} points"
    return f"{100 * value:.1f} %" if scale == "relative" else f"{value:.3f}"


def _percent(share: float | None) -> str:
    return MISSING if share is None else f"{100 * share:.1f} %"


def interval(bounds: tuple[float, float] | None, *, share: bool = False) -> str:
    """In brackets; empty where there is none."""
    if bounds is None:
        return ""
    low, high = bounds
    return f" [{100 * low:.1f}, {100 * high:.1f}]" if share else f" [{low:.2f}, {high:.2f}]"


def _comparison_rows(calibration: Calibration, model: ModelCalibration) -> Iterator[list[str]]:
    threshold = f"threshold, {_percent(calibration.false_alarms)} A/A fail"
    yield ["similarity", "A/A median", "A/B median", threshold, "A/B fail", "AUC"]
    for one in model.comparisons:
        at = one.at_threshold
        yield [
            one.name,
            f"{one.same.quantiles['50']:.3f}",
            f"{one.different.quantiles['50']:.3f}",
            MISSING if one.threshold is None else f"{one.threshold:.2f}{interval(one.interval)}",
            MISSING if at is None
            else _percent(at.detections) + interval(one.detected_interval, share=True),
            f"{one.auc:.3f}",
        ]  # fmt: skip


def _question_rows(pools: PoolPower) -> Iterator[list[str]]:
    size = f"{pools.prompts} x {pools.answers} finds from"
    yield ["question", "null spread", size, "margin", "prompt pairs for the margin"]
    for one in pools.questions:
        yield [
            one.question,
            spread(one),
            difference(one.smallest, one.scale),
            difference(one.margin, one.scale),
            MISSING if one.prompts_needed is None else f"{one.prompts_needed:,}",
        ]


def spread(one: QuestionPower) -> str:
    """The null spread in its unit."""
    if one.question == "wording":
        return MISSING if one.spread is None else f"|z| {one.spread:.2f}"
    return difference(one.spread, one.scale)


def _indented(rows: Iterator[list[str]]) -> Iterator[str]:
    table = list(rows)
    widths = [max(len(cell) for cell in column) for column in zip(*table, strict=True)]
    for row in table:
        first, *rest = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  " + "  ".join([first, *rest]).rstrip()


def _advice(model: ModelCalibration) -> Iterator[str]:
    for one in model.comparisons:
        if not one.masked:
            yield from _advice_on_threshold(one)
    if model.pools is not None and model.pools.questions:
        yield from _advice_on_pools(model.pools)


def _advice_on_pools(pools: PoolPower) -> Iterator[str]:
    size = f"{pools.prompts} prompt pairs x {pools.answers} answers"
    fine = [question for question in pools.questions if question.within_margin]
    if fine:
        yield f"for one verdict a pool, {size} suffice for {_margins(fine)}"
    for question in pools.questions:
        if question.within_margin or question.smallest is None:
            continue
        told = f"{size} find {question.question} from {_rounded_up(question.smallest):g}"
        needed = question.prompts_needed
        yield (
            told
            if needed is None
            else (f"{told}; its margin {question.margin:g} takes about {needed:,} prompt pairs")
        )


def _margins(questions: Sequence[QuestionPower]) -> str:
    """As a test case writes them."""
    told = [f"max_gap: {one.margin:g}" for one in questions if one.of_similarity]
    others = [f"{one.question}: {one.margin:g}" for one in questions if not one.of_similarity]
    return ", ".join(told + ([f"max_difference: {{{', '.join(others)}}}"] if others else []))


def _advice_on_threshold(one: Comparison) -> Iterator[str]:
    if one.threshold is None or one.at_threshold is None:
        yield f"{one.name}: no threshold holds the false alarm rate; use `metric: panel`"
        return
    told = (
        f"threshold: {one.threshold:.2f} for one verdict a pair with {one.name}: "
        f"{_percent(one.at_threshold.false_alarms)} of the same-prompt pairs fail, and "
        f"{_percent(one.at_threshold.detections)} of the group pairs"
    )
    yield told if one.beyond_chance else f"{told}, which chance may explain"
    if one.at_expected is not None:
        yield (
            f"the test case's threshold {one.at_expected.threshold:g} fails "
            f"{_percent(one.at_expected.false_alarms)} of the same-prompt pairs"
        )


def _rounded_up(value: float) -> float:
    return math.ceil(value * 1000) / 1000


def _page(calibration: Calibration) -> str:
    templates = html._templates()
    templates.globals.update(
        percent=_percent, difference=difference, interval=interval, controls=controls,
        cost=cost, left_out=left_out, spread=spread, path=_path, width=WIDTH, height=HEIGHT,
        missing=MISSING,
    )  # fmt: skip
    style = html._inline(templates, "report.css") + _STYLE
    return templates.get_template("calibration.html.j2").render(
        calibration=calibration, style=style, style_hash=html._content_hash(style)
    )


def _path(curve: Sequence[Point], what: Literal["false_alarms", "detections"]) -> str:
    """The curve as the `d` of an SVG path, in steps of its thresholds."""
    places = (
        f"{WIDTH * point.threshold:.1f} {HEIGHT * (1 - getattr(point, what)):.1f}"
        for point in curve
    )
    return "M" + " L".join(places)
