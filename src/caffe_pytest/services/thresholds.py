"""How alike answers to one prompt are, and answers about two groups; the threshold between them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Literal

from caffe_pytest.errors import CaffeError
from caffe_pytest.hookspecs import SimilarityMetric, Space
from caffe_pytest.oracles.threshold import (
    Scores,
    area_under_curve,
    share_interval,
    threshold_for,
    threshold_interval,
)
from caffe_pytest.reporting.calibration import Comparison, Distribution, Point

QUANTILES = (5, 25, 50, 75, 95)
STEPS = 100
"""Of the curves, over the thresholds from 0 to 1."""


@dataclass(frozen=True, slots=True)
class Text:
    """An answer of substance, or what is left of one."""

    pair: str
    disadvantaged: bool
    plain: str
    masked: str


@dataclass(frozen=True)
class Compared:
    """What answers are compared with."""

    metric: SimilarityMetric
    space: Space | None
    """None where the answers did not suffice to fit one."""
    space_name: Literal["reference", "run"] = "reference"
    masked: bool = False
    threshold: float | None = None
    """Of the test case."""


_Places = list[tuple[int, int]]


def compare(compared: Compared, answers: Sequence[Text], rate: float) -> Comparison | None:
    """What a threshold can tell; None where there are no two answers to compare.

    Every answer is compared with all others to the same prompt, and with all about the other
    group. `rate`, 0..1, is the share of the former that may fail. Raises CaffeError where the
    metric breaks.
    """
    if compared.space is None:
        return None
    texts = [one.masked if compared.masked else one.plain for one in answers]
    sides = _sides(answers)
    again = [[*combinations(first, 2), *combinations(second, 2)] for first, second in sides]
    swapped = [list(product(first, second)) for first, second in sides]
    same, unknown_same = _scored(compared.metric, compared.space, texts, again)
    different, unknown_different = _scored(compared.metric, compared.space, texts, swapped)
    if not len(same) or not len(different):
        return None

    def point(threshold: float | None) -> Point | None:
        return None if threshold is None else _point(same, different, threshold)

    exact = threshold_for(same, rate)
    threshold = _rounded_down(exact)
    failing = None if threshold is None else share_interval(different, threshold)
    return Comparison(
        metric=compared.metric.name,
        version=compared.metric.version,
        space=compared.space_name,
        masked=compared.masked,
        same=_distribution(same, unknown_same),
        different=_distribution(different, unknown_different),
        threshold=threshold,
        exact_threshold=_rounded(exact),
        interval=_bounds(threshold_interval(same, rate)),
        at_threshold=point(threshold),
        detected_interval=_bounds(failing),
        at_expected=point(compared.threshold),
        auc=_rounded(area_under_curve(same, different)),
        curve=tuple(_point(same, different, step / STEPS) for step in range(STEPS + 1)),
    )


def _sides(texts: Sequence[Text]) -> list[tuple[list[int], list[int]]]:
    """For each prompt pair the places of the answers about either group."""
    sides: dict[str, tuple[list[int], list[int]]] = {}
    for place, text in enumerate(texts):
        sides.setdefault(text.pair, ([], []))[0 if text.disadvantaged else 1].append(place)
    return list(sides.values())


def _scored(
    metric: SimilarityMetric, space: Space, texts: Sequence[str], chosen: Sequence[_Places]
) -> tuple[Scores, int]:
    """The scores of pairs of texts, chosen for each prompt pair, and how many have none."""
    import numpy as np

    places = [both for of_prompt in chosen for both in of_prompt]
    prompt = np.repeat(np.arange(len(chosen)), [len(of_prompt) for of_prompt in chosen])
    try:
        values = space.similarity([texts[a] for a, _ in places], [texts[b] for _, b in places])
    except CaffeError:
        raise
    except Exception as error:  # a metric may come from a plugin
        raise CaffeError(f"the metric {metric.name} broke: {error!r}") from error
    scores = Scores.of(np.asarray(values, dtype=np.float64), prompt)
    return scores, len(places) - len(scores)


def _distribution(scores: Scores, not_comparable: int) -> Distribution:
    import numpy as np

    levels = np.quantile(scores.values, [number / 100 for number in QUANTILES])
    return Distribution(
        pairs=len(scores),
        mean=_rounded(float(scores.values.mean())),
        quantiles={
            str(number): _rounded(level) for number, level in zip(QUANTILES, levels, strict=True)
        },
        not_comparable=not_comparable,
    )


def _point(same: Scores, different: Scores, threshold: float) -> Point:
    return Point(
        threshold=threshold,
        false_alarms=_rounded(same.below(threshold)),
        detections=_rounded(different.below(threshold)),
    )


def _rounded_down(threshold: float) -> float | None:
    """To two decimals, which hold the rate as well; None below 0, where no threshold is."""
    down = math.floor(threshold * 100 + 1e-9) / 100
    return down if down >= 0 else None


def _rounded(number: float) -> float:
    """To what the answers can tell, and the same on every machine."""
    return round(float(number), 6)


def _bounds(interval: tuple[float, float] | None) -> tuple[float, float] | None:
    return None if interval is None else (_rounded(interval[0]), _rounded(interval[1]))
