"""Twins for `scipy.interpolate`: the splines of FITPACK, as functions and as classes."""

from typing import Any

import numpy as np
import scipy.interpolate as sci  # type: ignore[import-untyped]

from .._rules.constructors import check_values
from . import _splines as sp
from ._b_splines import make_interp_spline, make_lsq_spline, make_smoothing_spline
from ._piecewise import is_nowhere, sorted_knots, table_of, unsupported
from ._problems import has_tensor


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


def _parts(tck: Any) -> tuple:
    return (tck.t, tck.c, tck.k) if isinstance(tck, sci.BSpline) else tuple(tck)


def splint(a: Any, b: Any, tck: Any, full_output: int = 0) -> Any:
    """`scipy.interpolate.splint`, for ends or a spline that are tensors."""
    t, c, k = _parts(tck)
    if not has_tensor(a, b, t, c):
        return sci.splint(a, b, tck, full_output)
    if full_output:
        raise unsupported("splint", "full_output=1", "leave it out")
    if isinstance(c, list):
        return [splint(a, b, (t, part, k)) for part in c]
    return _integral(t, c, k, a, b)


def _integral(t: Any, c: Any, k: int, a: Any, b: Any) -> Any:
    """Return the integral of a spline that is 0 beyond its ends."""
    t, c = sp.as_doubles(t), sp.as_doubles(c)
    low, high = t[k], t[np.shape(t)[0] - k - 1]
    a, b = (np.minimum(np.maximum(sp.as_places(place), low), high) for place in (a, b))
    return sp.integral(t, c, k, a, b)


def spalde(x: Any, tck: Any) -> Any:
    """`scipy.interpolate.spalde`, for places or a spline that are tensors."""
    t, c, k = _parts(tck)
    if not has_tensor(x, t, c):
        return sci.spalde(x, tck)
    if isinstance(c, list):
        return [spalde(x, (t, part, k)) for part in c]
    if np.ndim(x):
        return [spalde(x[i], tck) for i in range(np.shape(x)[0])]
    return np.stack([splev(x, (t, c, k), nu) for nu in range(k + 1)])


def splder(tck: Any, n: int = 1) -> Any:
    """`scipy.interpolate.splder`, for a spline that is a tensor."""
    t, c, k = _parts(tck)
    if not has_tensor(t, c):
        return sci.splder(tck, n)
    if isinstance(tck, sci.BSpline):
        return tck.derivative(n)
    if n > k:
        raise ValueError(f"Order of derivative (n = {n}) must be <= order of spline (k = {k})")
    found = sp.as_doubles(t), sp.as_doubles(c), k
    for _ in range(abs(n)):
        found = sp.derived(*found) if n > 0 else sp.integrated(*found)
    return found


def splantider(tck: Any, n: int = 1) -> Any:
    """`scipy.interpolate.splantider`, for a spline that is a tensor."""
    return splder(tck, -n) if has_tensor(*_parts(tck)[:2]) else sci.splantider(tck, n)


def splprep(x: Any, w: Any = None, u: Any = None, ub: Any = None, ue: Any = None, k: int = 3,
            task: int = 0, s: Any = None, *more: Any, **options: Any) -> Any:  # fmt: skip
    """`scipy.interpolate.splprep`, for points of a curve that are tensors."""
    if not has_tensor(*x, w, u, ub, ue, s):
        return sci.splprep(x, w, u, ub, ue, k, task, s, *more, **options)
    others = w is not None or ub is not None or ue is not None or task or more or options
    if has_tensor(s) or s is None or s or others:
        raise unsupported("splprep", "smoothing or another range", "write s=0")
    points = np.stack([sp.as_doubles(row) for row in x])
    if u is None:
        steps = np.sqrt(np.sum((points[:, 1:] - points[:, :-1]) ** 2, axis=0))
        lengths = np.cumsum(steps)
        u = np.concatenate([np.zeros(1), lengths]) / lengths[-1]
    u = sp.as_doubles(u)
    t, c = sp.interpolating(u, points.T, k)
    return [t, [c[:, i] for i in range(np.shape(c)[1])], k], u


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
        self._eval_args, self.ext = (t, np.concatenate([c, np.zeros(k + 1)]), k), ext

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
        made = UnivariateSpline.__new__(UnivariateSpline)
        made._eval_args = splder(self._eval_args, n)
        made.ext = 1 if self.ext == 3 and n > 0 else self.ext
        return made

    def antiderivative(self, n: int = 1) -> Any:
        """Return an antiderivative of order `n`, another spline."""
        return self.derivative(-n) if self._holds() else super().antiderivative(n)

    def integral(self, a: Any, b: Any) -> Any:
        """Return the integral between two places."""
        if not self._holds(a, b):
            return super().integral(a, b)
        return _integral(*self._eval_args, a, b)

    def derivatives(self, x: Any) -> Any:
        """Return the value and all derivatives at a place."""
        if not self._holds(x):
            return super().derivatives(x)
        return np.stack([self(x, nu) for nu in range(self._eval_args[2] + 1)])

    def get_knots(self) -> Any:
        """Return the knots inside the spline, and its ends."""
        if hasattr(self, "_data"):
            return super().get_knots()
        t, _, k = self._eval_args
        return t[k : np.shape(t)[0] - k]

    def get_coeffs(self) -> Any:
        """Return the coefficients."""
        if hasattr(self, "_data"):
            return super().get_coeffs()
        t, c, k = self._eval_args
        return c[: np.shape(t)[0] - k - 1]

    def roots(self) -> Any:
        """Return the places of the value 0."""
        if self._holds():
            raise unsupported(
                type(self).__name__, "roots()", "write PPoly.from_spline(tck).roots()"
            )
        return super().roots()


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


class LSQUnivariateSpline(UnivariateSpline, sci.LSQUnivariateSpline):
    __doc__ = sci.LSQUnivariateSpline.__doc__

    def __init__(
        self, x: Any, y: Any, t: Any, w: Any = None, bbox: Any = (None, None), k: int = 3,
        ext: Any = 0, check_finite: bool = False,
    ):  # fmt: skip
        if not has_tensor(x, y, t, w):
            bbox = list(bbox)
            sci.LSQUnivariateSpline.__init__(self, x, y, t, w, bbox, k, ext, check_finite)
            return
        x, y, _ = table_of(x, y, 0)
        low, high = (x[i] if end is None else end for i, end in zip((0, -1), bbox))
        low, high = (np.repeat(np.reshape(sp.as_doubles(end), (1,)), k + 1) for end in (low, high))
        t = sorted_knots(np.concatenate([low, sp.as_doubles(t), high]))
        w = np.ones(np.shape(x)) if w is None else sp.as_doubles(w)
        c = np.concatenate([sp.fitted(x, y, t, k, w), np.zeros(k + 1)])
        self._eval_args, self.ext = (t, c, k), ext


FUNCTIONS = (
    make_interp_spline, make_lsq_spline, make_smoothing_spline, splrep, splev, splint, spalde,
    splder, splantider, splprep,
)  # fmt: skip
for _func in FUNCTIONS:
    _func.__doc__ = getattr(sci, _func.__name__).__doc__
