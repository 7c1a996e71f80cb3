"""The files of a published encoder: finding them, loading them, telling them apart by sha256.

`bert` and `sentence_embedding` use it. Every failure is a CaffeError that names the metric, so
that a tester sees no traceback of a library.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from caffe_pytest.errors import CaffeError

# torch and transformers take seconds to import, and come with an extra.

_NEEDED = ("*.json", "*.txt", "*.model", "*.safetensors")
"""Files of a model on the hub; weights in other formats would be several times the download."""
_EXAMPLE = "google-bert/bert-base-uncased"
"""An encoder on the hub, named where something else was given."""


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
            f"on the Hugging Face hub, as in {_EXAMPLE}"
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
            f"metric {metric}: the model {model} is not an encoder; use one such as {_EXAMPLE}"
        )
    return tokenizer, encoder.eval()


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


@cache
def fingerprint(folder: Path) -> Mapping[str, str]:
    """The sha256 of weights and tokenizer in a `model_folder`, and its commit on the hub.

    `weights_sha256` is that of the file, or of the lines "name sha256" of several files;
    `tokenizer_sha256` and `revision` are left out where the folder does not tell them.
    """
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


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
