"""Helpers of the rules for `scipy.linalg`: stacks and batches of matrices, structure, checks.

NOTE [one example after the other]
    SciPy's own batches of these functions, where it has any, are a loop in Python around
    LAPACK. So is the batching rule: it takes as long, and works in versions without them.

NOTE [SciPy's function at the bottom]
    A function of `scipy.linalg` is a composite of one or a few operations that take stacks of
    matrices over leading axes. Of a single matrix they are SciPy's function itself, so that
    values, errors and warnings are SciPy's. Of a stack they are NumPy's function, in one call,
    where the result is unique; else SciPy's for each matrix. Their derivatives are those of
    `_rules.linalg`, given the result. A composite ignores ``overwrite_a`` and the like.
"""

import functools
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import scipy  # type: ignore[import-untyped]
import scipy.linalg as sl  # type: ignore[import-untyped]

from ...._core.errors import DataDependentError, UnsupportedError
from ...._core.numpy_facts import Shape, Value, name_of
from ...._rules.axes import as_array
from ...._rules.constructors import check_values
from ...._rules.linalg.orthogonal import adjoint
from ....protocol import op
from ..declare import dispatching

TAKES_STACKS = tuple(int(part) for part in scipy.__version__.split(".")[:2]) >= (1, 17)
"""True where SciPy takes a stack of vectors or matrices, which it flattened or refused before."""


def each_vmap(call: Callable, form: Callable | None = None) -> Callable:
    """Return a batching rule that calls a function for one example after the other.

    ``form(*operands, **params)`` returns a result for an empty batch, for operands of the
    shapes and dtypes of one example; else it is the result for multiples of the identity.
    See NOTE [one example after the other].
    """

    def rule(k: int, *operands: Value, **params: Any) -> Value:
        names = [n for n, v in params.items() if getattr(v, "ndim", 0) >= k]
        values = [*operands, *(params[n] for n in names)]
        batch = np.broadcast_shapes(*(np.shape(v)[:k] for v in values))

        def run(of: Callable, pick: Callable) -> Value:
            chosen = [pick(v) if np.ndim(v) >= k else v for v in values]
            named = dict(zip(names, chosen[len(operands) :]))
            return of(*chosen[: len(operands)], **{**params, **named})

        if 0 in batch:
            results = [run(form or call, lambda v: _example(v.shape[k:], v.dtype))]
        else:
            results = [
                run(call, lambda v: v[tuple(i if n > 1 else 0 for i, n in zip(at, v.shape[:k]))])
                for at in np.ndindex(*batch)
            ]
        if not isinstance(results[0], (tuple, list)):
            return _stack(call, results, batch)
        columns = [_stack(call, list(column), batch) for column in zip(*results)]
        return columns if isinstance(results[0], list) else tuple(columns)  # a list: of stacks

    return rule


def _example(shape: Shape, dtype: np.dtype) -> Value:
    """Return an operand for which every function here is defined."""
    if not shape:
        return np.ones(shape, dtype)
    if len(shape) < 2:
        return np.eye(1, shape[0], dtype=dtype)[0]
    x = 0.5 if np.dtype(dtype).kind in "fc" else 1
    m, n = shape[-2:]
    return np.broadcast_to(x * np.eye(m, n), shape).astype(dtype)


def _stack(func: Callable, results: list, batch: Shape) -> Value:
    shapes = {np.shape(x) for x in results}
    if len(shapes) > 1:
        raise DataDependentError(
            f"the shape of the result of {name_of(func)} depends on the data, and differs from "
            f"example to example: {', '.join(map(str, sorted(shapes)))}; call it for one example "
            f"at a time, in a loop outside of vmap"
        )
    whole = np.stack(results)
    shape = whole.shape[1:]
    if 0 in batch:
        return np.broadcast_to(whole[:1], (1,) * len(batch) + shape)[:0].reshape((*batch, *shape))
    return np.reshape(whole, (*batch, *shape))


LAPACK_PRECISION = {"e": "f", "g": "d", "G": "D"}
"""The dtypes that LAPACK does not compute in, and those to which SciPy converts them."""


def as_lapack(x: Value) -> Value:
    """Return an array in the precision in which LAPACK computes with it."""
    dtype = LAPACK_PRECISION.get(x.dtype.char)
    return x if dtype is None else np.astype(x, dtype)


def keeping(func: Callable) -> Callable:
    """Return `func` without its options that overwrite an argument, which a rule may need."""
    call = dispatching(func)

    @functools.wraps(func)
    def kernel(*args: Value, **params: Any) -> Value:
        given = {name: v for name, v in params.items() if not name.startswith("overwrite_")}
        return call(*args, **given)

    return kernel


def declare_of_pair(name: str, params: str) -> Callable:
    """Declare a composite whose first argument may be a pair: its parts are operands."""

    def declared(body: Callable) -> Callable:
        func = getattr(sl, name, None)
        if func is not None:
            op(func, params, family="composite", body=body, variadic=params.split()[0])
        return body

    return declared


# ---- stacks ----


def refuse_stacks(func: Callable, remedy: str, *ranks: tuple) -> None:
    """Raise for a stack where this SciPy takes none: ``(operand, rank)`` says how many axes."""
    if not TAKES_STACKS and any(np.ndim(x) > rank for x, rank in ranks):
        raise UnsupportedError(
            f"{name_of(func)} of a stack is not supported with SciPy {scipy.__version__}, which "
            f"takes no stack; {remedy}"
        )


LAPACK = "fdFD"
"""The dtypes that LAPACK computes in."""


