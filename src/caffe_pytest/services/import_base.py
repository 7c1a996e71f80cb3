"""Making a knowledge base of a data set: proposals first, triples when a person has decided.

An import leaves a folder with `review.csv`. Accepting it writes the base beside it. What a person
has changed is never written over.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any

from caffe_pytest.errors import CaffeError, ProviderError
from caffe_pytest.execution.executor import Call, Executor, Reply
from caffe_pytest.execution.journal import Journal
from caffe_pytest.execution.run_folder import RunFolder, new_run_id
from caffe_pytest.extensions import Extensions
from caffe_pytest.knowledge.importers.formats import FORMATS
from caffe_pytest.knowledge.importers.pages import (
    ANSWERS,
    BASE,
    DATASHEET,
    README,
    TRIPLES,
    base_yaml,
    datasheet,
    readme,
)
from caffe_pytest.knowledge.importers.proposal import NO_TOPIC, SAME, Proposal
from caffe_pytest.knowledge.importers.review import (
    REVIEW,
    read_review,
    review_lines,
    triple_lines,
)
from caffe_pytest.knowledge.importers.topic import topic_messages, topic_of
from caffe_pytest.knowledge.load import load_base
from caffe_pytest.metrics.refusal import is_refusal
from caffe_pytest.model.answer import Answer, Outcome, Request
from caffe_pytest.model.test_case import ModelUnderTest
from caffe_pytest.model.triple import KnowledgeBase, as_name
from caffe_pytest.reporting.whole_file import whole_file
from caffe_pytest.version import __version__

IMPORT = "import.json"
"""What was imported, and how the files were when they were written."""

TIMEOUT = 60.0
"""Seconds for one topic."""
CONCURRENCY = 16
_AT_ONCE = 512
"""Proposals asked about, then written: bounds the memory of a long import."""
_HOPELESS = {Outcome.UNAUTHORISED, Outcome.UNREACHABLE, Outcome.REJECTED}
"""What the first question meets, the others will meet as well."""


@dataclass(frozen=True)
class Wanted:
    """What is to be imported, and how the base will be called."""

    source: Path
    format: str
    """One of `FORMATS`."""
    out: Path
    name: str | None = None
    """Left out = that of the folder."""
    licence: str | None = None
    """Left out = that under which the data set was published."""
    model: ModelUnderTest | None = None
    """Asked for topics where the data set has none."""
    with_sentences: bool = False


@dataclass
class Imported:
    """What an import found."""

    read: tuple[str, ...]
    """Columns or keys that were recognised."""
    unread: tuple[str, ...]
    rows: int = 0
    both_groups: int = 0
    """Rows for which two groups are proposed."""
    topics: int = 0
    """Rows with a topic."""
    flags: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    """Questions to the model without an answer, by outcome."""

    def count(self, proposal: Proposal) -> None:
        """Take a proposal in."""
        self.rows += 1
        self.both_groups += bool(proposal.disadvantaged and proposal.advantaged)
        self.topics += bool(proposal.topic)
        self.flags.update(proposal.flags)


@dataclass(frozen=True)
class Accepted:
    """What became of a review."""

    accepted: int
    refused: int
    written: tuple[str, ...]
    kept: tuple[str, ...]
    """Files that a person has changed, and that were left as they are."""


def import_base(wanted: Wanted, extensions: Extensions) -> Imported:
    """Write `review.csv` and what explains it into the folder; nothing is accepted yet.

    Raises:
        ProblemsFound: with what is wrong with the data set; nothing is written then.
        CaffeError: there is no data set, a review there was worked on, the model cannot be asked,
            or no file can be written.
    """
    chosen = FORMATS[wanted.format]
    name = wanted.name if wanted.name is not None else as_name(wanted.out.resolve().name)
    if name != as_name(name):
        raise CaffeError(f'--name "{name}": is no name; write {as_name(name)}')
    _refuse_missing(wanted.source)
    source = chosen.read(wanted.source)
    written = _written(wanted.out)
    if _changed(wanted.out / REVIEW, written):
        raise CaffeError(
            f"{wanted.out / REVIEW}: was worked on since it was written, and is not written over; "
            f"run `caffe kb import --accept {wanted.out}`, or name another folder"
        )
    found = Imported(source.read, source.unread)
    try:
        wanted.out.mkdir(parents=True, exist_ok=True)
        with _Topics(wanted, extensions, found) as topics:
            lines = review_lines(
                _counted(topics.filled(source.proposals), found),
                with_sentences=wanted.with_sentences,
            )
            written[REVIEW] = _write(wanted.out / REVIEW, lines)
        if not _changed(wanted.out / README, written):
            page = readme(
                chosen.title, wanted.out.as_posix(), found.rows, found.flags,
                asked=wanted.model is not None,
            )  # fmt: skip
            written[README] = _write(wanted.out / README, [page])
        record = {
            "name": name,
            "title": f"Triples made from {chosen.title}",
            "licence": wanted.licence or chosen.licence,
            "language": chosen.language,
            "format": wanted.format,
            "source": wanted.source.name,
            "sha256": _sha256_of(wanted.source),
            "model": wanted.model.model if wanted.model is not None else None,
            "rows": found.rows,
            "caffe": __version__,
            "written": written,
        }
        _write(wanted.out / IMPORT, [json.dumps(record, indent=2, ensure_ascii=False) + "\n"])
    except OSError as error:
        raise _cannot_write(error, wanted.out) from error
    return found


def accept_review(folder: Path) -> Accepted:
    """Make the base of a review in which every row was decided.

    Raises:
        ProblemsFound: with what is wrong with the review; nothing is written then.
        CaffeError: the folder holds no import, its triples were changed by hand, or no file can be
            written.
    """
    record = _record(folder)
    if record is None:
        raise CaffeError(
            f"{folder}: holds no import; run `caffe kb import SOURCE --format ... --out {folder}`"
        )
    reviewed = read_review(folder / REVIEW)
    written = _written(folder)
    if _changed(folder / TRIPLES, written):
        raise CaffeError(
            f"{folder / TRIPLES}: was changed since it was written, and is not written over; "
            f"make the change in {REVIEW}, and move the file away"
        )
    contents = {
        TRIPLES: "".join(triple_lines(reviewed.triples)),
        BASE: base_yaml(record),
        DATASHEET: datasheet(record, reviewed),
    }
    kept = tuple(name for name in (BASE, DATASHEET) if _changed(folder / name, written))
    try:
        _check(folder, contents)
        for name, content in contents.items():
            if name not in kept:
                written[name] = _write(folder / name, [content])
        record["written"] = written
        _write(folder / IMPORT, [json.dumps(record, indent=2, ensure_ascii=False) + "\n"])
    except OSError as error:
        raise _cannot_write(error, folder) from error
    refused = len(reviewed.triples) - reviewed.accepted
    made = tuple(name for name in contents if name not in kept)
    return Accepted(reviewed.accepted, refused, made, kept)


class _Topics:
    """Asks a model for the topics that a data set does not have, where one is named."""

    def __init__(self, wanted: Wanted, extensions: Extensions, found: Imported) -> None:
        self._model = wanted.model
        self._found = found
        self._executor: Executor | None = None
        if wanted.model is None:
            return
        nothing = KnowledgeBase(
            name="import", version="", licence="", language="", datasheet=None, path="", sha256="",
            triples=(),
        )  # fmt: skip
        self._provider = extensions.provider_factory(wanted.model.model)(wanted.model, nothing)
        self._parameters = {"temperature": 0.0, **wanted.model.parameters}
        self._provider.check_parameters(self._parameters)
        folder = RunFolder(wanted.out / ANSWERS, new_run_id())
        folder.create()
        self._journal = Journal(folder.journal, folder.run_id, folder.journals_of_earlier_runs())
        self._executor = Executor(self._journal, concurrency=CONCURRENCY)

    def __enter__(self) -> _Topics:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._executor is not None:
            try:
                self._executor.close()
            finally:
                self._journal.close()

    def filled(self, proposals: Iterable[Proposal]) -> Iterator[Proposal]:
        """The proposals in their order, with the topics that the model gave."""
        if self._executor is None:
            yield from proposals
            return
        remaining = iter(proposals)
        asked_before = False
        while batch := list(islice(remaining, _AT_ONCE)):
            calls = {at: self._call(one) for at, one in enumerate(batch) if _wants_topic(one)}
            if calls and not asked_before:
                self._try_out(next(iter(calls.values())))
                asked_before = True
            replies = dict(zip(calls, self._executor.wait(list(calls.values())), strict=True))
            for at, one in enumerate(batch):
                yield self._with_topic(one, replies[at]) if at in replies else one

    def _call(self, proposal: Proposal) -> Call:
        assert self._model is not None
        request = Request(
            identity=self._provider.identity,
            model=self._model.model,
            parameters=self._parameters,
            messages=topic_messages(proposal.question),
        )
        return Call(self._provider, request, TIMEOUT)

    def _try_out(self, call: Call) -> None:
        assert self._executor is not None
        assert self._model is not None
        (reply,) = self._executor.wait([call])
        if isinstance(reply, ProviderError) and reply.outcome in _HOPELESS:
            raise CaffeError(f"--model {self._model.model}: {reply}") from reply

    def _with_topic(self, proposal: Proposal, reply: Reply) -> Proposal:
        assert self._model is not None
        topic = ""
        if not isinstance(reply, Answer):
            self._found.failures[str(reply.outcome)] += 1
        elif not is_refusal(reply.text):
            topic = topic_of(reply.text, proposal.disadvantaged, proposal.advantaged)
        if not topic:
            return proposal.with_flags(NO_TOPIC)
        by = f"{proposal.proposed_by}; topic by {self._model.model}"
        return replace(proposal, topic=topic, proposed_by=by)


def _wants_topic(proposal: Proposal) -> bool:
    return bool(not proposal.topic and proposal.question) and SAME not in proposal.flags


def _counted(proposals: Iterable[Proposal], found: Imported) -> Iterator[Proposal]:
    for proposal in proposals:
        found.count(proposal)
        yield proposal


def _refuse_missing(source: Path) -> None:
    try:
        there = source.exists()
    except OSError:
        return  # a closed folder: told by whoever reads it
    if not there:
        raise CaffeError(f"{source}: there is no such file or folder; check the path")


def _write(path: Path, lines: Iterable[str]) -> str:
    """The sha256 of what was written, whole or not at all."""
    digest = hashlib.sha256()
    with whole_file(path) as file:
        for line in lines:
            content = line.encode("utf-8", "replace")
            digest.update(content)
            file.write(content)
    return digest.hexdigest()


def _record(folder: Path) -> dict[str, Any] | None:
    try:
        record = json.loads((folder / IMPORT).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise CaffeError(f"{folder / IMPORT}: cannot be read: {error}; import again") from error
    texts = ("name", "title", "licence", "language", "format", "source", "sha256")
    if not isinstance(record, dict) or not all(isinstance(record.get(key), str) for key in texts):
        raise CaffeError(f"{folder / IMPORT}: is no record of an import; import again")
    return record


def _written(folder: Path) -> dict[str, str]:
    """The sha256 of the files there as they were written, by their names."""
    written = (_record(folder) or {}).get("written")
    return {**written} if isinstance(written, dict) else {}


def _changed(path: Path, written: dict[str, str]) -> bool:
    """Whether somebody has changed the file, or made it without us."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest() != written.get(path.name)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise CaffeError(f"{path}: cannot be read: {error.strerror}") from error


def _check(folder: Path, contents: dict[str, str]) -> None:
    """Load the base before it is put in its place."""
    with TemporaryDirectory(dir=folder, prefix=".accept-") as scratch:
        for name, content in contents.items():
            (Path(scratch) / name).write_text(content, encoding="utf-8", newline="")
        load_base(Path(scratch) / BASE, str(folder / BASE))


def _sha256_of(source: Path) -> str:
    files = sorted(source.glob("*.csv")) if source.is_dir() else [source]
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


def _cannot_write(error: OSError, folder: Path) -> CaffeError:
    what = f"{error.filename or folder}: cannot be written: {error.strerror}"
    return CaffeError(f"{what}; make room, or name another folder")
