"""Scores of forecasts: properscoring."""

import numpy as np
import properscoring
from scipy import stats

from .call import call

MEMBERS = np.array([[0.3, -1.2, 0.9, 2.1, 0.1], [1.4, 0.2, -0.7, 0.8, 1.9]])
SHARES = np.array([[1.0, 2.0, 1.0, 0.5, 1.5], [0.4, 1.0, 1.2, 2.0, 1.0]])


@call(0.4, 0.1, 1.3)
def gaussian(x):
    return properscoring.crps_gaussian(x[0] + np.array([0.0, 0.5, -2.0]), x[1], x[2])


@call(0.4, 0.1, 1.3)
def slopes(x):
    score, gradient = properscoring.crps_gaussian(x[0], x[1], x[2], grad=True)
    return np.concatenate([[score], gradient])


@call(0.4, -0.3, 1.3)
def ensemble(x):
    return properscoring.crps_ensemble(x[:2], x[2] * MEMBERS)


@call(0.4, -0.3, 1.3, 0.7)
def weighted(x):
    return properscoring.crps_ensemble(x[:2], x[2] * MEMBERS, weights=SHARES + x[3] * SHARES**2)


@call(0.4, 0.1, 1.3)
def quadrature(x):
    def cdf(y):
        return stats.norm.cdf((y - x[1]) / x[2])

    return properscoring.crps_quadrature(x[0], cdf, xmin=-15.0, xmax=15.0)
