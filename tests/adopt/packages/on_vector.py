"""Particle physics: vector."""

import numpy as np
import vector

from .call import call


@call(1.0, 2.0, 3.0, 7.0)
def mass(x):
    return vector.obj(px=x[0], py=x[1], pz=x[2], E=x[3]).mass


@call(1.0, 2.0, 3.0, 7.0, 0.3)
def boosted(x):
    p = vector.obj(px=x[0], py=x[1], pz=x[2], E=x[3]).boostZ(beta=x[4])
    return np.array([p.px, p.pz, p.E])


@call(20.0, 0.5, 1.2, 15.0, 2.5, -0.4)
def pair(x):
    first = vector.obj(pt=x[0], phi=x[1], eta=x[2], mass=0.1)
    second = vector.obj(pt=x[3], phi=x[4], eta=x[5], mass=0.1)
    return np.array([(first + second).mass, first.deltaR(second)])


@call(20.0, 30.0, 0.5, 1.5, 1.2, -0.3)
def several(x):
    p = vector.array({"pt": x[:2], "phi": x[2:4], "eta": x[4:], "mass": np.array([0.1, 0.2])})
    return np.array([p.px, p.pz, p.E])


@call(1.0, 2.0, 3.0, 0.7)
def turned(x):
    v = vector.obj(x=x[0], y=x[1], z=x[2]).rotate_axis(vector.obj(x=1, y=1, z=0.5), x[3])
    return np.array([v.x, v.y, v.z])
