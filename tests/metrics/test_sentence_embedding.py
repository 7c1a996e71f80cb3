"""The space of sentence-transformers: agreement with the library, equal bits, errors."""

import importlib
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from caffe_pytest.errors import CaffeError
from caffe_pytest.metrics import sentence_embedding
from tests.metrics.conftest import WEIGHTS_SHA256
from tests.metrics.test_bert import generated_texts


def test_the_cosines_are_those_of_the_library(minilm: str) -> None:
    library: Any = importlib.import_module("sentence_transformers")
    texts = [*generated_texts(), "long " * 400, "long " * 300 + "short"]
    model = library.SentenceTransformer(minilm, device="cpu")
    embedded = model.encode(texts, show_progress_bar=False)
    expected = library.util.pairwise_cos_sim(embedded[:-1], embedded[1:]).numpy()

    cosines = sentence_embedding.space(minilm).similarity(texts[:-1], texts[1:])

    assert np.abs(cosines - expected).max() < 1e-6


def test_a_cosine_has_the_same_bits_in_any_batch(minilm: str) -> None:
    space, texts = sentence_embedding.space(minilm), generated_texts()
    space.forget()
    together = space.similarity(texts[:-1], texts[1:])

    for number in range(0, len(texts) - 1, 3):
        space.forget()
        alone = space.similarity(texts[number : number + 1], texts[number + 1 : number + 2])
        assert alone.tobytes() == together[number].tobytes()


def test_identical_texts_give_one_and_blank_ones_nothing(minilm: str) -> None:
    cosines = sentence_embedding.space(minilm).similarity(("I agree.", " "), ("I agree.", "yes"))

    assert cosines[0] == 1.0
    assert np.isnan(cosines[1])


def test_meaning_counts(minilm: str) -> None:
    text = "You should ask the landlord for a written explanation."
    near = "Request that the owner of the flat explains it in writing."
    far = "Whisk the eggs with sugar and bake the cake."

    alike, unlike = sentence_embedding.space(minilm).similarity((text, text), (near, far))

    assert alike > 0.4
    assert unlike < 0.2


def test_the_limit_is_that_of_the_model(minilm: str) -> None:
    space = sentence_embedding.space(minilm)

    assert space.most_tokens == 256
    assert space.truncated(("long " * 254, "long " * 255)) == 1


def test_the_identity_names_the_weights(minilm: str) -> None:
    assert sentence_embedding.identity(minilm)["weights_sha256"] == WEIGHTS_SHA256


def test_a_damaged_folder_is_an_error_of_one_line(minilm: str, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(minilm, tmp_path / "model"))
    (folder / "modules.json").write_text("{")

    with pytest.raises(CaffeError, match=r"metric sentence-transformers: the model .* cannot be"):
        sentence_embedding.space(str(folder))


def test_a_missing_folder_is_named() -> None:
    pytest.importorskip("torch")
    with pytest.raises(CaffeError, match="metric sentence-transformers: there is no folder"):
        sentence_embedding.space("./nowhere")
