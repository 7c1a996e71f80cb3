"""False alarms and detection of both oracles, on simulated models whose unfairness is known.

Pools of prompt pairs are answered by `simulated/fair` (whatever fails is a false alarm) and by
`simulated/biased` with one kind of disparity. All pools of a table are judged as one run. No
network, no data but the shipped knowledge base.

    python benchmarks/planted_disparities.py
    python benchmarks/planted_disparities.py --curves
"""

from __future__ import annotations

import argparse
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path

import numpy as np
from scipy.stats import beta

from caffe_pytest.design.intent import Intent, load_intent
from caffe_pytest.design.pairs import design_pairs, make_pair
from caffe_pytest.extensions import Extensions, load_extensions
from caffe_pytest.hookspecs import SimilarityMetric
from caffe_pytest.knowledge.load import load_base
from caffe_pytest.metrics.refusal import is_refusal
from caffe_pytest.model.answer import Message
from caffe_pytest.model.test_case import Gap, Prompts
from caffe_pytest.model.triple import KnowledgeBase
from caffe_pytest.model.verdict import Verdict
from caffe_pytest.providers.simulated import DISPARITIES, Disparity, Simulation
from caffe_pytest.services.criteria import Asked, criteria
from caffe_pytest.services.pools import Examined, PoolAnswer, examine_pool, rule

INTENTS = ("recommendation", "question", "direction", "clarification")
THRESHOLD = 0.9
LEVEL = 0.05


@dataclass(frozen=True)
class Pool:
    """A simulated pool; `kind` is None where nothing is planted."""

    kind: Disparity | None
    strength: float
    answers: list[PoolAnswer]
    planted: frozenset[tuple[str, int]]
    """Prompt pairs and repetitions whose answer about the disadvantaged group is treated worse."""


class Laboratory:
    """Asks simulated models about the shipped knowledge base."""

    def __init__(self, extensions: Extensions, temperature: float) -> None:
        path = extensions.knowledge_bases["crows-pairs"]
        self.base: KnowledgeBase = load_base(path)
        self.simulation = Simulation.of(self.base.sha256, self.base.triples)
        self.intents = self._intents(extensions.intents)
        self.temperature = temperature

    @staticmethod
    def _intents(paths: Sequence[Path]) -> list[Intent]:
        loaded = {intent.name: intent for intent in map(load_intent, paths)}
        return [loaded[name] for name in INTENTS]

    def pools(
        self, kind: Disparity | None, strength: float, prompts: int, repeats: int
    ) -> Iterator[Pool]:
        """Over bias types and intents, each time with other prompts, without end."""
        seed = 0
        while True:
            for bias_type, intent in product(self.base.bias_types, self.intents):
                yield self._pool(kind, strength, (bias_type, intent, prompts, repeats), seed)
                seed += 1

    def _pool(
        self,
        kind: Disparity | None,
        strength: float,
        design: tuple[str, Intent, int, int],
        seed: int,
    ) -> Pool:
        bias_type, intent, prompts, repeats = design
        triples = [t for t in self.base.triples if t.valid and t.bias_type == bias_type]
        wanted = Prompts(knowledge_base=("crows-pairs",), at_least=prompts, seed=seed)
        answers: list[PoolAnswer] = []
        planted: set[tuple[str, int]] = set()
        for slot in design_pairs(triples, intent, wanted).slots:
            pair = make_pair(slot, intent, seed)
            for side, repetition in product((0, 1), range(repeats)):
                prompt = pair.prompts[side]
                text = self._answer(kind, strength, prompt, seed, repetition)
                if kind and text != self._answer(None, strength, prompt, seed, repetition):
                    planted.add((slot.name, repetition))
                answers.append(
                    PoolAnswer(
                        slot.name, slot.triple.id, pair.groups, side == 0, repetition, prompt, text
                    )
                )
        return Pool(kind, strength, answers, frozenset(planted))

    def _answer(
        self, kind: Disparity | None, strength: float, prompt: str, seed: int, repetition: int
    ) -> str:
        model = "simulated/biased" if kind else "simulated/fair"
        parameters = {
            "temperature": self.temperature, "seed": seed, "strength": strength,
            "disparities": [kind or "tone"],
        }  # fmt: skip
        messages = [Message("user", prompt)]
        return self.simulation.answer(model, messages, parameters, repetition).text


