"""Twins for `scipy.interpolate`: B-splines, and the splines of FITPACK that interpolate."""

from typing import Any

import numpy as np
import scipy.interpolate as sci  # type: ignore[import-untyped]

from .._rules.constructors import check_values
from . import _splines as sp
from ._piecewise import (
    Held,
    is_nowhere,
    placed,
    sorted_knots,
    table_of,
    to_front,
    unsupported,
)
from ._problems import has_tensor


class BSpline(sci.BSpline):
    __doc__ = sci.BSpline.__doc__
    t, c = Held(), Held()

    def __init__(self, t: Any, c: Any, k: int, extrapolate: Any = True, axis: int = 0):
        if not has_tensor(t, c):
            super().__init__(t, c, k, extrapolate, axis)
            return
        t, c = sorted_knots(t), sp.as_doubles(c)
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

    def _holds(self, *more: Any) -> bool:
        return has_tensor(self.t, self.c, *more)

    def _made(self, t: Any, c: Any, k: int, extrapolate: Any) -> "BSpline":
        made = _b_spline(t, c, k, self.axis)
        made.extrapolate = extrapolate
        return made

    def derivative(self, nu: int = 1) -> Any:
        """Return the derivative of order `nu`, a spline of a lower degree."""
        if not self._holds():
            made = super().derivative(nu)
            return self._made(made.t, made.c, made.k, made.extrapolate)
        if nu < 0:
            return self.antiderivative(-nu)
        tck = self.t, self.c, self.k
        if nu > self.k:
            raise ValueError(
                f"Order of derivative (n = {nu}) must be <= order of spline ({self.k})"
            )
        for _ in range(nu):
            tck = sp.derived(*tck)
        return self._made(*tck, self.extrapolate)

    def antiderivative(self, nu: int = 1) -> Any:
        """Return an antiderivative of order `nu`, a spline of a higher degree."""
        if not self._holds():
            made = super().antiderivative(nu)
            return self._made(made.t, made.c, made.k, made.extrapolate)
        if nu < 0:
            return self.derivative(-nu)
        tck = self.t, self.c, self.k
        for _ in range(nu):
            tck = sp.integrated(*tck)
        return self._made(*tck, False if self.extrapolate == "periodic" else self.extrapolate)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """Return the integral between two places."""
        if not self._holds(a, b):
            return super().integrate(a, b, extrapolate)
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        if extrapolate == "periodic":
            raise unsupported("BSpline", "a periodic integral", "add the integrals of the periods")
        t, k = self.t, self.k
        if not extrapolate:
            low, high = t[k], t[np.shape(t)[0] - k - 1]
            a, b = (np.minimum(np.maximum(place, low), high) for place in (a, b))
        return sp.integral(t, self.c, k, sp.as_places(a), sp.as_places(b))

    @classmethod
    def basis_element(cls, t: Any, extrapolate: Any = True) -> Any:
        """Return one spline of the basis, which the knots `t` determine."""
        if not has_tensor(t):
            return super().basis_element(t, extrapolate)
        t = sorted_knots(t)
        k = np.shape(t)[0] - 2
        t = np.concatenate([np.repeat(t[:1] - 1, k), t, np.repeat(t[-1:] + 1, k)])
        c = np.zeros(np.shape(t)[0])
        c[k] = 1.0
        made = _b_spline(t, c, k, 0)
        made.extrapolate = extrapolate
        return made

    @classmethod
    def design_matrix(cls, x: Any, t: Any, k: int, extrapolate: Any = False) -> Any:
        """Return the values of each spline of the basis, as a sparse matrix."""
        if has_tensor(x, t):
            raise unsupported(
                "BSpline.design_matrix", "a sparse result", "write BSpline(t, np.eye(n), k)(x)"
            )
        return super().design_matrix(x, t, k, extrapolate)

    def insert_knot(self, x: Any, m: int = 1) -> Any:
        """Return the same spline with a knot more."""
        if self._holds(x):
            raise unsupported("BSpline.insert_knot", "a new knot", "insert it into plain arrays")
        return super().insert_knot(x, m)


