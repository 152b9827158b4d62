"""Curves and surfaces of splines: geomdl."""

import numpy as np
from geomdl import NURBS, BSpline, operations, utilities

from .call import call

PLACES = 0.0, 0.1, 1.0, 2.0, 2.2, 0.4, 3.1, 1.7, 4.2, 0.3


def curve(x):
    """Return a curve of the third degree in the plane."""
    found = BSpline.Curve()
    found.degree = 3
    found.ctrlpts = x.reshape(-1, 2).tolist()
    found.knotvector = utilities.generate_knot_vector(3, 5)
    return found


@call(*PLACES)
def point(x):
    return np.array(curve(x).evaluate_single(0.35))


@call(*PLACES)
def tangent(x):
    return np.array(operations.tangent(curve(x), 0.6))


@call(*PLACES)
def knots(x):
    return np.array(operations.insert_knot(curve(x), [0.4], [1]).ctrlpts)


@call(0.0, 0.0, 1.0, 1.0, 1.0, 0.7, 2.0, 0.3, 1.2)
def rational(x):
    found = NURBS.Curve()
    found.degree = 2
    found.ctrlptsw = [[a * w, b * w, w] for a, b, w in x.reshape(-1, 3)]
    found.knotvector = [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]
    return np.array(found.derivatives(0.3, 1))


@call(0.1, 0.5, 0.2, 0.9, 0.3, 0.8, 0.4, 0.6, 0.7)
def surface(x):
    found = BSpline.Surface()
    found.degree_u, found.degree_v = 2, 2
    found.set_ctrlpts([[i // 3, i % 3, z] for i, z in enumerate(x)], 3, 3)
    found.knotvector_u = found.knotvector_v = [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]
    return np.array(found.evaluate_single((0.3, 0.7)))
