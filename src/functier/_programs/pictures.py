"""The costs of a program for people: a table of its functions, a picture of its steps."""

import html
import math
from collections.abc import Sequence
from typing import Any

from .costs import Cost

WIDTH, LEFT, RIGHT = 720, 72, 176
"""Of the picture, of the labels of its axes, and of its list of steps."""

PANEL, GAP, TOP, BOTTOM = 120, 34, 46, 40
MEMORY, WORK, MARKED, INK, GRID = "#4c72b0", "#8c9aab", "#c44e52", "#222222", "#dddddd"
COLUMNS = 360
"""The greatest number of bars: in longer programs, several steps share one."""

LISTED, SHARE = 6, 0.01
"""The number of steps with names, and the part of all operations that such a step has."""


class Table(list):
    """Rows of (function, calls, operations, bytes), which print as a table."""

    def __init__(self, costs: Sequence[Cost]):
        found: dict[str, list[int]] = {}
        for cost in costs:
            row = found.setdefault(cost.name, [0, 0, 0])
            row[0] += cost.times
            row[1] += cost.flops
            row[2] += cost.bytes
        rows: list[Any] = [(name, *row) for name, row in found.items()]
        super().__init__(sorted(rows, key=lambda row: (-row[2], row[0])))

    def __repr__(self) -> str:
        total = "all", *[sum(row[i] for row in self) for i in (1, 2, 3)]
        cells = [("function", "calls", "operations", "bytes")]
        cells += [(name, *[f"{n:,}" for n in numbers]) for name, *numbers in [*self, total]]
        widths = [max(len(row[i]) for row in cells) for i in range(4)]
        lines = []
        for name, *numbers in cells:
            right = [text.rjust(n) for text, n in zip(numbers, widths[1:])]
            lines.append("  ".join([name.ljust(widths[0]), *right]))
        return "\n".join(lines)

    __str__ = __repr__


def short(n: float, unit: str = "") -> str:
    """Return a number with three digits: ``1.25 M``."""
    for limit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if n >= limit:
            return f"{n / limit:.3g} {letter}{unit}"
    return f"{n:.3g}{' ' * bool(unit)}{unit}"


def rounded(most: float) -> float:
    """Return the least of 1, 2, 2.5, 5 times a power of ten that is not below a number."""
    if most <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(most))
    return next(k * power for k in (1, 2, 2.5, 5, 10) if k * power >= most * (1 - 1e-12))


def text(x: float, y: float, words: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{html.escape(words)}</text>'


def panel(values: Sequence[float], top: float, title: str, unit: str, colours: list[str],
          tips: list[str]) -> list[str]:  # fmt: skip
    """Return the parts of a row of bars with its axis."""
    most = rounded(max(values, default=0))
    wide = WIDTH - LEFT - RIGHT
    found = [text(LEFT, top - 9, title, 'font-weight="bold"')]
    for share in (0.0, 0.5, 1.0):
        y = top + PANEL * (1 - share)
        found.append(
            f'<line x1="{LEFT}" x2="{LEFT + wide}" y1="{y:.1f}" y2="{y:.1f}" '
            f'stroke="{INK if share == 0 else GRID}"/>'
        )
        found.append(text(LEFT - 8, y + 4, short(most * share, unit), 'text-anchor="end"'))
    step = wide / max(len(values), 1)
    thin = step + 0.4 if step < 4 else min(step * 0.85, 40)  # no gaps between very thin ones
    crisp = 'shape-rendering="crispEdges"' if step < 4 else ""
    for i, value in enumerate(values):
        tall = PANEL * value / most
        x = LEFT + i * step + max(step - thin, 0) / 2
        found.append(
            f'<rect x="{x:.2f}" y="{top + PANEL - tall:.2f}" width="{thin:.2f}" '
            f'height="{tall:.2f}" fill="{colours[i]}" {crisp}>'
            f"<title>{html.escape(tips[i])}</title></rect>"
        )
    return found


def ticks(count: int) -> list[int]:
    """Return some numbers of steps, the first and round ones."""
    size = rounded(count / 8) if count > 8 else 1
    size = max(1, int(size))
    return list(range(size, count + 1, size)) if count else []


def picture(costs: Sequence[Cost], name: str) -> str:
    """Return an SVG picture: for each step what is alive then, and its operations.

    The steps with the most operations are marked by numbers, and named in a list.
    """
    count = len(costs)
    group = -(-count // COLUMNS) or 1
    groups = [costs[i : i + group] for i in range(0, count, group)]
    total = sum(cost.flops for cost in costs)
    large = [i for i, cost in enumerate(costs) if cost.flops and cost.flops >= SHARE * total]
    marked = sorted(large, key=lambda i: (-costs[i].flops, i))[:LISTED]
    columns = {i // group for i in marked}
    colours = [MARKED if i in columns else WORK for i in range(len(groups))]
    tips = [
        f"step {i * group + 1}: {', '.join([cost.name for cost in part[:5]])}; "
        f"{short(sum(cost.flops for cost in part))} operations, "
        f"{short(max(cost.alive for cost in part), 'B')} alive"
        for i, part in enumerate(groups)
    ]
    alive = [max(cost.alive for cost in part) for part in groups]
    work = [sum(cost.flops for cost in part) for part in groups]
    second = TOP + PANEL + GAP
    height = second + PANEL + BOTTOM
    wide = WIDTH - LEFT - RIGHT
    head = (
        f"{name}: {count:,} steps, {short(total)} operations, {short(max(alive, default=0), 'B')}"
        f" at most"
    )
    parts = [text(0, 15, head, 'font-size="14" font-weight="bold"')]
    parts += panel(alive, TOP, "memory in use", "B", [MEMORY] * len(groups), tips)
    parts += panel(work, second, "operations", "", colours, tips)
    for n in ticks(count):
        x = LEFT + (n - 0.5) / count * wide
        y = second + PANEL
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y}" y2="{y + 4}" stroke="{INK}"/>')
        parts.append(text(x, y + 17, f"{n:,}", 'text-anchor="middle"'))
    parts.append(text(LEFT + wide / 2, height - 6, "step", 'text-anchor="middle"'))
    left = LEFT + wide + 16
    if marked:
        parts.append(text(left, second - 9, "costliest steps", 'font-weight="bold"'))
    for place, i in enumerate(marked):
        cost = costs[i]
        own = cost.name.removeprefix("numpy.")
        own = own if len(own) <= 14 else f"{own[:13]}…"
        y = second + 10 + place * 19
        for x, words, end in (
            (left + 34, f"{i + 1:,}", "end"), (left + 42, own, "start"),
            (WIDTH - 4, short(cost.flops), "end"),
        ):  # fmt: skip
            parts.append(text(x, y, words, f'text-anchor="{end}" fill="{MARKED}"'))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12" fill="{INK}">'
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>{"".join(parts)}</svg>'
    )
