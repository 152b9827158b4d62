"""Magnetic fields: magpylib."""

import magpylib as magpy
import numpy as np

from .call import call


@call(1.2, 0.7, 2.1)
def cuboid(x):
    return magpy.magnet.Cuboid(polarization=(0.0, 0.1, 1.0), dimension=(1.0, 1.5, 1.0)).getB(x)


@call(1.0, 2.0, 0.5, 0.3)
def loop(x):
    return magpy.current.Circle(current=x[0], diameter=x[1]).getB((x[2], x[3], 0.8))


@call(0.1, 0.2, 1.0)
def sphere(x):
    return magpy.magnet.Sphere(polarization=x, diameter=1.0).getH((1.0, 1.2, 0.4))


@call(1.2, 0.7, 2.1)
def dipole(x):
    return magpy.misc.Dipole(moment=(0.0, 0.0, 3.0)).getB(x)


@call(0.4, 0.5)
def moved(x):
    magnet = magpy.magnet.Cylinder(polarization=(0.0, 0.2, 1.0), dimension=(1.0, 1.0))
    magnet.move((x[0], x[1], 0.0))
    return magnet.getB(np.array([2.0, 0.5, 1.5]))
