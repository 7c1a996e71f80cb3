"""`caffe run`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from caffe_pytest.cli import BROKEN, FAILED, INTERRUPTED, NOTHING_TO_RUN, OK, USAGE
from caffe_pytest.errors import JournalError
from caffe_pytest.execution.run_folder import DEFAULT_OUT, RunFolder, new_run_id
from caffe_pytest.model.verdict import Verdict
from caffe_pytest.services.discover import planner_for
from caffe_pytest.services.plan import Procedure
from caffe_pytest.services.report import (
    check_writable,
    finish,
    write_junit_report,
)
from caffe_pytest.services.run import DEFAULT_CONCURRENCY, Run
from caffe_pytest.services.validate import validate


@click.command("run")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--out",
    default=DEFAULT_OUT,
    type=click.Path(path_type=Path, file_okay=False),
    show_default=True,
    help="Where runs are kept.",
)
@click.option(
    "--concurrency",
    default=DEFAULT_CONCURRENCY,
    type=click.IntRange(1, 10_000),
    show_default=True,
    help="Calls under way at once for each provider.",
)
@click.option("--fresh", is_flag=True, help="Ask anew also where an earlier run has the answer.")
@click.option(
    "--junitxml",
    default=None,
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write a JUnit report too.",
)
@click.option("-k", "pattern", default="", metavar="TEXT",
              help="Only items whose node id contains TEXT, whatever the case.")  # fmt: skip
def command(
    paths: tuple[Path, ...],
    out: Path,
    concurrency: int,
    fresh: bool,
    junitxml: Path | None,
    pattern: str,
) -> int:
    """Ask the models, judge the answers, write a report.

    PATHS are files and folders; without any, the working folder. Does what `pytest --fairness`
    does, with the same verdicts and the same exit codes.
    """
    planner, files = planner_for(paths or (Path(),))
    checked = validate(planner, files)
    for problem in checked.problems:
        click.echo(str(problem), err=True)
    if checked.problems:
        return USAGE
    procedures = [
        procedure
        for plan in checked.plans
        for procedure in plan.procedures()
        if pattern.casefold() in procedure.nodeid.casefold()
    ]
    if not procedures:
        hint = (
            f'none of the ids contains "{pattern}"' if checked.plans else "`caffe init` writes one"
        )
        click.echo(f"nothing to run: {hint}", err=True)
        return NOTHING_TO_RUN
    folder = RunFolder(out, new_run_id())
    if junitxml is not None:
        check_writable(junitxml)
    run = Run(folder, procedures, concurrency=concurrency, reuse=not fresh)
    broken: JournalError | None = None
    finished = False
    try:
        finished = _carry_out(run, procedures)
    except JournalError as error:
        broken = error
    finally:
        run.close()
    done = finish(folder)
    for line in done.lines:
        click.echo(line)
    if junitxml is not None:
        write_junit_report(junitxml, folder, done.summary)
    if broken is not None:
        click.echo(str(broken), err=True)
        return BROKEN
    if not finished:
        return INTERRUPTED
    return OK if done.summary.green else FAILED


def _carry_out(run: Run, procedures: Sequence[Procedure]) -> bool:
    """Every procedure in turn, with a progress bar; False where the user stopped it."""
    counts = dict.fromkeys(Verdict, 0)
    columns = (
        TextColumn("asking"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
        TextColumn("{task.fields[counts]}"),
    )  # fmt: skip
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=len(procedures), counts="")
        try:
            for procedure in procedures:
                result = run.carry_out(procedure)
                counts[result.verdict] += 1
                shown = "  ".join(
                    f"{number} {verdict}" for verdict, number in counts.items() if number
                )
                progress.update(task, advance=1, counts=shown)
        except KeyboardInterrupt:
            return False
    return True
