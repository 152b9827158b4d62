"""Satellites: pyorbital."""

from datetime import datetime

import numpy as np
from pyorbital import astronomy, orbital

from .call import call

TIME = datetime(2015, 3, 1, 12, 30)


@call(10.0, 25.0, 50.0, 61.0)
def zenith(x):
    return astronomy.sun_zenith_angle(TIME, x[:2], x[2:])


@call(10.0, 25.0, 50.0, 61.0)
def cosine(x):
    return astronomy.cos_zen(TIME, x[:2], x[2:])


@call(10.0, 50.0)
def altitude(x):
    return np.array(astronomy.get_alt_az(TIME, x[0], x[1]))


@call(10.0, 50.0, 0.3)
def position(x):
    place, speed = astronomy.observer_position(TIME, x[0], x[1], x[2])
    return np.array([*place, *speed])


@call(12.0, 48.0, 830.0, 10.0, 50.0)
def look(x):
    moment = np.datetime64("2015-03-01T12:30")
    return np.array(orbital.get_observer_look(x[0], x[1], x[2], moment, x[3], x[4], 0.1))
