"""The twin of `cmath`: its functions, which also take tensors without axes.

Where a result is not finite, `cmath` is asked about the plain values of these examples, as in
`mathematics`: it raises its own error, or agrees.
"""

import cmath
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .calls import complex_
from .mathematics import Mathematics
from .python_numbers import as_float, in_level, is_finite
from .values import TENSORS, noting_level, plain_values, settled


def _compute(func: Callable, formula: Callable, args: tuple) -> Any:
    """Return ``formula(*args)`` of complex scalars; raise as `func` does for an example."""
    values = settled(args)
    if not any(map(in_level, values)):
        return func(*values)
    level = noting_level(values)
    if level is not None:
        return level.missing(func, tuple(values), {})
    numbers = [complex_(x) for x in values]
    with np.errstate(all="ignore"):
        y = formula(*numbers)
    _check(func, numbers, y)
    return y


def _check(func: Callable, numbers: list, y: Any) -> None:
    """Raise the error of `func` where its result is not finite."""
    if is_finite(y):
        return
    rows = np.asarray(plain_values(np.stack([*numbers, y]))).reshape(-1, len(numbers) + 1)
    for *given, found in rows[~np.isfinite(rows[:, -1])].tolist():
        wanted = func(*given)
        if repr(wanted) != repr(found):
            raise ArithmeticError(
                f"cmath.{func.__name__} is {wanted} for {given} of an example, and the formula "
                f"for tensors makes {found}; replace such values before, with numpy.where"
            )


def _logarithm(z: Any, base: Any = None) -> Any:
    return np.log(z) if base is None else np.log(z) / np.log(base)


FORMULAS: dict[str, Callable] = {
    "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh,
    "atan": np.arctan, "atanh": np.arctanh, "cos": np.cos, "cosh": np.cosh, "exp": np.exp,
    "log": _logarithm, "log10": np.log10, "sin": np.sin, "sinh": np.sinh, "sqrt": np.sqrt,
    "tan": np.tan, "tanh": np.tanh,
}  # fmt: skip
"""The functions of `cmath` with complex results, each as a formula of complex scalars."""


def _phase(z: Any) -> Any:
    z = complex_(z)
    return np.arctan2(np.imag(z), np.real(z))


def _polar(z: Any) -> Any:
    return np.absolute(complex_(z)), _phase(z)


def _rect(r: Any, phi: Any) -> Any:
    r, phi = [as_float(x, "rect") if in_level(x) else float(x) for x in (r, phi)]
    return complex_(r * np.cos(phi), r * np.sin(phi))


def _truth_of(test: Callable) -> Callable:
    return lambda z: test(complex_(z))


OTHERS: dict[str, Callable] = {
    "phase": _phase, "polar": _polar, "rect": _rect,
    "isfinite": _truth_of(np.isfinite), "isinf": _truth_of(np.isinf),
    "isnan": _truth_of(np.isnan),
}  # fmt: skip
"""Functions with other arguments or results."""


def _twin(name: str) -> Any:
    """Return the twin of a name of `cmath`: what has no formula refuses tensors as before."""
    func = getattr(cmath, name)
    if name not in FORMULAS and name not in OTHERS:
        return func

    @functools.wraps(func)
    def call(*args: Any) -> Any:
        if not any([isinstance(x, TENSORS) for x in args]):
            return func(*args)
        if name in FORMULAS:
            return _compute(func, FORMULAS[name], args)
        values = settled(args)
        return OTHERS[name](*values) if any(map(in_level, values)) else func(*values)

    call.__module__, call.__qualname__ = __name__, f"CMATH.{name}"  # by which it is pickled
    return call


CMATH: Any = Mathematics(cmath, _twin)
"""The twin of `cmath`."""
