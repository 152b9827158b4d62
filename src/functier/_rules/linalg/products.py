"""Products that sum over axes: all are `contract` with labels, or made of it.

`matmul` and `dot`, the most common, are separate operations, whose values come from one call
of NumPy; the others name the labels of their axes.
"""

import operator
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from ..._core.numpy_facts import Function, Value, align, are_known, known_array, shape_of
from ..._core.table import PARTIALS
from ..axes import as_number
from ..constructors import composite, linear
from ..own_code import by_own_code
from .contract import (
    ALONE,
    OUTER,
    Shape,
    Spec,
    batch_spec,
    conj,
    contract,
    ensure_array,
    plan,
    pull_left,
    pull_right,
)
from .einsum import einsum

ndarray = np.ndarray
SUMMED, ROW, COLUMN = ALONE // 2, ALONE // 2 + 1, ALONE // 2 + 2

# ---- labels ----


def _gufunc_labels(shape: Shape, core: tuple) -> tuple:
    """Return the labels of a gufunc operand: its loop axes (aligned at the right), its core."""
    return (*range(len(shape) - len(core) - 1, -1, -1), *core)


def _move_core(labels: tuple, n_core: int, axes: Sequence | None) -> tuple:
    """Return the labels of an operand whose core axes are not the last ones."""
    if axes is None or not n_core:
        return labels
    axes = axes if isinstance(axes, (tuple, list)) else (axes,)
    axes = [a % len(labels) for a in axes]
    loops, core = iter(labels[:-n_core]), labels[-n_core:]
    return tuple(core[axes.index(i)] if i in axes else next(loops) for i in range(len(labels)))


def _refuse(func: Function, *shapes: Shape, **params: Any) -> None:
    """Raise the error that NumPy has for operands of these shapes."""
    func(*(np.broadcast_to(0.0, shape) for shape in shapes), **params)
    raise ValueError(f"{func.__name__}: shapes {shapes} do not fit")


@lru_cache(maxsize=4096)
def _gufunc_spec(
    func: Function, cores: tuple, x_shape: Shape, y_shape: Shape, axes: Sequence | None = None
) -> Spec:
    """Return the specification of a product gufunc whose operands have the labels `cores`."""
    if len(x_shape) < len(cores[0]) or len(y_shape) < len(cores[1]):
        _refuse(func, x_shape, y_shape)
    left, right = _gufunc_labels(x_shape, cores[0]), _gufunc_labels(y_shape, cores[1])
    loops = max(len(left) - len(cores[0]), len(right) - len(cores[1]))
    out = (*range(loops - 1, -1, -1), *cores[2])
    if axes is not None:
        left, right, out = (
            _move_core(labels, len(core), a)
            for labels, core, a in zip((left, right, out), cores, (*axes, ())[:3], strict=True)
        )
    if x_shape[left.index(SUMMED)] != y_shape[right.index(SUMMED)]:
        _refuse(func, x_shape, y_shape, **({} if axes is None else {"axes": list(axes)}))
    return left, right, out


def _freeze(axes: Sequence | None) -> Value:
    """Return a gufunc's ``axes`` in a hashable form."""
    if axes is None:
        return None
    return tuple(tuple(a) if isinstance(a, (tuple, list)) else a for a in axes)


def _cast(x: Value, y: Value, dtype: DTypeLike | None) -> tuple:
    x, y = ensure_array(x), ensure_array(y)
    return (x, y) if dtype is None else (np.astype(x, dtype), np.astype(y, dtype))


# ---- matmul ----


def _matmul_spec(x_shape: Shape, y_shape: Shape, axes: Sequence | None = None) -> Spec:
    rows = (ROW,) * (len(x_shape) != 1)
    columns = (COLUMN,) * (len(y_shape) != 1)
    cores = ((*rows, SUMMED), (SUMMED, *columns), (*rows, *columns))
    return _gufunc_spec(np.matmul, cores, x_shape, y_shape, axes)


