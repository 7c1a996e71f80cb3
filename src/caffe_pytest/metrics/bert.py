"""Similarity of two texts by an encoder: the cosine of their mean-pooled last hidden states.

A published encoder is a frozen space: nothing is fitted, and two texts score the same in any run.
`sentence_embedding` shares the space, the finding of models and their errors.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

from caffe_pytest.errors import CaffeError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# torch and transformers take seconds to import, and come with an extra.

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
_NEEDED = ("*.json", "*.txt", "*.model", "*.safetensors")
"""Files of a model on the hub; weights in other formats would be several times the download."""

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
    return {"model": name, **_fingerprint(model_folder(name, metric))}


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


def library(name: str, metric: str) -> Any:
    """A library of the extra `bert`, imported; raises CaffeError where it is not installed."""
    # Read once, when the libraries are imported: nobody is told that tests are run.
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    try:
        return import_module(name)
    except ImportError as error:
        raise CaffeError(
            f"metric {metric} needs {name}, which cannot be imported ({error}); "
            "pip install 'caffe-pytest[bert]'"
        ) from error


@cache
def model_folder(model: str, metric: str) -> Path:
    """The local folder of a model, downloaded once if need be.

    A folder that exists is taken as it is; a model in the cache of the hub is used without asking
    the network. `HF_HUB_OFFLINE=1` forbids any download.

    Raises CaffeError where there is no such folder or model, the hub cannot be reached, or no
    weights are in it.
    """
    folder = Path(model).expanduser()
    if folder.is_dir():
        return _with_weights(folder, model, metric)
    if folder.is_absolute() or model.startswith((".", "~")) or folder.exists():
        raise CaffeError(
            f"metric {metric}: there is no folder {model}; give the folder of a model, or its name "
            f"on the Hugging Face hub, as in {DEFAULT_MODEL}"
        )
    hub = library("huggingface_hub", metric)
    with contextlib.suppress(OSError, ValueError, CaffeError):
        return _with_weights(
            Path(hub.snapshot_download(model, local_files_only=True)), model, metric
        )
    try:
        found = hub.snapshot_download(model, allow_patterns=list(_NEEDED))
    except Exception as error:  # the hub's client raises what its HTTP library raises, too
        raise CaffeError(
            f"metric {metric}: the model {model} is not on this machine and cannot be downloaded "
            f"({_first_line(error)}); download it once while online, without HF_HUB_OFFLINE, or "
            "give the path of its folder"
        ) from error
    return _with_weights(Path(found), model, metric)


def load_encoder(model: str, folder: Path, metric: str) -> tuple[Any, Any]:
    """Tokenizer and encoder, in evaluation mode, float32, on the CPU.

    Raises CaffeError where the folder is damaged, is no encoder, or lacks some of the weights
    (which transformers would replace by random numbers).
    """
    torch, transformers = library("torch", metric), library("transformers", metric)
    with loading(model, metric):
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
        encoder, told = transformers.AutoModel.from_pretrained(
            folder,
            local_files_only=True,
            use_safetensors=True,
            dtype=torch.float32,
            output_loading_info=True,
        )
    # The pooler makes another embedding, not used here; many encoders come without it.
    missing = sorted(key for key in told["missing_keys"] if not key.startswith("pooler."))
    if missing:
        raise CaffeError(
            f"metric {metric}: the model {model} is damaged: {len(missing)} of its weights are "
            f"missing, as {missing[0]}; download it anew"
        )
    if encoder.config.is_encoder_decoder:
        raise CaffeError(
            f"metric {metric}: the model {model} is not an encoder; use one such as {DEFAULT_MODEL}"
        )
    return tokenizer, encoder.eval()


def _with_weights(folder: Path, model: str, metric: str) -> Path:
    if not _weights(folder):
        raise CaffeError(
            f"metric {metric}: the model {model} has no weights in the format safetensors; "
            "download it anew, or use another model"
        )
    return folder


def _weights(folder: Path) -> list[Path]:
    """Of the encoder: at the top, or in the folder of the first module of sentence-transformers."""
    modules = sorted(path for path in folder.glob("0*") if path.is_dir())
    return next(filter(None, (sorted(at.glob("*.safetensors")) for at in (folder, *modules))), [])


@cache
def _fingerprint(folder: Path) -> Mapping[str, str]:
    weights = _weights(folder)
    sums = [_sha256(path) for path in weights]
    lines = "\n".join(f"{path.name} {one}" for path, one in zip(weights, sums, strict=True))
    found = {
        "weights_sha256": sums[0] if len(sums) == 1 else hashlib.sha256(lines.encode()).hexdigest()
    }
    words = weights[0].parent / "tokenizer.json"
    if words.is_file():
        found["tokenizer_sha256"] = _sha256(words)
    if folder.parent.name == "snapshots":
        found["revision"] = folder.name
    return found


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextlib.contextmanager
def loading(model: str, metric: str) -> Iterator[None]:
    """No progress bars; whatever goes wrong in a library is told as one line."""
    messages = library("transformers.utils.logging", metric)
    verbosity, bar = messages.get_verbosity(), messages.is_progress_bar_enabled()
    messages.set_verbosity_error()
    messages.disable_progress_bar()
    try:
        yield
    except CaffeError:
        raise
    except Exception as error:  # a damaged file can break any of the libraries' readers
        raise CaffeError(
            f"metric {metric}: the model {model} cannot be loaded ({_first_line(error)}); "
            "download it anew, or use another model"
        ) from error
    finally:
        messages.set_verbosity(verbosity)
        if bar:
            messages.enable_progress_bar()


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def _dot(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Not a product of BLAS: its order of adding depends on where the arrays lie in memory."""
    return float((first * second).sum())
