"""Forward mode: a tensor is a pair of primal and tangent.

A tensor of a `JvpLevel` always has a tangent; a value whose tangent is zero leaves the
level, so a symbolic zero costs nothing.
"""

from collections.abc import Callable
from operator import getitem, matmul
from typing import Any

import numpy as np

from .._core.border import OBJECT, one_array, one_value, unexpected, without_derivative
from .._core.numpy_facts import FAST_PARTS, FLOAT, dtype_of, shape_of
from .._core.op import Call, Op
from .._core.pytree import flatten, is_value, like
from .._core.rule import negated
from .._core.table import PARTIALS, no_rule
from .._core.tensor import Tensor
from .._core.types import Value
from .._mutation.array import Array, make_result_writable, settle
from .attributes import has_methods
from .checks import check_inputs, match
from .cotangents import add, fit, fix_for, is_inexact, zeros
from .fast_calls import WITHOUT_AXES, FastCalls
from .level import Level
from .stores import JvpStore

new = object.__new__
ndarray = np.ndarray
float64 = np.float64
NUMBERS = float, complex
WEAK = int, float, complex


class JvpLevel(Level):
    """A level of jvp: `_value` is the primal, `_extra` the tangent.

    A primal is of a floating-point or complex dtype; its tangent has its shape and dtype.
    """

    batches, differentiates, records, guards = False, "forward", False, False
    store = JvpStore

    def track(self, leaves: list[Value], directions: list[Value]) -> list[Tensor]:
        """Return tensors of the inputs, each with its direction as the tangent."""
        return [
            self.pair(x if type(x) is ndarray else self.lower(x), self.lower(t))
            for x, t in zip(leaves, directions)
        ]

    def pair(self, primal: Value, tangent: Value) -> Tensor:
        """Return the tensor of a primal and its tangent."""
        x: Any = new(self.cls)
        x._value, x._extra = primal, tangent
        return x

    # ---- operations ----

    @classmethod
    def fast_calls(kind) -> dict[Callable, Callable]:
        fast = FastCalls(
            kind, negated=negated, fit_tangent=fit_tangent, ndarray=ndarray, float64=float64,
            FLOAT=FLOAT, NUMBERS=NUMBERS, OBJECT=OBJECT, without_derivative=without_derivative,
        )  # fmt: skip
        makers = {  # by the number of facts, of which each operand has three
            3: fast.unary("func, rule, pick, _", UNARY),
            6: fast.binary("func, rule, pick, _, rule2, pick2, __", BINARY),
        }
        calls = {
            func: makers[len(row)](func, *row)
            for func, row in PARTIALS.items()
            if len(row) in makers and func not in (getitem, matmul)
        }
        product = fast.product("func", PRODUCT)
        calls[matmul] = calls[np.matmul] = product(matmul)
        calls[getitem] = fast.getitem("", {*FAST_PARTS, ndarray}, GETITEM, WITHOUT_AXES)()
        return calls

    def apply(self, op: Op, call: Call) -> Value:
        cls, values, moving = self.cls, [], []
        for i, x in enumerate(call.operands):
            if type(x) is cls:
                moving.append(i)
                values.append(x._value)
            else:
                values.append(self.lower(x))
        ans = call.run(values)
        if op.constant:
            return make_result_writable(self.cls, ans)
        jvp, names, operands = op.jvp, call.names, call.operands
        rules = op.vjp if isinstance(jvp, str) else (jvp or {})
        for i in moving:
            if names[i] not in rules:
                raise no_rule(str(self), op, names[i])
        if not moving:
            return ans
        tangent: Any = None
        if jvp == "linear":
            tangent = call.run(
                [
                    x._extra if type(x) is cls else zero_tangent(v) if name in rules else v
                    for x, v, name in zip(operands, values, names)
                ]
            )
        elif jvp == "multilinear":
            for i in moving:
                t = call.run([*values[:i], operands[i]._extra, *values[i + 1 :]])
                tangent = add(tangent, t)
        else:
            for i in moving:
                rule = rules[names[i]]
                t = rule.fn(operands[i]._extra, *rule.save(ans, call, values, i))
                tangent = add(tangent, t)
        return self.outputs(ans, tangent, isinstance(jvp, str))

    def apply_single(self, op: Op, x: Tensor, given: dict) -> Value:
        value, jvp, name = x._value, op.jvp, op.lead[0]
        if jvp == "linear" and name in op.vjp:
            kernel = op.kernel
            return self.outputs(kernel(value, **given), kernel(x._extra, **given), True)
        rule = jvp.get(name) if type(jvp) is dict else None
        if rule is None or rule._direct is None:
            return Level.apply_single(self, op, x, given)
        ans = op.kernel(value, **given)
        tangent = rule.fn(x._extra, *rule.save_direct(ans, given, (value,)))
        return self.outputs(ans, tangent)

    def outputs(self, ans: Value, tangent: Value, linear: bool = False) -> Value:
        """Return the tensor, or tensors, of a result that has a tangent."""
        kind = type(ans)
        if linear and (kind is float64 or (kind is ndarray and ans.dtype is FLOAT)):
            return self.pair(ans, tangent)  # made alike, from operands of one form
        if isinstance(ans, (tuple, list)):
            return like(ans, [self.outputs(v, t) for v, t in zip(ans, tangent)])
        if kind is self.cls:  # an object array among the operands had it as an element
            raise without_derivative(ans)
        if tangent is None or not is_value(ans) or not is_inexact(ans):
            if tangent is not None and is_value(ans) and dtype_of(ans).kind not in "fciub":
                raise without_derivative(ans)
            return ans
        return self.pair(ans, fit_tangent(tangent, ans))

    # ---- the imperative style ----

    def make(self, cls: type, data: Any, tangent: Any = None, *more: Any, **options: Any) -> Any:
        if more or options:
            raise unexpected(self, "J(x, tangent)", more, options)
        if tangent is None:
            raise TypeError(f"{self}: no tangent was given; write J(x, tangent)")
        data, tangent = [d if is_value(d) else one_array(self, d) for d in (data, tangent)]
        if has_methods(data):
            self.forward_attributes()
        check_inputs(self, [data], lambda: [f"{cls.__name__}(x, t)"])
        data = self.lower(data)
        leaves, structure = flatten(data)
        (tangent,) = match(self, leaves, structure, self.lower(tangent), "tangent", "x")
        return self.pair(data, tangent)

    def unwrap(self, x: Value) -> tuple[Value, Value]:
        """Return ``(primal, tangent)`` of a tensor of this level; zeros for any other value."""
        if type(x) is Array:
            x = settle(x)
        if type(x) is self.cls:
            return x._value, x._extra
        x = self.lower(one_value(self, x))
        return x, zeros(x)


