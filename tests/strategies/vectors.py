"""Statements over vectors of one length and numbers, which steps of loops repeat.

A step makes its values no larger, so that rounding errors of 40 steps stay small.
"""

import numpy as np

from .programs import Drawing, Variable, below

VECTORS = (
    "{v} * {c} + 0.1 * np.sin({w})", "0.5 * ({v} + {w})", "np.roll({v}, 1) * 0.5 + {w} * {c}",
    "0.3 * (A @ {v}) + 0.2 * {w}", "{v} * np.cos({a}) * 0.7 + 0.1", "np.cumsum({v}) * 0.2",
    "np.linalg.solve(A + 4 * np.eye({m}, dtype=A.dtype), {v})", "{v}[::-1] * 0.6 + {w} * 0.1",
    "np.concatenate([{v}[1:], {w}[:1]]) * 0.8", "{v} / (1.0 + np.sum(np.abs({v})))",
    "np.stack([{e}] * {m}) * 0.4 + 0.2 * {v}", "np.einsum('ij,j->i', A, {v}) * 0.2 + {w}",
    "np.exp(-np.abs({v})) * 0.5 + 0.3 * {v}", "helper({v}, {w})", "{v} * {w} * 0.3",
    "{v} * 0.5 + {a} * {w} * 0.01", "np.outer({v}, {w})[0] * 0.3", "np.tanh(0.5 * {v}) + {w} / 3",
)  # fmt: skip
REAL = (
    "np.where({v} > {c}, {v} * 0.9, {w} * 0.5)", "np.maximum({v}, {w}) * 0.7",
    "np.sort({v}) * 0.9", "np.clip({v}, -1.0, 0.4)", "{v} ** 2 * 0.3", "{v} * ({w} > {c})",
)  # fmt: skip
"""Expressions of vectors that complex numbers do not have."""

SCALARS = (
    "{e} * 0.5 + 0.1 * np.sum({v})", "np.sin({e}) * 0.6 + 0.01 * {a}", "0.8 * {e} + 0.1 * {v}[0]",
    "np.dot({v}, {w}) * 0.2 + 0.1 * {e}", "{e} / (1.5 + np.abs({e}))", "{v}[-1] * {e} * 0.4",
    "np.cos({e} + 0.1 * {a}) * 0.5", "np.mean({v}) * 0.5 - {e} * {c}",
)  # fmt: skip
REAL_SCALARS = (
    "np.max({v}) * 0.5 + 0.1 * {e}", "np.where({e} > {c}, {e} * 0.5, 0.3 + {e})",
    "min(max({c}, 0.1), 0.7) * {e}",
)  # fmt: skip
HELPERS = (
    "def helper(v, w):\n    return np.sin(v) * 0.5 + w * 0.3",
    "def helper(v, w):\n    for k in range(3):\n        v = v * 0.5 + 0.1 * np.sin(w * k)\n"
    "    return v",
    "def helper(v, w):\n    u = v * 0.5\n    return inner(u) - w * 0.3\ndef inner(u):\n"
    "    return np.sin(u) + 0.2 * u",
    "def helper(v, w):\n    if np.sum(np.abs(v)) > 0.8:\n        return v * 0.5\n"
    "    return v + w * 0.1",
)  # fmt: skip
"""The last one has a branch."""

INSIDE = (
    "{v} = {v} - 0.1 * ft.grad(lambda u: np.sum({real}(np.sin(u) * {w})))({v})",
    "{e} = 0.2 * ft.jvp(lambda u: np.sum(u * np.cos(u)), ({v},), ({w},))[1] + 0.1 * {e}",
    "{v} = ft.vmap(lambda u: u * {c} + np.sin({e}) * 0.2)({v})",
    "{v} = ft.checkpoint(helper)({v}, {w})", "{v} = ft.vjp(np.sin, {v})[1]({w})[0] * 0.7",
    "with np.errstate(all='ignore'): {v} = np.log(np.abs({v}) + 1.1) * 0.3 + 0.5 * {v}",
)  # fmt: skip
"""Statements of a step with a transform or a setting."""

