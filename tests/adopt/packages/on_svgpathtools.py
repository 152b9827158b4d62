"""Vector drawings: svgpathtools."""

import numpy as np
from svgpathtools import Arc, CubicBezier, Line, Path, QuadraticBezier

from .call import call

CURVE = 0.1, 0.2, 1.0, 2.0, 2.5, -0.7, 3.1, 0.9


def points(x):
    """Return complex numbers, of pairs of real and imaginary parts."""
    return [complex(a, b) if type(a) is float else a + 1j * b for a, b in x.reshape(-1, 2)]


def parts(z):
    """Return the real and imaginary parts of a number."""
    return np.array([z.real, z.imag])


@call(*CURVE)
def on_curve(x):
    curve = CubicBezier(*points(x))
    return np.concatenate([parts(curve.point(0.3)), parts(curve.unit_tangent(0.3))])


@call(*CURVE)
def bending(x):
    return CubicBezier(*points(x)).curvature(0.4)


@call(*CURVE[:6])
def length(x):
    return QuadraticBezier(*points(x)).length()


@call(2.0, 1.2, 30.0)
def arc(x):
    found = Arc(0j, x[0] + 1j * x[1], x[2], False, True, 1.5 + 0.7j)
    return np.concatenate([parts(found.center), parts(found.point(0.25))])


@call(*CURVE)
def turned(x):
    a, b, c, d = points(x)
    path = Path(Line(a, b), Line(b, c), Line(c, d), Line(d, a))
    moved = path.rotated(20.0, origin=0j).scaled(1.3)
    return np.array([path.area(), *moved.bbox()])
