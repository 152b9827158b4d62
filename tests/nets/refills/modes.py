"""The transforms of a program: each gives the gradient, or its derivative along `D`."""

import threading
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import functier as ft
from support.basics import HANG

from .cases import HELD, D, X


class Mode(NamedTuple):
    """``run(f)`` is the gradient of `f` at `X`, or where it is `second` that along `D`."""

    run: Callable
    second: bool = False


def refill_late():
    """Refill the array of the last program, after its function has returned."""
    HELD[threading.get_ident()]()


def vjp(f):
    _, pull = ft.vjp(f, X)
    (first,) = pull(1.0)
    refill_late()
    (g,) = pull(1.0)
    assert np.array_equal(first, g), "the second pullback is another one"
    return g


def linearize(f):
    _, push = ft.linearize(f, X)
    refill_late()
    return np.stack([push(e) for e in np.eye(X.size)])


def block(f):
    with ft.grad() as G:
        x = G(X)
        return G.gradient(f(x), x)


def threads(f):
    """Two threads at once, in step at each call of the function."""
    barrier, found = threading.Barrier(2, timeout=HANG), [None, None]

    def both(x):
        barrier.wait()
        y = f(x)
        barrier.wait()
        return y

    def run(i):
        try:
            found[i] = ft.grad(both)(X)
        except Exception as error:
            barrier.abort()
            found[i] = error

    others = [threading.Thread(target=run, args=(i,)) for i in range(2)]
    for other in others:
        other.start()
    for other in others:
        other.join()
    for error in found:
        if isinstance(error, Exception) and not isinstance(error, threading.BrokenBarrierError):
            raise error
    assert np.array_equal(*found), "the threads differ"
    return found[0]


def compiled(f):
    """Return the gradient by a program that has run before, so that the array is refilled."""
    g = ft.compile(ft.grad(f), backend="numpy")
    g(X + 0.1)
    return g(X)


def along(g):
    return lambda x: np.sum(g(x) * D)


MODES = {
    "grad": Mode(lambda f: ft.grad(f)(X)),
    "value_and_grad": Mode(lambda f: ft.value_and_grad(f)(X)[1]),
    "vjp": Mode(vjp),
    "jacrev": Mode(lambda f: ft.jacrev(lambda x: np.stack([f(x), 2.0 * f(x)]))(X)[0]),
    "linearize": Mode(linearize),
    "jvp": Mode(lambda f: np.stack([ft.jvp(f, (X,), (e,))[1] for e in np.eye(X.size)])),
    "block": Mode(block),
    "checkpoint": Mode(lambda f: ft.grad(ft.checkpoint(f))(X)),
    "threads": Mode(threads),
    "compile(grad)": Mode(compiled),
    "trace(grad)": Mode(lambda f: ft.trace(ft.grad(f))(X + 0.1)(X)),
    "vmap(grad)": Mode(lambda f: ft.vmap(ft.grad(f))(np.stack([X, X + 0.1]))[0]),
    "grad(vmap)": Mode(
        lambda f: ft.grad(lambda x: np.sum(ft.vmap(f)(np.stack([x, x]))))(X) / 2.0
    ),
    "vmap(vjp)": Mode(
        lambda f: ft.vmap(lambda x: ft.vjp(f, x)[1](1.0)[0])(np.stack([X, X + 0.1]))[0]
    ),
    "vmap(linearize)": Mode(
        lambda f: ft.vmap(ft.linearize(f, X)[1])(np.eye(X.size))
    ),
    "jvp(grad)": Mode(lambda f: ft.jvp(ft.grad(f), (X,), (D,))[1], True),
    "grad(grad)": Mode(lambda f: ft.grad(along(ft.grad(f)))(X), True),
    "grad(jvp)": Mode(lambda f: ft.grad(lambda x: ft.jvp(f, (x,), (D,))[1])(X), True),
    "linearize(grad)": Mode(lambda f: ft.linearize(ft.grad(f), X)[1](D), True),
    "checkpoint(grad)": Mode(lambda f: ft.grad(ft.checkpoint(along(ft.grad(f))))(X), True),
}  # fmt: skip
