"""YAML documents as plain data that remembers its lines.

Used for test cases, intent files and knowledge bases: whatever a tester writes. Any input, however
broken or hostile, ends in data or in problems; never in another exception.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
MAX_GROWTH = 10
"""How many times its own size a document may become through its aliases, at least ..."""
MAX_GROWN = 100_000
"""... so many characters and nodes."""
MAX_BITS = 64
"""Of a whole number: what other readers of JSON keep exactly, or nearly so."""

PathInDocument = tuple[str | int, ...]

_TAG = "tag:yaml.org,2002:"
_MAY_STAY_OPEN = ("quoted scalar", "flow sequence", "flow mapping")
_WORDS = {"int": "whole number", "float": "number", "bool": "true or false"}


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


LONGEST_KEY = 60


def dotted(path: Sequence[str | int]) -> str:
    """A path as people write it: `prompts.bias_types[0]`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
            continue
        key = part if len(part) <= LONGEST_KEY else part[:LONGEST_KEY] + "..."
        text += f".{key}" if text else key
    return text


def first_file(candidates: Iterable[Path]) -> Path | None:
    """The first of the paths at which there is a file; None where there is none."""
    for path in candidates:
        try:
            if path.is_file():
                return path
        except (OSError, ValueError):  # too long a name, a closed folder, no path at all
            continue
    return None


def read_text(path: Path, shown: str) -> str:
    """The text of a UTF-8 file.

    Raises:
        ProblemsFound: the file is missing, unreadable, too large, binary or not UTF-8.
    """

    def refuse(cause: str, remedy: str, line: int = 0) -> ProblemsFound:
        return ProblemsFound([Problem(shown, line, "", cause, remedy)])

    try:
        if path.exists() and not path.is_file():
            raise refuse("this is no file", "name a file with text")  # a pipe would never end
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise refuse(f"the file has {size:,} bytes", f"split it: {MAX_BYTES:,} are the limit")
        raw = path.read_bytes()
    except (OSError, ValueError) as error:
        cause = getattr(error, "strerror", None) or str(error)
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

    `shown` is how messages name the file. Documents before a syntax error are returned as well, and
    documents with problems as far as they can be read, so that all problems of a file can be
    reported together.
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
                budget = max(MAX_GROWN, MAX_GROWTH * len(text))
                reader = _NodeReader(shown, SafeLoader(""), budget)
                data = reader.read(node)
                problems += reader.problems
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
    try:
        for event in yaml.parse(text, Loader=SafeLoader):
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
                if depth > MAX_DEPTH:
                    line = event.start_mark.line + 1 if event.start_mark else 0
                    raise _TooMuch(f"nested deeper than {MAX_DEPTH} levels", line)
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
    except yaml.YAMLError:
        return  # the loader meets it too, when it has read the documents before it


def _syntax_problem(error: yaml.YAMLError, shown: str, text: str) -> Problem:
    if not isinstance(error, yaml.MarkedYAMLError):
        # its position counts bytes with libyaml, and characters without
        found = yaml.reader.Reader.NON_PRINTABLE.search(text)
        line = text.count("\n", 0, found.start()) + 1 if found else 0
        sign = f"the character {found[0]}" if found else "a character"
        return Problem(shown, line, "", f"holds {sign}, which YAML does not allow", "remove it")
    mark = error.problem_mark or error.context_mark
    line = mark.line + 1 if mark else 0
    written = "".join(text.split("\n")[max(0, line - 1) : line])
    if "\t" in written[: len(written) - len(written.lstrip())]:
        return Problem(shown, line, "", "a tab where YAML wants spaces", "indent with spaces")
    context, problem = error.context or "", error.problem or ""
    begins = error.context_mark.line + 1 if error.context_mark else line
    if begins < line and context.endswith(_MAY_STAY_OPEN):
        # what is never closed is noticed lines later, often at the end of the file
        context, problem = f"{context} that begins here", f"{problem} (line {line})"
        line = begins
    cause = "not valid YAML: " + ", ".join(filter(None, (context, problem)))
    return Problem(shown, line, "", cause, _syntax_remedy(error, written))


def _syntax_remedy(error: yaml.MarkedYAMLError, written: str) -> str:
    if "{{" in written:
        return "put text that holds {{ }} in quotes"
    said = f"{error.context} {error.problem}"
    if "alias" in said or "anchor" in said:
        return "put text that begins with * or & in quotes"
    if "cannot start any token" in said:
        return "put text that begins with @, ` or % in quotes"
    if "mapping values are not allowed" in said:
        return "put text that holds a colon in quotes, or check the indentation"
    return "check indentation, quotes, brackets and colons on this line and the one before"


