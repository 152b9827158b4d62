"""A net of drawn programs with branches, beside loops of the plain function.

    PYTHONPATH=tests:src python -m nets.branches 300 --seed 3

Each has `if`, `while`, `for` over a computed number, early returns, recursion, masks, `np.nonzero`
and exceptions that it catches: its own, and those of NumPy. It runs under
``vmap(branches="split")``, with `grad` and `jvp` inside and outside and in two nested batches.
"""

import sys

import numpy as np

import functier as ft
from support.basics import silent

from .commands import main
from .verdicts import Verdicts

REASONS = {r"^ValueError: zero-size array": "NumPy has no largest element of an empty array either"}
"""Refusals that a user has to accept."""

XS = np.array([[0.7, -0.4, 1.2, 0.3], [0.7, 0.9, -1.1, 0.2], [-0.6, 0.8, 0.5, -0.9],
               [1.6, 1.1, 0.4, 2.3], [-1.3, -0.2, -0.8, -0.5]])  # fmt: skip

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
    "v = x[int(np.floor(3 * v))] * v",
    "v = v * x[[0, int(4 * v)]][1]",
    "with np.errstate(invalid='raise'): v = np.log(x[{n}] + {c} + 0.03) + v",
)
"""Statements that raise for some examples."""


class Draw:
    """The source of one program."""

    def __init__(self, rng):
        self.rng, self.lines, self.depth = rng, [], 0

    def fill(self, text):
        c, d = np.round(self.rng.uniform(-1.2, 1.2, 2), 1)
        return text.format(c=c, d=d, n=self.rng.integers(0, 4))

    def pick(self, texts):
        return self.fill(texts[self.rng.integers(len(texts))])

    def add(self, indent, text):
        self.lines.append("    " * indent + text)

    def statement(self, indent):
        kinds = ["assign", "assign", "mask", "write"]
        if indent < 3:
            kinds += ["if", "if", "while", "for", "try", "return"]
        kind = kinds[self.rng.integers(len(kinds))]
        if kind == "assign":
            self.add(indent, f"v = {self.pick(VALUES)}")
        elif kind == "mask":
            self.add(indent, self.fill("y[x > {d}] = np.cos(x[x > {d}]) * v"))
        elif kind == "write":
            self.add(indent, self.fill("y[{n}] += v"))
        elif kind == "if":
            self.add(indent, f"if {self.pick(CONDITIONS)}:")
            self.block(indent + 1)
            if self.rng.random() < 0.6:
                self.add(indent, "else:")
                self.block(indent + 1)
        elif kind == "while":
            count = f"count{len(self.lines)}"  # which no inner loop resets
            self.add(indent, f"{count} = 0")
            self.add(indent, f"while {self.pick(CONDITIONS)} and {count} < 3:")
            self.add(indent + 1, f"{count} += 1")
            self.block(indent + 1)
        elif kind == "for":
            self.add(indent, self.fill("for i in range(int(abs(2 * v)) % 4):"))
            self.block(indent + 1)
        elif kind == "try":
            self.add(indent, "try:")
            if self.rng.random() < 0.5:
                self.add(indent + 1, f"if {self.pick(CONDITIONS)}: raise KeyError('drawn')")
            else:
                self.add(indent + 1, self.pick(RAISING))
            self.block(indent + 1)
            self.add(indent, "except Exception:")
            self.block(indent + 1)
        else:
            self.add(indent, f"if {self.pick(CONDITIONS)}: return v + np.sum(y)")

    def block(self, indent):
        for _ in range(self.rng.integers(1, 3)):
            self.statement(indent)

    def source(self):
        self.add(0, "def f(x):")
        self.add(1, "y = x * 1.0")
        self.add(1, "v = x[0]")
        for _ in range(self.rng.integers(3, 6)):
            self.statement(1)
        self.add(1, "return v + np.sum(y)")
        return "\n".join(self.lines)


class Branches:
    """Runs numbered programs, and counts what is right, refused and wrong."""

    def __init__(self, counts, seed):
        self.counts, self.seed, self.paths = counts, seed, 0

    def run(self, number):
        source = Draw(np.random.default_rng([self.seed, number])).source()
        names = {"np": np}
        exec(source, names)
        f = names["f"]
        with silent():
            try:
                values = np.array([f(x.copy()) for x in XS])
            except (ValueError, OverflowError):  # of NumPy, and of int(v)
                return
            self.judge(number, source, f, values)

    def judge(self, number, source, f, values):
        split = lambda f: ft.vmap(f, branches="split")  # noqa: E731
        cases = {"vmap": (lambda: split(f)(XS), values)}
        if "float(" not in source:  # which would lose the derivative, and is refused
            slopes = np.array([ft.grad(f)(x) for x in XS])
            ones = np.ones_like(XS[0])
            tangents = np.array([ft.jvp(f, (x,), (ones,))[1] for x in XS])
            deep = np.stack([XS, XS[::-1]])
            cases |= {
                "vmap of grad": (lambda: split(ft.grad(f))(XS), slopes),
                "grad of vmap": (lambda: ft.grad(lambda xs: np.sum(split(f)(xs)))(XS), slopes),
                "jvp of vmap": (
                    lambda: ft.jvp(split(f), (XS,), (np.ones_like(XS),))[1], tangents,
                ),
                "vmap of vmap": (lambda: split(split(f))(deep), np.stack([values, values[::-1]])),
            }  # fmt: skip
        for name, (run, expected) in cases.items():
            head = f"# python -m nets.branches --seed {self.seed} --number {number}: {name}"
            case = f"{head}\n{source}\n# "
            self.counts.judge(case, run, lambda found, e=expected: close(found, e))

    def summary(self):
        return self.counts.summary()


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def net(seed):
    return Branches(Verdicts("branches", REASONS), seed)


if __name__ == "__main__":
    sys.exit(main(__doc__, net, 300))
