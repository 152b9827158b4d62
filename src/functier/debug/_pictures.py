"""Pictures of levels: a tree as text, and boxes inside boxes as SVG."""

from collections import Counter
from collections.abc import Iterator
from html import escape
from os import PathLike
from typing import Any

COLOURS = {"examples": "#dbe9f6", "forward": "#fde8cf", "reverse": "#e3f1dc", "": "#f2f2f2"}
"""The colours of boxes, by a word of the facts of their levels."""

LINE, PAD, LETTER, WIDE = 18, 12, 7.3, 64
"""The height of a line, the margin of a box, and the width of a letter; letters in a line."""


class LevelNode:
    """A level in the tree: how often it began, and how often it handled each function."""

    def __init__(self, name: str, facts: str = ""):
        self.name, self.facts, self.times = name, facts, 0
        self.calls: Counter[str] = Counter()
        self.inner: dict[str, LevelNode] = {}

    @property
    def title(self) -> str:
        """The name, what the level does, and how often it began if that is more than once."""
        times = f"  {self.times} times" if self.times > 1 else ""
        return f"{self.name}{'  ' + self.facts if self.facts else ''}{times}"

    @property
    def handled(self) -> str:
        """The functions that the level handled, the commonest first."""
        found = sorted(self.calls.items(), key=lambda item: (-item[1], item[0]))
        names = [(name.removeprefix("numpy."), n) for name, n in found]
        return ", ".join([name if n == 1 else f"{name} {n}" for name, n in names])

    def lines(self, first: str = "", rest: str = "") -> Iterator[str]:
        """Yield the lines of the tree as text."""
        yield f"{first}{self.title}{': ' + self.handled if self.calls else ''}"
        nodes = list(self.inner.values())
        for node in nodes:
            last = node is nodes[-1]
            yield from node.lines(
                rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  ")
            )


class LevelTree:
    """The levels of a call: see `show_levels`."""

    def __init__(self, root: LevelNode, result: Any):
        self.root, self.result = root, result

    def __repr__(self) -> str:
        return "\n".join(self.root.lines())

    def svg(self) -> str:
        """Return an SVG picture: a box for each level, inside that of the level around it."""
        parts, width, height = _box(self.root, PAD, PAD)
        whole, tall = width + 2 * PAD, height + 2 * PAD
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{whole:.0f}" height="{tall:.0f}" '
            f'viewBox="0 0 {whole:.0f} {tall:.0f}" font-family="monospace" font-size="12" '
            f'fill="#222222"><rect width="100%" height="100%" fill="white"/>{"".join(parts)}</svg>'
        )

    def save(self, path: str | PathLike) -> None:
        """Write the picture to a file, as SVG."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.svg())

    def _repr_svg_(self) -> str:
        return self.svg()


def _box(node: LevelNode, x: float, y: float) -> tuple[list[str], float, float]:
    """Return the parts of a box at a place, its width and its height."""
    lines = _wrapped(node.handled)
    width = LETTER * max(map(len, [node.title, *lines])) + 2 * PAD
    at = y + LINE * (1 + len(lines)) + PAD
    inside: list[str] = []
    for one in node.inner.values():
        parts, wide, tall = _box(one, x + PAD, at)
        inside += parts
        at += tall + PAD
        width = max(width, wide + 2 * PAD)
    height = at - y
    colour = next((c for word, c in COLOURS.items() if word in node.facts))
    texts = [
        f'<text x="{x + PAD:.1f}" y="{y + LINE * (i + 1):.1f}"'
        f"{' font-weight=' + chr(34) + 'bold' + chr(34) if i == 0 else ''} "
        f'xml:space="preserve">{escape(words)}</text>'
        for i, words in enumerate([node.title, *lines])
    ]
    rect = (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="6" '
        f'fill="{colour}" stroke="#8c9aab"/>'
    )
    return [rect, *texts, *inside], width, height


def _wrapped(words: str) -> list[str]:
    """Return a list of functions in lines that are not too long."""
    lines: list[str] = []
    for word in words.split(", ") if words else []:
        if lines and len(lines[-1]) + len(word) < WIDE:
            lines[-1] += f", {word}"
        else:
            lines.append(word)
    return lines
