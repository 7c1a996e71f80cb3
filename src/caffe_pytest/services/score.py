"""Scores of answers that stand beside each other in a file. Needs no network."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from caffe_pytest.errors import CaffeError, did_you_mean
from caffe_pytest.hookspecs import AnswerMeasure, Metric, SimilarityMetric, Space
from caffe_pytest.metrics.bag_of_words import slices
from caffe_pytest.metrics.refusal import is_refusal
from caffe_pytest.services.criteria import NOT_MEASURES
from caffe_pytest.specs.rows import Problems, RowFile, as_text, csv_cells
from caffe_pytest.specs.validation import quoted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

COLUMNS = ("answer_1", "answer_2")
"""What is scored."""
_AT_ONCE = 4096
"""Pairs, or texts, given to a metric in one call: bounds the memory it needs."""

_NOWHERE = -1


@dataclass(frozen=True, eq=False)
class Column:
    """A column of scores."""

    name: str
    scores: NDArray[np.float64]
    """(rows,); NaN where there is no score."""


@dataclass(frozen=True, eq=False)
class _Answers:
    """The answers of a file, each text once."""

    texts: tuple[str, ...]
    declined: NDArray[np.bool_]
    """(texts,): whether the text declines the request."""
    places: NDArray[np.intp]
    """(rows, 2): the text of either answer; -1 where it is blank."""


def choose_metrics(
    names: Sequence[str], encoder: str | None, registered: Mapping[str, Metric]
) -> tuple[Metric, ...]:
    """The metrics of these names, each once; `encoder` goes to those that have one.

    Raises:
        CaffeError: a name is unknown or scores no single pair, or none of them has an encoder.
    """
    chosen: list[Metric] = []
    encoded = False
    for name in dict.fromkeys(names):
        if name in NOT_MEASURES:
            raise CaffeError(
                f"--metric {name}: it is asked of a whole pool of answers, not of two; choose "
                "another, or `caffe judge --oracle gap`"
            )
        if name not in registered:
            raise CaffeError(f"--metric {quoted(name)}: unknown; {did_you_mean(name, registered)}")
        metric = registered[name]
        if encoder is not None and isinstance(metric, SimilarityMetric) and metric.with_encoder:
            metric = metric.with_encoder(encoder)
            encoded = True
        chosen.append(metric)
    if encoder is not None and not encoded:
        raise CaffeError(
            f"--encoder: {', '.join(dict.fromkeys(names))} has none; remove it, or add "
            "`--metric bert`"
        )
    return tuple(chosen)


def score_pairs(
    file: RowFile, metrics: Sequence[Metric], space: Literal["reference", "run"]
) -> list[Column]:
    """The scores of every row: a column for each similarity, two for each measure of an answer.

    There is no score where an answer is blank, where both decline the request, or where the metric
    knows nothing of an answer. A measure of answers says nothing about one that declines, unless
    it is about refusals.

    Raises:
        ProblemsFound: with what is wrong with the rows.
        CaffeError: a metric broke.
    """
    names = [name for metric in metrics for name in column_names(metric)]
    answers = _read(file, names)
    columns: list[Column] = []
    for metric in metrics:
        if isinstance(metric, SimilarityMetric):
            columns.append(Column(metric.name, _similarities(answers, metric, space)))
        else:
            values = _measured(answers, metric)
            for name, side in zip(column_names(metric), values.T, strict=True):
                columns.append(Column(name, side))
    return columns


def column_names(metric: Metric) -> tuple[str, ...]:
    """What a metric's columns are called."""
    if isinstance(metric, SimilarityMetric):
        return (metric.name,)
    return f"{metric.name}_1", f"{metric.name}_2"


def scored_lines(file: RowFile, columns: Sequence[Column]) -> Iterator[str]:
    """The rows of the file as they stand, each with its scores behind it."""
    names = [column.name for column in columns]
    if file.format == "csv":
        yield file.byte_order_mark + _behind(file, file.header, names)
    for number, row in enumerate(file.rows(Problems(file.shown))):
        scores = [float(column.scores[number]) for column in columns]
        if file.format == "csv":
            cells = ["" if math.isnan(score) else repr(score) for score in scores]
            yield _behind(file, row.text, cells)
        else:
            known = [None if math.isnan(score) else score for score in scores]
            members = json.dumps(dict(zip(names, known, strict=True)), ensure_ascii=False)
            # the text itself: a number read and written again may look different
            yield f"{row.text[:-1].rstrip()}, {members[1:]}{file.newline}"


