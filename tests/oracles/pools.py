"""Pools for tests: numbers instead of answers."""

from __future__ import annotations

import numpy as np

from caffe_pytest.oracles.pool import Pool


def pool_of(prompts: int, repeats: int, *, per_triple: int = 1) -> Pool:
    """Answers in the order prompt, group (disadvantaged first), repetition."""
    return Pool(
        prompt=np.repeat(np.arange(prompts), 2 * repeats),
        first=np.tile(np.repeat([True, False], repeats), prompts),
        repetition=np.tile(np.arange(repeats), 2 * prompts),
        triple=np.arange(prompts) // per_triple,
    )
