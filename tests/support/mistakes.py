"""The commonest mistakes, as programs: each with the message it gets, and the program that
follows the message.

A `Mistake` runs in plain NumPy: so the wrong program itself says what the right one has to
compute. `Misuse` is a call that nothing is right about, and has its expected result.
"""

import cmath
import functools
import math
import operator
import pickle
import re
import statistics
import string
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.fft
import scipy.integrate
import scipy.linalg
import scipy.signal
import scipy.special
import scipy.stats

import functier as ft
import functier.numpy as fnp
from functier._core.remedies import BY_EXPRESSION, CALLS, GENERAL

NUMBERS = np.array([0.7, 1.3, 0.2])
COUNTS = np.array([2, 3, 1])
VECTORS = np.array([[0.5, 1.5, 2.0], [1.0, 0.25, 3.0]])
MATRICES = np.array([[[2.0, 0.5], [0.5, 1.0]], [[3.0, -1.0], [-1.0, 2.0]]])
A = np.array([10.0, 20.0, 30.0, 40.0])
M = np.array([[1.0, 2.0, 0.5], [0.0, 1.0, -1.0]])
SERIES = pd.Series([1.0, 2.0, 3.0], index=[4, 5, 6])
MASKS = np.array([[True, False, True], [True, True, True]])
HIDDEN = np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False])

DERIVATIVES = "vmap", "grad", "jvp", "vmap grad"
BATCHES = "vmap", "vmap grad"


class Mistake(NamedTuple):
    """A program that NumPy runs and a transform does not; `remedy` is its place in a table."""

    remedy: str
    wrong: Callable
    right: Callable
    xs: np.ndarray = NUMBERS
    modes: tuple[str, ...] = DERIVATIVES
    error: Any = ft.LevelError
    table: dict = {}  # noqa: RUF012

    @property
    def text(self) -> str:
        return self.table[self.remedy]

    @property
    def pattern(self) -> str:
        """The text of the remedy, with anything where it names what was written."""
        parts = string.Formatter().parse(self.text)
        return "".join(re.escape(text) + (".*" if name else "") for text, name, _, _ in parts)


def mistakes(table: dict, *rows: tuple) -> list[Mistake]:
    return [Mistake(*row)._replace(table=table) for row in rows]


# ---- statements ----


@functools.lru_cache
def cached(x):
    return x * x


def assigned(x):
    out = np.zeros(3)
    for i in range(3):
        out[i] = x * i
    return out


def assigned_inside(x):
    out = fnp.zeros(3)
    for i in range(3):
        out[i] = x * i
    return out


def assigned_part(x):
    out = np.ones(3)
    out[:2] = x
    return out


def assigned_part_inside(x):
    out = fnp.array(np.ones(3))
    out[:2] = x
    return out


def assigned_view(x):
    out = np.ones((2, 3))
    row = out[1]
    row[:2] = x
    return np.sum(out, 0)


def assigned_view_inside(x):
    out = fnp.array(np.ones((2, 3)))
    row = out[1]
    row[:2] = x
    return np.sum(out, 0)


def given(out, x):
    out[1] = x


def assigned_argument(x):
    out = np.ones(3)
    given(out, x)
    return out


def assigned_argument_inside(x):
    out = fnp.array(np.ones(3))
    given(out, x)
    return out


def summed(x):
    out = np.zeros(3)
    out += x
    return out


def summed_anew(x):
    out = np.zeros(3)
    out = out + x
    return out


def multiplied(x):
    out = np.zeros(3)
    np.multiply(x, 2.0, out=out)
    return out


def multiplied_inside(x):
    out = fnp.zeros(3)
    np.multiply(x, 2.0, out=out)
    return out


def assigned_with_labels(x):
    s = pd.Series([1.0, 2.0, 3.0])
    s[1] = x
    return s.to_numpy()


def assigned_without_labels(x):
    s = pd.Series([1.0, 2.0, 3.0])
    s = fnp.array(s.to_numpy())
    s[1] = x
    return s


def assigned_field(x):
    a = np.zeros(3, dtype=[("u", float), ("v", float)])
    a["u"] = x
    return a["u"]


def assigned_field_inside(x):
    a = {"u": fnp.zeros(3), "v": fnp.zeros(3)}
    a["u"][...] = x
    return a["u"]


def assigned_to_field(x):
    a = np.zeros(3, dtype=[("u", float), ("v", float)])
    u = a["u"]
    u[1] = x
    return u