def open_space(
    metric: SimilarityMetric, space: Literal["reference", "run"], texts: Sequence[str]
) -> Space | None:
    """Where a metric compares answers; None where `texts` do not suffice to fit the space `run`.

    Raises:
        CaffeError: the metric broke.
    """
    try:
        return metric.reference() if space == "reference" else metric.fit(texts)
    except CaffeError:
        raise
    except Exception as error:  # a metric may come from a plugin
        if space == "run" and isinstance(error, ValueError):
            return None
        raise CaffeError(f"the metric {metric.name} broke: {error!r}") from error


def similarities(
    metric: SimilarityMetric, space: Space | None, pairs: Sequence[tuple[str, str]]
) -> NDArray[np.float64]:
    """(n,) of n pairs, each scored once however often it stands there; NaN where there is none.

    Raises:
        CaffeError: the metric broke.
    """
    import numpy as np

    if space is None:
        return np.full(len(pairs), np.nan)
    place: dict[tuple[str, str], int] = {}
    where = np.array([place.setdefault(pair, len(place)) for pair in pairs], dtype=np.intp)
    once = list(place)
    scores = np.full(len(once), np.nan)
    for part in slices(len(once), _AT_ONCE):
        first, second = zip(*once[part], strict=True)
        try:
            found = np.asarray(space.similarity(first, second), dtype=np.float64)
            scores[part] = np.where(np.isfinite(found), found, np.nan)
        except CaffeError:
            raise
        except Exception as error:  # a metric may come from a plugin
            raise CaffeError(f"the metric {metric.name} broke: {error!r}") from error
    scores_of_pairs: NDArray[np.float64] = scores[where]
    return scores_of_pairs


def _read(file: RowFile, names: Sequence[str]) -> _Answers:
    import numpy as np

    problems = Problems(file.shown)
    taken = [name for name in names if name in file.columns]
    for name in taken:
        _complain_of_taken(problems, 1, name)
    place: dict[str, int] = {}
    places: list[int] = []
    for row in file.rows(problems):
        if file.format == "jsonl":
            for name in names:
                if name in row.cells:
                    _complain_of_taken(problems, row.line, name)
        for column in COLUMNS:
            value = row.cells.get(column)
            if column not in row.cells:
                problems.add(row.line, column, "is missing", f'add "{column}" to the row')
            elif value is not None and not isinstance(value, str):
                cause = f"should be text, and is {quoted(value)}"
                problems.add(row.line, column, cause, "put it in quotes; null where there is none")
            text = as_text(value) if isinstance(value, str) else ""
            places.append(place.setdefault(text, len(place)) if text.strip() else _NOWHERE)
    problems.raise_if_any()
    texts = tuple(place)
    return _Answers(
        texts=texts,
        declined=np.array([is_refusal(text) for text in texts], dtype=bool),
        places=np.array(places, dtype=np.intp).reshape(-1, 2),
    )


def _complain_of_taken(problems: Problems, line: int, name: str) -> None:
    cause = "is there already"
    problems.add(line, name, cause, "rename or remove it, or leave out the metric")


def _similarities(
    answers: _Answers, metric: SimilarityMetric, space: Literal["reference", "run"]
) -> NDArray[np.float64]:
    import numpy as np

    there = answers.places.min(axis=1, initial=0) > _NOWHERE
    comparable = there.copy()
    comparable[there] = ~answers.declined[answers.places[there]].all(axis=1)
    texts = answers.texts
    # all answers, as often as they stand there: what a space is fitted on weighs them
    fitted_on = [texts[at] for at in answers.places.ravel() if at > _NOWHERE]
    rows = np.flatnonzero(comparable)
    by_text = rows[np.lexsort(answers.places[rows].T)]  # a batch then repeats its texts
    pairs = [(texts[one], texts[other]) for one, other in answers.places[by_text]]
    scores = np.full(len(answers.places), np.nan)
    scores[by_text] = similarities(metric, open_space(metric, space, fitted_on), pairs)
    return scores


def _measured(answers: _Answers, measure: AnswerMeasure) -> NDArray[np.float64]:
    """(rows, 2)."""
    import numpy as np

    asked = np.ones(len(answers.texts), dtype=bool) if measure.of_refusals else ~answers.declined
    places = np.flatnonzero(asked)
    values = np.full(len(answers.texts) + 1, np.nan)  # the last is that of a blank answer
    for part in slices(len(places), _AT_ONCE):
        try:
            values[places[part]] = measure.measure([answers.texts[at] for at in places[part]])
        except CaffeError:
            raise
        except Exception as error:  # a measure may come from a plugin
            raise CaffeError(f"the metric {measure.name} broke: {error!r}") from error
    values[~np.isfinite(values)] = np.nan
    of_rows: NDArray[np.float64] = values[answers.places]
    return of_rows


def _behind(file: RowFile, text: str, cells: Sequence[str]) -> str:
    return text + file.separator + csv_cells(cells, file.separator) + file.newline
