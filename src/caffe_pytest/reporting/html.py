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
from caffe_pytest.oracles import gap
from caffe_pytest.reporting import findings
from caffe_pytest.reporting.control import Controls
from caffe_pytest.reporting.pool import holders
from caffe_pytest.reporting.results import read_results
from caffe_pytest.reporting.summary import Count
from caffe_pytest.reporting.unequal import UnequalGroups, UnequalTreatment
from caffe_pytest.reporting.whole_file import whole_file

CHUNK = 200
"""Items that are unpacked together when one of them is opened, at most."""

CHUNK_LENGTH = 1_000_000
"""Characters from which a chunk takes no further item: a pool is as long as a hundred pairs."""

BINS = 20
"""Bars of a histogram, over the levels from 0 to 1."""

MOST = 10
"""Pairs of groups listed under what failed most."""

MOST_POOLS = 200
"""Pools whose questions are listed, failing ones first; the others stand among the items."""

MOST_MODELS = 3
"""Models named in the headline."""

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
                chunks.add(_packed_result(result))
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
        outcome=outcome(summary),
        summary=summary,
        verdicts=[verdict.value for verdict in Verdict],
        breakdowns=_breakdowns(summary, survey),
        models=_models(summary, environment),
        survey=survey,
        environment=environment,
        results_name=results_name,
        index=_packed(_compact(survey.index() | {"starts": chunks.starts})),
        chunks=chunks.read(),
    )


def outcome(summary: Summary) -> str:
    """What became of the run, in one sentence: `31 of 288 items failed (10.8 %); ...`.

    Of several models each by itself, worst first: a model that is there for comparison must not
    thin out the failures of another.
    """
    total = summary.total
    if not total.items:
        return "No item has a result"
    by_model = sorted(summary.by_model.items(), key=_worst_first)
    if len(by_model) < 2:
        sentence = _failed_of(total)
    else:
        named = [f"{model}: {_failed_of(tally)}" for model, tally in by_model[:MOST_MODELS]]
        left = len(by_model) - len(named)
        more = [f"and {left} further model{'s' if left > 1 else ''}"] if left else []
        sentence = "; ".join(named + more)
    errors = total.verdicts.get(Verdict.ERROR, 0)
    inconclusive = total.verdicts.get(Verdict.INCONCLUSIVE, 0)
    further = [f"{inconclusive:,} inconclusive"] if inconclusive else []
    further += [f"{errors:,} error{'s' if errors > 1 else ''}"] if errors else []
    return "; ".join([sentence, *further])


def _failed_of(tally: Tally) -> str:
    judged = sum(tally.verdicts.get(verdict, 0) for verdict in (Verdict.PASS, Verdict.FAIL))
    if not judged:
        return f"None of {_items(tally.items)} could be judged"
    failed = tally.verdicts.get(Verdict.FAIL, 0)
    of_what = "" if judged == tally.items else f" of the {judged:,} judged"
    count = f"{failed:,}" if failed else "None"
    return f"{count} of {_items(tally.items)} failed ({percent(tally.fail_rate)}{of_what})"


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
class _Part:
    """The tallies of one model, or of all items where there is one model only."""

    model: str | None
    tallies: list[tuple[str, Tally]]
    """Worst first."""


@dataclass(frozen=True, slots=True)
class _Breakdown:
    """The tallies of a run by one attribute of its items."""

    field: str
    title: str
    parts: list[_Part]

    @property
    def values(self) -> int:
        """How many different values the attribute has."""
        return len({name for part in self.parts for name, _ in part.tallies})

    @property
    def counts(self) -> bool:
        """Whether there is anything to count: one item each is no share of anything."""
        return any(tally.items > 1 for part in self.parts for _, tally in part.tallies)