def for_each(func: Callable, n_arrays: int, args: tuple, params: dict) -> Any:
    """Call a function of matrices for each of a stack; return one result, or a tuple of them."""
    arrays, rest = args[:n_arrays], args[n_arrays:]
    lead = np.broadcast_shapes(*[x.shape[:-2] for x in arrays])
    if not lead:
        return func(*args, **params)
    arrays = tuple([np.broadcast_to(x, lead + x.shape[-2:]) for x in arrays])
    if not prod(lead):  # what any matrices of these shapes have
        found = func(*[np.eye(*x.shape[-2:], dtype=x.dtype) for x in arrays], *rest, **params)
        return _rebuilt(found, [np.empty(lead + np.shape(y), np.result_type(y))
                                for y in _as_tuple(found)])  # fmt: skip
    results = [func(*[x[i] for x in arrays], *rest, **params) for i in np.ndindex(lead)]
    columns = []
    for column in zip(*map(_as_tuple, results)):
        if len({np.shape(x) for x in column}) > 1:
            raise DataDependentError(
                f"the shape of a result of {name_of(func)} depends on the data, which differs "
                f"from example to example; call it for each example outside of vmap"
            )
        columns.append(np.stack(column))
    return _rebuilt(results[0], [y.reshape(lead + y.shape[1:]) for y in columns])


def _as_tuple(result: Any) -> tuple:
    return result if isinstance(result, tuple) else (result,)


def _rebuilt(form: Any, values: list) -> Any:
    return tuple(values) if isinstance(form, tuple) else values[0]


def stacking(name: str, func: Callable, batched: Callable | None = None) -> Callable:
    """Return the kernel of an operation on one matrix, or a stack of them.

    ``func(a, **params)`` takes one matrix; `batched`, where it is given, a stack, in one call.
    """

    def kernel(a: Value, *args: Any, **params: Any) -> Any:
        if a.ndim > 2 and batched is not None and a.dtype.char in LAPACK:
            return batched(a, *args, **params)
        return for_each(func, 1, (a, *args), params)

    kernel.__name__, kernel.__module__ = name, func.__module__
    return kernel


def at_once(func: Callable) -> Callable:
    """Return the batching rule of an operation that takes a stack: all examples in one call."""
    return lambda k, a, **params: func(a, **params)


# ---- arguments ----


def matrices(check_finite: bool, *arrays: Value) -> list:
    """Return the arguments as `checked` does, in a precision of LAPACK's."""
    return [as_lapack(x) for x in checked(check_finite, *arrays)]


def checked(check_finite: bool, *arrays: Value) -> list:
    """Return the arguments as arrays; raise where a value is not finite, if that is asked."""
    found = [as_array(x) for x in arrays]
    if check_finite:
        message = "array must not contain infs or NaNs"
        found = [check_values(x, _all_finite, message) for x in found]
    return found


def lapack_dtype(*arrays: Value) -> np.dtype:
    """Return the dtype in which LAPACK computes with these."""
    return sl.blas.find_best_blas_type([np.empty(0, x.dtype) for x in arrays])[1]


def _all_finite(x: Value) -> Value:
    return np.all(np.isfinite(x))


def refuse(func: Callable, *arrays: Value, **options: Any) -> None:
    """Raise the error that SciPy has for arguments of these shapes and dtypes."""
    func(*[np.ones(x.shape, x.dtype) for x in arrays], **options)
    shapes = [x.shape for x in arrays]
    raise ValueError(f"{func.__name__}: arguments of the shapes {shapes} do not fit")


def require_square(func: Callable, a: Value, **options: Any) -> None:
    """Raise SciPy's error for what is not a square matrix, or a stack of them."""
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        refuse(func, a, **options)


# ---- structure: a matrix of which a part is read, as one that is read as a whole ----


def triangle(a: Value, lower: bool, offset: int = 0) -> Value:
    """Return a triangle, without `offset` diagonals."""
    return np.tril(a, -offset) if lower else np.triu(a, offset)


def on_diagonal(a: Value) -> Value:
    """Return the matrix of the diagonal elements."""
    return np.where(np.eye(a.shape[-2], a.shape[-1], dtype=bool), a, 0)


def symmetric_of(a: Value, lower: bool) -> Value:
    """Return the symmetric matrix that has this triangle."""
    part = triangle(a, lower, 1)
    return part + part.mT + on_diagonal(a)


def hermitian_of(a: Value, lower: bool) -> Value:
    """Return the Hermitian matrix that has this triangle, and the real part of the diagonal."""
    if a.dtype.kind != "c":
        return symmetric_of(a, lower)
    part = triangle(a, lower, 1)
    return part + adjoint(part) + on_diagonal(np.real(a))


STRUCTURES: dict[str, Callable] = {
    "diagonal": lambda a, lower: on_diagonal(a),
    "tridiagonal": lambda a, lower: np.tril(np.triu(a, -1), 1),
    "upper triangular": lambda a, lower: np.triu(a),
    "lower triangular": lambda a, lower: np.tril(a),
    **dict.fromkeys(("sym", "symmetric"), symmetric_of),
    **dict.fromkeys(("her", "hermitian", "pos", "positive definite"), hermitian_of),
}
"""The matrix that SciPy computes with, by the value of ``assume_a``; others read all of it."""


def structured(a: Value, assume_a: str | None, lower: bool) -> Value:
    """Return the matrix that SciPy computes with: see `STRUCTURES`."""
    build = STRUCTURES.get(assume_a or "")
    return a if build is None else build(a, lower)
