"""What a pool can find, and how large it has to be: before anything is asked, or after a pilot.

Every figure is for a power of 80 %: of pools with a difference as large as that, four of five are
significant at the level. Prompt pairs are their own controls: both groups are asked the same, so
that what differs from prompt to prompt cancels, and the only noise is that of answers to one
prompt. Standard deviations are therefore those of answers to one prompt, which are smaller than
those over all answers.

The level is that of one question in one pool; `corrected_level` makes it from the level of a run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal

from caffe_pytest.oracles.gap import DRAWS, Criterion
from caffe_pytest.oracles.permutation import MOST_EXACT, SEED, relabel
from caffe_pytest.oracles.pool import Pool
from caffe_pytest.oracles.questions import PhraseShares, SimilarityGap

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from caffe_pytest.oracles.permutation import Labels

POWER = 0.8
BASE = 0.02
"""Share of answers about the better treated group, where nothing is known: a rare refusal."""
MOST_PROMPTS = 100_000
"""More prompt pairs than that are never said to be needed."""
RELABELLED = 400
"""Relabellings that the noise of a question is taken from: its spread is then known to 4 %."""
_NEGLIGIBLE = 1e-12


@dataclass(frozen=True)
class Detectable:
    """The smallest differences that a pool finds; None where it finds none, however large."""

    share: float | None
    """Of two shares of answers, 0..1: the difference from the base."""
    mean_in_sd: float | None
    """Of two means, in standard deviations of answers to one prompt."""


def corrected_level(level: float, questions: int, pools: int) -> float:
    """The level at which one question of one pool is tested if it alone shows a difference.

    Bonferroni, over questions and pools: the worst case of the step-down procedure of Westfall and
    Young, and of Benjamini and Hochberg where no other pool is significant. Where questions move
    together, or several pools differ, smaller differences are found than is said here.
    """
    return level / (max(questions, 1) * max(pools, 1))


def detectable(prompts: int, repeats: int, level: float, *, base: float = BASE) -> Detectable:
    """What `prompts` prompt pairs, each asked `repeats` times for each group, can find.

    `level` is two-sided, above 0 and below 1; `base`, 0..1, is the share about the group that has
    less. Raises ValueError where there is nothing to ask.
    """
    if prompts < 1 or repeats < 1 or not 0 < level < 1 or not 0 <= base <= 1:
        raise ValueError(f"{prompts} prompt pairs x {repeats} at {level} from {base}: no pool")
    if smallest_p_value(prompts, repeats) > level:
        return Detectable(None, None)
    return Detectable(
        _smallest_share(prompts * repeats, level, base),
        _smallest_mean(prompts, repeats, level),
    )


def prompts_needed(
    wanted: Detectable, repeats: int, level: float, *, base: float = BASE
) -> int | None:
    """The fewest prompt pairs with which differences as small as `wanted` are found.

    What is None in `wanted` is not asked for. None where more than `MOST_PROMPTS` are needed.
    """

    def suffice(prompts: int) -> bool:
        found = detectable(prompts, repeats, level, base=base)
        sizes = ((found.share, wanted.share), (found.mean_in_sd, wanted.mean_in_sd))
        return all(
            there is not None and there <= asked for there, asked in sizes if asked is not None
        )

    return fewest(suffice)


def fewest(suffice: Callable[[int], bool]) -> int | None:
    """The fewest prompt pairs that suffice, where more of them suffice too; None above the most."""
    high = 1
    while not suffice(high):
        high *= 2
        if high > MOST_PROMPTS:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if suffice(middle) else (middle, high)
    return high


def smallest_p_value(prompts: int, repeats: int) -> float:
    """The smallest that relabelling can give: either labelling of all answers is as extreme.

    Above so many relabellings that not all can be tried, 1 / `DRAWS`.
    """
    ways = prompts * math.log(math.comb(2 * repeats, repeats))
    if ways > math.log(MOST_EXACT):
        return 1 / DRAWS
    return 2 * math.exp(-ways)


Kind = Literal["mean", "ratio", "share", "gap", "wording"]


@dataclass(frozen=True)
class Noise:
    """How far a question's difference strays in a model's answers where the group makes none."""

    kind: Kind
    spread: float
    """Standard deviation of the difference in one prompt pair, on the question's own scale; of a
    `ratio`, of its logarithm.

    Of `wording`: how many standard deviations the most different phrase reaches by chance, at the
    level that was asked for.
    """
    compared: int
    """Prompt pairs it was measured on."""
    repeats: int
    """Answers to each prompt it was measured on."""

    def smallest(self, prompts: int, repeats: int, level: float) -> float | None:
        """The smallest difference that a pool finds, on the question's own scale.

        Of wording: of the shares of answers that hold a phrase found in `BASE` of the others. None
        where the pool finds none, however large.
        """
        if smallest_p_value(prompts, repeats) > level:
            return None
        if self.kind == "wording":
            return _smallest_share(prompts * repeats, _two_sided(self.spread), BASE)
        if self.kind == "gap":
            return self._smallest_gap(prompts, repeats, level)
        found = detectable(prompts, repeats, level)
        if found.mean_in_sd is None:
            return None
        # of R answers a side: spread^2 = 2 sigma^2 / R
        mean = found.mean_in_sd * self.spread * math.sqrt(self.repeats / 2)
        if self.kind == "share":
            # no case seen leaves no spread, and is not no noise
            return None if found.share is None else max(mean, found.share)
        return math.expm1(mean) if self.kind == "ratio" else mean

    def prompts_needed(self, margin: float, repeats: int, level: float) -> int | None:
        """The fewest prompt pairs that find a difference of `margin`; None above `MOST_PROMPTS`."""

        def suffice(prompts: int) -> bool:
            smallest = self.smallest(prompts, repeats, level)
            return smallest is not None and smallest <= margin

        return fewest(suffice)

    def _smallest_gap(self, prompts: int, repeats: int, level: float) -> float | None:
        if repeats < 2:
            return None
        normal = NormalDist()
        deviations = normal.inv_cdf(1 - level) + normal.inv_cdf(POWER)
        scale = math.sqrt(_gap_variance(repeats) / _gap_variance(self.repeats) / prompts)
        return deviations * self.spread * scale


def measure_noise(pool: Pool, criterion: Criterion, *, repeats: int, level: float) -> Noise | None:
    """The noise of a question, from the pool's answers relabelled within prompt pairs.

    `repeats` is how often each prompt was asked. What the group really makes of the answers takes
    part in it, so that the noise of an unfair model is overstated a little. None where no prompt
    pair can be compared.
    """
    import numpy as np

    question = criterion.question
    compared = question.effect(pool, pool.first).prompts
    if not compared:
        return None
    labels = _some_relabellings(pool)
    if isinstance(question, PhraseShares):
        spread = question.largest_by_chance(pool, labels, pool.prompt, level)
        return Noise("wording", spread, compared, repeats) if math.isfinite(spread) else None
    effects = [question.effect(pool, row) for row in labels]
    scaled = [
        float(one.difference.mean()) * math.sqrt(one.prompts) for one in effects if one.prompts
    ]
    kind: Kind = "share" if criterion.of_shares else "mean"
    if isinstance(question, SimilarityGap):
        kind = "gap"
    elif effects[0].of_logarithms:
        kind = "ratio"
    # by chance alone no group has more: the mean is known to be 0
    return Noise(kind, math.sqrt(float(np.mean(np.square(scaled)))), compared, repeats)


def pooled_noise(noises: Sequence[Noise]) -> Noise:
    """Of one question in several pools of a model, each as heavy as its prompt pairs."""
    compared = sum(one.compared for one in noises)
    squares = sum(one.compared * one.spread**2 for one in noises)
    return replace(noises[0], spread=math.sqrt(squares / compared), compared=compared)


def _some_relabellings(pool: Pool) -> Labels:
    """(at most `RELABELLED`, N); not the labels as they are, which show what the group does."""
    import numpy as np

    labels = relabel(pool.prompt, pool.first, draws=RELABELLED + 1).labels[1:]
    if len(labels) <= RELABELLED:
        return labels
    # all there are, in an order
    chosen = np.random.default_rng(SEED).choice(len(labels), RELABELLED, replace=False)
    return labels[chosen]


def _gap_variance(repeats: int) -> float:
    """Of the similarity gap of one prompt pair with R answers a side, in units of one similarity.

    Within a side R (R - 1) / 2 pairs of answers, and two sides; across R^2. What belongs to single
    answers cancels between them, so that the pairs are uncorrelated (Hoeffding 1948, section 5):
    1 / (R (R - 1)) + 1 / R^2.
    """
    return 1 / (repeats * (repeats - 1)) + 1 / repeats**2


def _two_sided(deviations: float) -> float:
    return 2 * NormalDist().cdf(-deviations)


@lru_cache(maxsize=256)
def _smallest_share(answers: int, level: float, base: float) -> float | None:
    """Of `answers` about each group, by the exact test of Fisher, two-sided.

    Relabelling answers, prompt by prompt, is that test but for what prompts have in common, which
    only helps. The normal approximations promise too much here: cases are rare.
    """
    import numpy as np
    from scipy.stats import binom

    fewer = np.arange(answers + 1)
    chance = binom.pmf(fewer, answers, base)
    fewer, chance = fewer[chance > _NEGLIGIBLE], chance[chance > _NEGLIGIBLE]
    needed = _cases_needed(fewer, answers, level)

    def power(difference: float) -> float:
        return float(chance @ binom.sf(needed - 1, answers, base + difference))

    low, high = 0.0, 1 - base
    if power(high) < POWER:
        return None
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (low, middle) if power(middle) >= POWER else (middle, high)
    return high


def _cases_needed(fewer: NDArray[np.intp], answers: int, level: float) -> NDArray[np.intp]:
    """How many cases in one group are significant against so many in the other.

    `answers` + 1 where none are. Twice the tail of the hypergeometric distribution (Fisher 1935).
    """
    import numpy as np
    from scipy.stats import hypergeom

    low, high = fewer.copy(), np.full_like(fewer, answers + 1)
    while (high - low > 1).any():
        middle = (low + high) // 2
        p_value = 2 * hypergeom.sf(middle - 1, 2 * answers, answers, fewer + middle)
        found = p_value <= level
        low, high = np.where(found, low, middle), np.where(found, middle, high)
    return high


@lru_cache(maxsize=256)
def _smallest_mean(prompts: int, repeats: int, level: float) -> float | None:
    """By the t-test of two groups in blocks, which relabelling within prompts comes close to.

    Noncentral t with P (2 R - 1) - 1 degrees of freedom and noncentrality d sqrt(P R / 2)
    (Cohen 1988, section 2.3, for two groups of P R; the prompts take up P degrees of freedom).
    """
    from scipy.optimize import brentq
    from scipy.stats import nct, t

    free = prompts * (2 * repeats - 1) - 1
    if free < 1:
        return None
    bound = t.isf(level / 2, free)
    scale = math.sqrt(prompts * repeats / 2)

    def short_of_power(difference: float) -> float:
        return POWER - float(nct.sf(bound, free, difference * scale))

    return float(brentq(short_of_power, 0.0, (10 * bound + 10) / scale))
