"""Fits by pieces: pwlf."""

import numpy as np
from pwlf import PiecewiseLinFit

from .call import call

PLACES = np.linspace(0.0, 10.0, 25)


def values(x):
    return x[0] * np.abs(PLACES - 4.0) + x[1] * np.sin(PLACES) + x[2]


def fitted(x, breaks=(0.0, 4.2, 10.0), **words):
    """Return a fit of values with given ends of pieces."""
    found = PiecewiseLinFit(PLACES, values(x), **words)
    found.fit_with_breaks(np.asarray(breaks))
    return found


@call(1.0, 0.3, 0.2)
def predicted(x):
    return fitted(x).predict(np.array([1.0, 5.0, 9.0]))


@call(1.0, 0.3, 0.2)
def quality(x):
    found = fitted(x)
    return np.array([found.ssr, found.r_squared(), *found.calc_slopes()])


@call(1.0, 0.3, 0.2)
def errors(x):
    return fitted(x).standard_errors()


@call(3.3, 7.1)
def moved_ends(x):
    data = np.array([1.0, 0.3, 0.2])
    return fitted(data, np.array([0.0, x[0], x[1], 10.0])).beta


@call(1.0, 0.3, 0.2)
def quadratic(x):
    return fitted(x, degree=2).prediction_variance(np.array([1.0, 5.0, 9.0]))
