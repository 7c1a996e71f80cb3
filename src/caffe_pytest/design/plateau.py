"""How many prompts until a further one brings little new vocabulary (CAFFE, section 5.2)."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from caffe_pytest.model.test_case import Plateau

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class PlateauFound:
    """How many prompts to take, and whether that is where the curve levelled off."""

    prompts: int
    reached: bool
    """False: every prompt still brought something new; `prompts` is then all there were."""


def entropy(words: Counter[str]) -> float:
    """Shannon entropy of a vocabulary in bits, with the Miller-Madow correction (m - 1) / 2N.

    N is the number of tokens, m of distinct words; the correction, in nats as Miller gave it, is
    turned into bits. 0.0 for no words.
    """
    total = words.total()
    if not total:
        return 0.0
    plain = -sum(count / total * math.log2(count / total) for count in words.values())
    return plain + (len(words) - 1) / (2 * total * math.log(2))


def find_plateau(prompts: Iterable[str], rule: Plateau) -> PlateauFound:
    """The first number of prompts whose last `patience` each gained less than `epsilon`.

    The measure is the entropy H of all words so far, or H per token: h_N = H(T_N) / |T_N|.
    """
    words: Counter[str] = Counter()
    before: float | None = None
    quiet = taken = 0
    for prompt in prompts:
        words.update(_WORD.findall(prompt.casefold()))
        now = entropy(words)
        if rule.measure == "entropy-per-token" and words:
            now /= words.total()
        taken += 1
        quiet = quiet + 1 if before is not None and now - before < rule.epsilon else 0
        before = now
        if quiet >= rule.patience:
            return PlateauFound(taken, reached=True)
        if taken >= rule.at_most:
            break
    return PlateauFound(taken, reached=False)
