"""The transforms by loops and differences: what plain NumPy says that a derivative is."""

import functools

import numpy as np

import functier as ft

STEP = 0.004
STENCIL = (-2, 1 / 12), (-1, -2 / 3), (1, 2 / 3), (2, -1 / 12)


def direction(x):
    """A direction of the form of `x`."""
    return np.cos(np.arange(1.0, 1.0 + np.size(x))).reshape(np.shape(x))


def total(y):
    """A number that follows from all elements of `y`, each with its own weight."""
    weights = np.sin(np.arange(1.0, 1.0 + np.prod(np.shape(y), dtype=int)))
    return np.sum(weights.reshape(np.shape(y)) * y)


def slope(f, x, t):
    """The derivative along `t`: differences of fourth order, exact for a small polynomial."""
    return sum(weight * f(x + i * STEP * t) for i, weight in STENCIL) / STEP


class Numeric:
    """The transforms of a function, on plain arrays."""

    @staticmethod
    def vmap(f):
        return lambda xs: np.stack([f(x.copy()) for x in xs])

    @staticmethod
    def grad(f):
        def gradient(x):
            units = np.eye(x.size).reshape(x.size, *x.shape)
            return np.reshape([slope(lambda x: total(f(x)), x, t) for t in units], x.shape)

        return gradient

    @staticmethod
    def jvp(f):
        return lambda x: slope(f, x, direction(x))

    @staticmethod
    def jacobian(f):
        def jacobian(x):
            columns = [slope(f, x, t.reshape(x.shape)) for t in np.eye(x.size)]
            out = np.stack(columns, -1)
            return out.reshape(*out.shape[:-1], *x.shape)

        return jacobian


class Functier:
    """The same by the library."""

    vmap = staticmethod(ft.vmap)

    @staticmethod
    def grad(f):
        return ft.grad(lambda x: total(f(x)))

    @staticmethod
    def jvp(f):
        return lambda x: ft.jvp(f, (x,), (direction(x),))[1]


def nested(kind, names, f):
    """`f` in the transforms of these names, the outermost first."""
    return functools.reduce(lambda g, name: getattr(kind, name)(g), reversed(names), f)


def inputs(names, x):
    """A copy of `x`, or examples that are slightly different, with one axis for each vmap."""
    x = x.copy()
    for _ in range(names.count("vmap")):
        x = np.stack([x, x * 1.1 + 0.05])
    return x


@functools.lru_cache(1000)
def by_numpy(names, reference, shape, data):
    """The result of a reference, which stands beside several programs."""
    return nested(Numeric, names, reference)(np.frombuffer(data).reshape(shape).copy())


def check(names, f, x, reference=None):
    """A program in a nesting of the transforms equals loops and differences of NumPy's.

    `reference` is the program that NumPy runs, where it is another one.
    """
    x = inputs(names, x)
    before = x.copy()
    if reference is None:
        wanted = nested(Numeric, names, f)(x.copy())
    else:
        wanted = by_numpy(names, reference, x.shape, x.tobytes())
    found = nested(Functier, names, f)(x)
    assert type(found) is np.ndarray or np.isscalar(found), type(found)
    assert np.shape(found) == np.shape(wanted), (np.shape(found), np.shape(wanted))
    tolerance = 1e-14 if set(names) <= {"vmap"} else 2e-6
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)
    np.testing.assert_array_equal(x, before, err_msg="the caller's array has changed")
