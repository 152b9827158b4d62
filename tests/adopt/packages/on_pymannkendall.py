"""Trends of series: pymannkendall."""

import numpy as np
import pymannkendall

from .call import call

STEPS = np.arange(24.0)
NOISE = np.sin(1.7 * STEPS**1.3) + 0.6 * np.cos(5.1 * STEPS)


@call(0.08, 0.9)
def sens(x):
    return np.array(pymannkendall.sens_slope(x[0] * STEPS + x[1] * NOISE))


@call(0.08, 0.9)
def seasons(x):
    return np.array(pymannkendall.seasonal_sens_slope(x[0] * STEPS + x[1] * NOISE, period=4))


@call(0.1, 0.9)
def correlated(x):
    found = pymannkendall.yue_wang_modification_test(x[0] * STEPS + x[1] * NOISE, lag=1)
    return np.array([found.z, found.var_s, found.slope, found.intercept])


@call(0.08, 0.9)
def whitened(x):
    found = pymannkendall.pre_whitening_modification_test(x[0] * STEPS + x[1] * NOISE)
    return np.array([found.z, found.slope, found.intercept])


@call(0.08, 0.9)
def seasonal(x):
    found = pymannkendall.seasonal_test(x[0] * STEPS + x[1] * NOISE, period=4)
    return np.array([found.Tau, found.slope])
