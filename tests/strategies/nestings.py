"""Transforms in each other around a program, and the same numbers by NumPy alone.

NOTE [contracted levels]
    Each level makes a function of the same arguments out of another one; its results are a list. A
    vmap has examples that are made of the arguments. A level of forward mode gives derivatives
    along a fixed direction; one of reverse mode that of the sum of the results with fixed weights,
    contracted with the same direction. So NumPy has one reference for all: loops, and differences.
"""

from typing import NamedTuple

import numpy as np
import optree
from hypothesis import event
from hypothesis import strategies as st

import functier as ft

STEP = 4e-3


class Level(NamedTuple):
    """One transform, which acts on the arguments at some positions."""

    kind: str
    chosen: tuple
    size: int = 2

    def __str__(self):
        return f"{self.kind} {self.chosen}"


# ---- numbers of a form ----


def weights(value):
    """Return fixed numbers of the form of a value, or an argument."""
    found = np.cos(1.0 + np.arange(np.size(value))).reshape(np.shape(value))
    return found.astype(np.result_type(value))


def direction(value):
    return weights(value)[..., ::-1] if np.ndim(value) else weights(value)


def examples(x, count):
    """Return the examples that a batch has in place of an argument."""
    if np.result_type(x).kind == "i":
        return [x, -1 - x, x][:count]  # which are indices
    return [x, x * 0.5, x * -0.7][:count]


def dot(values, others):
    found = 0.0
    for v, w in zip(values, others):
        found = found + np.real(np.sum(np.conj(w) * v))
    return found


def leaves_of(tree):
    """Return the floating-point leaves of a result."""
    return [x for x in optree.tree_leaves(tree) if np.result_type(x).kind in "fc"]


def total(tree):
    leaves = leaves_of(tree)
    return dot(leaves, [weights(x) for x in leaves])


def along(row, directions):
    found = 0.0
    for j, t in zip(row, directions):
        found = found + np.tensordot(j, t, axes=t.ndim)
    return found


# ---- by functier ----


def parts(f, level, args):
    """Return the function of the arguments that a level acts on, these, and the direction."""

    def of(*some):
        every = list(args)
        for i, x in zip(level.chosen, some):
            every[i] = x
        return f(*every)

    points = [args[i] for i in level.chosen]
    return of, points, [direction(x) for x in points]


def vmap(f, level, args, **options):
    of, points, _ = parts(f, level, args)
    many = [np.stack(examples(x, level.size)) for x in points]
    return ft.vmap(of, randomness="different", **options)(*many)


def jvp(f, level, args):
    of, points, turned = parts(f, level, args)
    return ft.jvp(lambda *xs: leaves_of(of(*xs)), tuple(points), tuple(turned))


def linearize(f, level, args):
    of, points, turned = parts(f, level, args)
    value, linear = ft.linearize(lambda *xs: leaves_of(of(*xs)), *points)
    return value, linear(*turned)


def jacobian(transform, **options):
    def run(f, level, args):
        of, points, turned = parts(f, level, args)

        def real(*xs):  # jacrev takes no complex results
            return [part for y in leaves_of(of(*xs)) for part in halves(y)]

        rows = transform(real, tuple(range(len(points))), **options)(*points)
        return [along(row, turned) for row in rows]

    return run


def halves(y):
    return [np.real(y), np.imag(y)] if np.result_type(y).kind == "c" else [y]


def vjp(f, level, args):
    of, points, turned = parts(f, level, args)
    value, pullback = ft.vjp(lambda *xs: leaves_of(of(*xs)), *points)
    return value, dot(pullback([weights(y) for y in value]), turned)


def grad(f, level, args):
    of, points, turned = parts(f, level, args)
    every = tuple(range(len(points)))
    return dot(ft.grad(lambda *xs: total(of(*xs)), every)(*points), turned)


def grad_and_value(f, level, args):
    of, points, turned = parts(f, level, args)
    every = tuple(range(len(points)))
    slopes, value = ft.grad_and_value(lambda *xs: total(of(*xs)), every)(*points)
    return value, dot(slopes, turned)


def checkpoint(f, level, args):
    def again(*xs):
        return f(*[np.copy(x) if np.ndim(x) else x for x in xs])

    return grad(lambda *xs: ft.checkpoint(again)(*xs), level, args)


def hessian(f, level, args):
    of, points, turned = parts(f, level, args)
    every = tuple(range(len(points)))
    rows = ft.hessian(lambda *xs: total(of(*xs)), every, randomness="same")(*points)
    return along([along(row, turned) for row in rows], turned)


def chunks(f, level, args):
    return vmap(f, level, args, chunk_size=1)


def split(f, level, args):
    return vmap(f, level, args, branches="split")


# ---- by NumPy ----