@dataclass(frozen=True)
class Judged:
    """What both oracles say of a pool."""

    pool: Pool
    examined: Examined
    pair_failed: dict[str, bool]
    """The published verdict on each prompt pair: first answers, LSA at 0.9."""


def judge(pool: Pool, asked: Sequence[Asked], lsa: SimilarityMetric) -> Judged:
    examined = examine_pool(pool.answers, asked, level=LEVEL)
    texts: dict[str, dict[bool, str]] = defaultdict(dict)
    for answer in pool.answers:
        if answer.repetition == 0:
            texts[answer.pair][answer.disadvantaged] = answer.text or ""
    scores = lsa.reference().similarity(
        [both[True] for both in texts.values()], [both[False] for both in texts.values()]
    )
    declined = [any(map(is_refusal, both.values())) for both in texts.values()]
    failed = (scores < THRESHOLD) | np.array(declined)
    return Judged(pool, examined, dict(zip(texts, failed.tolist(), strict=True)))


def verdicts(judged: Sequence[Judged], asked: Sequence[Asked]) -> list[Verdict]:
    """All pools as one run."""
    p_values = [one.examined.p_value for one in judged]
    return [rule(one.examined, p_values, asked, LEVEL).judgement.verdict for one in judged]


def upper_bound(failed: int, judged: int) -> float:
    """Upper end of the one-sided 95 % interval of a share (Clopper and Pearson)."""
    return 1.0 if failed == judged else float(beta.ppf(0.95, failed + 1, judged - failed))


def main_table(lab: Laboratory, asked: Sequence[Asked], metrics: Extensions, pools: int) -> None:
    """Half of the pools fair, half planted with each kind in turn; one run."""
    lsa = metrics.metrics["lsa"]
    assert isinstance(lsa, SimilarityMetric)
    begin = time.perf_counter()
    fair = [judge(pool, asked, lsa) for pool in islice(lab.pools(None, 0.4, 48, 2), pools)]
    each = pools // len(DISPARITIES)
    planted = [
        judge(pool, asked, lsa)
        for kind in DISPARITIES
        for pool in islice(lab.pools(kind, 0.4, 48, 2), each)
    ]
    everything = fair + planted
    found = verdicts(everything, asked)
    seconds = time.perf_counter() - begin
    print(
        f"{len(everything)} pools of 48 prompt pairs x 2 answers, temperature {lab.temperature:g}, "
        f"strength 0.4, {seconds / len(everything):.2f} s a pool"
    )
    print("planted      pools  fail  inconclusive  pass  error")
    for kind in (None, *DISPARITIES):
        of_kind = [v for v, one in zip(found, everything, strict=True) if one.pool.kind == kind]
        counts = Counter(of_kind)
        print(
            f"{kind or 'nothing':<12} {len(of_kind):>5} {counts[Verdict.FAIL]:>5} "
            f"{counts[Verdict.INCONCLUSIVE]:>13} {counts[Verdict.PASS]:>5} "
            f"{counts[Verdict.ERROR]:>6}"
        )
    alarms = [v for v, one in zip(found, everything, strict=True) if not one.pool.kind]
    failed = alarms.count(Verdict.FAIL)
    print(f"false alarms {failed} of {len(alarms)}, upper 95 % bound", end=" ")
    print(f"{upper_bound(failed, len(alarms)):.1%}")
    raw = [one.examined.p_value <= LEVEL for one in fair]
    print(f"fair pools with p < {LEVEL} before the correction for the run: {np.mean(raw):.1%}")
    controls = [one.examined.control.failed for one in everything if one.examined.control]
    print(f"controls failed: {np.mean(controls):.1%} of {len(controls)}")
    compared(everything, found)


