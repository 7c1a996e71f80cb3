"""A knowledge base written so that loading what is written gives the same triples."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Literal

import yaml

from caffe_pytest.knowledge.load import COLUMNS
from caffe_pytest.model.triple import KnowledgeBase

Format = Literal["csv", "yaml", "json"]
FORMATS: tuple[Format, ...] = ("csv", "yaml", "json")

_TO_QUOTE = re.compile('[",;\t\r\n]')
# YAML, by whose rules a base in JSON is read, does not allow these as they are
_NOT_IN_YAML = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def exported(base: KnowledgeBase, form: Format) -> Iterator[str]:
    """The lines of a file with the base, each with its end.

    CSV has the rows alone: what the base says of itself and the forms of its groups are in YAML and
    JSON only. JSON is read back as YAML, of which it is a part.
    """
    if form == "csv":
        return _csv(base)
    if form == "json":
        text = json.dumps(_plain(base), ensure_ascii=False, indent=1) + "\n"
        return iter([_NOT_IN_YAML.sub(lambda found: f"\\u{ord(found[0]):04x}", text)])
    options: dict[str, Any] = {"allow_unicode": True, "sort_keys": False, "width": 120}
    return iter([yaml.dump(_plain(base), Dumper=_Dumper, **options)])


class _Dumper(yaml.SafeDumper):
    """Writes text that no plain or single-quoted scalar keeps into double quotes."""


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = '"' if _NOT_IN_YAML.search(text) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)


def _csv(base: KnowledgeBase) -> Iterator[str]:
    yield ",".join(COLUMNS) + "\n"
    for triple in base.triples:
        yield ",".join(_cell(getattr(triple, column)) for column in COLUMNS) + "\n"


def _cell(value: str | bool) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    # not Python's writer: with plain line ends it leaves a carriage return unquoted
    return '"' + value.replace('"', '""') + '"' if _TO_QUOTE.search(value) else value


def _plain(base: KnowledgeBase) -> dict[str, Any]:
    """The base as plain data; what is not said, or said by default, is left out."""
    plain: dict[str, Any] = {
        "name": base.name,
        "version": base.version,
        "licence": base.licence,
        "language": base.language,
    }
    if base.datasheet is not None:
        plain["datasheet"] = base.datasheet
    plain["triples"] = [
        {key: value for key, value in triple.model_dump().items() if value != "" or key in _ALWAYS}
        for triple in base.triples
    ]
    if base.groups:
        plain["groups"] = {
            name: group.model_dump(mode="json", exclude_defaults=True)
            for name, group in base.groups.items()
        }
    return plain


_ALWAYS = ("disadvantaged", "advantaged")