@lru_cache(maxsize=4096)
def _matmul_plan(k: int, x_shape: Shape, y_shape: Shape) -> Value:
    return plan(batch_spec(_matmul_spec(x_shape[k:], y_shape[k:]), k), x_shape, y_shape)


def _matmul_vmap(
    k: int,
    x1: Value,
    x2: Value,
    *,
    axes: Sequence | None = None,
    dtype: DTypeLike | None = None,
    order: str | None = "K",
    casting: str = "same_kind",
    subok: bool = True,
) -> Value:
    a, b = known_array(x1), known_array(x2)
    if axes is None and dtype is None and a is not None and b is not None:
        if a.flags.c_contiguous and b.flags.c_contiguous:
            return _matmul_plan(k, x1.shape, x2.shape).run(x1, x2)
    x1, x2 = _cast(x1, x2, dtype)
    spec = _matmul_spec(x1.shape[k:], x2.shape[k:], _freeze(axes))
    return contract(x1, x2, batch_spec(spec, k))


def _pull_from_right(g: Value, y: Value, x_shape: Shape) -> Value:
    """Return the cotangent of the left operand for matrices and vectors, else None.

    For tensors the operator is the fastest product.
    """
    rank = len(x_shape)
    if are_known(g, y) and rank == 2 == y.ndim:
        return np.dot(g, y.T if y.dtype.kind != "c" else np.conjugate(y).T)
    y = conj(y)
    if rank == 1 and 0 < y.ndim < 3:
        return g * y if y.ndim == 1 else y @ g
    return contract(g, y, OUTER) if rank == 2 and y.ndim == 1 else None


def _pull_from_left(g: Value, x: Value, y_shape: Shape) -> Value:
    """Return the cotangent of the right operand, as `_pull_from_right` does."""
    rank = len(y_shape)
    if are_known(g, x) and rank == 2 == x.ndim:
        return np.dot(x.T if x.dtype.kind != "c" else np.conjugate(x).T, g)
    x = conj(x)
    if rank == 1 and 0 < x.ndim < 3:
        return g * x if x.ndim == 1 else g @ x
    return contract(x, g, OUTER) if rank == 2 and x.ndim == 1 else None


def _matmul_x1(g: Value, x2: Value, x1_shape: Shape, axes: Sequence | None = None) -> Value:
    c = _pull_from_right(g, x2, x1_shape) if axes is None else None
    if c is None:
        x2 = ensure_array(x2)
        c = pull_left(g, x2, x1_shape, _matmul_spec(x1_shape, x2.shape, _freeze(axes)))
    return c


def _matmul_x2(g: Value, x1: Value, x2_shape: Shape, axes: Sequence | None = None) -> Value:
    c = _pull_from_left(g, x1, x2_shape) if axes is None else None
    if c is None:
        x1 = ensure_array(x1)
        c = pull_right(g, x1, x2_shape, _matmul_spec(x1.shape, x2_shape, _freeze(axes)))
    return c


linear(
    np.matmul,
    "x1 x2 axes dtype",
    "x1 x2",
    jvp="multilinear",
    vmap=_matmul_vmap,
    vjp={"x1": _matmul_x1, "x2": _matmul_x2},
)
PARTIALS[np.matmul] = PARTIALS[operator.matmul] = (
    *(_matmul_x1, lambda ans, x1, x2: (x2, shape_of(x1)), False),
    *(_matmul_x2, lambda ans, x1, x2: (x1, shape_of(x2)), False),
)
composite(np.linalg.matmul, lambda x1, x2, /: np.matmul(x1, x2))

# ---- dot, inner ----


