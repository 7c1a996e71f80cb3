"""Plain data checked against a pydantic model, in messages that a tester can act on."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from caffe_pytest.errors import Problem, did_you_mean
from caffe_pytest.specs.yaml_document import Document

ModelT = TypeVar("ModelT", bound=BaseModel)

NAME_RULE = "use letters, digits and _ . + -, beginning with a letter or digit"

_SHAPES = {
    "string_type": ("text", "put it in quotes"),
    "int_type": ("a whole number", "write digits, without quotes"),
    "int_from_float": ("a whole number", "drop the fraction"),
    "float_type": ("a number", "write digits, without quotes"),
    "finite_number": ("a finite number", "write a plain number"),
    "bool_type": ("true or false", "write true or false"),
    "bool_parsing": ("true or false", "write true or false"),
    "tuple_type": ("a list", "write it as [a, b], or one `- a` a line"),
    "list_type": ("a list", "write it as [a, b], or one `- a` a line"),
    "dict_type": ("a mapping", "write `key: value` lines, indented"),
    "model_type": ("a mapping", "write `key: value` lines, indented"),
    "model_attributes_type": ("a mapping", "write `key: value` lines, indented"),
}
_BOUNDS = {
    "greater_than_equal": ("ge", "at least"),
    "greater_than": ("gt", "above"),
    "less_than_equal": ("le", "at most"),
    "less_than": ("lt", "below"),
}
TAGS = ("similarity", "gap")
"""What pydantic adds to a path to say which oracle's expected fairness it found."""
SECRET = ("api_key",)
"""Keys whose values no message shows, whatever is wrong with them."""
_PATTERNS = {
    "env:": ("has to name an environment variable", "write env:NAME and put the key into NAME"),
    "https?:": ("is no plain address", "write http://host:port/v1; a key goes into `api_key`"),
}


def validate(document: Document, model: type[ModelT]) -> tuple[ModelT | None, list[Problem]]:
    """The document as `model`, or everything that is wrong with it.

    The data is checked by the rules of JSON, so that the JSON Schema and this function agree.
    """
    try:
        return model.model_validate_json(json.dumps(document.data)), []
    except ValidationError as error:
        return None, [_problem(detail, document, model) for detail in _told_apart(error)]


def _told_apart(error: ValidationError) -> Iterator[ErrorDetails]:
    """Each place once: the first thing wrong with it is what to mend."""
    seen: set[tuple[int | str, ...]] = set()
    for detail in error.errors(include_url=False):
        # pydantic calls a list too short when its parts are wrong; they are told of themselves
        only_a_consequence = detail["type"] == "too_short" and detail["input"]
        if detail["loc"] not in seen and not only_a_consequence:
            seen.add(detail["loc"])
            yield detail


def _problem(detail: ErrorDetails, document: Document, model: type[BaseModel]) -> Problem:
    cause, remedy = _explain(detail, model)
    at = detail.get("ctx", {}).get("at", ())  # our own checks of a whole say which part it is
    path = [part for part in detail["loc"] if part not in TAGS]
    return document.source.problem((*path, *at), cause, remedy)


def _explain(detail: ErrorDetails, model: type[BaseModel]) -> tuple[str, str]:
    """Cause and remedy of one pydantic error."""
    kind, path = detail["type"], detail["loc"]
    if path and path[-1] in SECRET:
        return _PATTERNS["env:"]
    if detail["input"] is None and kind != "extra_forbidden":
        return "is empty", "fill it in, or remove the key"
    if kind in _SHAPES:
        shape, remedy = _SHAPES[kind]
        return f"should be {shape}, and is {quoted(detail['input'])}", remedy
    if kind in _BOUNDS:
        key, words = _BOUNDS[kind]
        bound = detail["ctx"][key]
        return f"{quoted(detail['input'])} is out of range", f"choose a number {words} {bound:g}"
    explain: Callable[[ErrorDetails], tuple[str, str]] | None = {
        "missing": lambda _: ("is missing", f"add `{path[-1]}:`"),
        "extra_forbidden": lambda _: (
            f"unknown key {quoted(path[-1])}",
            did_you_mean(str(path[-1]), known_keys(model, path[:-1])),
        ),
        "literal_error": _literal,
        "string_pattern_mismatch": _pattern,
        "string_too_short": lambda _: ("is empty", "fill it in, or remove the key"),
        "too_short": lambda _: ("is empty", "fill it in, or remove the key"),
        "string_too_long": _too_long,
        "json_invalid": lambda _: ("holds a character that is no text", "remove it"),
    }.get(kind)  # fmt: skip
    if explain is not None:
        return explain(detail)
    cause, _, remedy = detail["msg"].partition("; ")
    return cause, remedy or "correct it, or remove the key"


def _too_long(detail: ErrorDetails) -> tuple[str, str]:
    return "is too long", f"keep to {detail['ctx']['max_length']} characters"


def _literal(detail: ErrorDetails) -> tuple[str, str]:
    allowed = re.findall(r"'([^']*)'", detail["ctx"]["expected"])
    return f"unknown value {quoted(detail['input'])}", did_you_mean(str(detail["input"]), allowed)


def _pattern(detail: ErrorDetails) -> tuple[str, str]:
    for start, (cause, remedy) in _PATTERNS.items():
        if detail["ctx"]["pattern"].startswith("^" + start):
            return cause, remedy  # the value may be a secret: it is not shown
    return f"{quoted(detail['input'])} is no identifier", NAME_RULE


def quoted(value: Any) -> str:
    """A value as the tester wrote it, cut short."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if value is None:
        return "empty"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + '..."'


def known_keys(model: type[BaseModel], path: Sequence[int | str]) -> list[str]:
    """The keys a model knows at `path`, for the remedy of an unknown one."""
    for part in path:
        if isinstance(part, int) or part in TAGS:
            continue
        field = model.model_fields.get(part)
        inner = list(_models_in(field.annotation)) if field else []
        if not inner:
            return []
        of_oracle = [one for one in inner if _default_oracle(one) in path]
        model = (of_oracle or inner)[0]
    return list(model.model_fields)


def _default_oracle(model: type[BaseModel]) -> str | None:
    field = model.model_fields.get("oracle")
    return field.default if field else None


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)
