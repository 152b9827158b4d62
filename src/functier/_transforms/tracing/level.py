"""A level that records each operation as a step of a program.

NOTE [a value that is not known yet]
    The value in a tensor is computed from zeros; only its form is of use. So everything that
    asks for the value raises: a conversion, `elem`, a result whose form depends on values. A
    tensor of a level that has ended raises in both escape modes, as there is no value to go on
    with.

NOTE [blocks around a step]
    A step runs again after the blocks around it (`no_grad`, `no_dispatch`) have ended. So the
    record has their effect: the function switches the same hooks off, and its result is a
    constant where derivatives were off.
"""

import operator
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from itertools import count
from typing import Any

import numpy as np

from ..._core.errors import ConversionError, LevelError
from ..._core.numpy_facts import FLOAT, SIMPLE, SPELLED, Function, Value
from ..._core.op import Call, Op
from ..._core.pytree import is_value, like
from ..._core.root import DISABLED
from ..._core.tensor import Tensor
from ..._core.unsettled import known_values
from ..._levels.fast_calls import FastCalls
from ..._levels.kept import owned
from ..._levels.level import Level
from ..._levels.states import no_dispatch
from ..._levels.stores import RecordStore
from ..stop_gradient import stop_gradient
from .program import BOTH, INPUT, LEFT, MANY, ONE, RIGHT, Step

ndarray = np.ndarray
float64 = np.float64
new = object.__new__
NUMBERS = float, float64
step_numbers = count()

ALIKE: set[Callable] = {np.add, np.subtract, np.multiply, np.divide}
"""Ufuncs of two operands whose result has the form of the operands, where it is the same."""

FACTORS: dict[Callable, Callable] = {
    **dict.fromkeys((np.multiply, operator.mul), np.asarray),
    **dict.fromkeys((np.divide, operator.truediv), lambda divisor: 1 / np.asarray(divisor)),
}
"""The result of a product, by its constant operand."""