@lru_cache(maxsize=4096)
def _dot_spec(x_shape: Shape, y_shape: Shape, place: int = -2) -> Spec:
    """Return the specification that sums the last axis of `x` with axis `place` of `y`."""
    m, n = len(x_shape), len(y_shape)
    left, right = list(range(m)), list(range(m, m + n))
    if m and n:
        place = max(place, -n)
        if x_shape[-1] != y_shape[place]:
            _refuse(np.dot if place != -1 or n == 1 else np.inner, x_shape, y_shape)
        left[-1] = right[place] = SUMMED
    out = [i for i in left + right if i != SUMMED]
    return tuple(left), tuple(right), tuple(out)


def _dot_vmap(k: int, a: Value, b: Value) -> Value:
    if not hasattr(a, "shape") or not hasattr(b, "shape"):
        return np.multiply(*align(k, _cast(a, b, None)))
    return contract(a, b, batch_spec(_dot_spec(a.shape[k:], b.shape[k:]), k))


def _dot_a(g: Value, b: Value, a_shape: Shape) -> Value:
    c = _pull_from_right(g, b, a_shape)
    if c is None:
        b = ensure_array(b)
        c = pull_left(g, b, a_shape, _dot_spec(a_shape, b.shape))
    return c


def _dot_b(g: Value, a: Value, b_shape: Shape) -> Value:
    c = _pull_from_left(g, a, b_shape)
    if c is None:
        a = ensure_array(a)
        c = pull_right(g, a, b_shape, _dot_spec(a.shape, b_shape))
    return c


linear(
    np.dot,
    "a b out",
    "a b",
    jvp="multilinear",
    vmap=_dot_vmap,
    vjp={"a": _dot_a, "b": _dot_b},
)


@lambda body: composite(np.inner, body)
def _inner(a: Value, b: Value, /) -> Value:
    a, b = ensure_array(a), ensure_array(b)
    return contract(a, b, _dot_spec(a.shape, b.shape, -1))


# ---- the product gufuncs ----


def _declare_gufunc(func: Function, cores: tuple, conjugates: bool = False) -> None:
    """Declare a gufunc of two operands; `conjugates`: it conjugates the first one."""

    def body(
        x1: Value,
        x2: Value,
        /,
        *,
        axes: Sequence | None = None,
        axis: int | None = None,
        keepdims: bool = False,
        dtype: DTypeLike | None = None,
        **params: Any,
    ) -> Value:
        x1, x2 = _cast(x1, x2, dtype)
        if axis is not None:
            axes = [axis, axis]
        left, right, out = _gufunc_spec(func, cores, x1.shape, x2.shape, _freeze(axes))
        if keepdims:
            # The summed axis stays, of size 1, where the operands have it.
            where = -1 if axes is None else axes[2] if len(axes) > 2 else axes[0]
            place = (where if not isinstance(where, (tuple, list)) else where[0]) % (len(out) + 1)
            out = (*out[:place], ALONE, *out[place:])
        return contract(conj(x1) if conjugates else x1, x2, (left, right, out))

    composite(func, body)


_declare_gufunc(np.vecdot, ((SUMMED,), (SUMMED,), ()), conjugates=True)
if hasattr(np, "matvec"):  # since NumPy 2.2
    _declare_gufunc(np.matvec, ((ROW, SUMMED), (SUMMED,), (ROW,)))
    _declare_gufunc(np.vecmat, ((SUMMED,), (SUMMED, COLUMN), (COLUMN,)), conjugates=True)
_vecdot: Any = np.vecdot
composite(np.linalg.vecdot, lambda x1, x2, /, *, axis=-1: _vecdot(x1, x2, axis=axis))

# ---- vdot, outer, kron ----


def _flatten(x: Value) -> Value:
    x = ensure_array(x)
    return x if x.ndim == 1 else np.ravel(x)


@lambda body: composite(np.vdot, body)
def _vdot(a: Value, b: Value, /) -> Value:
    a, b = _flatten(a), _flatten(b)
    if a.shape != b.shape:
        _refuse(np.vdot, a.shape, b.shape)
    return contract(conj(a), b, ((0,), (0,), ()))


