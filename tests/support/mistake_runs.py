"""Mistakes as they are run: under which transform, and what is right there."""

import functools

import numpy as np

import functier as ft


def named(f):
    """`f` under the name that messages have to give."""

    @functools.wraps(f)
    def program(x):
        return f(x)

    program.__name__ = program.__qualname__ = "program"
    return program


def total(f):
    @functools.wraps(f)
    def program(x):
        return np.sum(f(x))

    return program


def slope(f, x, t):
    """The derivative in the direction `t` by differences, in plain NumPy."""
    h = 1e-6
    return (np.asarray(f(x + h * t)) - np.asarray(f(x - h * t))) / (2 * h)


def gradient(f, x):
    if not x.ndim:
        return np.sum(slope(f, x, 1.0))
    found = np.zeros(x.shape)
    for i in np.ndindex(x.shape):
        t = np.zeros(x.shape)
        t[i] = 1.0
        found[i] = np.sum(slope(f, x, t))
    return found


def run(mode, f, xs):
    f = named(f)
    if mode == "vmap":
        return ft.vmap(f)(xs)
    if mode == "grad":
        return ft.grad(total(f))(xs[0])
    if mode == "jvp":
        return ft.jvp(f, (xs[0],), (np.ones_like(xs[0]),))
    return ft.vmap(ft.grad(total(f)))(xs)


def expected(mode, f, xs):
    """The result of NumPy for the wrong program, example by example and by differences."""
    if mode == "vmap":
        return np.stack([np.asarray(f(x)) for x in xs])
    if mode == "grad":
        return gradient(f, xs[0])
    if mode == "jvp":
        return np.asarray(f(xs[0])), slope(f, xs[0], np.ones_like(xs[0]))
    return np.stack([gradient(f, x) for x in xs])
