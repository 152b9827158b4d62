"""Batches of functions that SciPy computes one matrix at a time.

NOTE [one example after the other]
    SciPy's own batches of these functions, where it has any, are a loop in Python around
    LAPACK. So is the batching rule: it takes as long, and works in versions without them.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy  # type: ignore[import-untyped]
import scipy.linalg as sl  # type: ignore[import-untyped]

from ...._core.errors import DataDependentError, UnsupportedError
from ...._core.numpy_facts import Shape, Value, name_of
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
        if not isinstance(results[0], tuple):
            return _stack(call, results, batch)
        return tuple(_stack(call, list(column), batch) for column in zip(*results))

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
