"""Checks test cases without asking anything."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from caffe_pytest.design.pairs import make_pair
from caffe_pytest.errors import CaffeError, Problem, ProblemsFound
from caffe_pytest.reporting.text import shown_path
from caffe_pytest.services.plan import CasePlan, Planner, problem_of_intent


@dataclass(frozen=True)
class Checked:
    """What the check of some files brought to light."""

    plans: tuple[CasePlan, ...]
    problems: tuple[Problem, ...]
    notes: tuple[str, ...]


def validate(planner: Planner, files: Iterable[Path]) -> Checked:
    """Plan every test case of the files, make every prompt, and gather all problems."""
    plans: list[CasePlan] = []
    problems: list[Problem] = []
    for file in files:
        try:
            of_file = planner.plan_file(file, shown_path(file))
        except ProblemsFound as found:
            problems += found.problems
            continue
        plans += of_file
        problems += [problem for plan in of_file for problem in _not_counterfactual(plan)]
    notes = tuple(note for plan in plans for note in plan.notes)
    return Checked(tuple(plans), tuple(dict.fromkeys(problems)), notes)


def _not_counterfactual(plan: CasePlan) -> list[Problem]:
    """The first prompt pair of the test case that differs in more than the group, if any does."""
    for slot in plan.design.slots:
        try:
            make_pair(slot, plan.intent, plan.case.prompts.seed)
        except CaffeError as error:
            return [problem_of_intent(plan.loaded, error)]
    return []
