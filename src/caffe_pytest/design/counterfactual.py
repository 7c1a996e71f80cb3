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
    if first == second:
        raise NotCounterfactual(
            f'{_where(pair)}: the prompt names no group: "{first}"; '
            "put {{ group }} where the group stands"
        )
    if not _turns_into(first, second, *pair.groups):
        raise NotCounterfactual(
            f"{_where(pair)}: the prompts differ in more than the group: "
            f'"{first}" against "{second}"; a template may not depend on which group it names'
        )


def _where(pair: PromptPair) -> str:
    return f"intent {pair.intent}, triple {pair.triple.id}, prompt {pair.number}"


def _turns_into(first: str, second: str, named: str, other: str) -> bool:
    """Whether `second` is `first` with mentions of `named` turned into `other`.

    A mention may also stay, because a topic can speak of the group as well. So there may be several
    ways through `second`; all are followed at once, which keeps the time linear.
    """
    ends = {0}
    for index, piece in enumerate(_mention(named).split(first)):
        may_become = [piece]
        if index % 2:  # a mention; the pieces between stand at even places
            may_become.append(other)
            if piece.startswith(named[:1].upper()):  # perhaps where a sentence starts
                may_become.append(other[:1].upper() + other[1:])
        ends = {
            end + len(text) for end in ends for text in may_become if second.startswith(text, end)
        }
    return len(second) in ends


@lru_cache(maxsize=4096)
def _mention(group: str) -> re.Pattern[str]:
    start = re.escape(group[:1])
    upper = re.escape(group[:1].upper())
    return re.compile(rf"(?<!\w)((?:{start}|{upper}){re.escape(group[1:])})(?!\w)")
