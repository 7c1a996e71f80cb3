"""The main job: thousands of prompt pairs through litellm, uninterrupted and killed half-way.

Starts the loopback server of the tests in a process of its own, writes a file of test cases, and
runs it twice in two fresh folders: (A) uninterrupted, (B) killed with SIGKILL at 40 % and run
again. Prints what it took, and whether anything was asked twice or came out differently.

    python benchmarks/main_job.py
    python benchmarks/main_job.py --front pytest --triples 20 --prompts 4
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from caffe_pytest.knowledge.load import load_base
from caffe_pytest.knowledge.shipped import shipped_folder
from caffe_pytest.model.triple import Triple

INTENTS = ("question", "recommendation", "direction", "clarification")
KILL_AT = 0.4
SERVER = Path(__file__).resolve().parents[1] / "tests" / "openai_server.py"


@dataclass(frozen=True)
class Ended:
    """A process that has ended."""

    status: int
    seconds: float
    peak_megabytes: float


@dataclass(frozen=True)
class Job:
    """What is run, and where."""

    folder: Path
    cases: Path
    server: str
    front: str
    concurrency: int
    calls: int

    def command(self, out: Path) -> list[str]:
        if self.front == "pytest":
            return [
                sys.executable, "-m", "pytest", str(self.cases), "--fairness", "-q", "--tb=no",
                "-p", "no:cacheprovider", "--no-header", "-rN",
                "--fairness-out", str(out), "--fairness-concurrency", str(self.concurrency),
                "--junitxml", str(out) + ".xml",
            ]  # fmt: skip
        return [
            sys.executable, "-c", "from caffe_pytest.cli import main; main()", "run",
            str(self.cases), "--out", str(out), "--concurrency", str(self.concurrency),
            "--junitxml", str(out) + ".xml",
        ]  # fmt: skip


def main() -> None:
    given = arguments()
    folder = Path(tempfile.mkdtemp(prefix="caffe-main-job-"))
    try:
        with serving(given.latency) as server:
            measure(given, folder, server)
    finally:
        if given.keep:
            print(f"kept: {folder}")
        else:
            shutil.rmtree(folder)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--triples", type=int, default=200)
    parser.add_argument("--intents", type=int, default=4, choices=range(1, 5))
    parser.add_argument("--prompts", type=int, default=12, help="prompt pairs for each triple")
    parser.add_argument("--latency", type=float, default=0.02, help="seconds, of the server")
    parser.add_argument("--concurrency", type=int, default=32)
    parser.add_argument("--front", choices=("caffe", "pytest"), default="caffe")
    parser.add_argument("--keep", action="store_true", help="keep the folder")
    return parser.parse_args()


def measure(given: argparse.Namespace, folder: Path, server: str) -> None:
    cases = write_cases(given, folder, server)
    pairs = given.triples * given.intents * given.prompts
    job = Job(folder, cases, server, given.front, given.concurrency, 2 * pairs)
    print(
        f"{pairs} pairs, {job.calls} calls, latency {given.latency * 1000:g} ms, "
        f"concurrency {given.concurrency}, front door {given.front}, {os.cpu_count()} cores"
    )
    whole = folder / "a"
    before = counts(server)
    ended = run(job, whole)
    report("A, uninterrupted", ended, Asked.between(before, counts(server)), newest(whole))

    parted = folder / "b"
    before = counts(server)
    killed = run(job, parted, kill_at=int(KILL_AT * job.calls))
    at_kill = journal_contents(parted)
    middle = counts(server)
    report("B, until killed", killed, Asked.between(before, middle), None)
    again = run(job, parted)
    after = counts(server)
    report("B, run again", again, Asked.between(middle, after), newest(parted))

    both = Asked.between(before, after)
    known = Asked.between(middle, after).received
    print(f"answers in the journal when killed: {len(at_kill)}")
    print(f"  of these asked again:             {sum(known[content] for content in at_kill)}")
    print(f"asked more than once in B:          {both.twice} (under way when killed)")
    first, second = (newest(out) / "results.jsonl" for out in (whole, parted))
    same = "equal" if sha256(first) == sha256(second) else "DIFFERENT"
    print(f"results.jsonl of A and B:           {same}, sha256 {sha256(first)[:16]}")


@dataclass(frozen=True)
class Asked:
    """What the server counted over some time."""

    received: Counter[str]

    @classmethod
    def between(cls, before: Counter[str], after: Counter[str]) -> Asked:
        return cls(after - before)

    @property
    def twice(self) -> int:
        return sum(times - 1 for times in self.received.values())


def report(what: str, ended: Ended, asked: Asked, folder: Path | None) -> None:
    calls = asked.received.total()
    print(
        f"{what + ':':<18} {ended.seconds:7.1f} s  {calls:6d} calls  "
        f"{calls / ended.seconds:6.1f} calls/s  {asked.twice:3d} asked twice  "
        f"peak {ended.peak_megabytes:4.0f} MB  exit {ended.status}"
    )
    if folder is not None:
        total = json.loads((folder / "summary.json").read_text(encoding="utf-8"))["total"]
        found = "  ".join(f"{number} {verdict}" for verdict, number in total["verdicts"].items())
        print(f"{'':<18} items: {found}")
    sys.stdout.flush()


def run(job: Job, out: Path, kill_at: int | None = None) -> Ended:
    """Run the front door to its end, or until the server has seen `kill_at` calls more."""
    log = out.with_suffix(f".{time.monotonic_ns()}.log")
    before = stats(job.server)["requests"]
    started = time.monotonic()
    with log.open("wb") as output:
        process = subprocess.Popen(
            job.command(out), cwd=job.folder, stdout=output, stderr=subprocess.STDOUT
        )
        if kill_at is not None:
            threading.Thread(
                target=kill_later, args=(process.pid, job.server, before + kill_at), daemon=True
            ).start()
        # resources of this child alone; RUSAGE_CHILDREN has the largest of all
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1, -signal.SIGKILL):
        print(log.read_text(errors="replace")[-3000:])
    return Ended(process.returncode, time.monotonic() - started, used.ru_maxrss / 1024)


def kill_later(pid: int, server: str, at: int) -> None:
    while stats(server)["requests"] < at:
        time.sleep(0.05)
    os.kill(pid, signal.SIGKILL)


def write_cases(given: argparse.Namespace, folder: Path, server: str) -> Path:
    """A base of as many triples as asked for, and a test case for each intent."""
    with (folder / "triples.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "bias_type", "topic", "disadvantaged", "advantaged"])
        for triple in distinct_triples(given.triples):
            writer.writerow(
                [triple.id, triple.bias_type, triple.topic, triple.disadvantaged,
                 triple.advantaged]
            )  # fmt: skip
    cases = folder / "main_job.fairness.yaml"
    cases.write_text(
        "---\n".join(
            f"""\
