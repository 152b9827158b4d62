"""The picture of two nested levels: their classes, a tensor in a tensor, and the way of ``x + y``.

python tests/bench/levels.py design/levels.png

Names, shapes and numbers are those of tensors that a transform made. The ground is white, so it
can be read on a dark page, too.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np

import functier as ft

GRAD, VMAP, ARRAY, INK, PALE = "#c0392b", "#2471a3", "#4d5656", "#1b2631", "#85929e"
ROWS = (("grad", GRAD, 2.0), ("vmap", VMAP, 1.0), ("array", ARRAY, 0.0))
"""For the two levels and the array inside: the kind, the colour and the place, from below."""

WAY = (
    "a subclass, so NumPy asks it first:\nadds the two values inside, keeps a node",
    "lines up the axes of examples,\nadds the two values inside",
    "NumPy adds two arrays,\nfor all examples at once",
)
"""The work of each level for ``x + y``, and the rest, which is NumPy's."""


def seen() -> tuple[list[str], list[str]]:
    """Return the names of the classes and the forms of the values, from the innermost level out."""
    found: list[Any] = []

    def f(x: Any, y: Any) -> Any:
        found[:] = [[c.__name__ for c in type(x).__mro__[:3]], [x, x.elem(), x.elem().elem()]]
        found[1] = [*[f"shape {np.shape(value)}" for value in found[1][:2]], str(found[1][2])]
        return x + y

    ft.vmap(ft.grad(f))(np.arange(3.0), np.ones(3))
    return found[0], found[1]


def box(axes: Any, corner: tuple, size: tuple, colour: str, alpha: float = 0.08) -> None:
    """Draw a box with round corners and a tint of its colour."""
    from matplotlib.patches import FancyBboxPatch

    style = {"boxstyle": "round,pad=0,rounding_size=0.08", "linewidth": 1.6}
    axes.add_patch(FancyBboxPatch(corner, *size, edgecolor=colour, facecolor="none", **style))
    axes.add_patch(
        FancyBboxPatch(corner, *size, edgecolor="none", facecolor=colour, alpha=alpha, **style)
    )


def arrow(axes: Any, start: tuple, end: tuple, colour: str = INK) -> None:
    """Draw an arrow from one point to another."""
    look = {"arrowstyle": "-|>", "color": colour, "linewidth": 1.4, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", xy=end, xytext=start, arrowprops=look)


def draw(path: Path) -> None:
    """Draw three columns with a row for each level: the classes, the tensors, the way."""
    from matplotlib.figure import Figure  # not installed where only tables are wanted

    classes, forms = seen()
    figure = Figure(figsize=(10.4, 4.0), layout="constrained", facecolor="white")
    axes = figure.subplots()
    axes.set(xlim=(0, 10.4), ylim=(-0.35, 3.35))
    axes.axis("off")
    mono = {"family": "monospace", "fontsize": 11}
    for place, text in (
        (0.1, "classes"),
        (3.2, "x, a tensor in a tensor"),
        (6.9, "the way of x + y in f"),
    ):
        axes.text(place, 3.1, text, color=INK, fontsize=12, weight="bold")
    for i, (_, colour, y) in enumerate(ROWS):
        name = classes[i]
        shade = colour if i < 2 else PALE
        box(axes, (0.1, y), (2.3, 0.62), shade)
        axes.text(1.25, y + 0.31, name, color=INK, ha="center", va="center", **mono)
        if i < 2:
            arrow(axes, (1.25, y), (1.25, y - 0.36), PALE)
            axes.text(1.35, y - 0.2, "inherits from", color=PALE, fontsize=9, va="center")
        inset = 0.16 * i
        box(axes, (3.2 + inset, -0.25 + inset), (2.9 - 2 * inset, y + 0.95 - inset), colour)
        what = f"of {name}" if i < 2 else "an array of all examples"
        label = f"{what}\n{forms[i]}"
        axes.text(4.65, y + 0.33, label, color=INK, ha="center", va="center", fontsize=10.5)
        box(axes, (6.9, y), (3.4, 0.62), colour)
        axes.text(8.6, y + 0.31, WAY[i], color=INK, ha="center", va="center", fontsize=9.5)
        if i < 2:
            arrow(axes, (8.2, y), (8.2, y - 0.36))
            arrow(axes, (9.0, y - 0.36), (9.0, y))
            axes.text(8.1, y - 0.18, "values", color=INK, fontsize=9, ha="right", va="center")
            axes.text(9.1, y - 0.18, "a tensor again", color=INK, fontsize=9, va="center")
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
