"""Which threshold holds a false alarm rate, learnt from the same prompt asked twice.

Two answers to one prompt (A/A) differ by chance alone: what fails of them is a false alarm. Two
answers to the prompts of a pair (A/B) differ by chance and by group. A threshold is worth something
where far more A/B than A/A pairs fail. Pairs of answers to one prompt pair are not independent:
intervals resample whole prompt pairs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from caffe_pytest.oracles.permutation import SEED
from caffe_pytest.oracles.pool import CONFIDENCE, RESAMPLES

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from caffe_pytest.oracles.permutation import Labels, Numbers

_AT_ONCE = 2_000_000
"""Numbers held together while resampling: bounds the memory."""


@dataclass(frozen=True, eq=False)
class Scores:
    """Similarities of n pairs of answers, the smallest first."""

    values: Numbers
    """(n,), without NaN."""
    prompt: NDArray[np.intp]
    """(n,): the number of the prompt pair, from 0."""

    @classmethod
    def of(cls, values: Numbers, prompt: NDArray[np.intp]) -> Scores:
        """Of pairs in any order; NaN, which is no score, is left out."""
        import numpy as np

        known = np.flatnonzero(~np.isnan(values))
        order = known[np.lexsort((prompt[known], values[known]))]
        return cls(values[order], prompt[order])

    def __len__(self) -> int:
        return len(self.values)

    def below(self, threshold: float) -> float:
        """Share of the pairs that fail at `threshold`; NaN where there are none."""
        import numpy as np

        if not len(self):
            return float("nan")
        return float(np.searchsorted(self.values, threshold, side="left")) / len(self)


def threshold_for(scores: Scores, rate: float) -> float:
    """The largest threshold at which no more than a share `rate` of the pairs fail.

    It is itself a score: the smallest of those that have to pass. NaN where there are no scores.
    """
    if not len(scores):
        return float("nan")
    # a share of 0.29 of 100 is 29 pairs, though 0.29 * 100 is a little less
    allowed = min(math.floor(rate * len(scores) + 1e-9), len(scores) - 1)
    return float(scores.values[allowed])


def threshold_interval(scores: Scores, rate: float) -> tuple[float, float] | None:
    """95 % bootstrap interval of `threshold_for`, resampling prompt pairs; None below two."""
    import numpy as np

    def thresholds(weights: NDArray[np.intp]) -> Numbers:
        passed = weights.cumsum(axis=1)
        allowed = np.floor(rate * passed[:, -1:] + 1e-9)
        place = np.minimum((passed <= allowed).sum(axis=1), len(scores) - 1)
        chosen: Numbers = scores.values[place]
        return chosen

    return _interval(scores, thresholds)


def share_interval(scores: Scores, threshold: float) -> tuple[float, float] | None:
    """95 % bootstrap interval of `Scores.below`, resampling prompt pairs; None below two."""
    failed: Labels = scores.values < threshold

    def shares(weights: NDArray[np.intp]) -> Numbers:
        share: Numbers = weights @ failed / weights.sum(axis=1)
        return share

    return _interval(scores, shares)


def _interval(
    scores: Scores, statistic: Callable[[NDArray[np.intp]], Numbers]
) -> tuple[float, float] | None:
    """Percentiles of a statistic of (resamples, n) weights: how often each pair was drawn."""
    import numpy as np

    _, place = np.unique(scores.prompt, return_inverse=True)
    count = int(place.max(initial=-1)) + 1
    if count < 2:
        return None
    random = np.random.default_rng(SEED)
    at_once = max(1, _AT_ONCE // len(scores))
    parts = []
    for start in range(0, RESAMPLES, at_once):
        draws = min(at_once, RESAMPLES - start)
        drawn = random.multinomial(count, np.full(count, 1 / count), size=draws)
        parts.append(statistic(drawn[:, place]))
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(np.concatenate(parts), [tail, 1 - tail])
    return float(low), float(high)


def area_under_curve(same: Scores, different: Scores) -> float:
    """How often a pair of the same prompt is more alike than one of two groups; a tie is half.

    0.5 = the scores cannot tell asking again from changing the group, 1.0 = they always can. The
    area under the curve of detections over false alarms (Hanley and McNeil 1982). NaN without both.
    """
    import numpy as np

    if not len(same) or not len(different):
        return float("nan")
    lower = np.searchsorted(different.values, same.values, side="left")
    not_higher = np.searchsorted(different.values, same.values, side="right")
    return float((lower + not_higher).mean()) / 2 / len(different)
