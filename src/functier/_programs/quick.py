"""Fast calls of a level that records: the commonest calls of numbers and arrays as nodes.

NOTE [as the slow path records]
    A fast call notes what `RecordLevel.record` notes for the same operands. It takes numbers and
    arrays of numbers alone. All that has to be asked goes to the slow path: objects, powers, whole
    numbers of Python's as operands of ufuncs, and arrays of classes that extend NumPy's.
"""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.numpy_facts import FAST_PARTS, FLOAT, SCALARS, SIMPLE, SPELLED
from .._core.table import OPS
from .._levels.fast_calls import FastCalls
from .._mutation.out import name_out
from .uncommon import common
from .watching import enters_nothing

ndarray = np.ndarray
new = object.__new__
KINDS = frozenset("biufc")
NUMBERS = frozenset(
    {kind for kind in SCALARS if not issubclass(kind, np.generic) or np.dtype(kind).kind in KINDS}
)

POWERS = frozenset({np.power, np.float_power})
"""Ufuncs of whose operands more has to be known than their types."""

UNARY = """
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
    y._value = ans = own(value)
except Exception as error:
    level.note_error(error, own, (x,), {})
    raise
y._extra = level.noted(own, (x._extra,), ans)
"""

SLOW = "return level.binary(func, a, b)"
BINARY = {
    "both": "x, y, p, q = a._value, b._value, a._extra, b._extra",
    "left": """
        x, y, p = a._value, b, a._extra
        q = level.constant(b) if type(b) is ndarray else b
    """,
    "right": """
        x, y, q = a, b._value, b._extra
        p = level.constant(a) if type(a) is ndarray else a
    """,
    "left_inner": SLOW,
    "right_inner": SLOW,
    "result": """
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
        try:
            z._value = ans = own(x, y)
        except Exception as error:
            level.note_error(error, own, (a, b), {})
            raise
        z._extra = level.noted(own, (p, q), ans)
    """,
}
"""`spelled`: the ufunc has an operator, which may have called it for a number of NumPy's."""

GETITEM = """
value = x._value
if type(value) is not ndarray or (value.dtype is not FLOAT and value.dtype.kind not in KINDS):
    return level.getitem(x, index)
try:
    y._value = ans = value[index]
except Exception as error:
    level.note_error(error, getitem, (x, index), {})
    raise
y._extra = level.noted(getitem, (x._extra, index), ans)
"""


CONSTANTS = NUMBERS | {str, type(None), type(Ellipsis), *np.sctypeDict.values()} - {np.object_}
"""The types of arguments that are themselves in a node."""


def public_call(level: Any, func: Callable, args: tuple, kwargs: dict) -> Any:
    """Return the result of a call of a public function, and note it; or `NotImplemented`."""
    op = common(func)
    if op is None:
        return NotImplemented
    if len(args) > 2:
        args, kwargs = name_out(op, args, kwargs)
    for name, x in kwargs.items() if kwargs else ():
        if not is_constant(x) or name == "out" or name[:10] == "overwrite_":
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
    """Tell if an argument is a number or a text, or a tuple or slice of these."""
    kind = type(x)
    if kind is slice:
        x, kind = (x.start, x.stop, x.step), tuple
    return kind in CONSTANTS or (kind is tuple and all(map(is_constant, x)))


def fast_calls(kind: type) -> dict[Callable, Callable]:
    """Return the fast calls of a kind of level that records."""
    fast = FastCalls(kind, ndarray=ndarray, FLOAT=FLOAT, KINDS=KINDS, getitem=operator.getitem)
    unary = fast.unary("func, ufunc, numbers, spelled", UNARY)
    binary = fast.binary("func, ufunc, numbers, spelled", BINARY)
    product = fast.product("func, ufunc, numbers, spelled", BINARY)
    calls: dict[Callable, Callable] = {}
    for ufunc in {*SIMPLE, np.matmul} - POWERS:
        op = OPS.get(ufunc)
        if op is None or op.family == "writing" or op.by_value or not enters_nothing(ufunc):
            continue
        make = product if ufunc is np.matmul else unary if ufunc.nin == 1 else binary
        spelling = SPELLED.get(ufunc)
        if spelling is not None:
            calls[spelling] = make(spelling, ufunc, NUMBERS, False)
        calls[ufunc] = make(ufunc, ufunc, NUMBERS - {int}, spelling is not None)
    calls[operator.getitem] = fast.getitem("", FAST_PARTS, GETITEM, "False")()
    return calls
