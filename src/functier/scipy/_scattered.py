"""Twins for `scipy.interpolate`: values at scattered points.

Radial functions are those of Wendland, *Scattered Data Approximation*, 2005, with SciPy's scales.

NOTE [triangles and neighbours are constants]
    SciPy finds the triangle or the neighbour of a place from plain values. What is read there,
    weights and values, is NumPy code of tensors. Points that are tensors move their triangles:
    that is the derivative until another triangulation is taken.
"""

from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import scipy.interpolate as sci  # type: ignore[import-untyped]
from scipy.spatial import Delaunay, KDTree  # type: ignore[import-untyped]

from .. import numpy as fnp
from .._rules.indexing import read_at
from . import _splines as sp
from ._piecewise import unsupported
from ._problems import has_tensor
from ._rules.spatial.places import as_constant, look_up

# ---- radial functions ----


def _root(square: Any) -> Any:
    """Return a distance by its square, whose derivative at 0 is 0."""
    return np.sqrt(np.where(square == 0, 1.0, square)) * (square != 0)


def _thin_plate(s: Any) -> Any:
    return s * np.log(np.where(s == 0, 1.0, s)) / 2


KERNELS: dict[str, Any] = {
    "linear": lambda s: -_root(s),
    "thin_plate_spline": _thin_plate,
    "cubic": lambda s: s * _root(s),
    "quintic": lambda s: -s * s * _root(s),
    "multiquadric": lambda s: -np.sqrt(s + 1),
    "inverse_multiquadric": lambda s: 1 / np.sqrt(s + 1),
    "inverse_quadratic": lambda s: 1 / (s + 1),
    "gaussian": lambda s: np.exp(-s),
}
"""The radial functions by the square of the scaled distance."""


class RBFInterpolator(sci.RBFInterpolator):
    __doc__ = sci.RBFInterpolator.__doc__
    keeps_more = True

    def __init__(
        self, y: Any, d: Any, neighbors: Any = None, smoothing: Any = 0.0,
        kernel: str = "thin_plate_spline", epsilon: Any = None, degree: Any = None,
    ):  # fmt: skip
        self._own: Any = None
        tensors = has_tensor(y, d, smoothing, epsilon)
        if tensors:
            if neighbors is not None:
                raise unsupported("RBFInterpolator", "neighbors=", "leave it out")
            y, d = sp.as_doubles(y), sp.as_doubles(d)
            like = np.random.default_rng(0).uniform(size=np.shape(y))
            even = 1.0 if has_tensor(smoothing) else smoothing
            scale = 1.0 if has_tensor(epsilon) else epsilon
            values = np.zeros(np.shape(d))
            super().__init__(like, values, neighbors, even, kernel, scale, degree)
        else:
            super().__init__(y, d, neighbors, smoothing, kernel, epsilon, degree)
            y, d = self.y, np.array(d, complex if np.iscomplexobj(d) else float)
        epsilon = self.epsilon if epsilon is None else epsilon
        degree = self.powers.sum(axis=1).max(initial=-1)
        self._parts = kernel.lower(), y, d, smoothing, epsilon, int(degree), tensors
        if tensors:  # SciPy solves the system here, so it sees no later write
            self._own = self._coefficients()

    def __call__(self, x: Any) -> Any:
        kernel, y, _, _, epsilon, degree, tensors = self._parts
        if not tensors and not has_tensor(x):
            return super().__call__(x)
        if self.neighbors is not None:
            raise unsupported("RBFInterpolator", "neighbors=", "leave it out")
        x = sp.as_places(x)
        if np.ndim(x) != 2:
            raise ValueError("`x` must be a 2-dimensional array.")
        if np.shape(x)[1] != np.shape(y)[1]:
            raise ValueError(f"Expected the second axis of `x` to have length {np.shape(y)[1]}.")
        if self._own is None:
            self._own = self._coefficients()
        weights, shift, scale = self._own
        rows = np.concatenate(
            [_radial(kernel, x, y, epsilon), _monomials((x - shift) / scale, degree)], axis=1
        )
        return np.tensordot(rows, weights, axes=1)

    def _coefficients(self) -> tuple:
        """Return the solution of the system, and the shift and scale of the monomials."""
        kernel, y, d, smoothing, epsilon, degree, _ = self._parts
        low, high = np.min(y, axis=0), np.max(y, axis=0)
        shift, scale = (high + low) / 2, (high - low) / 2
        scale = np.where(scale == 0, 1.0, scale)
        n = np.shape(y)[0]
        smoothing = np.broadcast_to(fnp.asarray(smoothing), (n,))
        block = _radial(kernel, y, y, epsilon) + smoothing[:, None] * np.eye(n)
        beside = _monomials((y - shift) / scale, degree)
        m = np.shape(beside)[1]
        system = np.concatenate([
            np.concatenate([block, beside], axis=1),
            np.concatenate([beside.T, np.zeros((m, m))], axis=1),
        ])  # fmt: skip
        right = np.concatenate([d, np.zeros((m, *np.shape(d)[1:]))])
        return sp.solve(system, right), shift, scale


