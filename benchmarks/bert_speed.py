"""Time of the encoder metrics against plain transformers and sentence-transformers code.

Every way scores the same pairs; the ways take turns, and ratios to the first are printed. A real
model has to be on this machine. No network.

    python benchmarks/bert_speed.py --model FOLDER [--pairs 2000] [--threads 1]
    python benchmarks/bert_speed.py --model FOLDER --answers replicated_answers_gpt35.jsonl.gz
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caffe_pytest.metrics import bert, sentence_embedding

WORDS = (
    "we should ask people for a fair answer and give each of them good advice on loans work or "
    "health because everybody deserves respect women men young old doctors teachers nurses"
)
REFUSALS = ("I'm sorry, but I can't help with that.", "As a language model, I have no opinion.")
PUBLISHED_TEXTS_AT_ONCE = 32

Texts = Sequence[str]
Way = Callable[[], NDArray[np.float64]]


def generated(pairs: int) -> tuple[list[str], list[str]]:
    """Answers of 10 to 70 words; one in ten is one of two refusals."""
    source, words = random.Random(7), WORDS.split()

    def answer() -> str:
        if source.random() < 0.1:
            return source.choice(REFUSALS)
        return " ".join(source.choices(words, k=source.randint(10, 70)))

    return [answer() for _ in range(pairs)], [answer() for _ in range(pairs)]


def replicated(path: Path, pairs: int) -> tuple[list[str], list[str]]:
    """Neighbouring answers to one prompt."""
    content = path.read_bytes()
    text = gzip.decompress(content) if path.suffix == ".gz" else content
    first: list[str] = []
    second: list[str] = []
    for line in text.splitlines():
        answers = [answer["text"] for answer in json.loads(line)["answers"]]
        first += answers[0::2][: len(answers) // 2]
        second += answers[1::2]
    chosen = random.Random(7).sample(range(len(first)), min(pairs, len(first)))
    return [first[i] for i in chosen], [second[i] for i in chosen]


def notebook(model: str, first: Texts, second: Texts) -> Way:
    """One pair at a time, as published."""
    torch: Any = import_module("torch")
    transformers: Any = import_module("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    encoder = transformers.AutoModel.from_pretrained(model).eval()

    def embedding(text: str) -> Any:
        inputs = tokenizer(text, padding=True, truncation=True, max_length=512, return_tensors="pt")
        with torch.no_grad():
            states = encoder(**inputs).last_hidden_state
        mask = inputs["attention_mask"].unsqueeze(-1).float()
        return (states * mask).sum(1) / mask.sum(1)

    def score() -> NDArray[np.float64]:
        cosine = torch.nn.functional.cosine_similarity
        return np.array(
            [
                float(cosine(embedding(one), embedding(other)))
                for one, other in zip(first, second, strict=True)
            ]
        )

    return score


def batches(model: str, first: Texts, second: Texts) -> Way:
    """The library's own padded batches."""
    library: Any = import_module("sentence_transformers")
    encoder = library.SentenceTransformer(model, device="cpu")

    def score() -> NDArray[np.float64]:
        options = {"batch_size": PUBLISHED_TEXTS_AT_ONCE, "show_progress_bar": False}
        one, other = encoder.encode(list(first), **options), encoder.encode(list(second), **options)
        return np.asarray(library.util.pairwise_cos_sim(one, other), dtype=np.float64)

    return score


def ours(space: bert.EncoderSpace, first: Texts, second: Texts, *, texts_at_once: int) -> Way:
    def score() -> NDArray[np.float64]:
        space.forget()
        usual, space.texts_at_once = space.texts_at_once, texts_at_once
        try:
            return space.similarity(first, second)
        finally:
            space.texts_at_once = usual

    return score


def seconds_of(program: str) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", program], check=True)
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", required=True, help="folder of a model of sentence-transformers")
    parser.add_argument("--pairs", type=int, default=2000)
    parser.add_argument("--answers", type=Path)
    parser.add_argument("--threads", type=int, help="of torch; its own default if not given")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    os.environ["HF_HUB_OFFLINE"] = "1"
    if arguments.threads:
        import_module("torch").set_num_threads(arguments.threads)
    model = arguments.model
    first, second = (
        replicated(arguments.answers, arguments.pairs)
        if arguments.answers
        else generated(arguments.pairs)
    )
    spaces = {"bert": bert.space(model), "sentences": sentence_embedding.space(model)}
    encoder, sentences = spaces.values()
    ways = {
        "one pair at a time": notebook(model, first, second),
        "library's batches": batches(model, first, second),
        "bert, one by one": ours(encoder, first, second, texts_at_once=1),
        "bert": ours(encoder, first, second, texts_at_once=encoder.texts_at_once),
        "sentence-transformers": ours(
            sentences, first, second, texts_at_once=sentences.texts_at_once
        ),
    }
    taken: dict[str, list[float]] = {name: [] for name in ways}
    scores: dict[str, NDArray[np.float64]] = {}
    for _ in range(arguments.rounds):
        for name, way in ways.items():
            began = time.perf_counter()
            scores[name] = way()
            taken[name].append(time.perf_counter() - began)
    plain = next(iter(scores.values()))
    baseline = statistics.median(next(iter(taken.values())))
    print(f"{len(first):,} pairs, {len({*first, *second}):,} distinct texts, medians")
    print(f"{'way':<24}{'seconds':>9}{'times as fast':>15}{'largest difference':>20}")
    for name, times in taken.items():
        middle, gap = statistics.median(times), np.abs(scores[name] - plain).max()
        print(f"{name:<24}{middle:>9.1f}{baseline / middle:>15.2f}{gap:>20.1e}")
    print(
        f"bert: same bits one by one: {np.array_equal(scores['bert'], scores['bert, one by one'])}"
    )
    for name in ("caffe_pytest.metrics.bert", "torch", "transformers", "sentence_transformers"):
        print(f"import {name}: {seconds_of(f'import {name}') - seconds_of(''):.2f} s")


if __name__ == "__main__":
    main()