def assigned_to_field_inside(x):
    a = {"u": fnp.zeros(3), "v": fnp.zeros(3)}
    u = a["u"]
    u[1] = x
    return u


def filled(x):
    out = np.zeros(3)
    out.fill(x)
    return out


def filled_inside(x):
    out = fnp.empty(3)
    out.fill(x)
    return out


def assigned_diagonal(x):
    a = np.ones((3, 3))
    np.fill_diagonal(a, x)
    return a


def assigned_diagonal_inside(x):
    a = fnp.array(np.ones((3, 3)))
    np.fill_diagonal(a, x)
    return a


def halved(x):
    while x > 0.5:
        x = x / 2
    return x


def looped(n):
    total = 1.0
    for i in range(n):
        total = total * 2.0 + i
    return total


def compared(x):
    if 0.1 < x < 1.0:
        return x * x
    return x


def both(x):
    if x > 0.1 and x < 1.0:
        return x * x
    return x


def logged(x):
    _ = f"{x:.2f}"
    return x * 2


def logged_whole(x):
    _ = f"{x}"
    return x * 2


def logged_percent(x):
    "%.2f" % x  # noqa: UP031
    return x * 2


def checked(x):
    np.testing.assert_allclose(x, x)
    return x * 2


def second_kind(x):
    return scipy.special.lqn(2, x)[0]


def second_kind_with_rule(x):
    g = ft.custom_vjp(lambda x: scipy.special.lqn(2, x)[0])
    g.defvjp(lambda x: (g(x), x), lambda x, t: (np.sum(scipy.special.lqn(2, x)[1] * t),))
    return g(x)


def squares(x):
    return x * x


dispatched = np.vectorize(squares)
rng = np.random.default_rng(0)


def objects_of(x):
    """Return an object array that plain NumPy has made."""
    made = np.empty(2, object)
    made[0], made[1] = x, x * x
    return made


# ---- by the kind of what was written ----

