"""Baselines of spectra: pybaselines."""

import numpy as np
from pybaselines import Baseline

from .call import call

AT = np.linspace(0.0, 10.0, 40)


def spectrum(x):
    """Return a peak on a slope."""
    return x[0] * np.exp(-((AT - x[1]) ** 2)) + x[2] * AT + 0.05 * np.cos(7.0 * AT)


@call(3.0, 4.2, 0.4)
def polynomial(x):
    return Baseline(AT).poly(spectrum(x), poly_order=2)[0]


@call(3.0, 4.2, 0.4)
def asymmetric(x):
    return Baseline(AT).asls(spectrum(x), lam=100.0, p=0.05, max_iter=3)[0]


@call(3.0, 4.2, 0.4)
def reweighted(x):
    return Baseline(AT).arpls(spectrum(x), lam=100.0, max_iter=3)[0]


@call(3.0, 4.2, 0.4)
def penalized(x):
    return Baseline(AT).penalized_poly(spectrum(x), poly_order=2, max_iter=4)[0]


@call(3.0, 4.2, 0.4)
def modified(x):
    return Baseline(AT).modpoly(spectrum(x), poly_order=1, max_iter=4)[0]
