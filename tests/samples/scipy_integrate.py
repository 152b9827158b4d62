"""Rows for the integrals of samples in `scipy.integrate`: even and odd numbers, both arguments."""

import numpy as np

import functier.scipy.integrate as si

from ._row import normal, positive, row

C, F = complex, np.float32


def places(*shape, dtype=float):
    """Increasing numbers."""
    return np.cumsum(positive(*shape, dtype=dtype), axis=-1)


def increasing(i, x, rng):
    """Another example of a row whose second operand increases."""
    return rng.normal(size=x.shape) if i == 0 else np.cumsum(rng.uniform(0.5, 2, x.shape), -1)


def step(f, **options):
    """Return `f` as a function of the samples and of the step."""
    return lambda y, dx: f(y, dx=dx, **options)


ROWS = [
    row(si.trapezoid, normal(2, 4), places(4)),
    row(si.trapezoid, normal(4, 2, dtype=C), places(2, 4).T, axis=0),
    row(si.trapezoid, normal(3, dtype=F), dx=0.5),
    row(si.trapezoid, normal(3, dtype=F), places(3)),
    row(si.trapezoid, np.arange(4), dx=2),
    row(step(si.trapezoid), normal(2, 3), positive(), _name="step"),
    row(si.cumulative_trapezoid, normal(2, 4), places(4), initial=0),
    row(si.cumulative_trapezoid, normal(4, 2, dtype=C), places(2, 4).T, axis=0),
    row(si.cumulative_trapezoid, normal(3, dtype=F), dx=0.5),
    row(step(si.cumulative_trapezoid), normal(2, 3), positive(), _name="step"),
    row(si.simpson, normal(2, 5), x=places(5)),
    row(si.simpson, normal(6, 2), x=places(2, 6).T, axis=0),
    row(si.simpson, normal(2, 2), x=places(2)),
    row(si.simpson, normal(4, dtype=C)),
    row(si.simpson, normal(2, 4, dtype=F), dx=0.5),
    row(si.simpson, normal(4, dtype=F), dx=0.5),
    row(si.simpson, normal(1)),
    row(si.simpson, np.arange(6)),
    row(step(si.simpson), normal(2, 4), positive(), _name="step"),
    row(
        si.cumulative_simpson,
        normal(2, 5),
        x=places(5),
        initial=2.0,
        _like=increasing,
        _empty=False,
    ),
    row(si.cumulative_simpson, normal(2, 4), x=places(2, 4), _like=increasing, _empty=False),
    row(si.cumulative_simpson, normal(4, 2, dtype=C), axis=0, dx=positive(1, 2)),
    row(si.cumulative_simpson, normal(2, 3), initial=normal(2, 1)),
    row(si.cumulative_simpson, normal(4, dtype=F), dx=0.5),
    row(si.cumulative_simpson, normal(2, dtype=F), initial=0.5),
    row(step(si.cumulative_simpson), normal(2, 4), positive(), _name="step"),
    row(si.romb, normal(2, 5)),
    row(si.romb, normal(9, 2, dtype=C), 0.5, 0),
    row(si.romb, normal(3, dtype=F)),
    row(si.romb, normal(2, dtype=F), dx=0.5),
    row(step(si.romb), normal(3), positive(), _name="step"),
]