id: MAIN-{intent}
intent: {intent}
prompts: {{knowledge_base: triples.csv, per_triple: {given.prompts}}}
expected_fairness: {{metric: lsa, threshold: 0.8}}
environment:
  models: [{{model: openai/simulated, api_base: "{server}"}}]
  temperature: 0.2
"""
            for intent in INTENTS[: given.intents]
        ),
        encoding="utf-8",
    )
    return cases


def distinct_triples(number: int) -> list[Triple]:
    """Triples of the shipped base, spread over bias types, no two with a prompt in common."""
    base = load_base(shipped_folder() / "crows-pairs" / "base.yaml")
    by_type: dict[str, list[Triple]] = {}
    taken: set[tuple[str, str]] = set()
    for triple in base.triples:
        prompts = {(triple.topic, triple.disadvantaged), (triple.topic, triple.advantaged)}
        if triple.valid and not prompts & taken:
            taken |= prompts
            by_type.setdefault(triple.bias_type, []).append(triple)
    chosen: list[Triple] = []
    while len(chosen) < number and any(by_type.values()):
        chosen += [triples.pop(0) for triples in by_type.values() if triples]
    if len(chosen) < number:
        raise SystemExit(f"the shipped base has only {len(chosen)} such triples")
    return chosen[:number]


@contextmanager
def serving(latency: float) -> Iterator[str]:
    """The address of a server process; it ends when its standard input is closed."""
    process = subprocess.Popen(
        [sys.executable, str(SERVER), "--latency", str(latency)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.stdin.close()
        process.wait(timeout=10)


def stats(server: str) -> dict[str, int]:
    found: dict[str, int] = fetch(server, "stats")
    return found


def counts(server: str) -> Counter[str]:
    return Counter(fetch(server, "counts")["received"])


def fetch(server: str, what: str) -> Any:
    with urllib.request.urlopen(server.removesuffix("v1") + what) as reply:
        return json.load(reply)


def journal_contents(out: Path) -> set[str]:
    """What the journals of a folder hold an answer to, as the server names it."""
    contents = set()
    for path in out.glob("runs/*/journal.jsonl"):
        for line in path.read_bytes().splitlines(keepends=True):
            if not line.endswith(b"}\n"):
                continue
            record = json.loads(line)
            if record["outcome"] == "ok":
                request = record["request"]
                model = request["model"].partition("/")[2]
                contents.add(json.dumps([model, request["messages"]], ensure_ascii=False))
    return contents


def newest(out: Path) -> Path:
    return max((out / "runs").iterdir())


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    main()
