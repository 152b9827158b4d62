"""The twin of `math`: its functions, which also take tensors without axes.

NOTE [the errors of math]
    Where a result is not finite, `math` is asked about the plain values of these examples: it
    raises its own error, or agrees. So no domain is written down here a second time.
"""

import functools
import math
import operator
from collections.abc import Callable
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import numpy as np

from .._levels.raised import Outcomes
from .._transforms.stop_gradient import stop_gradient
from .calls import as_int
from .python_numbers import as_float, in_level, is_finite, known_float, noted
from .values import TENSORS, noting_level, plain_values, settled


def _number(x: Any, func: Callable) -> Any:
    """Return an argument as a float64, a tensor or a Python float; raise as `math` does."""
    return as_float(x, func.__name__) if in_level(x) else math.ldexp(x, 0)


def _compute(func: Callable, formula: Callable, args: tuple, kwargs: dict) -> Any:
    """Return ``formula(*args)`` of float64 scalars; raise as `func` does for an example."""
    numbers: Any = None if kwargs or formula not in SILENT else _usual(func, args)
    if numbers is not None:
        y = noted(formula(*numbers), True)
    else:
        values = settled(args)
        if kwargs or not any(map(in_level, values)):
            return func(*values, **kwargs)
        level = noting_level(values)
        if level is not None:
            return level.missing(func, tuple(values), kwargs)
        numbers = [_number(x, func) for x in values]
        with np.errstate(all="ignore"):
            y = noted(formula(*numbers), True)
    _check(func, numbers, y)
    return y


def _usual(func: Callable, args: tuple) -> list | None:
    """Return the operands where `func` of their plain values is a normal number, and no error.

    Their rules run later. None stands for all other operands.
    """
    numbers, known = [], []
    for x in args:
        value = known_float(x, ("reverse",))
        if type(x) is int:
            x = value = math.ldexp(x, 0)
        elif value is None:
            return None
        elif type(value) is float and value is not x and len(args) > 1:  # by NumPy's rules
            x = as_float(x)
        numbers.append(x)
        known.append(value)
    try:
        return numbers if 1e-290 < abs(func(*known)) < math.inf else None
    except (ArithmeticError, ValueError):
        return None


def _check(func: Callable, numbers: list, y: Any) -> None:
    """Raise the error of `func` where its result is not finite: see NOTE [the errors of math]."""
    if is_finite(y):
        return
    table = np.stack([*numbers, y])
    rows = np.asarray(plain_values(table)).reshape(-1, len(numbers) + 1)
    for row in np.unique(rows[~np.isfinite(rows[:, -1])], axis=0):
        *given, found = row.tolist()
        try:
            wanted = func(*given)
        except Exception as error:
            same = [np.equal(stop_gradient(x), v) | (v != v) for x, v in zip(numbers, given)]
            Outcomes.run_apart(np.all(np.stack(same), axis=0), f"math.{func.__name__}", error)
            raise
        if wanted != found and not (math.isnan(wanted) and math.isnan(found)):
            raise ArithmeticError(
                f"math.{func.__name__} is {wanted} for {given} of an example, and the formula for "
                f"tensors makes {found}; replace such values before, with numpy.where"
            )


def _truth(y: Any) -> Any:
    """Return a truth value: a bool, or under vmap one for each example."""
    return y if in_level(y) else bool(y)


# ---- formulas ----


def _logarithm(x: Any, base: Any = None) -> Any:
    if base is None:
        return np.log(x)
    above, below = MATH.log(x), MATH.log(base)
    return np.divide(above, below)


def _remainder(x: Any, y: Any) -> Any:
    """IEEE 754's remainder, without rounding errors: half-way cases go to the even quotient."""
    size, step = np.fabs(x), np.fabs(y)
    m = np.fmod(size, step)
    c = step - m
    even = m - 2.0 * np.fmod(0.5 * (size - m), step)
    r = np.where(m < c, m, np.where(m > c, -c, even))
    return np.where(np.signbit(x), -r, r)[()]


def _hypotenuse(*xs: Any) -> Any:
    if len(xs) == 2:
        return np.hypot(*xs)
    with np.errstate(under="ignore"):
        return functools.reduce(np.hypot, xs[1:], np.fabs(xs[0]))


def _unit(x: Any) -> Any:
    """The unit in the last place."""
    return np.where(np.isinf(x), np.fabs(x), np.spacing(np.fabs(x)))[()]