def fit_tangent(tangent: Value, ans: Value) -> Value:
    """Give a tangent the shape and dtype of its primal."""
    if fix_for(ans, tangent, False) is None:
        return tangent
    return fit(tangent, shape_of(ans), dtype_of(ans))


def zero_tangent(value: Value) -> Value:
    """Return the zero tangent of a constant; that of a Python number is a Python number, too."""
    return type(value)(0) if type(value) in WEAK else zeros(value)


# ---- the hot path ----

UNARY = """
value = x._value
y._value = ans = func(value)
y._extra = rule(x._extra, *pick(ans, value)) if pick else rule(x._extra)
"""

BINARY = {
    "both": """
        value, y, t = a._value, b._value, b._extra
        ans = func(value, y)
        tangent = rule(a._extra, *pick(ans, value, y)) if pick else rule(a._extra)
        if rule2 is negated:
            tangent = tangent - t
        else:
            tangent = tangent + (rule2(t, *pick2(ans, value, y)) if pick2 else rule2(t))
    """,
    "left": """
        value = a._value
        ans = func(value, b)
        tangent = rule(a._extra, *pick(ans, value, b)) if pick else rule(a._extra)
    """,
    "right": """
        value = b._value
        ans = func(a, value)
        tangent = rule2(b._extra, *pick2(ans, a, value)) if pick2 else rule2(b._extra)
    """,
    "result": """
        kind = type(ans)
        if kind is not type(value) or (
            kind is not float64
            and not (
                kind is ndarray and ans.dtype is FLOAT is value.dtype and ans.shape == value.shape
            )
        ):  # the tangent may have another form than its primal
            if kind is type(z):
                raise without_derivative(ans)
            tangent = fit_tangent(tangent, ans)
        z._value, z._extra = ans, tangent
    """,
}

PRODUCT = {  # the tangents always have the form of their primal
    "both": """
        x, y = a._value, b._value
        ans, tangent = func(x, y), func(a._extra, y) + func(x, b._extra)
    """,
    "left": "ans, tangent = func(a._value, b), func(a._extra, b)",
    "right": "ans, tangent = func(a, b._value), func(a, b._extra)",
    "result": """
        kind = type(ans)
        if kind is not float64 and (
            kind is type(z) or kind is float or ans.dtype is OBJECT
        ):
            raise without_derivative(ans)  # an operand is an array of objects
        z._value, z._extra = ans, tangent
    """,
}

GETITEM = """
value, t = x._value, x._extra
if type(value) in NUMBERS or type(t) in NUMBERS:  # numbers have no items
    return level.getitem(x, index)
y._value, y._extra = value[index], t[index]
"""
