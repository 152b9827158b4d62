"""Programs with branches: what Python asks of values, early returns, and exceptions."""

import numpy as np
from hypothesis import strategies as st

from .programs import Drawing, below

XS = np.array([[0.7, -0.4, 1.2, 0.3], [0.7, 0.9, -1.1, 0.2], [-0.6, 0.8, 0.5, -0.9],
               [1.6, 1.1, 0.4, 2.3], [-1.3, -0.2, -0.8, -0.5]])  # fmt: skip
"""The examples: each goes its own way."""

CONDITIONS = (
    "v > {c}", "v * v < {c} and x[0] > {d}", "not v > {d}", "np.any(x > {c})", "np.all(x < {c})",
    "{d} < v < {c}", "np.sum(x > {d}) > 2", "len(x[x > {d}]) == {n}", "int(3 * v) == {n}",
    "np.floor(3 * v) in {{0.0, {n}}}", "len(set(np.floor(x))) > {n}",
)  # fmt: skip
VALUES = (
    "v * {d} + x[{n}]", "np.sin(v) + {c}", "v * v", "np.sum(x[x > {d}])", "np.mean(x * v)",
    "x[int(np.argmax(x))] * v", "[v, x[0], x[1]][int(abs(v)) % 3]", "v + len(x[x > {d}])",
    "np.sum(x[np.nonzero(x > {d})[0]] * v)", "v + float(np.sum(x > {c}))",
    "v * {{0.0: {d}, 1.0: {c}}}.get(np.floor(v), 2.0)",
)  # fmt: skip
RAISING = (
    "v = v + np.linalg.inv(np.diag(np.floor(x)))[0, 0] * v",
    "v = v + np.linalg.cholesky(np.diag(x + {c} + 0.03))[1, 1]",
    "v = x[int(np.floor(3 * v))] * v", "v = v * x[[0, int(4 * v)]][1]",
    "with np.errstate(invalid='raise'): v = np.log(x[{n}] + {c} + 0.03) + v",
)  # fmt: skip
"""Statements that raise for some examples."""


class Branching(Drawing):
    """A program of an array `x` of four numbers, which makes a number `v` and an array `y`."""

    def place(self, key):
        return self.draw(below(4)) if key == "n" else round(self.draw(below(25)) / 10 - 1.2, 1)

    def kinds(self):
        own = [self.assign, self.assign, self.write_mask, self.write]
        deep = [self.if_, self.if_, self.while_, self.for_, self.try_, self.early_return]
        return own + deep * (self.depth < 2)

    def assign(self):
        self.add(f"v = {self.pick(VALUES)}")

    def write_mask(self):
        self.add(self.fill("y[x > {d}] = np.cos(x[x > {d}]) * v"))

    def write(self):
        self.add(self.fill("y[{n}] += v"))

    def if_(self):
        with self.nested(f"if {self.pick(CONDITIONS)}:"):
            self.draw_statements(1, 2)
        if self.chance(60):
            with self.nested("else:"):
                self.draw_statements(1, 2)

    def while_(self):
        count = self.fresh("count")  # which no inner loop resets
        self.add(f"{count} = 0")
        with self.nested(f"while {self.pick(CONDITIONS)} and {count} < 3:"):
            self.add(f"{count} += 1")
            self.draw_statements(1, 2)

    def for_(self):
        with self.nested("for i in range(int(abs(2 * v)) % 4):"):
            self.draw_statements(1, 2)

    def try_(self):
        with self.nested("try:"):
            if self.chance(50):
                self.add(f"if {self.pick(CONDITIONS)}: raise KeyError('drawn')")
            else:
                self.add(self.pick(RAISING))
            self.draw_statements(1, 2)
        with self.nested("except Exception:"):
            self.draw_statements(1, 2)

    def early_return(self):
        self.add(f"if {self.pick(CONDITIONS)}: return v + np.sum(y)")


@st.composite
def branching(draw):
    """Return programs with branches, of which NumPy gives a value for all of `XS`."""
    drawing = Branching(draw)
    drawing.add("y, v = x * 1.0, x[0]")
    drawing.draw_statements(1, 6)
    return drawing.program(["x"], "v + np.sum(y)", (XS[0],))
