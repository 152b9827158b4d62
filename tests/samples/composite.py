"""Rows for functions that are made of others."""

import numpy as np
from numpy.polynomial import polynomial
from numpy.testing.overrides import allows_array_function_override

from ._row import as_it_is, integers, normal, positive, row

F32, C = np.float32, complex
windows = np.lib.stride_tricks.sliding_window_view
NAN = np.array([[1.0, np.nan, 2.0], [-0.5, 3.0, 0.25]])
BAD = np.array([1.0, np.nan, np.inf, -np.inf])
NODES = np.array([0.0, 0.5, 1.5, 2.0])


def ordered(i, x, rng):
    """Other values; the nodes stay in order."""
    return np.sort(rng.normal(size=x.shape), axis=-1)


def sparse(i, x, rng):
    """Zeros in places that differ."""
    return 1.0 * rng.integers(0, 2, x.shape)


ROWS = [
    # closeness and equality
    row(np.isclose, BAD, np.array([1.0 + 1e-9, np.nan, np.inf, 3.0])),
    row(np.isclose, BAD, BAD, equal_nan=True),
    row(np.isclose, integers(0, 3, 2, 3), integers(0, 3, 3), rtol=0.5),
    row(np.allclose, normal(3), normal(3), atol=2.0),
    row(np.array_equal, integers(0, 2, 3), integers(0, 2, 3)),
    row(np.array_equal, BAD, BAD, equal_nan=True),
    row(np.array_equiv, integers(0, 2, 2, 1), integers(0, 2, 1)),
    # parts of numbers
    row(np.iscomplex, np.array([1 + 1j, 2 + 0j])),
    row(np.isreal, normal(3)),
    row(np.angle, normal(3, dtype=C)),
    row(np.angle, normal(3, dtype=C), deg=True),
    row(np.angle, normal(3)),
    row(np.nan_to_num, BAD, _order=0, _like=as_it_is),
    row(np.nan_to_num, BAD.astype(F32), nan=1.0, posinf=2.0, neginf=-3.0, _order=0, _like=as_it_is),
    row(np.nan_to_num, normal(2, dtype=C)),
    # ranges
    row(np.linspace, normal(), normal(), 4),
    row(np.linspace, normal(2, 1), normal(3), 4, endpoint=False, retstep=True, axis=-1),
    row(np.linspace, normal(dtype=F32), 2.0, 3),
    row(np.linspace, 0.0, normal(), 1),
    row(np.linspace, 0, 7.5 + normal(), 5, dtype=int, _diff=()),
    row(np.logspace, normal(), normal(2), 4),
    row(np.logspace, normal(), normal(), 3, base=positive(2)[:1], endpoint=False),
    row(np.geomspace, positive(2), positive(), 4),
    row(np.geomspace, positive(2, dtype=F32), positive(dtype=F32), 3, _order=0),
    row(np.geomspace, -positive(), -positive(), 4, endpoint=False),
    row(np.vander, normal(3)),
    row(np.vander, np.array([0.0, 2.0]), 3, increasing=True),
    # differences and integrals
    row(np.diff, normal(2, 4)),
    row(np.diff, normal(4, 2), 2, 0),
    row(np.diff, normal(2, 3), axis=1, prepend=normal(), append=normal(2, 2)),
    row(np.diff, np.array([True, False, False])),
    row(np.ediff1d, normal(2, 2), to_end=normal(2), to_begin=0.0),
    row(np.trapezoid, normal(3, 2), axis=0, dx=0.5),
    row(np.trapezoid, normal(2, 3), normal(3)),
    row(np.trapezoid, normal(3, 2), normal(3), axis=0),
    row(np.trapezoid, normal(2, 3), normal(2, 3)),
    row(np.gradient, normal(4)),
    row(np.gradient, normal(4, dtype=F32), 0.5),
    row(np.gradient, normal(3, 4), 2.0, np.array([0.0, 1.0, 1.5, 3.0]), edge_order=2),
    row(np.gradient, normal(3, 2), axis=0, edge_order=2),
    row(np.unwrap, 4 * normal(5), _order=1),
    row(np.unwrap, 4 * normal(2, 4), axis=0, discont=4.0, period=5.0),
    row(np.unwrap, integers(0, 20, 5), period=4),
    # interpolation
    row(np.interp, normal(2, 2) + 1, NODES, normal(4), _like=ordered),
    row(
        np.interp, np.array([-1.0, 3.0, 0.2]), NODES, normal(4), left=-1.0, right=0.5, _like=ordered
    ),
    row(np.interp, normal(3), NODES, normal(4), period=2.5, _diff=(0, 2), _shared=(1,)),
    row(np.interp, 0.3, np.array([1.0]), normal(1)),
    row(np.interp, normal(3, dtype=F32), NODES, normal(4, dtype=F32), _like=ordered, _order=0),
    # covariance
    row(np.cov, normal(2, 4)),
    row(np.cov, normal(4), normal(4), bias=True),
    row(np.cov, normal(3, 2), rowvar=False, ddof=0, aweights=positive(3)),
    row(np.cov, normal(2, 3, dtype=C), fweights=np.array([1, 2, 1]), aweights=positive(3)),
    row(np.cov, normal(4)),
    row(np.cov, normal(2, 4, dtype=F32), dtype=F32),
    row(np.corrcoef, normal(2, 4)),
    row(np.corrcoef, normal(4), normal(4)),
    # functions of functions
    row(np.apply_along_axis, np.cumsum, 0, normal(3, 2)),
    row(np.apply_along_axis, np.sum, 1, normal(2, 3, 2)),
    row(lambda x: np.apply_along_axis(lambda r: np.multiply.outer(r, r), 1, x), normal(2, 3, 2)),
    row(np.apply_over_axes, np.sum, normal(2, 3, 2), (0, -1)),
    row(lambda x: np.piecewise(x, [x < 0, x > 1], [np.negative, 2.0, np.square]), normal(2, 3)),
    row(lambda x: np.piecewise(x, x > 0, [np.sqrt, 0]), np.array([-1.0, 0.5, 2.0])),
    row(lambda x: np.piecewise(x, [True, False, True], [np.square, 2.0]), normal(3)),
    row(lambda x: np.piecewise(x, True, [np.square]), normal()),
    # made like a tensor
    row(lambda x: np.array([[x, x], [x, 2 * x]], like=x, ndmin=4), normal(2)),
    row(lambda x: np.full((2, 3), x, like=x), normal(3)),
    row(lambda x: np.asarray([x, x], dtype=np.float32, like=x), normal(2), _order=1),
    row(lambda x: x * np.ones(3, like=x) + np.arange(3, like=x), normal(3)),
    # parts
    row(np.trim_zeros, np.array([0, 1, 0, 2, 0]), _vmap=False, _order=0),
    row(np.trim_zeros, np.array([0.0, 1.0, 2.0]), "b", _vmap=False, _order=0),
    row(windows, normal(4), 2),
    row(windows, normal(3, 4), (2, 3)),
    row(windows, normal(3, 4), 2, axis=0),
    row(windows, normal(4, 3), (2, 2), axis=(0, 0)),
    row(windows, normal(4), 3),
    row(windows, normal(8, 7), (6, 6)),
    row(windows, normal(2), 0),
    # bits
    row(np.packbits, integers(0, 2, 2, 9), axis=1),
    row(np.packbits, integers(0, 2, 2, 3)),
    row(np.unpackbits, integers(0, 255, 2, 1).astype(np.uint8), axis=-1, count=5),
    # an operand of more axes than the other
    row(np.trapezoid, normal(3), normal(2, 3)),
    row(np.trapezoid, normal(3), normal(3, 1), axis=0),
    row(np.trim_zeros, np.zeros(2, int), "b", _vmap=False, _order=0, _like=sparse),
    row(np.trim_zeros, np.zeros((2, 3), int), "f", _vmap=False, _order=0, _like=sparse),
]  # fmt: skip

if allows_array_function_override(polynomial.polyval2d):  # NumPy 2.1 asks no tensor here
    ROWS += [
        row(polynomial.polyval2d, normal(3), normal(3), normal(2, 3)),
        row(polynomial.polygrid2d, normal(2), normal(3), normal(3, 2)),
    ]
if hasattr(polynomial, "polyvalnd"):  # NumPy 2.5
    ROWS += [
        row(polynomial.polyvalnd, (normal(2), normal(2), normal(2)), normal(2, 3, 2)),
        row(polynomial.polyvalnd, normal(2, 3), normal(2, 2, 2)),
        row(polynomial.polyvalnd, (normal(),), normal(3)),
    ]
