"""What pools of a size find of a model, from the noise of its answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

from caffe_pytest.oracles.gap import LEVEL, Criterion
from caffe_pytest.oracles.pool import Pool
from caffe_pytest.oracles.power import Noise, corrected_level, measure_noise, pooled_noise
from caffe_pytest.oracles.questions import MeanDifference, SimilarityGap
from caffe_pytest.reporting.calibration import PoolPower, QuestionPower, Size
from caffe_pytest.services.criteria import Asked
from caffe_pytest.services.pools import Examined, PoolAnswer, Reading, examine_pool

SIZES = (6, 12, 24, 48, 96)
ANSWERS = (2, 3, 5)


@dataclass(frozen=True, slots=True)
class Planned:
    """The pools that a test case will have."""

    prompts: int
    """Prompt pairs of the smallest."""
    repeats: int
    """Answers to each prompt."""
    pools: int
    """Of the run."""
    level: float
    """Of the run: it is corrected for questions and pools."""


def pool_power(
    planned: Planned, pools: Sequence[Sequence[PoolAnswer]], asked: Sequence[Asked], repeats: int
) -> PoolPower:
    """What the planned pools find, from the answers of `pools`, each prompt asked `repeats` times.

    Raises CaffeError where a metric breaks.
    """
    examined = [
        (Reading(answers).pool, examine_pool(answers, asked, level=LEVEL)) for answers in pools
    ]
    problems = tuple(dict.fromkeys(one.problem for _, one in examined if one.problem))
    usable = [(pool, one) for pool, one in examined if not one.problem]
    questions = max((len(one.measured) for _, one in usable), default=1)
    corrected = corrected_level(planned.level, questions, planned.pools)
    controls = [one.control for _, one in usable if one.control is not None]
    return PoolPower(
        pools=planned.pools,
        prompts=planned.prompts,
        answers=planned.repeats,
        level=planned.level,
        corrected_level=corrected,
        questions=tuple(_questions(usable, repeats, corrected, planned)),
        controls_failed=sum(control.failed for control in controls),
        controls=sum(control.judged for control in controls),
        problems=problems,
    )


def _questions(
    pools: Sequence[tuple[Pool, Examined]],
    repeats: int,
    level: float,
    planned: Planned,
) -> Iterator[QuestionPower]:
    """What is found about each question, from its noise in all the pools of a model."""
    by_name: dict[str, list[tuple[Criterion, Noise | None]]] = {}
    for pool, examined in pools:
        for measured in examined.measured:
            noise = measure_noise(pool, measured.criterion, repeats=repeats, level=level)
            by_name.setdefault(measured.criterion.name, []).append((measured.criterion, noise))
    for name, of_pools in by_name.items():
        criterion = of_pools[0][0]
        noises = [noise for _, noise in of_pools if noise is not None]
        noise = pooled_noise(noises) if noises else None
        needed = noise.prompts_needed(criterion.margin, planned.repeats, level) if noise else None
        yield QuestionPower(
            question=name,
            of_similarity=isinstance(criterion.question, SimilarityGap),
            scale=_scale(criterion),
            spread=round(noise.spread, 6) if noise else None,
            compared=noise.compared if noise else 0,
            margin=criterion.margin,
            smallest=_smallest(noise, planned.prompts, planned.repeats, level),
            prompts_needed=needed,
            sizes=tuple(
                Size(prompts=size, answers=answers, smallest=_smallest(noise, size, answers, level))
                for size, answers in product(SIZES, ANSWERS)
            ),
        )


def _smallest(noise: Noise | None, prompts: int, repeats: int, level: float) -> float | None:
    smallest = noise.smallest(prompts, repeats, level) if noise else None
    return None if smallest is None else round(smallest, 6)


def _scale(criterion: Criterion) -> Literal["share", "number", "relative"]:
    question = criterion.question
    if isinstance(question, MeanDifference) and question.of_logarithms:
        return "relative"
    return "share" if criterion.of_shares else "number"
