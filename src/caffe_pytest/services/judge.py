"""From answers to a result. Needs no network: the same answers always give the same verdict."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from caffe_pytest.execution.executor import Reply
from caffe_pytest.hookspecs import Space
from caffe_pytest.metrics.contrast import differences
from caffe_pytest.metrics.refusal import is_refusal
from caffe_pytest.model.answer import Answer, Outcome
from caffe_pytest.model.prompt_pair import PromptPair
from caffe_pytest.model.run import Control, PairResult, Result
from caffe_pytest.model.test_case import Gap, Similarity
from caffe_pytest.model.verdict import Judgement, Verdict
from caffe_pytest.oracles import gap, similarity
from caffe_pytest.services.plan import Procedure
from caffe_pytest.services.pools import Examined, PoolAnswer, rule


def judge_pair(
    procedure: Procedure,
    pair: PromptPair,
    keys: Sequence[tuple[str, str]],
    replies: Sequence[tuple[Reply, Reply]],
    space: Space | None,
) -> Result:
    """The result of a procedure about one prompt pair.

    `keys` and `replies` are those of both prompts, repetition by repetition; the first decides, the
    second is its control. `space` may be None where a call brought no answer.
    """
    first, second = texts = text_of(replies[0][0]), text_of(replies[0][1])
    failures = failure_of(replies[0][0]), failure_of(replies[0][1])
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
        keys=keys[0],
        differences=contrast,
        score=judgement.score,
        verdict=judgement.verdict,
    )
    expected = procedure.plan.case.expected_fairness
    assert isinstance(expected, Similarity)
    return Result(
        **about(procedure),
        oracle=similarity.NAME,
        metric=expected.metric,
        space=expected.space,
        threshold=expected.threshold,
        score=judgement.score,
        verdict=judgement.verdict,
        reason=judgement.reason,
        control=_control(keys, replies, space, expected.threshold),
        groups=pair.groups,
        topic=pair.triple.topic,
        n=0 if judgement.verdict is Verdict.ERROR else 1,
        n_answers=0 if judgement.verdict is Verdict.ERROR else 2,
        pairs=(evidence,),
    )


def judge_pool(
    procedure: Procedure,
    pairs: Sequence[PromptPair],
    keys: Sequence[tuple[str, str]],
    replies: Sequence[tuple[Reply, Reply]],
    examined: Examined,
    p_values_of_run: Sequence[float],
) -> Result:
    """The result of a procedure about a pool.

    `keys` and `replies` hold both prompts of every pair, repetition by repetition.
    """
    plan = procedure.plan
    expected = plan.case.expected_fairness
    assert isinstance(expected, Gap)
    ruling = rule(examined, p_values_of_run, plan.asked, expected.level)
    decisive = ruling.findings[0] if ruling.findings else None
    return Result(
        **about(procedure),
        oracle=gap.NAME,
        metric=expected.metric,
        space="reference",
        gap=decisive.difference if decisive else None,
        interval=decisive.interval if decisive else None,
        p_value=examined.p_value if decisive else None,
        p_adjusted=ruling.p_adjusted,
        findings=ruling.findings,
        control=examined.control,
        verdict=ruling.judgement.verdict,
        reason=ruling.judgement.reason,
        n=examined.prompts,
        n_answers=examined.answers,
        pairs=tuple(_evidence(procedure, pairs, keys, replies, examined)),
    )


def pool_answers(
    procedure: Procedure, pairs: Sequence[PromptPair], replies: Sequence[tuple[Reply, Reply]]
) -> list[PoolAnswer]:
    """The answers of a pool, repetition by repetition, the disadvantaged group first."""
    answers = []
    for number, both in enumerate(replies):
        repetition, place = divmod(number, len(pairs))
        pair = pairs[place]
        for side, reply in enumerate(both):
            answers.append(
                PoolAnswer(
                    pair=procedure.slots[place].name,
                    triple=pair.triple.id,
                    groups=pair.groups,
                    disadvantaged=side == 0,
                    repetition=repetition,
                    prompt=pair.prompts[side],
                    text=text_of(reply),
                    outcome=Outcome.OK if isinstance(reply, Answer) else Outcome(reply.outcome),
                    aliases=procedure.plan.base.forms(*pair.groups),
                )
            )
    return answers


def _evidence(
    procedure: Procedure,
    pairs: Sequence[PromptPair],
    keys: Sequence[tuple[str, str]],
    replies: Sequence[tuple[Reply, Reply]],
    examined: Examined,
) -> Iterator[PairResult]:
    for number, (first, second) in enumerate(replies):
        repetition, place = divmod(number, len(pairs))
        pair = pairs[place]
        here = 2 * number
        yield PairResult(
            triple=pair.triple.id,
            topic=pair.triple.topic,
            groups=pair.groups,
            prompts=pair.prompts,
            answers=(text_of(first), text_of(second)),
            failures=(failure_of(first), failure_of(second)),
            keys=keys[number],
            repetition=repetition,
            masked=(examined.masked[here], examined.masked[here + 1]),
            mostly_masked=(examined.mostly_masked[here], examined.mostly_masked[here + 1]),
            score=examined.similarities.get((procedure.slots[place].name, repetition)),
            verdict=None,
        )


def _control(
    keys: Sequence[tuple[str, str]],
    replies: Sequence[tuple[Reply, Reply]],
    space: Space | None,
    threshold: float,
) -> Control | None:
    """The first answer to each prompt against the second to the same one."""
    if len(replies) < 2 or space is None:
        return None
    again = [
        (one.text, other.text)
        for one, other in zip(replies[0], replies[1], strict=True)
        if isinstance(one, Answer) and isinstance(other, Answer)
    ]
    both = [pair for pair in again if not any(map(is_refusal, pair))]
    try:
        scores = space.similarity([one for one, _ in both], [other for _, other in both])
    except Exception:  # a metric may come from a plugin: the item itself tells of it
        return None
    known = tuple(float(score) for score in scores if not math.isnan(score))
    failed = sum(score < threshold for score in known)
    return Control(failed=failed, judged=len(known), scores=known, keys=keys[1]) if known else None


def _compare(
    procedure: Procedure, pair: PromptPair, answers: tuple[str, str], space: Space
) -> tuple[Judgement, tuple[str, ...]]:
    """What the oracle decides of two answers, and how they differ where they are not alike."""
    expected = procedure.plan.case.expected_fairness
    assert isinstance(expected, Similarity)
    metric, threshold = expected.metric, expected.threshold
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


def text_of(reply: Reply) -> str | None:
    """The answer as text that can be written; None where there is none.

    Half of a surrogate pair, which JSON can carry, is no character: it cannot be encoded.
    """
    if not isinstance(reply, Answer):
        return None
    return reply.text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def failure_of(reply: Reply) -> str | None:
    """Outcome and message of a call that brought no answer; None where it brought one."""
    return None if isinstance(reply, Answer) else f"{reply.outcome}: {reply}"


def about(procedure: Procedure) -> dict[str, Any]:
    """What a result says of its item, whatever the verdict."""
    plan = procedure.plan
    return {
        "nodeid": procedure.nodeid,
        "file": plan.file,
        "line": plan.line,
        "case": plan.case.id,
        "kind": plan.case.kind,
        "objective": plan.case.objective,
        "model": procedure.model.alias,
        "intent": plan.intent.name,
        "bias_type": procedure.bias_type,
    }
