"""The coefficients of splines through the pixels of an image.

NOTE [the adjoint of a spline filter]
    The coefficients solve a system whose matrix samples a symmetric spline. The image goes on
    beyond its edges as its reflection. About the middle of a pixel ("mirror") the first and the
    last pixel count once there, the others twice. With these weights the matrix is symmetric, so
    the adjoint is the filter between a multiplication by the weights and a division. About the
    edge of a pixel, and where the image repeats, all pixels count the same. SciPy starts its
    recursion with a short sum, which is exact for long axes alone: a short one has a matrix.
"""

from typing import Any

import numpy as np
import scipy.ndimage as ndimage  # type: ignore[import-untyped]

from ...._core.numpy_facts import Value
from ...._rules.axes import as_array, normalize
from ....protocol import linear, primitive
from ..declare import declare_composite
from .forms import as_numbers, dtype_of

MIRRORED = "mirror", "constant", "wrap", "grid-constant"
"""The modes in which the coefficients are those of a mirrored image."""

SHORT = 100
"""The longest axis whose filter is a matrix in reverse mode."""


@primitive
def coefficients(x: Value, order: int, axis: int, mode: str) -> Value:
    """Return the coefficients along one axis, which is negative, in double precision."""
    if not x.size:
        return x
    output = complex if x.dtype.kind == "c" else float
    return ndimage.spline_filter1d(x, order, axis, output, mode)


def _adjoint(g: Value, order: int, axis: int, mode: str) -> Value:
    n = np.shape(g)[axis]
    if n <= SHORT:
        matrix = ndimage.spline_filter1d(np.eye(n), order, 0, float, mode)
        return np.moveaxis(np.moveaxis(g, axis, -1) @ matrix, -1, axis)
    if mode not in MIRRORED or n < 2:
        return coefficients(g, order, axis, mode)
    place = np.arange(n)
    weights = np.where((place == 0) | (place == n - 1), 1.0, 2.0)
    weights = np.reshape(weights, (-1,) + (1,) * (-1 - axis))
    return coefficients(g / weights, order, axis, mode) * weights


linear(
    coefficients,
    "x order axis mode",
    "x",
    vmap=lambda k, x, order, axis, mode: coefficients(x, order, axis, mode),
    vjp={"x": _adjoint},
)


def filtered(x: Value, order: int, mode: str) -> Value:
    """Return the coefficients along all axes."""
    x = as_numbers(x)
    for axis in range(-np.ndim(x), 0) if order > 1 else ():
        x = coefficients(x, order, axis, mode)
    return x


@declare_composite(ndimage, "spline_filter1d")
def _spline_filter1d(
    input: Value, order: int = 3, axis: int = -1, output: Any = np.float64, mode: str = "mirror"
) -> Value:
    x = as_array(input)
    dtype = dtype_of(ndimage.spline_filter1d, x, order, axis, output=output, mode=mode)
    (axis,) = normalize(axis, np.ndim(x))
    if order > 1:
        x = coefficients(as_numbers(x), order, axis - np.ndim(x), mode)
    return np.astype(x, dtype, copy=False)


@declare_composite(ndimage, "spline_filter")
def _spline_filter(
    input: Value, order: int = 3, output: Any = np.float64, mode: str = "mirror"
) -> Value:
    x = as_array(input)
    dtype = dtype_of(ndimage.spline_filter, x, order, output=output, mode=mode)
    return np.astype(filtered(x, order, mode), dtype, copy=False)
