"""Operators of `float` as functions, such as ``float.__mul__``: their twins take tensors.

Code that makes its operators by a table has them. Each asks Python what a number is: it returns
NotImplemented for an operand that is none, and raises where `float` does.
"""

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .calls import int_, isinstance_
from .values import TENSORS, in_level, is_finite, plain_values, settled

ARITHMETIC = "add", "sub", "mul", "truediv", "floordiv", "mod", "pow"
COMPARISONS = "lt", "le", "eq", "ne", "gt", "ge"


def _binary(slot: Callable, function: Callable, reflected: bool, raises: bool) -> Callable:
    def call(*args: Any) -> Any:
        if len(args) != 2 or not any([isinstance(x, TENSORS) for x in args]):
            return slot(*args)
        x, y = settled(args)
        if not isinstance_(x, float):
            return slot(x, y)  # raises
        if not isinstance_(y, (float, int)):
            return NotImplemented
        if not in_level(x) and not in_level(y):
            return slot(float(x), y if isinstance(y, int) else float(y))
        with np.errstate(all="ignore"):
            z = function(y, x) if reflected else function(x, y)
        if raises:
            _check(slot, x, y, z)
        return z

    return functools.update_wrapper(call, slot)


def _check(slot: Callable, x: Any, y: Any, z: Any) -> None:
    """Raise the error of `float` where the result of an example is not finite."""
    if is_finite(z):
        return
    rows = np.asarray(plain_values(np.stack([x * 1.0, y * 1.0, z]))).reshape(-1, 3)
    for a, b, found in rows[~np.isfinite(rows[:, 2])].tolist():
        wanted = slot(a, b)
        if wanted != found and not (wanted != wanted and found != found):
            raise ArithmeticError(
                f"float.{slot.__name__} is {wanted} for {a} and {b} of an example, and {found} for "
                f"tensors; replace such values before, with numpy.where"
            )


def _unary(slot: Callable, function: Callable) -> Callable:
    def call(*args: Any) -> Any:
        if len(args) != 1 or not isinstance(args[0], TENSORS) or not isinstance_(args[0], float):
            return slot(*args)
        return function(*settled(args))

    return functools.update_wrapper(call, slot)


def _twins() -> dict[Any, Callable]:
    found: dict[Any, Callable] = {}
    for name in ARITHMETIC:
        function = getattr(operator, name)
        for prefix in ("", "r"):
            slot = getattr(float, f"__{prefix}{name}__")
            found[slot] = _binary(slot, function, prefix == "r", True)
    for name in COMPARISONS:
        slot = getattr(float, f"__{name}__")
        found[slot] = _binary(slot, getattr(operator, name), False, False)
    for name in ("neg", "pos", "abs"):
        found[getattr(float, f"__{name}__")] = _unary(
            getattr(float, f"__{name}__"), getattr(operator, name)
        )
    for name in ("__int__", "__trunc__"):
        found[getattr(float, name)] = _unary(getattr(float, name), int_)
    return found


SLOTS = _twins()
"""The twins of the operators of `float`."""
