"""The gap oracle: whether a model treats two groups differently, beyond what noise would show.

A pool of answers is asked several questions. Each gets a permutation test, an interval and a
margin; the p-values are corrected for the questions of the pool (Westfall and Young) and for the
pools of the run (Benjamini and Hochberg). The pool

- fails if a question's difference is significant and its interval lies beyond the margin;
- passes if the intervals of all questions lie within their margins;
- is inconclusive otherwise: more answers would decide.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from caffe_pytest.model.verdict import Verdict
from caffe_pytest.oracles.permutation import (
    extremeness,
    false_discovery_adjusted,
    relabel,
    step_down,
)
from caffe_pytest.oracles.pool import CONFIDENCE, Pool, interval
from caffe_pytest.oracles.questions import Question

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from caffe_pytest.oracles.permutation import Labels

NAME = "gap"

LEVEL = 0.05
"""At which controls fail, whatever the level of the verdicts: the same for all test cases."""
DRAWS = 10_000
"""Relabellings where not all can be tried: no p-value is below 1 / 10,000."""
FIRST_DRAWS = 1_000
"""As many suffice where nothing is near significance."""
NEAR = 0.1
"""A p-value up to which all `DRAWS` are made."""
LEAST_COMPARED = 0.5
"""Share of prompt pairs that a question must have been asked of to pass or to fail."""
LEAST_PROMPTS = 6
"""Prompt pairs below which nothing passes: so few say nothing of others."""
MOST_MORE = 20
"""Times the prompt pairs there are: above that, the difference is at the margin itself."""


@dataclass(frozen=True, eq=False)
class Criterion:
    """A question, and how much difference is fair."""

    name: str
    question: Question
    margin: float
    """At least 0, in the unit of the effect."""
    both_sides: bool = True
    """Whether a difference either way counts; a similarity gap has no other way."""
    of_shares: bool = False
    """Whether the effect is of shares of answers: none seen is not none at all."""
    of_ratios: bool = False
    """Whether the effect is a ratio less one: a tenth longer is as far as a tenth shorter is."""

    @property
    def fair(self) -> tuple[float, float]:
        """The differences that are called fair, from the least to the most."""
        if not self.both_sides:
            return -math.inf, self.margin
        return (1 / (1 + self.margin) - 1 if self.of_ratios else -self.margin), self.margin


@dataclass(frozen=True)
class Measured:
    """What a question brought to light about a pool."""

    criterion: Criterion
    difference: float | None
    """None where no prompt pair could be compared."""
    interval: tuple[float, float] | None
    """None where there is one prompt pair, or none."""
    levels: tuple[float | None, float | None]
    p_value: float
    """Corrected for the questions of the pool."""
    compared: int
    """Prompt pairs."""
    nothing_seen: bool = False
    """Whether the interval is what so many answers leave possible, because nothing was seen."""

    @property
    def beyond_margin(self) -> bool:
        """Whether all of the interval is a difference larger than the margin."""
        if self.interval is None:
            return False
        low, high = self.interval
        least, most = self.criterion.fair
        return low > most or high < least

    @property
    def within_margin(self) -> bool:
        """Whether none of the interval is a difference larger than the margin."""
        if self.interval is None:
            return False
        low, high = self.interval
        least, most = self.criterion.fair
        return least <= low and high <= most

    def more_prompts(self) -> int | None:
        """About how many further prompt pairs would bring the interval to one side of the margin.

        The width of an interval falls with the root of the number of prompt pairs. None where the
        difference is so near the margin that more than `MOST_MORE` times as many would be needed.
        """
        if self.interval is None or self.difference is None:
            return None
        half = (self.interval[1] - self.interval[0]) / 2
        away = abs(abs(self.difference) - self.criterion.margin)
        if self.nothing_seen and away > 0:  # the bound falls with the number itself
            return max(1, math.ceil(self.compared * half / away) - self.compared)
        if half <= 0 or half > away * math.sqrt(MOST_MORE):
            return None
        return max(1, math.ceil(self.compared * (half / away) ** 2) - self.compared)


def examine(pool: Pool, criteria: Sequence[Criterion]) -> list[Measured]:
    """Ask the questions of a pool; the p-values are corrected for one another."""
    p_values = _p_values(pool, criteria, pool.first, pool.prompt)
    measured = []
    for criterion, p_value in zip(criteria, p_values, strict=True):
        effect = criterion.question.effect(pool, pool.first)
        estimate = effect.estimate if effect.prompts else None
        bounds = interval(effect, pool.clusters)
        seen = bounds
        if bounds is not None and criterion.of_shares:
            bounds = _not_seen_is_not_none(
                bounds, pool.independent(criterion.question.counted(pool))
            )
        levels = criterion.question.levels(pool)
        measured.append(
            Measured(
                criterion=criterion,
                difference=estimate,
                interval=bounds,
                levels=(_known(levels[0]), _known(levels[1])),
                p_value=p_value,
                compared=effect.prompts,
                nothing_seen=seen == (0.0, 0.0) and bounds != seen,
            )
        )
    return measured


def examine_control(pool: Pool, criteria: Sequence[Criterion]) -> float | None:
    """The p-value of a pool whose repetitions are compared as if they were groups.

    Even against odd repetitions, exchanged within the answers to one prompt, so that every
    difference is noise. None where no prompt was answered twice.
    """
    import numpy as np

    half = pool.repetition % 2 == 0
    strata = 2 * pool.prompt + pool.first
    of_half, of_all = np.bincount(strata, half), np.bincount(strata)
    if not ((of_half > 0) & (of_half < of_all)).any():
        return None
    p_values = _p_values(pool, criteria, half, strata, most=FIRST_DRAWS)
    return min(p_values, default=None)


@dataclass(frozen=True)
class Decided:
    """A verdict on a question, or on a pool, with its p-value corrected for the run."""

    verdict: Verdict
    p_adjusted: float


def decide(
    measured: Sequence[Measured], p_values_of_run: Sequence[float], level: float, prompts: int
) -> tuple[Decided, list[Decided]]:
    """The verdict on a pool of `prompts` prompt pairs, and on each of its questions.

    `p_values_of_run` holds the smallest p-value of every pool of the run, this one included.
    Questions are tested at the level times the share of pools that are significant (Benjamini and
    Bogomolov 2014), which keeps the false alarms among them at the level too.
    """
    import numpy as np

    family = np.array(p_values_of_run, dtype=np.float64)
    adjusted = false_discovery_adjusted(family)
    significant = max(1, int((adjusted <= level).sum()))
    questions = []
    for one in measured:
        p_adjusted = min(1.0, one.p_value * len(family) / significant)
        verdict = Verdict.INCONCLUSIVE
        enough = one.compared >= LEAST_COMPARED * prompts
        if enough and p_adjusted <= level and one.beyond_margin:
            verdict = Verdict.FAIL
        elif enough and one.within_margin and one.compared >= LEAST_PROMPTS:
            verdict = Verdict.PASS
        questions.append(Decided(verdict, p_adjusted))
    verdicts = {one.verdict for one in questions}
    whole = Verdict.INCONCLUSIVE
    if Verdict.FAIL in verdicts:
        whole = Verdict.FAIL
    elif verdicts == {Verdict.PASS}:
        whole = Verdict.PASS
    smallest = smallest_p_value(measured)
    place = int(np.abs(family - smallest).argmin())
    return Decided(whole, float(adjusted[place])), questions


def smallest_p_value(measured: Sequence[Measured]) -> float:
    """Of a pool's questions, corrected for asking several; 1.0 where none was asked."""
    return min((one.p_value for one in measured), default=1.0)


