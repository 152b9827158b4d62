"""Sorting, searching and sets: an order is an integer array, which has no derivative."""

import inspect
import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from .._core.errors import DataDependentError
from .._core.numpy_facts import Function, Shape, Value, align, dtype_of
from .axes import batch_shape, flatten_examples, ignore_scalar_axis, shift
from .constructors import (
    are_alike,
    composite,
    constant,
    data_dependent_vmap,
    one_axis_vmap,
    op,
    refusal_of,
)  # fmt: skip
from .indexing import index_along, read_at, transpose_read


def _parameter_names(func: Function) -> Value:
    """Return the names of the parameters that `func` has in this version of NumPy."""
    return " ".join(inspect.signature(func).parameters)


# ---- sorting: linear in the elements, once their order is known ----


def _resolve_axis(axis: int | None, *arrays: Value) -> tuple:
    """Return the arrays and the axis; for ``axis=None`` the arrays are flattened."""
    if axis is None:
        return *[np.reshape(a, -1) for a in arrays], 0
    return *arrays, shift(axis, 0, np.ndim(arrays[0]))


def _stable_order(a: Value, axis: int, descending: bool = False) -> Value:
    """Return the order that keeps equal elements in their order."""
    options: dict[str, Any] = {"descending": True} if descending else {}  # since NumPy 2.5
    return np.argsort(a, axis, stable=True, **options)


def _matching_places(a: Value, ans: Value, axis: int) -> Value:
    """Return the place in `a` of each element of `ans`, a permutation of `a`."""
    ranks = np.argsort(_stable_order(ans, axis), axis)
    return np.take_along_axis(_stable_order(a, axis), ranks, axis)


def _put_back(g: Value, order: Value, axis: int, shape: Shape) -> Value:
    """Return the transpose of reading `order`, a permutation, along `axis`."""
    form = np.shape(order)
    return np.reshape(transpose_read(g, form, index_along(form, order, axis), distinct=True), shape)


def _sort_jvp(t: Value, a: Value, axis: int | None = -1, descending: bool = False) -> Value:
    t, a, axis = _resolve_axis(axis, t, a)
    return np.take_along_axis(t, _stable_order(a, axis, descending), axis)


def _sort_vjp(
    g: Value, a: Value, a_shape: Shape, axis: int | None = -1, descending: bool = False
) -> Value:
    a, axis = _resolve_axis(axis, a)
    return _put_back(g, _stable_order(a, axis, descending), axis, a_shape)


def _partition_jvp(t: Value, a: Value, ans: Value, axis: int = -1) -> Value:
    t, a, axis = _resolve_axis(axis, t, a)
    return np.take_along_axis(t, _matching_places(a, ans, axis), axis)


def _partition_vjp(g: Value, a: Value, ans: Value, a_shape: Shape, axis: int = -1) -> Value:
    a, axis = _resolve_axis(axis, a)
    return _put_back(g, _matching_places(a, ans, axis), axis, a_shape)


op(
    np.sort,
    _parameter_names(np.sort),  # `descending` came with NumPy 2.5
    vmap=one_axis_vmap(np.sort),
    jvp={"a": _sort_jvp},
    vjp={"a": _sort_vjp},
    zeros="linear",
)
op(
    np.partition,
    "a kth axis kind order",
    vmap=one_axis_vmap(np.partition),
    jvp={"a": _partition_jvp},
    vjp={"a": _partition_vjp},
    zeros="linear",
)
constant(np.argsort, _parameter_names(np.argsort), vmap=one_axis_vmap(np.argsort, scalars=True))
constant(
    np.argpartition, "a kth axis kind order", vmap=one_axis_vmap(np.argpartition, scalars=True)
)


def _sort_complex(a: Value) -> Value:
    code = {"b": "F", "h": "F", "B": "F", "H": "F", "g": "G"}.get(dtype_of(a).char, "D")
    return np.sort(a) if dtype_of(a).kind == "c" else np.astype(np.sort(a), np.dtype(code))


composite(np.sort_complex, _sort_complex)


def _lexsort_vmap(k: int, keys: Sequence[Value], axis: int = -1) -> Value:
    keys = align(k, keys)
    shape = np.broadcast_shapes(*(v.shape for v in keys))
    axis = shift(axis, k, len(shape) - k)
    return np.lexsort(tuple([np.broadcast_to(v, shape) for v in keys]), axis)


constant(
    np.lexsort,
    "keys axis",
    variadic="keys",
    kernel=lambda keys, axis=-1: np.lexsort(tuple(keys), axis),  # a list does not dispatch
    vmap=_lexsort_vmap,
)