def _radial(kernel: str, x: Any, y: Any, epsilon: Any) -> Any:
    squares = np.sum((x[:, None] - y) ** 2, axis=-1)
    return KERNELS[kernel](squares * epsilon**2)


def _monomials(x: Any, degree: int) -> Any:
    """Return all products of at most `degree` of the coordinates."""
    size = np.shape(x)[1]
    columns = [np.ones_like(x[:, 0])] if degree >= 0 else []
    for count in range(1, degree + 1):
        for chosen in combinations_with_replacement(range(size), count):
            column = x[:, chosen[0]]
            for i in chosen[1:]:
                column = column * x[:, i]
            columns.append(column)
    return np.stack(columns, axis=1) if columns else np.zeros((np.shape(x)[0], 0))


# ---- triangles and neighbours ----


def places_of(args: tuple, dimensions: int) -> Any:
    """Return places as an array, its coordinates in the last axis, from any form of arguments."""
    args = args[0] if len(args) == 1 and isinstance(args[0], tuple) else args
    if len(args) == 1:
        x = sp.as_places(args[0])
        return np.reshape(x, (-1, dimensions)) if np.ndim(x) == 1 else x
    return np.stack(np.broadcast_arrays(*[sp.as_places(x) for x in args]), axis=-1)


class Scattered:
    """The form of tables at points; `_own` has points and values where one is a tensor."""

    keeps_more = True
    _own: Any = None

    def _keep(self, points: Any, values: Any, rescale: bool, more: Any) -> Any:
        """Note the table, and return plain points for SciPy's class."""
        name = f"scipy.interpolate.{type(self).__name__}"
        if rescale or more:
            raise unsupported(type(self).__name__, "rescale=True", "scale the points before")
        if isinstance(points, tuple):
            points = np.stack(np.broadcast_arrays(*map(sp.as_doubles, points)), axis=-1)
        points = sp.as_doubles(points)
        points = points[:, None] if np.ndim(points) == 1 else points
        self._own = points, sp.as_doubles(values)
        return as_constant(points, name, "points") if has_tensor(points) else points


class LinearNDInterpolator(Scattered, sci.LinearNDInterpolator):
    __doc__ = sci.LinearNDInterpolator.__doc__

    def __init__(self, points: Any, values: Any, fill_value: Any = np.nan, rescale: bool = False):
        self._fill = fill_value
        triangulated = isinstance(points, Delaunay)
        corners = points.points if triangulated else points
        if not has_tensor(*_columns(points), values):
            super().__init__(points, values, fill_value, rescale)
            if rescale:
                self._own = None
                return
            self._own = np.asarray(self.tri.points), np.asarray(values)
            self._plain = True
            return
        plain = self._keep(corners, values, rescale, None)
        like = np.zeros(np.shape(values))
        super().__init__(points if triangulated else plain, like)
        self._plain = False

    def __call__(self, *args: Any) -> Any:
        if getattr(self, "_plain", True) and not has_tensor(*_flat(args)):
            return super().__call__(*args)
        if self._own is None:
            raise unsupported("LinearNDInterpolator", "rescale=True", "scale the points before")
        points, values = self._own
        x = places_of(args, np.shape(points)[1])
        simplex = look_up(x, self.tri.find_simplex) if has_tensor(x) else self.tri.find_simplex(x)
        corners = read_at(np.asarray(self.tri.simplices), np.where(simplex < 0, 0, simplex))
        at = read_at(points, corners)  # (..., corner, coordinate)
        edges = at[..., :-1, :] - at[..., -1:, :]
        offset = (x - at[..., -1, :])[..., None, :]
        weights = np.matmul(offset, np.linalg.inv(edges))[..., 0, :]
        weights = np.concatenate([weights, 1 - np.sum(weights, axis=-1, keepdims=True)], axis=-1)
        rows = read_at(values, corners)
        total = np.sum(sp.column(weights, rows) * rows, axis=np.ndim(weights) - 1)
        return np.where(sp.column(simplex < 0, total), self._fill, total)


