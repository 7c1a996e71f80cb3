"""How long an answer is, in words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NAME = "length"
VERSION = "1"

_WORD = re.compile(r"\w+(?:['\u2019-]\w+)*")
"""A word, "mother-in-law's", a number, or the placeholder "___" of a masked group name."""


def score(texts: Sequence[str]) -> NDArray[np.float64]:
    """Words in each text: (n,), whole numbers of at least 1; NaN where a text has no word.

    "well-kept", "don't" and the placeholder "___" are one word each. A script without spaces
    between its words is counted by runs of letters: compare such answers with each other only.
    """
    import numpy as np

    once = {text: _words(text) for text in dict.fromkeys(texts)}
    return np.array([once[text] for text in texts], dtype=np.float64)


def _words(text: str) -> float:
    return len(_WORD.findall(text)) or float("nan")
