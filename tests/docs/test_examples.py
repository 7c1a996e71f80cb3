"""What the documentation shows is run as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from caffe_pytest.extensions import load_extensions
from caffe_pytest.services.plan import Planner
from caffe_pytest.specs.loader import load_cases
from tests.pytest_plugin.small_case import CASE, TRIPLES

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: str, language: str) -> list[str]:
    """The code blocks of a page of the documentation."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def prepare(pytester: pytest.Pytester, case: str) -> None:
    (pytester.path / "products.csv").write_text(TRIPLES, encoding="utf-8")
    (pytester.path / "a.fairness.yaml").write_text(case, encoding="utf-8")


def test_the_metric_and_the_knowledge_base_of_the_page_on_extending_work(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeconftest(blocks("docs/extending.md", "python")[0])
    case = CASE.replace("triples.csv", "our-products").replace("metric: lsa", "metric: overlap")
    prepare(pytester, case.replace("0.8", "0.5"))

    result = pytester.runpytest("--fairness", "-k", "driving and fair")

    assert result.parseoutcomes()["passed"] >= 4


def test_the_measure_of_the_page_on_extending_works(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(blocks("docs/extending.md", "python")[1])
    expected = re.findall(r"`expected_fairness: (\{metric: questions.*?\})` uses", extending())
    case = re.sub(r"expected_fairness: .*", f"expected_fairness: {expected[0]}", CASE)
    prepare(pytester, case.replace("triples.csv", "products.csv").replace("  per_triple: 4\n", ""))

    result = pytester.runpytest("--fairness", "-k", "gender")

    assert result.parseoutcomes()["passed"] == 2, "no answer asks a question"


def extending() -> str:
    return (ROOT / "docs/extending.md").read_text(encoding="utf-8")


def test_the_provider_of_the_page_on_extending_works(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(blocks("docs/extending.md", "python")[2])
    pytester.makepyfile(
        my_app="""
        __version__ = "1"

        async def answer(prompt, temperature):
            return None if "elderly" in prompt else "the same answer to all"
        """
    )
    pytester.syspathinsert()
    case = CASE.replace("triples.csv", "products.csv")
    prepare(pytester, case.replace("[simulated/fair, simulated/biased]", "[my-app/one]"))

    result = pytester.runpytest("--fairness")

    result.assert_outcomes(passed=8, errors=4)


def test_the_test_case_of_the_readme_is_well(tmp_path: Path) -> None:
    path = tmp_path / "a.fairness.yaml"
    path.write_text(blocks("README.md", "yaml")[0], encoding="utf-8")

    loaded = load_cases(path)
    plan = Planner(load_extensions()).plan(loaded[0])

    assert [(name, len(slots)) for name, slots in plan.items] == [("gender", 48)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_inside_the_project_leads_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8"))

    missing = [
        target for target in targets if "://" not in target and not (page.parent / target).exists()
    ]

    assert missing == []
