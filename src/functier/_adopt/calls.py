"""Twins of builtins that adopted code calls: they take tensors as NumPy's scalars.

Without a tensor each of them is the builtin. Only calls meet these twins: see `call_sites` of the
room `_cpython`.

NOTE [Python's order]
    ``max`` and ``min`` keep the first of equal values and never choose a later NaN, as each
    comparison is ``item > best``. Where examples differ, `numpy.where` makes the same choice
    for each of them. `numpy.maximum` would not: it returns NaN and halves the derivative of
    equal values.
"""

import functools
import types
import typing
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .. import numpy as fnp
from .._control.masks import bare, narrow
from .._core.ambient import AMBIENT
from .._core.subclasses import OVER_TENSORS
from .._core.tensor import Tensor
from .._cpython.collector import COUNTS, count_references
from .._cpython.frames import current_frame, globals_at, method_at
from .._levels.raised import Outcomes
from .._mutation.array import Array
from .._transforms.stop_gradient import stop_gradient
from ..numpy._functions import make_new_writable, make_writable
from ..numpy._objects import Objects
from ..numpy._subclasses import Instance, class_over
from .python_numbers import (
    as_float,
    as_whole,
    class_of,
    in_level,
    is_finite,
    is_python,
    likeness,
    note_python,
    noted,
)
from .values import (
    TENSORS,
    as_scalar,
    is_batched,
    plain_values,
    settle,
    settled,
    shares,
)

MISSING: Any = object()
LARGEST = 2.0**63
NUMBERS = (Tensor, np.ndarray, np.generic, int, float, complex)
PLAIN_ITEMS = (str, bytes, range)
FAST = frozenset({int, float, bool, np.float64, np.int64})
_isinstance, _issubclass = isinstance, issubclass
ndarray, ambient = np.ndarray, AMBIENT.get


def has_tensor(items: list | tuple) -> bool:
    """Return whether a tensor is among the items."""
    kinds = set(map(type, items))
    return not kinds <= FAST and any([_issubclass(kind, TENSORS) for kind in kinds])


# ---- numbers ----


def float_(x: Any = 0.0, /) -> Any:
    """Return ``float(x)``; a tensor without axes keeps its derivative and its batch."""
    if not _isinstance(x, TENSORS):
        return float(x)
    x = settle(x)
    if not in_level(x):
        return float(x)
    return x if type_(x) is float else noted(as_float(x), True)


def int_(x: Any = 0, /, *base: Any, **words: Any) -> Any:
    """Return ``int(x)``: a Python int, or an int64 for each example where they differ."""
    if base or words:
        return int(x, *base, **words)
    return as_int(x, int, np.trunc) if _isinstance(x, TENSORS) else int(x)


def _error_of(convert: Callable, x: Any) -> Exception:
    """Return the error for a number that an int64 cannot hold: Python's, for NaN and infinity."""
    try:
        whole = convert(x)
    except (ValueError, OverflowError) as error:
        return error
    return OverflowError(f"{convert.__name__}(x): {whole} of an example exceeds an int64")


def as_int(x: Any, convert: Callable, rounded: Callable) -> Any:
    """Return ``convert(x)``, an integer; `rounded` is the same on arrays, with floats."""
    x = settle(x)
    if not in_level(x):
        return convert(x)
    x = as_scalar(x, convert.__name__)
    if not is_batched(x):
        x = bare(narrow(x), asks=False)[0]
        if not in_level(x):
            return convert(x)
        # of a program, which notes the answer, and not the value
        return convert(x) if convert in (int, round) else int(rounded(x))
    values = np.asarray(plain_values(x))
    if values.dtype.kind == "f":
        whole = rounded(values.astype(np.float64))  # whose range an int64 is in
        bad = ~((whole >= -LARGEST) & (whole < LARGEST))
        if bad.any():
            error = _error_of(convert, values[bad].flat[0])
            kept = stop_gradient(x)
            fits = np.greater_equal(kept, -LARGEST) & np.less(kept, LARGEST)
            Outcomes.run_apart(fits, f"{convert.__name__}(x)", error)
            raise error
        if shares(x, whole):
            return convert(values.flat[0])
        return as_whole(rounded(stop_gradient(x)))
    if values.dtype.kind == "u" and values.size and int(values.max()) >= LARGEST:
        raise OverflowError(f"{convert.__name__}(x): {values.max()} of an example exceeds an int64")
    return convert(values.flat[0]) if shares(x, values) else as_whole(x)


