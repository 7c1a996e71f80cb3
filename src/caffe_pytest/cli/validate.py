"""`caffe validate`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from caffe_pytest.cli import NOTHING_TO_RUN, OK, USAGE
from caffe_pytest.model.test_case import Gap
from caffe_pytest.oracles.power import Detectable, corrected_level, detectable
from caffe_pytest.services.discover import planner_for
from caffe_pytest.services.plan import CasePlan
from caffe_pytest.services.validate import validate


@click.command("validate")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
def command(paths: tuple[Path, ...]) -> int:
    """Check test cases without asking any model.

    PATHS are files and folders; without any, the working folder. Every problem is printed with
    its place and what to do about it. Of pools, the smallest differences are told that they find
    four times of five, at their level corrected for the questions and pools of all the files. Exit
    code 0: all is well; 4: there are problems; 5: no test cases.
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
    pools = sum(_items(plan) for plan in checked.plans if plan.metric is None)
    for plan in checked.plans:
        models = ", ".join(model.alias for model in plan.case.environment.models)
        items = _count(_items(plan), "item")
        click.echo(f"{plan.case.id}: {items} ({plan.intent.name}; {models})")
        if plan.metric is None:
            click.echo(f"{plan.case.id}: {_what_pools_find(plan, pools)}")
    click.echo(f"{_count(len(checked.plans), 'test case')} in {_files(files)}: all well")
    return OK


def _items(plan: CasePlan) -> int:
    return len(plan.items) * len(plan.case.environment.models)


def _what_pools_find(plan: CasePlan, pools_of_run: int) -> str:
    """Size and cost of the pools of a test case, and the smallest differences they find."""
    sizes = sorted({len(slots) for _, slots in plan.items})
    procedures = list(plan.procedures_for(plan.case.environment.models[0]))
    prompts = sum(procedure.prompts for procedure in procedures)
    shown = str(sizes[0]) if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
    asked = (
        f"{_count(len(plan.items), 'pool')} of {shown} prompt pairs x {plan.case.repeats} answers "
        f"({prompts:,} prompts a model)"
    )
    expected = plan.case.expected_fairness
    assert isinstance(expected, Gap)
    level = corrected_level(expected.level, _questions(plan), pools_of_run)
    found = detectable(sizes[0], plan.case.repeats, level)
    told = [*_told_of_shares(plan, found), *_told_of_means(plan, found)]
    if not told:
        return f"{asked}: what it finds, `caffe calibrate` measures"
    where = "" if len(sizes) == 1 else " in the smallest"
    return f"{asked}: finds{where} {', and '.join(told)}"


def _questions(plan: CasePlan) -> int:
    """Of each pool; of more than two labels each is one."""
    return sum(len(one.labels) if len(one.labels) > 2 else 1 for one in plan.asked)


def _told_of_shares(plan: CasePlan, found: Detectable) -> Iterator[str]:
    names = [
        one.name
        for one in plan.asked
        if one.kind == "label" or (one.measure is not None and one.measure.scale == "share")
    ]
    if names and found.share is not None:
        yield f"from a gap of {100 * found.share:.0f} points in {' or '.join(names)}"
    elif names:
        yield f"no gap in {' or '.join(names)}, however large"


def _told_of_means(plan: CasePlan, found: Detectable) -> Iterator[str]:
    measures = [one.measure for one in plan.asked if one.measure is not None]
    names = [one.name for one in measures if one.scale != "share"]
    if names and found.mean_in_sd is not None:
        yield f"from {found.mean_in_sd:.1f} standard deviations in {' or '.join(names)}"
    elif names:
        yield f"no difference in {' or '.join(names)}, however large"


def _files(files: list[Path]) -> str:
    return _count(len(files), "file")


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
