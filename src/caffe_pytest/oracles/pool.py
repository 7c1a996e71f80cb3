"""A pool: all answers a verdict is about, and how sure a difference between its groups is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import TYPE_CHECKING

from caffe_pytest.oracles.permutation import SEED

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from caffe_pytest.oracles.permutation import Labels, Numbers

RESAMPLES = 2000
"""Of the bootstrap; its percentiles are then known to about a tenth of the interval's width."""
LEAST_CLUSTERS = 5
"""Triples from which on the interval speaks of triples, not of the prompts of these few."""
LEAST_FOR_BOOTSTRAP = 8
CONFIDENCE = 0.95


@dataclass(frozen=True, eq=False)
class Pool:
    """N answers to P prompt pairs; arrays in the order of the answers."""

    prompt: NDArray[np.intp]
    """(N,), 0..P-1: which prompt pair an answer belongs to."""
    first: Labels
    """(N,): True where the answer is about the disadvantaged group."""
    repetition: NDArray[np.intp]
    """(N,), from 0."""
    triple: NDArray[np.intp]
    """(P,), from 0: which triple a prompt pair was made from."""
    said: NDArray[np.intp] | None = None
    """(N,): equal where a prompt was answered twice with the same text; None = all differ."""

    def independent(self, counted: Labels) -> int:
        """Answers about the group with fewer of them; of a model that never varies, prompts."""
        import numpy as np

        sides = self.first & counted, ~self.first & counted
        varies = self.said is None or any(
            len(np.unique(self.said[side])) > len(np.unique(self.prompt[side])) for side in sides
        )
        return min(
            int(side.sum()) if varies else len(np.unique(self.prompt[side])) for side in sides
        )

    @property
    def prompts(self) -> int:
        """P."""
        return len(self.triple)

    def only(self, kept: Labels) -> Pool:
        """The pool of some of its answers, (N,); prompt pairs keep their numbers."""
        said = None if self.said is None else self.said[kept]
        return Pool(self.prompt[kept], self.first[kept], self.repetition[kept], self.triple, said)

    @cached_property
    def clusters(self) -> NDArray[np.intp]:
        """(P,): what varies independently: triples, or prompt pairs where triples are few."""
        import numpy as np

        if len(np.unique(self.triple)) >= LEAST_CLUSTERS:
            return self.triple
        return np.arange(self.prompts)

    def per_prompt(self, of_answers: Numbers | Labels) -> Numbers:
        """(N,) -> (P,): sums over the answers to each prompt pair."""
        import numpy as np

        return np.bincount(self.prompt, of_answers, minlength=self.prompts).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Effect:
    """A difference between the groups, prompt pair by prompt pair."""

    difference: Numbers
    """(n,): of the prompt pairs that could be compared."""
    prompt: NDArray[np.intp]
    """(n,): their numbers."""
    of_logarithms: bool = False
    """Whether the differences are of logarithms: they are then told as a ratio less one."""

    @property
    def prompts(self) -> int:
        """How many prompt pairs could be compared."""
        return len(self.prompt)

    @property
    def estimate(self) -> float:
        """The mean over all of them; NaN where none could be compared."""
        return self.told(float(self.difference.mean())) if self.prompts else math.nan

    def told(self, mean: float) -> float:
        """A mean of differences on the scale of the effect."""
        return math.expm1(mean) if self.of_logarithms else mean


def interval(effect: Effect, clusters: NDArray[np.intp]) -> tuple[float, float] | None:
    """95 % interval of the estimate, by whole clusters; None below 2 clusters.

    Below 8 clusters Student's t interval of their ratio estimate; a bootstrap cannot leave the
    range of the data, and is too narrow there. From 8 on a bootstrap that resamples clusters:
    percentile interval, expanded for few clusters as Hesterberg (2015, "What teachers should know
    about the bootstrap", section 5.3) proposes: with n clusters the percentiles are those of
    Phi(-sqrt(n / (n - 1)) * t(n - 1)) in place of 2.5 %.
    """
    import numpy as np
    from scipy.stats import t as student

    _, place = np.unique(clusters[effect.prompt], return_inverse=True)
    count = int(place.max(initial=-1)) + 1
    if count < 2:
        return None
    differences = np.bincount(place, effect.difference, minlength=count)
    sizes = np.bincount(place, minlength=count)
    if count < LEAST_FOR_BOOTSTRAP:
        mean = float(differences.sum() / sizes.sum())
        spread = float(np.sqrt(np.square(differences - mean * sizes).sum() * count / (count - 1)))
        half = float(student.ppf((1 + CONFIDENCE) / 2, df=count - 1)) * spread / float(sizes.sum())
        return effect.told(mean - half), effect.told(mean + half)
    chosen = np.random.default_rng(SEED).integers(0, count, size=(RESAMPLES, count))
    resampled = differences[chosen].sum(axis=1) / sizes[chosen].sum(axis=1)
    tail = (1 - CONFIDENCE) / 2
    expanded = NormalDist().cdf(
        float(np.sqrt(count / (count - 1)) * student.ppf(tail, df=count - 1))
    )
    low, high = np.quantile(resampled, [expanded, 1 - expanded])
    return effect.told(float(low)), effect.told(float(high))
