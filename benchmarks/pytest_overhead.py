"""What a fairness item costs pytest, against `@pytest.mark.parametrize` with as many tests.

The models are simulated and answer in-process, so that nothing is waited for: what is left is
planning, hashing, the journal, judging in the reference space, reporting, and pytest itself. Every
session writes JUnit. The kinds of session take turns, so that whatever else the machine does
strikes all of them; medians and ratios are printed.

    python benchmarks/pytest_overhead.py
    python benchmarks/pytest_overhead.py --items 2000 --rounds 1 --failing
"""

from __future__ import annotations

import argparse
import csv
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from caffe_pytest.knowledge.load import load_base
from caffe_pytest.knowledge.shipped import shipped_folder

INTENTS = ("question", "recommendation", "direction", "clarification")
PER_TRIPLE = 10


@dataclass
class Session:
    """One kind of pytest session, and what it took each time."""

    name: str
    arguments: Sequence[str]
    before: Callable[[], None] = lambda: None
    seconds: list[float] = field(default_factory=list)
    megabytes: list[float] = field(default_factory=list)

    def run(self, folder: Path) -> None:
        self.before()
        command = [
            sys.executable, "-m", "pytest", "-q", "--no-header", "-rN", "-p", "no:cacheprovider",
            "--tb=short", *self.arguments,
        ]  # fmt: skip
        log = folder / "pytest.log"
        started = time.monotonic()
        with log.open("wb") as output:
            process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=subprocess.STDOUT)
            _, status, used = os.wait4(process.pid, 0)
        self.seconds.append(time.monotonic() - started)
        self.megabytes.append(used.ru_maxrss / 1024)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in (0, 1):
            raise SystemExit(f"{self.name}: {log.read_text(errors='replace')[-3000:]}")


def main() -> None:
    given = arguments()
    folder = Path(tempfile.mkdtemp(prefix="caffe-overhead-"))
    try:
        items = write_cases(folder, given.items, 1.0 if given.failing else 0.0)
        write_tests(folder, items, failing=given.failing)
        measure(folder, items, given.rounds)
    finally:
        if given.keep:
            print(f"kept: {folder}")
        else:
            shutil.rmtree(folder)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--items", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--failing", action="store_true", help="(nearly) every test fails")
    parser.add_argument("--keep", action="store_true", help="keep the folder")
    return parser.parse_args()


def measure(folder: Path, items: int, rounds: int) -> None:
    fairness = ["items.fairness.yaml", "--fairness", "--junitxml=fairness.xml"]
    kept, fresh = folder / "kept", folder / "fresh"

    def forget() -> None:
        shutil.rmtree(fresh, ignore_errors=True)

    def only_the_first_run() -> None:
        for run in sorted((kept / "runs").iterdir())[1:]:
            shutil.rmtree(run)

    floor = Session("parametrize", ["test_trivial.py", "--junitxml=trivial.xml"])
    sessions = [
        floor,
        Session("fairness, answers reused", [*fairness, f"--fairness-out={kept}"],
                only_the_first_run),
        Session("fairness, asked afresh", [*fairness, f"--fairness-out={fresh}"], forget),
    ]  # fmt: skip
    collect = ["--collect-only", "-qq"]
    collecting_floor = Session("parametrize, collected", ["test_trivial.py", *collect])
    collecting = [
        collecting_floor,
        Session("fairness, collected", ["items.fairness.yaml", "--fairness", *collect]),
    ]
    print(f"{items} items, {rounds} rounds, {os.cpu_count()} cores")
    Session("first run", [*fairness, f"--fairness-out={kept}"]).run(folder)
    for _ in range(rounds):
        for session in (*sessions, *collecting):
            session.run(folder)
    for against, group in ((floor, sessions), (collecting_floor, collecting)):
        for session in group:
            print_line(session, against, items)


def print_line(session: Session, floor: Session, items: int) -> None:
    seconds, megabytes = statistics.median(session.seconds), statistics.median(session.megabytes)
    ratio = seconds / statistics.median(floor.seconds)
    memory = megabytes / statistics.median(floor.megabytes)
    print(
        f"{session.name:<26} {seconds:7.2f} s {seconds / items * 1e3:6.3f} ms an item "
        f"{megabytes:5.0f} MB   time x {ratio:4.2f}   memory x {memory:4.2f}   "
        f"all: {' '.join(f'{value:.1f}' for value in session.seconds)}"
    )


def write_cases(folder: Path, items: int, threshold: float) -> int:
    """A base and test cases with about so many items; returns how many."""
    base = load_base(shipped_folder() / "crows-pairs" / "base.yaml")
    usable = [triple for triple in base.triples if triple.valid]
    each = len(INTENTS) * PER_TRIPLE
    number = max(1, round(items / each))
    if number > len(usable):
        raise SystemExit(f"at most {len(usable) * each} items can be made of the shipped base")
    with (folder / "triples.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "bias_type", "topic", "disadvantaged", "advantaged"])
        for triple in usable[:number]:
            writer.writerow(
                [triple.id, triple.bias_type, triple.topic, triple.disadvantaged,
                 triple.advantaged]
            )  # fmt: skip
    documents = [
        f"""\
id: ITEMS-{intent}
intent: {intent}
prompts: {{knowledge_base: triples.csv, per_triple: {PER_TRIPLE}}}
expected_fairness: {{metric: lsa, threshold: {threshold}}}
environment: {{models: [simulated/fair], temperature: 0.2}}
"""
        for intent in INTENTS
    ]
    (folder / "items.fairness.yaml").write_text("---\n".join(documents), encoding="utf-8")
    return number * each


def write_tests(folder: Path, items: int, *, failing: bool) -> None:
    (folder / "test_trivial.py").write_text(
        f"""\
import pytest


@pytest.mark.parametrize("number", range({items}))
def test_trivial(number):
    assert number {"<" if failing else ">="} 0
""",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
