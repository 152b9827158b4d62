"""Rows for elementwise operations."""

import numpy as np

from ._row import as_it_is, booleans, integers, normal, positive, row, unit

F32, C = np.float32, complex
MASK = np.array([False, True, True])


def under_mask(func, outside=0.0):
    """`func` with ``where=``, and a number where NumPy leaves the result open."""

    def masked(*xs):
        *xs, mask = xs
        return np.where(mask, func(*xs, where=mask, out=None), outside)

    masked.__name__ = f"{func.__name__}_where"
    return masked


REAL = [
    np.negative, np.positive, np.square, np.exp, np.exp2, np.expm1, np.cbrt, np.sin, np.cos,
    np.arctan, np.sinh, np.cosh, np.tanh, np.arcsinh, np.deg2rad, np.radians, np.rad2deg,
    np.degrees, np.absolute, np.fabs, np.sign, np.reciprocal, np.sinc, np.i0, np.modf, np.frexp,
    np.conjugate, np.real, np.imag,
]  # fmt: skip
COMPLEX = [
    np.negative, np.positive, np.square, np.exp, np.exp2, np.expm1, np.sin, np.cos, np.tan,
    np.sinh, np.cosh, np.tanh, np.sqrt, np.log, np.log2, np.log10, np.log1p, np.arcsin,
    np.arccos, np.arctan, np.arcsinh, np.arccosh, np.arctanh, np.absolute, np.sign,
    np.reciprocal, np.conjugate, np.real, np.imag,
]  # fmt: skip
TWO = [
    np.add, np.subtract, np.multiply, np.divide, np.maximum, np.minimum, np.fmax, np.fmin,
    np.hypot, np.arctan2, np.logaddexp, np.logaddexp2, np.copysign, np.remainder, np.fmod,
    np.divmod,
]  # fmt: skip

ROWS = [
    *[row(f, normal(2, 3)) for f in REAL],
    *[row(f, normal(3, dtype=F32)) for f in REAL],
    *[row(f, normal(3, dtype=C)) for f in COMPLEX],
    *[row(f, positive(2, 3)) for f in (np.log, np.log2, np.log10, np.log1p, np.sqrt)],
    *[row(f, unit(3)) for f in (np.arcsin, np.arccos, np.arctanh, np.tan)],
    row(np.arccosh, 1.5 + positive(3)),
    *[row(f, normal(2, 1), normal(3)) for f in TWO],
    *[row(f, normal(3, dtype=F32), 1.5 + positive(dtype=F32)) for f in TWO],
    *[row(f, normal(3, dtype=C), normal(dtype=C)) for f in TWO[:4]],
    row(np.add, normal(3), normal(3, dtype=C)),
    row(np.multiply, normal(3, dtype=C), normal(3)),
    row(np.divide, normal(3), 2 + normal(3, dtype=C)),
    row(np.multiply, normal(3), integers(1, 4, 2, 3)),
    row(np.add, normal(), normal(0, 2)),
    row(np.add, normal(2), normal(2), dtype=F32, _order=0),
    # powers, at 0 too
    row(np.power, positive(3), normal(2, 3)),
    row(np.float_power, positive(3), normal(2, 3)),
    row(np.power, normal(3, dtype=C), normal(3, dtype=C)),
    *[row(np.power, normal(3), n) for n in (0, 1, 2, 3, -1, 2.0)],
    *[row(np.power, normal(3, dtype=F32), n) for n in (0, 2, 3, -1.0)],
    *[row(np.power, np.zeros(2), n) for n in (0, 1, 2, 3)],
    row(np.power, normal(4), np.array([0, 1, 2, 3])),
    row(np.power, np.zeros(4), np.array([0.0, 1.0, 2.0, 3.0]), _diff=(0,)),
    row(np.power, 2.0, normal(3)),
    row(np.power, 2.0, normal(3, dtype=F32)),
    # ties and zeros: no finite differences there
    *[row(f, np.ones(2), np.ones(2), _order=0) for f in (np.maximum, np.minimum, np.fmax, np.fmin)],
    *[row(f, np.zeros(2), np.zeros(2), _order=0) for f in (np.hypot, np.arctan2, np.copysign)],
    *[row(f, np.zeros(2), _order=0) for f in (np.absolute, np.fabs, np.sign)],
    row(np.absolute, np.zeros(2, C), _order=0),
    row(np.sinc, np.array([0.0, 1e-9, 0.1, 0.29, 0.31, 2.0])),
    row(np.heaviside, normal(3), normal(3)),
    row(np.heaviside, np.zeros(3), normal(3), _diff=(1,)),
    row(np.ldexp, normal(3), integers(-2, 3, 2, 3)),
    row(np.nextafter, normal(3), normal(3), _order=0),
    # masks
    row(under_mask(np.log), np.array([-1.0, 0.5, 2.0]), MASK, _like=as_it_is),
    row(under_mask(np.divide), normal(2, 3), np.array([0.0, 2.0, 3.0]), MASK, _like=as_it_is),
    row(under_mask(np.add), normal(), normal(3), booleans(2, 3)),
    # selection
    row(np.where, booleans(3), normal(2, 3), normal()),
    row(np.where, True, normal(3), normal(3)),
    row(np.multiply, True, normal(3)),
    row(np.clip, normal(2, 3), -0.5, 0.5),
    row(np.clip, normal(2, 3), -positive(3), positive(2, 1)),
    row(np.clip, normal(3), None, 0.3),
    row(np.clip, normal(3), -0.3, None),
    row(np.clip, normal(3), min=-0.3, max=positive()),
    row(np.clip, normal(3), max=positive(2, 1)),
    row(np.clip, normal(3, dtype=F32), -0.5, 0.5),
    row(np.clip, integers(0, 9, 3), 2, None),
    row(np.clip, integers(0, 9, 3), 2, 5),
    row(np.clip, np.array([-1.0, 0.0, 1.0]), -1.0, 1.0, _order=0),
    # exponents that are zero, logarithms and squares of small integers
    row(np.power, positive(3), np.array([0.0, 1.0, 2.0])),
    row(np.power, -positive(3), normal(3, dtype=complex)),
    row(np.float_power, np.array([2, 3, 4], np.int8), normal(3)),
    row(np.arctan2, np.array([100, -90], np.int8), 50 * positive(2)),
]  # fmt: skip
