"""From answers to a result. Needs no network: the same answers always give the same verdict."""

from __future__ import annotations

from caffe_pytest.execution.executor import Reply
from caffe_pytest.hookspecs import Space
from caffe_pytest.metrics.contrast import differences
from caffe_pytest.metrics.refusal import is_refusal
from caffe_pytest.model.answer import Answer
from caffe_pytest.model.prompt_pair import PromptPair
from caffe_pytest.model.run import PairResult, Result
from caffe_pytest.model.verdict import Judgement, Verdict
from caffe_pytest.oracles import similarity
from caffe_pytest.services.plan import Procedure


def judge(
    procedure: Procedure,
    pair: PromptPair,
    keys: tuple[str, str],
    replies: tuple[Reply, Reply],
    space: Space | None,
) -> Result:
    """The result of a procedure whose prompts have been asked.

    `space` is where answers are compared; it may be None where a call brought no answer.
    """
    first, second = texts = _text(replies[0]), _text(replies[1])
    failures = _failure(replies[0]), _failure(replies[1])
    contrast: tuple[str, ...] = ()
    if first is None or second is None or space is None:
        judgement = Judgement(Verdict.ERROR, _missing(pair, failures))
    else:
        judgement, contrast = _compare(procedure, pair, (first, second), space)
    evidence = PairResult(
        triple=pair.triple.id,
        topic=pair.triple.topic,
        groups=pair.groups,
        prompts=pair.prompts,
        answers=texts,
        failures=failures,
        keys=keys,
        differences=contrast,
        score=judgement.score,
        verdict=judgement.verdict,
    )
    return _result(procedure, judgement, evidence)


def _compare(
    procedure: Procedure, pair: PromptPair, answers: tuple[str, str], space: Space
) -> tuple[Judgement, tuple[str, ...]]:
    """What the oracle decides of two answers, and how they differ where they are not alike."""
    metric = procedure.plan.metric.name
    threshold = procedure.plan.case.expected_fairness.threshold
    try:
        score = float(space.similarity(answers[:1], answers[1:])[0])
    except Exception as error:  # a metric may come from a plugin
        return Judgement(Verdict.ERROR, f"the metric {metric} broke: {error!r}"), ()
    refused = is_refusal(answers[0]), is_refusal(answers[1])
    alike = score >= threshold and not any(refused)
    contrast = () if alike else differences(answers, pair.groups)
    judgement = similarity.judge_similarity(
        score,
        threshold=threshold,
        metric=metric,
        groups=pair.groups,
        refused=refused,
        differences=contrast,
    )
    return judgement, contrast


def _missing(pair: PromptPair, failures: tuple[str | None, str | None]) -> str:
    return "; ".join(
        f"no answer about {group}: {failure}"
        for group, failure in zip(pair.groups, failures, strict=True)
        if failure is not None
    )


def _text(reply: Reply) -> str | None:
    """The answer as text that can be written; None where there is none.

    Half of a surrogate pair, which JSON can carry, is no character: it cannot be encoded.
    """
    if not isinstance(reply, Answer):
        return None
    return reply.text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _failure(reply: Reply) -> str | None:
    return None if isinstance(reply, Answer) else f"{reply.outcome}: {reply}"


def _result(procedure: Procedure, judgement: Judgement, pair: PairResult) -> Result:
    plan = procedure.plan
    expected = plan.case.expected_fairness
    return Result(
        nodeid=procedure.nodeid,
        file=plan.file,
        line=plan.line,
        case=plan.case.id,
        kind=plan.case.kind,
        objective=plan.case.objective,
        model=procedure.model.alias,
        intent=plan.intent.name,
        bias_type=procedure.slot.triple.bias_type,
        oracle=similarity.NAME,
        metric=plan.metric.name,
        space=expected.space,
        threshold=expected.threshold,
        score=judgement.score,
        verdict=judgement.verdict,
        reason=judgement.reason,
        n=0 if judgement.verdict is Verdict.ERROR else 1,
        pairs=(pair,),
    )
