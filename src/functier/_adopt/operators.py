"""Operators of `float` as functions, and NumPy's ufuncs: their twins take tensors.

Operators of `float` as functions, such as ``float.__mul__``: their twins take tensors.
Code that makes its operators by a table has them. Each asks Python what a number is: it returns
NotImplemented for an operand that is none, and raises where `float` does.

Calls of NumPy's ufuncs in adopted code, which also take lists with tensors.
NumPy makes an array of a list before it asks who takes the call. So ``np.sqrt([x, 1.0])`` would
lose what a transform knows of x.
"""

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import numpy as fnp
from .._core.numpy_facts import PLAIN
from .._core.root import opts_out
from ..numpy._functions import classes_in
from .calls import int_, isinstance_
from .python_numbers import in_level, is_finite
from .values import TENSORS, plain_values, settled

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


METHODS = ("reduce", "accumulate", "reduceat", "outer")
LISTS = (list, tuple)


def _array_of(x: Any) -> Any:
    """Return a list with tensors as an array, and anything else as it is."""
    return fnp.asarray(x) if type(x) in LISTS and classes_in(x) else x


def _with_lists(func: Callable) -> Callable:
    """Return `func`, a ufunc or its method, for arguments that may be lists with tensors."""

    def call(*args: Any, **kwargs: Any) -> Any:
        for x in args:
            if type(x) in LISTS:
                return func(*map(_array_of, args), **kwargs)
        return func(*args, **kwargs)

    return functools.update_wrapper(call, func, updated=())


def _quick(ufunc: np.ufunc) -> Callable:
    """Return the same for a ufunc of one or two arguments, which come alone in most calls."""
    call = _with_lists(ufunc)

    def call_one(x: Any, *rest: Any, **options: Any) -> Any:
        if rest or options or type(x) in LISTS:
            return call(x, *rest, **options)
        if type(x) not in PLAIN and opts_out(x) and hasattr(x, ufunc.__name__):
            return getattr(x, ufunc.__name__)()  # as NumPy asks an object: of a sparse matrix
        return ufunc(x)

    def call_two(x: Any, y: Any, *rest: Any, **options: Any) -> Any:
        if rest or options or type(x) in LISTS or type(y) in LISTS:
            return call(x, y, *rest, **options)
        return ufunc(x, y)

    quick: Any = {1: call_one, 2: call_two}.get(ufunc.nin, call)
    return functools.update_wrapper(quick, ufunc, updated=())


def caller_of(ufunc: np.ufunc) -> Callable:
    """Return the twin of calls of `ufunc` and of its methods."""
    call = _quick(ufunc)
    for name in dir(ufunc):
        if name[0] != "_":
            value = getattr(ufunc, name)
            setattr(call, name, _with_lists(value) if name in METHODS else value)
    return call


UFUNCS: dict[str, np.ufunc] = {
    name: value for name, value in vars(np).items() if isinstance(value, np.ufunc)
}
"""NumPy's ufuncs by their names in its namespace."""

UFUNC_CALLERS = {ufunc: caller_of(ufunc) for ufunc in set(UFUNCS.values())}
"""The twins of calls of ufuncs."""
