"""How many pairs are enough, and which ones."""

from __future__ import annotations

import math
import random
from statistics import NormalDist

from caffe_pytest.model.test_case import Sample


def sample_size(population: int, margin: float, confidence: float) -> int:
    """Size of a sample that estimates a share within `margin` (Cochran 1977, with p = 0.5).

    n0 = z^2 p (1 - p) / margin^2, corrected for the finite population: n0 / (1 + (n0 - 1) / N),
    rounded up and never more than the population.
    """
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    unlimited = z * z * 0.25 / (margin * margin)
    if population < 1:
        return 0
    return min(population, math.ceil(unlimited / (1 + (unlimited - 1) / population)))


def draw(population: int, sample: Sample, stratum: str) -> list[int]:
    """Sorted indices below `population`: the sample of one stratum, the same for the same seed."""
    size = sample_size(population, sample.margin, sample.confidence)
    return sorted(random.Random(f"{sample.seed}\0{stratum}").sample(range(population), size))