def _arg_vmap(func: Function) -> Function:
    def rule(k: int, a: Value, axis: int | None = None, keepdims: bool = False) -> Value:
        batch, rank = a.shape[:k], a.ndim - k
        axis = ignore_scalar_axis(axis, rank)
        if axis is not None:
            return func(a, axis=shift(axis, k, rank), keepdims=keepdims)
        places = func(flatten_examples(k, a), axis=-1)
        return np.reshape(places, batch + (1,) * rank) if keepdims else places

    return rule


for func in (np.argmax, np.argmin, np.nanargmax, np.nanargmin):
    constant(func, "a axis out keepdims", vmap=_arg_vmap(func))

# ---- searching in what is sorted ----


def _is_less(x: Value, y: Value) -> bool:
    """Compare complex numbers as NumPy does: NaN last, and first NaN in the imaginary part only."""
    (a, b), (c, d) = ((np.real(v), np.imag(v)) for v in (x, y))
    mine, other = (2 * np.isnan(r) + np.isnan(i) for r, i in ((a, b), (c, d)))
    a, b, c, d = (np.where(np.isnan(v), 0, v) for v in (a, b, c, d))
    within = np.less(a, c) | np.equal(a, c) & np.less(b, d)
    return np.less(mine, other) | np.equal(mine, other) & within


def _precedes(x: Value, y: Value, side: Literal["left", "right"]) -> Value:
    """Return whether `x` stands before the place where `y` would go; NaN is the largest."""
    if "c" in (np.result_type(x).kind, np.result_type(y).kind):
        return _is_less(x, y) if side == "left" else ~_is_less(y, x)
    if side == "left":
        return np.less(x, y) | (np.isnan(y) & ~np.isnan(x))
    return np.less_equal(x, y) | np.isnan(y)


def _searchsorted_vmap(
    k: int, a: Value, v: Value, sorter: Value = None, side: Literal["left", "right"] = "left"
) -> Value:
    """Search once where the examples share an array, else bisect for all in step."""
    v = v if np.ndim(v) else np.reshape(v, (1,) * k)
    one = (1,) * k
    if a.shape[:k] == one and (sorter is None or sorter.shape[:k] == one):
        sorter = None if sorter is None else np.reshape(sorter, sorter.shape[k:])
        return np.searchsorted(np.reshape(a, a.shape[k:]), v, side, sorter)
    if a.ndim - k != 1:
        raise ValueError("object too deep for desired array")
    if sorter is not None:
        a, sorter = _broadcast_batch(k, a, sorter)
        a = np.take_along_axis(a, sorter, -1)
    form = v.shape[k:]
    a, v = _broadcast_batch(k, a, flatten_examples(k, v))
    n = a.shape[-1]
    low, high = np.zeros(v.shape, int), np.full(v.shape, n)
    for _ in range(n.bit_length()):
        middle = (low + high) // 2
        open_ = np.less(low, high)
        pivot = np.take_along_axis(a, np.minimum(middle, n - 1), -1)
        after = _precedes(pivot, v, side)
        low, high = (
            np.where(open_ & after, middle + 1, low),
            np.where(open_ & ~after, middle, high),
        )
    return np.reshape(low, (*low.shape[:k], *form))


def _broadcast_batch(k: int, *values: Value) -> Value:
    """Return the operands with all their batch axes of full size."""
    batch = batch_shape(k, *values)
    return [np.broadcast_to(v, batch + v.shape[k:]) for v in values]


constant(np.searchsorted, "a v side sorter", "a v sorter", vmap=_searchsorted_vmap)


def _digitize_vmap(k: int, x: Value, bins: Value, right: Value = False) -> Value:
    """Digitize by NumPy's formula; the first and last bin of each example tell if they rise."""
    for v in (x, bins):
        if np.result_type(v).kind == "c":
            raise TypeError("numpy.digitize: x and bins may not be complex")
    x = x if np.ndim(x) else np.reshape(x, (1,) * k)
    if not np.can_cast(bins.dtype, np.float64):
        raise TypeError(f"numpy.digitize: cannot cast bins of {bins.dtype} to float64 safely")
    if bins.shape[:k] == (1,) * k:
        return np.digitize(x, np.reshape(bins, bins.shape[k:]), right)
    side: Literal["left", "right"] = "left" if right else "right"
    n = bins.shape[-1]
    rising = _searchsorted_vmap(k, bins, x, side=side)
    falling = n - _searchsorted_vmap(k, np.flip(bins, -1), x, side=side)
    falls = np.any(np.greater(bins[..., :1], bins[..., -1:]), axis=-1)
    return np.where(np.reshape(falls, falls.shape + (1,) * (x.ndim - k)), falling, rising)