def compared(judged: Sequence[Judged], found: Sequence[Verdict]) -> None:
    """F1 of both oracles in one table."""
    truth = [one.pool.kind is not None for one in judged]
    gap = [verdict is Verdict.FAIL for verdict in found]
    any_pair = [any(one.pair_failed.values()) for one in judged]
    most = [np.mean(list(one.pair_failed.values())) > 0.5 for one in judged]
    pair_truth = [(pair, 0) in one.pool.planted for one in judged for pair in one.pair_failed]
    pair_found = [failed for one in judged for failed in one.pair_failed.values()]
    print(
        "\nverdict                                 unit  false alarms  detection  precision    F1"
    )
    for name, unit, real, said in (
        ("published, LSA 0.9, one sample", "pair", pair_truth, pair_found),
        ("published, a pool fails with any pair", "pool", truth, any_pair),
        ("published, a pool fails with most pairs", "pool", truth, most),
        ("gap oracle, panel", "pool", truth, gap),
    ):
        is_real, is_said = np.array(real, dtype=bool), np.array(said, dtype=bool)
        hits = int((is_real & is_said).sum())
        alarms, detected = is_said[~is_real].mean(), is_said[is_real].mean()
        precision = hits / max(int(is_said.sum()), 1)
        score = 2 * hits / max(int(is_real.sum()) + int(is_said.sum()), 1)
        print(
            f"{name:<39} {unit}  {alarms:>12.1%} {detected:>10.1%} {precision:>10.1%} {score:>5.2f}"
        )


def curves(lab: Laboratory, asked: Sequence[Asked], metrics: Extensions, pools: int) -> None:
    """Detection over strength, over pool size, and over the number of answers."""
    lsa = metrics.metrics["lsa"]
    assert isinstance(lsa, SimilarityMetric)
    designs = [(s, 48, 2) for s in (0.1, 0.2, 0.3, 0.4, 0.6, 0.8)]
    designs += [(0.4, prompts, 2) for prompts in (6, 12, 24, 96)] + [(0.4, 24, 4), (0.4, 12, 8)]
    print(f"\nshare of {pools} pools that fail; a run is all pools of a line")
    print("strength  prompts  answers   nothing  " + "  ".join(f"{k:>10}" for k in DISPARITIES))
    for strength, prompts, repeats in designs:
        judged = [
            judge(pool, asked, lsa)
            for kind in (None, *DISPARITIES)
            for pool in islice(lab.pools(kind, strength, prompts, repeats), pools)
        ]
        found = verdicts(judged, asked)
        shares = {
            kind: np.mean([
                v is Verdict.FAIL for v, one in zip(found, judged, strict=True)
                if one.pool.kind == kind
            ])
            for kind in (None, *DISPARITIES)
        }  # fmt: skip
        told = "  ".join(f"{shares[kind]:>10.0%}" for kind in DISPARITIES)
        print(
            f"{strength:>8.1f}  {prompts:>7}  {repeats:>7}  {shares[None]:>8.0%}  {told}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pools", type=int, default=200, help="fair pools, and planted ones")
    parser.add_argument("--curves", action="store_true", help="also over strength and size")
    parser.add_argument("--curve-pools", type=int, default=36, help="of each kind, for each point")
    parser.add_argument("--temperature", type=float, default=0.7)
    arguments = parser.parse_args()
    extensions = load_extensions()
    lab = Laboratory(extensions, arguments.temperature)
    asked = criteria(Gap(), extensions.metrics, ())
    main_table(lab, asked, extensions, arguments.pools)
    if arguments.curves:
        curves(lab, asked, extensions, arguments.curve_pools)


if __name__ == "__main__":
    main()
