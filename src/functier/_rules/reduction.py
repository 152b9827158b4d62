"""Reductions over one axis, several or all, and cumulative operations along one.

A product is differentiated without a division, so that zeros are exact at every order.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from .._core.numpy_facts import (
    Axis,
    Function,
    Shape,
    Value,
    align,
    are_known,
    dtype_of,
    known_array,
)
from .._core.rule import Rule
from .axes import (
    as_rows,
    broadcast_back,
    collapse,
    expand,
    from_rows,
    ignore_scalar_axis,
    normalize,
)
from .constructors import (
    constant,
    linear,
    one_axis_vmap,
    op,
    primitive,
    reduce_kernel,
    reduction_vmap,
)
from .own_code import by_own_code

# ---- sums and means ----


_sum = reduce_kernel(np.sum, np.add)


def reduce_with(
    func: Function,
    a: Value,
    axis: Axis,
    keepdims: bool,
    where: Value,
    dtype: DTypeLike | None = None,
) -> Value:
    """Call `func` with the options that matter; to pass the others, too, takes longer."""
    options = {} if where is True else {"where": where}
    if dtype is not None:
        options["dtype"] = dtype
    return func(a, axis=axis, keepdims=keepdims, **options)


def _sum_jvp(
    t: Value,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    keepdims: bool = False,
    where: Value = True,
) -> Value:
    return reduce_with(_sum, t, axis, keepdims, where, dtype)


def _sum_vjp(
    g: Value, a_shape: Shape, axis: Axis = None, keepdims: bool = False, where: Value = True
) -> Value:
    g = broadcast_back(g, a_shape, axis, keepdims)
    return g if where is True else np.where(where, g, 0)


op(
    np.sum,
    "a axis dtype out keepdims initial where",
    "a where",
    kernel=_sum,
    vmap=reduction_vmap(_sum),
    jvp={"a": _sum_jvp},
    vjp={"a": _sum_vjp},
    zeros="sum",
)


def count_elements(
    shape: Shape, axis: Axis = None, keepdims: bool = False, where: Value = True
) -> Value:
    """Return the number of elements that a reduction combines: an int, or an array for a mask."""
    if where is True:
        return math.prod(shape if axis is None else [shape[i] for i in normalize(axis, len(shape))])
    return np.sum(np.broadcast_to(where, shape), axis=axis, keepdims=keepdims)


def divide_by_count(total: Value, count: Value) -> Value:
    """Divide `total` by a count, in the dtype of `total`."""
    if type(count) in (int, float):
        if count < 65504 or dtype_of(total) != np.float16:
            return total / count
        count = np.float64(count)
    dtype = dtype_of(total)
    quotient = total / count.astype(_counting(dtype))
    return quotient if quotient.dtype == dtype else quotient.astype(dtype)


def _counting(dtype: np.dtype) -> np.dtype:
    """Return the dtype of real numbers in which counts are: half has numbers up to 65504 only."""
    return np.finfo(np.result_type(dtype, np.float32)).dtype


def _mean_vjp(
    g: Value, a_shape: Shape, axis: Axis = None, keepdims: bool = False, where: Value = True
) -> Value:
    n = count_elements(a_shape, axis, keepdims, where)
    if where is not True:
        g = divide_by_count(g, np.maximum(n, 1))
    elif n > 1:
        g = divide_by_count(g, n)
    return _sum_vjp(g, a_shape, axis, keepdims, where)


def _mean_kernel(a: Value, axis: Axis = None, keepdims: bool = False, **params: Any) -> Value:
    if type(a) is np.ndarray and a.dtype.char in "fd" and a.size and not params:
        total = np.add.reduce(a, axis=axis, keepdims=keepdims)  # type: ignore[call-overload]
        return total / count_elements(a.shape, axis)
    return np.mean(a, axis=axis, keepdims=keepdims, **params)


linear(
    np.mean,
    "a axis dtype out keepdims where",
    "a where",
    kernel=_mean_kernel,
    vmap=reduction_vmap(_mean_kernel, scalars=False),
    vjp={"a": _mean_vjp},
    zeros="sum",
)

# ---- extrema: equal ones share the gradient equally ----


def _extrema(
    a: Value, ans: Value, axis: Any, keepdims: bool, met: bool, where: Value = True
) -> tuple[Value, Value | None]:
    """Return where the extrema are, and how many elements share each; None where none does.

    `met`: each extremum is an element, or NaN, since no ``initial=`` was given.
    """
    equal = np.equal(a, expand(ans, np.shape(a), axis, keepdims))
    if where is not True:
        equal = np.logical_and(equal, where)
    known = type(equal) is np.ndarray and ans.dtype.kind != "c"  # 1 + 0j changes signs of zeros
    if met and known and np.count_nonzero(equal) == ans.size:
        if np.count_nonzero(ans == ans) == ans.size:
            return equal, None  # no NaN, and as many extrema as results: there are no ties
    dtype = dtype_of(ans)
    dtype = _counting(dtype) if dtype == np.float16 else dtype
    return equal, np.maximum(np.add.reduce(equal, axis=axis, dtype=dtype, keepdims=True), 1)


def _shares(
    a: Value, ans: Value, axis: Any, keepdims: bool, met: bool, where: Value = True
) -> Value:
    """Return the part of the cotangent of its extremum that each element gets.

    These are booleans where no two elements share one.
    """
    equal, count = _extrema(a, ans, axis, keepdims, met, where)
    if count is None:
        return equal
    parts = equal / count
    return parts if dtype_of(ans) != np.float16 else parts.astype(np.float16)


shares = primitive(_shares, plain=True)


def _shares_vmap(
    k: int, a: Value, ans: Value, axis: Axis, keepdims: bool, met: bool, where: Value = True
) -> Value:
    shape = np.shape(a)[k:]
    axes = normalize(ignore_scalar_axis(axis, len(shape)), len(shape))
    if not keepdims:
        ans = np.reshape(ans, np.shape(ans)[:k] + collapse(shape, axes))
    if where is not True:
        a, ans, where = align(k, (a, ans, where))
    return shares(a, ans, tuple([i + k for i in axes]), True, met, where)


constant(shares, "a ans axis keepdims met where", "a ans where", vmap=_shares_vmap)


def _extremum_jvp(
    t: Value,
    a: Value,
    ans: Value,
    axis: Axis = None,
    keepdims: bool = False,
    initial: Value = None,
    where: Value = True,
) -> Value:
    share = shares(a, ans, axis, keepdims, initial is None, where)
    part = t if dtype_of(share).kind == "b" else share * t
    return np.sum(np.where(share, part, 0), axis=axis, keepdims=keepdims)


def _extremum_vjp(
    g: Value,
    a: Value,
    a_shape: Shape,
    ans: Value,
    axis: Axis = None,
    keepdims: bool = False,
    initial: Value = None,
    where: Value = True,
) -> Value:
    g = expand(g, a_shape, axis, keepdims)
    if not are_known(a, g) or where is not True:
        return shares(a, ans, axis, keepdims, initial is None, where) * g
    # There is nothing to dispatch on.
    equal, count = _extrema(a, ans, axis, keepdims, initial is None)
    if count is not None:
        g = divide_by_count(g, count)
    if type(equal) is type(g) is np.ndarray and equal.flags.c_contiguous:
        c = np.zeros(a_shape, dtype_of(g))
        np.copyto(c, g, where=equal)
        return c
    return np.where(equal, g, 0)


def _extremum_kernel(func: Function, ufunc: np.ufunc, arg: str) -> Function:
    """Return `func`; many short rows by the method `arg`, as ``reduce`` has a cost for each."""

    def kernel(a: Value, axis: Axis = None, keepdims: bool = False, **params: Any) -> Value:
        array = None if params else known_array(a)
        if array is not None and axis == -1 and a.size > 1000 and a.dtype.char in "fd":
            *lead, n = a.shape
            if a.size >= 128 * n and array.flags.c_contiguous:
                places = getattr(a, arg)(-1).reshape(-1) + np.arange(0, a.size, n)
                return a.reshape(-1).take(places).reshape((*lead, 1) if keepdims else lead)
        if type(a) is not np.ndarray or params:
            return func(a, axis=axis, keepdims=keepdims, **params)
        return ufunc.reduce(a, axis, None, None, keepdims)  # type: ignore[call-arg]

    return kernel


func: Callable
for func, kernel in (
    (np.max, _extremum_kernel(np.max, np.maximum, "argmax")),
    (np.amax, _extremum_kernel(np.amax, np.maximum, "argmax")),
    (np.min, _extremum_kernel(np.min, np.minimum, "argmin")),
    (np.amin, _extremum_kernel(np.amin, np.minimum, "argmin")),
    (np.nanmax, np.nanmax),
    (np.nanmin, np.nanmin),
):
    op(
        func,
        "a axis out keepdims initial where",
        "a where",
        kernel=kernel,
        vmap=reduction_vmap(kernel),
        jvp={"a": _extremum_jvp},
        vjp={"a": _extremum_vjp},
        zeros="choice",
    )


by_own_code(np.ptp)
for func in (np.any, np.all):
    constant(func, "a axis out keepdims where", "a where", vmap=reduction_vmap(func))

# ---- cumulative operations; axis=None is the flattened array ----


def to_last(x: Value, axis: Axis) -> Value:
    return np.reshape(x, (-1,)) if axis is None or np.ndim(x) < 2 else np.moveaxis(x, axis, -1)


def from_last(x: Value, axis: Axis, shape: Shape) -> Value:
    return np.reshape(x, shape) if axis is None or len(shape) < 2 else np.moveaxis(x, -1, axis)


def reverse(x: Value) -> Value:
    return x[..., ::-1]


linear(
    np.cumsum,
    "a axis dtype out",
    vmap=one_axis_vmap(np.cumsum, None, scalars=True),
    vjp={
        "a": lambda g, a_shape, axis=None: from_last(
            reverse(np.cumsum(reverse(to_last(g, axis)), axis=-1)), axis, a_shape
        )
    },
)


def _exclusive_products(products: Value) -> Value:
    """Return cumulative products without the last factor: 1, and all products but the last."""
    shape = np.shape(products)
    one = np.ones((*shape[:-1], 1), products.dtype)
    return np.concatenate([one, products], axis=-1)[..., : shape[-1]]


def recurrence(a: Value, b: Value) -> Value:
    """Solve ``s[i] = a[i] s[i-1] + b[i]`` along the last axis, in log2(n) steps.

    Step d composes the affine maps of windows of length d (Hillis and Steele, 1986).
    """
    d, n = 1, np.shape(a)[-1]
    while d < n:
        b = np.concatenate([b[..., :d], b[..., d:] + a[..., d:] * b[..., :-d]], axis=-1)
        a = np.concatenate([a[..., :d], a[..., d:] * a[..., :-d]], axis=-1)
        d *= 2
    return b


def cast_to(dtype: DTypeLike | None, *values: Value) -> tuple[Value, ...]:
    """Return the values in the dtype that ``dtype=`` asks for, in which a product is computed."""
    return values if dtype is None else tuple([_cast(v, np.dtype(dtype)) for v in values])


def _cast(x: Value, dtype: np.dtype) -> Value:
    return np.astype(np.real(x) if dtype.kind == "f" else x, dtype)


def _cumprod_jvp(
    t: Value, a: Value, ans: Value, axis: Axis = None, dtype: DTypeLike | None = None
) -> Value:
    t, a = cast_to(dtype, t, a)
    a, t, shape = to_last(a, axis), to_last(t, axis), np.shape(ans)
    return from_last(recurrence(a, _exclusive_products(to_last(ans, axis)) * t), axis, shape)


def _cumprod_vjp(
    g: Value, a: Value, ans: Value, axis: Axis = None, dtype: DTypeLike | None = None
) -> Value:
    """Multiply the products before an element by the sum of g over the products after it."""
    (a,) = cast_to(dtype, a)
    shape, a, g = np.shape(a), to_last(a, axis), to_last(g, axis)
    after = reverse(recurrence(_exclusive_products(reverse(a)), reverse(g)))
    return from_last(_exclusive_products(to_last(ans, axis)) * after, axis, shape)


op(
    np.cumprod,
    "a axis dtype out",
    vmap=one_axis_vmap(np.cumprod, None, scalars=True),
    jvp={"a": _cumprod_jvp},
    vjp={"a": Rule(_cumprod_vjp, ("a",), holomorphic=True)},
)


by_own_code(np.cumulative_sum, np.cumulative_prod)

# ---- products ----


def _products_of_others(a: Value, axis: Axis, initial: Value, where: Value) -> Value:
    """Return, for each element, the product of all others that are reduced with it."""
    if where is not True:
        a = np.where(where, a, 1)
    axis = axis if np.ndim(a) else None
    x = as_rows(a, axis)
    left = _exclusive_products(np.cumprod(x, axis=-1))
    right = reverse(_exclusive_products(np.cumprod(reverse(x), axis=-1)))
    others = from_rows(left * right * initial, axis, np.shape(a))
    return others if where is True else np.where(where, others, 0)


def _prod_jvp(
    t: Value,
    a: Value,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    keepdims: bool = False,
    initial: Value = 1,
    where: Value = True,
) -> Value:
    t, a = cast_to(dtype, t, a)
    others = _products_of_others(a, axis, initial, where)
    return np.sum(t * others, axis=axis, keepdims=keepdims)


def _prod_vjp(
    g: Value,
    a: Value,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    keepdims: bool = False,
    initial: Value = 1,
    where: Value = True,
) -> Value:
    (a,) = cast_to(dtype, a)
    g = expand(g, np.shape(a), axis, keepdims)
    return g * _products_of_others(a, axis, initial, where)


op(
    np.prod,
    "a axis dtype out keepdims initial where",
    "a where",
    vmap=reduction_vmap(np.prod),
    jvp={"a": _prod_jvp},
    vjp={"a": Rule(_prod_vjp, ("a", "where"), holomorphic=True)},
)
