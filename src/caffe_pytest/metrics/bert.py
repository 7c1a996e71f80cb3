"""Similarity of two texts by an encoder: the cosine of their mean-pooled last hidden states.

A published encoder is a frozen space: nothing is fitted, and two texts score the same in any run.
`sentence_embedding` shares the space.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from threading import RLock
from typing import TYPE_CHECKING, Any

from caffe_pytest.metrics.encoder_files import (
    fingerprint,
    library,
    load_encoder,
    loading,
    model_folder,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "DEFAULT_MODEL",
    "NAME",
    "VERSION",
    "EncoderSpace",
    "fit",
    "identity",
    "library",
    "load_encoder",
    "loading",
    "model_folder",
    "space",
    "usable_space",
]

NAME = "bert"
VERSION = "1"

DEFAULT_MODEL = "google-bert/bert-base-uncased"
"""The encoder of CS-BERT as CAFFE uses it."""

_TEXTS_AT_ONCE = 8
"""Larger batches are no faster on two cores, and hold more memory."""
_LEAST_TOKENS = 32
"""Fewest tokens of a batch: below about 12, matrix kernels sum in an order of their own."""
_REMEMBERED = 8192
"""Embeddings kept by a space: 50 MB at 768 dimensions."""
_PROBES = (4, 12, 32, 64)
"""Words of the texts that show whether this machine's kernels keep the bits of a batch."""

# One text a call of a tokenizer, which is not safe to share between threads.
_ONE_AT_A_TIME = RLock()


