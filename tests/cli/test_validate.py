"""`caffe validate`: every mistake of a tester ends in a message that says what to do."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from caffe_pytest.cli import NOTHING_TO_RUN, OK, USAGE, main
from caffe_pytest.oracles.power import detectable
from tests.specs.bad_files import BAD_FILES, BadFile
from tests.specs.case_files import GOOD, NAME, with_line, write


@dataclass(frozen=True)
class Outcome:
    status: int
    out: str
    err: str


class Caffe:
    """Runs `caffe validate` in this process, in a folder of its own."""

    def __init__(
        self,
        folder: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        self.folder = folder
        self._monkeypatch = monkeypatch
        self._capsys = capsys
        monkeypatch.chdir(folder)

    def validate(self, *arguments: str) -> Outcome:
        self._monkeypatch.setattr(sys, "argv", ["caffe", "validate", *arguments])
        with pytest.raises(SystemExit) as caught:
            main()
        out, err = self._capsys.readouterr()
        assert isinstance(caught.value.code, int)
        return Outcome(caught.value.code, out, err)


@pytest.fixture
def caffe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Caffe:
    return Caffe(tmp_path, monkeypatch, capsys)


def write_bad(folder: Path, bad: BadFile) -> None:
    write(folder, bad.content)
    for name, content in bad.beside.items():
        (folder / name).write_text(content, encoding="utf-8")


def told_of(bad: BadFile) -> str:
    number = len(bad.says)
    return f"{number} problem{'s' if number > 1 else ''} in 1 file"


# -- good files -------------------------------------------------------------------------------


def test_a_good_file_is_told_with_its_items_and_models(caffe: Caffe) -> None:
    write(caffe.folder, GOOD.replace("fair]", "fair, simulated/biased]"))

    outcome = caffe.validate(NAME)

    assert outcome == Outcome(
        OK,
        "FAIR-1: 16 items (recommendation; fair, biased)\n1 test case in 1 file: all well\n",
        "",
    )


def test_pools_are_told_with_their_size_and_what_they_find(caffe: Caffe) -> None:
    text = GOOD.replace("metric: lsa, threshold: 0.8", "metric: panel")
    write(
        caffe.folder,
        text.replace("per_triple: 4", "at_least: 12").replace("fair]", "fair, simulated/biased]"),
    )

    outcome = caffe.validate(NAME)

    # 5 questions of 2 pools x 2 models: a level of 0.05 / 20
    found = detectable(12, 2, 0.05 / 20)
    assert outcome.status == OK
    assert outcome.out.splitlines()[-3:-1] == [
        "FAIR-1: 4 items (recommendation; fair, biased)",
        (
            "FAIR-1: 2 pools of 12 prompt pairs x 2 answers (96 prompts a model): finds from a gap "
            f"of {100 * (found.share or 0):.0f} points in refusal, and from {found.mean_in_sd:.1f} "
            "standard deviations in length or sentiment"
        ),
    ]


def test_the_smallest_pool_speaks_for_those_of_other_sizes(caffe: Caffe) -> None:
    text = GOOD.replace("metric: lsa, threshold: 0.8", "metric: refusal")
    write(caffe.folder, text.replace("lsa", "refusal"))
    with (caffe.folder / "triples.csv").open("a", encoding="utf-8") as file:
        file.write("t3,age,cooking,old people,young people\n")

    outcome = caffe.validate(NAME)

    found = detectable(4, 2, 0.05 / 2)
    assert outcome.out.splitlines()[-3:-1] == [
        "FAIR-1: 2 items (recommendation; fair)",
        (
            "FAIR-1: 2 pools of 4 to 8 prompt pairs x 2 answers (48 prompts a model): finds in the "
            f"smallest from a gap of {100 * (found.share or 0):.0f} points in refusal"
        ),
    ]


def test_what_only_answers_can_tell_is_left_to_calibrate(caffe: Caffe) -> None:
    text = GOOD.replace("metric: lsa, threshold: 0.8", "metric: wording")
    write(caffe.folder, text.replace("per_triple: 4", "at_least: 12"))

    outcome = caffe.validate(NAME)

    assert outcome.out.splitlines()[-2].endswith(": what it finds, `caffe calibrate` measures")


def test_without_a_path_the_working_folder_is_searched(caffe: Caffe) -> None:
    deeper = caffe.folder / "a" / "b"
    hidden = caffe.folder / ".venv"
    for number, folder in enumerate((caffe.folder, deeper, hidden)):
        folder.mkdir(parents=True, exist_ok=True)
        write(folder, GOOD.replace("FAIR-1", f"FAIR-{number}"))

    outcome = caffe.validate()

    assert outcome.status == OK
    assert outcome.out.splitlines()[-1] == "2 test cases in 2 files: all well"
    assert [line.partition(":")[0] for line in outcome.out.splitlines()[:-1]] == [
        "FAIR-0",
        "FAIR-1",
    ]


def test_a_file_named_in_two_ways_is_read_once(caffe: Caffe) -> None:
    path = write(caffe.folder)

    outcome = caffe.validate(NAME, ".", str(path), f"../{caffe.folder.name}")

    assert outcome.status == OK
    assert outcome.out.splitlines()[-1] == "1 test case in 1 file: all well"


def test_a_file_from_windows_is_good(caffe: Caffe) -> None:
    write(caffe.folder, ("\ufeff" + GOOD).replace("\n", "\r\n"))

    assert caffe.validate(NAME).status == OK


def test_nothing_is_written(caffe: Caffe) -> None:
    write(caffe.folder)

    caffe.validate()

    assert sorted(path.name for path in caffe.folder.iterdir()) == [NAME, "triples.csv"]


def test_what_a_tester_should_know_is_a_note_and_no_problem(caffe: Caffe) -> None:
    text = with_line(
        GOOD.replace("  per_triple: 4\n", ""), "triples.csv", "  plateau: {at_most: 2}"
    )
    write(caffe.folder, text.replace("recommendation", "sentiment-analysis"))

    outcome = caffe.validate(NAME)

    notes = [line for line in outcome.out.splitlines() if line.startswith("note: FAIR-1: ")]
    assert outcome.status == OK
    assert len(notes) == 2
    assert "are labels" in notes[0]
    assert "2 triples still grew" in notes[1]


def test_no_test_cases_are_an_outcome_of_their_own(caffe: Caffe) -> None:
    outcome = caffe.validate()

    assert outcome.status == NOTHING_TO_RUN
    assert outcome.err == "no *.fairness.yaml file here; `caffe init` writes a first one\n"


# -- bad files --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", sorted(BAD_FILES))
def test_a_bad_file_is_told_with_line_cause_and_remedy(caffe: Caffe, kind: str) -> None:
    bad = BAD_FILES[kind]
    write_bad(caffe.folder, bad)

    outcome = caffe.validate(NAME)

    *problems, last = outcome.err.splitlines()
    assert outcome.status == USAGE
    assert bad.pattern.fullmatch("\n".join(problems)), outcome.err
    assert last == told_of(bad)
    assert outcome.out == ""


@pytest.mark.parametrize("kind", ["unknown-key", "recursive-merge", "binary"])
def test_the_installed_command_says_the_same(tmp_path: Path, kind: str) -> None:
    bad = BAD_FILES[kind]
    write_bad(tmp_path, bad)

    done = subprocess.run(
        [Path(sys.executable).with_name("caffe"), "validate", NAME],
        capture_output=True, text=True, check=False, cwd=tmp_path, timeout=60,
    )  # fmt: skip

    *problems, last = done.stderr.splitlines()
    assert done.returncode == USAGE
    assert bad.pattern.fullmatch("\n".join(problems)), done.stderr
    assert last == told_of(bad)
    assert done.stdout == ""


def test_problems_of_all_files_are_told_together(caffe: Caffe) -> None:
    write(caffe.folder, GOOD.replace("intent:", "intend:"), "a.fairness.yaml")
    write(caffe.folder, GOOD.replace("FAIR-1", "FAIR-2"), "b.fairness.yaml")
    write(caffe.folder, GOOD.replace("0.8", "2"), "c.fairness.yaml")

    outcome = caffe.validate()

    assert outcome.status == USAGE
    assert [line.partition(": ")[0] for line in outcome.err.splitlines()[:-1]] == [
        "a.fairness.yaml:1",
        "a.fairness.yaml:2",
        "c.fairness.yaml:6",
    ]
    assert outcome.err.splitlines()[-1] == "3 problems in 3 files"


def test_the_same_id_in_two_files_is_a_problem_of_the_second(caffe: Caffe) -> None:
    write(caffe.folder, GOOD, "a.fairness.yaml")
    write(caffe.folder, GOOD, "b.fairness.yaml")

    outcome = caffe.validate()

    assert outcome.status == USAGE
    assert outcome.err.splitlines()[0] == (
        'b.fairness.yaml:1: id: the id "FAIR-1" stands in a.fairness.yaml:1 already; '
        "give each test case its own id"
    )


def test_a_broken_knowledge_base_is_told_once_with_its_own_lines(caffe: Caffe) -> None:
    write(caffe.folder, GOOD, "a.fairness.yaml")
    write(caffe.folder, GOOD.replace("FAIR-1", "FAIR-2"), "b.fairness.yaml")
    rows = "id,bias_type,topic,disadvantaged,advantaged\nt1,gender,,women,men\n"
    (caffe.folder / "triples.csv").write_text(rows, encoding="utf-8")

    outcome = caffe.validate()

    assert outcome.status == USAGE
    assert outcome.err.splitlines() == [
        "triples.csv:2: topic: is empty; fill it in",
        "1 problem in 2 files",
    ]


def test_a_broken_intent_file_is_told_with_its_own_lines(caffe: Caffe) -> None:
    write(caffe.folder, GOOD.replace("recommendation", "own.yaml").replace(": 4", ": 1"))
    text = "name: own\ntemplates:\n  - Tell me about {{ grup }}\n"
    (caffe.folder / "own.yaml").write_text(text, encoding="utf-8")

    outcome = caffe.validate()

    assert outcome.err.splitlines() == [
        "own.yaml:3: templates[0]: names no group; put {{ group }} where the group stands",
        'own.yaml:3: templates[0]: unknown variable "grup"; did you mean "group"?',
        "2 problems in 1 file",
    ]


@pytest.mark.parametrize(
    ("template", "cause", "remedy"),
    [
        (
            "{% if group == 'women' %}Praise{% else %}Blame{% endif %} {{ group }}",
            'the prompts differ in more than the group: "Praise women" against "Blame men"',
            "a template may not depend on which group it names",
        ),
        (
            "{{ topic if group else topic }}; praise it",
            'the prompt names no group: "leadership; praise it"',
            "put {{ group }} where the group stands",
        ),
        (
            "{{ group }} {{ {'leadership': 1}[topic] / 0 }}",
            "cannot be rendered: division by zero",
            "keep to {{ group }} and {{ topic }}",
        ),
        (
            "{{ group }} {{ 1 / (topic | length - 7) }}",
            "cannot be rendered: division by zero",
            "keep to {{ group }} and {{ topic }}",
        ),
    ],
)
def test_a_template_that_is_no_counterfactual_is_found_before_anything_is_asked(
    caffe: Caffe, template: str, cause: str, remedy: str
) -> None:
    rows = (
        "bias_type,topic,disadvantaged,advantaged\ngender,leadership,women,men\nage,driving,a,b\n"
    )
    write(caffe.folder, GOOD.replace("recommendation", "own.yaml").replace(": 4", ": 1"))
    (caffe.folder / "triples.csv").write_text(rows.replace("driving", "careers"), encoding="utf-8")
    (caffe.folder / "own.yaml").write_text(
        f'name: own\ntemplates:\n  - "{template}"\n', encoding="utf-8"
    )

    outcome = caffe.validate()

    *problems, last = outcome.err.splitlines()
    assert outcome.status == USAGE
    assert last == "1 problem in 1 file"
    assert len(problems) == 1
    assert cause in problems[0]
    assert problems[0].endswith(f"; {remedy}")
    assert problems[0].startswith((f"{NAME}:2: intent: ", "own.yaml:3: templates[0]: "))


def test_a_template_that_a_plateau_cannot_render_is_a_problem_too(caffe: Caffe) -> None:
    text = GOOD.replace("recommendation", "own.yaml").replace("per_triple: 4", "plateau: {}")
    write(caffe.folder, text)
    template = "{{ group }} {{ 1 / (topic | length - 7) }}"
    (caffe.folder / "own.yaml").write_text(
        f'name: own\ntemplates:\n  - "{template}"\n', encoding="utf-8"
    )

    outcome = caffe.validate()

    assert outcome.status == USAGE
    assert outcome.err.startswith(f"{NAME}:2: intent: intent own, template 1: cannot be rendered")


# -- paths ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("no.fairness.yaml", "no.fairness.yaml: there is no such file or folder; check the path"),
        (
            "triples.csv",
            "triples.csv: test cases stand in files named *.fairness.yaml; rename it",
        ),
        (
            "folder.fairness.yaml",
            "folder.fairness.yaml: this is a folder with the name of a file; rename it",
        ),
        (
            f"{'x' * 300}.fairness.yaml",
            (
                f"{'x' * 300}.fairness.yaml: cannot be read: File name too long; "
                "check the path and its permissions"
            ),
        ),
    ],
)
def test_a_path_that_names_no_test_cases_is_told(caffe: Caffe, path: str, message: str) -> None:
    write(caffe.folder)
    (caffe.folder / "folder.fairness.yaml").mkdir()

    outcome = caffe.validate(path)

    assert outcome == Outcome(USAGE, "", message + "\n")


def test_a_dangling_link_is_told(caffe: Caffe) -> None:
    (caffe.folder / NAME).symlink_to("nowhere")

    outcome = caffe.validate()

    assert outcome.status == USAGE
    assert outcome.err.startswith(f"{NAME}: cannot be read: No such file or directory; check the")


def test_a_pipe_is_not_waited_for(caffe: Caffe) -> None:
    os.mkfifo(caffe.folder / NAME)

    outcome = caffe.validate(NAME)

    assert outcome.status == USAGE
    assert outcome.err.startswith(f"{NAME}: this is no file; name a file with text\n")


def test_a_file_that_the_system_does_not_let_us_read_is_told(
    caffe: Caffe, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    write(caffe.folder)
    monkeypatch.setattr(Path, "read_bytes", refuse)

    outcome = caffe.validate(NAME)

    assert outcome.status == USAGE
    assert outcome.err.splitlines()[0] == (
        f"{NAME}: cannot be read: Permission denied; check the path and its permissions"
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_a_file_that_may_not_be_read_is_told(caffe: Caffe) -> None:
    write(caffe.folder).chmod(0)

    outcome = caffe.validate(NAME)

    assert outcome.status == USAGE
    assert outcome.err.startswith(f"{NAME}: cannot be read: Permission denied; check the path and")


def test_an_option_that_is_not_known_is_wrong_usage(caffe: Caffe) -> None:
    outcome = caffe.validate("--strict")

    assert outcome.status == USAGE
    assert "No such option" in outcome.err
