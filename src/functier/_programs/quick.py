"""Fast calls of a level that records: the commonest calls of numbers and arrays as nodes.

NOTE [as the slow path records]
    A fast call notes what `RecordLevel.record` notes for the same operands. It takes numbers and
    arrays of numbers alone. All that has to be asked goes to the slow path: objects, powers, whole
    numbers of Python's as operands of ufuncs, and arrays of classes that extend NumPy's. A level
    that records is outermost, so an operand is one of its tensors, or a plain value. In a sample
    all goes there, as it notes who has the values of operands.
"""

import operator
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from .._core.numpy_facts import UFUNC_OF
from .._core.sharing import sharing_of
from .._core.table import find
from .._core.tensor import Tensor
from .._mutation.array import plain_arguments
from ..protocol import Op
from .graph import SCALARS
from .watching import TEXTS, VIEWING, enters_nothing, is_known, is_public

SPELLED: dict[Any, Callable] = {ufunc: func for func, ufunc in UFUNC_OF.items()}

FACTS = {np.shape, np.ndim, np.size, np.result_type, np.can_cast, np.iscomplexobj, np.isrealobj}
"""Functions that ask for the form of a value, which is that of every run."""


FIRST, SECOND, ALL = slice(0, 1), slice(1, 2), slice(None)
LENGTHS: dict[Callable, slice] = {
    np.compress: FIRST, np.extract: FIRST, np.trim_zeros: FIRST, np.roots: FIRST,
    np.delete: SECOND, np.insert: SECOND, np.split: SECOND, np.array_split: SECOND,
    np.hsplit: SECOND, np.vsplit: SECOND, np.dsplit: SECOND, np.ix_: ALL, np.polymul: ALL,
    np.polydiv: ALL, np.union1d: ALL, np.intersect1d: ALL, np.setdiff1d: ALL, np.setxor1d: ALL,
}  # fmt: skip
"""The operands whose values tell how many elements a function has that is made of others."""

OTHERS = {*FACTS, *LENGTHS, *SPELLED, *TEXTS, *VIEWING, np.astype, np.nan_to_num}
"""Functions of whose arguments more has to be known."""


def common(func: Any) -> Op | None:
    """Return the record of a function that is noted as it is for numbers and arrays, or None."""
    return _common(func) if is_known(func) else None


@lru_cache(1024)
def _common(func: Callable) -> Op | None:
    op = find(func)
    if (
        op is None
        or op.by_value
        or op.family == "writing"
        or func in OTHERS
        or sharing_of(func) == "asked"
    ):
        return None
    if getattr(func, "body", None) is not None:
        return None
    return op if op.body is None or is_public(func) else None


@lru_cache(1)
def takes_numbers() -> frozenset[np.ufunc]:
    """Return NumPy's ufuncs of one or two operands, with one result."""
    ufuncs = {x for x in vars(np).values() if isinstance(x, np.ufunc)}
    return frozenset({x for x in ufuncs if x.nin < 3 and x.nout == 1 and common(x)} | {*SPELLED})


def is_whole(level: Any, func: Any) -> bool:
    """Return whether a function that is made of others is one call of the program.

    All functions of libraries are, unless the level has `wholes`: those that are.
    """
    return is_public(func) and (level.wholes is None or func in level.wholes)


new = object.__new__
ndarray = np.ndarray
FLOAT = np.dtype(float)
KINDS = frozenset("biufc")
NUMBERS = frozenset({kind for kind in SCALARS if np.dtype(kind).kind in KINDS})
INDICES = frozenset({int, slice, type(None)})

POWERS = frozenset({np.power, np.float_power})
"""Ufuncs of whose operands more has to be known than their types."""


def fast_calls(kind: type) -> dict[Callable, Callable]:
    """Return the fast calls of a kind of level that records."""
    calls: dict[Callable, Callable] = {}
    for ufunc in takes_numbers() - POWERS:
        op = find(ufunc)
        if op is None or op.family == "writing" or op.by_value or not enters_nothing(ufunc):
            continue
        make = unary if ufunc.nin == 1 else binary
        spelling = SPELLED.get(ufunc)
        if spelling is not None:
            calls[spelling] = make(kind, spelling, ufunc, NUMBERS, False)
        calls[ufunc] = make(kind, ufunc, ufunc, NUMBERS - {int}, spelling is not None)
    calls[operator.getitem] = item_of(kind)
    return calls


