"""Water and steam: iapws."""

import numpy as np
from iapws import IAPWS97, SeaWater
from iapws.humidAir import Air

from .call import call


@call(350.0, 1.2)
def water(x):
    found = IAPWS97(T=x[0], P=x[1])
    return np.array([found.h, found.s, found.rho, found.mu])


@call(1.5, 0.3)
def wet(x):
    found = IAPWS97(P=x[0], x=x[1])
    return np.array([found.h, found.v])


@call(2.0, 2900.0)
def steam(x):
    found = IAPWS97(P=x[0], h=x[1])
    return np.array([found.T, found.s])


@call(300.0, 0.2, 0.03)
def sea(x):
    found = SeaWater(T=x[0], P=x[1], S=x[2])
    return np.array([found.rho, found.h])


@call(310.0, 1.2)
def air(x):
    found = Air(T=x[0], rho=x[1])
    return np.array([found.P, found.h])