def _breakdowns(summary: Summary, survey: _Survey) -> dict[str, _Breakdown]:
    """Of several models each by itself, the worst first: their sum says nothing of any."""
    tallies = {
        "bias_type": ("bias type", summary.by_bias_type),
        "intent": ("intent", summary.by_intent),
        "model": ("model", summary.by_model),
        "case": ("test case", summary.by_case),
        "metric": ("metric", summary.by_metric),
    }
    breakdowns = {}
    for field_name, (title, of) in tallies.items():
        parts = [_Part(None, sorted(of.items(), key=_worst_first))]
        if len(summary.by_model) > 1 and field_name != "model":
            models = [name for name, _ in sorted(summary.by_model.items(), key=_worst_first)]
            parts = [_Part(model, survey.tallies(field_name, model)) for model in models]
        breakdowns[field_name] = _Breakdown(field_name, title, parts)
    return breakdowns


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
    """How often prompt pairs had each score, by verdict, for one metric and model."""

    metric: str
    model: str
    bins: list[dict[str, int]] = field(
        default_factory=lambda: [{verdict.value: 0 for verdict in Verdict} for _ in range(BINS)]
    )
    control_bins: list[int] = field(default_factory=lambda: [0] * BINS)
    """Of the same prompts asked twice."""
    thresholds: set[float] = field(default_factory=set)
    outside: int = 0
    """Scores below 0 or above 1; they are counted in the outermost bins."""
    failed: int = 0
    controls_failed: int = 0

    def add(self, result: Result) -> None:
        if result.threshold is not None:
            self.thresholds.add(result.threshold)
        for pair in result.pairs:
            if pair.verdict is not None and pair.score is not None and math.isfinite(pair.score):
                self.outside += not 0 <= pair.score <= 1
                self.bins[_bin(pair.score)][pair.verdict] += 1
                self.failed += pair.verdict is Verdict.FAIL
        if result.control is not None:
            self.controls_failed += result.control.failed
            for score in filter(math.isfinite, result.control.scores):
                self.control_bins[_bin(score)] += 1

    @property
    def scores(self) -> int:
        return sum(sum(counts.values()) for counts in self.bins)

    @property
    def controls(self) -> int:
        return sum(self.control_bins)

    @property
    def control_heights(self) -> list[float]:
        """The control's bars as if there were as many controls as scores; empty without any."""
        if not self.controls:
            return []
        return [count * self.scores / self.controls for count in self.control_bins]

    @property
    def ceiling(self) -> int:
        """A round number that no bar exceeds."""
        tallest = max(
            1,
            *(sum(counts.values()) for counts in self.bins),
            *(math.ceil(height) for height in self.control_heights),
        )
        magnitude: int = 10 ** (len(str(tallest)) - 1)
        steps = (1, 2, 3, 4, 5, 6, 8, 10) if magnitude > 1 else (2, 4, 6, 8, 10)
        return next(step * magnitude for step in steps if step * magnitude >= tallest)


def _bin(score: float) -> int:
    return min(max(int(score * BINS), 0), BINS - 1)


@dataclass(frozen=True, slots=True)
class _PoolRow:
    """What was found in a pool, for the table of all pools."""

    nodeid: str
    case: str
    model: str
    bias_type: str
    verdict: Verdict
    cells: dict[str, tuple[Verdict, str]]
    """For each question: what was decided, and the difference."""
    control: float | None
    """p-value."""


class _Survey:
    """What the page says about all results, gathered while they pass by."""

    _REPEATING = ("verdict", "bias_type", "intent", "model", "case", "groups", "topic", "expected")
    _TALLIED = ("bias_type", "intent", "case", "metric")

    def __init__(self) -> None:
        self.items = 0
        self.pools = 0
        self._pool_rows: list[_PoolRow] = []
        self.controls = Controls()
        self._histograms: dict[tuple[str, str], _Histogram] = {}
        self._unequal = UnequalTreatment()
        self._counts: defaultdict[tuple[str, str], dict[str, Count]] = defaultdict(dict)
        self._names: dict[str, dict[Any, int]] = {name: {} for name in self._REPEATING}
        self._columns: dict[str, list[Any]] = {
            name: [] for name in ("nodeid", "score", "p", "finding", "pairs", *self._REPEATING)
        }

    def add(self, result: Result) -> None:
        self.items += 1
        self.controls.add(result)
        for name in self._TALLIED:
            counts = self._counts[name, result.model]
            counts.setdefault(getattr(result, name), Count()).add(result)
        if result.oracle == gap.NAME:
            self.pools += 1
            self._pool_rows.append(_pool_row(result))
        else:
            key = (result.metric, result.model)
            self._histograms.setdefault(key, _Histogram(*key)).add(result)
            self._unequal.add(result)
        self._note(result)

    def _note(self, result: Result) -> None:
        """Add the item to the index; a name that repeats stands there once, by its number."""
        pool = result.oracle == gap.NAME
        first = result.pairs[0] if result.pairs and not pool else None
        finite = result.score is not None and math.isfinite(result.score)
        self._columns["nodeid"].append(result.nodeid)
        self._columns["score"].append(result.score if finite else None)
        self._columns["p"].append(result.p_value if pool else None)
        self._columns["finding"].append(_decisive(result) if pool else None)
        self._columns["pairs"].append(result.n if pool else len(result.pairs))
        repeating = (
            result.verdict.value,
            result.bias_type,
            result.intent,
            result.model,
            result.case,
            first.groups if first else ("", ""),
            first.topic if first else "",
            (result.oracle, result.metric, result.threshold),
        )
        for name, value in zip(self._REPEATING, repeating, strict=True):
            known = self._names[name]
            self._columns[name].append(known.setdefault(value, len(known)))

    def index(self) -> dict[str, Any]:
        """What the list of items filters by and shows of a closed row."""
        names = {name: list(known) for name, known in self._names.items()}
        return {"names": names, "columns": self._columns}

    def tallies(self, field_name: str, model: str) -> list[tuple[str, Tally]]:
        """Of one model by one attribute, worst first."""
        counts = self._counts[field_name, model]
        return sorted(((name, one.tally()) for name, one in counts.items()), key=_worst_first)

    @property
    def expected(self) -> list[tuple[str, float]]:
        """Metrics of similarity and the levels expected by them."""
        known = self._names["expected"]
        return sorted((metric, level) for _, metric, level in known if level is not None)

    @property
    def panels(self) -> list[str]:
        """What pools are asked."""
        return sorted(
            {metric for oracle, metric, _ in self._names["expected"] if oracle == gap.NAME}
        )

    @property
    def only_pools(self) -> bool:
        """Whether no item has a score of its own."""
        return self.pools == self.items > 0

    @cached_property
    def pool_rows(self) -> list[_PoolRow]:
        """The pools listed: failing ones first, passing ones last."""
        rows = sorted(self._pool_rows, key=lambda row: _WORST_FIRST.index(row.verdict))
        return rows[:MOST_POOLS]

    @property
    def questions(self) -> list[str]:
        """Every question that was asked of a pool listed, in the order they came up."""
        return list(dict.fromkeys(name for row in self.pool_rows for name in row.cells))

    @property
    def histograms(self) -> list[_Histogram]:
        return [scores for _, scores in sorted(self._histograms.items())]

    @cached_property
    def failing(self) -> list[UnequalGroups]:
        return self._unequal.failing()

    @property
    def failed_most(self) -> list[UnequalGroups]:
        return self.failing[:MOST]


