"""Operations whose derivative is zero, and questions about the form of a tensor."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from .._core.numpy_facts import Axis, Function, Shape, Value
from .._core.sharing import declare_memory
from .constructors import composite, constant, elementwise, one_axis_vmap, primitive

# ---- comparisons, tests, logic, integers: elementwise, derivative zero ----

func: Callable
for func in (
    np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal,
    np.logical_and, np.logical_or, np.logical_xor, np.logical_not,
    np.isfinite, np.isinf, np.isnan, np.isnat, np.signbit,
    np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert, np.bitwise_count,
    np.left_shift, np.right_shift, np.gcd, np.lcm,
    np.floor, np.ceil, np.trunc, np.rint, np.floor_divide, np.spacing,
):  # fmt: skip
    elementwise(func, constant=True)
for func in (np.isposinf, np.isneginf):
    elementwise(func, constant=True, params="x out")


for func in (np.round, np.around):
    elementwise(func, constant=True, params="a decimals out")
composite(np.fix, lambda x, out=None: np.trunc(x, out=out))  # itself deprecated by NumPy 2.5

# ---- the form of a tensor: a plain answer ----

composite(np.shape, lambda a: a.shape)
composite(np.ndim, lambda a: a.ndim)


@lambda body: composite(np.size, body)
def _size(a: Value, axis: Axis = None) -> Value:
    if axis is None:
        return a.size
    axes = axis if isinstance(axis, tuple) else (axis,)
    return int(np.prod([a.shape[i] for i in axes], dtype=int))


def _filling_body(make: Function) -> Function:
    def body(
        a: Value,
        dtype: DTypeLike | None = None,
        order: str | None = "K",
        subok: bool = True,
        shape: Shape | None = None,
        *,
        device: str | None = None,
    ) -> Value:
        return make(a.shape if shape is None else shape, a.dtype if dtype is None else dtype)

    return body


composite(np.zeros_like, _filling_body(np.zeros))
composite(np.ones_like, _filling_body(np.ones))


@lambda body: composite(np.empty_like, body)
def _empty_like(
    prototype: Value,
    /,
    dtype: Any = None,
    order: Any = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: str | None = None,
) -> Value:
    return np.zeros_like(prototype, dtype, shape=shape)


def _dtype_or_value(value: Value) -> Value:
    """Return the dtype of an array or a tensor, and any other value as it is."""
    return value.dtype if hasattr(value, "dtype") and not isinstance(value, type) else value


composite(np.result_type, lambda *values: np.result_type(*map(_dtype_or_value, values)))
composite(np.common_type, lambda *arrays: np.common_type(*(np.empty(0, a.dtype) for a in arrays)))
composite(np.min_scalar_type, lambda a, /: np.min_scalar_type(np.zeros(a.shape or 1, a.dtype)))


@lambda body: composite(np.can_cast, body)
def _can_cast(from_: Value, to: Value, casting: Any = "safe") -> Value:
    return np.can_cast(_dtype_or_value(from_), _dtype_or_value(to), casting)


composite(np.iscomplexobj, lambda x: np.result_type(x).kind == "c")
composite(np.isrealobj, lambda x: np.result_type(x).kind != "c")

# ---- text and memory ----

for func in (np.array_repr, np.array_str, np.array2string):
    composite(func, lambda a, *args, **kwargs: repr(a))


@primitive
def share_values(a: Value, b: Value, func: Function, max_work: Any = None) -> Any:
    """Ask about the memories of values: of copies, where an array was written to."""
    return np.bool_(func(a, b, max_work))


constant(
    share_values, "a b func max_work", "a b",
    vmap=lambda k, a, b, **params: np.reshape(share_values(a, b, **params), (1,) * k),
)  # fmt: skip


def _store_of(x: Value) -> Any:
    """Return what holds the numbers of an array that was written to inside a level, else None."""
    place = getattr(getattr(x, "level", None), "place", None)
    return None if place is None else getattr(place(x), "store", None)


def _sharing(func: Function) -> Function:
    """Return the body of a function that asks about memories."""

    def shares(a: Value, b: Value, max_work: Any = None) -> Any:
        store = _store_of(a)
        if store is not None and store is _store_of(b):
            return func(a.level.window(a), b.level.window(b), max_work)
        return share_values(a, b, func, max_work)

    return shares


for func in (np.shares_memory, np.may_share_memory):
    composite(func, _sharing(func))
    declare_memory("asked", [func])

# ---- bits ----

for func, params in (
    (np.packbits, "a axis bitorder"),
    (np.unpackbits, "a axis count bitorder"),
):
    constant(func, params, vmap=one_axis_vmap(func, None, scalars=True))
