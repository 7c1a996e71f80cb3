"""What pytest prints of a failing pool."""

from __future__ import annotations

from pathlib import Path

from caffe_pytest.pytest_plugin.failure import failure_representation
from tests.reporting.sample_results import FAIL, REFUSAL, SENTIMENT, WORDING, pool

FAILING = pool("a", FAIL, findings=(SENTIMENT, WORDING, REFUSAL), prompts=48)


def text_of(verbosity: int) -> str:
    return str(failure_representation(FAILING, Path("a.fairness.yaml"), 3, verbosity))


def test_a_pool_prints_reason_questions_phrases_and_one_prompt_pair() -> None:
    text = text_of(0)

    lines = text.splitlines()
    assert lines[0] == "E   the groups are treated differently:"
    assert lines[1].startswith("E     sentiment 0.13 against 0.38, -0.25")
    assert "    pool       gender: 48 prompt pairs, 192 answers" in lines
    assert any(line.startswith("    question   disadvantaged") for line in lines)
    assert 'E     "serious doubts" in 75 % of answers against 0 %' in lines
    assert "helps ___" not in text  # alone, it may be chance
    assert text.count("answer about ") == 2
    assert "control    repetitions compared as if they were groups, p = 0.4" in text
    assert lines[-1] == "a.fairness.yaml:3: fail: because"
    assert len(lines) < 45


def test_verbose_output_has_the_details_of_every_question() -> None:
    text = text_of(1)

    assert "refusal 0 % against 0 %, 0 points" in text
    assert "differs beyond the margin; p = 0.0001, in the run 0.0002; 4 compared" in text
    assert '"helps ___" in 0 % of answers against 50 % (alone, it may be chance)' in text
