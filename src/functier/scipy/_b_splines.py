"""Twins for `scipy.interpolate`: B-splines, and those that are made for a table."""

from typing import Any

import numpy as np
import scipy.interpolate as sci  # type: ignore[import-untyped]

from .._rules.constructors import check_values
from . import _splines as sp
from ._piecewise import (
    Held,
    is_zero,
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
        check_values(y[:1] - y[-1:], is_zero, "First and last points does not match")
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