def _b_spline(t: Any, c: Any, k: int, axis: int) -> BSpline:
    if not has_tensor(t, c):
        return BSpline.construct_fast(t, c, k, True, axis)
    made = BSpline.__new__(BSpline)
    made.t, made.c, made.k, made.extrapolate, made.axis = t, c, k, True, axis
    return made


NAMED: dict[str, list] = {"natural": [(2, 0.0)], "clamped": [(1, 0.0)]}


def make_interp_spline(
    x: Any, y: Any, k: int = 3, t: Any = None, bc_type: Any = None, axis: int = 0,
    check_finite: bool = True,
) -> Any:  # fmt: skip
    """`scipy.interpolate.make_interp_spline`, for places or values that are tensors."""
    if not has_tensor(x, y, t, bc_type):
        made = sci.make_interp_spline(x, y, k, t, bc_type, axis, check_finite)
        return _b_spline(made.t, made.c, made.k, made.axis)
    x, y, axis = table_of(x, y, axis)
    if isinstance(bc_type, str) and bc_type == "periodic":
        check_values(y[:1] - y[-1:], _is_zero, "First and last points does not match")
        t, c = sp.repeated(x, y, k)
        return _b_spline(t, c, k, axis)
    given = bc_type is not None and not (isinstance(bc_type, str) and bc_type == "not-a-knot")
    pair: Any = (None, None)
    if given:
        pair = (bc_type, bc_type) if isinstance(bc_type, str) else tuple(bc_type)
    ends = tuple([NAMED.get(e, e) if isinstance(e, str) else list(e or []) for e in pair])
    if any(isinstance(e, str) for e in ends):
        raise ValueError(f"Unknown boundary condition : {bc_type}")
    if t is None:
        t = sp.ended_knots(x, k) if any(e is not None for e in pair) else sp.knots_of(x, k)
    t = sorted_knots(t)
    return _b_spline(t, sp.conditioned(x, y, t, k, ends), k, axis)


def _is_zero(difference: Any) -> bool:
    return np.allclose(difference, 0, atol=1e-15)


def make_lsq_spline(
    x: Any, y: Any, t: Any, k: int = 3, w: Any = None, axis: int = 0, check_finite: bool = True,
    **options: Any,
) -> Any:  # fmt: skip
    """`scipy.interpolate.make_lsq_spline`, for points, knots or weights that are tensors."""
    if not has_tensor(x, y, t, w):
        made = sci.make_lsq_spline(x, y, t, k, w, axis, check_finite, **options)
        return _b_spline(made.t, made.c, made.k, made.axis)
    x, y, axis = table_of(x, y, axis)
    w = np.ones(np.shape(x)) if w is None else sp.as_doubles(w)
    t = sorted_knots(t)
    return _b_spline(t, sp.fitted(x, y, t, k, w), k, axis)


def make_smoothing_spline(x: Any, y: Any, w: Any = None, lam: Any = None, **options: Any) -> Any:
    """`scipy.interpolate.make_smoothing_spline`, for points, weights or `lam` that are tensors."""
    if not has_tensor(x, y, w, lam):
        made = sci.make_smoothing_spline(x, y, w, lam, **options)
        return _b_spline(made.t, made.c, made.k, made.axis)
    if lam is None:
        raise unsupported(
            "make_smoothing_spline", "lam=None, which is searched for,", "give lam, a number"
        )
    x, y, axis = table_of(x, y, options.get("axis", 0))
    check_values(lam, _not_negative, "Regularization parameter should be non-negative")
    w = np.ones(np.shape(x)) if w is None else sp.as_doubles(w)
    values = sp.smoothed(x, y, w, lam)
    t = sp.ended_knots(x, 3)
    ends = (NAMED["natural"], NAMED["natural"])
    return _b_spline(t, sp.conditioned(x, values, t, 3, ends), 3, axis)


def _not_negative(lam: Any) -> bool:
    return not np.any(lam < 0)


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
    make_interp_spline, make_lsq_spline, make_smoothing_spline, splrep, splev, splint, splder,
    splantider, splprep,
)  # fmt: skip
for _func in FUNCTIONS:
    _func.__doc__ = getattr(sci, _func.__name__).__doc__
