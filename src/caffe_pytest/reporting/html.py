"""The page people read after a run: one file that needs no network, no server and no other file.

Results are read once and never held: what the reader opens stands compressed in the page, in
chunks; the list of items filters by a small index. The template has the words, this module the
numbers.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from caffe_pytest.errors import CaffeError
from caffe_pytest.model.run import Result, Summary, Tally
from caffe_pytest.model.verdict import Verdict
from caffe_pytest.reporting.results import read_results
from caffe_pytest.reporting.unequal import UnequalGroups, UnequalTreatment
from caffe_pytest.reporting.whole_file import whole_file

CHUNK = 200
"""Items that are unpacked together when one of them is opened."""

BINS = 20
"""Bars of a histogram, over the levels from 0 to 1."""

MOST = 10
"""Pairs of groups listed under what failed most."""

DASH = "\N{EN DASH}"
"""Stands where there is no value, which is not zero."""

_NBSP = "\N{NO-BREAK SPACE}"


def write_html(
    target: Path, *, results: Path, summary: Summary, environment: Mapping[str, Any]
) -> None:
    """Write the page to `target`; the same results always give the same bytes.

    `results` is a `results.jsonl`, `environment` the content of an `environment.json`.

    Raises:
        CaffeError: a line of the results is damaged, or a file cannot be read or written. An
            earlier page at `target` then stays as it was.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=target.parent) as spool:
            chunks = _Chunks(spool)
            survey = _Survey()
            for result in read_results(results):
                survey.add(result)
                chunks.add(result.model_dump_json())
            with whole_file(target) as file:
                for piece in _page(survey, chunks, summary, environment, results.name):
                    file.write(piece.encode("utf-8"))
    except OSError as error:
        place = error.filename or target
        raise CaffeError(
            f"{place}: the report cannot be written: {error.strerror}; "
            "see that the run's folder is complete and the disk has room"
        ) from error


def _page(
    survey: _Survey,
    chunks: _Chunks,
    summary: Summary,
    environment: Mapping[str, Any],
    results_name: str,
) -> Iterator[str]:
    templates = _templates()
    style = _inline(templates, "report.css")
    script = _inline(templates, "report.js")
    return templates.get_template("report.html.j2").generate(
        style=style,
        style_hash=_content_hash(style),
        script=script,
        script_hash=_content_hash(script),
        run=environment.get("run"),
        started=environment.get("started"),
        finished=environment.get("finished"),
        version=environment.get("caffe_pytest"),
        outcome=outcome(summary.total),
        summary=summary,
        verdicts=[verdict.value for verdict in Verdict],
        breakdowns=_breakdowns(summary),
        models=_models(summary, environment),
        survey=survey,
        environment=environment,
        results_name=results_name,
        chunk_size=CHUNK,
        index=_packed(json.dumps(survey.index(), ensure_ascii=False, separators=(",", ":"))),
        chunks=chunks.read(),
    )


def outcome(total: Tally) -> str:
    """What became of the run, in one sentence: `31 of 288 items failed (10.8 %); ...`."""
    judged = sum(total.verdicts.get(verdict, 0) for verdict in (Verdict.PASS, Verdict.FAIL))
    if not total.items:
        return "No item has a result"
    if not judged:
        sentence = f"None of {_items(total.items)} could be judged"
    else:
        failed = total.verdicts.get(Verdict.FAIL, 0)
        of_what = "" if judged == total.items else f" of the {judged:,} judged"
        sentence = (
            f"{f'{failed:,}' if failed else 'None'} of {_items(total.items)} failed "
            f"({percent(total.fail_rate)}{of_what})"
        )
    errors = total.verdicts.get(Verdict.ERROR, 0)
    inconclusive = total.verdicts.get(Verdict.INCONCLUSIVE, 0)
    further = [f"{inconclusive:,} inconclusive"] if inconclusive else []
    further += [f"{errors:,} error{'s' if errors > 1 else ''}"] if errors else []
    return "; ".join([sentence, *further])


def _items(count: int) -> str:
    return f"{count:,} item{'s' if count != 1 else ''}"


