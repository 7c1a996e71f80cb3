"""`caffe validate`."""

from __future__ import annotations

from pathlib import Path

import click

from caffe_pytest.cli import NOTHING_TO_RUN, OK, USAGE
from caffe_pytest.services.discover import planner_for
from caffe_pytest.services.validate import validate


@click.command("validate")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
def command(paths: tuple[Path, ...]) -> int:
    """Check test cases without asking any model.

    PATHS are files and folders; without any, the working folder. Every problem is printed with
    its place and what to do about it. Exit code 0: all is well; 4: there are problems; 5: no test
    cases.
    """
    planner, files = planner_for(paths or (Path(),))
    checked = validate(planner, files)
    for note in checked.notes:
        click.echo(f"note: {note}")
    for problem in checked.problems:
        click.echo(str(problem), err=True)
    if checked.problems:
        click.echo(f"{_count(len(checked.problems), 'problem')} in {_files(files)}", err=True)
        return USAGE
    if not files:
        click.echo("no *.fairness.yaml file here; `caffe init` writes a first one", err=True)
        return NOTHING_TO_RUN
    for plan in checked.plans:
        models = ", ".join(model.alias for model in plan.case.environment.models)
        items = len(plan.design.slots) * len(plan.case.environment.models)
        click.echo(f"{plan.case.id}: {_count(items, 'item')} ({plan.intent.name}; {models})")
    click.echo(f"{_count(len(checked.plans), 'test case')} in {_files(files)}: all well")
    return OK


def _files(files: list[Path]) -> str:
    return _count(len(files), "file")


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
