"""Splines: splines."""

import numpy as np
import splines
from splines.quaternion import UnitQuaternion, slerp

from .call import call

POINTS = 0.0, 0.0, 1.0, 0.5, 1.5, 2.0, 3.0, 1.0


@call(*POINTS)
def catmull_rom(x):
    return splines.CatmullRom(x.reshape(4, 2), endconditions="natural").evaluate([0.5, 1.3, 2.2])


@call(*POINTS)
def natural(x):
    return splines.Natural(x.reshape(4, 2)).evaluate([0.5, 1.3, 2.2])


@call(*POINTS)
def bernstein(x):
    return splines.Bernstein([x.reshape(4, 2)]).evaluate([0.2, 0.7])


@call(0.1, 0.2, 0.3)
def kochanek_bartels(x):
    spline = splines.KochanekBartels(np.reshape(POINTS, (4, 2)), tcb=x, endconditions="natural")
    return spline.evaluate([0.5, 1.3, 2.2])


@call(0.3, 0.4)
def rotated(x):
    one = UnitQuaternion.from_axis_angle((0.0, 0.0, 1.0), x[0])
    two = UnitQuaternion.from_axis_angle((1.0, 0.0, 0.0), 0.7)
    return np.array(slerp(one, two, x[1]).wxyz)
