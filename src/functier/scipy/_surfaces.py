"""Twins for `scipy.interpolate`: splines of two variables, as products of those of one."""

from typing import Any

import numpy as np
import scipy.interpolate as sci  # type: ignore[import-untyped]

from .._rules.constructors import check_values
from . import _splines as sp
from ._piecewise import increasing, unsupported
from ._problems import has_tensor


def product(tx: Any, ty: Any, c: Any, kx: int, ky: int, x: Any, y: Any, nu: tuple) -> Any:
    """Return the values of a surface at pairs of places."""
    rows = sp.design(tx, kx, x, nu[0])
    columns = sp.design(ty, ky, y, nu[1])
    return np.sum(np.matmul(rows, c) * columns, axis=-1)


def clipped(t: Any, k: int, x: Any) -> Any:
    """Return places inside the ends of a spline: FITPACK moves others there."""
    return np.clip(x, t[k], t[np.shape(t)[0] - k - 1])


def solved(x: Any, y: Any, z: Any, kx: int, ky: int) -> tuple:
    """Return the knots and coefficients of the surface through values at a grid."""
    tx, c = sp.interpolating(x, z, kx)
    ty, c = sp.interpolating(y, c.T, ky)
    return tx, ty, c.T


class Surface:
    """The methods of surfaces of all classes, whose tensors are in `_own`."""

    _own: Any = None

    def _parts(self) -> tuple:
        """Return the knots, the coefficients as a matrix, and the degrees."""
        if self._own is not None:
            return self._own
        tx, ty, c = self.tck  # type: ignore[attr-defined]
        kx, ky = self.degrees  # type: ignore[attr-defined]
        return tx, ty, np.reshape(c, (len(tx) - kx - 1, len(ty) - ky - 1)), kx, ky

    def _read(self, x: Any, y: Any, dx: int, dy: int) -> Any:
        tx, ty, c, kx, ky = self._parts()
        x, y = (sp.as_places(v) for v in (x, y))
        return product(tx, ty, c, kx, ky, clipped(tx, kx, x), clipped(ty, ky, y), (dx, dy))

    def __call__(self, x: Any, y: Any, dx: int = 0, dy: int = 0, grid: bool = True) -> Any:
        if self._own is None and not has_tensor(x, y):
            return super().__call__(x, y, dx, dy, grid)  # type: ignore[misc]
        if not grid:
            x, y = np.broadcast_arrays(sp.as_doubles(x), sp.as_doubles(y))
            return self._read(x, y, dx, dy)
        x, y = (np.atleast_1d(increasing_or_equal(v)) for v in (x, y))
        return self._read(x[:, None], y, dx, dy)

    def ev(self, xi: Any, yi: Any, dx: int = 0, dy: int = 0) -> Any:
        """Return the values at pairs of places."""
        return self(xi, yi, dx, dy, False)

    def integral(self, xa: Any, xb: Any, ya: Any, yb: Any) -> Any:
        """Return the integral over a rectangle."""
        if self._own is None and not has_tensor(xa, xb, ya, yb):
            return super().integral(xa, xb, ya, yb)  # type: ignore[misc]
        tx, ty, c, kx, ky = self._parts()
        rows, columns = (
            sp.integral(
                t,
                np.eye(np.shape(t)[0] - k - 1),
                k,
                *(clipped(t, k, sp.as_places(v)) for v in ends),
            )
            for t, k, ends in ((tx, kx, (xa, xb)), (ty, ky, (ya, yb)))
        )
        return np.sum(np.matmul(rows, c) * columns)

    def partial_derivative(self, dx: int, dy: int) -> Any:
        """Return the derivative, another surface."""
        if self._own is not None:
            raise unsupported(
                type(self).__name__, "partial_derivative()", f"write surface.ev(x, y, {dx}, {dy})"
            )
        return super().partial_derivative(dx, dy)  # type: ignore[misc]


def _falls(x: Any) -> bool:
    return not np.any(x[..., 1:] < x[..., :-1])


def increasing_or_equal(x: Any) -> Any:
    x = sp.as_places(x)
    return check_values(x, _falls, "x and y must be increasing") if np.ndim(x) else x


class RectBivariateSpline(Surface, sci.RectBivariateSpline):
    __doc__ = sci.RectBivariateSpline.__doc__

    def __init__(
        self, x: Any, y: Any, z: Any, bbox: Any = (None, None, None, None), kx: int = 3,
        ky: int = 3, s: Any = 0, **options: Any,
    ):  # fmt: skip
        if not has_tensor(x, y, z, s):
            super().__init__(x, y, z, list(bbox), kx, ky, s, **options)
            return
        if has_tensor(s) or s or any(end is not None for end in bbox):
            raise unsupported("RectBivariateSpline", "smoothing, or bbox=,", "write s=0")
        x, y = increasing(sp.as_doubles(x)), increasing(sp.as_doubles(y))
        z = sp.as_doubles(z)
        if np.shape(z) != (np.shape(x)[0], np.shape(y)[0]):
            raise ValueError("z must have the shape of the grid: (len(x), len(y))")
        self._own = (*solved(x, y, z, kx, ky), kx, ky)


class SmoothBivariateSpline(Surface, sci.SmoothBivariateSpline):
    __doc__ = sci.SmoothBivariateSpline.__doc__

    def __init__(self, x: Any, y: Any, z: Any, *args: Any, **options: Any):
        if has_tensor(x, y, z):
            raise unsupported(
                "SmoothBivariateSpline", "data", "write RBFInterpolator with smoothing="
            )
        super().__init__(x, y, z, *args, **options)


def bisplev(x: Any, y: Any, tck: Any, dx: int = 0, dy: int = 0) -> Any:
    """`scipy.interpolate.bisplev`, for places or coefficients that are tensors."""
    tx, ty, c, kx, ky = tck
    if not has_tensor(x, y, tx, ty, c):
        return sci.bisplev(x, y, tck, dx, dy)
    made = Surface()
    form = np.shape(tx)[0] - kx - 1, np.shape(ty)[0] - ky - 1
    made._own = tx, ty, np.reshape(sp.as_doubles(c), form), kx, ky
    z = made(x, y, dx, dy)
    several = [np.ndim(x) > 0, np.ndim(y) > 0]
    return z if all(several) else z[0, 0] if not any(several) else np.reshape(z, (-1,))


bisplev.__doc__ = sci.bisplev.__doc__


def grid_coefficients(grid: tuple, values: Any, k: int) -> tuple:
    """Return the knots of each axis, and the coefficients of a spline of several variables."""
    knots = []
    for axis, points in enumerate(grid):
        t, c = sp.interpolating(sp.as_doubles(points), np.moveaxis(values, axis, 0), k)
        values = np.moveaxis(c, 0, axis)
        knots.append(t)
    return tuple(knots), values


def grid_values(knots: tuple, c: Any, k: int, xi: Any) -> Any:
    """Return the values of a spline of several variables; those are the last axis of `xi`."""
    form = np.shape(xi)[:-1]
    xi = np.reshape(xi, (-1, len(knots)))
    total = np.tensordot(sp.design(knots[0], k, xi[:, 0]), c, axes=1)
    for d in range(1, len(knots)):
        rows = sp.design(knots[d], k, xi[:, d])
        total = np.sum(sp.column(rows, total) * total, axis=1)
    return np.reshape(total, form + np.shape(total)[1:])
