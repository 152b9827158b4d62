"""Geophysics: bruges."""

import bruges
import numpy as np

from .call import call

ANGLES = np.arange(0.0, 40.0, 10.0)


@call(2500.0, 1200.0, 2.2, 2800.0, 1400.0, 2.4)
def reflectivity(x):
    return np.real(bruges.reflection.zoeppritz_rpp(*x, theta1=ANGLES))


@call(2500.0, 1200.0, 2.2, 2800.0, 1400.0, 2.4)
def approximation(x):
    return np.real(bruges.reflection.shuey(*x, theta1=ANGLES))


@call(3200.0, 1500.0, 2300.0, 0.25)
def moduli(x):
    return bruges.rockphysics.lam(vp=x[0], vs=x[1], rho=x[2]) * x[3]


@call(25.0)
def wavelet(x):
    return bruges.filters.ricker(0.128, 0.004, x[0])[0]


@call(2500.0, 1200.0, 2.2, 2800.0, 1400.0, 2.4)
def aki_richards(x):
    return np.real(bruges.reflection.akirichards(*x, theta1=ANGLES))
