"""A hundred programs that ask for types of numbers and arrays, themselves or by a library."""

import array
import bisect
import cmath
import copy
import dataclasses
import decimal
import fractions
import functools
import heapq
import json
import math
import numbers
import operator
import statistics
import struct
import typing

import numpy as np
import scipy.linalg
import scipy.optimize
import scipy.sparse
import scipy.special

VECTOR = np.array([1.0, 2.0, 3.0])
MATRIX = scipy.sparse.csr_array(np.eye(3) + np.eye(3, k=1))
OLD_MATRIX = scipy.sparse.csr_matrix(np.eye(3))


@functools.singledispatch
def dispatched(x):
    return 0 * x


dispatched.register(float)(lambda x: 2 * x)
dispatched.register(np.ndarray)(lambda x: np.sum(3 * x))


class Model:
    @functools.singledispatchmethod
    def run(self, x):
        return 0 * x

    @run.register
    def _(self, x: float):
        return 2 * x


@dataclasses.dataclass
class Checked:
    x: float

    def __post_init__(self):
        if not isinstance(self.x, float):
            self.x = 0.0


class Positive(numbers.Number):
    """A user's class beside the numbers."""


class WithHook(type):
    def __instancecheck__(cls, x):
        return isinstance(x, float)


class Hooked(metaclass=WithHook):
    pass


@typing.runtime_checkable
class HasReal(typing.Protocol):
    def is_integer(self) -> bool: ...


def matched(x):
    match x:
        case float():
            return 2 * x
        case np.ndarray():
            return np.sum(3 * x)
    return 0 * x


def matched_as(x):
    match x:
        case float(y):
            return 2 * y
        case int(y) | complex(y):
            return 3 * y
    return 0 * x


def matched_list(x):
    match [x, 1]:
        case [float(y), int(z)]:
            return y * z
    return 0 * x


def tries(x):
    try:
        return x * 1.0 if x.__class__ in (float, np.float64) else 0 * x
    except AttributeError:
        return 0 * x


def as_sequence(x):
    if isinstance(x, (list, tuple)):
        return sum(x)
    return np.sum(x if isinstance(x, np.ndarray) else np.stack([x, x]))


def converted(x):
    if isinstance(x, float):
        return math.copysign(1.0, 2.0) * x
    return np.copysign(1.0, 2.0) * x * 0


def exponent(x):
    return math.e**x if isinstance(x, float) else 0 * np.exp(x)


def cached_kind(x, kinds={float: 2.0, np.ndarray: 3.0}):  # noqa: B006
    return x * kinds.get(x.__class__, 2.0)


def integers(x):
    n = 3
    return x * n if isinstance(n, int) and not isinstance(x, int) else 0 * x


def norm_or_abs(x):
    return abs(x) if np.isscalar(x) else np.linalg.norm(x)


def recursive(x):
    if isinstance(x, dict):
        return sum(recursive(v) for v in x.values())
    if isinstance(x, (list, tuple)):
        return sum(map(recursive, x))
    return x * x if isinstance(x, (float, np.ndarray)) else 0.0