def round_(number: Any, ndigits: Any = None) -> Any:
    """Return ``round(x)``, an integer as of `int_`, or ``round(x, digits)``."""
    if not _isinstance(number, TENSORS):
        return round(number, ndigits)
    if ndigits is None:
        return as_int(number, round, np.rint)
    number = settle(number)
    python, found = is_python(number), round(number, ndigits)
    return found if python is None else noted(found, python)


def complex_(*args: Any, **kwargs: Any) -> Any:
    """Return ``complex(real, imag)``; tensors without axes keep their derivatives."""
    if not any([_isinstance(x, TENSORS) for x in (*args, *kwargs.values())]):
        return complex(*args, **kwargs)
    parts: Any = dict(zip(("real", "imag"), settled(args)))
    parts |= {name: settle(x) for name, x in kwargs.items()}
    if len(args) + len(kwargs) != len(parts) or parts.keys() - {"real", "imag"}:
        return complex(*args, **kwargs)  # raises
    for x in parts.values():
        if not _isinstance(x, (Tensor, int, float, complex)) and not hasattr(x, "__float__"):
            return complex(*args, **kwargs)  # raises
        if np.ndim(x):
            complex(np.zeros(np.shape(x)))  # raises as NumPy does
    a, b = parts.get("real", 0.0), parts.get("imag")
    if not in_level(a) and not in_level(b):
        return complex(**parts)
    if b is None:
        return noted(np.reshape(a, ()).astype(complex)[()], True)
    if np.iscomplexobj(a) or np.iscomplexobj(b):
        return complex_(np.real(a) - np.imag(b), np.imag(a) + np.real(b))
    x, y = [as_float(v) if in_level(v) else float(v) for v in (a, b)]
    if not is_finite(y):
        raise ValueError(
            "complex(x, y): y is not finite in an example, where 1j * y is NaN; replace such "
            "values before, with numpy.where"
        )
    return noted(_joined(x, y), True)


def _joined(x: Any, y: Any) -> Any:
    """Return x + 1j * y with the signs of zeros, which decide the side of a branch cut."""
    left, below = np.signbit(x), np.signbit(y)
    z = np.where(left, np.negative(x), x) + 1j * np.where(below, np.negative(y), y)
    z = np.where(left != below, np.conj(z), z)
    return np.where(left, np.negative(z), z)[()]


# ---- choices ----


def max_(*args: Any, **kwargs: Any) -> Any:
    """Return ``max(...)``: see NOTE [Python's order]."""
    if not kwargs and args:
        items = args if len(args) > 1 else args[0]
        if type(items) in (tuple, list) and set(map(type, items)) <= FAST:
            return max(items)
    return _extremum(max, np.greater, args, kwargs)


def min_(*args: Any, **kwargs: Any) -> Any:
    """Return ``min(...)``: see NOTE [Python's order]."""
    if not kwargs and args:
        items = args if len(args) > 1 else args[0]
        if type(items) in (tuple, list) and set(map(type, items)) <= FAST:
            return min(items)
    return _extremum(min, np.less, args, kwargs)


def _extremum(builtin: Callable, better: Callable, args: tuple, kwargs: dict) -> Any:
    if not args or (kwargs and kwargs.keys() - {"key", "default"}):
        return builtin(*args, **kwargs)  # raises
    if len(args) > 1:
        if "default" in kwargs:
            return builtin(*args, **kwargs)  # raises
        items: Any = args
    else:
        items = args[0]
    key = callee(kwargs.get("key"))
    if key is None:
        kind = type(items)
        if kind in PLAIN_ITEMS or kind is np.ndarray:
            return builtin(*args, **kwargs)
        if kind is tuple or kind is list:
            if not has_tensor(items):
                return builtin(*args, **kwargs)
    best = found = MISSING
    for item in items:
        value = item if key is None else key(item)
        if _isinstance(value, Instance):
            value = settle(value)
        if best is MISSING:
            best, found = item, value
            continue
        chosen = value > found if builtin is max else value < found
        if not is_batched(chosen):
            if chosen:
                best, found = item, value
            continue
        joined = _select(chosen, item, best)
        found = joined if key is None else _select(chosen, value, found)
        best = joined
    if best is not MISSING:
        return best
    return builtin((), **kwargs)


