"""YAML documents as plain data that remembers its lines.

Used for test cases, intent files and knowledge bases: whatever a tester writes. Any input, however
broken or hostile, ends in data or in problems; never in another exception.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from caffe_pytest.errors import Problem, ProblemsFound

try:
    from yaml import CSafeLoader as SafeLoader
except ImportError:  # PyYAML built without libyaml
    from yaml import SafeLoader  # type: ignore[assignment]

MAX_BYTES = 64 * 1024 * 1024
MAX_DEPTH = 40
MAX_NODES = 2_000_000

PathInDocument = tuple[str | int, ...]

_TAG = "tag:yaml.org,2002:"


@dataclass(frozen=True)
class SourceMap:
    """Where in a file each part of a document stands."""

    file: str
    lines: Mapping[PathInDocument, int]

    def line(self, path: Sequence[str | int] = ()) -> int:
        """1-based line of the part at `path`, or of the nearest part that holds it."""
        place = tuple(path)
        while place and place not in self.lines:
            place = place[:-1]
        return self.lines.get(place, 1)

    def problem(self, path: Sequence[str | int], cause: str, remedy: str) -> Problem:
        """A problem with the part at `path`."""
        return Problem(self.file, self.line(path), dotted(path), cause, remedy)


@dataclass(frozen=True)
class Document:
    """One YAML document of a file."""

    data: Any
    source: SourceMap


def dotted(path: Sequence[str | int]) -> str:
    """A path as people write it: `prompts.bias_types[0]`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def read_text(path: Path, shown: str) -> str:
    """The text of a UTF-8 file.

    Raises:
        ProblemsFound: the file is missing, unreadable, too large, binary or not UTF-8.
    """

    def refuse(cause: str, remedy: str, line: int = 0) -> ProblemsFound:
        return ProblemsFound([Problem(shown, line, "", cause, remedy)])

    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise refuse(f"the file has {size:,} bytes", f"split it: {MAX_BYTES:,} are the limit")
        raw = path.read_bytes()
    except OSError as error:
        cause = error.strerror or str(error)
        raise refuse(f"cannot be read: {cause}", "check the path and its permissions") from error
    if b"\0" in raw:
        raise refuse("the file is binary, or not in UTF-8", "save it as UTF-8 text")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise refuse("the file is not in UTF-8", "save it as UTF-8 text", line) from error


def read_documents(path: Path, shown: str) -> tuple[list[Document], list[Problem]]:
    """The documents of a YAML file, and what is wrong with it.

    `shown` is how messages name the file. Documents before a syntax error are still returned, so
    that all problems of a file can be reported together.
    """
    try:
        text = read_text(path, shown)
    except ProblemsFound as found:
        return [], list(found.problems)
    documents: list[Document] = []
    problems: list[Problem] = []
    try:
        _refuse_deep_nesting(text)
        loader = SafeLoader(text)
        try:
            while loader.check_node():
                node = loader.get_node()
                assert node is not None  # check_node said so
                reader = _NodeReader(shown, SafeLoader(""))
                data = reader.read(node)
                problems += reader.problems
                if not reader.problems:
                    documents.append(Document(data, SourceMap(shown, reader.lines)))
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        problems.append(_syntax_problem(error, shown, text))
    except _TooMuch as error:
        problems.append(Problem(shown, error.line, "", error.cause, "write the document plainly"))
    return documents, problems


class _TooMuch(Exception):  # noqa: N818 - never leaves this module
    def __init__(self, cause: str, line: int) -> None:
        super().__init__(cause)
        self.cause = cause
        self.line = line


def _refuse_deep_nesting(text: str) -> None:
    """Count nesting over the flat events, before anything recurses into it."""
    depth = 0
    for event in yaml.parse(text, Loader=SafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                line = event.start_mark.line + 1 if event.start_mark else 0
                raise _TooMuch(f"nested deeper than {MAX_DEPTH} levels", line)
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _syntax_problem(error: yaml.YAMLError, shown: str, text: str) -> Problem:
    if not isinstance(error, yaml.MarkedYAMLError):
        # ReaderError: a control character, with its position in the text
        position = getattr(error, "position", None)
        line = text.count("\n", 0, position) + 1 if isinstance(position, int) else 0
        return Problem(shown, line, "", "holds a character that YAML does not allow", "remove it")
    mark = error.problem_mark or error.context_mark
    line = mark.line + 1 if mark else 0
    if "'\\t'" in (error.problem or ""):
        return Problem(shown, line, "", "a tab where YAML wants spaces", "indent with spaces")
    cause = "not valid YAML: " + ", ".join(filter(None, (error.context, error.problem)))
    remedy = "check indentation, quotes and colons on this line and the one before"
    return Problem(shown, line, "", cause, remedy)


@dataclass
class _NodeReader:
    """Turns composed nodes into plain data: what JSON can hold, and nothing else."""

    file: str
    scalars: Any
    """A loader, for its rules about what a plain scalar means."""
    lines: dict[PathInDocument, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    nodes: int = 0

    def read(self, node: yaml.Node, path: PathInDocument = ()) -> Any:
        self.nodes += 1
        if self.nodes > MAX_NODES or len(path) > MAX_DEPTH:
            raise _TooMuch("aliases make the document too large", node.start_mark.line + 1)
        self.lines.setdefault(path, node.start_mark.line + 1)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.read(child, (*path, i)) for i, child in enumerate(node.value)]
        return self._scalar(node, path)

    def _complain(self, node: yaml.Node, path: PathInDocument, cause: str, remedy: str) -> None:
        line = node.start_mark.line + 1
        self.problems.append(Problem(self.file, line, dotted(path), cause, remedy))

    def _mapping(self, node: yaml.MappingNode, path: PathInDocument) -> dict[str, Any]:
        merged: dict[str, Any] = {}
        own: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if key_node.tag == _TAG + "merge":
                for base in self._merged(value_node, path):
                    merged = {**base, **merged}
                continue
            if not isinstance(key_node, yaml.ScalarNode):
                self._complain(key_node, path, "a key is not a word", "write `key: value`")
                continue
            key = key_node.value
            if key in own:
                cause = "the key stands twice"
                self._complain(key_node, (*path, key), cause, "keep one of the two")
                continue
            self.lines[(*path, key)] = key_node.start_mark.line + 1
            own[key] = self.read(value_node, (*path, key))
        return {**merged, **own}

    def _merged(self, node: yaml.Node, path: PathInDocument) -> Iterator[dict[str, Any]]:
        for part in node.value if isinstance(node, yaml.SequenceNode) else [node]:
            if isinstance(part, yaml.MappingNode):
                value = self.read(part, path)
                yield value
            else:
                self._complain(part, path, "`<<` merges mappings only", "name an alias of one")

    def _scalar(self, node: yaml.Node, path: PathInDocument) -> Any:
        kind = node.tag.removeprefix(_TAG)
        if kind in ("str", "timestamp", "value"):
            return node.value
        if kind == "null":
            return None
        if kind not in ("int", "float", "bool"):
            self._complain(node, path, f"the tag {node.tag} is not known", "remove the tag")
            return None
        try:
            return getattr(self.scalars, f"construct_yaml_{kind}")(node)
        except (ValueError, KeyError, yaml.YAMLError):
            self._complain(node, path, f"{node.value[:40]!r} is no {kind}", "put it in quotes")
            return None