ROWS = mistakes(
    BY_EXPRESSION,
    ("a[i] = x", assigned, assigned_inside),
    ("a[i] = x", assigned_part, assigned_part_inside),
    ("a[i] = x", assigned_argument, assigned_argument_inside),
    ("view[i] = x", assigned_view, assigned_view_inside),
    ("fields", assigned_field, assigned_field_inside),
    ("fields", assigned_to_field, assigned_to_field_inside),
    ("a.fill", filled, filled_inside),
    ("a += x", summed, summed_anew),
    ("out=", multiplied, multiplied_inside),
    ("labels", lambda x: np.asarray(SERIES * x), lambda x: SERIES.to_numpy() * x),
    ("labels", lambda x: np.asarray(x * SERIES**x), lambda x: x * SERIES.to_numpy() ** x),
    ("labels", lambda x: SERIES.dot(x), lambda x: ft.tensor(SERIES.to_numpy()).dot(x), VECTORS),
    ("labels written", assigned_with_labels, assigned_without_labels),
    ("labels method", lambda x: np.asarray(SERIES.mul(x)),
     lambda x: np.multiply(SERIES.to_numpy(), x)),
    ("a[x]", lambda n: A[n] * 2, lambda n: ft.tensor(A)[n] * 2, COUNTS, ("vmap",)),
    ("a[x]", lambda x: A[np.argsort(x)], lambda x: ft.tensor(A)[np.argsort(x)], VECTORS, ("vmap",)),
    ("a[:, x] of booleans", lambda m: M[:, m].sum(-1), lambda m: np.sum(M, axis=-1, where=m), MASKS,
     ("vmap",)),
    ("a[:, x] of booleans", lambda m: M[:, m].sum(), lambda m: np.sum(np.where(m, M, 0)), MASKS,
     ("vmap",)),
    ("r_", lambda x: np.r_[x, 1.0, x], lambda x: np.concatenate(
        [np.atleast_1d(x), np.atleast_1d(1.0), np.atleast_1d(x)])),
    ("c_", lambda x: np.c_[x, x * 2], lambda x: np.column_stack([x, x * 2]), VECTORS),
    ("mgrid", lambda x: np.mgrid[0:x:3j, 0:1:2j], lambda x: np.stack(
        np.meshgrid(np.linspace(0, x, 3), np.linspace(0, 1, 2), indexing="ij"))),
    ("list[x]", lambda n: [1.0, 4.0, 9.0, 16.0][n] * 2,
     lambda n: ft.tensor(np.stack([1.0, 4.0, 9.0, 16.0]))[n] * 2, COUNTS, ("vmap",)),
    ("a[:x]", lambda n: np.sum(A[:n]), lambda n: np.sum(np.where(np.arange(len(A)) < n, A, 0)),
     COUNTS, ("vmap",)),
    ("format", logged, logged_whole, NUMBERS, ("vmap",)),
    ("format", logged_percent, logged_whole, NUMBERS, ("vmap",)),
    ("cached function", lambda x: cached(x) * x, lambda x: cached.__wrapped__(x) * x),
    ("x in list", lambda n: 1.0 if n in [1, 2] else 0.0,
     lambda n: np.where(np.any(np.equal(n, np.array([1, 2]))), 1.0, 0.0), COUNTS, ("vmap",)),
    ("a < x < b", compared, lambda x: np.where((0.1 < x) & (x < 1.0), x * x, x),
     NUMBERS, BATCHES),
    ("x and y", lambda x: (x > 0.5 and x < 1.0) * x,
     lambda x: np.logical_and(x > 0.5, x < 1.0) * x, NUMBERS, ("vmap",)),
    ("x and y", lambda x: x * (not x > 0.5), lambda x: x * np.logical_not(x > 0.5), NUMBERS,
     BATCHES),
    ("while", halved, lambda x: ft.while_loop(lambda x: x > 0.5, lambda x: x / 2, x), NUMBERS,
     BATCHES),
    ("numpy.array of a list", lambda x: np.array([x, 1.0, x * x]),
     lambda x: np.stack([x, 1.0, x * x])),
    ("numpy.array of a list", lambda x: np.array([v * v for v in x]),
     lambda x: np.stack([v * v for v in x]), VECTORS),
    ("numpy.array of lists", lambda x: np.array([[x, 1.0], [0.0, x * x]]),
     lambda x: fnp.array([[x, 1.0], [0.0, x * x]])),
    ("numpy of a list", lambda x: np.sum([x, x * x]), lambda x: np.sum(np.stack([x, x * x]))),
    ("numpy of lists and others", lambda x: np.outer([x, x * x], [1.0, 2.0]),
     lambda x: np.outer(fnp.array([x, x * x]), fnp.array([1.0, 2.0]))),
    ("numpy of lists and others", lambda x: np.kron(A, [x, 1.0]),
     lambda x: np.kron(A, fnp.array([x, 1.0]))),
    ("numpy of lists and others", lambda x: np.add([x, 1.0], A[:2]),
     lambda x: np.add(fnp.array([x, 1.0]), A[:2])),
    ("operator and a list", lambda x: np.ones((2, 2)) @ [x, 1.0],
     lambda x: np.ones((2, 2)) @ fnp.array([x, 1.0])),
    ("operator and a list", lambda x: np.ones(2) * [x, 1.0],
     lambda x: np.ones(2) * fnp.array([x, 1.0])),
    ("numpy of a list", lambda x: np.linalg.norm([x, 1.0]),
     lambda x: np.linalg.norm(np.stack([x, 1.0]))),
    ("numpy of a list", lambda x: np.sin([x, 1.0]), lambda x: np.sin(np.stack([x, 1.0]))),
    ("numpy function", lambda n: np.take(A, n), lambda n: np.take(ft.tensor(A), n), COUNTS,
     ("vmap",)),
    ("initial=", lambda x: np.sum(A, initial=x), lambda x: np.sum(A) + x),
    ("initial=", lambda x: np.prod(x * A, initial=x), lambda x: np.prod(x * A) * x),
    ("initial=", lambda x: np.max(x, initial=x[0]), lambda x: np.maximum(np.max(x), x[0]), VECTORS),
    ("initial=", lambda x: np.sum(ft.tensor(A), initial=x).item(), lambda x: np.sum(A) + x),
    ("length", lambda n: np.sum(np.ones(n)),
     lambda n: np.sum(np.where(np.arange(5) < n, np.ones(5), 0)), COUNTS, ("vmap",)),
    ("length", lambda n: np.sum(np.linspace(0, 1, n)) * 0 + n,
     lambda n: np.sum(np.where(np.arange(5) < n, np.ones(5), 0)), COUNTS, ("vmap",)),
    ("method", lambda x: M.dot(x), lambda x: ft.tensor(M).dot(x), VECTORS),
    ("method", lambda x: A.searchsorted(x * 20), lambda x: ft.tensor(A).searchsorted(x * 20),
     NUMBERS, ("vmap",)),
    ("method", lambda n: A.take(n), lambda n: ft.tensor(A).take(n), COUNTS, ("vmap",)),
    ("a.astype", lambda x: objects_of(x).astype(float),
     lambda x: fnp.asarray(objects_of(x), dtype=float)),
    ("math", lambda x: math.sin(x) * 2, lambda x: np.sin(x) * 2),
    ("math", lambda x: math.pow(x, 3), lambda x: np.pow(x, 3)),
    ("cmath", lambda x: cmath.sqrt(-x), lambda x: np.sqrt(-x + 0j), NUMBERS,
     ("vmap", "jvp")),
    ("scalar type", lambda x: np.float64(x * x), lambda x: fnp.asarray(x * x, np.float64)),
    ("scalar type", lambda x: np.int64(x * 9), lambda x: fnp.asarray(x * 9, np.int64), NUMBERS,
     ("vmap",)),
    ("numpy.random", lambda x: np.random.normal(x * x, 0.0),  # noqa: NPY002
     lambda x: ft.random.default_rng(0).normal(x * x, 0.0), NUMBERS, ("grad", "jvp")),
    ("numpy.random", lambda x: rng.normal(x * x, 0.0),
     lambda x: ft.random.default_rng(0).normal(x * x, 0.0), NUMBERS, ("grad", "jvp")),
    ("numpy.ma", lambda x: np.sum(HIDDEN * x).item(),
     lambda x: np.sum(np.where(HIDDEN.mask, 0.0, HIDDEN.data) * x)),
    ("numpy.array of a list", lambda x: np.sum(np.array([x, x * x, None], object)[:2]),
     lambda x: np.sum(np.stack([x, x * x])), NUMBERS, ("vmap",)),
    ("output", checked, lambda x: checked(ft.stop_gradient(x)) * 0 + x * 2, NUMBERS,
     ("grad", "jvp")),
    ("output of a batch", checked, lambda x: x * 2, NUMBERS, ("vmap",)),
    ("library", second_kind, second_kind_with_rule, NUMBERS, ("grad",)),
    ("library", second_kind,
     lambda x: ft.finite_difference(lambda x: scipy.special.lqn(2, x)[0])(x), NUMBERS, ("grad",)),
    ("library of a batch", second_kind,
     lambda x: ft.sequential_vmap(lambda x: scipy.special.lqn(2, x)[0])(x), NUMBERS, ("vmap",)),
    ("numpy of lists", lambda x: np.linalg.det([[x, 1.0], [0.0, x]]),
     lambda x: np.linalg.det(fnp.array([[x, 1.0], [0.0, x]]))),
    ("numpy of lists", lambda x: np.sin([[x, 1.0], [0.0, x]]),
     lambda x: np.sin(fnp.array([[x, 1.0], [0.0, x]]))),
    ("numpy of lists", lambda x: np.concatenate([[x, 1.0], [0.0, x]]),
     lambda x: np.concatenate(fnp.array([[x, 1.0], [0.0, x]]))),
)  # fmt: skip

