"""The check that two prompts differ only in the group they name."""

from __future__ import annotations

import re
from functools import lru_cache

from caffe_pytest.errors import CaffeError
from caffe_pytest.model.prompt_pair import PromptPair


class NotCounterfactual(CaffeError):  # noqa: N818 - says what was found
    """Two prompts of a pair differ in more than the group."""


def check_counterfactual(pair: PromptPair) -> None:
    """Prove that swapping the groups turns one prompt of the pair into the other.

    Raises:
        NotCounterfactual: they differ elsewhere, or do not name the groups.
    """
    first, second = pair.prompts
    swapped = _swap(first, *pair.groups)
    if first == second:
        raise NotCounterfactual(
            f'{_where(pair)}: the prompt names no group: "{first}"; '
            "put {{ group }} where the group stands"
        )
    if swapped.fullmatch(second) is None:
        raise NotCounterfactual(
            f"{_where(pair)}: the prompts differ in more than the group: "
            f'"{first}" against "{second}"; a template may not depend on which group it names'
        )


def _where(pair: PromptPair) -> str:
    return f"intent {pair.intent}, triple {pair.triple.id}, prompt {pair.number}"


def _swap(prompt: str, named: str, other: str) -> re.Pattern[str]:
    """What the prompt may become: each mention of `named` stays, or turns into `other`.

    A mention may stay because a topic can speak of the group as well.
    """
    pieces = _mention(named).split(prompt)
    pattern = ""
    for index, piece in enumerate(pieces):
        if index % 2 == 0:
            pattern += re.escape(piece)
        else:
            may_become = [piece, other]
            if piece[:1] == named[:1].upper():  # perhaps where a sentence starts
                may_become.append(other[:1].upper() + other[1:])
            pattern += f"(?:{'|'.join(map(re.escape, may_become))})"
    return re.compile(pattern)


@lru_cache(maxsize=4096)
def _mention(group: str) -> re.Pattern[str]:
    start = re.escape(group[:1])
    upper = re.escape(group[:1].upper())
    return re.compile(rf"(?<!\w)((?:{start}|{upper}){re.escape(group[1:])})(?!\w)")
