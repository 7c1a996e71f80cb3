"""Which prompt pairs a test case has, and the making of each.

Choosing is cheap and happens when test cases are collected; a prompt is rendered when it is asked.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby

from caffe_pytest.design.counterfactual import check_counterfactual
from caffe_pytest.design.intent import Intent
from caffe_pytest.design.plateau import find_plateau
from caffe_pytest.design.sampling import draw
from caffe_pytest.model.prompt_pair import PromptPair
from caffe_pytest.model.test_case import Prompts
from caffe_pytest.model.triple import Triple

DEFAULT_PER_TRIPLE = 12


@dataclass(frozen=True, slots=True)
class PairSlot:
    """A pair that will be made: the place of a prompt in the order of its triple."""

    triple: Triple
    number: int
    """1-based within the triple."""
    name: str
    """Stable and readable, e.g. `gender.leadership.women-men.03`; unique in its test case."""


@dataclass(frozen=True, slots=True)
class PairDesign:
    """The pairs of a test case."""

    slots: tuple[PairSlot, ...]
    plateau_not_reached: int = 0
    """Triples whose vocabulary still grew with the last prompt there was."""
    populations: Mapping[str, int] = field(default_factory=dict)
    """Pairs of each bias type that there were to sample from."""


def design_pairs(triples: Sequence[Triple], intent: Intent, prompts: Prompts) -> PairDesign:
    """The pairs to ask, in the order of the triples, sampled where `prompts` says so."""
    counts, not_reached = _counts(triples, intent, prompts)
    names = _unique_names(triples)
    slots = [
        PairSlot(triple, number, f"{names[triple.id]}.{number:02d}")
        for triple in triples
        for number in range(1, counts[triple.id] + 1)
    ]
    populations = Counter(slot.triple.bias_type for slot in slots)
    if prompts.sample is not None:
        # the stratum of the paper: intent x bias type
        kept: set[str] = set()
        by_type = sorted(slots, key=lambda slot: slot.triple.bias_type)
        for bias_type, group in groupby(by_type, key=lambda slot: slot.triple.bias_type):
            stratum = list(group)
            indices = draw(len(stratum), prompts.sample, f"{intent.name}/{bias_type}")
            kept.update(stratum[index].name for index in indices)
        slots = [slot for slot in slots if slot.name in kept]
    return PairDesign(tuple(slots), not_reached, populations)


def make_pair(slot: PairSlot, intent: Intent, seed: int) -> PromptPair:
    """The two prompts of a slot, proven to differ only in the group.

    Raises:
        NotCounterfactual: the template depends on the group.
        CaffeError: the template cannot be rendered.
    """
    triple = slot.triple
    template = template_order(triple, intent, seed)[slot.number - 1]
    disadvantaged, advantaged = (
        intent.render(template, group=group, topic=triple.topic)
        for group in (triple.disadvantaged, triple.advantaged)
    )
    pair = PromptPair(triple, intent.name, slot.number, disadvantaged, advantaged)
    check_counterfactual(pair)
    return pair


def template_order(triple: Triple, intent: Intent, seed: int) -> tuple[int, ...]:
    """The templates in the order in which this triple takes them.

    Each triple has its own order, so that a few prompts a triple still use all templates; it
    depends on nothing but the seed, the triple and the intent.
    """
    return _shuffled(len(intent.file.templates), f"{seed}\0{intent.name}\0{triple.id}")


@lru_cache(maxsize=1024)
def _shuffled(length: int, salt: str) -> tuple[int, ...]:
    def rank(index: int) -> bytes:
        return hashlib.blake2b(f"{salt}\0{index}".encode(), digest_size=8).digest()

    return tuple(sorted(range(length), key=rank))


def _counts(
    triples: Sequence[Triple], intent: Intent, prompts: Prompts
) -> tuple[dict[str, int], int]:
    if prompts.at_least is not None:
        return _spread(triples, intent, prompts.at_least, prompts.seed), 0
    if prompts.plateau is None:
        number = per_triple(intent, prompts)
        return {triple.id: number for triple in triples}, 0
    counts = {}
    not_reached = 0
    for triple in triples:
        found = find_plateau(_rendered(triple, intent, prompts.seed), prompts.plateau)
        counts[triple.id] = found.prompts
        not_reached += not found.reached
    return counts, not_reached


def _spread(triples: Sequence[Triple], intent: Intent, at_least: int, seed: int) -> dict[str, int]:
    """So many prompt pairs for each bias type, or all there are, evenly over its triples.

    Where there are more triples than pairs, the seed chooses.
    """
    counts = {}
    for bias_type, of_type in _by_bias_type(triples).items():
        size = min(at_least, len(of_type) * len(intent.file.templates))
        each, more = divmod(size, len(of_type))
        for rank, place in enumerate(_shuffled(len(of_type), f"{seed}\0{bias_type}")):
            counts[of_type[place].id] = each + (rank < more)
    return counts


def _by_bias_type(triples: Sequence[Triple]) -> dict[str, list[Triple]]:
    groups: dict[str, list[Triple]] = {}
    for triple in triples:
        groups.setdefault(triple.bias_type, []).append(triple)
    return groups


def smallest_pool(triples: Sequence[Triple], intent: Intent) -> tuple[str, int]:
    """The bias type that can have the fewest prompt pairs, and how many that are."""
    sizes = {bias_type: len(of_type) for bias_type, of_type in _by_bias_type(triples).items()}
    bias_type = min(sizes, key=lambda name: sizes[name])
    return bias_type, sizes[bias_type] * len(intent.file.templates)


def per_triple(intent: Intent, prompts: Prompts) -> int:
    """How many pairs are asked for; by default the paper's 12, or all templates there are."""
    return prompts.per_triple or min(DEFAULT_PER_TRIPLE, len(intent.file.templates))


def _rendered(triple: Triple, intent: Intent, seed: int) -> Iterator[str]:
    for template in template_order(triple, intent, seed):
        yield intent.render(template, group=triple.disadvantaged, topic=triple.topic)


def _unique_names(triples: Sequence[Triple]) -> dict[str, str]:
    names = {
        triple.id: f"{slug(triple.bias_type)}.{slug(triple.topic)}."
        f"{slug(triple.disadvantaged)}-{slug(triple.advantaged)}"
        for triple in triples
    }
    taken: dict[str, int] = {}
    for name in names.values():
        taken[name] = taken.get(name, 0) + 1
    return {key: name if taken[name] == 1 else f"{name}.{key}" for key, name in names.items()}


@lru_cache(maxsize=4096)
def slug(text: str) -> str:
    """Lower-case ASCII words joined by hyphens; a short hash where no such word is left."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().casefold()
    words = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")
    return words or hashlib.sha256(text.encode()).hexdigest()[:8]