composite(np.outer, lambda a, b, out=None: contract(_flatten(a), _flatten(b), OUTER))
by_own_code(np.linalg.outer)


@lambda body: composite(np.kron, body)
def _kron(a: Value, b: Value) -> Value:
    a, b = ensure_array(a), ensure_array(b)
    n = max(a.ndim, b.ndim)
    left, right = range(n - a.ndim, n), range(2 * n - b.ndim, 2 * n)
    out = tuple(i + side for i in range(n) for side in (0, n))
    c = contract(a, b, (tuple(left), tuple(right), out))
    return np.reshape(c, tuple(c.shape[2 * i] * c.shape[2 * i + 1] for i in range(n)))


# ---- tensordot ----


@lru_cache(maxsize=4096)
def _tensordot_spec(x_shape: Shape, y_shape: Shape, axes: int | tuple) -> Spec:
    m, n = len(x_shape), len(y_shape)
    pairs = axes if isinstance(axes, tuple) else (range(-axes, 0), range(axes))
    if len(pairs[0]) != len(pairs[1]) or any(
        not -m <= i < m or not -n <= j < n or x_shape[i] != y_shape[j] for i, j in zip(*pairs)
    ):
        _refuse(np.tensordot, x_shape, y_shape, axes=axes)
    left, right = list(range(m)), list(range(m, m + n))
    for i, j in zip(*pairs):
        right[j] = left[i]
    both = set(left) & set(right)
    return tuple(left), tuple(right), tuple(i for i in left + right if i not in both)


def _tensordot(a: Value, b: Value, axes: int | Sequence = 2) -> Value:
    a, b = ensure_array(a), ensure_array(b)
    if not np.iterable(axes):
        axes = as_number(axes)
    else:
        axes = tuple([tuple([as_number(i) for i in (s if np.iterable(s) else (s,))]) for s in axes])
    return contract(a, b, _tensordot_spec(a.shape, b.shape, axes))


composite(np.tensordot, _tensordot)
composite(np.linalg.tensordot, lambda x1, x2, /, *, axes=2: np.tensordot(x1, x2, axes=axes))

# ---- cross ----

NEXT, AFTER = [1, 2, 0], [2, 0, 1]


@lambda body: composite(np.cross, body)
def _cross(
    a: Value, b: Value, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Value:
    if axis is not None:
        axisa, axisb, axisc = (axis,) * 3
    a, b = np.moveaxis(ensure_array(a), axisa, -1), np.moveaxis(ensure_array(b), axisb, -1)
    if a.shape[-1] != 3 or b.shape[-1] != 3:
        np.cross(np.zeros(a.shape[-1]), np.zeros(b.shape[-1]))  # NumPy's error or warning
        if a.shape[-1] == b.shape[-1]:
            return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
        a, b = _embed_in_space(a), _embed_in_space(b)
    c = np.take(a, NEXT, -1) * np.take(b, AFTER, -1)
    c = c - np.take(a, AFTER, -1) * np.take(b, NEXT, -1)
    return np.moveaxis(c, -1, axisc) if axisc != -1 else c


def _embed_in_space(x: Value) -> Value:
    """Return vectors of the plane with a third component, zero."""
    return x if x.shape[-1] == 3 else np.matmul(x, np.eye(2, 3, dtype=x.dtype))


by_own_code(np.linalg.cross)

# ---- several operands ----

composite(np.einsum, einsum)


@lambda body: composite(np.einsum_path, body)
def _einsum_path(*operands: Value, optimize: Any = "greedy", einsum_call: Any = False) -> Value:
    shapes = [np.broadcast_to(0.0, x.shape) if hasattr(x, "shape") else x for x in operands]
    return np.einsum_path(*shapes, optimize=optimize, einsum_call=einsum_call)


by_own_code(np.linalg.multi_dot)
