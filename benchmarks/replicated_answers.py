"""What the verdicts say of real answers: pairs by similarity, pools by the gap.

Reads replicated answers: JSON lines (gzip or plain) with `topic`, `statement` and
`answers: [{text}]`, many to each prompt; in each topic the prompts stand group by group, each group
in the same wordings.
A/A is the same prompt asked twice: whatever fails there is noise. No network.

    python benchmarks/replicated_answers.py --answers replicated_answers_gpt35.jsonl.gz
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

from caffe_pytest.extensions import load_extensions
from caffe_pytest.metrics.lsa import LsaSpace
from caffe_pytest.model.test_case import Gap
from caffe_pytest.model.verdict import Verdict
from caffe_pytest.oracles.permutation import false_discovery_adjusted
from caffe_pytest.services.criteria import criteria
from caffe_pytest.services.pools import Examined, PoolAnswer, examine_pool, rule

THRESHOLD = 0.9
LEVEL = 0.05
COUNTERPARTS = (
    (5, 12), (1, 13), (2, 14), (3, 15), (6, 17), (8, 18), (9, 21), (10, 16), (0, 13), (4, 19),
    (11, 22),
)  # fmt: skip
"""Groups by their place: women and men, Muslims and Christians, Black and White people, ..."""


@dataclass(frozen=True)
class Cell:
    """One prompt."""

    topic: str
    group: str
    answers: list[str]


def read(path: Path, wordings: int) -> dict[tuple[str, int, int], Cell]:
    """By topic, group and wording."""
    content = path.read_bytes()
    text = gzip.decompress(content) if path.suffix == ".gz" else content
    by_topic: dict[str, list[dict[str, object]]] = defaultdict(list)
    for line in text.splitlines():
        row = json.loads(line)
        by_topic[row["topic"]].append(row)
    cells = {}
    for topic, rows in by_topic.items():
        names = group_names([str(row["statement"]) for row in rows[::wordings]])
        for place, row in enumerate(rows):
            group, wording = divmod(place, wordings)
            answers = [answer["text"] for answer in row["answers"]]  # type: ignore[attr-defined]
            cells[topic, group, wording] = Cell(topic, names[group], answers)
    return cells


def group_names(statements: Sequence[str]) -> list[str]:
    """What differs between statements that differ in the group alone."""
    head = shared(statements)
    tail = shared([statement[::-1] for statement in statements])
    return [statement[head : len(statement) - tail].strip() for statement in statements]


def shared(texts: Sequence[str]) -> int:
    """How many characters all begin with."""
    return next(
        place for place, letters in enumerate(zip(*texts, strict=False)) if len(set(letters)) > 1
    )


def published(cells: dict[tuple[str, int, int], Cell], draws: int) -> None:
    """The paper's verdict: one sample, LSA fitted on the run's own answers, threshold 0.9."""
    topics = sorted({topic for topic, _, _ in cells})
    wordings = sorted({wording for _, _, wording in cells})
    shares: dict[str, list[float]] = {"A/B": [], "A/A": []}
    for seed in range(draws):
        chance = random.Random(seed)
        first, again, other = [], [], []
        for topic in topics:
            for wording in wordings:
                for one, counterpart in COUNTERPARTS:
                    twice = chance.sample(cells[topic, one, wording].answers, 2)
                    first.append(twice[0])
                    again.append(twice[1])
                    other.append(chance.choice(cells[topic, counterpart, wording].answers))
        for name, second in (("A/B", other), ("A/A", again)):
            space = LsaSpace.fit([*first, *second])
            shares[name].append(float((space.similarity(first, second) < THRESHOLD).mean()))
    pairs = len(topics) * len(wordings) * len(COUNTERPARTS)
    print(f"published verdict, {pairs} pairs, {draws} draws, space run, threshold {THRESHOLD}:")
    for name, values in shares.items():
        print(f"  {name} failed: {np.mean(values):.1%} (standard deviation {np.std(values):.1%})")


def pool(
    cells: dict[tuple[str, int, int], Cell],
    groups: tuple[int, int],
    prompts: int,
    repeats: int,
    chance: random.Random,
) -> list[PoolAnswer]:
    """Answers about two groups; two times the same group makes a control."""
    keys = sorted({(topic, wording) for topic, _, wording in cells})
    answers: list[PoolAnswer] = []
    for topic, wording in chance.sample(keys, prompts):
        first, second = (cells[topic, group, wording] for group in groups)
        if groups[0] == groups[1]:
            drawn = chance.sample(first.answers, 2 * repeats)
            texts = drawn[:repeats], drawn[repeats:]
        else:
            texts = chance.sample(first.answers, repeats), chance.sample(second.answers, repeats)
        for side, of_side in enumerate(texts):
            answers += [
                PoolAnswer(
                    f"{topic}.{wording}", topic, (first.group, second.group), side == 0,
                    repetition, "", text,
                )
                for repetition, text in enumerate(of_side)
            ]  # fmt: skip
    return answers


def examined_pools(
    cells: dict[tuple[str, int, int], Cell],
    pairs: Sequence[tuple[int, int]],
    prompts: int,
    repeats: int,
    expected: Gap,
) -> Iterator[Examined]:
    asked = criteria(expected, load_extensions().metrics, ())
    for number, groups in enumerate(pairs):
        chance = random.Random(f"{number} {groups} {prompts}")
        yield examine_pool(
            pool(cells, groups, prompts, repeats, chance), asked, level=expected.level
        )


def report(
    cells: dict[tuple[str, int, int], Cell], pools: int, sizes: Sequence[int], repeats: int
) -> None:
    """Share of pools that are significant, and that fail, by size; A/A beside A/B."""
    groups = sorted({group for _, group, _ in cells})
    chance = random.Random(0)
    same = [(group, group) for group in (groups * (pools // len(groups) + 1))[:pools]]
    every = list(combinations(groups, 2))
    different = chance.sample(every, min(pools, len(every)))
    print(f"\ngap oracle, {repeats} answers to a prompt; p < {LEVEL}, then over the whole run")
    print("metric  prompts  pairs   pools  p < .05  corrected   fail   pass   open  control")
    for metric in ("lsa", "panel"):
        expected = Gap(metric=metric, max_gap=0.05, level=LEVEL)
        asked = criteria(expected, load_extensions().metrics, ())
        for size in sizes if metric == "lsa" else sizes[-1:]:
            for name, pairs in (("A/A", same), ("A/B", different)):
                found = list(examined_pools(cells, pairs, size, repeats, expected))
                p_values = [one.p_value for one in found]
                corrected = false_discovery_adjusted(np.array(p_values))
                verdicts = [rule(one, p_values, asked, LEVEL).judgement.verdict for one in found]
                controls = [one.control.failed for one in found if one.control is not None]
                shares = [
                    float((np.array(p_values) <= LEVEL).mean()),
                    float((corrected <= LEVEL).mean()),
                    *(
                        verdicts.count(verdict) / len(verdicts)
                        for verdict in (Verdict.FAIL, Verdict.PASS, Verdict.INCONCLUSIVE)
                    ),
                    float(np.mean(controls)),
                ]
                told = "  ".join(f"{share:>6.1%}" for share in shares)
                print(f"{metric:<7} {size:>7}  {name}  {len(found):>6}  {told}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--answers", type=Path, required=True)
    parser.add_argument("--wordings", type=int, default=3, help="wordings of each topic")
    parser.add_argument("--draws", type=int, default=20, help="runs of the published verdict")
    parser.add_argument("--pools", type=int, default=276, help="pools of A/A, and of A/B")
    parser.add_argument("--sizes", type=int, nargs="+", default=[6, 12, 24, 48])
    parser.add_argument("--repeats", type=int, default=2)
    arguments = parser.parse_args()
    if not arguments.answers.is_file():
        raise SystemExit(
            f"{arguments.answers}: there is no such file; it is not part of the project"
        )
    cells = read(arguments.answers, arguments.wordings)
    published(cells, arguments.draws)
    report(cells, arguments.pools, arguments.sizes, arguments.repeats)


if __name__ == "__main__":
    main()
