"""Attitude of sensors: ahrs."""

import ahrs
import numpy as np

from .call import call

STEPS = np.linspace(0.0, 1.0, 5)[:, None]
GYROSCOPE = 0.2 * np.cos(STEPS * [1.0, 2.0, 3.0])
ACCELERATION = [0.3, -0.2, 9.7] + 0.3 * np.sin(STEPS * [2.0, 1.0, 0.5])


@call(0.2, -0.3, 0.1)
def madgwick(x):
    return ahrs.filters.Madgwick(gyr=GYROSCOPE + x, acc=ACCELERATION).Q


@call(0.3, -0.2, 9.7)
def tilt(x):
    return ahrs.filters.Tilt(acc=ACCELERATION + x * 0.1).Q


@call(0.9, 0.1, 0.2, 0.3)
def matrix(x):
    return ahrs.Quaternion(x).to_DCM()


@call(48.2, 16.4, 170.0)
def cartesian(x):
    return ahrs.common.frames.geodetic2ecef(x[0], x[1], x[2])


@call(45.0)
def gravity(x):
    return ahrs.utils.WGS().normal_gravity(x[0], 1000.0)
