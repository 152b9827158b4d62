"""Modes of signals: EMD-signal."""

import numpy as np
from PyEMD import EMD
from PyEMD.compact import filt6, pade6
from PyEMD.splines import akima, cubic_spline_3pts

from .call import call

T = np.linspace(0.0, 1.0, 101)


def signal(x):
    return x[0] * np.sin(40.0 * T) + x[1] * np.cos(11.0 * T) + x[2] * T


@call(1.0, 0.7, 0.3, rtol=1e-4)
def modes(x):
    return EMD()(signal(x), T, max_imf=1)


@call(1.0, 0.7, 0.3)
def envelopes(x):
    return np.array(EMD(spline_kind="akima").extract_max_min_spline(T, signal(x))[:2])


@call(0.3, 1.2, 0.9, 0.4, 0.7)
def between(x):
    places = np.array([0.0, 1.0, 2.0, 3.5, 4.0])
    new = np.array([0.5, 1.7, 3.1])
    return np.concatenate([akima(places, x, new), cubic_spline_3pts(places[:3], x[:3], new[:2])[1]])


@call(1.0, 0.7, 0.3)
def differences(x):
    return pade6(signal(x)[:20], 0.1)


@call(1.0, 0.7, 0.3)
def filtered(x):
    return filt6(signal(x)[:20], 0.3)
