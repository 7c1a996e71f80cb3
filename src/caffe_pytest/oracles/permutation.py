"""Relabellings: what the answers of a pool would show if the group made no difference.

Were the groups treated alike, the answers to one prompt could change places between the groups. A
relabelling exchanges them, only ever inside a stratum (the answers to one prompt); a statistic that
is larger for the labels as they are than for nearly all relabellings is no accident (Fisher's
randomisation test, stratified).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Labels = NDArray[np.bool_]
    Numbers = NDArray[np.float64]

SEED = 29119
"""Of the random relabellings: the same answers always get the same p-value."""
MOST_EXACT = 20_000
"""All relabellings are used where there are no more than these."""
_MOST_NUMBERS = 2_000_000
"""Drawn at once: bounds the memory."""
_TOLERANCE = 1e-9
"""Relative; two relabellings whose statistics differ by rounding alone are equally extreme."""


@dataclass(frozen=True, eq=False)
class Relabellings:
    """Labels of N answers, as they are (row 0) and exchanged."""

    labels: Labels
    """(draws, N): True where the answer counts to the first group."""
    exact: bool
    """Whether the rows are all the relabellings there are."""

    @property
    def draws(self) -> int:
        """Rows, the first of which is what was observed."""
        return int(self.labels.shape[0])


def relabel(strata: NDArray[np.intp], first: Labels, *, draws: int) -> Relabellings:
    """All relabellings where there are few, else `draws` random ones; row 0 is `first` itself.

    `strata`, (N,), numbers the answers that may change places; `first`, (N,), is True where an
    answer belongs to the first group. Each stratum keeps its number of answers of each group.
    """
    return _relabel(tuple(strata.tolist()), tuple(first.tolist()), draws)


@lru_cache(maxsize=4)  # pools of one test case mostly have one shape
def _relabel(strata: tuple[int, ...], first: tuple[bool, ...], draws: int) -> Relabellings:
    import numpy as np

    observed = np.array(first, dtype=bool)
    members: dict[int, list[int]] = {}
    for place, stratum in enumerate(strata):
        members.setdefault(stratum, []).append(place)
    counts = {s: (len(at), int(observed[at].sum())) for s, at in members.items()}
    total = math.prod(math.comb(*count) for count in counts.values())
    if total <= MOST_EXACT:
        labels = _all(members, counts, len(first), total)
        same = (labels == observed).all(axis=1).argmax()
        labels[[0, same]] = labels[[same, 0]]
        return Relabellings(labels, exact=True)
    labels = np.zeros((draws, len(first)), dtype=bool)
    random = np.random.default_rng(SEED)
    by_shape: dict[tuple[int, int], list[list[int]]] = {}
    for stratum, at in members.items():
        by_shape.setdefault(counts[stratum], []).append(at)
    for (size, chosen), places in by_shape.items():
        at_once = max(1, _MOST_NUMBERS // (len(places) * size))
        for start in range(0, draws, at_once):
            keys = random.random((min(at_once, draws - start), len(places), size))
            ranks = keys.argsort(axis=-1).argsort(axis=-1)
            labels[start : start + at_once, np.array(places)] = ranks < chosen
    labels[0] = observed
    return Relabellings(labels, exact=False)


def _all(
    members: dict[int, list[int]], counts: dict[int, tuple[int, int]], answers: int, total: int
) -> Labels:
    import numpy as np

    labels = np.zeros((total, answers), dtype=bool)
    repeated = 1
    for stratum, at in members.items():
        ways = list(combinations(at, counts[stratum][1]))
        each = np.zeros((len(ways), answers), dtype=bool)
        for row, chosen in zip(each, ways, strict=True):
            row[list(chosen)] = True
        which = (np.arange(total) // repeated) % len(ways)
        labels |= each[which]
        repeated *= len(ways)
    return labels


def extremeness(statistic: Numbers) -> Numbers:
    """(draws,) -> (draws,): share of the relabellings that are at least as extreme as each.

    `statistic` is larger for what speaks more against equal treatment. The first number is the
    p-value of what was observed; it is never below 1 / draws.
    """
    import numpy as np

    tolerance = _TOLERANCE * (1.0 + float(np.abs(statistic).max(initial=0.0)))
    ordered = np.sort(statistic)
    at_least = len(ordered) - np.searchsorted(ordered, statistic - tolerance, side="left")
    share: Numbers = at_least / len(ordered)
    return share


def step_down(extreme: Numbers) -> Numbers:
    """(questions, draws) -> (questions,): p-values corrected for asking several questions.

    The step-down minimum-p procedure of Westfall and Young (1993, algorithm 2.8): because all
    questions are asked of the same relabellings, questions that move together cost little.
    `extreme` holds what `extremeness` returns for each question.
    """
    import numpy as np

    order = np.argsort(extreme[:, 0], kind="stable")
    smallest = np.minimum.accumulate(extreme[order[::-1]], axis=0)[::-1]
    observed = extreme[order, :1]
    corrected = (smallest <= observed * (1 + _TOLERANCE)).mean(axis=1)
    adjusted = np.empty(len(order))
    adjusted[order] = np.maximum.accumulate(corrected)
    return adjusted


def false_discovery_adjusted(p_values: Numbers) -> Numbers:
    """(m,) -> (m,): p-values adjusted for the m items of a run (Benjamini and Hochberg 1995)."""
    import numpy as np

    count = len(p_values)
    order = np.argsort(p_values, kind="stable")
    scaled = p_values[order] * count / np.arange(1, count + 1)
    adjusted = np.empty(count)
    adjusted[order] = np.minimum(1.0, np.minimum.accumulate(scaled[::-1])[::-1])
    return adjusted