def _select(chosen: Any, a: Any, b: Any) -> Any:
    """Return `a` where `chosen` holds, else `b`: two numbers of one form."""
    if chosen.ndim:
        bool(np.zeros(chosen.shape, bool))  # raises as NumPy does
    note_python()  # one of them may be Python's
    if a is b:
        return a
    if not (_isinstance(a, NUMBERS) and _isinstance(b, NUMBERS)) or np.shape(a) != np.shape(b):
        return a if chosen else b  # refused where examples differ: one object cannot be two
    return np.where(chosen, a, b)[()] if not np.ndim(a) else np.where(chosen, a, b)


def map_(func: Any, *iterables: Iterable) -> Any:
    """Return ``map(func, ...)``, which calls the twin of a builtin or of a type of numbers."""
    return map(callee(func), *iterables)


def callee(func: Any) -> Any:
    """Return the twin of a builtin or of a type of numbers, and anything else as it is."""
    kind = type(func)
    if (kind is not type and kind is not types.BuiltinFunctionType) or func is super:
        return func
    return BUILTINS.get(func) or CALLERS.get(func, func)  # type: ignore[arg-type]


class Owner:
    """A plain array, where adopted code calls a method of it inside a level.

    NumPy's method takes no tensor, and what it makes could not be written to.
    """

    methods = "dot", "copy", "astype", "flatten", "tolil", "todok"

    def __init__(self, x: np.ndarray):
        self.x = x

    def dot(self, *args: Any, **kwargs: Any) -> Any:
        """Return ``x.dot(b)``."""
        return fnp.dot(self.x, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.x, name)
        return lambda *args, **kwargs: make_new_writable(method(*args, **kwargs), self.x)


OWNERS: dict[type, Callable] = {ndarray: Owner}
"""Classes of stand-ins: for plain arrays, and for sparse matrices where these have twins."""


def owner(x: Any) -> Any:
    """Return a plain array as an `Owner` inside a level, and anything else as it is."""
    found = OWNERS.get(type(x))
    return x if found is None or ambient() is Tensor else found(x)


def made_writable(x: Any) -> Any:
    """Return a new array that plain arithmetic has made as one that takes tensors, in a level.

    Nobody else refers to it, so that nobody misses a write to it.
    """
    if type(x) is not ndarray or ambient() is Tensor or x.base is not None or x.dtype.kind == "O":
        return x
    return make_writable(x) if COUNTS and count_references(x) <= OF_NEW else x


def _references(x: Any) -> int:
    return count_references(x) if COUNTS else 0


OF_NEW = _references(np.zeros(1) + 1.0)
"""The references to an argument that a function sees, if nobody else has one."""


def sorted_(iterable: Iterable, /, *, key: Any = None, reverse: Any = False) -> Any:
    """Return ``sorted(...)``, a list; equal keys keep their order, also for the derivative."""
    items = list(iterable)
    if key is None and not has_tensor(items):
        items.sort(reverse=reverse)
        return items
    items = settled(items)
    keys = items if key is None else settled(map(callee(key), items))
    given = iter(keys)
    builtin = functools.partial(
        sorted, items, key=None if key is None else lambda _: next(given), reverse=reverse
    )
    if len(items) < 2 or not any(map(is_batched, keys)):
        return builtin()
    for k in keys:
        if not _isinstance(k, NUMBERS) or np.iscomplexobj(k) or np.ndim(k):
            return builtin()  # raises, or is refused where examples differ
    for v in items:
        if not _isinstance(v, NUMBERS) or np.shape(v) != np.shape(items[0]):
            return builtin()
    note_python()
    table = np.stack(keys)
    if table.dtype.kind == "f" and np.isnan(plain_values(table)).any():
        raise ValueError(
            "sorted: a key is NaN in an example, where the order that Python returns depends on "
            "the comparisons that it makes; remove NaNs first, or write numpy.sort"
        )
    order = np.argsort(stop_gradient(table[::-1] if reverse else table), kind="stable")
    if reverse:  # equal keys keep their order in this direction, too
        order = (len(items) - 1 - order)[::-1]
    values = np.stack(items)
    order = order.reshape(order.shape + (1,) * (values.ndim - 1))
    values = np.take_along_axis(values, order, axis=0)
    return [values[i] for i in range(len(items))]


# ---- classes ----


def isinstance_(x: Any, classes: Any, /) -> bool:
    """Return ``isinstance(x, classes)``; a tensor answers as what NumPy has for it."""
    if not _isinstance(x, Tensor) or not (x.level.depth or type(x) is Array):
        return _isinstance(x, classes)
    return _isinstance(likeness(x), classes) or _names_tensor(x, classes)


