"""Twins for `scipy.interpolate`: tables and grids. The others are in files of their kinds."""

from typing import Any

import numpy as np
import scipy.interpolate as sci  # type: ignore[import-untyped]

from .. import numpy as fnp
from .._rules.constructors import check_values
from .._rules.indexing import read_at
from . import _splines as sp
from ._b_splines import BSpline
from ._fitpack import (
    FUNCTIONS,
    InterpolatedUnivariateSpline,
    LSQUnivariateSpline,
    UnivariateSpline,
)
from ._piecewise import (
    Akima1DInterpolator,
    CubicHermiteSpline,
    CubicSpline,
    PchipInterpolator,
    PPoly,
    increasing,
    is_nowhere,
    pchip_interpolate,
    placed,
    to_front,
    unsupported,
)
from ._problems import has_tensor
from ._scattered import (
    CloughTocher2DInterpolator,
    LinearNDInterpolator,
    NearestNDInterpolator,
    RBFInterpolator,
    griddata,
)
from ._surfaces import (
    RectBivariateSpline,
    SmoothBivariateSpline,
    bisplev,
    grid_coefficients,
    grid_values,
)

# ---- a function of tables ----

DEGREES = {"zero": 0, "slinear": 1, "quadratic": 2, "cubic": 3}


class interp1d(sci.interp1d):
    __doc__ = sci.interp1d.__doc__
    _tables = False

    def __init__(
        self, x: Any, y: Any, kind: Any = "linear", axis: int = -1, copy: bool = True,
        bounds_error: Any = None, fill_value: Any = np.nan, assume_sorted: bool = False,
    ):  # fmt: skip
        self._tables = has_tensor(x, y, fill_value)
        if not self._tables:
            super().__init__(x, y, kind, axis, copy, bounds_error, fill_value, assume_sorted)
            return
        x, y = fnp.asarray(x), sp.as_floats(y)
        filled = 0.0 if has_tensor(fill_value) else fill_value
        like = np.arange(float(np.shape(x)[0])), np.zeros(np.shape(y))
        super().__init__(*like, kind, axis, True, bounds_error, filled, True)
        if not assume_sorted:
            order = np.argsort(x, kind="mergesort")
            x, y = read_at(x, order), np.moveaxis(read_at(to_front(y, axis), order), 0, axis)
        self.x, self.y = x, y
        below: Any
        above: Any
        if has_tensor(fill_value):
            several = isinstance(fill_value, tuple) and len(fill_value) == 2
            fills = fill_value if several else (fill_value, fill_value)
            below, above = map(fnp.asarray, fills)
        else:
            below = getattr(self, "_fill_value_below", np.nan)
            above = getattr(self, "_fill_value_above", np.nan)
        self._below, self._above = below, above
        ends = to_front(y, axis)
        if isinstance(fill_value, str) and kind == "previous":
            self._above = ends[-1]
        if isinstance(fill_value, str) and kind == "next":
            self._below = ends[0]

    def __call__(self, x: Any) -> Any:
        if not self._tables and not has_tensor(x):
            return super().__call__(x)
        x, places = sp.as_floats(x), self.x
        axis = self.axis % np.ndim(self.y)
        y = to_front(self.y, axis)
        values = self._found(places, sp.as_floats(y), x)
        if not self._extrapolate:
            low, high = x < places[0], x > places[-1]
            if self.bounds_error:
                for beyond, word in ((low, "below"), (high, "above")):
                    message = f"A value in x_new is {word} the interpolation range."
                    check_values(beyond, is_nowhere, message)
            below: Any = getattr(self, "_below", self._fill_value_below)
            above: Any = getattr(self, "_above", self._fill_value_above)
            for beyond, fill in ((low, below), (high, above)):
                form: Any = np.shape(y)[1:] if np.size(fill) > 1 else ()
                fill = np.reshape(fill, form)
                filled = np.where(sp.column(beyond, values), fill, values)
                values = np.astype(filled, values.dtype, copy=False)
        return placed(values, np.ndim(x), axis)

    def _found(self, places: Any, y: Any, x: Any) -> Any:
        kind, n = self._kind, np.shape(places)[0]
        kind = self._spline.k if kind == "spline" else kind
        kind = {0: "zero", 1: "slinear"}.get(kind, kind) if isinstance(kind, int) else kind
        if kind in ("zero", "slinear"):  # splines of SciPy's
            places, y, x = sp.as_doubles(places), sp.as_doubles(y), sp.as_doubles(x)
        if kind in ("linear", "slinear"):
            i = np.clip(np.searchsorted(places, x), 1, n - 1)
            low, high = read_at(y, i - 1), read_at(y, i)
            before = read_at(places, i - 1)
            slope = (high - low) / sp.column(read_at(places, i) - before, low)
            return slope * sp.column(x - before, low) + low
        if kind in ("nearest", "nearest-up"):
            side: Any = "left" if kind == "nearest" else "right"
            middle = places[1:] / 2 + places[:-1] / 2  # as small integers overflow
            return read_at(y, np.clip(np.searchsorted(middle, x, side=side), 0, n - 1))
        if kind in ("previous", "zero"):
            return read_at(y, np.clip(np.searchsorted(places, x, side="right") - 1, 0, n - 1))
        if kind == "next":
            return read_at(y, np.clip(np.searchsorted(places, x, side="left"), 0, n - 1))
        k = kind if isinstance(kind, int) else DEGREES[kind]
        t, c = sp.interpolating(sp.as_doubles(places), sp.as_doubles(y), k)
        return sp.spline(t, c, k, sp.as_doubles(x))


