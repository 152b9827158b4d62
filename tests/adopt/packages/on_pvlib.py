"""Solar power: pvlib."""

import pvlib

from .call import call


@call(30.0, 180.0, 40.0, 160.0)
def incidence(x):
    return pvlib.irradiance.aoi(x[0], x[1], x[2], x[3])


@call(20.0, 45.0, 70.0)
def reflection(x):
    return pvlib.iam.physical(x)


@call(800.0, 25.0, 3.0)
def cell(x):
    return pvlib.temperature.sapm_cell(x[0], x[1], x[2], a=-3.47, b=-0.0594, deltaT=3.0)


@call(20.0, 45.0, 70.0)
def air_mass(x):
    return pvlib.atmosphere.get_relative_airmass(x)


@call(30.0, 180.0, 120.0, 700.0, 1400.0, 40.0, 160.0)
def diffuse(x):
    return pvlib.irradiance.haydavies(x[0], x[1], x[2], x[3], x[4], x[5], x[6])
