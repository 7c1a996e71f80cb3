"""What answers cost: tokens as the provider counted them, money by litellm's price list."""

from __future__ import annotations

import os
from collections.abc import Sequence

from caffe_pytest.execution.executor import Reply
from caffe_pytest.hookspecs import Provider
from caffe_pytest.model.answer import Answer
from caffe_pytest.model.test_case import ModelUnderTest
from caffe_pytest.providers.simulated import PREFIX
from caffe_pytest.reporting.calibration import Cost


def cost_of(model: ModelUnderTest, provider: Provider, replies: Sequence[Reply]) -> Cost:
    """What the answers among the replies of a model cost, whoever paid for them."""
    answers = [reply for reply in replies if isinstance(reply, Answer)]
    tokens = [_tokens(answers, name) for name in ("prompt_tokens", "completion_tokens")]
    return Cost(
        answers=len(answers),
        prompt_tokens=tokens[0],
        completion_tokens=tokens[1],
        dollars=_dollars(model, provider, *tokens),
    )


def _tokens(answers: Sequence[Answer], name: str) -> int | None:
    if not answers or any(name not in answer.usage for answer in answers):
        return None
    return sum(answer.usage[name] for answer in answers)


def _dollars(
    model: ModelUnderTest, provider: Provider, prompt: int | None, completion: int | None
) -> float | None:
    """By litellm's own price list; None where it has no price, or the address is another's."""
    name = provider.identity.get("provider")
    if name == PREFIX:
        return 0.0
    if name != "litellm" or model.api_base or prompt is None or completion is None:
        return None
    # without it litellm fetches its price list from the network when it is imported
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    import litellm

    try:
        paid = litellm.cost_per_token(
            model=model.model, prompt_tokens=prompt, completion_tokens=completion
        )
    except Exception:  # litellm raises whatever comes to hand for a model it does not know
        return None
    return round(float(sum(paid)), 6)