class NearestNDInterpolator(Scattered, sci.NearestNDInterpolator):
    __doc__ = sci.NearestNDInterpolator.__doc__

    def __init__(self, x: Any, y: Any, rescale: bool = False, tree_options: Any = None):
        self._plain = not has_tensor(*_columns(x), y)
        if self._plain:
            super().__init__(x, y, rescale, tree_options)
            return
        points = self._keep(x, y, rescale, tree_options)
        self.tree = KDTree(points)

    def __call__(self, *args: Any, **query_options: Any) -> Any:
        if self._plain and not has_tensor(*_flat(args)):
            return super().__call__(*args, **query_options)
        if query_options or (self._plain and getattr(self, "scale", None) is not None):
            raise unsupported("NearestNDInterpolator", "rescale=True, or an option of a query,",
                              "scale the points before")  # fmt: skip
        values = sp.as_doubles(self.values) if self._plain else self._own[1]
        x = places_of(args, self.tree.m)
        found = look_up(x, self._nearest) if has_tensor(x) else self._nearest(x)
        return read_at(values, found)

    def _nearest(self, x: Any) -> Any:
        return self.tree.query(x)[1]


class CloughTocher2DInterpolator(sci.CloughTocher2DInterpolator):
    __doc__ = sci.CloughTocher2DInterpolator.__doc__
    keeps_more = True

    def __init__(self, points: Any, values: Any, *more: Any, **options: Any):
        if has_tensor(*_columns(points), values):
            _refuse_cubic("CloughTocher2DInterpolator")
        super().__init__(points, values, *more, **options)

    def __call__(self, *args: Any) -> Any:
        if has_tensor(*_flat(args)):
            _refuse_cubic("CloughTocher2DInterpolator")
        return super().__call__(*args)


def _refuse_cubic(name: str) -> None:
    raise unsupported(
        name, "the cubic interpolant of triangles", "write RBFInterpolator(points, values)(x)"
    )


def _columns(points: Any) -> tuple:
    return points if isinstance(points, tuple) else (points,)


def _flat(args: tuple) -> tuple:
    return args[0] if len(args) == 1 and isinstance(args[0], tuple) else args


def griddata(
    points: Any, values: Any, xi: Any, method: str = "linear", fill_value: Any = np.nan,
    rescale: bool = False,
) -> Any:  # fmt: skip
    """`scipy.interpolate.griddata`, for points, values or places that are tensors."""
    if not has_tensor(*_columns(points), values, *_columns(xi)):
        return sci.griddata(points, values, xi, method, fill_value, rescale)
    single = isinstance(points, tuple) and len(points) == 1
    points = points[0] if single else points
    if not isinstance(points, tuple) and (np.ndim(points) == 1 or np.shape(points)[-1] == 1):
        raise unsupported(
            "griddata", "one dimension", "write interp1d, with fill_value= and bounds_error=False"
        )
    if method == "nearest":
        return NearestNDInterpolator(points, values, rescale)(xi)
    if method == "linear":
        return LinearNDInterpolator(points, values, fill_value, rescale)(xi)
    return CloughTocher2DInterpolator(points, values, fill_value, rescale=rescale)(xi)


griddata.__doc__ = sci.griddata.__doc__