def _special(name: str) -> Callable:
    """Return the function of SciPy's that a function of `math` is."""
    if find_spec("scipy") is None:
        raise ImportError(
            f"math.{name} of a tensor is computed by scipy.special; install scipy, "
            f"the extra functier[scipy]"
        )
    import scipy.special  # type: ignore[import-untyped]

    return getattr(scipy.special, SPECIAL[name])


SPECIAL = {"erf": "erf", "erfc": "erfc", "gamma": "gamma", "lgamma": "gammaln"}

FORMULAS: dict[str, Callable] = {
    "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh,
    "atan": np.arctan, "atan2": np.arctan2, "atanh": np.arctanh, "cbrt": np.cbrt,
    "copysign": np.copysign, "cos": np.cos, "cosh": np.cosh, "degrees": np.degrees,
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "fabs": np.fabs, "fmod": np.fmod,
    "hypot": _hypotenuse, "log": _logarithm, "log10": np.log10, "log1p": np.log1p,
    "log2": np.log2, "nextafter": np.nextafter, "pow": np.float_power, "radians": np.radians,
    "remainder": _remainder, "sin": np.sin, "sinh": np.sinh, "sqrt": np.sqrt, "tan": np.tan,
    "tanh": np.tanh, "ulp": _unit,
}  # fmt: skip
"""The functions of `math` with float results, each as a formula of float64 scalars."""

SILENT = {*(f for f in FORMULAS.values() if isinstance(f, np.ufunc)), _logarithm, _hypotenuse}
"""Formulas that set no flag of errors where their result is neither tiny nor infinite."""

WHOLE = {"ceil": np.ceil, "floor": np.floor, "trunc": np.trunc}
TRUTHS = {"isfinite": np.isfinite, "isinf": np.isinf, "isnan": np.isnan}


# ---- functions with other arguments or results ----


def _isclose(a: Any, b: Any, /, *, rel_tol: Any = 1e-09, abs_tol: Any = 0.0) -> Any:
    a, b, rel_tol, abs_tol = numbers = settled((a, b, rel_tol, abs_tol))
    if not any(map(in_level, numbers)):
        return math.isclose(a, b, rel_tol=rel_tol, abs_tol=abs_tol)
    a, b, rel_tol, abs_tol = [_number(x, math.isclose) for x in numbers]
    if any([np.less(plain_values(x), 0.0).any() for x in (rel_tol, abs_tol)]):
        raise ValueError("tolerances must be non-negative")
    with np.errstate(all="ignore"):
        distance = np.fabs(b - a)
        near = distance <= np.fabs(rel_tol * b)
        near = near | (distance <= np.fabs(rel_tol * a)) | (distance <= abs_tol)
        infinite = np.isinf(a) | np.isinf(b)
        return _truth((a == b) | (near & ~infinite))


