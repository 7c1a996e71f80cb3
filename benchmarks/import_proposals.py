"""How often an import proposes the groups that a person chose, on the pairs of CrowS-Pairs.

Compared are the valid triples of the shipped base, each written for one pair. Other pairs are not
counted: for them no usable choice is known. Printed are the shares of triples whose pair of groups
is proposed

- exactly, and in the same order;
- in either order, but for the noun described ("Black men" for "Black people") and for the plural;

and, of the latter, the share in the same order. No network.

    python benchmarks/import_proposals.py --pairs crows_pairs_anonymized.csv
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from caffe_pytest.knowledge.importers import crows_pairs
from caffe_pytest.knowledge.importers.english import english
from caffe_pytest.knowledge.importers.proposal import FLAGS, Proposal
from caffe_pytest.knowledge.load import load_base
from caffe_pytest.knowledge.shipped import shipped_folder
from caffe_pytest.model.triple import Triple

Pair = tuple[str, str]


@dataclass(frozen=True)
class Compared:
    """A triple of the base, and what was proposed for its pair."""

    triple: Triple
    proposal: Proposal

    @property
    def groups(self) -> tuple[Pair, Pair]:
        return (
            (self.triple.disadvantaged, self.triple.advantaged),
            (self.proposal.disadvantaged, self.proposal.advantaged),
        )

    @property
    def exact(self) -> bool:
        wanted, proposed = self.groups
        return wanted == proposed

    @property
    def same_order(self) -> bool:
        wanted, proposed = (_normalised(pair) for pair in self.groups)
        return wanted == proposed

    @property
    def either_order(self) -> bool:
        wanted, proposed = (_normalised(pair) for pair in self.groups)
        return wanted in (proposed, proposed[::-1])


def _normalised(pair: Pair) -> Pair:
    """Without the noun described, unless it is all there is, and without the sign of a plural."""
    first, second = (_described(name) for name in pair)
    return first, second


def _described(name: str) -> str:
    words = re.findall(r"[^\W_]+(?:'[^\W_]+)?", name.casefold())
    described = [word for word in words if not english().noun(word)]
    return " ".join(word.removesuffix("s") for word in described or words)


def _share(part: int, whole: int) -> str:
    return f"{part:>5} of {whole:<5} {100 * part / whole if whole else 0:>5.1f} %"


def _row(name: str, some: Sequence[Compared]) -> str:
    exact = sum(one.exact for one in some)
    either = sum(one.either_order for one in some)
    same = sum(one.same_order for one in some)
    return (
        f"{name:<20} {_share(exact, len(some))} {_share(either, len(some))} {_share(same, either)}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pairs", type=Path, required=True)
    arguments = parser.parse_args()
    if not arguments.pairs.is_file():
        raise SystemExit(f"{arguments.pairs}: there is no such file; it is not part of the project")
    start = time.process_time()
    proposals = {one.source: one for one in crows_pairs.read(arguments.pairs).proposals}
    seconds = time.process_time() - start
    base = load_base(shipped_folder() / "crows-pairs" / "base.yaml")
    compared = [Compared(one, proposals[one.source]) for one in base.triples if one.valid]
    print(
        f"{len(proposals):,} pairs in {seconds:.2f} s of CPU; {len(compared)} have a valid triple"
    )
    print(f"{'':<20} {'exactly':<22} {'but for the noun':<22} of these in order")
    print(_row("all", compared))
    print(_row("without a flag", [one for one in compared if not one.proposal.flags]))
    for flag in FLAGS:
        if flagged := [one for one in compared if flag in one.proposal.flags]:
            print(_row(flag, flagged))
    for bias_type in base.bias_types:
        print(_row(bias_type, [one for one in compared if one.triple.bias_type == bias_type]))


if __name__ == "__main__":
    main()
