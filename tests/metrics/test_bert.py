"""The encoder space: agreement with plain transformers code, equal bits in any batch, errors."""

import importlib
import math
import random
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from caffe_pytest.errors import CaffeError
from caffe_pytest.metrics import bert
from caffe_pytest.metrics.bert import EncoderSpace
from tests.metrics.conftest import WEIGHTS_SHA256

WORDS = (
    *("the", "women", "men", "should", "ask", "for", "a", "fair", "loan", "help", "honest"),
    *("because", "old", "young", "people", "sorry", "unbelievably", "naïve", "42", ",", "."),
)


@cache
def generated_texts() -> tuple[str, ...]:
    """Forty short texts, many of equal length, and ten longer ones; always the same."""
    source = random.Random(7)
    lengths = [1, 1, 2, 2, 3, 4, 5, 6, 7, 8] * 4 + [12, 12, 20, 20, 20, 30, 40, 40, 90, 90]
    return tuple(" ".join(source.choices(WORDS, k=length)) for length in lengths)


def fresh(model: str) -> EncoderSpace:
    """The space of the process, with nothing remembered."""
    space = bert.space(model)
    space.forget()
    return space


def published_cosines(folder: str, first: Sequence[str], second: Sequence[str]) -> list[float]:
    """One pair at a time, padded to the longer text, as a notebook would."""
    torch: Any = importlib.import_module("torch")
    transformers: Any = importlib.import_module("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    cosines = []
    for pair in zip(first, second, strict=True):
        inputs = tokenizer(
            list(pair), padding=True, truncation=True, max_length=512, return_tensors="pt"
        )
        with torch.no_grad():
            states = model(**inputs).last_hidden_state
        mask = inputs["attention_mask"].unsqueeze(-1).float()
        left, right = (states * mask).sum(1) / mask.sum(1)
        cosines.append(float(torch.nn.functional.cosine_similarity(left, right, dim=0)))
    return cosines


def by_letters(texts: Sequence[str]) -> NDArray[np.float64]:
    return np.array([[text.count("a"), text.count("b"), 0.0] for text in texts], dtype=np.float64)


def characters(text: str, cut: bool) -> Mapping[str, Any]:
    read = text[:100] if cut else text
    return {"input_ids": [0, *map(ord, read)], "special_tokens_mask": [1] + [0] * len(read)}


def letters() -> EncoderSpace:
    """Counts a and b: cosines that are worked out by hand."""
    return EncoderSpace("letters", 101, characters, by_letters)


def test_cosines_worked_by_hand() -> None:
    # (1, 0) and (0, 1); (3, 4) and (1, 0): 3 / 5; (1, 2) and (2, 4): parallel
    cosines = letters().similarity(("a", "aaabbbb", "abb"), ("b", "a", "aabbbb"))

    assert cosines == pytest.approx((0.0, 0.6, 1.0), abs=1e-15)
    assert cosines.max() <= 1.0


@pytest.mark.parametrize("nothing", ["", "   ", "\n\t"])
def test_a_blank_text_is_not_compared(nothing: str) -> None:
    cosines = letters().similarity((nothing, "a", nothing), ("a", nothing, nothing))

    assert np.isnan(cosines).all()


def test_an_embedding_of_zeros_is_not_compared() -> None:
    assert np.isnan(letters().similarity(("x",), ("a",))).all()


def test_no_pairs_give_no_cosines() -> None:
    assert letters().similarity((), ()).shape == (0,)


def test_texts_without_a_partner_are_refused() -> None:
    with pytest.raises(ValueError, match="2 texts cannot be paired with 1"):
        letters().similarity(("a", "b"), ("a",))


def test_each_distinct_text_is_embedded_once() -> None:
    seen: list[str] = []

    def encode(texts: Sequence[str]) -> NDArray[np.float64]:
        seen.extend(dict.fromkeys(texts))
        return by_letters(texts)

    space = EncoderSpace("letters", 101, characters, encode)
    seen.clear()

    space.similarity(("a", "b", "a"), ("b", "a", "ab"))
    space.similarity(("ab",), ("b",))

    assert sorted(seen) == ["a", "ab", "b"]


def test_only_so_many_embeddings_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bert, "_REMEMBERED", 3)
    space = letters()

    space.similarity(["a" * n for n in range(1, 9)], ["b"] * 8)

    assert len(space._known) == 3


def test_a_machine_whose_batches_change_bits_embeds_one_text_at_a_time() -> None:
    def encode(texts: Sequence[str]) -> NDArray[np.float64]:
        return by_letters(texts) + len(set(texts)) * 1e-9

    space = EncoderSpace("letters", 101, characters, encode)
    assert space.texts_at_once == 1
    together = space.similarity(("ab", "aa", "bb"), ("ba", "ab", "ab"))

    for number, pair in enumerate((("ab", "ba"), ("aa", "ab"), ("bb", "ab"))):
        alone = EncoderSpace("letters", 101, characters, encode)
        assert alone.similarity(pair[:1], pair[1:]).tobytes() == together[number].tobytes()


def test_a_text_longer_than_the_limit_is_counted() -> None:
    assert letters().truncated(("a" * 100, "a" * 101, "b")) == 1


def test_the_cosines_are_those_of_transformers(minilm: str) -> None:
    texts = generated_texts()
    first, second = [*texts[:-1], "long " * 700], [*texts[1:], "long " * 600 + "short"]

    cosines = fresh(minilm).similarity(first, second)

    assert np.abs(cosines - published_cosines(minilm, first, second)).max() < 1e-6


def test_identical_texts_give_exactly_one(minilm: str) -> None:
    texts = generated_texts()

    assert (fresh(minilm).similarity(texts, texts) == 1.0).all()