# ---- by the name of what was called ----

ROWS += mistakes(
    CALLS,
    ("float", lambda x: float(x) ** 2, lambda x: (x * 1.0) ** 2),
    ("complex", lambda x: complex(x) * 1j, lambda x: (x + 0j) * 1j, NUMBERS,
     ("vmap", "jvp")),
    ("int", lambda x: int(x * 9), lambda x: np.trunc(x * 9).astype(int), NUMBERS, ("vmap",)),
    ("range", looped, lambda n: ft.fori_loop(0, n, lambda i, y: y * 2.0 + i, 1.0), COUNTS,
     ("vmap",)),
    ("max", lambda x: max(x, 1.0), lambda x: np.maximum(x, 1.0), NUMBERS, BATCHES),
    ("max", lambda x: max(x), lambda x: np.max(x), VECTORS, BATCHES),
    ("min", lambda x: min(x, 1.0), lambda x: np.minimum(x, 1.0), NUMBERS, BATCHES),
    ("sorted", lambda x: np.stack(sorted([x, 1.0])), lambda x: np.sort(np.stack([x, 1.0])),
     NUMBERS, BATCHES),
    ("any", lambda x: any([x > 1, x > 2]) * x, lambda x: np.any(np.stack([x > 1, x > 2])) * x,
     NUMBERS, BATCHES),
    ("all", lambda x: all([x > 0, x > 1]) * x, lambda x: np.all(np.stack([x > 0, x > 1])) * x,
     NUMBERS, BATCHES),
    ("numpy.array", lambda x: np.asarray(x) * 2, lambda x: fnp.asarray(x) * 2),
    ("numpy.array", lambda x: np.array(x) * 2, lambda x: fnp.array(x) * 2),
    ("numpy.full", lambda x: np.full((2, 3), x), lambda x: np.zeros((2, 3)) + x),
    ("numpy.arange", lambda x: np.arange(x, x + 3.0), lambda x: x + 1.0 * np.arange(3)),
    ("numpy.fromiter", lambda x: np.fromiter((x * i for i in range(3)), float),
     lambda x: np.stack(list(x * i for i in range(3)))),
    ("numpy.rec.fromarrays", lambda x: np.rec.fromarrays([x, x * x], names="u,v").v,
     lambda x: {"u": x, "v": x * x}["v"], VECTORS),
    ("numpy.rec.fromrecords", lambda x: np.rec.fromrecords([(x,), (x * x,)], names="u").u,
     lambda x: {"u": np.stack([x, x * x])}["u"]),
    ("numpy.vectorize", lambda x: np.vectorize(squares)(x), lambda x: ft.vmap(squares)(x), VECTORS),
    ("numpy.vectorize", lambda x: dispatched(x), squares),
    ("numpy.nditer", lambda x: sum(v * v for v in np.nditer(x)),
     lambda x: sum(x[i] * x[i] for i in np.ndindex(x.shape)), VECTORS),
    ("numpy.ndenumerate", lambda x: sum(v * i[0] for i, v in np.ndenumerate(x)),
     lambda x: sum(x[i] * i[0] for i in np.ndindex(x.shape)), VECTORS),
    ("numpy.broadcast", lambda x: np.zeros(np.broadcast(x, M).shape) + x,
     lambda x: np.zeros(np.broadcast_shapes(x.shape, M.shape)) + x, VECTORS),
    ("numpy.broadcast", lambda x: sum(a * b for a, b in np.broadcast(x, M)),
     lambda x: np.sum(np.multiply(*np.broadcast_arrays(x, M))), VECTORS),
    ("numpy.fill_diagonal", assigned_diagonal, assigned_diagonal_inside),
    ("numpy.lib.stride_tricks.as_strided",
     lambda x: np.lib.stride_tricks.as_strided(x, (2, 2), (8, 8)),
     lambda x: np.lib.stride_tricks.sliding_window_view(x, 2), VECTORS),
    ("statistics.mean", lambda x: statistics.mean([x, 1.0]), lambda x: np.mean(np.stack([x, 1.0]))),
    ("statistics.mean", lambda x: statistics.fmean([x, 1.0]),
     lambda x: np.mean(np.stack([x, 1.0]))),
    ("statistics.median", lambda x: statistics.median([x, 1.0, 3.0]),
     lambda x: np.median(np.stack([x, 1.0, 3.0])), NUMBERS, BATCHES),
    ("statistics.stdev", lambda x: statistics.stdev([x, 2.0]),
     lambda x: np.std(np.stack([x, 2.0]), ddof=1)),
    ("statistics.pstdev", lambda x: statistics.pstdev([x, 2.0]),
     lambda x: np.std(np.stack([x, 2.0]))),
    ("statistics.variance", lambda x: statistics.variance([x, 2.0]),
     lambda x: np.var(np.stack([x, 2.0]), ddof=1)),
    ("statistics.pvariance", lambda x: statistics.pvariance([x, 2.0]),
     lambda x: np.var(np.stack([x, 2.0]))),
    ("math.fsum", lambda x: math.fsum([x, x * x]), lambda x: np.sum(np.stack([x, x * x]))),
    ("math.dist", lambda x: math.dist(x, A[:3]), lambda x: np.linalg.norm(x - A[:3]), VECTORS),
    ("math.isclose", lambda x: math.isclose(x, 0.7) * x,
     lambda x: np.isclose(x, 0.7, rtol=1e-9, atol=0) * x, NUMBERS, ("vmap",)),
    ("math.remainder", lambda x: math.remainder(x, 0.5), lambda x: x - 0.5 * np.round(x / 0.5)),
    ("math.log", lambda x: math.log(x), lambda x: np.log(x)),
    ("math.log", lambda x: math.log(x, 3.0), lambda x: np.log(x) / np.log(3.0)),
    ("math.erf", lambda x: math.erf(x), lambda x: scipy.special.erf(x)),
    ("math.erfc", lambda x: math.erfc(x), lambda x: scipy.special.erfc(x)),
    ("math.gamma", lambda x: math.gamma(x), lambda x: scipy.special.gamma(x)),
    ("math.lgamma", lambda x: math.lgamma(x), lambda x: scipy.special.gammaln(x)),
    ("math.factorial", lambda n: float(math.factorial(n)), lambda n: scipy.special.gamma(n + 1),
     COUNTS, ("vmap",)),
    ("math.comb", lambda n: float(math.comb(n, 1)), lambda n: scipy.special.binom(n, 1), COUNTS,
     ("vmap",)),
    ("math.perm", lambda n: float(math.perm(n, 1)), lambda n: scipy.special.poch(n - 1 + 1, 1),
     COUNTS, ("vmap",)),
    ("math.isqrt", lambda n: math.isqrt(n), lambda n: np.floor(np.sqrt(n)).astype(int), COUNTS,
     ("vmap",)),
    ("math.ulp", lambda x: math.ulp(x), lambda x: np.spacing(x), NUMBERS, ("vmap",)),
    ("cmath.phase", lambda x: cmath.phase(x * (1 + 1j)), lambda x: np.angle(x * (1 + 1j)), NUMBERS,
     ("vmap",)),
)  # fmt: skip

