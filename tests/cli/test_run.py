"""`caffe run` and `caffe init`, as a user calls them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from caffe_pytest.cli import main
from tests.pytest_plugin.small_case import CASE, ITEMS, TRIPLES, latest, results, verdicts


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "triples.csv").write_text(TRIPLES, encoding="utf-8")
    (tmp_path / "advice.fairness.yaml").write_text(CASE, encoding="utf-8")
    return tmp_path


def caffe(*arguments: str) -> int:
    """The exit code of the command, run in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["caffe", *arguments])
        with pytest.raises(SystemExit) as stopped:
            main()
    assert isinstance(stopped.value.code, int)
    return stopped.value.code


def test_run_gives_the_verdicts_of_pytest(folder: Path) -> None:
    status = caffe("run")
    ours = (latest(folder) / "results.jsonl").read_bytes()

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--fairness", "-q", "--fairness-fresh"],
        check=False, capture_output=True, cwd=folder,
    )  # fmt: skip

    assert status == done.returncode == 1
    assert (latest(folder) / "results.jsonl").read_bytes() == ours


def test_run_prints_the_summary_and_the_place_of_the_report(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    caffe("run", "-k", "::FAIR::")

    out = capsys.readouterr().out
    assert "24 prompts asked, 24 answered; 0 answers reused" in out
    assert f"report: .caffe/runs/{latest(folder).name}/report/index.html" in out
    assert len(results(folder)) == 12


def test_a_run_in_which_everything_passes_is_green(folder: Path) -> None:
    assert caffe("run", "-k", "::fair::") == 0


def test_nothing_that_matches_is_exit_code_5(capsys: pytest.CaptureFixture[str]) -> None:
    assert caffe("run", "-k", "nothing like that") == 5
    assert "nothing to run" in capsys.readouterr().err


def test_problems_keep_a_run_from_asking(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "b.fairness.yaml").write_text(CASE.replace("lsa", "lsi"), encoding="utf-8")

    status = caffe("run")

    assert status == 4
    assert 'unknown metric "lsi"; did you mean "lsa"?' in capsys.readouterr().err
    assert not (folder / ".caffe").exists()


def test_run_writes_junit_and_runs_elsewhere(folder: Path) -> None:
    caffe("run", "--out", "elsewhere", "--junitxml", "reports/out.xml")

    suite = ElementTree.parse(folder / "reports" / "out.xml").getroot()[0]
    assert suite.get("tests") == str(ITEMS)
    assert (folder / "elsewhere" / "latest" / "summary.json").is_file()


def test_an_out_folder_that_cannot_be_made_is_said_plainly(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "taken").write_text("a file", encoding="utf-8")

    status = caffe("run", "--out", "taken/below")

    assert status == 4
    assert "taken/below: cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [("run", "missing"), ("run", "triples.csv"), ("runn",)])
def test_wrong_usage_is_exit_code_4_and_no_traceback(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert caffe(*arguments) == 4
    assert "Traceback" not in capsys.readouterr().err


def test_what_a_run_leaves_can_be_recomputed(folder: Path) -> None:
    caffe("run")

    import hashlib

    run = latest(folder)
    environment = json.loads((run / "environment.json").read_text(encoding="utf-8"))
    for name in ("results", "journal"):
        content = (run / f"{name}.jsonl").read_bytes()
        assert environment[name]["sha256"] == hashlib.sha256(content).hexdigest()
    assert environment["cases"][0]["knowledge_base"]["triples"] == 3
    assert environment["cases"][0]["models"][1]["parameters"] == {"temperature": 0.2}
    assert {line["verdict"] for line in results(folder)} == {"pass", "fail"}
    assert len(verdicts(folder)) == ITEMS


def test_init_writes_a_test_case_that_is_well_and_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "new"
    assert caffe("init", str(home)) == 0
    monkeypatch.chdir(home)
    (home / "conftest.py").write_text("# mine\n", encoding="utf-8")

    assert caffe("init") == 0
    assert caffe("validate") == 0
    assert caffe("run") == 1

    assert (home / "conftest.py").read_text(encoding="utf-8") == "# mine\n"
    assert "kept   conftest.py" in capsys.readouterr().out
    assert (home / "schema" / "test-case.schema.json").is_file()


def test_help_imports_neither_numpy_nor_litellm() -> None:
    script = (
        "import sys\nsys.argv = ['caffe', '--help']\n"
        "from caffe_pytest.cli import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print([name for name in ('numpy', 'litellm', 'yaml', 'jinja2') if name in sys.modules])\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    assert done.stdout.splitlines()[-1] == "[]"
