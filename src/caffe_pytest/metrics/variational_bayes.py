"""Which topics a text mixes, by variational Bayes; what `lda` embeds and fits with.

The E-step of Hoffman, Blei & Bach (2010), "Online learning for latent Dirichlet allocation",
algorithm 1, for many texts at once. Nothing is drawn at random and no sum crosses two texts: the
mixture of a text has the same bits alone and in any batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from caffe_pytest.metrics.bag_of_words import BagsOfWords

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_BLOCK_BYTES = 1 << 22
"""Of the rows of `words` that are gathered at once; more would leave the cache."""
_LIVE_SHARE = 0.75
"""Of the texts of a block; where fewer still change, those that do not are taken out."""


def infer_topics(
    bags: BagsOfWords,
    words: NDArray[np.float64],
    prior: float,
    *,
    iterations: int = 100,
    tolerance: float = 1e-3,
) -> NDArray[np.float64]:
    """Gamma, (n, k), positive: the Dirichlet parameters of each text's mixture of k topics.

    `words`, (V, k), is `exp(E[log beta])` transposed; a row may be multiplied by any positive
    number. `prior`, positive, is the parameter of every topic before a word is seen. A text is done
    when its gamma changes by less than `tolerance` on average, at the latest after `iterations`.
    """
    import numpy as np

    gamma = np.empty((len(bags.lengths), words.shape[1]))
    for texts in _blocks(bags.lengths, words.shape[1]):
        lengths = bags.lengths[texts]
        # Texts are padded to the longest of the block with terms that occur 0 times; sums over
        # terms run one after the other, so that a padding adds exact zeros at their end.
        position = np.arange(int(lengths[-1]))
        real = position < lengths[:, None]
        at = np.where(real, bags.starts[texts][:, None] + position, 0)
        counts = np.where(real, bags.counts[at], 0.0)
        gathered = words[bags.columns[at]]
        gamma[texts] = _infer_block(gathered, counts, prior, iterations, tolerance)
    return gamma


def exp_digamma(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """`exp(digamma(x))` of each x > 0, to a relative 3e-9.

    The asymptotic series of digamma at x + 6 (Abramowitz & Stegun 1964, 6.3.18), less the six
    steps of its recurrence (6.3.5), added in pairs from outside in; its logarithm is left out.
    """
    import numpy as np

    shifted = values + 6.0
    inverse = 1.0 / shifted
    square = inverse * inverse
    outer = values * (values + 5.0)
    less = (values + values + 5.0) * (1.0 / outer + 1.0 / (outer + 4.0) + 1.0 / (outer + 6.0))
    less += 0.5 * inverse
    less += square * (1.0 / 12.0 - square * (1.0 / 120.0 - square * (1.0 / 252.0)))
    result: NDArray[np.float64] = shifted * np.exp(-less)
    return result


def _blocks(lengths: NDArray[np.intp], topics: int) -> Iterator[NDArray[np.intp]]:
    """The numbers of the texts, shortest first, in blocks of bounded size."""
    import numpy as np

    order = np.argsort(lengths, kind="stable")
    terms_at_once = max(_BLOCK_BYTES // (8 * topics), 1)
    start = 0
    while start < len(order):
        # Length times number grows with every text: the last that fits can be searched for.
        rest = lengths[order[start:]]
        sizes = rest * np.arange(1, len(rest) + 1)
        end = start + max(int(np.searchsorted(sizes, terms_at_once, side="right")), 1)
        yield order[start:end]
        start = end


def _infer_block(
    words: NDArray[np.float64],
    counts: NDArray[np.float64],
    prior: float,
    iterations: int,
    tolerance: float,
) -> NDArray[np.float64]:
    """Gamma, (n, k), of n texts with the gathered rows `words`, (n, l, k), and `counts`, (n, l)."""
    import numpy as np

    texts, _, topics = words.shape
    done = np.empty((texts, topics))
    number = np.arange(texts)
    live = np.ones(texts, dtype=np.bool_)
    gamma = np.ones((texts, topics))
    epsilon = np.finfo(np.float64).eps  # as scikit-learn and gensim: keeps 0/0 out
    # exp(E[log theta]) without its divisor exp(digamma(sum of gamma)), which cancels below.
    theta = exp_digamma(gamma)
    for _ in range(iterations):
        # einsum without `optimize` adds in loops of its own, of an order that only the shape of
        # one text decides; a matrix product would not.
        expected = np.einsum("nk,nlk->nl", theta, words)
        expected += epsilon
        updated = np.einsum("nl,nlk->nk", counts / expected, words)
        updated *= theta
        updated += prior
        change = np.abs(gamma - updated).sum(axis=1)
        gamma = updated
        theta = exp_digamma(gamma)
        settled = live & (change < tolerance * topics)
        if not settled.any():
            continue
        done[number[settled]] = gamma[settled]
        live &= ~settled
        remaining = np.count_nonzero(live)
        if not remaining:
            return done
        if remaining < _LIVE_SHARE * len(live):
            words, counts, number = words[live], counts[live], number[live]
            gamma, theta, live = gamma[live], theta[live], live[live]
    done[number[live]] = gamma[live]
    return done
