"""Fuzzy logic: scikit-fuzzy."""

import numpy as np
import skfuzzy as fuzz

from .call import call

UNIVERSE = np.arange(0.0, 11.0)


@call(5.2, 2.1)
def gaussian(x):
    return fuzz.gaussmf(UNIVERSE, x[0], x[1])


@call(2.0, 3.0, 5.2)
def bell(x):
    return fuzz.gbellmf(UNIVERSE, x[0], x[1], x[2])


@call(1.3, 4.2, 6.6, 9.1)
def trapezoid(x):
    return fuzz.trapmf(UNIVERSE, x)


@call(5.2, 2.1)
def defuzzified(x):
    return fuzz.defuzz(UNIVERSE, fuzz.gaussmf(UNIVERSE, x[0], x[1]), "centroid")


@call(3.3, 0.2, 0.5, 0.9, 0.4)
def membership(x):
    return fuzz.interp_membership(np.array([0.0, 2.0, 4.0, 6.0]), x[1:], x[0])
