"""The transforms that a program runs under.

A mode gives a call, which is made three times, as a level's class may be another at the second
time, and what it should return by what NumPy says.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import functier as ft

from .cases import D, X, batch, lay, weighted


class Mode(NamedTuple):
    """``start(f, layout)(n)`` is the call with the number `n`, and ``wanted(plain, n)`` its result.

    The function is that of the weighted sum where the mode is of a `scalar`.
    """

    start: Callable
    wanted: Callable
    scalar: bool = False


def stacked(results):
    return [np.stack(parts) for parts in zip(*results)]


def vmap(size, axis=0, **options):
    def start(f, layout):
        call = ft.vmap(f, in_dims=axis, **options)
        return lambda n: call(batch(X[:size], layout, axis))

    return Mode(start, lambda plain, n: stacked([plain.at(i) for i in range(size)]))


def along(axis, layout):
    """Two batches of two examples along an axis, one beside the other, in memory as they are."""
    pair = [batch(X[i : i + 2], layout, axis) for i in (0, 2)]
    if "F" not in layout:
        return np.stack(pair)
    return np.stack([y.T for y in pair]).transpose(0, 3, 2, 1)


def nested(axis):
    """A batch along an axis inside another one."""

    def start(f, layout):
        call = ft.vmap(named(f, ft.vmap(f, in_dims=axis)))
        return lambda n: call(along(axis, layout))

    return Mode(start, lambda plain, n: pairs([plain.at(i) for i in range(4)]))


def pairs(results):
    return [y.reshape(2, 2, *y.shape[1:]) for y in stacked(results)]


def jvp_of_batch(axis):
    def start(f, layout):
        call = named(f, ft.vmap(f, in_dims=axis))
        x, d = (batch(y[::2], layout, axis) for y in (X, D))
        return lambda n: sum(ft.jvp(call, (x,), (d,)), ())

    return Mode(start, lambda plain, n: stacked([[*plain.at(i), *plain.slope(i)] for i in (0, 2)]))


def vjp_of_transposed(f, layout):
    """The examples come along the last axis, which is moved inside."""
    call = ft.vmap(f)
    order = (2, 1, 0) if "F" in layout else (1, 2, 0)
    x = np.ascontiguousarray(X[:2].transpose(order))
    return lambda n: ft.vjp(named(f, lambda x: call(x.transpose(np.argsort(order)))), x)[0]


def named(f, made):
    """Return a function with the name of another one, by which its levels are known."""
    made.__name__ = f.__name__
    return made


def jvp(f, layout):
    return lambda n: sum(ft.jvp(f, (lay(X[0], layout),), (lay(D[0], layout),)), ())


def cotangent(y):
    return np.cos(2.0 + np.arange(float(np.size(y)))).reshape(np.shape(y))


def vjp(f, layout):
    def call(n):
        out, pull = ft.vjp(f, lay(X[0], layout))
        (g,) = pull(tuple(cotangent(y) for y in out))
        return [*out, np.sum(g * D[0])]

    return call


def jacrev(f, layout):
    call = ft.jacrev(named(f, lambda x: tuple(weighted(y) for y in f(x))))
    return lambda n: [np.sum(g * D[0]) for g in call(lay(X[0], layout))]


def steps(f):
    """The body of a scan whose carry is the array that was written to."""

    def body(c, _):
        out = f(c)
        return (out[0] if np.shape(out[0]) == np.shape(c) else c), out

    return body


def scanned(plain, n):
    c, found = X[0], []
    for _ in range(3):
        c, out = steps(plain)(c, None)
        found.append(out)
    return stacked(found)


def compiled(transform, results):
    """The call that makes the first program, a replay, and a replay of one of another class."""

    def start(f, layout):
        calls = [ft.compile(transform(f), backend="numpy") for _ in range(2)]

        def call(n):
            if n == 2:
                calls[1](lay(X[0], layout))
            return results(calls[n // 2](lay(X[n // 2], layout)), n // 2)

        return call

    return start


def inside(f):
    """Return the function as an inner level runs it, of a value of the level around that."""
    return named(f, lambda x: ft.vjp(named(f, lambda _: tuple(f(x))), 0.0)[0])


def of_batch(transform):
    """The gradient of a batch."""
    return lambda f, layout: (
        lambda n: [np.sum(transform(f)(batch(X[:2], layout, 0)) * D[:2], (1, 2))]
    )


def jvp_of_grad(f, layout):
    call = jvp(named(f, lambda x: (ft.grad(f)(x),)), layout)
    return lambda n: [np.sum(g * D[0]) for g in call(n)]


def jvp_of_scan(f, layout):
    body = named(f, lambda c, x: (c, f(x)))
    return jvp(named(f, lambda x: ft.scan(body, 0.0, np.stack([x, x]))[1]), layout)


def tangents(plain, n=0):
    return [*plain.at(0), *plain.slope(0)]


def pulled(plain, n):
    return [*plain.at(0), sum(np.sum(cotangent(y) * y) for y in plain.slope(0))]


def slope(plain, i):
    """The derivative of the weighted sum."""
    return sum(weighted(y) for y in plain.slope(i))


def slopes(plain, n):
    return [np.array([slope(plain, 0), slope(plain, 1)])]


MODES = {
    "vmap": vmap(2),
    "vmap -1": vmap(4, -1),
    "split": vmap(2, branches="split"),
    "vmap(vmap 1)": nested(1),
    "vmap(vmap -1)": nested(-1),
    "jvp(vmap -1)": jvp_of_batch(-1),
    "vjp(vmap .T)": Mode(vjp_of_transposed, lambda plain, n: stacked([plain.at(0), plain.at(1)])),
    "jvp": Mode(jvp, tangents),
    "vjp": Mode(vjp, pulled),
    "scan": Mode(
        lambda f, layout: lambda n: ft.scan(steps(f), lay(X[0], layout), None, length=3)[1], scanned
    ),
    "map": Mode(
        lambda f, layout: lambda n: ft.map(f, batch(X[:2], layout, 0)),
        lambda plain, n: stacked([plain.at(0), plain.at(1)]),
    ),
    "jvp(inside)": Mode(lambda f, layout: jvp(inside(f), layout), tangents),
    "trace": Mode(  # recorded anew each time
        lambda f, layout: lambda n: ft.trace(f)(lay(X[0], layout))(lay(X[n // 2], layout)),
        lambda plain, n: plain.at(n // 2),
    ),
    "compile": Mode(
        compiled(lambda f: f, lambda found, i: found), lambda plain, n: plain.at(n // 2)
    ),
    "jacrev": Mode(jacrev, lambda plain, n: [weighted(y) for y in plain.slope(0)]),
    "vmap(grad)": Mode(of_batch(lambda f: ft.vmap(ft.grad(f))), slopes, True),
    "grad(vmap)": Mode(
        of_batch(lambda f: ft.grad(named(f, lambda xs: np.sum(ft.vmap(f)(xs))))), slopes, True
    ),
    "jvp(grad)": Mode(jvp_of_grad, lambda plain, n: [slope(plain, 0), plain.bend(0)], True),
    "compile(grad)": Mode(
        compiled(ft.grad, lambda g, i: [np.sum(g * D[i])]),
        lambda plain, n: [slope(plain, n // 2)], True,
    ),
    "jvp(scan)": Mode(jvp_of_scan, lambda plain, n: [np.stack([y] * 2) for y in tangents(plain)]),
}  # fmt: skip
NESTED = list(MODES)[13:]
"""Those that have the calls alone that may give views, as others have tried the rest."""
TURNS = [
    *((mode, "np") for mode in [*MODES][:14]), *((mode, "fnp") for mode in MODES),
    *((mode, "adopted") for mode in ("vmap", "split", "vjp", "compile")),
]  # fmt: skip
"""The modes, each with where the code has its names from."""
