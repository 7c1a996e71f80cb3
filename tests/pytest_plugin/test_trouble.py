"""What must never be green, lost or written: broken plugins, interrupts, hostile answers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.pytest_plugin.small_case import CASE, ITEMS, latest, results

ONE_PROVIDER = """
from pathlib import Path
import time
from caffe_pytest.hookspecs import hookimpl
from caffe_pytest.model.answer import Answer

class Provider:
    identity = {"provider": "scripted"}
    lane = "scripted"
    def __init__(self, model, base): pass
    def check_parameters(self, parameters): pass
    async def ask(self, request, *, timeout):
        prompt = request.messages[-1].content
        BODY
    async def close(self): pass

@hookimpl
def register_providers(register):
    register("scripted", Provider)
"""


def scripted(pytester: pytest.Pytester, case_file: Path, body: str, case: str = CASE) -> None:
    """Let the test case ask a provider whose `ask` is `body`."""
    pytester.makeconftest(ONE_PROVIDER.replace("BODY", body.replace("\n", "\n        ")))
    models = case.replace("[simulated/fair, simulated/biased]", "[scripted/one]")
    case_file.write_text(models, encoding="utf-8")


def test_a_failing_python_test_beside_a_tolerated_item_is_red(
    pytester: pytest.Pytester, case_file: Path
) -> None:
    case_file.write_text(CASE + "gate: {max_fail_rate: 1.0}\n", encoding="utf-8")
    pytester.makepyfile("def test_broken(): assert False")
    pytester.makeconftest(
        """
        import pytest

        def pytest_collection_modifyitems(items):
            # as many failures less as there are other tests
            unfair = [item for item in items if "biased" in item.nodeid]
            for item in unfair:
                item.add_marker(pytest.mark.xfail(reason="known"))
        """
    )

    result = pytester.runpytest("--fairness")

    outcomes = result.parseoutcomes()
    assert outcomes["failed"] == 1
    assert outcomes["xfailed"] >= 1
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_an_item_marked_to_fail_does_not_fail_the_run(
    pytester: pytest.Pytester, case_file: Path
) -> None:
    pytester.makeconftest(
        """
        import pytest

        def pytest_collection_modifyitems(items):
            for item in items:
                item.add_marker(pytest.mark.xfail(reason="known", strict=False))
        """
    )

    result = pytester.runpytest("--fairness")

    assert result.ret == pytest.ExitCode.OK
    assert "failed" not in result.parseoutcomes()


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_skipped_items_are_not_missing(
    pytester: pytest.Pytester, case_file: Path, workers: tuple[str, ...]
) -> None:
    pytester.makeconftest(
        """
        import pytest

        def pytest_collection_modifyitems(items):
            for item in items:
                if "biased" in item.nodeid:
                    item.add_marker(pytest.mark.skip(reason="not today"))
        """
    )

    result = pytester.runpytest_subprocess("--fairness", *workers)

    result.assert_outcomes(passed=12, skipped=12)
    assert result.ret == pytest.ExitCode.OK
    summary = json.loads((latest(pytester.path) / "summary.json").read_text(encoding="utf-8"))
    assert (summary["complete"], summary["planned"]) == (True, 12)


def test_a_metric_that_breaks_is_an_error_and_never_a_failure(
    pytester: pytest.Pytester, case_file: Path
) -> None:
    pytester.makeconftest(
        """
        from caffe_pytest.hookspecs import SimilarityMetric, hookimpl

        class Broken:
            def similarity(self, first, second):
                raise RuntimeError("no such luck")

        @hookimpl
        def register_metrics(register):
            register(SimilarityMetric("broken", "1", reference=Broken, fit=lambda texts: Broken()))
        """
    )
    case_file.write_text(CASE.replace("metric: lsa", "metric: broken"), encoding="utf-8")

    result = pytester.runpytest("--fairness", "-k", "driving and fair", "--junitxml=out.xml")

    result.assert_outcomes(errors=8, deselected=16)
    suite = ElementTree.parse(pytester.path / "out.xml").getroot()[0]
    assert (suite.get("errors"), suite.get("failures")) == ("8", "0")
    assert {line["verdict"] for line in results(pytester.path)} == {"error"}
    assert "no such luck" in results(pytester.path)[0]["reason"]


def test_two_refusals_are_an_error(pytester: pytest.Pytester, case_file: Path) -> None:
    scripted(pytester, case_file, 'return Answer("I can\'t help with that.")')

    result = pytester.runpytest("--fairness", "-k", "driving")

    result.assert_outcomes(errors=4, deselected=8)
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_half_a_surrogate_pair_in_an_answer_is_judged_and_written(
    pytester: pytest.Pytester, case_file: Path
) -> None:
    scripted(pytester, case_file, 'return Answer("the same words \\ud83d for all")')

    result = pytester.runpytest("--fairness", "-k", "driving", "--junitxml=out.xml")

    result.assert_outcomes(passed=4, deselected=8)
    assert results(pytester.path)[0]["pairs"][0]["answers"][0] == "the same words \ufffd for all"


def test_terminal_sequences_in_an_error_reach_no_terminal(
    pytester: pytest.Pytester, case_file: Path
) -> None:
    body = (
        "from caffe_pytest.errors import ProviderError\n"
        'raise ProviderError("rejected", "\\x1b]0;owned\\x07 not today")'
    )
    scripted(pytester, case_file, body)

    result = pytester.runpytest("--fairness", "-k", "driving")

    result.assert_outcomes(errors=4, deselected=8)
    assert "\x1b]0" not in result.stdout.str()


def test_a_plugin_may_name_its_outcomes_as_it_likes(
    pytester: pytest.Pytester, case_file: Path
) -> None:
    body = (
        "from caffe_pytest.errors import ProviderError\n"
        'raise ProviderError("quota", "used up") if "women" in prompt else ProviderError("ok", "?")'
    )
    scripted(pytester, case_file, body)
    pytester.makepyfile(sitecustomize="")

    result = pytester.runpytest("--fairness", "-k", "driving and 01")

    result.assert_outcomes(errors=1, deselected=11)
    assert "malformed: quota: used up" in results(pytester.path)[0]["reason"]


def test_two_conftest_files_may_both_register(pytester: pytest.Pytester, case_file: Path) -> None:
    hook = (
        "from pathlib import Path\n"
        "from caffe_pytest.hookspecs import hookimpl\n"
        "@hookimpl\n"
        "def register_knowledge_bases(register):\n"
        "    register('NAME', Path(__file__).parent / 'triples.csv')\n"
    )
    below = pytester.mkdir("below")
    pytester.makeconftest(hook.replace("NAME", "above"))
    (below / "conftest.py").write_text(hook.replace("NAME", "deeper"), encoding="utf-8")
    (below / "triples.csv").write_bytes((pytester.path / "triples.csv").read_bytes())
    text = CASE.replace("triples.csv", "above").replace("FAIR-1", "FAIR-2")
    (below / "b.fairness.yaml").write_text(text, encoding="utf-8")

    result = pytester.runpytest("--fairness", "--collect-only", "-q", "below")

    assert sum("FAIR-2::" in line for line in result.outlines) == ITEMS


def test_files_outside_of_the_root_folder_keep_their_names(
    pytester: pytest.Pytester, case_file: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    for name in ("triples.csv", "advice.fairness.yaml"):
        (elsewhere / name).write_bytes((pytester.path / name).read_bytes())

    result = pytester.runpytest(
        "--fairness", "--rootdir", str(pytester.path), "advice.fairness.yaml",
        str(elsewhere / "advice.fairness.yaml"), "--collect-only",
    )  # fmt: skip

    result.stdout.fnmatch_lines([f'*{elsewhere}/advice.fairness.yaml:1: id: the id "FAIR-1" *'])


def test_what_a_user_keeps_in_the_out_folder_stays(
    pytester: pytest.Pytester, case_file: Path
) -> None:
    kept = pytester.mkdir("latest") / "notes.txt"
    kept.write_text("mine", encoding="utf-8")

    pytester.runpytest("--fairness", "--fairness-out", ".", "-k", "driving and fair")

    assert kept.read_text(encoding="utf-8") == "mine"
    assert not (pytester.path / ".gitignore").exists()
    assert len(list((pytester.path / "runs").iterdir())) == 1


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_an_interrupt_keeps_every_answer_and_every_verdict(
    pytester: pytest.Pytester, case_file: Path, workers: tuple[str, ...]
) -> None:
    body = (
        "import asyncio, os\n"
        "await asyncio.sleep(0.15)\n"
        'with Path(__file__).with_name(f"done.{os.getpid()}").open("a") as file:\n'
        '    file.write("x")\n'
        'return Answer("the same answer to all")'
    )
    scripted(pytester, case_file, body, CASE.replace("per_triple: 4", "per_triple: 16"))
    command = [
        sys.executable, "-m", "pytest", "--fairness", "--fairness-concurrency", "4", "-q", *workers,
    ]  # fmt: skip

    process = subprocess.Popen(
        command, cwd=pytester.path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        asked = sum(path.stat().st_size for path in pytester.path.glob("done.*"))
        if asked >= 16:
            break
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=60)

    answered = sum(path.stat().st_size for path in pytester.path.glob("done.*"))
    run = latest(pytester.path)
    journal = (run / "journal.jsonl").read_bytes().count(b'"outcome":"ok"')
    assert process.returncode == pytest.ExitCode.INTERRUPTED
    assert "items have a result" in output
    # an answer that arrives while the process stops may miss the journal, no more
    assert answered - 4 <= journal <= answered
    assert len(results(pytester.path)) >= 4
    assert not list(run.glob("*.part"))