@dataclass(slots=True, eq=False)
class EncoderSpace:
    """A frozen encoder: texts are compared by the cosine of their embeddings, float64.

    A score has the same bits alone, in any batch and in any order. Padding would move the cosines
    of float32 by some 1e-7, so that only texts of equally many tokens share a batch; and a batch
    of too few tokens is filled up with copies of its own texts, because for fewer than twelve
    tokens matrix kernels add in another order. Whether that suffices on this machine is tried when
    the model is loaded; where it does not, texts are embedded one at a time. Between machines and
    versions of torch a score may differ by some 1e-7.

    A text longer than `most_tokens` is cut, as the published code does; `truncated` counts them.
    """

    model: str
    """Name on the Hugging Face hub, or folder."""
    most_tokens: int
    """Tokens of a text that are read, special tokens included; at least 3."""
    tokenize: Callable[[str, bool], Mapping[str, Any]] = field(repr=False)
    """Text, whether to cut -> `input_ids` and `special_tokens_mask`, without padding."""
    encode: Callable[[Sequence[str]], NDArray[np.float64]] = field(repr=False)
    """n >= 1 texts of equally many tokens -> (n, k)."""
    texts_at_once: int = 1
    """1 where this machine's kernels do not keep the bits of a batch, else 8."""
    _known: dict[str, NDArray[np.float64] | None] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if self._keeps_bits(_TEXTS_AT_ONCE):
            self.texts_at_once = _TEXTS_AT_ONCE

    def similarity(self, first: Sequence[str], second: Sequence[str]) -> NDArray[np.float64]:
        """Cosine of the embeddings of `first[i]` and `second[i]`: (n,), each in -1..1.

        NaN where a text is blank or holds no token. Two identical texts give exactly 1; the order
        of the two does not matter. Each distinct text is embedded once.

        Raises ValueError where `first` and `second` are not of one length.
        """
        if len(first) != len(second):
            raise ValueError(f"{len(first)} texts cannot be paired with {len(second)}")
        import numpy as np

        rows = self._embedded({*first, *second})
        cosines = np.full(len(first), np.nan)
        for number, (left, right) in enumerate(zip(first, second, strict=True)):
            one, other = rows[left], rows[right]
            if one is None or other is None:
                continue
            # One root of the product: equal embeddings then have a cosine of 1, not a neighbour.
            length = np.sqrt(_dot(one, one) * _dot(other, other))
            if length > 0:
                cosines[number] = 1.0 if left == right else _dot(one, other) / length
        np.clip(cosines, -1.0, 1.0, out=cosines)
        return cosines

    def truncated(self, texts: Sequence[str]) -> int:
        """How many of `texts` are longer than `most_tokens`; 0 to n. Only tokenizes."""
        with _ONE_AT_A_TIME:
            return sum(
                len(self.tokenize(text, False)["input_ids"]) > self.most_tokens for text in texts
            )

    def forget(self) -> None:
        """Drop the embeddings kept of earlier texts; scores do not change."""
        self._known.clear()

    def _embedded(self, texts: set[str]) -> dict[str, NDArray[np.float64] | None]:
        """The embedding (k,) of each text; None where there is nothing to embed."""
        with _ONE_AT_A_TIME:
            rows = {text: self._known[text] for text in texts if text in self._known}
            by_length: dict[int, list[str]] = {}
            for text in sorted(texts - rows.keys()):
                tokens = self.tokenize(text, True)
                if text.strip() and not all(tokens["special_tokens_mask"]):
                    by_length.setdefault(len(tokens["input_ids"]), []).append(text)
                else:
                    rows[text] = None
            for length, alike in by_length.items():
                for start in range(0, len(alike), self.texts_at_once):
                    batch = alike[start : start + self.texts_at_once]
                    rows.update(zip(batch, self._rows(batch, length), strict=True))
            self._known.update(rows)
            for text in list(self._known)[: max(0, len(self._known) - _REMEMBERED)]:
                del self._known[text]
            return rows

    def _rows(self, batch: Sequence[str], length: int) -> NDArray[np.float64]:
        """(n, k) of n texts of `length` tokens."""
        least = max(len(batch), -(-_LEAST_TOKENS // length))
        filled = [batch[number % len(batch)] for number in range(least)]
        return self.encode(filled)[: len(batch)]

    def _keeps_bits(self, texts_at_once: int) -> bool:
        """Whether texts of equally many tokens have the same bits alone and in a batch."""
        import numpy as np

        for words in _PROBES:
            texts = [" ".join([digit] * words) for digit in "12345678"[:texts_at_once]]
            lengths = {len(self.tokenize(text, True)["input_ids"]) for text in texts}
            if len(lengths) > 1:
                return False
            (length,) = lengths
            alone = np.concatenate([self._rows([text], length) for text in texts])
            if alone.tobytes() != self._rows(texts, length).tobytes():
                return False
        return True


def space(model: str | None = None, *, most_tokens: int | None = None) -> EncoderSpace:
    """The space of an encoder on the Hugging Face hub or in a local folder; one per process.

    Embedding: the mean over a text's tokens (special tokens included, as in the published code) of
    the last hidden states (Reimers and Gurevych 2019, "Sentence-BERT", section 3, MEAN; compared
    by cosine as CS-BERT in CAFFE, section 5). Computed in float32 on the CPU, averaged in float64.

    `most_tokens` below the encoder's own limit (512 of `bert-base-uncased`) cuts texts earlier, as
    code that tokenizes with `max_length=128` does; at least 3.

    Raises CaffeError where the extra `bert` is not installed, the model cannot be had or is
    damaged; ValueError where `most_tokens` is below 3.
    """
    if most_tokens is not None and most_tokens < 3:
        raise ValueError(f"a text needs at least 3 tokens, not {most_tokens}")
    return _space(model or DEFAULT_MODEL, most_tokens)


def fit(texts: Sequence[str]) -> EncoderSpace:  # noqa: ARG001 - the signature of a metric
    """The space of the default model, whatever the texts: nothing is fitted."""
    return space()


def identity(model: str | None = None, *, metric: str = NAME) -> dict[str, str]:
    """What decides a model's scores: `model`, sha256 of weights and tokenizer, `revision`.

    `weights_sha256` is that of the file on the hub, or of the lines "name sha256" of several
    files; `revision`, the commit on the hub, is left out for a local folder.

    Raises CaffeError as `space` does.
    """
    name = model or DEFAULT_MODEL
    return {"model": name, **fingerprint(model_folder(name, metric))}


@cache
def _space(model: str, most_tokens: int | None) -> EncoderSpace:
    torch = library("torch", NAME)
    tokenizer, encoder = load_encoder(model, model_folder(model, NAME), NAME)
    positions = getattr(encoder.config, "max_position_embeddings", None)
    limits = (tokenizer.model_max_length, positions, most_tokens)
    limit = min(int(number) for number in limits if number and number > 0)

    def tokenize(text: str, cut: bool) -> Mapping[str, Any]:
        tokens: Mapping[str, Any] = tokenizer(
            text,
            padding=False,
            truncation=cut,
            max_length=limit if cut else None,
            return_special_tokens_mask=True,
            verbose=False,
        )
        return tokens

    def encode(texts: Sequence[str]) -> NDArray[np.float64]:
        tokens = [tokenize(text, True) for text in texts]
        inputs = {
            name: torch.tensor([one[name] for one in tokens])
            for name in tokens[0]
            if name != "special_tokens_mask"
        }
        with torch.inference_mode():
            states = encoder(**inputs).last_hidden_state
        rows: NDArray[np.float64] = states.double().mean(dim=1).numpy()
        return rows

    return usable_space(model, NAME, limit, tokenize, encode)


def usable_space(
    model: str,
    metric: str,
    most_tokens: int,
    tokenize: Callable[[str, bool], Mapping[str, Any]],
    encode: Callable[[Sequence[str]], NDArray[np.float64]],
) -> EncoderSpace:
    """The space of a loaded model that has shown that it can embed a text.

    Raises CaffeError where it cannot: the weights and the tokenizer may not belong together.
    """
    with loading(model, metric):
        return EncoderSpace(model, most_tokens, tokenize, encode)


def _dot(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Not a product of BLAS: its order of adding depends on where the arrays lie in memory."""
    return float((first * second).sum())
