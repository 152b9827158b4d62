"""The pictures of levels in the design notes, drawn with one command.

python tests/bench/pictures.py design

Names, shapes and steps are those of tensors that transforms made, and of the table in the note on
the states of a level. The ground is white, so they can be read on a dark page, too.
"""

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np

import functier as ft

GRAD, VMAP, ARRAY, INK, PALE = "#c0392b", "#2471a3", "#4d5656", "#1b2631", "#85929e"
MONO = {"family": "monospace", "fontsize": 11}
NODE = {"ha": "center", "va": "center", "color": INK}


def canvas(width: float, height: float) -> tuple[Any, Any]:
    """Return a figure and its axes, whose unit is an inch."""
    from matplotlib.figure import Figure  # not installed where only tables are wanted

    figure = Figure(figsize=(width, height), layout="constrained", facecolor="white")
    axes = figure.subplots()
    axes.set(xlim=(0, width), ylim=(0, height))
    axes.axis("off")
    return figure, axes


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


# ---- note 1: classes, a tensor in a tensor, the way of a call ----

ROWS = (("grad", GRAD, 2.35), ("vmap", VMAP, 1.35), ("array", ARRAY, 0.35))
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


def levels() -> Any:
    """Draw three columns with a row for each level: the classes, the tensors, the way."""
    classes, forms = seen()
    figure, axes = canvas(10.4, 3.6)
    for place, text in (
        (0.1, "classes"),
        (3.2, "x, a tensor in a tensor"),
        (6.9, "the way of x + y in f"),
    ):
        axes.text(place, 3.3, text, color=INK, fontsize=12, weight="bold")
    for i, (_, colour, y) in enumerate(ROWS):
        name = classes[i]
        box(axes, (0.1, y), (2.3, 0.62), colour if i < 2 else PALE)
        axes.text(1.25, y + 0.31, name, **NODE, **MONO)
        if i < 2:
            arrow(axes, (1.25, y), (1.25, y - 0.36), PALE)
            axes.text(1.35, y - 0.2, "inherits from", color=PALE, fontsize=9, va="center")
        inset = 0.16 * i
        box(axes, (3.2 + inset, 0.1 + inset), (2.9 - 2 * inset, y + 0.6 - inset), colour)
        what = f"of {name}" if i < 2 else "an array of all examples"
        axes.text(4.65, y + 0.33, f"{what}\n{forms[i]}", fontsize=10.5, **NODE)
        box(axes, (6.9, y), (3.4, 0.62), colour)
        axes.text(8.6, y + 0.31, WAY[i], fontsize=9.5, **NODE)
        if i < 2:
            arrow(axes, (8.2, y), (8.2, y - 0.36))
            arrow(axes, (9.0, y - 0.36), (9.0, y))
            axes.text(8.1, y - 0.18, "values", color=INK, fontsize=9, ha="right", va="center")
            axes.text(9.1, y - 0.18, "a tensor again", color=INK, fontsize=9, va="center")
    return figure


# ---- note 4: what each hook sees ----


def asked() -> list[tuple[str, str]]:
    """Return the hooks that see ``x + 1`` under a vmap of a user's class, in order, and as what."""
    order: list[tuple[str, str]] = []

    class Spy(ft.Tensor):
        @classmethod
        def __tensor_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None):
            order.append(("__tensor_function__", func.__qualname__))
            return super().__tensor_function__(func, types, args, kwargs)

        @classmethod
        def __tensor_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None):
            order.append(("__tensor_dispatch__", f"np.{func.__name__}"))
            return super().__tensor_dispatch__(func, types, args, kwargs)

    ft.vmap(lambda x: x + 1)(Spy(np.ones((3, 2))))
    return order


def hooks() -> Any:
    """Draw a tensor of a level, a user's tensor in it, an array in that, and the way of a call."""
    (upper, method), (lower, operation) = asked()
    figure, axes = canvas(9.6, 3.9)
    names = ("x, a tensor of vmap", "its value, a Spy", "an array")
    for i, (colour, name) in enumerate(zip((VMAP, GRAD, ARRAY), names)):
        box(axes, (0.2 + 0.2 * i, 0.2 + 0.2 * i), (2.9 - 0.4 * i, 3.3 - 1.15 * i), colour)
        axes.text(1.65, 3.05 - i, name, fontsize=10.5, **NODE)
    steps = (
        (VMAP, "the level", "answers before any hook: adds 1\nto the value inside"),
        (GRAD, upper, f"sees {method},\nwhich is what is written"),
        (GRAD, lower, f"sees {operation},\nthe operation that it means"),
        (ARRAY, "NumPy", "adds 1 to the array, for all examples"),
    )
    axes.text(5.1, 3.7, "the way of x + 1", fontsize=12, weight="bold", **NODE)
    for i, (colour, who, what) in enumerate(steps):
        y = 2.85 - 0.9 * i
        box(axes, (3.9, y), (2.4, 0.56), colour)
        axes.text(5.1, y + 0.28, who, **NODE, **MONO)
        axes.text(6.5, y + 0.28, what, color=INK, fontsize=10.5, va="center")
        if i < 3:
            arrow(axes, (5.1, y), (5.1, y - 0.34))
    return figure


# ---- note 5: batch axes ----

GREEN = "#1e8449"


def grids() -> list[tuple[str, tuple[int, ...]]]:
    """Return what two tensors of nested vmaps and their sum hold: a size for each axis."""
    with ft.vmap() as B0, ft.vmap() as B1:
        x, y = B0(np.ones((4, 2))), B1(np.ones((6, 2)))
        outer, inner = np.shape(x.elem()), np.shape(y.elem())
        whole = np.shape(B0.unwrap(B1.unwrap(x + y)))
    return [
        ("x = B0(xs)", (outer[0], 1, *outer[1:])),
        ("y = B1(ys)", (1, *inner)),
        ("x + y", whole),
    ]