def test_the_order_of_the_two_texts_does_not_count(minilm: str) -> None:
    texts = generated_texts()[:12]
    there = fresh(minilm).similarity(texts[:-1], texts[1:])

    assert fresh(minilm).similarity(texts[1:], texts[:-1]).tobytes() == there.tobytes()


@cache
def all_cosines(model: str) -> NDArray[np.float64]:
    texts = generated_texts()
    return fresh(model).similarity(texts[:-1], texts[1:])


@settings(
    deadline=None, max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(chosen=st.lists(st.integers(0, 47), min_size=1, max_size=14))
def test_a_cosine_has_the_same_bits_in_any_subset_and_order(minilm: str, chosen: list[int]) -> None:
    texts = generated_texts()

    some = fresh(minilm).similarity([texts[i] for i in chosen], [texts[i + 1] for i in chosen])

    assert some.tobytes() == all_cosines(minilm)[chosen].tobytes()


def test_a_cosine_has_the_same_bits_with_two_threads(minilm: str) -> None:
    torch: Any = importlib.import_module("torch")
    texts = generated_texts()
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        shared = fresh(minilm).similarity(texts[:-1], texts[1:])
    finally:
        torch.set_num_threads(threads)

    assert shared.tobytes() == all_cosines(minilm).tobytes()


def test_a_space_is_made_once_a_process(minilm: str) -> None:
    assert bert.space(minilm) is bert.space(minilm)


def test_texts_can_be_cut_earlier_than_the_encoder_does(minilm: str) -> None:
    short = bert.space(minilm, most_tokens=10)
    # Ten tokens: two special ones and eight words.
    same, other = "we ask for a fair loan and help", "we ask for a fair loan and go"

    assert bert.space(minilm).most_tokens == 512
    assert short.truncated((same, same + " today")) == 1
    cut, kept = short.similarity((f"{same} today", other), (f"{same} tomorrow", same))
    assert cut == pytest.approx(1.0, abs=1e-12)
    assert kept < 1.0
    with pytest.raises(ValueError, match="at least 3 tokens"):
        bert.space(minilm, most_tokens=2)


def test_a_text_without_a_token_is_not_compared(minilm: str) -> None:
    assert math.isnan(fresh(minilm).similarity(("\u200b",), ("hello",))[0])


def test_the_identity_names_the_weights(minilm: str) -> None:
    assert bert.identity(minilm) == {
        "model": minilm,
        "weights_sha256": WEIGHTS_SHA256,
        "tokenizer_sha256": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    }


def test_a_missing_library_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)

    with pytest.raises(CaffeError, match=r"metric bert needs .*pip install 'caffe-pytest\[bert\]'"):
        bert.model_folder.__wrapped__("nobody/nothing", "bert")


def test_a_missing_folder_is_named() -> None:
    pytest.importorskip("torch")
    with pytest.raises(CaffeError, match=r"there is no folder \./nowhere; give the folder"):
        bert.space("./nowhere")


@pytest.mark.parametrize("offline", ["1", "0"])
def test_a_model_that_cannot_be_downloaded_is_named_at_once(minilm: str, offline: str) -> None:
    # In a process of its own: the hub's client reads its settings when it is imported.
    program = (
        "import time; from caffe_pytest.errors import CaffeError\n"
        "from caffe_pytest.metrics import bert\n"
        "import huggingface_hub; began = time.monotonic()\n"
        "try: bert.identity('nobody/nothing')\n"
        "except CaffeError as error: print(error); assert time.monotonic() - began < 5"
    )
    settings_of_hub = {"HF_HUB_OFFLINE": offline, "HF_ENDPOINT": "http://127.0.0.1:9"}

    told = subprocess.run(
        [sys.executable, "-c", program],
        check=True,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": ":".join(sys.path), "PATH": "", **settings_of_hub},
    )

    assert "the model nobody/nothing is not on this machine" in told.stdout
    assert "download it once while online" in told.stdout
    assert len(told.stdout.splitlines()) == 1


def damaged(minilm: str, tmp_path: Path) -> Path:
    return Path(shutil.copytree(minilm, tmp_path / "model"))


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json"])
def test_a_damaged_file_is_an_error_of_one_line(minilm: str, tmp_path: Path, name: str) -> None:
    folder = damaged(minilm, tmp_path)
    (folder / name).write_bytes((folder / name).read_bytes()[:300])

    with pytest.raises(
        CaffeError, match=r"metric bert: the model .*model cannot be loaded"
    ) as told:
        bert.space(str(folder))
    assert "\n" not in str(told.value)


def test_weights_that_are_missing_are_not_made_up(minilm: str, tmp_path: Path) -> None:
    safetensors: Any = importlib.import_module("safetensors.torch")
    folder = damaged(minilm, tmp_path)
    weights = safetensors.load_file(folder / "model.safetensors")
    del weights["encoder.layer.3.output.dense.weight"]
    safetensors.save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})

    with pytest.raises(CaffeError, match=r"1 of its weights are missing, as encoder\.layer\.3"):
        bert.space(str(folder))


def test_a_folder_without_weights_is_named(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    with pytest.raises(CaffeError, match="has no weights in the format safetensors"):
        bert.space(str(tmp_path))


def test_importing_the_metric_imports_no_heavy_library() -> None:
    program = (
        "import sys; import caffe_pytest.metrics.bert, caffe_pytest.metrics.sentence_embedding; "
        "assert not {'torch', 'transformers', 'numpy', 'huggingface_hub'} & sys.modules.keys()"
    )

    subprocess.run([sys.executable, "-c", program], check=True)
