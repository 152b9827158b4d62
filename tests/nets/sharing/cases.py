"""The programs of the net: what is called on which array, what is written, and what is read.

A program makes an array `b` of its argument and an array `a` that shows it, calls a text of
`calls` on `a`, writes to the result `r` or to `b`, and returns both: a write is seen by the other
one where they share memory. NumPy on plain arrays says what is right.
"""

import copy
import operator
import pickle
import types
from typing import NamedTuple

import numpy as np

from .calls import GROUPS

X = np.stack([
    np.linspace(0.2, 0.9, 12).reshape(3, 4) ** 1.5, np.linspace(0.85, 0.25, 12).reshape(3, 4),
    np.linspace(0.3, 0.77, 12).reshape(3, 4) ** 2, np.linspace(0.95, 0.33, 12).reshape(3, 4) ** 0.7,
])  # fmt: skip
"""Four examples, of which some modes take two, or one."""
D = np.cos(np.arange(48.0) ** 2).reshape(4, 3, 4)
"""The direction of derivatives."""

LAYOUTS = {
    "C": "b = a = x * 1.0",
    "F": "b = a = x * 1.0",
    "transposed": "b = x * 1.0; a = b.T",
    "made": "b = a = np.zeros_like(x); b[...] = x",
    "repeated": "b = x[0] * 1.0; a = np.broadcast_to(b, (3, 4))",
    "backward": "b = x * 1.0; a = b[:, ::-1]",
    "point": "b = x[:1, :1] * 1.0; a = b.reshape(())",
    "given": "b = a = x",
    "given-F": "b = a = x",
    "plain": "b = a = np.zeros_like(x); b += C; b + x",
    "stepped": "b = x * 1.0; a = b[:, ::2]",
    "one": "b = a = x[:1, :1] * 1.0",
    "empty": "b = a = x[:0] * 1.0",
    "number": "b = a = x[1, 1][...]",
    "scalar": "b = x * 1.0; a = b[1, 1]",
    "asarray": "b = a = np.asarray(x[1, 1])",
}
"""The place of `a` in the memory of `b`; where there is an F, the argument lies in columns."""
FEW = list(LAYOUTS)[:7]
"""The layouts for what makes new arrays, which do not show how the operand came to be."""
RESULT = {
    "F": "r[...] = r * t", "transposed": "np.multiply(r, t, out=r)", "backward": "r += t",
    "stepped": "r.flat[:] = t", "plain": "r *= 0.5", "one": "r.fill(t)", "made": "r -= t * t",
}  # fmt: skip
"""The write to the result, which changes with the layout."""
READ = dict.fromkeys(("F", "made", "stepped", "one"), "0.5 * ")
"""The reads of arrays in the end: as they are, or by an operation that makes others."""
WRITES = {
    "result": lambda layout: RESULT.get(layout, "r *= t"),
    "source": lambda layout: "b += t" if layout in ("C", "given") else "b *= t",
    "rows": lambda layout: "v = r.reshape(-1); u = r.T.reshape(-1); v *= t; u += t",
    "overlap": lambda layout: "r[1:] = r[:-1]; r[...] = r[::-1]; b[...] = r",
    "none": lambda layout: "pass",
}
"""The writes; a reshape of rows or of columns is a view. The last one is for calls that write."""


class Program(NamedTuple):
    call: str
    layout: str
    write: str

    def __str__(self) -> str:
        made = f"{LAYOUTS[self.layout]}; r = {self.call}; {WRITES[self.write](self.layout)}"
        return f"[{self.layout}, {self.write}] t = x[1, 1]; {made}"


def double(v):
    v *= 2.0
    return v


def filled(v):
    v[...] = 0.5
    return v


CALLS = [call for calls in GROUPS.values() for call in calls]


def source() -> str:
    """The parts of all programs, as the text of a module."""
    lines = []
    for n, call in enumerate(CALLS):
        lines += [f"def call_{n}(a, x, t):", f"    return {call}"]
    for n, layout in enumerate(LAYOUTS):
        lines += [f"def layout_{n}(x):", f"    {LAYOUTS[layout]}", "    return b, a"]
        for write, text in WRITES.items():
            out = ", ".join(
                [READ.get(layout, "") + y for y in ["b", "r", *"vu"[: 2 * (write == "rows")]]]
            )
            lines += [f"def {write}_{n}(b, r, t):", f"    {text(layout)}", f"    return {out}"]
    return "\n".join(lines)


def module_of(name, namespace):
    """A module of the parts, and what they call besides NumPy."""
    made = types.ModuleType(name)
    vars(made).update(
        np=namespace, copy=copy, operator=operator, pickle=pickle, double=double, filled=filled,
        B=np.zeros((3, 4)), C=X[0][::-1, ::-1] * 0.5,
    )  # fmt: skip
    exec(compile(source(), f"<{name}>", "exec"), vars(made))
    return made


def parts_of(module, program):
    """The functions of a program that make the array, call the text and write."""
    place = list(LAYOUTS).index(program.layout)
    found = f"layout_{place}", f"call_{CALLS.index(program.call)}", f"{program.write}_{place}"
    return [getattr(module, part) for part in found]


def function_of(module, program, scalar=False, name="f"):
    """The program as a function of an example; of one `scalar`, the weighted sum of its results."""
    layout, call, write = parts_of(module, program)

    def f(x):
        t = x[1, 1]
        b, a = layout(x)
        return *write(b, call(a, x, t), t), x[1:2] * 1.0

    made = (lambda x: sum(weighted(y) for y in f(x))) if scalar else f
    made.__name__ = made.__qualname__ = name
    return made


def weighted(y):
    """The sum of elements, each with a weight of its own."""
    weights = np.sin(1.0 + np.arange(float(np.size(y)))).reshape(np.shape(y))
    return np.sum(weights * y)


def lay(x, layout):
    """An example, in memory as the layout has it."""
    return x.copy("F" if "F" in layout else "C")


def batch(xs, layout, axis):
    """Examples along an axis, each of which lies as the layout has it."""
    rows = np.stack(list(xs), axis)
    if "F" not in layout:
        return rows.copy("C")
    return rows.copy("F") if axis else rows.transpose(0, 2, 1).copy("C").transpose(0, 2, 1)


class Plain:
    """The results of a program by NumPy, and their differences."""

    def __init__(self, module, program):
        self.program, self.f = program, function_of(module, program)
        self.known, self.fits = {}, True

    def __call__(self, x):
        return [np.array(y) for y in self.f(lay(x, self.program.layout))]

    def at(self, n):
        """The results for an example."""
        return self._keep(("at", n), lambda: self(X[n]))

    def slope(self, n, h=1e-5):
        """Their derivatives in the direction."""
        two = lambda: zip(self(X[n] + h * D[n]), self(X[n] - h * D[n]))  # noqa: E731
        return self._keep(("slope", n), lambda: [(p - q) / (2 * h) for p, q in two()])

    def bend(self, n, h=1e-3):
        """The second derivative of their weighted sum in the direction."""
        sums = lambda s: sum(weighted(y) for y in self(X[n] + s * h * D[n]))  # noqa: E731
        return self._keep(("bend", n), lambda: (sums(1) - 2 * sums(0) + sums(-1)) / h**2)

    def _keep(self, key, compute):
        if key not in self.known:
            self.known[key] = compute()
        return self.known[key]