TESTS = (
    "{real}({e}) > {c}", "np.sum(np.abs({v})) > 0.9", "{real}({v}[0]) < 0.2",
    "np.all({real}({v}) < 0.6)", "np.any({real}({v}) > 0.9)", "not {real}({e}) > 0.4",
    "-0.5 < {real}({e}) < {c}",
)  # fmt: skip


def values(shape, kind, g):
    """Return values of a shape, none of them 0; of a number without axes a scalar of NumPy's."""
    found = np.round(g.uniform(-1.0, 1.0, shape), 2) + 0.003
    if kind == "complex":
        found = found + 1j * np.round(g.uniform(-1.0, 1.0, shape), 2)
    return np.asarray(found).astype(kind or "float64")[()]


class Vectors(Drawing):
    """A program of vectors ``x, y``, a number `s`, rows `xs` and a matrix `A`."""

    def __init__(self, draw):
        super().__init__(draw)
        self.m = self.choice([2, 3, 4])
        self.kind = self.choice(["", "", "", "", "", "", "float32", "complex"])
        self.real = "np.real" if self.kind == "complex" else ""
        self.names = {"x": Variable((self.m,)), "y": Variable((self.m,)), "s": Variable()}
        self.work, self.regular = 1, True
        self.helper = self.choice(HELPERS)

    def arguments(self, rows):
        g = np.random.default_rng(self.draw(below(1000)))
        m = self.m
        shapes = (m,), (m,), (), (rows, m), (m, m)
        return tuple([values(shape, self.kind, g) for shape in shapes])

    def vectors(self, own=None):
        return self.of((self.m,), own=own)

    def scalars(self, own=None):
        return self.of((), own=own)

    def numbers(self):
        return ["0.3", *self.of(kind="number"), *self.of(kind="counter")]

    def place(self, key):
        if key == "v":
            return self.choice(self.vectors(own=True) or self.vectors())
        if key == "w":
            return self.choice(self.vectors())
        if key == "e":
            return self.choice(self.scalars(own=True) or self.scalars())
        if key == "a":
            return self.choice(self.numbers())
        if key == "c":
            return self.choice(["0.3", "0.5", "-0.4", "0.8"])
        if key == "i":
            return self.choice(self.of(kind="counter"))
        if key == "test":
            return self.pick(TESTS)
        return getattr(self, key)

    def fill(self, text, **given):
        found = super().fill(text, **given)
        if "helper" in found and self.helper == HELPERS[-1]:
            self.odd("guards")
        return found

    def odd(self, feature):
        """Note what makes the steps of a loop differ."""
        self.regular = False
        self.features[feature] += 1

    # ---- statements ----

    def vector(self):
        return self.pick(VECTORS if self.kind == "complex" else VECTORS + REAL)

    def scalar(self):
        return self.pick(SCALARS if self.kind == "complex" else SCALARS + REAL_SCALARS)

    def update(self):
        vectors, scalars = self.vectors(own=True), [n for n in self.scalars(own=True) if n != "t"]
        if vectors and (not scalars or not self.chance(35)):
            self.add(f"{self.choice(vectors)} = {self.vector()}")
        elif scalars:
            self.add(f"{self.choice(scalars)} = {self.scalar()}")

    def rotate(self):
        """Carry the values of the steps before."""
        names = self.vectors(own=True)
        if len(names) > 1:
            names = self.sample(names, self.choice([2, min(3, len(names))]))
            self.rotated(len(names))
            self.add(f"{', '.join(names)} = {', '.join(names[1:])}, {self.vector()}")

    def rotated(self, count):
        """Note that the first steps of a loop differ."""

    def transform(self):
        if self.vectors(own=True) and self.scalars(own=True):
            self.add(self.pick(INSIDE))
