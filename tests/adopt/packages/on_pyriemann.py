"""Geometry of matrices: pyriemann."""

import numpy as np
from pyriemann.utils.base import logm, sqrtm
from pyriemann.utils.distance import distance_riemann
from pyriemann.utils.geodesic import geodesic_riemann
from pyriemann.utils.mean import mean_riemann

from .call import call


def matrices(x):
    """Return positive definite matrices whose factors are the numbers."""
    factors = x.reshape(-1, 2, 2)
    return factors @ np.swapaxes(factors, -1, -2) + 0.5 * np.eye(2)


@call(1.0, 0.2, 0.3, 1.5)
def root(x):
    return sqrtm(matrices(x)[0])


@call(1.0, 0.2, 0.3, 1.5)
def logarithm(x):
    return logm(matrices(x)[0])


@call(1.0, 0.2, 0.3, 1.5, 0.8, -0.1, 0.4, 1.1)
def distance(x):
    pair = matrices(x)
    return distance_riemann(pair[0], pair[1])


@call(1.0, 0.2, 0.3, 1.5, 0.8, -0.1, 0.4, 1.1)
def between(x):
    pair = matrices(x)
    return geodesic_riemann(pair[0], pair[1], alpha=0.3)


@call(1.0, 0.2, 0.3, 1.5, 0.8, -0.1, 0.4, 1.1, 1.3, 0.5, 0.1, 0.9, rtol=1e-4)
def mean(x):
    return mean_riemann(matrices(x))