constant(np.digitize, "x bins right", "x bins", vmap=_digitize_vmap)

# ---- sets ----


def _isin_vmap(
    k: int,
    element: Value,
    test_elements: Value,
    assume_unique: bool = False,
    invert: bool = False,
    kind: Literal["sort", "table"] | None = None,
) -> Value:
    """Ignore `assume_unique`: a batch may repeat an element that an example has once."""
    element, test = [x if np.ndim(x) else np.reshape(x, (1,) * k) for x in (element, test_elements)]
    if test.shape[:k] == (1,) * k:
        return np.isin(element, np.reshape(test, -1), invert=invert, kind=kind)
    shape = batch_shape(k, element, test) + element.shape[k:]
    element = np.reshape(element, (*element.shape[:k], math.prod(element.shape[k:]), 1))
    test = np.reshape(test, (*test.shape[:k], 1, math.prod(test.shape[k:])))
    found = np.reshape(np.any(np.equal(element, test), axis=-1), shape)
    return np.logical_not(found) if invert else found


constant(
    np.isin,
    "element test_elements assume_unique invert kind",
    "element test_elements",
    vmap=_isin_vmap,
)


def _first_places(ar: Value, values: Value, axis: int | None) -> Value:
    """Return the places of the unique values along `axis` of `ar` (None: of all elements)."""
    if axis is not None:
        return np.unique(ar, return_index=True, axis=axis)[1]
    order = _stable_order(np.ravel(ar), 0)
    return read_at(order, np.searchsorted(np.ravel(ar), np.ravel(values), sorter=order))


def _unique_jvp(t: Value, ar: Value, ans: Value, axis: int | None = None) -> Value:
    values = ans[0] if isinstance(ans, tuple) else ans
    firsts = _first_places(ar, values, axis)
    t, axis = (np.ravel(t), 0) if axis is None else (t, shift(axis, 0, np.ndim(ar)))
    moved = read_at(t, (slice(None),) * axis + (firsts,))
    return (moved, *(None for _ in ans[1:])) if isinstance(ans, tuple) else moved


def _unique_vjp(g: Value, ar: Value, ans: Value, axis: int | None = None) -> Value:
    values, g = (ans[0], g[0]) if isinstance(ans, tuple) else (ans, g)
    firsts, shape = _first_places(ar, values, axis), np.shape(ar)
    if axis is None:
        return np.reshape(transpose_read(g, (math.prod(shape),), firsts), shape)
    return transpose_read(g, shape, (slice(None),) * shift(axis, 0, len(shape)) + (firsts,))


REMEDY = "pass it as a plain array, or keep all elements, with numpy.sort or numpy.where"


def _unique_vmap(func: Function, equal_nan: bool = False) -> Function:
    """Return the batching rule: the results have one form where repeated elements lie alike."""
    refuse = data_dependent_vmap(func, REMEDY)

    def rule(k: int, ar: Value, axis: int | None = None, **params: Any) -> Value:
        shape = np.shape(ar)[k:]
        rows = axis is not None and len(shape) > 1
        if 0 in np.shape(ar)[:k] or (rows and 0 in shape):
            return refuse(k, ar)
        place = shift(axis or 0, k, len(shape)) if rows else k
        if rows:
            ar = np.moveaxis(ar, place, k)
            form, shape = np.shape(ar)[k:], np.shape(ar)[k : k + 1]
            elements = np.reshape(ar, (*np.shape(ar)[: k + 1], -1))
            order = np.lexsort(np.moveaxis(elements, -1, 0)[::-1])
            values = np.take_along_axis(elements, np.expand_dims(order, -1), -2)
        else:
            elements = flatten_examples(k, ar)
            order = _stable_order(elements, -1)
            values = np.take_along_axis(elements, order, -1)
        first = _first_of_equal(values, rows, params.get("equal_nan", equal_nan))
        shared = first[(slice(1),) * k]
        if not are_alike(first, shared):
            error = DataDependentError(refusal_of(func, REMEDY))
            error.pattern = first
            raise error
        places = np.flatnonzero(shared)
        ranks = np.take_along_axis(np.cumsum(first, -1) - 1, np.argsort(order, -1), -1)
        inverse = np.reshape(ranks, np.shape(ranks)[:k] + shape)
        counts = np.diff(np.append(places, math.prod(shape)))[(None,) * k]
        values = np.take(values, places, k)
        if rows:
            values = np.reshape(values, np.shape(values)[: k + 1] + form[1:])
            values = np.moveaxis(values, k, place)
        return _unique_results(func, params, values, np.take(order, places, -1), inverse, counts)

    return rule


