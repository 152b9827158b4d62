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
from ..._core.numpy_facts import SPELLED, Function, Value
from ..._core.op import Call, Op
from ..._core.pytree import is_value, like
from ..._core.root import DISABLED
from ..._core.tensor import Tensor
from ..._core.unsettled import known_values
from ..._levels.kept import owned
from ..._levels.level import Level
from ..._levels.second_look import probe
from ..._levels.states import no_dispatch
from ..._levels.stores import RecordStore
from ..stop_gradient import stop_gradient
from .program import Program, Step

ndarray = np.ndarray
float64 = np.float64
new = object.__new__
NUMBERS = float, float64
step_numbers = count()

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

    given: tuple = ()  # the steps of what is not known, and values in its forms

    def unknown(self, values: list[Value]) -> list[Tensor]:
        """Return tensors for values that are given later, in the forms of `values`."""
        steps = [(next(step_numbers), None) for _ in values]
        self.given += tuple(zip(steps, values))
        return list(map(self.result, values, steps))

    def moves(self, x: Tensor) -> bool:
        """Return whether a tangent is not zero for some of those that are not known."""
        program = Program([step for step, _ in self.given], [x._extra])
        (found,) = program([probe(value, None) for _, value in self.given])
        return bool(np.any(np.not_equal(found, 0)))

    def result(self, value: Value, step: Step) -> Value:
        """Return the tensor, or tensors, for the result of `step`."""
        if isinstance(value, (tuple, list)):
            return like(value, [
                self.result(v, (next(step_numbers), operator.getitem, (None, i), ((0, step),), {}))
                for i, v in enumerate(value)
            ])  # fmt: skip
        if not is_value(value):
            return value
        x = new(self.cls)
        x._value, x._extra = value, step
        return x

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
            if isinstance(op.func, np.ufunc) and not given:  # an operator is faster
                func = SPELLED.get(op.func, op.func)
        else:  # the parameters include the operands
            given = {k: v for k, v in call.given.items() if k not in call.names}
            func = _Recall(op, call.names)
        off = DISABLED.get()
        if off:
            func = _Within(func, off, self.cls in off)
        given = {k: owned(v) for k, v in given.items()}
        step = next(step_numbers), func, tuple(constants), tuple(places), given
        return self.result(ans, step)

    def check_form(self, op: Op, call: Call) -> None:
        """Raise where the form of a result depends on a value that is not known yet."""
        for i in call.telling():
            if type(call.operands[i]) is self.cls:
                what = call.names[i]
                self.unknown_value(f"{op.name}, the form of whose result depends on {what},")

    def is_tame(self, x: Tensor) -> bool:
        """Tell if the last product to a tangent has finite factors, as far as they are known."""
        step: Any = x._extra
        while step[1] is not None and len(step[2]) == 1:
            ((_, step),) = step[3]
        if step[1] not in FACTORS:
            return True
        for factor in map(known_values, step[2]):
            if isinstance(factor, (int, float, np.generic, ndarray)):
                with np.errstate(all="ignore"):
                    if not np.isfinite(FACTORS[step[1]](factor)).all():
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
