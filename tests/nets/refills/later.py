"""Programs with a function that runs again in the backward pass, where what it uses has changed.

A loop calls a solver with a function of ``k()``, a number that is held in some way and has another
value in each round. The plain program says what is right, by differences.
"""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np

import functier as ft
import functier.scipy.integrate as fsi
import functier.scipy.sparse.linalg as fsl
from support.differences import slope

from ..verdicts import Verdicts
from .cases import texts

X = np.array([0.7, 1.2])
D = np.array([0.6, -0.3])


class Slotted:
    __slots__ = ("k",)


def dense(g, y):
    return np.linalg.solve(ft.jacfwd(g)(y), y)


def newton(f, x):
    for _ in range(30):
        x = x - dense_at(f, x)
    return x


def dense_at(f, x):
    return np.linalg.solve(ft.jacfwd(f)(x), f(x))


def linear(k, x):
    return ft.custom_linear_solve(lambda v: k() * v, x * x, lambda f, c: c / k(), symmetric=True)


def transposed(k, x):
    return ft.custom_linear_solve(
        lambda v: k() * v * x, x * x, lambda f, c: c / (k() * ft.stop_gradient(x)),
        lambda f, c: c / (k() * ft.stop_gradient(x)),
    )  # fmt: skip


def root(k, x):
    return ft.custom_root(
        lambda z: z**3 - k() * x, np.ones(2), newton, lambda g, y: dense(g, y) * (k() / k())
    )


def differences(k, x):
    return ft.finite_difference(lambda v: k() * np.asarray(v) ** 2)(x)


def iterative(k, x):
    operator = fsl.LinearOperator((2, 2), matvec=lambda v: k() * v, dtype=float)
    return fsl.gmres(operator, x * x, rtol=1e-12)[0]


def moving(k, x):
    operator = fsl.LinearOperator((2, 2), matvec=lambda v: k() * v * x, dtype=float)
    return fsl.gmres(operator, x * x, rtol=1e-12)[0]


def preconditioned(k, x):
    of = fsl.LinearOperator((2, 2), matvec=lambda v: v / k(), rmatvec=lambda v: v / k())
    return fsl.cg(np.diag([k(), 2.0 * k()]), x * x, rtol=1e-12, M=of)[0]


def flow(k, x):
    return fsi.solve_ivp(
        lambda t, y: -k() * x * y, (0, 0.2), x * x, rtol=1e-7, atol=1e-9, derivative="adjoint"
    ).y[:, -1]


WAYS = {f.__name__: f for f in (
    linear, transposed, root, differences, iterative, moving, preconditioned, flow,
)}  # fmt: skip
"""Each calls `k` in its backward pass."""

HOLDS = """
k = {v} | lambda: k; a[0] = {v} | lambda: a[0]; a[...] = {v} | lambda: a[0];
l[0] = {v} | lambda: l[0]; l[:] = [{v}] | lambda: l[-1]; d['k'] = {v} | lambda: d['k'];
d.update(k={v}) | lambda: max(d.values());
o.k = {v} | lambda: o.k; o.d = dict(k={v}) | lambda: o.d['k']; s.k = {v} | lambda: s.k;
t = (l, {v}) | lambda: t[1]; t[0][0] = {v} | lambda: t[0][0]; n.k[0] = {v} | lambda: n.k[0];
w = np.array([{v}, 1.0]) | lambda: w[0]; k = {v} | functools.partial(lambda g: g(), lambda: k);
z[0] = {v} + 0.0 * x[0] | lambda: z[0]; b[0] = {v} | lambda: b[0];
k = {v} | (lambda g: lambda: g())(lambda: k)
"""
"""Ways to give the number another value and to read it. `s` has slots, `b` is large."""
MODES = {
    "grad": lambda f: ft.grad(f)(X),
    "vjp": lambda f: ft.vjp(f, X)[1](1.0)[0],
    "vmap(grad)": lambda f: ft.vmap(ft.grad(f))(np.stack([X, X]))[1],
    "jvp(grad)": lambda f: ft.jvp(ft.grad(f), (X,), (D,))[1],
}


def program(way: str, hold: str) -> Any:
    change, read = hold.split(" | ", 1)
    lines = (
        "def f(x):",
        "    total, k, l, d, o, s = 0.0, 1.0, [1.0], {'k': 1.0}, Name(k=1.0), Slotted()",
        "    a, n, w, t = np.ones(1), Name(k=np.ones(1)), np.ones(2), ([1.0], 1.0)",
        "    s.k, o.d, z, b = 1.0, {'k': 1.0}, fnp.ones(1), np.ones(50_000)",
        "    for v in (2.0, 3.0):",
        f"        {change.format(v='v')}", f"        total = total + np.sum(way({read}, x) ** 2)",
        f"    {change.format(v='5.0')}", "    return total",
    )  # fmt: skip
    space = {**globals(), "way": WAYS[way], "Name": SimpleNamespace}
    exec("import functools\nimport functier.numpy as fnp\n" + "\n".join(lines), space)
    return space["f"]


def cases(full: bool) -> Iterator[tuple[str, str, str]]:
    """All cases; of a slice each way and way to hold in one mode, in turn."""
    for n, (way, hold) in enumerate([(way, hold) for way in WAYS for hold in texts(HOLDS)]):
        for mode in MODES if full else [[*MODES][n % len(MODES)]]:
            if full or n % 2 == 0:
                yield way, hold, mode


def gradient(f: Any, x: Any) -> Any:
    return np.array([slope(f, x, e) for e in np.eye(2)])


def judge(counts: Verdicts, way: str, hold: str, mode: str) -> str:
    f = program(way, hold)

    def check(found: Any) -> None:
        right = slope(lambda x: gradient(f, x), X, D) if mode == "jvp(grad)" else gradient(f, X)
        np.testing.assert_allclose(found, right, rtol=1e-4, atol=1e-5)

    return counts.judge(f"{mode}: {way} | {hold}", lambda: MODES[mode](f), check)
