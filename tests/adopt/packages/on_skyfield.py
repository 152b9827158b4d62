"""Astronomy: skyfield."""

import numpy as np
from skyfield.api import load, position_of_radec, wgs84
from skyfield.elementslib import osculating_elements_of
from skyfield.positionlib import build_position

from .call import call

TIMES = load.timescale(builtin=True)
NOON = TIMES.utc(2024, 3, 1, 12)


@call(40.7, -74.0, 120.0)
def observer(x):
    return wgs84.latlon(x[0], x[1], elevation_m=x[2]).at(NOON).position.km


@call(5.3)
def sidereal(x):
    return TIMES.utc(2024, 3, 1, x[0]).gmst


@call(14.2, -23.5)
def galactic(x):
    latitude, longitude, _ = position_of_radec(x[0], x[1]).galactic_latlon()
    return np.array([latitude.degrees, longitude.degrees])


@call(4.5, 1.0, 0.3, -0.5, 3.9, 1.0)
def elements(x):
    found = osculating_elements_of(build_position(1e-5 * x[:3], 1e-3 * x[3:], NOON, center=399))
    return np.array([found.semi_major_axis.km, found.eccentricity, found.inclination.degrees])


@call(3.1, 2.0, 2.5)
def below(x):
    found = wgs84.geographic_position_of(build_position(1e-5 * x, t=NOON, center=399))
    return np.array([found.latitude.degrees, found.longitude.degrees, found.elevation.km])
