"""Twins for `scipy.interpolate`: B-splines, and the splines of FITPACK that interpolate."""

from typing import Any

import numpy as np
import scipy.interpolate as sci  # type: ignore[import-untyped]

from .._rules.constructors import check_values
from . import _splines as sp
from ._piecewise import Held, is_nowhere, placed, table_of, to_front, unsupported
from ._problems import has_tensor


class BSpline(sci.BSpline):
    __doc__ = sci.BSpline.__doc__
    t, c = Held(), Held()

    def __init__(self, t: Any, c: Any, k: int, extrapolate: Any = True, axis: int = 0):
        if not has_tensor(t, c):
            super().__init__(t, c, k, extrapolate, axis)
            return
        t, c = sp.as_doubles(t), sp.as_doubles(c)
        self.t, self.k, self.extrapolate = t, int(k), extrapolate
        self.axis = axis % np.ndim(c)
        self.c = to_front(c, self.axis)

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        if not has_tensor(x, self.t, self.c):
            return super().__call__(x, nu, extrapolate)
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        t, k, x = self.t, self.k, sp.as_places(x)
        n = np.shape(t)[0] - k - 1
        if extrapolate == "periodic":
            x = t[k] + (x - t[k]) % (t[n] - t[k])
        y = sp.spline(t, self.c, k, x, nu)
        if not extrapolate:
            beyond = (x < t[k]) | (x > t[n])
            y = np.where(sp.column(beyond, y), np.nan, y)
        return placed(y, np.ndim(x), self.axis)


def _b_spline(t: Any, c: Any, k: int, axis: int) -> BSpline:
    if not has_tensor(t, c):
        return BSpline.construct_fast(t, c, k, True, axis)
    made = BSpline.__new__(BSpline)
    made.t, made.c, made.k, made.extrapolate, made.axis = t, c, k, True, axis
    return made


def make_interp_spline(
    x: Any, y: Any, k: int = 3, t: Any = None, bc_type: Any = None, axis: int = 0,
    check_finite: bool = True,
) -> Any:  # fmt: skip
    """`scipy.interpolate.make_interp_spline`, for places or values that are tensors."""
    if not has_tensor(x, y, t):
        made = sci.make_interp_spline(x, y, k, t, bc_type, axis, check_finite)
        return _b_spline(made.t, made.c, made.k, made.axis)
    if t is not None or bc_type not in (None, "not-a-knot", (None, None)):
        raise unsupported("make_interp_spline", "t= or bc_type=", "write CubicSpline(x, y)")
    x, y, axis = table_of(x, y, axis)
    t, c = sp.interpolating(x, y, k)
    return _b_spline(t, c, k, axis)


def splrep(x: Any, y: Any, w: Any = None, xb: Any = None, xe: Any = None, k: int = 3,
           task: int = 0, s: Any = None, *more: Any, **options: Any) -> Any:  # fmt: skip
    """`scipy.interpolate.splrep`, for places or values that are tensors."""
    if not has_tensor(x, y, w, xb, xe, s):
        return sci.splrep(x, y, w, xb, xe, k, task, s, *more, **options)
    if s or (s is None and w is not None) or task or xb is not None or xe is not None or more:
        raise unsupported("splrep", "smoothing or another range", "write s=0, or leave it out")
    x, y, _ = table_of(x, y, 0)
    t, c = sp.interpolating(x, y, k)
    return t, np.concatenate([c, np.zeros(k + 1)]), k


def splev(x: Any, tck: Any, der: int = 0, ext: int = 0) -> Any:
    """`scipy.interpolate.splev`, for places or a spline that are tensors."""
    parts = (tck.t, tck.c, tck.k) if isinstance(tck, sci.BSpline) else tuple(tck)
    if not has_tensor(x, *parts[:2]):
        return sci.splev(x, tck, der, ext)
    t, c, k = parts
    if isinstance(c, list):
        return [splev(x, (t, part, k), der, ext) for part in c]
    return _in_range(sp.as_doubles(t), sp.as_doubles(c), k, sp.as_places(x), der, ext)


def _in_range(t: Any, c: Any, k: int, x: Any, nu: int, ext: Any) -> Any:
    """Return the values of a spline; `ext` tells of places beyond the ends."""
    ext = {"extrapolate": 0, "zeros": 1, "raise": 2, "const": 3}.get(ext, ext)
    low, high = t[k], t[np.shape(t)[0] - k - 1]
    beyond = (x < low) | (x > high)
    if ext == 2:
        check_values(beyond, is_nowhere, "A value in x is beyond the ends of the spline.")
    if ext == 3:
        x = np.where(x < low, low, np.where(x > high, high, x))
    y = sp.spline(t, c, k, x, nu)
    return np.where(beyond, 0.0, y) if ext == 1 else y


class UnivariateSpline(sci.UnivariateSpline):
    __doc__ = sci.UnivariateSpline.__doc__

    def __init__(
        self, x: Any, y: Any, w: Any = None, bbox: Any = (None, None), k: int = 3, s: Any = None,
        ext: Any = 0, check_finite: bool = False,
    ):  # fmt: skip
        if not has_tensor(x, y, w, s):
            bbox = list(bbox)
            super().__init__(x, y, w, bbox, k, s, ext, check_finite)
            return
        if s != 0 or any(end is not None for end in bbox):
            raise unsupported(type(self).__name__, "smoothing, or bbox=,", "write s=0")
        x, y, _ = table_of(x, y, 0)
        t, c = sp.interpolating(x, y, k)
        self._eval_args, self.ext = (t, c, k), ext

    def _holds(self, *more: Any) -> bool:
        return has_tensor(*self._eval_args[:2], *more)

    def __call__(self, x: Any, nu: int = 0, ext: Any = None) -> Any:
        if not self._holds(x):
            return super().__call__(x, nu, ext)
        t, c, k = self._eval_args
        return _in_range(t, c, k, sp.as_places(x), nu, self.ext if ext is None else ext)

    def derivative(self, n: int = 1) -> Any:
        """Return the derivative of order `n`, another spline."""
        if not self._holds():
            made = super().derivative(n)
            return UnivariateSpline._from_tck(made._eval_args, made.ext)
        raise unsupported("UnivariateSpline", "derivative()", f"write spline(x, nu={n})")

    def integral(self, a: Any, b: Any) -> Any:
        """Return the integral between two places."""
        if not self._holds(a, b):
            return super().integral(a, b)
        raise unsupported("UnivariateSpline", "integral()", "write CubicSpline(x, y).integrate")


class InterpolatedUnivariateSpline(UnivariateSpline, sci.InterpolatedUnivariateSpline):
    __doc__ = sci.InterpolatedUnivariateSpline.__doc__

    def __init__(
        self, x: Any, y: Any, w: Any = None, bbox: Any = (None, None), k: int = 3, ext: Any = 0,
        check_finite: bool = False,
    ):  # fmt: skip
        if has_tensor(x, y, w):
            UnivariateSpline.__init__(self, x, y, w, bbox, k, 0, ext)
            return
        bbox = list(bbox)
        sci.InterpolatedUnivariateSpline.__init__(self, x, y, w, bbox, k, ext, check_finite)


for _func in (make_interp_spline, splrep, splev):
    _func.__doc__ = getattr(sci, _func.__name__).__doc__
