"""What the eye does not see in the cells of a knowledge base."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from caffe_pytest.knowledge.finding import Fault, Finding
from caffe_pytest.knowledge.groups import PAIR
from caffe_pytest.knowledge.load import Place, ReadBase, read_cells
from caffe_pytest.knowledge.row import Row

_SUSPECT = re.compile(r"^[=+@-].|^\s|\s$|\s\s|[^\S ]|[^\x20-\x7e]")
_FORMULA = re.compile(r"[=+@-].*\w", re.DOTALL)
_SPACES = re.compile(r"^\s|\s$|\s\s|[\t\r\n]")
_JOINERS = "\u200c\u200d"
_QUOTES = {"apostrophes": ("'", "\u2018\u2019"), "quotes": ('"', "\u201c\u201d")}


def cell_findings(read: ReadBase, rows: Sequence[Row], *, english: bool) -> Iterator[Finding]:
    """Formulas, spaces and invisible characters, in the cells as they stand in the file."""
    clean: set[str] = set()
    for place, column, cell in _cells(read, rows):
        if cell in clean:
            continue
        faults = list(_cell_faults(cell, english=english)) if _SUSPECT.search(cell) else []
        if not faults:
            clean.add(cell)
        for fault in faults:
            yield Finding(*place, column, fault.kind, fault.cause, fault.remedy)


def _cells(read: ReadBase, rows: Sequence[Row]) -> Iterator[tuple[Place, str, str]]:
    for path, shown in read.tables:
        columns, lines = read_cells(path, shown)
        for line, cells in lines:
            for column, cell in zip(columns, cells, strict=False):
                yield (shown, line), column, cell
    if not read.tables:
        for row in rows:
            for column in ("topic", *PAIR, "source", "note"):
                yield row.place, column, getattr(row.triple, column)


def _cell_faults(cell: str, *, english: bool) -> Iterator[Fault]:
    if _FORMULA.match(cell):
        cause = f'begins with "{cell[0]}": a spreadsheet would calculate it'
        yield Fault("formula", cause, "begin with a letter")
    if _SPACES.search(cell):
        cause = "has spaces at an end, or more than one together"
        yield Fault("spaces", cause, "keep one space between words, and none at the ends")
    for sign in dict.fromkeys(cell):
        category = unicodedata.category(sign)
        joins = sign in _JOINERS and not english
        if sign in " \t\r\n" or joins or category not in ("Cf", "Cc", "Co", "Zs", "Zl", "Zp"):
            continue
        name = unicodedata.name(sign, "a sign without a name").lower()
        cause = f"holds the invisible character U+{ord(sign):04X} ({name})"
        yield Fault("invisible-character", cause, "delete it, or write a plain space")


def mixed_quotes(rows: Iterable[Row]) -> Iterator[Finding]:
    """Straight and curly quotes in one base: the spelling that fewer cells have is told."""
    seen: dict[tuple[str, int], dict[str, tuple[Row, str]]] = defaultdict(dict)
    for row in rows:
        for column in ("topic", *PAIR):
            cell: str = getattr(row.triple, column)
            for name, spellings in _QUOTES.items():
                for style, signs in enumerate(spellings):
                    if any(sign in cell for sign in signs):
                        seen[name, style].setdefault(cell, (row, column))
    for name in _QUOTES:
        straight, curly = seen[name, 0], seen[name, 1]
        fewer = straight if len(straight) < len(curly) else curly
        if not straight or not curly:
            continue
        own, other = ("straight", "curly") if fewer is straight else ("curly", "straight")
        for row, column in fewer.values():
            cause = f"has {own} {name}, and other rows have {other} ones"
            yield row.finding(column, Fault("mixed-quotes", cause, "write them in one way"))
