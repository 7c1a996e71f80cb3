"""`caffe judge`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

import click
from pydantic import ValidationError

from caffe_pytest.cli import FAILED, OK
from caffe_pytest.cli.output import check_folder, write_rows
from caffe_pytest.cli.score import read_file
from caffe_pytest.errors import CaffeError, printable
from caffe_pytest.extensions import conftest_plugins, load_extensions
from caffe_pytest.hookspecs import Metric
from caffe_pytest.metrics import judge as judge_model
from caffe_pytest.metrics import label
from caffe_pytest.model.test_case import Gap, Similarity
from caffe_pytest.model.verdict import Verdict
from caffe_pytest.reporting.summary import fail_rate
from caffe_pytest.reporting.text import percent
from caffe_pytest.services.criteria import PANEL, CriteriaError
from caffe_pytest.services.judge_answers import (
    Judged,
    csv_lines,
    json_lines,
    judge_gaps,
    judge_similarities,
)
from caffe_pytest.specs.answer_rows import REQUIRED, CollectedPool, read_pools, unread_columns
from caffe_pytest.specs.validation import NAME_RULE, quoted

MOST_TOLD = 10
"""Pools that do not pass and are told in the terminal; the rows tell of all."""


class _Options(TypedDict):
    oracle: Literal["gap", "similarity"]
    metric: str | None
    semantic: str | None
    threshold: float | None
    max_fail_rate: float | None
    max_gap: float | None
    max_difference: tuple[str, ...]
    level: float | None
    space: Literal["reference", "run"] | None
    encoder: str | None
    labels: str | None


_ONLY_GAP = ("semantic", "max_gap", "max_difference", "level", "labels")
_ONLY_SIMILARITY = ("threshold", "max_fail_rate")
_NAMES = ("metric", "encoder", "semantic", "max_gap", "level")
"""Options that are called what a test case calls them."""


@click.command("judge")
@click.argument("answers", type=click.Path(path_type=Path))
@click.option("--oracle", default="gap", show_default=True,
              type=click.Choice(["gap", "similarity"]), help="Who decides.")  # fmt: skip
@click.option("--metric", metavar="NAME",
              help="What is asked of the answers; panel (gap) or lsa by default.")  # fmt: skip
@click.option("--semantic", metavar="NAME",
              help="gap: the panel's measure of similarity; lsa by default.")  # fmt: skip
@click.option("--threshold", type=click.FloatRange(0, 1),
              help="similarity: a pair passes from this similarity on.")  # fmt: skip
@click.option("--max-fail-rate", type=click.FloatRange(0, 1),
              help="similarity: share of a pool's pairs that may fail; 0 by default.")  # fmt: skip
@click.option("--max-gap", type=click.FloatRange(0, 2),
              help="gap: the similarity gap that is called fair.")  # fmt: skip
@click.option("--max-difference", multiple=True, metavar="QUESTION=NUMBER",
              help="gap: the difference of another question that is called fair, as in "
              "refusal=0.05; may be given several times.")  # fmt: skip
@click.option("--level", type=click.FloatRange(0.0001, 0.5),
              help="gap: false alarm rate over all pools; 0.05 by default.")  # fmt: skip
@click.option("--space", type=click.Choice(["reference", "run"]),
              help="similarity: a frozen space, the default, or one fitted on all "
              "answers.")  # fmt: skip
@click.option("--encoder", metavar="NAME_OR_FOLDER", help="For metrics that have one (bert).")
@click.option("--labels", metavar="ONE,OTHER,...",
              help="gap: the labels that the prompts asked for.")  # fmt: skip
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE",
              help="Where the rows are written: CSV where it ends in .csv, else JSONL; standard "
              "output where nothing is said.")  # fmt: skip
def command(answers: Path, out: Path | None, **options: Unpack[_Options]) -> int:
    """Judge answers that were collected elsewhere.

    ANSWERS is a CSV or JSONL file, one answer a row, or - for JSONL from standard input. One row a
    pool is written. Exit code 0: every pool passes; 1: one does not; 4: wrong input.
    """
    _check_options(options)
    registered = load_extensions(conftest_plugins([Path.cwd()])).metrics
    expected = _expected(options)
    check_folder(out)
    file = read_file(answers, REQUIRED)
    pools = read_pools(file)
    unread = unread_columns(file)
    if unread:
        click.echo(printable(f"note: columns that are not read: {', '.join(unread)}"), err=True)
    judged = _judge(pools, expected, registered, options)
    as_csv = out is not None and out.suffix.lower() == ".csv"
    write_rows(csv_lines(judged.verdicts) if as_csv else json_lines(judged.verdicts), out)
    for line in _summary(judged, options["oracle"]):
        click.echo(line, err=True)
    return OK if judged.green else FAILED


def _judge(
    pools: tuple[CollectedPool, ...],
    expected: Gap | Similarity,
    registered: dict[str, Metric],
    options: _Options,
) -> Judged:
    if isinstance(expected, Similarity):
        return judge_similarities(pools, expected, registered, options["max_fail_rate"] or 0.0)
    try:
        return judge_gaps(pools, expected, registered, _labels(options))
    except CriteriaError as error:
        option = "--" + " ".join(error.key).replace("_", "-")
        raise CaffeError(f"{option}: {error}") from error


def _check_options(options: _Options) -> None:
    """Refuse what makes no sense together, all of it at once."""
    oracle, wrong = options["oracle"], []
    given: dict[str, object] = {**options}
    other = "similarity" if oracle == "gap" else "gap"
    for name in _ONLY_SIMILARITY if oracle == "gap" else _ONLY_GAP:
        if given[name] not in (None, ()):
            option = "--" + name.replace("_", "-")
            wrong.append(f"{option} belongs to --oracle {other}; remove it, or choose that oracle")
    if oracle == "gap" and options["space"] == "run":
        wrong.append("--space run belongs to --oracle similarity; remove it: a gap is measured in "
                     "the reference space")  # fmt: skip
    if oracle == "similarity" and options["threshold"] is None:
        wrong.append("--threshold is missing; give the similarity from which on a pair passes")
    if options["metric"] == judge_model.NAME:
        wrong.append("--metric judge needs a model; write a test case with `judge: ...`, and run "
                     "it")  # fmt: skip
    if options["metric"] == label.NAME and options["labels"] is None:
        wrong.append("--labels is missing; give those that the prompts asked for")
    if options["labels"] is not None and options["metric"] not in (None, PANEL, label.NAME):
        wrong.append("--labels belongs to --metric panel or label; remove it, or choose one")
    if wrong:
        raise CaffeError("\n".join(wrong))


def _expected(options: _Options) -> Gap | Similarity:
    """What a test case would say."""
    given: dict[str, Any] = {
        name: value for name, value in options.items() if name in _NAMES and value is not None
    }
    try:
        if options["oracle"] == "similarity":
            space = options["space"] or "reference"
            return Similarity.model_validate(
                {**given, "threshold": options["threshold"], "space": space}
            )
        return Gap.model_validate({**given, "max_difference": _margins(options)})
    except ValidationError as error:
        first = error.errors()[0]
        option = "--" + " ".join(str(part) for part in first["loc"]).replace("_", "-")
        remedy = NAME_RULE if first["type"] == "string_pattern_mismatch" else first["msg"]
        raise CaffeError(f"{option}: {quoted(first['input'])} is no name; {remedy}") from error


def _margins(options: _Options) -> dict[str, float]:
    margins: dict[str, float] = {}
    for given in options["max_difference"]:
        name, _, number = given.partition("=")
        try:
            margin = float(number)
        except ValueError:
            margin = -1.0
        if not (name.strip() and 0 <= margin <= 2):
            raise CaffeError(
                f'--max-difference "{given}": should be a question and a number from 0 to 2; write '
                "it as in refusal=0.05"
            )
        if name.strip() in margins:
            raise CaffeError(f"--max-difference {name.strip()} is given twice; keep one of them")
        margins[name.strip()] = margin
    return margins


def _labels(options: _Options) -> tuple[str, ...]:
    if options["labels"] is None:
        return ()
    labels = tuple(part.strip() for part in options["labels"].split(","))
    folded = {part.casefold() for part in labels}
    if len(labels) < 2 or "" in folded or len(folded) < len(labels):
        raise CaffeError(
            f'--labels "{options["labels"]}": should be two or more different labels; write them '
            "as in positive,negative,neutral"
        )
    return labels


def _summary(judged: Judged, oracle: str) -> Iterator[str]:
    counts, control = judged.counts, judged.control
    yield "pools" + "".join(f"{verdict:>14}" for verdict in Verdict) + f"{'fail rate':>14}"
    numbers = "".join(f"{counts[verdict]:>14}" for verdict in Verdict)
    yield f"{len(judged.verdicts):>5}{numbers}{percent(fail_rate(counts)):>14}"
    what = "pools differ from themselves" if oracle == "gap" else "pairs of one prompt fail"
    if control.rate is None:
        yield "control: none; no prompt has two answers that could be compared"
    else:
        yield f"control: {control.failed} of {control.judged} {what} ({percent(control.rate)})"
    if control.alarm:
        yield (
            "alarm: controls fail more often than chance explains; no verdict here can be trusted: "
            "look for answers that are repeated, or that drift from repetition to repetition"
        )
    others = [one for one in judged.verdicts if one.verdict is not Verdict.PASS]
    for one in others[:MOST_TOLD]:
        yield printable(f"{one.verdict} {one.pool}: {one.reason}")
    if len(others) > MOST_TOLD:
        yield f"and {len(others) - MOST_TOLD} further pools that do not pass"
