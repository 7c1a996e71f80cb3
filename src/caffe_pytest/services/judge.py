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
    texts = tuple(reply.text if isinstance(reply, Answer) else None for reply in replies)
    first, second = texts
    contrast: tuple[str, ...] = ()
    if first is None or second is None or space is None:
        judgement = Judgement(Verdict.ERROR, _missing(pair, replies))
    else:
        answers = (first, second)
        score = float(space.similarity([first], [second])[0])
        threshold = procedure.plan.case.expected_fairness.threshold
        if first != second and not score >= threshold:
            contrast = differences(answers, pair.groups)
        judgement = similarity.judge_similarity(
            score,
            threshold=threshold,
            metric=procedure.plan.metric.name,
            groups=pair.groups,
            refused=(is_refusal(first), is_refusal(second)),
            differences=contrast,
        )
    return _result(procedure, judgement, _pair_result(pair, keys, replies, contrast, judgement))


def _missing(pair: PromptPair, replies: tuple[Reply, Reply]) -> str:
    return "; ".join(
        f"no answer about {group}: {reply.outcome}: {reply}"
        for group, reply in zip(pair.groups, replies, strict=True)
        if not isinstance(reply, Answer)
    )


def _pair_result(
    pair: PromptPair,
    keys: tuple[str, str],
    replies: tuple[Reply, Reply],
    contrast: tuple[str, ...],
    judgement: Judgement,
) -> PairResult:
    first, second = replies
    return PairResult(
        triple=pair.triple.id,
        topic=pair.triple.topic,
        groups=pair.groups,
        prompts=pair.prompts,
        answers=(_text(first), _text(second)),
        failures=(_failure(first), _failure(second)),
        keys=keys,
        differences=contrast,
        score=judgement.score,
        verdict=judgement.verdict,
    )


def _text(reply: Reply) -> str | None:
    return reply.text if isinstance(reply, Answer) else None


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
