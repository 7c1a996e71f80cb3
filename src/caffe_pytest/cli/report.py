"""`caffe report`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypedDict, Unpack

import click
from click.core import ParameterSource

from caffe_pytest.cli import OK
from caffe_pytest.cli.output import check_folder, write_rows
from caffe_pytest.errors import CaffeError, printable
from caffe_pytest.extensions import conftest_plugins, load_extensions
from caffe_pytest.reporting.paper import PAPER_THRESHOLD
from caffe_pytest.reporting.paper_tables import FORMATS, Format, paper_lines, paper_notes
from caffe_pytest.services.paper import paper_report, similarity_metrics
from caffe_pytest.services.recorded_run import LATEST, RecordedRun
from caffe_pytest.services.show_run import shown_lines, write_junit_again, write_page_again


class _Paper(TypedDict):
    """Options of --paper."""

    form: Format
    metrics: tuple[str, ...]
    space: Literal["reference", "run"]
    encoder: str | None
    threshold: float
    out: Path | None


_OF_PAPER = tuple(_Paper.__annotations__)
_OF_RUN = ("html", "junitxml")
_OF_METRIC = ("space", "encoder")


@click.command("report")
@click.argument("run", default=LATEST, type=click.Path(path_type=Path))
@click.option("--paper", is_flag=True, help="The statistics of the CAFFE paper.")
@click.option(
    "--format", "form", default="text", show_default=True, type=click.Choice(FORMATS),
    help="Of the paper's statistics.",
)  # fmt: skip
@click.option(
    "--metric", "metrics", multiple=True, metavar="NAME",
    help="Score the recorded answers with this similarity too; may be given several times.",
)  # fmt: skip
@click.option(
    "--space", default="run", show_default=True, type=click.Choice(["reference", "run"]),
    help="For --metric: a frozen space, or one fitted on the answers of the run, as published.",
)  # fmt: skip
@click.option("--encoder", metavar="NAME_OR_FOLDER", help="For metrics that have one (bert).")
@click.option(
    "--threshold", default=PAPER_THRESHOLD, show_default=True, type=click.FloatRange(0.0, 1.0),
    help="At which metrics are compared, and those of --metric judge.",
)  # fmt: skip
@click.option(
    "--out", default=None, type=click.Path(path_type=Path), metavar="FILE",
    help="Where the statistics are written; standard output where nothing is said.",
)  # fmt: skip
@click.option(
    "--html", default=None, type=click.Path(path_type=Path), metavar="FILE",
    help="Write the page of the run again.",
)  # fmt: skip
@click.option(
    "--junitxml", default=None, type=click.Path(path_type=Path), metavar="FILE",
    help="Write a JUnit report of the run.",
)  # fmt: skip
@click.pass_context
def command(
    context: click.Context,
    run: Path,
    paper: bool,
    html: Path | None,
    junitxml: Path | None,
    **options: Unpack[_Paper],
) -> int:
    """Show a run again, or the statistics of the CAFFE paper.

    RUN is the folder of a run, or a results.jsonl; the newest run where nothing is said. No model
    is asked, and nothing in the folder changes.
    """
    _check_options(context, paper=paper)
    for file in (options["out"], html, junitxml):
        check_folder(file)
    recorded = RecordedRun.open(run)
    if paper:
        _write_paper(recorded, options)
        return OK
    for line in shown_lines(recorded):
        click.echo(line)
    if html is not None:
        write_page_again(html, recorded)
    if junitxml is not None:
        write_junit_again(junitxml, recorded)
    return OK


def _write_paper(run: RecordedRun, options: _Paper) -> None:
    registered = load_extensions(conftest_plugins([Path.cwd()])).metrics
    report = paper_report(
        run,
        metrics=similarity_metrics(options["metrics"], options["encoder"], registered),
        space=options["space"],
        threshold=options["threshold"],
    )
    form = options["form"]
    lines = paper_lines(report.statistics, report.notes, run=report.run, form=form)
    write_rows(lines, options["out"])
    if form == "csv":  # a table has no place for them
        for note in (*paper_notes(report.statistics), *report.notes):
            click.echo(f"note: {printable(note)}", err=True)


def _check_options(context: click.Context, *, paper: bool) -> None:
    """Refuse options that would do nothing."""
    given = {
        option.name: option.opts[0]
        for option in context.command.params
        if context.get_parameter_source(option.name or "") is ParameterSource.COMMANDLINE
    }
    for name in _OF_RUN if paper else _OF_PAPER:
        if name in given:
            remedy = "leave out --paper" if paper else "add --paper"
            raise CaffeError(f"{given[name]}: means nothing here; {remedy}, or remove it")
    for name in _OF_METRIC:
        if name in given and "metrics" not in given:
            raise CaffeError(f"{given[name]}: says how --metric scores; add --metric, or remove it")