# ---- grids ----

ORDERS = {"slinear": 1, "cubic": 3, "quintic": 5}


class RegularGridInterpolator(sci.RegularGridInterpolator):
    __doc__ = sci.RegularGridInterpolator.__doc__

    def __init__(
        self, points: Any, values: Any, method: str = "linear", bounds_error: bool = True,
        fill_value: Any = np.nan, **options: Any,
    ):  # fmt: skip
        if not has_tensor(*points, values, fill_value):
            super().__init__(points, values, method, bounds_error, fill_value, **options)
            self._values_then: Any = np.copy(self.values) if method in ORDERS else None
            return
        if has_tensor(fill_value):
            raise unsupported(
                "RegularGridInterpolator", "a fill_value",
                "write fill_value=None, and numpy.where(inside, values, fill)",
            )  # fmt: skip
        values = sp.as_floats(values)
        like = np.zeros(np.shape(values))
        grid = tuple([increasing(sp.as_doubles(p)) if has_tensor(p) else p for p in points])
        plain = [np.arange(float(np.size(p))) if has_tensor(p) else p for p in points]
        super().__init__(plain, like, "linear", bounds_error, fill_value)
        self.method = method
        self._own_grid = tuple([g if has_tensor(g) else p for g, p in zip(grid, self.grid)])
        falling = [i for i, p in enumerate(plain) if p[0] > p[-1]]
        self._own_values: Any = np.flip(values, tuple(falling)) if falling else values
        # SciPy makes splines here, so they see no later write.
        self._values_then = np.copy(self._own_values) if method in ORDERS else None

    def __call__(self, xi: Any, method: Any = None, **options: Any) -> Any:
        if not hasattr(self, "_own_values") and not _holds_tensor(xi):
            return super().__call__(xi, method, **options)
        method = self.method if method is None else method
        if method not in ("linear", "nearest", *ORDERS):
            raise unsupported(
                "RegularGridInterpolator", f"method={method!r}",
                f"write 'linear', 'nearest', {', '.join(map(repr, ORDERS))}",
            )  # fmt: skip
        if isinstance(xi, tuple):
            xi = np.stack(np.broadcast_arrays(*[sp.as_floats(x) for x in xi]), axis=-1)
        xi = sp.as_doubles(xi)
        if xi.dtype.kind == "c":
            raise TypeError("RegularGridInterpolator: xi must be real; write xi.real")
        if np.ndim(xi) == 1:
            xi = xi[None] if len(self.grid) > 1 else xi[:, None]
        if np.shape(xi)[-1] != len(self.grid):
            raise ValueError(
                f"The requested sample points xi have dimension {np.shape(xi)[-1]} but this "
                f"RegularGridInterpolator has dimension {len(self.grid)}"
            )
        return self._found(xi, method)

    def _found(self, xi: Any, method: str) -> Any:
        starts, rests = [], []
        beyond: Any = np.zeros(np.shape(xi)[:-1], bool)
        grids: Any = getattr(self, "_own_grid", self.grid)
        for d, grid in enumerate(grids):
            x = xi[..., d]
            outside = (x < grid[0]) | (x > grid[-1])
            if self.bounds_error:
                message = f"One of the requested xi is out of bounds in dimension {d}"
                check_values(outside, is_nowhere, message)
            beyond = beyond | outside
            i = np.clip(np.searchsorted(grid, x, side="right") - 1, 0, len(grid) - 2)
            starts.append(i)
            before = read_at(grid, i)
            rests.append((x - before) / (read_at(grid, i + 1) - before))
        values = sp.as_floats(getattr(self, "_own_values", self.values))
        if method in ORDERS:
            if method == self.method:
                values = sp.as_floats(self._values_then)
            knots, c = self._coefficients(grids, values, method)
            total = grid_values(knots, c, ORDERS[method], xi)
        elif method == "nearest":
            index = [np.where(r <= 0.5, i, i + 1) for i, r in zip(starts, rests)]
            total = read_at(values, tuple(index))
        else:
            total = 0.0
            for corner in np.ndindex(*(2,) * len(starts)):
                weight: Any = 1.0
                for up, rest in zip(corner, rests):
                    weight = weight * (rest if up else 1 - rest)
                row = read_at(values, tuple([i + up for i, up in zip(starts, corner)]))
                total = total + sp.column(weight, row) * row
        if self.bounds_error or self.fill_value is None:
            return total
        return np.where(sp.column(beyond, total), self.fill_value, total)

    def _coefficients(self, grids: tuple, values: Any, method: str) -> tuple:
        """Return the knots and coefficients of a spline: those that SciPy has found, if any.

        SciPy solves for them by iterations, which end at a relative error of 1e-6.
        """
        made = getattr(self, "_spline", None)
        if made is not None and method == self.method and not hasattr(self, "_own_values"):
            return made.t, made.c
        return grid_coefficients(grids, values, ORDERS[method])


