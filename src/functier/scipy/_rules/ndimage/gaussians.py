"""Gaussian filters of images, and their derivatives."""

from typing import Any

import numpy as np
import scipy.ndimage as ndimage  # type: ignore[import-untyped]

from ...._core.errors import UnsupportedError
from ...._core.numpy_facts import Value
from ...._rules.axes import as_array, normalize
from ..declare import declare_composite
from .filters import correlated, stored
from .forms import axes_of, dtype_of, each


def _kernel(sigma: Value, order: int, radius: int) -> Value:
    """Return a Gaussian, or one of its derivatives, at integers, reversed.

    With ``f = p * phi`` the derivative is ``(p' - x p / sigma**2) * phi``; `factors` are those of
    the powers in `p`.
    """
    if order < 0:
        raise ValueError("order must be non-negative")
    n = 2 * radius + 1
    x = np.arange(n) - radius
    phi = np.exp(-0.5 / (sigma * sigma) * x**2)
    phi = phi / np.sum(phi)
    factors: list = [1.0]
    for _ in range(order):
        slopes = [*[i * f for i, f in enumerate(factors)][1:], 0.0, 0.0]
        moved = [0.0] + [-f / (sigma * sigma) for f in factors]
        factors = [a + b for a, b in zip(slopes, moved)]
    return np.flip(sum(f * x**i for i, f in enumerate(factors)) * phi, 0)


def check_plain(sigma: Value) -> float:
    """Return the width that the number of weights depends on, or raise for a tensor."""
    if hasattr(sigma, "level"):
        raise UnsupportedError(
            "scipy.ndimage.gaussian_filter1d: sigma is a tensor, and the number of weights depends "
            "on it; write radius=, the number of pixels on each side"
        )
    return sigma


@declare_composite(ndimage, "gaussian_filter1d")
def gaussian_filter1d(
    input: Value, sigma: Value, axis: int = -1, order: int = 0, output: Any = None,
    mode: str = "reflect", cval: Value = 0.0, truncate: float = 4.0, *, radius: Any = None,
) -> Value:  # fmt: skip
    x = as_array(input)
    dtype = dtype_of(ndimage.gaussian_filter1d, x, 1.0, axis, 0, output=output, mode=mode)
    (axis,) = normalize(axis, np.ndim(x))
    if radius is None:
        radius = int(truncate * check_plain(sigma) + 0.5)
    if radius < 0 or radius != int(radius):
        raise ValueError("Radius must be a nonnegative integer.")
    return stored(correlated(x, _kernel(sigma, order, int(radius)), axis, mode, cval), dtype)


@declare_composite(ndimage, "gaussian_filter")
def gaussian_filter(
    input: Value, sigma: Any, order: Any = 0, output: Any = None, mode: Any = "reflect",
    cval: Value = 0.0, truncate: float = 4.0, *, radius: Any = None, axes: Any = None,
) -> Value:  # fmt: skip
    x = as_array(input)
    dtype = dtype_of(ndimage.uniform_filter, x, 1, output=output, mode="reflect")
    axes = axes_of(axes, x)
    options = [each(v, len(axes)) for v in (sigma, order, mode, radius)]
    for axis, width, power, edge, far in zip(axes, *options):
        if width > 1e-15:
            x = gaussian_filter1d(
                x, width, axis, power, dtype, edge, cval, truncate, radius=far
            )  # fmt: skip
    return stored(x, dtype)


def _derivatives(
    input: Value, sigma: Any, power: int, output: Any, mode: Any, cval: Value, options: dict
) -> list:
    """Return the derivatives of a smoothed image along each axis, of one order."""
    x = as_array(input)
    dtype = dtype_of(ndimage.uniform_filter, x, 1, output=output, mode="reflect")
    axes = axes_of(options.pop("axes", None), x)
    found, widths = [], each(sigma, len(axes))
    for place, edge in enumerate(each(mode, len(axes))):
        orders = [power if i == place else 0 for i in range(len(axes))]
        found.append(
            gaussian_filter(x, widths, orders, dtype, edge, cval, axes=axes, **options)
        )  # fmt: skip
    return found or [stored(x, dtype)]


@declare_composite(ndimage, "gaussian_laplace")
def _gaussian_laplace(
    input: Value, sigma: Any, output: Any = None, mode: Any = "reflect", cval: Value = 0.0,
    **options: Any,
) -> Value:  # fmt: skip
    terms = _derivatives(input, sigma, 2, output, mode, cval, options)
    return sum(terms[1:], terms[0])


@declare_composite(ndimage, "gaussian_gradient_magnitude")
def _gaussian_gradient_magnitude(
    input: Value, sigma: Any, output: Any = None, mode: Any = "reflect", cval: Value = 0.0,
    **options: Any,
) -> Value:  # fmt: skip
    terms = [np.square(t) for t in _derivatives(input, sigma, 1, output, mode, cval, options)]
    return np.sqrt(sum(terms[1:], terms[0]))
