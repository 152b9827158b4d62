"""Twins for `scipy.interpolate`: piecewise polynomials.

A twin inherits from SciPy's class, and is SciPy's where there is no tensor. Its data may come
from outside of a transform.
"""

from typing import Any

import numpy as np
import scipy.interpolate as sci  # type: ignore[import-untyped]

from .._core.errors import UnsupportedError
from .._rules.constructors import check_values
from . import _splines as sp
from ._parts import Layout, NewBatch
from ._problems import has_tensor


def _increasing(x: Any) -> bool:
    return not np.any(x[..., 1:] <= x[..., :-1])


def increasing(x: Any) -> Any:
    return check_values(x, _increasing, "`x` must be strictly increasing sequence.")


def _falls_nowhere(t: Any) -> bool:
    return not np.any(t[..., 1:] < t[..., :-1])


def sorted_knots(t: Any) -> Any:
    message = "Knots must be in a non-decreasing order."
    return check_values(sp.as_doubles(t), _falls_nowhere, message)


def is_zero(difference: Any) -> bool:
    return np.allclose(difference, 0, atol=1e-15)


def is_nowhere(beyond: Any) -> bool:
    return not np.any(beyond)


def to_front(y: Any, axis: int) -> Any:
    return np.moveaxis(y, axis, 0)


def placed(values: Any, ndim: int, axis: int) -> Any:
    """Return values whose first `ndim` axes are those of the places, with these at `axis`."""
    order = list(range(np.ndim(values)))
    order = order[ndim : ndim + axis] + order[:ndim] + order[ndim + axis :]
    return np.transpose(values, order)


def unsupported(name: str, what: str, remedy: str) -> UnsupportedError:
    return UnsupportedError(
        f"scipy.interpolate.{name}: {what} is not supported for tensors; {remedy}"
    )