def _first_of_equal(values: Value, rows: bool, equal_nan: bool) -> Value:
    """Return the truth of each of the sorted elements, or rows: it differs from the one before."""
    part = (slice(None),) * rows
    before, after = values[..., :-1, *part], values[..., 1:, *part]
    differs = np.not_equal(before, after)
    if rows:
        differs = np.any(differs, -1)
    elif equal_nan and values.dtype.kind in "fc":
        differs = np.logical_and(differs, np.logical_not(np.isnan(before) & np.isnan(after)))
    lead = np.ones((*values.shape[: values.ndim - 1 - rows], 1), bool)
    return np.concatenate([lead, differs], -1)


def _unique_results(func: Function, params: dict, *results: Value) -> Value:
    """Return those of the values, the places, the inverse and the counts that `func` returns."""
    places = NAMED.get(func)
    if places is not None:
        kept = [results[i] for i in places]
        return type(func(np.zeros(0)))(*kept) if kept[1:] else kept[0]
    asked = ("return_index", "return_inverse", "return_counts")
    kept = [r for r, name in zip(results[1:], asked) if params.get(name)]
    return (results[0], *kept) if kept else results[0]


NAMED: dict[Function, tuple[int, ...]] = {
    np.unique_values: (0,), np.unique_counts: (0, 3), np.unique_inverse: (0, 2),
    np.unique_all: (0, 1, 2, 3),
}  # fmt: skip
"""The results of `_unique_results` that functions of the array API return."""

op(
    np.unique,
    _parameter_names(np.unique),  # `sorted` came with NumPy 2.3
    vmap=_unique_vmap(np.unique, True),
    by_value="ar",
    jvp={"ar": _unique_jvp},
    vjp={"ar": _unique_vjp},
    zeros="linear",
)
for unique in NAMED:
    op(
        unique,
        "x",
        vmap=_unique_vmap(unique),
        by_value="x",
        jvp={"x": lambda t, x, ans: _unique_jvp(t, x, ans)},
        vjp={"x": lambda g, x, ans: _unique_vjp(g, x, ans)},
    )


def _merge_sets(ar1: Value, ar2: Value, assume_unique: bool) -> tuple:
    """Return the elements of both sets, in order, and the place that each comes from."""
    ar1, ar2 = [np.ravel(a) if assume_unique else np.unique(a) for a in (ar1, ar2)]
    both = np.concatenate((ar1, ar2))
    order = _stable_order(both, 0)
    return np.take(both, order), order


def _intersect1d(
    ar1: Value, ar2: Value, assume_unique: bool = False, return_indices: bool = False
) -> Value:
    both, order = _merge_sets(ar1, ar2, assume_unique)
    twice = np.flatnonzero(np.equal(both[1:], both[:-1]))
    values = np.take(both, twice)
    if not return_indices:
        return values
    n = np.size(ar1) if assume_unique else np.size(np.unique(ar1))
    places = [np.take(order, twice), np.take(order, twice + 1) - n]
    if not assume_unique:
        firsts = [np.unique(a, return_index=True)[1] for a in (ar1, ar2)]
        places = [read_at(f, p) for f, p in zip(firsts, places)]
    return values, *places


def _setxor1d(ar1: Value, ar2: Value, assume_unique: bool = False) -> Value:
    both, _ = _merge_sets(ar1, ar2, assume_unique)
    if not both.size:
        return both
    differs = np.concatenate(([True], np.not_equal(both[1:], both[:-1]), [True]))
    return np.take(both, np.flatnonzero(differs[1:] & differs[:-1]))


def _setdiff1d(ar1: Value, ar2: Value, assume_unique: bool = False) -> Value:
    ar1 = np.ravel(ar1) if assume_unique else np.unique(ar1)
    return read_at(ar1, np.flatnonzero(np.isin(ar1, ar2, invert=True)))


composite(np.union1d, lambda ar1, ar2: np.unique(np.concatenate((ar1, ar2), axis=None)))
composite(np.intersect1d, _intersect1d)
composite(np.setxor1d, _setxor1d)
composite(np.setdiff1d, _setdiff1d)


if hasattr(np, "in1d"):  # before NumPy 2.4
    composite(
        np.in1d,  # noqa: NPY201
        lambda ar1, ar2, *args, **kwargs: np.isin(np.ravel(ar1), ar2, *args, **kwargs),
    )