def unary(kind: Any, func: Any, ufunc: Any, numbers: frozenset, spelled: bool) -> Callable:
    """Return the call of a function of arrays, by `ufunc`, and of `numbers`, by itself."""

    def call(x: Any) -> Any:
        level: Any = x.level
        if type(level) is not kind or level.samples.open:
            return level.unary(func, x)
        value = x._value
        if type(value) is ndarray:
            if value.dtype is not FLOAT and value.dtype.kind not in KINDS:
                return level.unary(func, x)
            own = ufunc
        elif type(value) in numbers:
            own = func
        else:
            return level.unary(func, x)
        try:
            ans = own(value)
        except Exception as error:
            level.note_error(error, own, (x,), {})
            raise
        y: Any = new(level.cls)
        y._value, y._extra = ans, level.noted(own, (x._extra,), ans)
        return y

    return call


def binary(kind: Any, func: Any, ufunc: Any, numbers: frozenset, spelled: bool) -> Callable:
    """Return the same for two operands.

    `spelled`: the ufunc has an operator, which may have called it for a number of NumPy's.
    """

    def call(a: Any, b: Any) -> Any:
        level: Any = a.level if isinstance(a, Tensor) else b.level
        if type(level) is not kind or level.samples.open:
            return level.binary(func, a, b)
        cls = level.cls
        x, p = (a._value, a._extra) if type(a) is cls else (a, a)
        y, q = (b._value, b._extra) if type(b) is cls else (b, b)
        first, second = type(x), type(y)
        if first is ndarray:
            if x.dtype is not FLOAT and x.dtype.kind not in KINDS:
                return level.binary(func, a, b)
        elif first not in numbers:
            return level.binary(func, a, b)
        if second is ndarray:
            if y.dtype is not FLOAT and y.dtype.kind not in KINDS:
                return level.binary(func, a, b)
        elif second not in numbers:
            return level.binary(func, a, b)
        own = ufunc
        if first is not ndarray is not second:
            if spelled:
                return level.binary(func, a, b)
            own = func
        if type(p) is ndarray:
            p = level.constant(p)
        if type(q) is ndarray:
            q = level.constant(q)
        try:
            ans = own(x, y)
        except Exception as error:
            level.note_error(error, own, (a, b), {})
            raise
        z: Any = new(cls)
        z._value, z._extra = ans, level.noted(own, (p, q), ans)
        return z

    return call


def item_of(kind: Any) -> Callable:
    """Return the call of an item at numbers and slices."""

    def call(x: Any, index: Any) -> Any:
        level: Any = x.level
        if type(level) is not kind or level.samples.open:
            return level.getitem(x, index)
        for part in index if type(index) is tuple else (index,):
            if type(part) not in INDICES or (type(part) is slice and not is_constant(part)):
                return level.getitem(x, index)
        value = x._value
        if type(value) is not ndarray or value.dtype.kind not in KINDS:
            return level.getitem(x, index)
        try:
            ans = value[index]
        except Exception as error:
            level.note_error(error, operator.getitem, (x, index), {})
            raise
        y: Any = new(level.cls)
        y._value, y._extra = ans, level.noted(operator.getitem, (x._extra, index), ans)
        return y

    return call


CONSTANTS = SCALARS | {str, type(None), type(Ellipsis)}
"""The types of arguments that are themselves in a node."""


def public_call(level: Any, func: Callable, args: tuple, kwargs: dict) -> Any:
    """Return the result of a call of a public function, and note it; or `NotImplemented`."""
    op = common(func)
    if op is None or level.samples.open or not (op.body is None or is_whole(level, func)):
        return NotImplemented
    if kwargs or len(args) > 2:
        args, kwargs = plain_arguments(op, args, kwargs)
        if kwargs and ("out" in kwargs or not all(map(is_constant, kwargs.values()))):
            return NotImplemented
    values, nodes = [], []
    for x in args:
        value = node = x
        if type(x) is level.cls:
            value, node = x._value, x._extra
            if type(value) is int:
                return NotImplemented
        if type(value) is ndarray:
            if value.dtype is not FLOAT and value.dtype.kind not in KINDS:
                return NotImplemented
            if value is x:
                node = level.constant(x)
        elif not is_constant(value):
            return NotImplemented
        values.append(value)
        nodes.append(node)
    try:
        ans = func(*values, **kwargs)
    except Exception as error:
        level.note_error(error, func, args, kwargs)
        raise
    node = level.noted(func, tuple(nodes), ans, kwargs)
    if type(ans) is not ndarray and type(ans) not in NUMBERS:
        return level.result(ans, node)
    y: Any = new(level.cls)
    y._value, y._extra = ans, node
    return y


def is_constant(x: Any) -> bool:
    """Return whether an argument is a number or a text, or a tuple or slice of these."""
    kind = type(x)
    if kind is slice:
        x, kind = (x.start, x.stop, x.step), tuple
    return kind in CONSTANTS or (kind is tuple and all(map(is_constant, x)))
