"""Oceanography: seawater."""

import seawater as sw

from .call import call

WATER = 34.5, 35.2, 10.3, 4.1, 100.0, 2000.0


@call(*WATER)
def density(x):
    return sw.dens(x[:2], x[2:4], x[4:])


@call(*WATER)
def sound(x):
    return sw.svel(x[:2], x[2:4], x[4:])


@call(*WATER)
def potential_temperature(x):
    return sw.ptmp(x[:2], x[2:4], x[4:], 0.0)


@call(500.0, 4000.0, 30.0, 31.0)
def depth(x):
    return sw.dpth(x[:2], x[2:])


@call(*WATER)
def anomaly(x):
    return sw.svan(x[:2], x[2:4], x[4:])
