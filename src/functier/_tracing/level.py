"""A level that records: each operation is a step of a program."""

import operator
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np

from .._core.errors import ConversionError
from .._core.numpy_facts import FLOAT, SIMPLE, SPELLED
from .._core.op import Call, Op
from .._core.pytree import is_value, like
from .._levels.fast_calls import FastCalls
from .._levels.level import Level
from .program import BOTH, INPUT, LEFT, MANY, ONE, RIGHT, Step

ndarray = np.ndarray
float64 = np.float64
new = object.__new__
NUMBERS = float, float64
number = count()

ALIKE: set[Callable] = {np.add, np.subtract, np.multiply, np.divide}
"""Ufuncs of two operands whose result has the form of these, where they have one."""


class TraceLevel(Level):
    """A level that notes what is done with its tensors.

    `_value` is what has come out of zeros, of which only the form is of use; `_extra` is
    the step that makes the value.
    """

    batches, differentiates, records = False, None, True

    def unknown(self, values: list) -> list:
        """Tensors that stand for what is given later, in the forms of `values`."""
        return [self.result(x, (next(number), INPUT)) for x in values]

    def result(self, value: Any, step: Step) -> Any:
        """The tensor, or tensors, of what `step` makes."""
        if isinstance(value, (tuple, list)):
            return like(value, [
                self.result(v, (next(number), LEFT, operator.getitem, step, i, None))
                for i, v in enumerate(value)
            ])  # fmt: skip
        if not is_value(value):
            return value
        x = new(self.cls)
        x._value, x._extra = value, step
        return x

    @classmethod
    def fast_calls(kind) -> dict[Callable, Callable]:
        fast = FastCalls(
            kind, number=number, common_form=_common_form, errstate=np.errstate, ndarray=ndarray,
            ONE=ONE, LEFT=LEFT, RIGHT=RIGHT, BOTH=BOTH,
        )  # fmt: skip
        unary = fast.unary("func", UNARY)
        binary = fast.binary("func, quick, alike, product", BINARY)
        calls: dict[Callable, Callable] = {}
        for ufunc in (*SIMPLE, np.matmul):
            quick = SPELLED.get(ufunc, ufunc)
            for func in (ufunc, quick):
                calls[func] = (
                    unary(func) if ufunc.nin == 1
                    else binary(func, quick, ufunc in ALIKE, ufunc is np.matmul)
                )  # fmt: skip
        return calls

    def apply(self, op: Op, call: Call) -> Any:
        values, places = [self.lower(x) for x in call.operands], []
        with np.errstate(all="ignore"):
            ans = call.run(values)
        constants = list(values)
        for i, x in enumerate(call.operands):
            if type(x) is self.cls:
                places.append((i, x._extra))
                constants[i] = None
        if call.direct:
            func, given = op.kernel, call.given
        else:  # whose parameters have the operands among them
            given = {k: v for k, v in call.given.items() if k not in call.names}
            func = _Again(op, call.names)
        if len(constants) == 1 and not given:
            step: Step = ONE, func, places[0][1], None, None
        else:
            step = MANY, func, tuple(constants), tuple(places), given
        return self.result(ans, (next(number), *step))

    def convert(self, x: Any, how: Any, *args: Any) -> Any:
        if how in (bool, int, "__index__"):
            how = how if isinstance(how, str) else how.__name__
            raise self.refusal(
                ConversionError,
                f"{how}(x) asks for the value of a tangent, which is not known yet, as nothing "
                f"that is linear depends on it; write a condition or an index of other values",
            )
        return super().convert(x, how, *args)


class _Again:
    """An operation that is called again, with other operands of the same names."""

    __slots__ = ("names", "op")

    def __init__(self, op: Op, names: tuple):
        self.op, self.names = op, names

    def __call__(self, /, *values: Any, **given: Any) -> Any:
        return Call(self.op, given, self.names, [], False).run(values)


def _common_form(x: Any, y: Any) -> Any:
    """The one of two values whose form their sum has; None where it is not a common one."""
    if type(x) is ndarray and x.dtype is FLOAT:
        if type(y) is ndarray:
            return x if y.dtype is FLOAT and x.shape == y.shape else None
        return x if type(y) in NUMBERS else None
    if type(y) is float64 or (type(y) is ndarray and y.dtype is FLOAT):
        return y if type(x) in NUMBERS else None
    return x if type(x) is float64 and type(y) is float else None


# ---- the hot path ----

UNARY = """
with errstate(all="ignore"):
    y._value = func(x._value)
y._extra = next(number), ONE, func, x._extra, None, None
"""

BINARY = {
    "both": """
        x, y = a._value, b._value
        kind, first, second = BOTH, a._extra, b._extra
    """,
    "left": """
        x, y = a._value, b
        kind, first, second = LEFT, a._extra, b
    """,
    "right": """
        x, y = a, b._value
        kind, first, second = RIGHT, a, b._extra
    """,
    "result": """
        form = common_form(x, y) if alike else None
        if form is not None:
            z._value = form
        elif product and type(x) is type(y) is ndarray:  # with nothing to sum over
            z._value = func(x[..., :0], y[..., :0, :] if y.ndim > 1 else y[:0])
        else:
            with errstate(all="ignore"):
                z._value = func(x, y)
        z._extra = next(number), kind, quick, first, second, None
    """,
}
