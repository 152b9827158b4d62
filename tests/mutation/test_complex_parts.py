"""Parts of complex numbers, and views that overlap in part, as places to write to."""

import numpy as np
import pytest

import functier as ft
from support.basics import close

# ---- names ----


X = np.array([0.7, -0.4, 1.2])


XS = np.stack([X, X * 2.0])


T = np.array([1.0, 0.5, -2.0])


def test_derivatives_through_complex_parts():
    """Writes to the real and the imaginary parts, against the program without writes."""

    def f(x):
        z = x * (1 + 2j)
        z.real[...] = x * x
        z.imag *= x
        return np.sum(np.abs(z) ** 2)

    def without(x):
        return np.sum(x**4 + 4 * x**4)

    close(ft.grad(f)(X), ft.grad(without)(X))
    close(ft.vmap(ft.grad(f))(XS), ft.vmap(ft.grad(without))(XS))
    close(ft.hessian(f)(X), ft.hessian(without)(X))


def overlapping(one, other):
    def f(x):
        y = np.outer(x, x + 1.0)
        a, b = one(y), other(y)
        del y
        a[0] = 2.0 * x[0]
        b[..., -1] = a[0, 0] * x[1]
        return np.sum(a * a) + np.sum(b**3)

    return f


SLICES = [
    lambda y: y[1:], lambda y: y[:2], lambda y: y[:, 1:], lambda y: y[::2], lambda y: y[:, ::-2],
    lambda y: y.T[1:], lambda y: y[1:, :2], lambda y: y[:2, 1:].T,
]  # fmt: skip


@pytest.mark.parametrize(
    "one", [(a, b) for a in SLICES for b in SLICES], ids=[str(i) for i in range(64)]
)
def test_views_that_overlap_in_part(one):
    """The array itself is gone. Each sees the write to the other, or the write raises."""
    f = overlapping(*one)
    wanted = f(X.copy())
    for run in (lambda: ft.vmap(f)(X[None])[0], lambda: ft.jvp(f, (X,), (T,))[0],
                lambda: ft.vjp(f, X)[0]):  # fmt: skip
        try:
            found = run()
        except ft.MutationError as error:
            assert "copy" in str(error)
        else:
            close(found, wanted, 1e-13)