class TraceLevel(Level):
    """A level that records the operations on its tensors.

    `_value` is computed from zeros, and only its form is of use; `_extra` is the step that
    makes the value. See NOTE [a value that is not known yet].
    """

    batches, differentiates, records, guards = False, None, True, False
    quiet = True
    store = RecordStore
    instead = (
        "it stands for a tangent of linearize, whose value is known in the calls of jvp_fn only; "
        "return it from the rule that was given it, and call jvp(...) to look at a tangent"
    )

    def unknown(self, values: list[Value]) -> list[Tensor]:
        """Return tensors for values that are given later, in the forms of `values`."""
        return [self.result(x, (next(step_numbers), INPUT)) for x in values]

    def result(self, value: Value, step: Step) -> Value:
        """Return the tensor, or tensors, for the result of `step`."""
        if isinstance(value, (tuple, list)):
            return like(value, [
                self.result(v, (next(step_numbers), LEFT, operator.getitem, step, i, None))
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
            kind, step_numbers=step_numbers, common_form=_common_form, errstate=np.errstate,
            ndarray=ndarray, owned=owned, ONE=ONE, LEFT=LEFT, RIGHT=RIGHT, BOTH=BOTH,
        )  # fmt: skip
        unary = fast.unary("func", UNARY)
        binary = fast.binary("func, ufunc, quick, alike, product", BINARY)
        calls: dict[Callable, Callable] = {}
        for ufunc in (*SIMPLE, np.matmul):
            quick = SPELLED.get(ufunc, ufunc)
            for func in (ufunc, quick):
                calls[func] = (
                    unary(func) if ufunc.nin == 1
                    else binary(func, ufunc, quick, ufunc in ALIKE, ufunc is np.matmul)
                )  # fmt: skip
        return calls

    def apply(self, op: Op, call: Call) -> Value:
        values, places = [self.lower(x) for x in call.operands], []
        if op.by_value:
            self.check_form(op, call)
        with np.errstate(all="ignore"):
            ans = call.run(values)
        constants: list[Value] = []
        for i, x in enumerate(call.operands):
            if type(x) is self.cls:
                places.append((i, x._extra))
                constants.append(None)
            else:
                constants.append(owned(values[i]))
        if call.direct:
            func, given = op.kernel, call.given
        else:  # the parameters include the operands
            given = {k: v for k, v in call.given.items() if k not in call.names}
            func = _Recall(op, call.names)
        if given:
            given = {k: owned(v) for k, v in given.items()}
        off = DISABLED.get()
        if off:
            func = _Within(func, off, self.cls in off)
        if len(constants) == 1 and not given:
            step: Step = ONE, func, places[0][1], None, None
        else:
            step = MANY, func, tuple(constants), tuple(places), given
        return self.result(ans, (next(step_numbers), *step))

    def check_form(self, op: Op, call: Call) -> None:
        """Raise where the form of a result depends on a value that is not known yet."""
        for i in call.telling():
            if type(call.operands[i]) is self.cls:
                what = call.names[i]
                self.unknown_value(f"{op.name}, the form of whose result depends on {what},")

    def is_tame(self, x: Tensor) -> bool:
        """Tell if the last product to a tangent has finite factors, as far as they are known."""
        step: Any = x._extra
        while step[1] is ONE:
            step = step[3]
        if step[1] is INPUT or step[2] not in FACTORS:
            return True
        given: Any = {LEFT: step[4:5], RIGHT: step[3:4], MANY: step[3]}.get(step[1], ())
        for factor in map(known_values, given):
            if isinstance(factor, (int, float, np.generic, ndarray)):
                with np.errstate(all="ignore"):
                    if not np.isfinite(FACTORS[step[2]](factor)).all():
                        return False
        return True

    # ---- leaving, and entering ----

    def make(self, cls: type, data: Any, *args: Any, **options: Any) -> Any:
        raise self.refusal(
            LevelError,
            f"{cls.__name__}(x) would make a tangent of linearize out of a value; return the value "
            f"as it is, or zeros for the tangent of a constant",
        )

    def unknown_value(self, who: str) -> None:
        """Raise the error for `who`, which asks for a value."""
        raise self.refusal(
            ConversionError,
            f"{who} asks for the value of a tangent of linearize, which is not known yet; compute "
            f"a condition, an index or a parameter from other values, or call jvp(...), which "
            "knows its tangents",
        )

    def elem(self, x: Tensor) -> Any:
        TraceLevel.unknown_value(self, "x.elem() here")  # `self` may have ended

    def unwrap(self, x: Value) -> Any:
        self.unknown_value(f"{self.cls.__name__}.unwrap(x)")

    def convert(self, x: Tensor, how: str | Function, *args: Any) -> Any:
        if how in (bool, int, hash, "__index__"):
            how = how if isinstance(how, str) else how.__name__
            self.unknown_value(f"{how}(x)")
        return super().convert(x, how, *args)


class _Within:
    """A function that runs as inside the blocks around it when it was recorded.

    See NOTE [blocks around a step].
    """

    __slots__ = ("constant", "func", "hooks")

    def __init__(self, func: Callable, off: Iterable[Any], constant: bool):
        self.func, self.constant = func, constant
        self.hooks = [cls for cls in off if not cls.level.depth]  # its levels will have ended

    def __call__(self, /, *values: Any, **given: Any) -> Any:
        with ExitStack() as blocks:
            for cls in self.hooks:
                blocks.enter_context(no_dispatch(cls))
            result = self.func(*values, **given)
        return stop_gradient(result) if self.constant else result


class _Recall:
    """The function of a step that calls an operation with other operands of the same names."""

    __slots__ = ("names", "op")

    def __init__(self, op: Op, names: tuple):
        self.op, self.names = op, names

    def __call__(self, /, *values: Any, **given: Any) -> Any:
        return Call(self.op, given, self.names, [], False).run(values)


def _common_form(x: Value, y: Value) -> Value | None:
    """Return the one of two values whose form their sum has, in the commonest cases, else None."""
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
y._extra = next(step_numbers), ONE, func, x._extra, None, None
"""

BINARY = {
    "both": """
        x, y = a._value, b._value
        kind, first, second = BOTH, a._extra, b._extra
    """,
    "left": """
        x, y = a._value, b
        kind, first, second = LEFT, a._extra, owned(b)
    """,
    "right": """
        x, y = a, b._value
        kind, first, second = RIGHT, owned(a), b._extra
    """,
    "result": """
        form = common_form(x, y) if alike else None
        if form is not None:
            z._value = form
        elif product and type(x) is type(y) is ndarray:  # without terms to sum
            z._value = func(x[..., :0], y[..., :0, :] if y.ndim > 1 else y[:0])
        else:
            with errstate(all="ignore"):
                z._value = ufunc(x, y)  # by an operator, 1j / 0.0 is Python's, and raises
        z._extra = next(step_numbers), kind, quick, first, second, None
    """,
}