def percent(rate: float | None) -> str:
    """A rate for a reader; no value is a dash, and what happened at all is never `0.0 %`."""
    if rate is None or not math.isfinite(rate):
        return DASH
    text = f"{100 * rate:.1f}"
    if text == "0.0" and rate > 0:
        text = "<" + _NBSP + "0.1"
    elif text == "100.0" and rate < 1:
        text = ">" + _NBSP + "99.9"
    return text + _NBSP + "%"


def level(value: float | None) -> str:
    """A score for a reader; no value is a dash."""
    return DASH if value is None or not math.isfinite(value) else f"{value:.3f}"


def moment(text: str | None) -> str:
    """`2026-11-21T10:00:00+00:00` as `21 November 2026, 10:00 UTC`."""
    when = _time(text)
    if when is None:
        return text or DASH
    zone = when.strftime("%Z") if when.tzinfo else ""
    return f"{when.day} {when:%B %Y, %H:%M} {zone}".strip()


def duration(started: str | None, finished: str | None) -> str | None:
    """How long it took, to a reader's precision; None where it is not known."""
    begin, end = _time(started), _time(finished)
    if begin is None or end is None or (begin.tzinfo is None) != (end.tzinfo is None):
        return None
    seconds = round((end - begin).total_seconds())
    if seconds < 0:
        return None
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}{_NBSP}h {minutes:02}{_NBSP}min"
    return f"{minutes}{_NBSP}min {seconds:02}{_NBSP}s" if minutes else f"{seconds}{_NBSP}s"


def _time(text: str | None) -> datetime | None:
    try:
        return datetime.fromisoformat(text) if text else None
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class _Breakdown:
    """The tallies of a run by one attribute of its items."""

    field: str
    title: str
    tallies: list[tuple[str, Tally]]
    """Worst first."""


def _breakdowns(summary: Summary) -> dict[str, _Breakdown]:
    tallies = {
        "bias_type": ("bias type", summary.by_bias_type),
        "intent": ("intent", summary.by_intent),
        "model": ("model", summary.by_model),
        "case": ("test case", summary.by_case),
        "metric": ("metric", summary.by_metric),
    }
    return {
        name: _Breakdown(name, title, sorted(of.items(), key=_worst_first))
        for name, (title, of) in tallies.items()
    }


def _worst_first(entry: tuple[str, Tally]) -> tuple[float, str]:
    name, tally = entry
    return -1.0 if tally.fail_rate is None else -tally.fail_rate, name


def _models(summary: Summary, environment: Mapping[str, Any]) -> list[tuple[str, str | None]]:
    """Alias and full name of every model; None where the name is not known."""
    names = {
        model.get("alias"): model.get("model")
        for case in environment.get("cases") or ()
        for model in case.get("models") or ()
    }
    return [(alias, names.get(alias)) for alias in sorted(set(names) | set(summary.by_model))]


@dataclass
class _Histogram:
    """How often prompt pairs had each score, by verdict, for one metric."""

    bins: list[dict[str, int]] = field(
        default_factory=lambda: [{verdict.value: 0 for verdict in Verdict} for _ in range(BINS)]
    )
    thresholds: set[float] = field(default_factory=set)
    outside: int = 0
    """Scores below 0 or above 1; they are counted in the outermost bins."""

    def add(self, result: Result) -> None:
        if result.threshold is not None:
            self.thresholds.add(result.threshold)
        for pair in result.pairs:
            if pair.verdict is not None and pair.score is not None and math.isfinite(pair.score):
                self.outside += not 0 <= pair.score <= 1
                self.bins[min(max(int(pair.score * BINS), 0), BINS - 1)][pair.verdict] += 1

    @property
    def scores(self) -> int:
        return sum(sum(counts.values()) for counts in self.bins)

    @property
    def ceiling(self) -> int:
        """A round number that no bar exceeds."""
        tallest = max(1, *(sum(counts.values()) for counts in self.bins))
        magnitude: int = 10 ** (len(str(tallest)) - 1)
        steps = (1, 2, 3, 4, 5, 6, 8, 10) if magnitude > 1 else (2, 4, 6, 8, 10)
        return next(step * magnitude for step in steps if step * magnitude >= tallest)


