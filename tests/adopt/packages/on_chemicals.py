"""Chemistry: chemicals."""

import numpy as np
from chemicals import flash_inner_loop, iapws95_rho, lemmon2000_rho
from chemicals.vapor_pressure import Wagner
from chemicals.virial import BVirial_Tsonopoulos
from chemicals.volume import COSTALD

from .call import call


@call(0.5, 0.3, 0.2, 1.7, 0.8, 0.4)
def flash(x):
    fraction, liquid, vapor = flash_inner_loop(list(x[:3]), list(x[3:]))
    return np.array([fraction, *liquid, *vapor])


@call(350.0, 2e5)
def water(x):
    return iapws95_rho(x[0], x[1])


@call(300.0, 2e5)
def air(x):
    return lemmon2000_rho(x[0], x[1])


@call(100.0, 190.53, 4596420.0)
def pressure(x):
    return Wagner(x[0], x[1], x[2], -6.00435, 1.1885, -0.834082, -1.22833)


@call(510.0, 425.2, 38e5, 0.193)
def virial(x):
    second = BVirial_Tsonopoulos(x[0], x[1], x[2], x[3])
    return np.array([second, COSTALD(0.6 * x[1], x[1], 0.00025, x[3])])