# ---- where it is not known what was written ----

ROWS += mistakes(
    GENERAL,
    ("float", lambda x: next(map(float, [x])) ** 2, lambda x: (x * 1.0) ** 2),
    ("float", lambda x: next(map(math.sin, [x])), lambda x: np.sin(x)),
    ("complex", lambda x: next(map(complex, [x])) * 1j, lambda x: (x + 0j) * 1j, NUMBERS,
     ("vmap", "jvp")),
    ("numpy.asarray", lambda x: next(map(np.asarray, [x])) * 2, lambda x: fnp.asarray(x) * 2),
    ("item", lambda x: x.item() ** 2, lambda x: np.reshape(x, ()) ** 2),
    ("tolist", lambda x: sum(v * v for v in x.tolist()), lambda x: sum(v * v for v in list(x)),
     VECTORS),
    ("__dlpack__", lambda x: next(map(np.from_dlpack, [x])) * 2, lambda x: x * 2, VECTORS),
    ("pickle.dumps", lambda x: pickle.loads(pickle.dumps(x)) * 2, lambda x: x * 2),
    ("format", lambda x: next(x * 2 for _ in map("{:.2f}".format, [x])),
     lambda x: next(x * 2 for _ in map("{}".format, [x])), NUMBERS, ("vmap",)),
    ("hash", lambda x: x * (x not in {0.5, 2.0}), lambda x: x * ~np.isin(x, [0.5, 2.0])),
    ("hash", lambda x: x * {0.5: 2.0}.get(x, 5.0), lambda x: x * np.where(x == 0.5, 2.0, 5.0)),
    ("hash", lambda v: len(set(v)) * v[0],
     lambda v: (1 + np.sum(np.diff(np.sort(v)) != 0)) * v[0], VECTORS),
    ("hash", lambda x: next(map(cached, [x])), lambda x: cached.__wrapped__(x)),
    ("as_integer_ratio", lambda x: x.as_integer_ratio()[0] / x.as_integer_ratio()[1],
     lambda x: x),
    ("bool", lambda x: x if x > 0.5 else x * x, lambda x: np.where(x > 0.5, x, x * x), NUMBERS,
     BATCHES),
    ("bool", lambda x: math.sqrt(x) if x > 0.5 else x * x,
     lambda x: ft.cond(x > 0.5, np.sqrt, lambda x: x * x, x), NUMBERS, BATCHES),
    ("int", lambda x: next(map(int, [x * 9])), lambda x: np.trunc(x * 9).astype(int), NUMBERS,
     ("vmap",)),
    ("__index__", lambda n: operator.getitem([1.0, 4.0, 9.0, 16.0], n),
     lambda n: ft.tensor(np.stack([1.0, 4.0, 9.0, 16.0]))[n], COUNTS, ("vmap",)),
    ("__index__", lambda n: sum(next(map(range, [n]))) * 1.0,
     lambda n: ft.fori_loop(0, n, lambda i, y: y + i, 0.0), COUNTS, ("vmap",)),
)  # fmt: skip
