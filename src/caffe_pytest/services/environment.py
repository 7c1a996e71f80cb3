"""`environment.json`: what the verdicts of a run rest on, so that anybody can recompute them."""

from __future__ import annotations

import hashlib
import platform
import sys
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from caffe_pytest.hookspecs import SimilarityMetric
from caffe_pytest.model.test_case import Similarity
from caffe_pytest.model.triple import KnowledgeBase
from caffe_pytest.services.plan import CasePlan
from caffe_pytest.version import __version__

RELEVANT = (
    "litellm", "numpy", "scikit-learn", "scipy", "gensim", "vaderSentiment", "torch",
    "transformers", "sentence-transformers", "tokenizers", "pydantic", "jinja2", "pytest",
)  # fmt: skip
"""Distributions that take part in a verdict."""


def sha256_of(path: Path) -> str:
    """Of a file's bytes, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def describe_environment(plans: Sequence[CasePlan]) -> dict[str, Any]:
    """Versions, and every test case with its sources; holds no secret."""
    return {
        "format": 1,
        "caffe_pytest": __version__,
        "python": platform.python_version(),
        "platform": f"{platform.system()}-{platform.machine()}",
        "implementation": sys.implementation.name,
        "versions": dict(_versions()),
        "cases": [_case(plan) for plan in plans],
        "metrics": _metrics(plans),
        "notes": [note for plan in plans for note in plan.notes],
        "gates": {
            plan.case.id: plan.case.gate.model_dump()
            for plan in plans
            if plan.case.gate is not None
        },
    }


def _versions() -> list[tuple[str, str]]:
    found = []
    for name in RELEVANT:
        try:
            found.append((name, metadata.version(name)))
        except metadata.PackageNotFoundError:
            continue
    return found


def _metrics(plans: Sequence[CasePlan]) -> list[dict[str, str]]:
    """Name, version and space of what the oracles measured with."""
    used: dict[tuple[str, str, str], SimilarityMetric | None] = {}
    for plan in plans:
        expected = plan.case.expected_fairness
        if plan.metric is not None and isinstance(expected, Similarity):
            used[plan.metric.name, plan.metric.version, expected.space] = plan.metric
        for asked in plan.asked:
            name, _, version = asked.version.partition(" ")
            used[name, version, "reference"] = asked.similarity
    return [
        {"name": name, "version": version, "space": space, **_identity(used[name, version, space])}
        for name, version, space in sorted(used)
    ]


def _identity(metric: SimilarityMetric | None) -> Mapping[str, str]:
    return metric.identity() if metric is not None and metric.identity is not None else {}


def _case(plan: CasePlan) -> dict[str, Any]:
    case, base, intent = plan.case, plan.base, plan.intent
    return {
        "id": case.id,
        "file": plan.file,
        "sha256": sha256_of(plan.loaded.path),
        "objective": case.objective,
        "intent": {"name": intent.name, "sha256": intent.sha256},
        "knowledge_base": {
            **_base(base),
            **({"parts": [_base(part) for part in base.parts]} if base.parts else {}),
        },
        "pairs": len(plan.design.slots),
        "populations": dict(sorted(plan.design.populations.items())),
        "sample": case.prompts.sample and case.prompts.sample.model_dump(),
        "repeats": case.repeats,
        "pools": {name: len(slots) for name, slots in plan.items} if plan.asked else None,
        "seeds": _seeds(plan),
        "expected_fairness": case.expected_fairness.model_dump(),
        "models": [
            {
                "alias": model.alias,
                "model": model.model,
                "api_base": model.api_base,
                "parameters": case.environment.parameters_for(model),
            }
            for model in case.environment.models
        ],
    }


def _base(base: KnowledgeBase) -> dict[str, Any]:
    return {
        "name": base.name,
        "version": base.version,
        "licence": base.licence,
        "language": base.language,
        "triples": len(base.triples),
        "sha256": base.sha256,
    }


def _seeds(plan: CasePlan) -> dict[str, int]:
    prompts, environment = plan.case.prompts, plan.case.environment
    seeds = {"prompts": prompts.seed}
    if prompts.sample is not None:
        seeds["sample"] = prompts.sample.seed
    if environment.seed is not None:
        seeds["environment"] = environment.seed
    return seeds