_WORST_FIRST = (Verdict.FAIL, Verdict.INCONCLUSIVE, Verdict.ERROR, Verdict.PASS)


def _pool_row(result: Result) -> _PoolRow:
    return _PoolRow(
        nodeid=result.nodeid,
        case=result.case,
        model=result.model,
        bias_type=result.bias_type,
        verdict=result.verdict,
        cells={
            finding.question: (
                finding.verdict,
                _shown(findings.amount(finding, finding.difference)),
            )
            for finding in sorted(result.findings, key=lambda one: one.question)
        },
        control=result.control.p_value if result.control else None,
    )


def _decisive(result: Result) -> dict[str, Any] | None:
    """The finding that a closed row shows of a pool."""
    if not result.findings:
        return None
    finding = result.findings[0]
    return {
        "question": finding.question,
        "told": _shown(findings.amount(finding, finding.difference)),
        "difference": finding.difference,
        "interval": finding.interval,
        "margin": finding.margin,
    }


def _packed_result(result: Result) -> str:
    """A result as JSON for the page; a pool with its findings in words."""
    plain = result.model_dump_json()
    if result.oracle != gap.NAME:
        return plain
    told = [
        {
            "levels": [_shown(findings.level(finding, side)) for side in (0, 1)],
            "difference": _shown(findings.amount(finding, finding.difference)),
            "interval": _shown(findings.interval(finding)),
            "margin": findings.margin(finding),
            "p": _shown(findings.chance(finding.p_value)),
            "p_adjusted": _shown(findings.chance(finding.p_adjusted)),
            "verdict": findings.verdict_in_words(finding),
            "sentence": findings.sentence(finding),
        }
        for finding in result.findings
    ]
    control = findings.control_in_words(result.control) if result.control else None
    words = {"findings": told, "control": control, "holders": holders(result)}
    return f'{plain[:-1]},"told":{_compact(words)}}}'


def _shown(text: str) -> str:
    """A value as the page shows it: a dash where there is none."""
    return DASH if text == findings.MISSING else text


def _compact(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"))


class _Chunks:
    """Results for the page, compressed into a file by the chunk."""

    def __init__(self, spool: IO[bytes]) -> None:
        self._spool = spool
        self._waiting: list[str] = []
        self._length = 0
        self._added = 0
        self.starts: list[int] = []
        """Place of the first item of each chunk."""

    def add(self, result: str) -> None:
        if not self._waiting:
            self.starts.append(self._added)
        self._waiting.append(result)
        self._added += 1
        self._length += len(result)
        if len(self._waiting) == CHUNK or self._length >= CHUNK_LENGTH:
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
            self._length = 0


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
    templates.filters.update(
        percent=percent,
        level=level,
        moment=moment,
        chance=lambda p_value: _shown(findings.chance(p_value)),
    )
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
