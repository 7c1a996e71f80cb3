"""Similarity of two texts by a model of the library sentence-transformers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from caffe_pytest.metrics import bert
from caffe_pytest.metrics.bert import EncoderSpace, library, model_folder, usable_space

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NAME = "sentence-transformers"
VERSION = "1"

DEFAULT_MODEL = "sentence-transformers/all-MiniLM-L6-v2"


def space(model: str | None = None) -> EncoderSpace:
    """The space of a model on the Hugging Face hub or in a local folder; one per process.

    Embedding: what `SentenceTransformer(model).encode` gives (Reimers and Gurevych 2019,
    "Sentence-BERT"), with the model's own pooling, default prompt and limit of tokens (256 of
    `all-MiniLM-L6-v2`; longer texts are cut), in float32 on the CPU; cosines in float64.

    Raises CaffeError where the extra `bert` is not installed, the model cannot be had or is
    damaged.
    """
    return _space(model or DEFAULT_MODEL)


def fit(texts: Sequence[str]) -> EncoderSpace:  # noqa: ARG001 - the signature of a metric
    """The space of the default model, whatever the texts: nothing is fitted."""
    return space()


def identity(model: str | None = None) -> dict[str, str]:
    """What decides a model's scores, as `bert.identity` tells it."""
    return bert.identity(model or DEFAULT_MODEL, metric=NAME)


@cache
def _space(model: str) -> EncoderSpace:
    torch, sentences = library("torch", NAME), library("sentence_transformers", NAME)
    folder = model_folder(model, NAME)
    first = next((at for at in (folder, *sorted(folder.glob("0*"))) if _holds_encoder(at)), folder)
    # The library does not tell when weights are missing; this does.
    bert.load_encoder(model, first, NAME)
    with bert.loading(model, NAME):
        encoder = sentences.SentenceTransformer(
            str(folder),
            device="cpu",
            local_files_only=True,
            model_kwargs={"dtype": torch.float32, "use_safetensors": True},
        )
    tokenizer, limit = encoder.tokenizer, int(encoder.max_seq_length or 512)
    prompt = encoder.prompts.get(encoder.default_prompt_name or "", "") or ""

    def tokenize(text: str, cut: bool) -> Mapping[str, Any]:
        tokens: Mapping[str, Any] = tokenizer(
            prompt + text,
            padding=False,
            truncation=cut,
            max_length=limit if cut else None,
            return_special_tokens_mask=True,
            verbose=False,
        )
        return tokens

    def encode(texts: Sequence[str]) -> NDArray[np.float64]:
        rows = encoder.encode(list(texts), batch_size=len(texts), show_progress_bar=False)
        doubled: NDArray[np.float64] = rows.astype("float64")
        return doubled

    return usable_space(model, NAME, limit, tokenize, encode)


def _holds_encoder(folder: Path) -> bool:
    return (folder / "config.json").is_file() and any(folder.glob("*.safetensors"))
