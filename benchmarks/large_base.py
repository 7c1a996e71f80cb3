"""Time and memory of loading, and of linting, a large knowledge base.

Writes a CSV file of so many different triples into a temporary folder and loads it in a process of
its own, so that the peak of the memory is that of the loading alone.

    python benchmarks/large_base.py
    python benchmarks/large_base.py --rows 20000 --lint
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROWS = 200_000
TOPICS = 500

LOAD = """
import json, resource, sys, time
from pathlib import Path
from caffe_pytest.knowledge.load import load_base
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.perf_counter()
base = load_base(Path(sys.argv[1]))
seconds = time.perf_counter() - start
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"triples": len(base.triples), "seconds": seconds,
    "megabytes": after / 1024, "before": before / 1024}))
"""
LINT = """
import json, resource, sys, time
from pathlib import Path
from caffe_pytest.extensions import load_extensions
from caffe_pytest.services.knowledge_bases import lint_base
start = time.perf_counter()
findings = lint_base(Path(sys.argv[1]), load_extensions())
seconds = time.perf_counter() - start
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"findings": len(findings), "seconds": seconds, "megabytes": after / 1024}))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--lint", action="store_true", help="lint it as well")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "large.csv")
        write_base(path, options.rows)
        loaded = measured(LOAD, path)
        print(
            f"load: {loaded['triples']:,} triples of {path.stat().st_size / 1e6:.0f} MB in "
            f"{loaded['seconds']:.1f} s; {loaded['megabytes'] - loaded['before']:.0f} MB more than "
            f"the {loaded['before']:.0f} MB of the program, at the peak"
        )
        if options.lint:
            linted = measured(LINT, path)
            print(
                f"lint: {linted['findings']:,.0f} findings in {linted['seconds']:.1f} s; "
                f"{linted['megabytes']:.0f} MB at the peak"
            )


def write_base(path: Path, rows: int) -> None:
    """So many triples, no two the same: topics within group pairs, a tenth with a note."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(
            ("id", "bias_type", "topic", "disadvantaged", "advantaged", "source", "valid", "note")
        )
        for number in range(rows):
            pair, topic = divmod(number, TOPICS)
            writer.writerow((
                f"row-{number}", f"type-{pair % 12}", f"topic number {topic}",
                f"members of club {pair}", f"guests of club {pair}", f"generated:{number}",
                "true", "" if number % 10 else "a remark on this row",
            ))  # fmt: skip


def measured(program: str, path: Path) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)], check=True, stdout=subprocess.PIPE, text=True
    )
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


if __name__ == "__main__":
    main()
