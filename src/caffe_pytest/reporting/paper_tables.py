"""The paper's statistics as text, Markdown, CSV and JSON, for `caffe report --paper`."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from caffe_pytest.errors import printable
from caffe_pytest.model.run import (
    MetricComparison,
    PairStatistics,
    PaperStatistics,
    Record,
    SampleReached,
)
from caffe_pytest.reporting.paper import THRESHOLDS
from caffe_pytest.reporting.text import MISSING, percent

Format = Literal["text", "json", "csv", "markdown"]
FORMATS: tuple[Format, ...] = get_args(Format)

CSV_COLUMNS = (
    "table", "model", "intent", "bias_type", "metric", "space", "threshold", "pairs", "judged",
    "below", "failed", "fail_rate", "mean", "median", "standard_deviation", "controls",
    "control_rate", "population", "margin", "confidence", "needed", "margin_reached",
)  # fmt: skip
"""A row of any table; a cell that its table does not have is empty."""


@dataclass(frozen=True)
class _Table:
    title: str
    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    words: int
    """Columns of words, on the left; the others are numbers."""


def paper_lines(
    statistics: PaperStatistics, notes: Iterable[str], *, run: str, form: Format
) -> Iterator[str]:
    """The statistics of a run in one of `FORMATS`, each line with its end."""
    told = [*paper_notes(statistics), *notes]
    if form == "json":
        content = {"run": run, "notes": told, **statistics.model_dump(mode="json")}
        yield json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    elif form == "csv":
        yield from _csv(statistics)
    else:
        show, note = (_markdown, "- {}\n") if form == "markdown" else (_text, "note: {}\n")
        for table in _tables(statistics):
            yield from show(table)
        for one in told:
            yield note.format(printable(one))


def paper_notes(statistics: PaperStatistics) -> Iterator[str]:
    """What a reader has to know before they believe a fail rate."""
    rows = statistics.by_model_and_intent
    if any(row.controls for row in rows):
        yield (
            "control: the fail rate of the same prompt asked twice; a fail rate says something of "
            "fairness only as far as it lies above its control, and nothing where it has none"
        )
    else:
        yield (
            "no fail rate here has a control, the same prompt asked twice; without it a fail rate "
            "says nothing of fairness: `repeats: 2` in the environment of a test case asks for one"
        )
    if any(len(one.metrics) > 1 for one in statistics.metrics):
        yield (
            "the paper calls the metric best that fails most pairs; one that fails as many "
            "controls finds noise"
        )
    if statistics.declined_alone:
        yield (
            "pairs fail at every threshold where the request is declined for one group alone "
            f"({statistics.declined_alone}); the paper looks at the score alone (`below` in CSV "
            "and JSON)"
        )
    if statistics.pools_left_out:
        yield (
            f"pools of the gap oracle are left out ({statistics.pools_left_out}): their pairs have "
            "no verdict, and their scores are of masked answers; `--metric lsa` scores their "
            "answers as the paper does"
        )
    if any(sample.population is None for sample in statistics.samples):
        yield "the run does not say from how many pairs its samples were drawn"


def _tables(statistics: PaperStatistics) -> Iterator[_Table]:
    yield _Table(
        "Similarity of the two answers, by model and intent (Table 4)",
        ("model", "intent", "metric @ threshold", *_HEAD),
        [
            (row.model, row.intent or "all", _ruler(row), *_cells(row))
            for row in statistics.by_model_and_intent
        ],
        words=3,
    )
    yield _Table(
        "Similarity of the two answers, by model and bias type (Table 4)",
        ("model", "bias type", "metric @ threshold", *_HEAD),
        [
            (row.model, row.bias_type or "all", _ruler(row), *_cells(row))
            for row in statistics.by_bias_type
        ],
        words=3,
    )
    yield _attack_success(statistics)
    yield _comparison(statistics)
    yield _curves(statistics)
    yield _Table(
        "Size of the sample, by intent and bias type (finite population)",
        (
            "model", "intent", "bias type", "population", "asked margin", "confidence", "needed",
            "judged", "margin",
        ),
        [_sample(sample) for sample in statistics.samples],
        words=3,
    )  # fmt: skip


_HEAD = ("fail rate", "control", "failed", "judged", "errors", "mean", "median", "std")


def _cells(row: PairStatistics) -> tuple[str, ...]:
    return (
        percent(row.fail_rate),
        percent(row.control_rate),
        str(row.failed),
        str(row.judged),
        str(row.pairs - row.judged),
        _number(row.mean),
        _number(row.median),
        _number(row.standard_deviation),
    )


def _attack_success(statistics: PaperStatistics) -> _Table:
    """A line for each model and intent, and one below it for its controls where there are any."""
    types = [row.bias_type for row in statistics.by_model_intent_and_bias_type]
    known = sorted({bias_type for bias_type in types if bias_type is not None})
    cells = {_place(row): row for row in statistics.by_model_intent_and_bias_type}
    rows = []
    for overall in statistics.by_model_and_intent:
        if overall.intent is None:
            continue
        of_types = [
            cells.get(_place(overall.model_copy(update={"bias_type": one}))) for one in known
        ]
        line = (overall, *of_types)
        rates = [_number(one.fail_rate if one else None) for one in line]
        rows.append((overall.model, overall.intent, _ruler(overall), *rates))
        if overall.controls:
            controls = [_number(one.control_rate if one else None) for one in line]
            rows.append(("", "", "  control", *controls))
    head = ("model", "intent", "metric @ threshold", "all", *known)
    title = "Attack success rate (ASR): share of pairs that fail (Table 3)"
    return _Table(title, head, rows, words=3)


def _comparison(statistics: PaperStatistics) -> _Table:
    rows = []
    for one in statistics.metrics:
        best, *others = one.metrics
        tied = [other for other in others if other.failed == best.failed]
        names = [f"{ruler.metric} ({ruler.space})" for ruler in (best, *tied)]
        told = ", ".join(
            f"{other.metric} ({other.space}) {other.failed}"
            for other in others
            if other not in tied
        )
        rows.append(
            (
                one.model,
                one.bias_type or "all",
                " = ".join(names) if one.compared else "no pair judged by all",
                told or MISSING,
                str(best.failed),
                str(one.compared),
                percent(best.fail_rate),
                percent(best.control_rate),
            )
        )
    at = statistics.metrics[0].threshold if statistics.metrics else 0.0
    return _Table(
        f"Metric that fails most pairs at {at:g}, of the pairs that every metric judged (Table 2)",
        ("model", "bias type", "metric", "others", "failed", "judged", "fail rate", "control"),
        rows,
        words=4,
    )


def _curves(statistics: PaperStatistics) -> _Table:
    """A line for each model and metric over the thresholds, with its controls below."""
    curves: dict[tuple[str, str], list[tuple[float | None, float | None]]] = {}
    for one in statistics.thresholds:
        key = one.model, f"{one.metric} ({one.space})"
        curves.setdefault(key, []).append((one.fail_rate, one.control_rate))
    rows = []
    for (model, metric), rates in curves.items():
        rows.append((model, metric, *(percent(rate) for rate, _ in rates)))
        if any(control is not None for _, control in rates):
            rows.append(("", "  control", *(percent(control) for _, control in rates)))
    head = ("model", "metric", *(f"{threshold:g}" for threshold in THRESHOLDS))
    return _Table("Fail rate (ASR) at other thresholds", head, rows, words=2)


def _sample(sample: SampleReached) -> tuple[str, ...]:
    return (
        sample.model,
        sample.intent,
        sample.bias_type,
        _count(sample.population),
        percent(sample.margin),
        percent(sample.confidence),
        _count(sample.needed),
        str(sample.judged),
        percent(sample.margin_reached),
    )


def _text(table: _Table) -> Iterator[str]:
    rows = [tuple(printable(cell) for cell in row) for row in (table.head, *table.rows)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    yield f"{table.title}\n"
    for row in rows:
        cells = [
            cell.ljust(width) if column < table.words else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip() + "\n"
    yield "\n"


def _markdown(table: _Table) -> Iterator[str]:
    rules = ["---" if column < table.words else "---:" for column in range(len(table.head))]
    yield f"### {table.title}\n\n"
    for row in (table.head, tuple(rules), *table.rows):
        cells = (printable(cell).strip().replace("|", "\\|") for cell in row)
        yield f"| {' | '.join(cells)} |\n"
    yield "\n"


def _csv(statistics: PaperStatistics) -> Iterator[str]:
    tables: dict[str, Iterable[Record]] = {
        "by_model_and_intent": statistics.by_model_and_intent,
        "by_bias_type": statistics.by_bias_type,
        "by_model_intent_and_bias_type": statistics.by_model_intent_and_bias_type,
        "thresholds": statistics.thresholds,
        "samples": statistics.samples,
    }
    yield _csv_line(CSV_COLUMNS)
    for table, records in tables.items():
        for record in records:
            yield _csv_row(table, record.model_dump())
        if table == "by_model_intent_and_bias_type":
            yield from _csv_of_metrics(statistics.metrics)


def _csv_of_metrics(comparisons: Iterable[MetricComparison]) -> Iterator[str]:
    for one in comparisons:
        for metric in one.metrics:
            shared = one.model_dump(exclude={"metrics", "compared"})
            yield _csv_row("metrics", {**shared, **metric.model_dump(), "judged": one.compared})


def _csv_row(table: str, cells: dict[str, Any]) -> str:
    cells["table"] = table
    return _csv_line([_csv_cell(cells.get(name)) for name in CSV_COLUMNS])


def _csv_cell(value: object) -> str:
    return "" if value is None else str(value)


def _csv_line(cells: Sequence[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(cells)
    return line.getvalue()


def _place(row: PairStatistics) -> tuple[object, ...]:
    return row.model, row.intent, row.bias_type, row.metric, row.space, row.threshold


def _ruler(row: PairStatistics) -> str:
    return f"{row.metric} ({row.space}) @ {row.threshold:g}"


def _number(value: float | None) -> str:
    return MISSING if value is None else f"{value:.3f}"


def _count(value: int | None) -> str:
    return MISSING if value is None else str(value)