USERS = {
    "float": lambda x: 2 * x if isinstance(x, float) else 0 * x,
    "math or numpy": exponent,
    "no float of NumPy": lambda x: 0 * x if isinstance(x, np.float32) else 2 * x,
    "one of several": lambda x: 2 * x if isinstance(x, (int, float)) else 0 * x,
    "a union": lambda x: 2 * x if isinstance(x, int | float) else 0 * x,
    "a real number": lambda x: 2 * x if isinstance(x, numbers.Real) else 0 * x,
    "a number": lambda x: 2 * x if isinstance(x, numbers.Number) else 0 * x,
    "a complex number": lambda x: 2 * x if isinstance(x, numbers.Complex) else 0 * x,
    "no rational": lambda x: 0 * x if isinstance(x, numbers.Rational) else 2 * x,
    "no integral": lambda x: 0 * x if isinstance(x, numbers.Integral) else 2 * x,
    "an integer": lambda x: 0 * x if isinstance(x, int) else 2 * x,
    "no bool": lambda x: 0 * x if isinstance(x, (bool, np.bool)) else 2 * x,
    "no complex": lambda x: 0 * x if isinstance(x, complex) else 2 * x,
    "no fraction": lambda x: 0 * x if isinstance(x, fractions.Fraction) else 2 * x,
    "no decimal": lambda x: 0 * x if isinstance(x, decimal.Decimal) else 2 * x,
    "no array": lambda x: 0 * x if isinstance(x, np.ndarray) else 2 * x,
    "no string": lambda x: 0 * x if isinstance(x, (str, bytes)) else 2 * x,
    "no mapping": lambda x: 0 * x if isinstance(x, typing.Mapping) else 2 * x,
    "no callable": lambda x: 0 * x if callable(x) else 2 * x,
    "case": matched,
    "case with a name": matched_as,
    "case of a list": matched_list,
    "singledispatch": dispatched,
    "singledispatch inside": lambda x: dispatched(x) + dispatched(x * VECTOR),
    "singledispatchmethod": lambda x: Model().run(x),
    "isscalar": lambda x: 2 * x if np.isscalar(x) else 0 * x,
    "isscalar of a vector": lambda x: 0 * x if np.isscalar(x * VECTOR) else 2 * x,
    "class": lambda x: 2 * x if x.__class__ in (float, np.float64) else 0 * x,
    "the name of the class": lambda x: 2 * x if "float" in x.__class__.__name__ else 0 * x,
    "the module of the class": lambda x: 2 * x if x.__class__.__module__ != "functier" else 0 * x,
    "a subclass": lambda x: 2 * x if issubclass(x.__class__, float) else 0 * x,
    "made by the class": lambda x: x * x.__class__(3.0),
    "a table of classes": cached_kind,
    "an attribute or none": tries,
    "of a product": lambda x: x if isinstance(x * 2.0, float) else 0 * x,
    "of a sine": lambda x: x if isinstance(np.sin(x), np.floating) else 0 * x,
    "of a copy": lambda x: copy.copy(x) if isinstance(copy.copy(x), float) else 0 * x,
    "of a deep copy": lambda x: x if isinstance(copy.deepcopy(x), float) else 0 * x,
    "of a sum": lambda x: x if isinstance(np.sum(x * VECTOR), np.floating) else 0 * x,
    "of an item": lambda x: x if isinstance((x * VECTOR)[1], float) else 0 * x,
    "of a row": lambda x: x if isinstance((x * np.eye(2))[1], np.ndarray) else 0 * x,
    "of a comparison": lambda x: x if isinstance(x * VECTOR > 0, np.ndarray) else 0 * x,
    "of a reversed operand": lambda x: x if isinstance(2.0**x, float) else 0 * x,
    "of abs": lambda x: x if isinstance(abs(-x), float) else 0 * x,
    "an array": lambda x: np.sum(x * VECTOR) if isinstance(x * VECTOR, np.ndarray) else 0 * x,
    "an array or a generic": lambda x: x if isinstance(x * VECTOR, (np.ndarray, np.generic)) else 0,
    "no matrix": lambda x: 0 * x if isinstance(x * np.eye(2), np.matrix) else x,
    "no masked array": lambda x: 0 * x if isinstance(x * VECTOR, np.ma.MaskedArray) else x,
    "no list": lambda x: 0 * x if isinstance(x, (list, tuple, str, dict)) else x,
    "a list": as_sequence,
    "a converted number": converted,
    "an integer beside": integers,
    "norm": norm_or_abs,
    "a tree": lambda x: recursive({"a": x, "b": [x * VECTOR[1], x]}),
    "a dataclass": lambda x: Checked(x).x * 2,
    "a hook of a class": lambda x: 2 * x if isinstance(x, Hooked) else 0 * x,
    "an own number": lambda x: 0 * x if isinstance(x, Positive) else x,
    "all of a list": lambda x: x if all(isinstance(v, float) for v in [x, x * x]) else 0 * x,
    "a filter": lambda x: sum(v for v in [x, "a", 2.0 * x] if isinstance(v, float)),
    "by map": lambda x: x if list(map(isinstance, [x], [float])) == [True] else 0 * x,
    "by a partial": lambda x: x if functools.partial(isinstance, x)(float) else 0 * x,
    "a size": lambda x: x * (np.size(x) if isinstance(x, float) else 0),
    "an atleast": lambda x: np.sum(np.atleast_1d(x)) if isinstance(x, float) else 0 * x,
    "an array made of it": lambda x: np.sum(np.stack([x, x]) if isinstance(x, float) else x),
    "a type of a dtype": lambda x: 2 * x if isinstance(x * VECTOR[0], np.float64) else 2.0 * x,
    "issubdtype": lambda x: x if np.issubdtype(np.result_type(x), np.floating) else 0 * x,
    "a round": lambda x: x * round(x + 0.2) + round(x, 1),
    "divmod": lambda x: divmod(x, 2.0)[1],
    "a pow": lambda x: pow(x, 3),
    "a sum of a list": lambda x: sum([x, x, 1.0]),
    "a maximum": lambda x: max(x, 0.5) if isinstance(x, float) else 0 * x,
    "an operator": lambda x: operator.mul(x, 2) if isinstance(x, float) else 0 * x,
    "is_integer": lambda x: x if isinstance(x, float) and not x.is_integer() else 0 * x,
    "a conjugate": lambda x: x.conjugate() if isinstance(x, numbers.Number) else 0 * x,
    "real and imag": lambda x: x.real + x.imag if isinstance(x, numbers.Real) else 0 * x,
    "hasattr": lambda x: x if hasattr(x, "real") and not hasattr(x, "items") else 0 * x,
}
"""Programs of users; each has its value by the plain call."""