def batch_axes() -> Any:
    """Draw the arrays in tensors of a group: a square for each pair of examples."""
    figure, axes = canvas(9.6, 3.2)
    left = 0.3
    for i, (name, (rows, columns, inside)) in enumerate(grids()):
        size = 0.34
        top = 0.55 + size * 4
        for row in range(rows):
            for column in range(columns):
                corner = (left + size * column, top - size * (row + 1))
                box(axes, corner, (size - 0.05, size - 0.05), ARRAY)
                for k in range(inside):
                    place = corner[0] + (size - 0.05) * (k + 1) / (inside + 1)
                    axes.plot(place, corner[1] + size / 2 - 0.025, ".", color=INK, markersize=4)
        axes.text(left, 2.85, f"{name}", color=INK, va="center", **MONO)
        shape = f"holds {(rows, columns, inside)}"
        axes.text(left, 2.55, shape, color=INK, fontsize=10.5, va="center")
        if rows > 1:
            arrow(axes, (left - 0.1, top), (left - 0.1, top - size * rows), VMAP)
        if columns > 1:
            arrow(axes, (left, top + 0.12), (left + size * columns, top + 0.12), GREEN)
        if i < 2:
            sign = "+="[i]
            axes.text(max(left + size * columns, left + 1.7) + 0.35, 1.2, sign, fontsize=18, **NODE)
        left = max(left + size * columns, left + 1.7) + 0.9
    axes.text(0.3, 0.2, "batch axis of B0", color=VMAP, fontsize=10.5, va="center")
    axes.text(2.2, 0.2, "batch axis of B1", color=GREEN, fontsize=10.5, va="center")
    text = "dots: the axis that the function sees, of size 2"
    axes.text(4.1, 0.2, text, color=INK, fontsize=10.5, va="center")
    return figure


# ---- note 6: the states of a level ----

PLACES = {
    "muted": (1.0, 3.9), "live": (4.7, 3.9), "watched": (8.2, 3.9),
    "moded": (4.7, 2.6), "moded and watched": (8.2, 2.6),
    "dead": (2.6, 0.4), "resumed": (6.1, 0.4), "passthrough": (9.6, 0.4),
}  # fmt: skip
LIVING = {"live", "watched", "moded", "moded and watched"}
ENDED = {"dead", "passthrough"}
LABELS = {
    ("live", "watched"): "a debugger is on", ("moded", "moded and watched"): "a debugger is on",
    ("live", "moded"): "a mode is on", ("watched", "moded and watched"): "a mode is on",
    ("live", "muted"): "no_dispatch is on", ("dead", "resumed"): "it runs again",
    ("passthrough", "resumed"): "it runs again",
}  # fmt: skip
"""The facts that hold while a level is in the second state, and not in the first."""


def steps(note: Path) -> set[tuple[str, str]]:
    """Return the pairs of states that the table of a note has a step between."""
    rows = re.findall(
        r"^\| ([a-z ]+) \| .+ \| ([a-z ]+) \|$", note.read_text("utf-8"), re.MULTILINE
    )
    return {(a, b) for a, b in rows if {a, b} <= {*PLACES}}


def states(note: Path) -> Any:
    """Draw a box for each state, and arrows for the steps of the table of the note."""
    ways = {*LABELS, *((b, a) for a, b in LABELS)}
    ways |= {(a, b) for a in LIVING for b in ENDED} | {(a, "live") for a in ENDED}
    if ways != steps(note):
        raise SystemExit(f"the table has other steps: {ways ^ steps(note)}")
    figure, axes = canvas(10.7, 4.4)
    for name, (x, y) in PLACES.items():
        colour = VMAP if name in LIVING else GRAD if name in ENDED else GREEN
        box(axes, (x - 0.95, y - 0.25), (1.9, 0.5), colour)
        axes.text(x, y, name, fontsize=10.5, **NODE)
    box(axes, (3.55, 2.2), (5.8, 2.1), VMAP, 0.03)
    small = {"color": INK, "fontsize": 9.5, "va": "center"}
    for (a, b), label in LABELS.items():
        (x, y), (u, v) = PLACES[a], PLACES[b]
        if y != v:
            arrow(axes, (x - 0.06, y - 0.25), (x - 0.06, v + 0.25))
            arrow(axes, (x + 0.06, v + 0.25), (x + 0.06, y - 0.25))
            axes.text(x + 0.18, (y + v) / 2, label, **small)
        else:
            side = 0.95 if u > x else -0.95
            arrow(axes, (x + side, y + 0.06), (u - side, v + 0.06))
            arrow(axes, (u - side, v - 0.06), (x + side, y - 0.06))
            axes.text((x + u) / 2, y + 0.22, label, **small, ha="center")
    arrow(axes, (5.9, 2.2), (3.2, 0.65))
    arrow(axes, (6.3, 2.2), (9.0, 0.65))
    axes.text(6.1, 1.45, "the level ends,\nin one of two ways", **small, ha="center")
    arrow(axes, (2.3, 0.65), (4.0, 3.65), PALE)
    text = "dead or passthrough:\na later level gets the class"
    axes.text(0.2, 1.9, text, **{**small, "color": PALE})
    return figure


def draw(folder: Path) -> None:
    """Draw all pictures into the folder of the notes."""
    note = next(folder.glob("*-escape-*.md"))
    made = {"levels": levels(), "hooks": hooks(), "axes": batch_axes(), "states": states(note)}
    for name, figure in made.items():
        figure.savefig(folder / f"{name}.png", dpi=110)


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
