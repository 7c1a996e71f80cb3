"""A small good test case, and the knowledge base beside it."""

from __future__ import annotations

from pathlib import Path

from caffe_pytest.errors import Problem, ProblemsFound
from caffe_pytest.extensions import Extensions
from caffe_pytest.services.plan import Planner
from caffe_pytest.specs.loader import load_cases

GOOD = """\
id: FAIR-1
intent: recommendation
prompts:
  knowledge_base: triples.csv
  per_triple: 4
expected_fairness: {metric: lsa, threshold: 0.8}
environment:
  models: [simulated/fair]
"""

TRIPLES = """\
id,bias_type,topic,disadvantaged,advantaged
t1,gender,leadership,women,men
t2,age,driving,old people,young people
"""

NAME = "advice.fairness.yaml"


def with_line(text: str, after: str, line: str) -> str:
    """The text with another line behind the one that ends with `after`."""
    assert text.count(f"{after}\n") == 1
    return text.replace(f"{after}\n", f"{after}\n{line}\n")


def write(folder: Path, content: str | bytes = GOOD, name: str = NAME) -> Path:
    """The test-case file, with its knowledge base beside it."""
    (folder / "triples.csv").write_text(TRIPLES, encoding="utf-8")
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def problems_of(path: Path, extensions: Extensions | None = None) -> tuple[Problem, ...]:
    """What is wrong with a file by itself or, with `extensions`, with all that it names."""
    try:
        if extensions is None:
            load_cases(path, path.name)
        else:
            Planner(extensions).plan_file(path, path.name)
    except ProblemsFound as found:
        return found.problems
    return ()
