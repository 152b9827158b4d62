"""Cards: texts of HTML and SVG with which notebooks show an object."""

from collections.abc import Iterable, Sequence
from typing import Any

STYLE = "text-align: left; vertical-align: top; padding: 1px 8px 1px 0"
BOX = 'rx="6" fill="#eef3fa" stroke="#4a6fa5"'
FONT = 'font-family="monospace" font-size="12" fill="#1b1b1b" xml:space="preserve"'
LETTER, LINE, GAP = 7.5, 16, 10
"""The sizes of a picture: a letter's width, a line's height, and the space between two boxes."""

Box = tuple[Sequence[str], Sequence[Any]]
"""The lines of a box, and the boxes inside it."""


def escape(text: str) -> str:
    """Return a text for HTML. The module `html` would cost each program half a millisecond."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def table(rows: Iterable[tuple[str, str]]) -> str:
    """Return a table of names and texts."""
    cells = [
        f'<tr><th style="{STYLE}">{escape(name)}</th>'
        f'<td style="{STYLE}"><pre style="margin: 0">{escape(text)}</pre></td></tr>'
        for name, text in rows
    ]
    return f"<table>{''.join(cells)}</table>"


def folded(title: str, text: str) -> str:
    """Return a title that opens a text."""
    head = f"<code>{escape(title)}</code>"
    if not text:
        return head
    return f"<details open><summary>{head}</summary><pre>{escape(text)}</pre></details>"


def picture(box: Box) -> str:
    """Return a picture of boxes inside boxes. The colours are for light and dark pages."""
    width = _width(box)
    elements, height = _draw(box, 1, 1, width)
    size = f'width="{width + 2}" height="{height + 1}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{"".join(elements)}</svg>'


def _width(box: Box) -> float:
    lines, inner = box
    return max([LETTER * len(line) for line in lines] + [*map(_width, inner)]) + 2 * GAP


def _draw(box: Box, x: float, y: float, width: float) -> tuple[list[str], float]:
    """Return the elements of a box at a place, and the place below it."""
    lines, inner = box
    found = []
    below = y + GAP / 2
    for line in lines:
        below += LINE
        found.append(f'<text x="{x + GAP}" y="{below - 2}" {FONT}>{escape(line)}</text>')
    below += GAP
    for one in inner:
        elements, below = _draw(one, x + GAP, below, width - 2 * GAP)
        found += elements
        below += GAP
    place = f'x="{x}" y="{y}" width="{width}" height="{below - y}"'
    return [f"<rect {place} {BOX}/>", *found], below
