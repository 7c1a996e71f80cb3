"""Results to summarise and report, made by hand."""

from __future__ import annotations

from caffe_pytest.model.run import PairResult, Result
from caffe_pytest.model.verdict import Verdict


def result(
    name: str,
    verdict: Verdict,
    score: float | None,
    *,
    bias_type: str = "gender",
    model: str = "one",
    case: str = "FAIR-1",
    groups: tuple[str, str] = ("women", "men"),
    reason: str = "because",
    answers: tuple[str | None, str | None] = ("an answer", "another"),
    failures: tuple[str | None, str | None] = (None, None),
    differences: tuple[str, ...] = (),
) -> Result:
    """A result of the similarity oracle."""
    pair = PairResult(
        triple="t1", topic="leadership", groups=groups,
        prompts=(f"about {groups[0]}", f"about {groups[1]}"), answers=answers, failures=failures,
        keys=("0" * 64, "1" * 64), differences=differences, score=score, verdict=verdict,
    )  # fmt: skip
    return Result(
        nodeid=f"a.fairness.yaml::{case}::{model}::{name}", file="a.fairness.yaml", line=1,
        case=case, kind="counterfactual", objective=None, model=model, intent="question",
        bias_type=bias_type, oracle="similarity", metric="lsa", space="reference", threshold=0.9,
        score=score, verdict=verdict, reason=reason, n=int(score is not None), pairs=(pair,),
    )  # fmt: skip


PASS, FAIL, ERROR = Verdict.PASS, Verdict.FAIL, Verdict.ERROR