class Held:
    """An attribute that SciPy's class may have as a property of plain arrays."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.owner, self.name = owner, name

    def __get__(self, instance: Any, kind: type) -> Any:
        if instance is None:
            return self
        own = instance.__dict__
        return (
            own[self.name] if self.name in own else getattr(super(self.owner, instance), self.name)
        )

    def __set__(self, instance: Any, value: Any) -> None:
        instance.__dict__[self.name] = value
        if not has_tensor(value):  # SciPy's own methods may read it from another place
            setattr(instance, f"_{self.name}", value)
            instance._asarray = np.asarray


# ---- piecewise polynomials ----


class Piecewise:
    """The methods that piecewise polynomials of all classes share."""

    c, x = Held(), Held()
    axis: int
    extrapolate: Any

    def _holds(self, *more: Any) -> bool:
        return has_tensor(self.c, self.x, *more)

    def _set(self, x: Any, c: Any, axis: int, extrapolate: Any) -> None:
        self.x, self.c, self.axis = x, c, axis
        self.extrapolate = True if extrapolate is None else extrapolate

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        if not self._holds(x):
            return super().__call__(x, nu, extrapolate)  # type: ignore[misc]
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        x = sp.as_places(x)
        if extrapolate == "periodic":
            x = self.x[0] + (x - self.x[0]) % (self.x[-1] - self.x[0])
        y = sp.piecewise(self.c, self.x, x, nu)
        if not extrapolate:
            beyond = (x < self.x[0]) | (x > self.x[-1])
            y = np.where(sp.column(beyond, y), np.nan, y)
        return placed(y, np.ndim(x), self.axis)

    def derivative(self, nu: int = 1) -> Any:
        """Return the derivative of order `nu`, another piecewise polynomial."""
        if nu < 0:
            return self.antiderivative(-nu)
        c, size = self.c, np.shape(self.c)[0]
        for _ in range(nu):
            size = np.shape(c)[0]
            powers = sp.column(np.arange(size - 1, 0, -1.0), c[:-1])
            c = c[:-1] * powers if size > 1 else c * 0
        return PPoly.construct_fast(c, self.x, self.extrapolate, self.axis)

    def antiderivative(self, nu: int = 1) -> Any:
        """Return an antiderivative of order `nu`, which is 0 at the first place."""
        if nu <= 0:
            return self.derivative(-nu)
        c = self.c
        for _ in range(nu):
            size = np.shape(c)[0]
            rows = c / sp.column(np.arange(size, 0, -1.0), c)
            width = sp.column(self.x[1:] - self.x[:-1], c[0])
            ends: Any = 0.0
            for j in range(size):
                ends = (ends + rows[j]) * width
            before = np.cumsum(ends, axis=0)
            start = np.concatenate([np.zeros_like(before[:1]), before[:-1]])
            c = np.concatenate([rows, start[None]])
        extrapolate = False if self.extrapolate == "periodic" else self.extrapolate
        return PPoly.construct_fast(c, self.x, extrapolate, self.axis)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """Return the integral between two places."""
        if not self._holds(a, b):
            return super().integrate(a, b, extrapolate)  # type: ignore[misc]
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        if extrapolate == "periodic":
            raise unsupported("PPoly", "a periodic integral", "add the integrals of the periods")
        whole = self.antiderivative()
        return whole(b, extrapolate=extrapolate) - whole(a, extrapolate=extrapolate)

    def solve(self, y: float = 0.0, *more: Any, **options: Any) -> Any:
        """Return the places of a value, which move with the coefficients."""
        if not self._holds(y):
            return super().solve(y, *more, **options)  # type: ignore[misc]
        if np.ndim(self.c) > 2:
            raise unsupported("PPoly.solve", "several polynomials", "solve one after the other")
        layout = Layout()
        try:
            c, x, value = (layout.parts(v)[layout.zero] for v in (self.c, self.x, y))
        except NewBatch:
            raise unsupported(
                "PPoly.solve", "a batch, whose examples may have more or fewer places,",
                "write scipy.optimize.brentq for one of them",
            ) from None  # fmt: skip
        kept = {"extrapolate": self.extrapolate, **options}
        r = sci.PPoly(c, x).solve(value, *more, **kept)
        for _ in range(layout.order.bit_length()):
            r = r - (self(r, 0, True) - y) / self(r, 1, True)
        return r

    def roots(self, *more: Any, **options: Any) -> Any:
        """Return the places of the value 0."""
        return self.solve(0, *more, **options)


class PPoly(Piecewise, sci.PPoly):
    __doc__ = sci.PPoly.__doc__

    @classmethod
    def from_spline(cls, tck: Any, extrapolate: Any = None) -> Any:
        """Return the polynomials of a spline, one for each pair of knots."""
        spline = isinstance(tck, sci.BSpline)
        t, c, k = (tck.t, tck.c, tck.k) if spline else tck
        if not has_tensor(t, c):
            return super().from_spline(tck, extrapolate)
        if spline and extrapolate is None:
            extrapolate = tck.extrapolate
        t, c = sp.as_doubles(t), sp.as_doubles(c)
        rows, factor = [], 1.0
        for nu in range(k + 1):
            rows.append(sp.spline(t, c, k, t[:-1], nu) / factor)
            factor *= nu + 1
        return PPoly.construct_fast(np.stack(rows[::-1]), t, extrapolate)

    @classmethod
    def construct_fast(cls, c: Any, x: Any, extrapolate: Any = None, axis: int = 0) -> Any:
        """Return a polynomial of arrays in SciPy's form, which are not checked."""
        if not has_tensor(c, x):
            return super().construct_fast(c, x, extrapolate, axis)
        made = cls.__new__(cls)
        made._set(x, c, axis, extrapolate)
        return made

    def __init__(self, c: Any, x: Any, extrapolate: Any = None, axis: int = 0):
        if not has_tensor(c, x):
            super().__init__(c, x, extrapolate, axis)
            return
        c, x = sp.as_doubles(c), sp.as_doubles(x)
        c = np.moveaxis(np.moveaxis(c, axis + 1, 0), axis + 1, 0) if axis else c
        super().__init__(np.zeros(np.shape(c)), np.arange(float(np.shape(x)[0])))
        self._set(increasing(x), c, axis, extrapolate)