def _holds_tensor(xi: Any) -> bool:
    return has_tensor(*xi) if isinstance(xi, tuple) else has_tensor(xi)


def interpn(
    points: Any, values: Any, xi: Any, method: str = "linear", bounds_error: bool = True,
    fill_value: Any = np.nan,
) -> Any:  # fmt: skip
    """`scipy.interpolate.interpn`, for values or places that are tensors."""
    if not has_tensor(*points, values) and not _holds_tensor(xi):
        return sci.interpn(points, values, xi, method, bounds_error, fill_value)
    if method == "splinef2d":
        return _surface(points, values, xi, bounds_error, fill_value)
    made = RegularGridInterpolator(points, values, method, bounds_error, fill_value)
    return made(xi)


def _surface(points: Any, values: Any, xi: Any, bounds_error: bool, fill_value: Any) -> Any:
    """Return the values of the cubic surface through values at a grid."""
    if isinstance(xi, tuple):
        xi = np.stack(np.broadcast_arrays(*[sp.as_floats(x) for x in xi]), axis=-1)
    beyond: Any = False
    for d in range(2):
        x = sp.as_floats(xi)[..., d]
        outside = (x < points[d][0]) | (x > points[d][-1])
        if bounds_error:
            message = f"One of the requested xi is out of bounds in dimension {d}"
            check_values(outside, is_nowhere, message)
        beyond = beyond | outside
    xi = sp.as_floats(xi)
    found = RectBivariateSpline(points[0], points[1], values).ev(xi[..., 0], xi[..., 1])
    found = np.astype(found, xi.dtype, copy=False)  # as SciPy does
    found = np.reshape(found, (-1,)) if np.ndim(found) == 0 else found
    return found if fill_value is None else np.where(beyond, fill_value, found)


interpn.__doc__ = sci.interpn.__doc__

TWINS: list[tuple[Any, Any]] = [
    (getattr(sci, twin.__name__), twin)
    for twin in (
        PPoly, CubicSpline, CubicHermiteSpline, PchipInterpolator, Akima1DInterpolator, interp1d,
        BSpline, UnivariateSpline, InterpolatedUnivariateSpline, LSQUnivariateSpline,
        RegularGridInterpolator, interpn, pchip_interpolate, *FUNCTIONS, RectBivariateSpline,
        SmoothBivariateSpline, bisplev, RBFInterpolator, LinearNDInterpolator,
        NearestNDInterpolator, CloughTocher2DInterpolator, griddata,
    )
]  # fmt: skip
"""Pairs of an object of SciPy and its twin."""
