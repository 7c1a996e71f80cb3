"""`caffe kb`: knowledge bases looked at, checked, compared and exported."""

from __future__ import annotations

import importlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import click

from caffe_pytest.cli import FAILED, OK, USAGE
from caffe_pytest.cli.output import check_folder, write_rows
from caffe_pytest.errors import CaffeError, ProblemsFound, did_you_mean, printable
from caffe_pytest.knowledge.coverage import Coverage, coverage
from caffe_pytest.knowledge.coverage_picture import heat_map, svg
from caffe_pytest.knowledge.difference import Change, difference
from caffe_pytest.knowledge.export import FORMATS, Format, exported
from caffe_pytest.knowledge.finding import SEVERITIES, Finding
from caffe_pytest.knowledge.selection import matches
from caffe_pytest.model.triple import Triple
from caffe_pytest.reporting.text import shown_path
from caffe_pytest.services.knowledge_bases import (
    base_path,
    extensions_here,
    found_bases,
    lint_base,
    open_base,
)

SHA256_SHOWN = 12
"""Hexadecimal digits: enough to tell versions of a base apart."""
MOST_GROUPS = 12
_IMPORT = "Propose triples from a data set, for a person to review."


class _Commands(click.Group):
    """The commands of this module, and `import`, which is imported when it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), "import"])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name != "import":
            return super().get_command(ctx, cmd_name)
        command = importlib.import_module("caffe_pytest.cli.kb_import").command
        assert isinstance(command, click.Command)
        return command

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002
        formatter: click.HelpFormatter,
    ) -> None:
        helps = {"import": _IMPORT}
        for name, one in self.commands.items():
            helps[name] = one.get_short_help_str(limit=100)
        with formatter.section("Commands"):
            formatter.write_dl(sorted(helps.items()))


@click.group("kb", cls=_Commands)
def command() -> None:
    """Look at knowledge bases, check, compare and export them.

    A base is given by its name, as in a test case, or by its file or folder.
    """


@command.command("list")
def list_bases() -> int:
    """List the bases that a test case in this folder can name.

    These are the shipped ones, those of plugins, and those in folders `knowledge_base/` from here
    upwards. Of a base with problems nothing but its path is shown; exit code 4 then.
    """
    table = [("name", "version", "licence", "language", "triples", "valid", "sha256", "path")]
    details: list[str] = []
    broken = []
    for found in found_bases(extensions_here()):
        base = found.base
        if base is None:
            broken.append(found)
            continue
        valid = sum(triple.valid for triple in base.triples)
        table.append((
            found.name, base.version, base.licence, base.language, f"{len(base.triples):,}",
            f"{valid:,}", base.sha256[:SHA256_SHOWN], shown_path(found.path),
        ))  # fmt: skip
        details.append(f"{found.name}: {', '.join(base.bias_types) or 'no valid triple'}")
    for line in (*_aligned(table), "", *details):
        click.echo(line)
    for found in broken:
        path = shown_path(found.path)
        problems = _count(len(found.problems), "problem")
        click.echo(f"{path}: has {problems}; `caffe kb lint {path}` tells them", err=True)
    return USAGE if broken else OK


@command.command("show")
@click.argument("name_or_path")
@click.option("--bias-type", "bias_types", multiple=True, metavar="NAME", help="May be repeated.")
@click.option("--group", "groups", multiple=True, metavar="PATTERN", help='As in "*women*".')
@click.option("--topic", "topics", multiple=True, metavar="PATTERN", help='As in "*work*".')
@click.option("--invalid", is_flag=True, help="The rows that are not asked, and why.")
def show(
    name_or_path: str,
    bias_types: tuple[str, ...],
    groups: tuple[str, ...],
    topics: tuple[str, ...],
    invalid: bool,
) -> int:
    """Show the rows of a base, the valid ones where nothing is said.

    Patterns are those of test cases: `*` is any text, and case does not count.
    """
    base = open_base(name_or_path, extensions_here())
    known = {triple.bias_type for triple in base.triples}
    for bias_type in bias_types:
        if bias_type not in known:
            remedy = did_you_mean(bias_type, known)
            raise CaffeError(
                f'"{bias_type}" is no bias type of the knowledge base "{base.name}"; {remedy}'
            )
    rows = [
        triple
        for triple in base.triples
        if triple.valid is not invalid
        and (not bias_types or triple.bias_type in bias_types)
        and matches([triple.topic], topics or None)
        and matches([triple.disadvantaged, triple.advantaged], groups or None)
    ]
    for line in _aligned(_table(rows, with_notes=invalid)):
        click.echo(line)
    which = "not valid" if invalid else "valid"
    click.echo(f"{len(rows):,} of {len(base.triples):,} rows ({which})", err=True)
    return OK


def _table(rows: Sequence[Triple], *, with_notes: bool) -> Iterator[tuple[str, ...]]:
    if not rows:
        return
    heading = ("id", "bias type", "topic", "disadvantaged", "advantaged")
    yield (*heading, "note") if with_notes else heading
    for triple in rows:
        cells = (
            triple.id, triple.bias_type, triple.topic, triple.disadvantaged, triple.advantaged,
        )  # fmt: skip
        yield (*cells, triple.note) if with_notes else cells


@command.command("stats")
@click.argument("name_or_path")
@click.option(
    "--svg", "picture", type=click.Path(path_type=Path), metavar="FILE",
    help="Write the coverage as a picture as well.",
)  # fmt: skip
def stats(name_or_path: str, picture: Path | None) -> int:
    """Count what a base covers, by bias type, group, source and reason.

    The darker a cell, the closer its count to the largest of its column.
    """
    check_folder(picture)
    base = open_base(name_or_path, extensions_here())
    counted = coverage(base)
    title = f"{base.name} {base.version}: {counted.total[0]:,} valid of {len(base.triples):,} rows"
    click.echo(printable(f"{title} ({base.licence}, {base.language})"))
    click.echo()
    for line in (*_aligned(heat_map(counted)), *_counted(counted)):
        click.echo(line)
    if picture is not None:
        write_rows([svg(counted, title)], picture)
    return OK


def _counted(counted: Coverage) -> Iterator[str]:
    more = len(counted.groups) - MOST_GROUPS
    groups = _most(counted.groups, MOST_GROUPS)
    yield from _section("groups", [*groups, (f"{more:,} more", "")] if more > 0 else groups)
    yield from _section("sources", _most(counted.sources))
    yield from _section("not valid", _most(counted.reasons))


def _most(counts: Counter[str], number: int | None = None) -> list[tuple[str, str]]:
    in_order = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    return [(name or "(none said)", f"{count:,}") for name, count in in_order[:number]]


def _section(heading: str, rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    if rows:
        yield ""
        yield f"{heading}:"
        yield from (f"  {line}" for line in _aligned(rows))


@command.command("diff")
@click.argument("first")
@click.argument("second")
def diff(first: str, second: str) -> int:
    """Tell which rows and forms of groups differ between two bases.

    `+` stands only in SECOND, `-` only in FIRST, `~` in both, and is not the same. Exit code 0: no
    difference; 1: there is one.
    """
    extensions = extensions_here()
    old, new = open_base(first, extensions), open_base(second, extensions)
    changes = difference(old, new)
    for change in changes:
        click.echo(printable(_told(change)))
    signs = Counter(change.sign for change in changes)
    summary = f"{signs['+']:,} added, {signs['-']:,} removed, {signs['~']:,} changed"
    versions = f"{old.name} {old.version} -> {new.name} {new.version}"
    click.echo(printable(f"{versions}: {summary}"), err=True)
    return FAILED if changes else OK


def _told(change: Change) -> str:
    name = change.name if change.part == "row" else f'group "{change.name}"'
    if change.sign == "~":
        fields = (f'{field}: "{old}" -> "{new}"' for field, (old, new) in change.fields.items())
    else:
        fields = (f'{field}: "{old or new}"' for field, (old, new) in change.fields.items())
    return f"{change.sign} {name}  {'; '.join(fields)}".rstrip()


@command.command("export")
@click.argument("name_or_path")
@click.option("--format", "form", required=True, type=click.Choice(FORMATS), help="CSV: rows only.")
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="FILE",
    help="Where it is written; standard output where nothing is said.",
)  # fmt: skip
def export(name_or_path: str, form: Format, out: Path | None) -> int:
    """Write a base in another format; read again, it has equal triples."""
    check_folder(out)
    base = open_base(name_or_path, extensions_here())
    write_rows(exported(base, form), out)
    if form == "csv" and base.groups:
        number = f"{len(base.groups):,}"
        note = f"note: the forms of {number} groups are not in CSV; --format yaml keeps them"
        click.echo(note, err=True)
    return OK


@command.command("lint")
@click.argument("names_or_paths", nargs=-1, required=True, metavar="NAME_OR_PATH...")
@click.option(
    "--format", "form", default="text", show_default=True, type=click.Choice(["text", "json"])
)
@click.option("--strict", is_flag=True, help="Exit code 1 for warnings, too.")
def lint(names_or_paths: tuple[str, ...], form: str, strict: bool) -> int:
    """Find what would mislead a test: in rows, in names of groups, in topics, in prompts.

    Groups and topics are tried in every template of the intents in the language of the base. Exit
    code 0: no error; 1: there are errors; 4: a base cannot be read.
    """
    extensions = extensions_here()
    findings: list[Finding] = []
    for named in names_or_paths:
        path = base_path(named, extensions)
        try:
            findings += lint_base(path, extensions)
        except ProblemsFound as found:
            findings += [
                Finding(one.file, one.line, one.path, "unreadable", one.cause, one.remedy)
                for one in found.problems
            ]
    counts = Counter(finding.severity for finding in findings)
    if form == "json":
        listed = [finding.as_json() for finding in findings]
        summary = {f"{severity}s": counts[severity] for severity in SEVERITIES}
        click.echo(json.dumps({"findings": listed, **summary}, ensure_ascii=False, indent=1))
    else:
        for finding in findings:
            click.echo(str(finding))
        told = (_count(counts[severity], severity) for severity in SEVERITIES)
        click.echo(", ".join(told), err=True)
    if any(finding.kind == "unreadable" for finding in findings):
        return USAGE
    return FAILED if counts["error"] or (strict and counts["warning"]) else OK


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _aligned(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Rows of a table with two spaces between its columns, each on one line."""
    table = [[printable(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()