def loop(f, level, args, step):
    of, points, _ = parts(f, level, args)
    many = zip(*[examples(x, level.size) for x in points])
    return [np.stack(each) for each in zip(*[optree.tree_leaves(of(*one)) for one in many])]


def differences(f, level, args, step):
    """Return the derivative along the direction, by differences of fourth order."""
    of, points, turned = parts(f, level, args)

    def at(h):
        return leaves_of(of(*[x + h * t for x, t in zip(points, turned)]))

    return [
        (8 * (p - m) - (pp - mm)) / (12 * step)
        for p, m, pp, mm in zip(at(step), at(-step), at(2 * step), at(-2 * step))
    ]


def forward(f, level, args, step):
    return leaves_of(f(*args)), differences(f, level, args, step)


def forward_halves(f, level, args, step):
    return [part for y in differences(f, level, args, step) for part in halves(y)]


def reverse(f, level, args, step):
    return differences(lambda *xs: total(f(*xs)), level, args, step)


def reverse_with_total(f, level, args, step):
    return total(f(*args)), reverse(f, level, args, step)


def reverse_with_value(f, level, args, step):
    return leaves_of(f(*args)), reverse(f, level, args, step)


def second(f, level, args, step):
    return differences(lambda *xs: reverse(f, level, xs, step), level, args, step)


LEVELS = {
    "vmap": (vmap, loop, 0), "grad": (grad, reverse, 1), "jvp": (jvp, forward, 1),
    "vjp": (vjp, reverse_with_value, 1), "grad and value": (grad_and_value, reverse_with_total, 1),
    "linearize": (linearize, forward, 1), "checkpoint": (checkpoint, reverse, 1),
    "jacfwd": (jacobian(ft.jacfwd, randomness="same"), forward_halves, 1),
    "jacrev": (jacobian(ft.jacrev), forward_halves, 1), "hessian": (hessian, second, 2),
    "chunks": (chunks, loop, 0), "split": (split, loop, 0),
}  # fmt: skip
"""For each kind of level what functier does, what it means, and the order of its derivative."""

REAL = {"jacfwd", "jacrev", "hessian"}
"""Those that take no complex argument."""

AGAIN = {"chunks", "checkpoint", "linearize", "hessian", *REAL}
"""Those that may run a function again, which then writes once more to what is outside of it."""

BATCHES = {"vmap", "chunks", "split"}


class Nesting(NamedTuple):
    """Transforms in each other, outermost first; none at all is the function itself."""

    levels: tuple

    def __str__(self):
        return " of ".join(map(str, self.levels)) or "the value"

    __repr__ = __str__

    @property
    def order(self):
        return sum([LEVELS[level.kind][2] for level in self.levels])

    def around(self, f, which, *more):
        for level in reversed(self.levels):
            run = LEVELS[level.kind][which]
            f = lambda *args, f=f, run=run, level=level: run(f, level, args, *more)  # noqa: E731
        return f

    def by_functier(self, f):
        """Return the function of the same arguments under the transforms."""
        return self.around(f, 0)

    def by_numpy(self, f, step=STEP):
        """Return what that means: `f` is called with copies of plain arrays."""
        return self.around(lambda *args: f(*[np.copy(x)[()] for x in args]), 1, step)


@st.composite
def nestings(draw, program, kinds=tuple(LEVELS), most=2, least=0, whole=0):
    """Return transforms for a program; the innermost one acts on all arguments of the `whole`."""
    positions = [i for i, x in enumerate(program.args) if np.result_type(x).kind in "fc"]
    if any(np.iscomplexobj(x) for x in program.args):
        kinds = [kind for kind in kinds if kind not in REAL]
    count = draw(st.integers(least, most))
    levels, order = [], 0
    for i in range(count):
        kind = draw(st.sampled_from([k for k in kinds if order + LEVELS[k][2] < 4]))
        order += LEVELS[kind][2]
        chosen = draw(st.sets(st.sampled_from(positions), min_size=1))
        if i == count - 1 and draw(st.integers(0, 99)) < whole:
            chosen = positions
        if kind in BATCHES and draw(st.booleans()):
            chosen = {*chosen, *[i for i, x in enumerate(program.args) if i not in positions]}
        levels.append(Level(kind, tuple(sorted(chosen)), draw(st.sampled_from([2, 2, 1, 3]))))
    event(f"nesting: {' of '.join([level.kind for level in levels]) or 'the value'}")
    return Nesting(tuple(levels))


@st.composite
def nested(draw, programs, **given):
    """Return a program, and transforms for it, whose kinds may depend on the program."""
    program = draw(programs)
    if callable(given.get("kinds")):
        given = given | {"kinds": given["kinds"](program)}
    return program, draw(nestings(program, **given))
