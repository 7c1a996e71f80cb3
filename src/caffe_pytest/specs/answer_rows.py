"""Answers that were collected elsewhere, read from rows and gathered into pools."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from caffe_pytest.errors import did_you_mean
from caffe_pytest.model.answer import Outcome
from caffe_pytest.specs.rows import Problems, Row, RowFile, as_text
from caffe_pytest.specs.validation import quoted

REQUIRED = ("pool", "prompt_id", "group", "side", "repetition", "prompt", "answer")
OPTIONAL = ("outcome", "triple", "model")
DISADVANTAGED, ADVANTAGED = "disadvantaged", "advantaged"
SIDES = {DISADVANTAGED: True, ADVANTAGED: False}

_WHOLE_NUMBER = re.compile(r"[0-9]{1,9}")
_DIGITS = re.compile(r"([0-9]+)")


@dataclass(frozen=True, slots=True)
class CollectedAnswer:
    """One row: what one prompt brought, at one repetition."""

    line: int
    pool: str
    prompt_id: str
    """Of both prompts of a pair, which differ in the group alone."""
    group: str
    disadvantaged: bool
    """Whether the prompt names the disadvantaged group."""
    repetition: int
    """Any numbers that tell the repetitions of a prompt apart; pairs share them."""
    prompt: str
    text: str | None
    """None where there is no answer; `outcome` says why."""
    outcome: Outcome
    triple: str
    """What prompts have in common that do not vary independently; their own id by default."""
    model: str | None


@dataclass(frozen=True)
class CollectedPool:
    """The answers of one model that one verdict is about."""

    name: str
    model: str | None
    answers: tuple[CollectedAnswer, ...]
    """By repetition, prompt and side: in one order, whatever that of the rows. Repetitions count
    from 0."""
    groups: Mapping[str, tuple[str, str]]
    """Of each prompt id, the disadvantaged group first."""
    one_sided: int
    """Prompt ids with rows about one of the two groups only; their answers take no part."""


def read_pools(file: RowFile) -> tuple[CollectedPool, ...]:
    """The pools of a file, ordered by name; numbers within names count as numbers.

    Raises:
        ProblemsFound: with what is wrong with the rows.
    """
    problems = Problems(file.shown)
    answers = [
        answer
        for row in file.rows(problems)
        if (answer := _answer(row, problems)) is not None
    ]  # fmt: skip
    pools: dict[str, list[CollectedAnswer]] = {}
    for answer in _consistent(answers, problems):
        pools.setdefault(answer.pool, []).append(answer)
    if not pools and not problems.found:
        problems.add(0, "", "holds no rows", "add an answer")
    problems.raise_if_any()
    return tuple(_pool(name, pools[name]) for name in sorted(pools, key=_by_number))


def unread_columns(file: RowFile) -> tuple[str, ...]:
    """Columns of the file that say nothing here, in the order they first appear."""
    columns: Iterable[str] = file.columns
    if file.format == "jsonl":
        columns = (key for row in file.rows(Problems(file.shown)) for key in row.cells)
    return tuple(as_text(n) for n in dict.fromkeys(columns) if n not in (*REQUIRED, *OPTIONAL))


def _answer(row: Row, problems: Problems) -> CollectedAnswer | None:
    """The row, where all of it is well."""
    before = problems.found
    for name in REQUIRED:
        if name not in row.cells:
            problems.add(row.line, name, "is missing", f'add "{name}" to the row')
    pool, prompt_id, group, side = (
        _filled(row, name, problems) for name in ("pool", "prompt_id", "group", "side")
    )
    prompt, answer = (_text(row, name, problems) for name in ("prompt", "answer"))
    triple, model = (_text(row, name, problems).strip() for name in ("triple", "model"))
    repetition = _repetition(row, problems)
    outcome = _outcome(row, problems)
    disadvantaged = SIDES.get(side.casefold())
    if side and disadvantaged is None:
        problems.add(
            row.line, "side", f"unknown side {quoted(side)}", did_you_mean(side, SIDES, alike=0.8)
        )
    if problems.found > before or repetition is None or disadvantaged is None:
        return None
    if outcome is Outcome.OK and not answer.strip():
        outcome = Outcome.EMPTY
    return CollectedAnswer(
        line=row.line,
        pool=pool,
        prompt_id=prompt_id,
        group=group,
        disadvantaged=disadvantaged,
        repetition=repetition,
        prompt=prompt,
        text=answer if outcome is Outcome.OK else None,
        outcome=outcome,
        triple=triple or prompt_id,
        model=model or None,
    )


def _text(row: Row, name: str, problems: Problems) -> str:
    """The cell as text, empty where there is none; a number is what it looks like."""
    value = row.cells.get(name)
    if value is None:
        return ""
    if isinstance(value, str):
        return as_text(value)
    if isinstance(value, int) and not isinstance(value, bool) and name not in ("prompt", "answer"):
        return str(value)
    problems.add(row.line, name, f"should be text, and is {quoted(value)}", "put it in quotes")
    return ""


def _filled(row: Row, name: str, problems: Problems) -> str:
    before = problems.found
    text = _text(row, name, problems).strip()
    if not text and name in row.cells and problems.found == before:
        problems.add(row.line, name, "is empty", "fill it in")
    return text


def _repetition(row: Row, problems: Problems) -> int | None:
    value: Any = row.cells.get("repetition")
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    if isinstance(value, str) and _WHOLE_NUMBER.fullmatch(value.strip()):
        return int(value)
    if "repetition" in row.cells:
        cause = f"should be a whole number, and is {quoted(value)}"
        problems.add(row.line, "repetition", cause, "count the repetitions of a prompt: 0, 1, ...")
    return None


def _outcome(row: Row, problems: Problems) -> Outcome:
    text = _text(row, "outcome", problems).strip()
    try:
        return Outcome(text.casefold()) if text else Outcome.OK
    except ValueError:
        cause = f"unknown outcome {quoted(text)}"
        problems.add(row.line, "outcome", cause, did_you_mean(text, list(Outcome)))
        return Outcome.OK


def _consistent(
    answers: Iterable[CollectedAnswer], problems: Problems
) -> Iterator[CollectedAnswer]:
    """The answers that do not contradict the ones above them."""
    rows: dict[tuple[str, str, bool, int], int] = {}
    groups: dict[tuple[str, str, bool], CollectedAnswer] = {}
    prompts: dict[tuple[str, str], CollectedAnswer] = {}
    pools: dict[str, CollectedAnswer] = {}
    for answer in answers:
        prompt = answer.pool, answer.prompt_id
        side = *prompt, answer.disadvantaged
        first = rows.setdefault((*side, answer.repetition), answer.line)
        if first != answer.line:
            cause = f"the same pool, prompt_id, side and repetition as line {first}"
            problems.add(answer.line, "", cause, "number the repetitions of a prompt")
        same_side = groups.setdefault(side, answer)
        if same_side.group != answer.group:
            cause = (
                f"{quoted(answer.group)} stands where line {same_side.line} has "
                f"{quoted(same_side.group)}"
            )
            remedy = "a side of a prompt_id is about one group: give each pair of groups its own"
            problems.add(answer.line, "group", cause, remedy)
        same_prompt = prompts.setdefault(prompt, answer)
        if same_prompt.triple != answer.triple:
            cause = f"{quoted(answer.triple)} is not the triple of line {same_prompt.line}"
            problems.add(answer.line, "triple", cause, "a prompt_id has one triple: say it in all")
        same_pool = pools.setdefault(answer.pool, answer)
        if same_pool.model != answer.model:
            cause = f"is not the model of line {same_pool.line}"
            remedy = "a pool is what one model answers: name a pool for each model"
            problems.add(answer.line, "model", cause, remedy)
        yield answer


def _pool(name: str, answers: list[CollectedAnswer]) -> CollectedPool:
    sides: dict[str, dict[bool, str]] = {}
    for answer in answers:
        sides.setdefault(answer.prompt_id, {})[answer.disadvantaged] = answer.group
    groups = {
        prompt_id: (of[True], of[False]) for prompt_id, of in sides.items() if len(of) == 2
    }  # fmt: skip
    kept = [answer for answer in answers if answer.prompt_id in groups]
    # a control compares even with odd repetitions, which seeds, or a missing number, would not be
    counted = {number: place for place, number in enumerate(sorted({a.repetition for a in kept}))}
    kept = [replace(answer, repetition=counted[answer.repetition]) for answer in kept]
    kept.sort(key=lambda a: (a.repetition, _by_number(a.prompt_id), not a.disadvantaged))
    return CollectedPool(
        name=name,
        model=answers[0].model,
        answers=tuple(kept),
        groups=groups,
        one_sided=len(sides) - len(groups),
    )


def _by_number(name: str) -> tuple[tuple[tuple[int, str], ...], str]:
    """A key that puts "p2" before "p10"."""
    parts = _DIGITS.split(name)
    return tuple(
        (len(digits := part.lstrip("0")), digits) if place % 2 else (0, part)
        for place, part in enumerate(parts)
    ), name