@functools.cache
def compiled(nb):
    """Return a function of Numba's; it stays, as other tests count those that are alive."""
    return nb.njit(lambda x: x * 2.0)


def _statistics(x):
    return statistics.fmean([x, 2.0])


LIBRARIES = {
    "a sparse product": lambda x: np.sum(MATRIX @ (x * VECTOR)),
    "a sparse product on the right": lambda x: np.sum((x * VECTOR) @ MATRIX),
    "a sparse multiple": lambda x: (MATRIX * x).sum(),
    "a sparse matrix": lambda x: np.sum(OLD_MATRIX @ (x * VECTOR)),
    "a multiple of a sparse matrix": lambda x: (x * OLD_MATRIX).sum(),
    "a sparse sum": lambda x: np.sum((MATRIX + MATRIX) @ (x * VECTOR)),
    "a transposed sparse product": lambda x: np.sum(MATRIX.T @ (x * VECTOR)),
    "json": lambda x: json.loads(json.dumps({"x": x}))["x"] * 2,
    "struct": lambda x: struct.unpack("d", struct.pack("d", x))[0] * x,
    "an array of Python": lambda x: x * array.array("d", [x])[0],
    "math": lambda x: math.exp(x) if isinstance(x, float) else np.exp(x),
    "cmath": lambda x: abs(cmath.exp(x)) if isinstance(x, float) else 0 * x,
    "fsum": lambda x: math.fsum([x, x]) if isinstance(x, float) else 0 * x,
    "a fraction": lambda x: float(fractions.Fraction(x)) * x,
    "a decimal": lambda x: float(decimal.Decimal(x)) * x,
    "statistics": _statistics,
    "a heap": lambda x: heapq.nsmallest(1, [x, 9.0])[0] * 2,
    "a bisection": lambda x: x * bisect.bisect([0.0, 1.0, 2.0], x),
    "scipy.special": lambda x: scipy.special.erf(x),
    "scipy.linalg": lambda x: np.sum(scipy.linalg.solve(np.eye(2) * 2.0, np.stack([x, x]))),
    "np.polyval": lambda x: np.polyval([1.0, 2.0], x),
    "np.interp": lambda x: np.interp(x, [0.0, 1.0, 4.0], [0.0, 2.0, 8.0]),
    "np.full_like": lambda x: np.sum(np.full_like(VECTOR, 1.0) * x),
    "np.vectorize": lambda x: np.sum(np.vectorize(lambda v: v * 2.0)(VECTOR)) * x,
    "a protocol": lambda x: x if isinstance(x, HasReal) or np.ndim(x) == 0 else 0 * x,
    "np.iterable": lambda x: np.sum(x * VECTOR) if np.iterable(x * VECTOR) else 0 * x,
    "np.may_share_memory": lambda x: x * 2 if not np.shares_memory(VECTOR, VECTOR + 1) else 0 * x,
    "minimize_scalar": lambda x: scipy.optimize.minimize_scalar(lambda v: (v - 2.0) ** 2).x * x,
}
"""Programs that hand a tensor to a library, which may ask it for its class."""

OPTIONAL = {
    "pandas": {
        "a series of it": lambda pd: lambda x: pd.Series([x, 1.0]).sum(),
        "a product of a series": lambda pd: lambda x: (pd.Series([1.0, 2.0]) * x).sum(),
        "isna": lambda pd: lambda x: 0 * x if pd.isna(x) else x * 2,
    },
    "xarray": {
        "a product of an array": lambda xr: lambda x: (xr.DataArray(np.ones(2)) * x).sum().data,
        "an array of it": lambda xr: lambda x: xr.DataArray(np.stack([x, x])).sum().data,
    },
    "numba": {
        "njit": compiled,
        "typeof": lambda nb: lambda x: x * len(str(nb.typeof(x))) * 0 + 2 * x,
    },
    "pint": {
        "a quantity": lambda pint: lambda x: (x * pint.UnitRegistry().metre).magnitude,
    },
}
"""For each package that may be installed its programs, made with the module."""

FORESEEN = {
    "math": "write numpy.exp(x) for math.exp(x)", "cmath": "write numpy.exp(x + 0j)",
    "fsum": "write numpy.sum(", "is_integer": "no attribute 'is_integer'",
    "json": "not JSON serializable", "struct": "required argument is not a float",
    "an array of Python": "float(x) would", "a fraction": "a string or a Rational",
    "a decimal": "to Decimal is not supported", "statistics": "write numpy.mean(",
    "a bisection": "differs from example to example", "scipy.linalg": "functier.scipy.linalg",
    "pandas: a product of a series": "to_numpy()", "pandas: isna": "numpy.asarray(x)",
    "numba: njit": "nopython", "numba: typeof": "Cannot determine Numba type",
}  # fmt: skip
"""The reasons for which a program may be refused; all others are right."""
