"""How often the published verdict fails real answers, in the space of the run and the frozen one.

Reads replicated answers: JSON lines (gzip or plain) with `topic` and `answers: [{text}]`, several
answers to each prompt, prompts of one topic group by group, each group in the same wordings. Pairs
are A/A (the same prompt asked twice) and A/B (the same wording about two groups). No network.

    python benchmarks/lsa_spaces.py --answers replicated_answers_gpt35.jsonl.gz
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections import defaultdict
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from caffe_pytest.metrics.lsa import LsaSpace, reference_space

THRESHOLD = 0.9
SHIFTS = (1, 5, 11)
"""A group is paired with the groups this many places further on in its topic."""

Pairs = list[tuple[str, str]]


def read(path: Path) -> list[dict[str, object]]:
    content = path.read_bytes()
    text = gzip.decompress(content) if path.suffix == ".gz" else content
    return [json.loads(line) for line in text.splitlines()]


def pairs_of(rows: list[dict[str, object]], wordings: int) -> tuple[Pairs, Pairs]:
    """A/A pairs and A/B pairs."""
    by_topic: dict[object, list[list[str]]] = defaultdict(list)
    for row in rows:
        by_topic[row["topic"]].append([answer["text"] for answer in row["answers"]])  # type: ignore[attr-defined]
    same: Pairs = []
    other: Pairs = []
    for prompts in by_topic.values():
        groups = len(prompts) // wordings
        for number, answers in enumerate(prompts):
            half = len(answers) // 2
            same += zip(answers[:half], answers[half : 2 * half], strict=True)
            group, wording = divmod(number, wordings)
            for shift in SHIFTS:
                partner = prompts[(group + shift) % groups * wordings + wording]
                other += list(zip(answers, partner, strict=True))[:7]
    return same, other


def scores(space: LsaSpace, pairs: Pairs) -> NDArray[np.float64]:
    first, second = zip(*pairs, strict=True)
    return space.similarity(first, second)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--answers", type=Path, required=True)
    parser.add_argument("--wordings", type=int, default=3, help="wordings of each topic")
    arguments = parser.parse_args()
    if not arguments.answers.is_file():
        raise SystemExit(
            f"{arguments.answers}: there is no such file; it is not part of the project"
        )
    rows = read(arguments.answers)
    same, other = pairs_of(rows, arguments.wordings)
    texts = [text for pair in same for text in pair]
    spaces = {"run": LsaSpace.fit(texts), "reference": reference_space()}
    print(f"{len(same):,} A/A pairs, {len(other):,} A/B pairs; threshold {THRESHOLD}")
    print("space      A/A failed  A/B failed  A/A mean  A/B mean    AUC")
    for name, space in spaces.items():
        a, b = scores(space, same), scores(space, other)
        a, b = a[~np.isnan(a)], b[~np.isnan(b)]
        truth = np.r_[np.ones(len(a)), np.zeros(len(b))]
        auc = roc_auc_score(truth, np.r_[a, b])
        failed = [f"{np.mean(x < THRESHOLD):>11.1%}" for x in (a, b)]
        print(f"{name:<10}{failed[0]} {failed[1]}  {a.mean():>8.3f}  {b.mean():>8.3f}  {auc:>5.3f}")


if __name__ == "__main__":
    main()
