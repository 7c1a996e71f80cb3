"""The coverage of a knowledge base as a picture: bias types by what is counted, the fuller the
darker, in text and as a self-contained SVG file.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from math import ceil

from caffe_pytest.errors import printable
from caffe_pytest.knowledge.coverage import MEASURES, Coverage

SHADES = " ░▒▓█"
CELL, ROW, LABELS, TOP = 110, 26, 230, 64
"""Pixels: width and height of a cell, width of the names, height of the heading."""
LIGHT, DARK = (239, 243, 250), (31, 78, 140)
"""Colours (red, green, blue) of the emptiest and of the fullest cell of a column."""
FONT = 'font-family="sans-serif" font-size="13" role="img"'


def shares(coverage: Coverage) -> dict[str, tuple[float, ...]]:
    """Each count as a share of the largest in its column, 0..1."""
    columns = list(zip(*coverage.by_type.values(), strict=True))
    largest = [max(column) or 1 for column in columns]
    return {
        bias_type: tuple(count / most for count, most in zip(counts, largest, strict=True))
        for bias_type, counts in coverage.by_type.items()
    }


def heat_map(coverage: Coverage) -> Iterator[tuple[str, ...]]:
    """Rows of a table: a heading, then for each bias type its counts, each with its shade."""
    yield ("bias type", *MEASURES, "not valid")
    for bias_type, of_largest in shares(coverage).items():
        counts = coverage.by_type[bias_type]
        shaded = (
            f"{shade(share) * 4} {count:>5,}"
            for share, count in zip(of_largest, counts, strict=True)
        )
        yield bias_type, *shaded, f"{coverage.invalid.get(bias_type, 0):,}"


def shade(share: float) -> str:
    """A block that is the darker the larger the share; any count at all is seen."""
    return SHADES[ceil(share * (len(SHADES) - 1))]


def svg(coverage: Coverage, title: str) -> str:
    """A picture without script, font file or link, for a page or a datasheet."""
    width, height = LABELS + CELL * len(MEASURES) + 10, TOP + ROW * len(coverage.by_type) + 10
    size = f'width="{width}" height="{height}"'
    area = f'viewBox="0 0 {width} {height}" {size}'
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" {area} {FONT}>',
            f"<title>{_text(title)}</title>",
            f'<rect {size} fill="#ffffff"/>',
            f'<text x="10" y="22" font-size="15" font-weight="bold">{_text(title)}</text>',
            *_heading(),
            *_cells(coverage),
            "</svg>\n",
        )
    )


def _heading() -> Iterator[str]:
    for column, measure in enumerate(MEASURES):
        x = LABELS + CELL * column + CELL // 2
        yield f'<text x="{x}" y="{TOP - 10}" text-anchor="middle">{measure}</text>'


def _cells(coverage: Coverage) -> Iterator[str]:
    for row, (bias_type, of_largest) in enumerate(shares(coverage).items()):
        y = TOP + ROW * row
        yield f'<text x="10" y="{y + 17}">{_text(bias_type)}</text>'
        counts = coverage.by_type[bias_type]
        for column, (share, count) in enumerate(zip(of_largest, counts, strict=True)):
            x = LABELS + CELL * column
            ink = "#ffffff" if share > 0.5 else "#1a1a1a"
            yield (
                f'<rect x="{x}" y="{y}" width="{CELL - 2}" height="{ROW - 2}" '
                f'fill="{_colour(share)}"/>'
            )
            yield (
                f'<text x="{x + CELL // 2}" y="{y + 17}" text-anchor="middle" '
                f'fill="{ink}">{count:,}</text>'
            )


def _colour(share: float) -> str:
    parts = (round(light + share * (dark - light)) for light, dark in zip(LIGHT, DARK, strict=True))
    return "#" + "".join(f"{part:02x}" for part in parts)


def _text(text: str) -> str:
    return escape(printable(text))
