"""`caffe calibrate`."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from caffe_pytest.cli import BROKEN, FAILED, INTERRUPTED, NOTHING_TO_RUN, OK, USAGE
from caffe_pytest.errors import JournalError
from caffe_pytest.execution.run_folder import DEFAULT_OUT, RunFolder, new_run_id
from caffe_pytest.reporting.calibration import calibration_lines
from caffe_pytest.reporting.text import shown_path
from caffe_pytest.services.calibrate import LEAST_ANSWERS, Calibrator, Calls, subjects
from caffe_pytest.services.discover import planner_for
from caffe_pytest.services.run import DEFAULT_CONCURRENCY
from caffe_pytest.services.validate import validate


@click.command("calibrate")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--false-alarms",
    default=0.05,
    type=click.FloatRange(0.0, 0.5),
    show_default=True,
    metavar="SHARE",
    help="Share of pairs of the same prompt that a threshold may fail.",
)
@click.option(
    "--metric", "metrics", multiple=True, metavar="NAME",
    help="Similarity to calibrate, in place of the test cases' own; may be given several times.",
)  # fmt: skip
@click.option(
    "--answers", default=None, metavar="N", type=click.IntRange(LEAST_ANSWERS, 1000),
    help="Answers to each prompt; as the test case says, and 2 at least, where nothing is said.",
)  # fmt: skip
@click.option(
    "--pilot", default=None, metavar="N", type=click.IntRange(1, 100_000),
    help="Only so many prompt pairs of each bias type.",
)  # fmt: skip
@click.option(
    "--out", default=DEFAULT_OUT, show_default=True,
    type=click.Path(path_type=Path, file_okay=False), help="Where runs are kept.",
)  # fmt: skip
@click.option(
    "--concurrency", default=DEFAULT_CONCURRENCY, show_default=True,
    type=click.IntRange(1, 10_000), help="Calls under way at once for each provider.",
)  # fmt: skip
def command(
    paths: tuple[Path, ...],
    false_alarms: float,
    metrics: tuple[str, ...],
    answers: int | None,
    pilot: int | None,
    out: Path,
    concurrency: int,
) -> int:
    """Measure what chance alone does, and which verdicts it allows.

    PATHS are files and folders with test cases; without any, the working folder. Each model is
    asked each prompt several times. The answers are kept as those of a run: a run uses them again,
    and a calibration those of earlier runs.
    """
    planner, files = planner_for(paths or (Path(),))
    checked = validate(planner, files)
    for problem in checked.problems:
        click.echo(str(problem), err=True)
    if checked.problems:
        return USAGE
    if not checked.plans:
        click.echo("nothing to calibrate: `caffe init` writes a test case", err=True)
        return NOTHING_TO_RUN
    chosen = subjects(checked.plans, answers=answers, pilot=pilot)
    folder = RunFolder(out, new_run_id())
    calibrator = Calibrator(folder, chosen, planner.extensions.metrics, metrics)
    try:
        calls = _ask(calibrator, sum(one.calls for one in chosen), concurrency)
    except KeyboardInterrupt:
        kept = shown_path(folder.journal)
        click.echo(f"interrupted: the answers are kept in {kept}; run it again to go on", err=True)
        return INTERRUPTED
    except JournalError as error:
        click.echo(str(error), err=True)
        return BROKEN
    return _tell(calibrator, folder, calls, false_alarms)


def _ask(calibrator: Calibrator, calls: int, concurrency: int) -> Calls:
    columns = (TextColumn("asking"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=calls)
        return calibrator.ask(concurrency, lambda settled: progress.update(task, advance=settled))


def _tell(calibrator: Calibrator, folder: RunFolder, calls: Calls, false_alarms: float) -> int:
    click.echo(
        f"calibration {folder.run_id}: {calls.asked} prompts asked, {calls.answered} answered; "
        f"{calls.reused} answers reused; {calls.seconds:g} s"
    )
    calibration = calibrator.calibrate(false_alarms)
    empty = [one for one in calibration.models if one.empty]
    for one in empty:
        why = one.failure or "there are no two answers to compare"
        click.echo(f"{one.case} with {one.model}: no calibration from nothing: {why}", err=True)
    if len(empty) == len(calibration.models):
        return FAILED
    calibrator.write(calibration)
    for line in calibration_lines(calibration):
        click.echo(line)
    click.echo(f"\ncalibration: {shown_path(folder.path / 'calibration.json')}")
    click.echo(f"report: {shown_path(folder.path / 'report' / 'calibration.html')}")
    return FAILED if empty else OK
