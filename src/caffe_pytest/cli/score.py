"""`caffe score`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

import click

from caffe_pytest.cli import OK
from caffe_pytest.cli.output import check_folder, write_rows
from caffe_pytest.errors import CaffeError
from caffe_pytest.extensions import conftest_plugins, load_extensions
from caffe_pytest.services.score import COLUMNS, Column, choose_metrics, score_pairs, scored_lines
from caffe_pytest.specs.rows import FORMATS, RowFile, read_rows


@click.command("score")
@click.argument("pairs", type=click.Path(path_type=Path))
@click.option(
    "--metric", "metrics", multiple=True, default=("lsa",), show_default=True, metavar="NAME",
    help="What to score with; may be given several times.",
)  # fmt: skip
@click.option(
    "--space", default="reference", show_default=True, type=click.Choice(["reference", "run"]),
    help="A frozen space, or one fitted on all answers of the file, as published.",
)  # fmt: skip
@click.option("--encoder", metavar="NAME_OR_FOLDER", help="For metrics that have one (bert).")
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="FILE",
    help="Where the rows are written; standard output where nothing is said.",
)  # fmt: skip
def command(
    pairs: Path,
    metrics: tuple[str, ...],
    space: Literal["reference", "run"],
    encoder: str | None,
    out: Path | None,
) -> int:
    """Score answers that stand beside each other.

    PAIRS is a CSV or JSONL file with the columns answer_1 and answer_2, or - for JSONL from
    standard input. Its rows are written again, each with a column more for every metric. What
    cannot be scored is left empty (CSV) or null (JSONL).
    """
    registered = load_extensions(conftest_plugins([Path.cwd()])).metrics
    chosen = choose_metrics(metrics, encoder, registered)
    check_folder(out)
    file = read_file(pairs, COLUMNS)
    _check_format(file, out)
    columns = score_pairs(file, chosen, space)
    write_rows(scored_lines(file, columns), out)
    for column in columns:
        click.echo(_told(column), err=True)
    return OK


def read_file(path: Path, required: tuple[str, ...]) -> RowFile:
    """The rows of a file, or of standard input where the path is `-`."""
    content = sys.stdin.buffer.read() if str(path) == "-" else None
    return read_rows(path, required, content)


def _check_format(file: RowFile, out: Path | None) -> None:
    """The rows keep their format: a name that says another one would deceive."""
    if out is not None and FORMATS.get(out.suffix.lower(), file.format) != file.format:
        raise CaffeError(
            f"--out {out}: the rows stay {file.format.upper()}; name a file *.{file.format}"
        )


def _told(column: Column) -> str:
    known = [float(score) for score in column.scores if score == score]  # noqa: PLR0124 - not NaN
    told = f"{column.name}: {len(known)} of {len(column.scores)} rows scored"
    return f"{told}, mean {sum(known) / len(known):.3f}" if known else told
