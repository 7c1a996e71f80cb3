"""What may differ between the answers about two groups, each as a statistic and as an effect.

The statistic is for the test: it is computed for the labels as they are and for every relabelling,
and is larger the more it speaks against equal treatment. The effect is for the reader, and for the
margin: the difference on a scale that means something.

An answer that a question cannot be asked of (a refusal has no tone) is missing: it changes places
like all others, and counts for nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from caffe_pytest.oracles.permutation import SEED, extremeness, relabel
from caffe_pytest.oracles.pool import Effect, Pool

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from caffe_pytest.oracles.permutation import Labels, Numbers

AT_ONCE = 1000
"""Relabellings computed together, at most: bounds the memory."""
MOST_NUMBERS = 2_000_000
"""In any array with a number for each answer and relabelling."""
FOLDS = 5
THRESHOLDS = (2.0, 2.5, 3.0, 3.5, 4.0)
"""Of |z|, from which a phrase may be taken as a sign."""
TRIALS = 200
"""Relabellings that tell how many phrases pass a threshold by chance."""
SURPRISING = 0.05


class Question(Protocol):
    """Something that may differ between the answers of a pool."""

    def statistic(self, pool: Pool, labels: Labels, strata: NDArray[np.intp]) -> Numbers:
        """(draws,) of (draws, N) labels; `strata`, (N,), says which labels were exchanged."""

    def effect(self, pool: Pool, labels: Labels) -> Effect:
        """The difference between the answers labelled True and False, (N,)."""

    def levels(self, pool: Pool) -> tuple[float, float]:
        """The two numbers whose difference the effect is; NaN where there are none."""

    def counted(self, pool: Pool) -> Labels:
        """(N,): the answers that the question was asked of."""


@dataclass(frozen=True, eq=False)
class MeanDifference:
    """One number an answer: length, tone, whether it declines.

    The statistic is the absolute difference of the means, averaged over prompt pairs.
    """

    values: Numbers
    """(N,), NaN = missing."""
    of_logarithms: bool = False
    """Whether the values are logarithms: the difference is then told as a ratio less one, and the
    levels as geometric means."""

    def statistic(self, pool: Pool, labels: Labels, strata: NDArray[np.intp]) -> Numbers:  # noqa: ARG002
        """See the class."""
        import numpy as np

        weights = _weights(pool, labels[0], self.values[:, None], ~np.isnan(self.values))[:, 0]
        statistic: Numbers = np.abs(labels @ weights)
        return statistic

    def effect(self, pool: Pool, labels: Labels) -> Effect:
        """Differences of means."""
        import numpy as np

        first, second = (self._means(pool, side) for side in (labels, ~labels))
        both = np.flatnonzero(~np.isnan(first) & ~np.isnan(second))
        return Effect((first - second)[both], both, self.of_logarithms)

    def levels(self, pool: Pool) -> tuple[float, float]:
        """Mean of either group over the prompt pairs that have both; NaN where there are none."""
        import numpy as np

        first, second = (self._means(pool, side) for side in (pool.first, ~pool.first))
        both = ~np.isnan(first) & ~np.isnan(second)
        if not both.any():
            return np.nan, np.nan
        means = float(first[both].mean()), float(second[both].mean())
        return (math.exp(means[0]), math.exp(means[1])) if self.of_logarithms else means

    def counted(self, pool: Pool) -> Labels:  # noqa: ARG002
        """Those with a value."""
        import numpy as np

        return ~np.isnan(self.values)

    def _means(self, pool: Pool, side: Labels) -> Numbers:
        """(P,): of the answers on one side; NaN where a prompt pair has none."""
        import numpy as np

        counted = side & ~np.isnan(self.values)
        counts = pool.per_prompt(counted)
        sums = pool.per_prompt(np.where(counted, self.values, 0.0))
        means: Numbers = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
        return means


@dataclass(frozen=True, eq=False)
class SimilarityGap:
    """How much more alike answers about one group are than answers about two.

    The gap of a prompt pair is the mean similarity of two answers about the same group, averaged
    over both groups, less the mean similarity of answers about different groups. A prompt pair
    takes part where each group has two answers or more.
    """

    similarities: NDArray[np.float64]
    """(P, n, n), symmetric: of the answers to each prompt pair; n is the most answers of any."""
    places: NDArray[np.intp]
    """(P, n): which of the N answers; -1 where a prompt pair has fewer, or one is missing."""

    def statistic(self, pool: Pool, labels: Labels, strata: NDArray[np.intp]) -> Numbers:  # noqa: ARG002
        """The gap, averaged over prompt pairs."""
        import numpy as np

        parts = []
        at_once = max(1, min(AT_ONCE, MOST_NUMBERS // max(1, self.places.size)))
        for start in range(0, len(labels), at_once):
            gaps = self._gaps(labels[start : start + at_once])
            there = ~np.isnan(gaps)
            parts.append(np.where(there, gaps, 0.0).sum(axis=1) / np.maximum(there.sum(axis=1), 1))
        return np.concatenate(parts)

    def effect(self, pool: Pool, labels: Labels) -> Effect:  # noqa: ARG002
        """The gap itself."""
        import numpy as np

        gaps = self._gaps(labels[None, :])[0]
        there = np.flatnonzero(~np.isnan(gaps))
        return Effect(gaps[there], there)

    def levels(self, pool: Pool) -> tuple[float, float]:
        """Mean similarity within groups and across them; NaN where nothing is comparable."""
        import numpy as np

        within, across = (part[0] for part in self._parts(pool.first[None, :]))
        there = ~np.isnan(within - across)
        if not there.any():
            return np.nan, np.nan
        return float(within[there].mean()), float(across[there].mean())

    def counted(self, pool: Pool) -> Labels:
        """Those that have a place."""
        import numpy as np

        return np.isin(np.arange(len(pool.prompt)), self.places)

    def _gaps(self, labels: Labels) -> Numbers:
        """(draws, P); NaN where a prompt pair has fewer than two answers with either label."""
        within, across = self._parts(labels)
        return within - across

    def _parts(self, labels: Labels) -> tuple[Numbers, Numbers]:
        """Mean similarity within the labels and across them, each (draws, P)."""
        import numpy as np

        there = self.places >= 0
        own = np.einsum("pii->pi", self.similarities)[:, None, :]
        first = (labels[:, self.places] & there).transpose(1, 0, 2).astype(np.float64)
        second = (~labels[:, self.places] & there).transpose(1, 0, 2).astype(np.float64)
        n, m = first.sum(axis=2), second.sum(axis=2)
        to_first, to_second = first @ self.similarities, second @ self.similarities
        with np.errstate(divide="ignore", invalid="ignore"):
            of_first = (first * (to_first - own)).sum(axis=2) / (n * (n - 1))
            of_second = (second * (to_second - own)).sum(axis=2) / (m * (m - 1))
            across = (to_first * second).sum(axis=2) / (n * m)
        enough = (n >= 2) & (m >= 2)
        within = np.where(enough, (of_first + of_second) / 2, np.nan)
        return within.T, np.where(enough, across, np.nan).T


@dataclass(frozen=True, eq=False)
class PhraseShares:
    """Which phrases stand in the answers about one group and not in those about the other.

    Each phrase has a score z: the difference of its shares of answers, averaged over prompt pairs,
    over its standard deviation under relabelling. The statistic combines the largest |z| (one
    telling phrase) with the sum of z^4 (several that each tell a little) by the smaller p-value.

    The effect is honest about having searched: signs are found on four fifths of the triples, and
    tried on the last: how much more often than not they tell which of two answers to one prompt is
    about which group (Somers' D, -1..1; 0 = no better than guessing). Signs are the phrases beyond
    that |z| which more of them pass than relabelling explains; where no number is surprising there
    are none.
    """

    holds: NDArray[np.float32]
    """(N, T): 1 where an answer holds a phrase, else 0."""
    there: Labels
    """(N,): False where an answer is missing."""

    def statistic(self, pool: Pool, labels: Labels, strata: NDArray[np.intp]) -> Numbers:
        """-log of the smaller p-value of the two."""
        import numpy as np

        if not self.holds.shape[1]:
            return np.zeros(len(labels))
        largest, total = np.empty(len(labels)), np.empty(len(labels))
        for start, scores in self._scores(pool, labels, strata):
            part = slice(start, start + len(scores))
            exact = np.round(scores, 4).astype(np.float64)  # mirror images are equally extreme
            largest[part] = np.abs(exact).max(axis=1)
            total[part] = np.square(np.square(exact)).sum(axis=1)
        smaller: Numbers = np.minimum(extremeness(largest), extremeness(total))
        return -np.log(smaller)

    def scores(self, pool: Pool, labels: Labels, strata: NDArray[np.intp]) -> Numbers:
        """(T,): z of each phrase; above 0 where it stands more often in answers labelled True."""
        _, scores = next(self._scores(pool, labels[None, :], strata))
        first: Numbers = scores[0]
        return first

    def largest_by_chance(
        self, pool: Pool, labels: Labels, strata: NDArray[np.intp], level: float
    ) -> float:
        """The |z| that the largest of all phrases exceeds in a share `level` of relabellings."""
        import numpy as np

        if not self.holds.shape[1]:
            return float("inf")
        parts = [np.abs(scores).max(axis=1) for _, scores in self._scores(pool, labels, strata)]
        return float(np.quantile(np.concatenate(parts), 1 - level))

    def shares(self, pool: Pool) -> tuple[Numbers, Numbers]:
        """(T,) twice: the share of the answers about either group that hold each phrase."""
        import numpy as np

        first, second = (
            self.holds[side & self.there].sum(axis=0, dtype=np.float64)
            / max(int((side & self.there).sum()), 1)
            for side in (pool.first, ~pool.first)
        )
        return first, second

    def levels(self, pool: Pool) -> tuple[float, float]:  # noqa: ARG002
        """None: it is a difference by itself."""
        import numpy as np

        return np.nan, np.nan

    def effect(self, pool: Pool, labels: Labels) -> Effect:
        """Somers' D of each prompt pair, cross-fitted."""
        import numpy as np

        both = np.flatnonzero(
            (pool.per_prompt(labels & self.there) > 0) & (pool.per_prompt(~labels & self.there) > 0)
        )
        _, cluster = np.unique(pool.clusters, return_inverse=True)
        fold = (cluster % FOLDS)[pool.prompt]
        signs = np.zeros(len(labels))
        for number in range(FOLDS):
            here = fold == number
            if here.any() and not here.all():
                others = pool.only(~here)
                trained = PhraseShares(self.holds[~here], self.there[~here])
                found = trained.signs(others, labels[~here])
                # rounded: two answers with the same phrases are equal, in whichever order summed
                signs[here] = np.round(self.holds[here].astype(np.float64) @ found, 6)
        told = np.array([self._told(pool.prompt == prompt, labels, signs) for prompt in both])
        return Effect(told, both)

    def counted(self, pool: Pool) -> Labels:  # noqa: ARG002
        """Those that are there."""
        return self.there

    def signs(self, pool: Pool, labels: Labels) -> NDArray[np.float32]:
        """(T,): the scores of the phrases that tell the groups apart; 0 for all others."""
        import numpy as np

        relabelled = relabel(pool.prompt, labels, draws=TRIALS).labels
        others = np.random.default_rng(SEED).permutation(np.arange(1, len(relabelled)))
        some = relabelled[np.concatenate([[0], others[: TRIALS - 1]])]
        _, scores = next(self._scores(pool, some, pool.prompt))
        best, chosen = 0.0, np.inf
        for threshold in THRESHOLDS:
            passing = (np.abs(scores) >= threshold).sum(axis=1).astype(np.float64)
            excess = (passing[0] - passing.mean()) / max(float(passing.std()), 1.0)
            if excess > best and extremeness(passing)[0] <= SURPRISING:
                best, chosen = excess, threshold
        signs: NDArray[np.float32] = np.where(np.abs(scores[0]) >= chosen, scores[0], 0.0)
        return signs.astype(np.float32)

    def _told(self, here: Labels, labels: Labels, signs: Numbers) -> float:
        """Of pairs of answers to one prompt, how many more are in the right order than not."""
        import numpy as np

        first = signs[here & labels & self.there]
        second = signs[here & ~labels & self.there]
        return float(np.sign(first[:, None] - second[None, :]).mean())

    def _scores(
        self, pool: Pool, labels: Labels, strata: NDArray[np.intp]
    ) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """Chunks of (draws, T), each with the number of its first draw."""
        import numpy as np

        weights = _weights(pool, labels[0], self.holds, self.there)
        variance = _variance(weights, labels[0], strata)
        deviation = np.sqrt(variance, out=np.full(variance.shape, np.inf), where=variance > 1e-12)
        scaled = (weights / deviation).astype(np.float32)
        for start in range(0, len(labels), AT_ONCE):
            yield start, labels[start : start + AT_ONCE].astype(np.float32) @ scaled


def _weights(
    pool: Pool, labels: Labels, values: NDArray[np.floating[Any]], there: Labels
) -> Numbers:
    """(N, T) such that `labels @ weights` is the mean difference of `values`, (N, T).

    Averaged over prompt pairs. Values are centred on the mean of their prompt pair, so that the sum
    over one side says it all; a missing value counts as that mean.
    """
    import numpy as np

    held = np.where(there[:, None], values, 0.0)
    _, place = np.unique(pool.prompt, return_inverse=True)
    order = np.argsort(place, kind="stable")
    starts = np.searchsorted(place[order], np.arange(place.max(initial=-1) + 1))
    known = np.add.reduceat(there[order].astype(np.float64), starts)
    means = np.add.reduceat(held[order], starts, axis=0) / np.maximum(known, 1)[:, None]
    centred = np.where(there[:, None], held - means[place], 0.0)
    of_first, of_all = np.bincount(place, labels), np.bincount(place)
    of_second = of_all - of_first
    both = (of_first > 0) & (of_second > 0)
    each = np.where(both, of_all / np.maximum(of_first * of_second, 1), 0.0)
    weights: Numbers = centred * (each / max(int(both.sum()), 1))[place][:, None]
    return weights


def _variance(weights: Numbers, labels: Labels, strata: NDArray[np.intp]) -> Numbers:
    """(N, T) -> (T,): of the sum over answers labelled True, labels exchanged within strata.

    A sample of a from n without replacement: a (1 - a/n) S^2, with S^2 over n - 1 (Cochran 1977,
    theorem 2.2), added up over the strata.
    """
    import numpy as np

    _, place = np.unique(strata, return_inverse=True)
    n, a = np.bincount(place), np.bincount(place, labels)
    order = np.argsort(place, kind="stable")
    starts = np.searchsorted(place[order], np.arange(len(n)))
    sums = np.add.reduceat(weights[order], starts, axis=0)
    squares = np.add.reduceat(np.square(weights[order]), starts, axis=0)
    spread = np.maximum(squares - np.square(sums) / n[:, None], 0.0)
    factor = np.where(n > 1, a * (1 - a / n) / np.maximum(n - 1, 1), 0.0)
    variance: Numbers = (spread * factor[:, None]).sum(axis=0)
    return variance