_Entry = tuple[yaml.Node, yaml.Node]


@dataclass
class _NodeReader:
    """Turns composed nodes into plain data: what JSON can hold, and nothing else."""

    file: str
    scalars: Any
    """A loader, for its rules about what a plain scalar means."""
    budget: int
    """Nodes and characters that may still be read: aliases read the same ones over and over."""
    lines: dict[PathInDocument, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    told: set[int] = field(default_factory=set)
    """Nodes complained of; an alias does not repeat the complaint."""

    def read(self, node: yaml.Node, path: PathInDocument = ()) -> Any:
        self._spend(node, len(path))
        self.lines.setdefault(path, node.start_mark.line + 1)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            self._check_tag(node, path, "seq")
            return [self.read(child, (*path, i)) for i, child in enumerate(node.value)]
        return self._scalar(node, path)

    def _spend(self, node: yaml.Node, depth: int) -> None:
        self.budget -= 1 + len(node.value)
        if self.budget < 0 or depth > MAX_DEPTH:
            raise _TooMuch("aliases make the document too large", node.start_mark.line + 1)

    def _complain(self, node: yaml.Node, path: PathInDocument, cause: str, remedy: str) -> None:
        if id(node) not in self.told:
            self.told.add(id(node))
            line = node.start_mark.line + 1
            self.problems.append(Problem(self.file, line, dotted(path), cause, remedy))

    def _check_tag(self, node: yaml.Node, path: PathInDocument, wanted: str) -> None:
        if node.tag != _TAG + wanted:
            shown = node.tag.replace(_TAG, "!!", 1)
            self._complain(node, path, f"the tag {shown} is not known", "remove the tag")

    def _mapping(self, node: yaml.MappingNode, path: PathInDocument) -> dict[str, Any]:
        self._check_tag(node, path, "map")
        data: dict[str, Any] = {}
        for key, (key_node, value_node) in self._entries(node, path).items():
            self.lines[(*path, key)] = key_node.start_mark.line + 1
            data[key] = self.read(value_node, (*path, key))
        return data

    def _entries(
        self, node: yaml.MappingNode, path: PathInDocument, within: tuple[yaml.Node, ...] = ()
    ) -> dict[str, _Entry]:
        """The nodes behind each key; the mapping's own win over those that `<<` merges into it."""
        own: dict[str, _Entry] = {}
        merged: dict[str, _Entry] = {}
        for key_node, value_node in node.value:
            if key_node.tag == _TAG + "merge":
                for base in self._bases(value_node, path, (*within, node)):
                    merged = {**self._entries(base, path, (*within, node)), **merged}
            elif not isinstance(key_node, yaml.ScalarNode):
                self._complain(key_node, path, "a key is not a word", "write `key: value`")
            elif key_node.value in own:
                cause, place = "the key stands twice", (*path, key_node.value)
                self._complain(key_node, place, cause, "keep one of the two")
            else:
                own[key_node.value] = key_node, value_node
        return {**merged, **own}

    def _bases(
        self, node: yaml.Node, path: PathInDocument, within: tuple[yaml.Node, ...]
    ) -> Iterator[yaml.MappingNode]:
        for base in node.value if isinstance(node, yaml.SequenceNode) else [node]:
            self._spend(base, len(path) + len(within))
            if not isinstance(base, yaml.MappingNode):
                self._complain(base, path, "`<<` merges mappings only", "name an alias of one")
            elif base in within:
                self._complain(base, path, "`<<` merges a mapping into itself", "remove the `<<`")
            else:
                yield base

    def _scalar(self, node: yaml.Node, path: PathInDocument) -> Any:
        kind = node.tag.removeprefix(_TAG)
        if kind in ("str", "timestamp", "value", "merge"):
            return node.value
        if kind == "null":
            return None
        if kind not in ("int", "float", "bool"):
            self._check_tag(node, path, "str")
            return None
        # the value may be a secret that was tagged by mistake: it is not shown
        try:
            value = getattr(self.scalars, f"construct_yaml_{kind}")(node)
        except (ArithmeticError, LookupError, ValueError, yaml.YAMLError):
            self._complain(node, path, f"this is no {_WORDS[kind]}", "put it in quotes")
            return None
        if kind == "float" and not math.isfinite(value):
            self._complain(node, path, "this is no finite number", "write a plain number")
        elif kind == "int" and value.bit_length() > MAX_BITS:
            self._complain(node, path, "the number is too large", "put it in quotes if it is text")
        else:
            return value
        return None