def table_of(x: Any, y: Any, axis: int) -> tuple:
    """Return places and values as arrays, the values with their axis in front."""
    x, y = sp.as_doubles(x), sp.as_doubles(y)
    axis = axis % max(np.ndim(y), 1)
    return increasing(x), to_front(y, axis), axis


class CubicSpline(Piecewise, sci.CubicSpline):
    __doc__ = sci.CubicSpline.__doc__

    def __init__(
        self, x: Any, y: Any, axis: int = 0, bc_type: Any = "not-a-knot", extrapolate: Any = None
    ):
        if not has_tensor(x, y, bc_type):
            super().__init__(x, y, axis, bc_type, extrapolate)
            return
        like = np.arange(float(np.shape(x)[0])), np.zeros(np.shape(y))
        super().__init__(*like, axis, bc_type if isinstance(bc_type, str) else "natural")
        if isinstance(bc_type, str) and bc_type == "periodic":
            x, y, axis = table_of(x, y, axis)
            message = (
                "The first and last `y` point along axis must be identical (within machine "
                "precision) when bc_type='periodic'."
            )
            check_values(y[:1] - y[-1:], is_zero, message)
            c = sp.of_slopes(x, y, sp.periodic_slopes(x, y))
            self._set(x, c, axis, "periodic" if extrapolate is None else extrapolate)
            return
        ends = [bc_type] * 2 if isinstance(bc_type, str) else list(bc_type)
        named = {"natural": (2, 0.0), "clamped": (1, 0.0)}
        ends = [named.get(e, e) if isinstance(e, str) else e for e in ends]
        x, y, axis = table_of(x, y, axis)
        c = sp.of_slopes(x, y, sp.cubic_slopes(x, y, ends))
        self._set(x, c, axis, extrapolate)


class CubicHermiteSpline(Piecewise, sci.CubicHermiteSpline):
    __doc__ = sci.CubicHermiteSpline.__doc__

    def __init__(self, x: Any, y: Any, dydx: Any, axis: int = 0, extrapolate: Any = None):
        if not has_tensor(x, y, dydx):
            super().__init__(x, y, dydx, axis, extrapolate)
            return
        x, y, axis = table_of(x, y, axis)
        self._set(x, sp.of_slopes(x, y, to_front(sp.as_doubles(dydx), axis)), axis, extrapolate)


class PchipInterpolator(Piecewise, sci.PchipInterpolator):
    __doc__ = sci.PchipInterpolator.__doc__

    def __init__(self, x: Any, y: Any, axis: int = 0, extrapolate: Any = None):
        if not has_tensor(x, y):
            super().__init__(x, y, axis, extrapolate)
            return
        x, y, axis = table_of(x, y, axis)
        self._set(x, sp.of_slopes(x, y, sp.monotone_slopes(x, y)), axis, extrapolate)


class Akima1DInterpolator(Piecewise, sci.Akima1DInterpolator):
    __doc__ = sci.Akima1DInterpolator.__doc__

    def __init__(self, x: Any, y: Any, axis: int = 0, **options: Any):
        if not has_tensor(x, y):
            super().__init__(x, y, axis, **options)
            return
        method = options.get("method", "akima")
        if method not in ("akima", "makima"):
            super().__init__(np.arange(3.0), np.zeros(3), **options)  # SciPy's error
        x, y, axis = table_of(x, y, axis)
        extrapolate = options.get("extrapolate")
        extrapolate = False if extrapolate is None else extrapolate
        slopes = sp.akima_slopes(x, y, method == "makima")
        self._set(x, sp.of_slopes(x, y, slopes), axis, extrapolate)


def pchip_interpolate(xi: Any, yi: Any, x: Any, der: Any = 0, axis: int = 0) -> Any:
    """`scipy.interpolate.pchip_interpolate`, for data or places that are tensors."""
    if not has_tensor(xi, yi, x):
        return sci.pchip_interpolate(xi, yi, x, der, axis)
    made = PchipInterpolator(xi, yi, axis)
    several = np.ndim(der) > 0
    return [made(x, nu) for nu in der] if several else made(x, der)


pchip_interpolate.__doc__ = sci.pchip_interpolate.__doc__