class _Survey:
    """What the page says about all results, gathered while they pass by."""

    _REPEATING = ("verdict", "bias_type", "intent", "model", "case", "groups", "topic", "expected")

    def __init__(self) -> None:
        self.items = 0
        self.histograms: defaultdict[str, _Histogram] = defaultdict(_Histogram)
        self._unequal = UnequalTreatment()
        self._names: dict[str, dict[Any, int]] = {name: {} for name in self._REPEATING}
        self._columns: dict[str, list[Any]] = {
            name: [] for name in ("nodeid", "score", "pairs", *self._REPEATING)
        }

    def add(self, result: Result) -> None:
        self.items += 1
        self.histograms[result.metric].add(result)
        self._unequal.add(result)
        self._note(result)

    def _note(self, result: Result) -> None:
        """Add the item to the index; a name that repeats stands there once, by its number."""
        first = result.pairs[0] if result.pairs else None
        finite = result.score is not None and math.isfinite(result.score)
        self._columns["nodeid"].append(result.nodeid)
        self._columns["score"].append(result.score if finite else None)
        self._columns["pairs"].append(len(result.pairs))
        repeating = (
            result.verdict.value,
            result.bias_type,
            result.intent,
            result.model,
            result.case,
            first.groups if first else ("", ""),
            first.topic if first else "",
            (result.metric, result.threshold),
        )
        for name, value in zip(self._REPEATING, repeating, strict=True):
            known = self._names[name]
            self._columns[name].append(known.setdefault(value, len(known)))

    def index(self) -> dict[str, Any]:
        """What the list of items filters by and shows of a closed row."""
        names = {name: list(known) for name, known in self._names.items()}
        return {"names": names, "columns": self._columns}

    @property
    def expected(self) -> list[tuple[str, float]]:
        """Metrics and the levels expected by them."""
        return sorted(self._names["expected"])

    @property
    def metrics(self) -> list[tuple[str, _Histogram]]:
        return sorted(self.histograms.items())

    @cached_property
    def failing(self) -> list[UnequalGroups]:
        return self._unequal.failing()

    @property
    def failed_most(self) -> list[UnequalGroups]:
        return self.failing[:MOST]


class _Chunks:
    """Results for the page, compressed `CHUNK` at a time into a file."""

    def __init__(self, spool: IO[bytes]) -> None:
        self._spool = spool
        self._waiting: list[str] = []

    def add(self, result: str) -> None:
        self._waiting.append(result)
        if len(self._waiting) == CHUNK:
            self._flush()

    def read(self) -> Iterator[Markup]:
        """The chunks in order, one at a time."""
        self._flush()
        self._spool.seek(0)
        for line in self._spool:
            yield Markup(line.rstrip().decode("ascii"))

    def _flush(self) -> None:
        if self._waiting:
            self._spool.write(_packed(f"[{','.join(self._waiting)}]").encode("ascii") + b"\n")
            self._waiting.clear()


def _packed(text: str) -> Markup:
    """The text as the page's script unpacks it; its letters cannot end a tag."""
    packed = gzip.compress(text.encode("utf-8"), compresslevel=6, mtime=0)
    return Markup(base64.b64encode(packed).decode("ascii"))


def _templates() -> Environment:
    templates = Environment(
        loader=PackageLoader("caffe_pytest.reporting"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters.update(percent=percent, level=level, moment=moment)
    templates.globals.update(duration=duration, dash=DASH)
    templates.tests["mapping"] = lambda value: isinstance(value, Mapping)
    return templates


def _inline(templates: Environment, name: str) -> Markup:
    """A style sheet or script of ours, to stand in the page as it is."""
    if templates.loader is None:
        raise TypeError("the templates have no loader")
    source, _, _ = templates.loader.get_source(templates, name)
    return Markup(source.replace("\r\n", "\n"))


def _content_hash(source: str) -> str:
    """What a Content-Security-Policy names an inline script or style by."""
    return "sha256-" + base64.b64encode(hashlib.sha256(source.encode("utf-8")).digest()).decode()