def _frexp(x: Any, /) -> Any:
    (x,) = settled((x,))
    if not in_level(x):
        return math.frexp(x)
    x = as_float(x, "frexp")
    power = np.frexp(x)[1]
    small = np.ldexp(x, -power // 2)  # in two steps, as 2 to the power may not be a number
    return np.ldexp(small, -power - -power // 2), as_int(power, int, np.trunc)


def _ldexp(x: Any, i: Any, /) -> Any:
    x, i = settled((x, i))
    if not in_level(x) and not in_level(i):
        return math.ldexp(x, i)
    if not hasattr(i, "__index__") or (in_level(i) and (i.dtype.kind not in "iu" or i.ndim)):
        raise TypeError("Expected an int as second argument to ldexp.")
    x = _number(x, math.ldexp)
    with np.errstate(all="ignore"):
        y = np.ldexp(x, i if in_level(i) else max(-5000, min(5000, i)))
    _check(_ldexp_of_floats, [x, i], y)
    return noted(y, True)


def _ldexp_of_floats(x: float, i: float) -> float:
    return math.ldexp(x, int(i))


def _modf(x: Any, /) -> Any:
    (x,) = settled((x,))
    if not in_level(x):
        return math.modf(x)
    return np.modf(as_float(x, "modf"))


def _fsum(seq: Any, /) -> Any:
    values = settled(seq)
    if not any(map(in_level, values)):
        return math.fsum(values)
    level = noting_level(values)
    if level is not None:
        return level.missing(math.fsum, (list(values),), {})
    numbers = [_number(x, math.fsum) for x in values]
    with np.errstate(all="ignore"):
        total = _exact_sum(numbers)
    _check(_fsum_of_floats, numbers, total)
    return noted(total, True)


def _exact_sum(numbers: list) -> Any:
    """Return a sum that keeps the rounding error of each of its steps."""
    partials: list[Any] = []
    for x in numbers:
        for i, y in enumerate(partials):
            s = x + y
            z = s - x
            partials[i], x = (x - (s - z)) + (y - z), s
        partials.append(x)
    return functools.reduce(operator.add, partials)


def _fsum_of_floats(*xs: float) -> float:
    return math.fsum(xs)


def _prod(iterable: Any, /, *, start: Any = 1) -> Any:
    values = settled((start, *iterable))
    if not any(map(in_level, values)):
        return math.prod(values[1:], start=values[0])
    product = values[0]
    for x in values[1:]:
        product = product * x
    return product


def _sumprod(p: Any, q: Any, /) -> Any:
    left, right = settled(p), settled(q)
    if not any(map(in_level, left + right)):
        return math.sumprod(left, right)  # type: ignore[attr-defined]  # since 3.12
    level = noting_level(left + right)
    if level is not None:
        return level.missing(math.sumprod, (left, right), {})  # type: ignore[attr-defined]
    if len(left) != len(right):
        raise ValueError("Inputs are not the same length")
    return _fsum([x * y for x, y in zip(left, right)])


def _dist(p: Any, q: Any, /) -> Any:
    left, right = settled(p), settled(q)
    if not any(map(in_level, left + right)):
        return math.dist(left, right)
    level = noting_level(left + right)
    if level is not None:
        return level.missing(math.dist, (left, right), {})
    if len(left) != len(right):
        raise ValueError("both points must have the same number of dimensions")
    pairs = zip(left, right)
    return _hypotenuse(*[_number(x, math.dist) - _number(y, math.dist) for x, y in pairs])


SPECIAL_FORMS: dict[str, Callable] = {
    "dist": _dist, "frexp": _frexp, "fsum": _fsum, "isclose": _isclose, "ldexp": _ldexp,
    "modf": _modf, "prod": _prod, "sumprod": _sumprod,
}  # fmt: skip


# ---- the module ----


def _twin(name: str) -> Any:
    """Return the twin of a name of `math`: what has no formula refuses tensors as before."""
    func = getattr(math, name)
    call: Any
    if name in SPECIAL_FORMS:
        call = functools.wraps(func)(SPECIAL_FORMS[name])
    elif name in FORMULAS:
        call = _with_formula(func, FORMULAS[name])
    elif name in SPECIAL:
        call = _with_formula(func, lambda x: _special(name)(x))
    elif name in WHOLE:
        call = _of_one(func, lambda x: as_int(x, func, WHOLE[name]))
    elif name in TRUTHS:
        call = _of_one(func, lambda x: _truth(TRUTHS[name](_number(settled((x,))[0], func))))
    else:
        return func
    call.__module__, call.__qualname__ = __name__, f"MATH.{name}"  # by which it is pickled
    return call


def _of_one(func: Callable, compute: Callable) -> Callable:
    """`func`, a function of one argument, or `compute` where that is a tensor."""

    @functools.wraps(func)
    def call(x: Any, /) -> Any:
        return compute(x) if isinstance(x, TENSORS) else func(x)

    return call


def _with_formula(func: Callable, formula: Callable) -> Callable:
    """`func`, or `formula` where an argument is a tensor."""
    if getattr(formula, "nin", 0) == 1 or func.__name__ in ("ulp", *SPECIAL):
        return _of_one(func, lambda x: _compute(func, formula, (x,), {}))

    if getattr(formula, "nin", 0) == 2 or formula is _remainder:

        @functools.wraps(func)
        def call_two(x: Any, y: Any, /, **words: Any) -> Any:
            if isinstance(x, TENSORS) or isinstance(y, TENSORS):
                return _compute(func, formula, (x, y), words)
            return func(x, y, **words)

        return call_two

    @functools.wraps(func)
    def call(*args: Any, **words: Any) -> Any:
        if any([isinstance(x, TENSORS) for x in args]):
            return _compute(func, formula, args, words)
        return func(*args, **words)

    return call


class Mathematics(ModuleType):
    """The twin of `math` or `cmath`: a module with the same names."""

    def __init__(self, original: ModuleType, twin_of: Callable[[str], Any]) -> None:
        super().__init__(original.__name__, original.__doc__)
        for name in dir(original):
            if name[0] != "_":
                setattr(self, name, twin_of(name))
        TWINS[original.__name__] = self

    def __reduce__(self) -> tuple:
        return the_twin, (self.__name__,)  # by its name it would become the original


TWINS: dict[str, Mathematics] = {}
"""The twins by the names of their originals."""


def the_twin(name: str) -> Mathematics:
    """Return the twin of a module."""
    return TWINS[name]


MATH: Any = Mathematics(math, _twin)
"""The twin of `math`."""
