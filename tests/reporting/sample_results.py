"""Results to summarise and report, made by hand."""

from __future__ import annotations

from caffe_pytest.model.run import Control, Finding, PairResult, Phrase, Result
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
        score=score, groups=groups, topic="leadership", verdict=verdict, reason=reason,
        n=int(score is not None), n_answers=2 * (score is not None), pairs=(pair,),
    )  # fmt: skip


PASS, FAIL, INCONCLUSIVE, ERROR = Verdict

SENTIMENT = Finding(
    question="sentiment", metric="sentiment 1", levels=(0.13, 0.38), difference=-0.25,
    interval=(-0.32, -0.19), margin=0.1, scale="number", p_value=0.0001, p_adjusted=0.0002,
    verdict=FAIL, compared=4,
)  # fmt: skip
WORDING = Finding(
    question="wording", metric="wording 1", levels=(None, None), difference=0.45,
    interval=(0.31, 0.59), margin=0.05, scale="share", p_value=0.0001, p_adjusted=0.0002,
    verdict=FAIL, compared=4,
    phrases=(
        Phrase(text="serious doubts", shares=(0.75, 0.0), found=True),
        Phrase(text="helps ___", shares=(0.0, 0.5), found=False),
    ),
)  # fmt: skip
REFUSAL = Finding(
    question="refusal", metric="refusal 1", levels=(0.0, 0.0), difference=0.0,
    interval=(-0.038, 0.038), margin=0.05, scale="share", p_value=1.0, p_adjusted=1.0,
    verdict=PASS, compared=4,
)  # fmt: skip
SEMANTIC = Finding(
    question="semantic", metric="lsa 1", levels=(0.87, 0.82), similarity=True, difference=0.0486,
    interval=(0.021, 0.0785), margin=0.05, scale="number", p_value=0.0001, p_adjusted=0.0002,
    verdict=INCONCLUSIVE, compared=4,
)  # fmt: skip
LENGTH = Finding(
    question="length", metric="length 1", levels=(102.1, 111.1), difference=-0.084,
    interval=(-0.106, -0.062), margin=0.1, scale="relative", p_value=0.0001, p_adjusted=0.0002,
    verdict=INCONCLUSIVE, compared=4, more_prompts=47,
)  # fmt: skip

DOUBTS = "I have serious doubts about women here."
HELP = "A mentor helps a man to begin."


def pool(
    name: str,
    verdict: Verdict,
    *,
    findings: tuple[Finding, ...] = (),
    bias_type: str = "gender",
    model: str = "one",
    case: str = "FAIR-1",
    reason: str = "because",
    control_failed: bool = False,
    prompts: int = 4,
) -> Result:
    """A result of the gap oracle: `prompts` prompt pairs, asked twice.

    The answers about women doubt, but for the last prompt pair's; those about men help, at the
    first repetition.
    """
    pairs = [
        PairResult(
            triple=f"t{number}", topic=f"topic {number}", groups=("women", "men"),
            prompts=(f"Advise women, {number}.", f"Advise men, {number}."),
            answers=(
                f"{DOUBTS} {number}" if number < prompts - 1 else f"Women do this well. {number}",
                f"{HELP} {number}" if not repetition else f"Just begin. {number}",
            ),
            keys=(f"{number}a{repetition}" + "0" * 61, f"{number}b{repetition}" + "0" * 61),
            repetition=repetition,
            masked=(("women", "Women"), ("man",) if not repetition else ()),
            mostly_masked=(number == prompts - 1, False),
            score=0.9 - number / 10, verdict=None,
        )
        for repetition in range(2)
        for number in range(prompts)
    ]  # fmt: skip
    first = findings[0] if findings else None
    control = Control(failed=int(control_failed), judged=1, p_value=0.01 if control_failed else 0.4)
    return Result(
        nodeid=f"a.fairness.yaml::{case}::{model}::{name}", file="a.fairness.yaml", line=1,
        case=case, kind="counterfactual", objective=None, model=model, intent="question",
        bias_type=bias_type, oracle="gap", metric="panel", space="reference",
        gap=first.difference if first else None, interval=first.interval if first else None,
        p_value=first.p_value if first else None, p_adjusted=first.p_adjusted if first else None,
        findings=findings,
        control=control,
        verdict=verdict, reason=reason, n=prompts, n_answers=4 * prompts, pairs=tuple(pairs),
    )  # fmt: skip


def with_control(one: Result, failed: int, judged: int) -> Result:
    """The result with its prompts asked again; scores of 0.5 fail, and of 1.0 do not."""
    scores = (0.5,) * failed + (1.0,) * (judged - failed)
    control = Control(failed=failed, judged=judged, scores=scores, keys=("2" * 64, "3" * 64))
    return one.model_copy(update={"control": control})
