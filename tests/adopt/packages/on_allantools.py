"""Stability of clocks: AllanTools."""

import allantools
import numpy as np

from .call import call

TIMES = np.arange(40.0)
NOISE = np.sin(1.7 * TIMES**1.3) + 0.6 * np.cos(5.1 * TIMES)
DRIFT = (TIMES / 40.0) ** 3


@call(0.8, 2.0)
def times(x):
    return allantools.tdev(x[0] * NOISE + x[1] * DRIFT, taus=[1, 2, 4, 8])[1]


@call(0.8, 2.0)
def overlapping(x):
    data = x[0] * NOISE + x[1] * DRIFT
    return np.array(allantools.oadev(data, rate=2.0, data_type="freq", taus="octave")[1:3])


@call(0.8, 2.0)
def total(x):
    return allantools.totdev(x[0] * NOISE + x[1] * DRIFT, taus=[1, 2, 4])[1]


@call(0.8, 2.0)
def modified(x):
    return allantools.mtotdev(x[0] * NOISE + x[1] * DRIFT, taus=[1, 2, 3])[1]


@call(0.8, 2.0, 1.1)
def hat(x):
    a, b, c = x[0] * NOISE, x[1] * DRIFT, x[2] * np.roll(NOISE, 7)
    return allantools.three_cornered_hat_phase(a - b, b - c, c - a, 1.0, [1, 2], allantools.adev)[1]