def _names_tensor(x: Any, classes: Any) -> bool:
    """Return whether `x` is an instance of one of the classes that is made for tensors."""
    if _isinstance(classes, tuple):
        return any([_names_tensor(x, c) for c in classes])
    if _isinstance(classes, types.UnionType) or typing.get_origin(classes) is typing.Union:
        return any([_names_tensor(x, c) for c in typing.get_args(classes)])
    return _isinstance(classes, type) and _issubclass(classes, Tensor) and _isinstance(x, classes)


def type_(*args: Any, **words: Any) -> Any:
    """Return ``type(x)``, for a tensor the class of what NumPy has for it, or a new class."""
    if len(args) == 1 and not words:
        x = args[0]
        if type(x) in OVER_TENSORS:
            return x.__class__
        if not issubclass(type(x), Tensor) or not (x.level.depth or type(x) is Array):
            return type(x)
        return class_of(x)
    if len(args) == 3 and _isinstance(args[2], dict) and "__module__" not in args[2]:
        module = globals_at(current_frame(1)).get("__name__")  # which `type` finds by itself
        args = (*args[:2], {**args[2], **({} if module is None else {"__module__": module})})
    return type(*args, **words)


def hasattr_(x: Any, name: str, /) -> bool:
    """Return ``hasattr(x, name)``, of a tensor that of the class of what NumPy has for it."""
    kind = type(x)
    if not issubclass(kind, Tensor) or not (x.level.depth or kind is Array):
        return hasattr(x, name)
    if not _isinstance(bare(narrow(x), asks=False)[0], (*NUMBERS, Tensor)):
        return hasattr(x, name)  # a quantity inside, whose attributes are not denied
    return hasattr(class_of(x), name)


def super_(*args: Any) -> Any:
    """Return ``super(C, x)``, of an instance over a tensor that of the class made for it."""
    if len(args) == 2 and type(args[1]) in OVER_TENSORS and _isinstance(args[1], args[0]):
        return super(class_over(args[0]), args[1])
    if not args:  # of a method that makes an instance: see `_cpython.call_sites`
        args = method_at(current_frame(1))
    found = super(*args)
    if _issubclass(type(args[1]), type) and getattr(found, "__new__", None) is np.ndarray.__new__:
        return Maker(found)
    return found


class Maker:
    """``super()`` in the ``__new__`` of a subclass of NumPy's array, which may take a tensor."""

    def __init__(self, found: Any):
        self.found = found

    def __getattr__(self, name: str) -> Any:
        return getattr(self.found, name)

    def __getattribute__(self, name: str) -> Any:
        if name == "__new__":
            return fnp.ndarray.__new__
        return object.__getattribute__(self, name)


# ---- NumPy's types of numbers ----


def caller_of(kind: Any) -> Callable:
    """Return the twin of calls of `kind`, such as ``numpy.float64(x)``."""

    def convert(*args: Any, **kwargs: Any) -> Any:
        if len(args) != 1 or kwargs or not _isinstance(args[0], (*TENSORS, Objects)):
            return kind(*args, **kwargs)
        if type(args[0]) is Objects:
            return args[0].astype(kind)
        x = settle(args[0])
        if not in_level(x):
            return kind(x)
        y = x.astype(kind)
        if not x.ndim:
            return noted(y[()], False)
        return np.copy(y) if y is x else y

    convert.__name__ = convert.__qualname__ = kind.__name__
    return convert


_KINDS = {kind for kind in np.sctypeDict.values() if np.dtype(kind).kind in "biufc"}
KINDS: dict[str, Any] = {
    name: kind for name, kind in vars(np).items() if _isinstance(kind, type) and kind in _KINDS
}
"""NumPy's types of numbers by their names in its namespace."""

BUILTINS: dict[Any, Callable] = {
    float: float_,
    int: int_,
    complex: complex_,
    round: round_,
    max: max_,
    min: min_,
    sorted: sorted_,
    isinstance: isinstance_,
    type: type_,
    super: super_,
    map: map_,
    hasattr: hasattr_,
}
"""The twins of calls of builtins."""

CALLERS: dict[type, Callable] = {kind: caller_of(kind) for kind in set(KINDS.values())}
"""The twins of calls of NumPy's types of numbers."""