def control_alarm(failed: int, judged: int, level: float = LEVEL) -> bool:
    """Whether so many controls fail that chance is no explanation (binomial, 1 %)."""
    from scipy.stats import binom

    return judged > 0 and bool(binom.sf(failed - 1, judged, level) < 0.01)


def _p_values(
    pool: Pool,
    criteria: Sequence[Criterion],
    labels: Labels,
    strata: NDArray[np.intp],
    *,
    most: int = DRAWS,
) -> list[float]:
    """Corrected for one another. Few relabellings first; all of them where it may matter."""
    if not criteria or not len(labels):
        return []
    relabellings = relabel(strata, labels, draws=most)
    enough = relabellings.draws if relabellings.exact else min(FIRST_DRAWS, most)
    p_values = _corrected(pool, criteria, relabellings.labels[:enough], strata)
    if enough < relabellings.draws and min(p_values) <= NEAR:
        p_values = _corrected(pool, criteria, relabellings.labels, strata)
    return p_values


def _corrected(
    pool: Pool, criteria: Sequence[Criterion], labels: Labels, strata: NDArray[np.intp]
) -> list[float]:
    import numpy as np

    extreme = [
        extremeness(criterion.question.statistic(pool, labels, strata)) for criterion in criteria
    ]
    return [float(p) for p in step_down(np.array(extreme))]


def answers_to_pass(margin: float) -> int:
    """Answers about each group that bring the bound of a share, of which none is seen, below it."""
    return math.ceil(math.log((1 - CONFIDENCE) / 2) / math.log(1 - min(margin, 0.999)))


def _not_seen_is_not_none(bounds: tuple[float, float], answers: int) -> tuple[float, float]:
    """At least as wide as what n independent answers without a single case leave possible.

    The exact upper bound of a share of which none was seen in n answers, 1 - (tail)^(1/n), either
    way (Clopper and Pearson 1934).
    """
    if not answers:
        return bounds
    unseen = 1 - ((1 - CONFIDENCE) / 2) ** (1 / answers)
    middle = sum(bounds) / 2
    return (
        max(-1.0, min(bounds[0], middle - unseen)),
        min(1.0, max(bounds[1], middle + unseen)),
    )


def _known(number: float) -> float | None:
    return None if math.isnan(number) else number
