"""Which memory the result of a function has: the one table that levels, stores and programs ask.

It says what NumPy does for one example. A function that is not in it may share memory with any of
its operands, unless it is a ufunc.
"""

from collections.abc import Iterable
from typing import Literal

import numpy as np

from .numpy_facts import Function

Sharing = Literal["view", "each", "protected", "either", "copied", "fresh", "asked"]

MEMORY: dict[Function, Sharing] = {}
"""The memory of a function's results: a "view" of the operand; views of "each" of its operands,
which its body makes one by one; a "protected" view, which NumPy lets nobody write to, or not
without a warning; "either" a view or a new array, as the operand lies in memory and as the options
tell; a view that is "copied" here; or a "fresh" array. Of a function that asks for memories it is
"asked"."""


def declare_memory(sharing: Sharing, functions: Iterable[Function]) -> None:
    """Say which memory the results of functions have."""
    MEMORY.update(dict.fromkeys(functions, sharing))


def sharing_of(func: Function) -> Sharing | None:
    """Return which memory the results of a function have; None where that is not known."""
    return "fresh" if isinstance(func, np.ufunc) else MEMORY.get(func)


def is_fresh(func: Function) -> bool:
    """Return whether the results of a function share no memory with its operands."""
    return MEMORY.get(func) == "fresh" or isinstance(func, np.ufunc)


def may_be_view(func: Function, args: tuple) -> bool:
    """Tell if a call is one of a function whose views NumPy tells by the places of its operands."""
    if func is np.einsum:  # of several operands it makes an array
        return len(args[1:] if isinstance(args[0], str) else args[:-1:2]) == 1
    return MEMORY.get(func, "fresh") not in ("fresh", "asked", "each")


declare_memory("view", (
    np.transpose, np.permute_dims, np.matrix_transpose, np.linalg.matrix_transpose, np.swapaxes,
    np.moveaxis, np.rollaxis, np.squeeze, np.expand_dims, np.flip, np.fliplr, np.flipud, np.rot90,
    np.split, np.array_split, np.hsplit, np.vsplit, np.dsplit, np.unstack, np.real, np.imag,
))  # fmt: skip
declare_memory("each", (
    np.atleast_1d, np.atleast_2d, np.atleast_3d, np.broadcast_arrays, np.meshgrid, np.ix_,
))  # fmt: skip
declare_memory("protected", (np.diagonal, np.linalg.diagonal, np.broadcast_to))
declare_memory("either", (
    np.reshape, np.ravel, np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray,
    np.require,
))  # fmt: skip
declare_memory("copied", (
    np.einsum, np.diag, np.lib.stride_tricks.as_strided, np.lib.stride_tricks.sliding_window_view,
))  # fmt: skip
declare_memory("fresh", (
    np.copy, np.dot, np.matmul, np.where, np.concatenate, np.stack, np.add.reduce, np.sum, np.mean,
    np.max, np.min, np.prod, np.cumsum, np.cumprod, np.take_along_axis, np.take, np.var, np.std,
    np.argmax, np.argmin, np.argsort, np.sort, np.outer, np.tril, np.triu, np.repeat,
    np.zeros_like, np.ones_like, np.empty_like, np.full_like, np.linalg.solve, np.linalg.inv,
    np.linalg.det, np.linalg.cholesky,
))  # fmt: skip

ORDERS: dict[Function, tuple[str, int]] = {
    **dict.fromkeys((
        np.quantile, np.percentile, np.select, np.tensordot, np.resize, np.vander, np.polyfit,
        np.tile, np.dot, np.inner, np.outer,
    ), ("C", 0)),
    **dict.fromkeys((
        np.matmul, np.vecdot, np.linalg.matrix_power, np.roll, np.kron,
        *(getattr(np, name) for name in ("matvec", "vecmat") if hasattr(np, name)),
    ), ("R", 0)),
    **dict.fromkeys((np.nanquantile, np.nanpercentile), ("M", 0)),
    **dict.fromkeys((
        np.piecewise, np.zeros_like, np.ones_like, np.empty_like, np.full_like, np.gradient,
        np.unwrap, np.nan_to_num, np.nancumsum, np.nancumprod,
    ), ("K", 0)),
    **dict.fromkeys((
        np.insert, np.delete, np.pad, np.round, np.around, np.packbits, np.unpackbits,
    ), ("A", 0)),
    np.polyval: ("K", 1),
}  # fmt: skip
"""The order in memory of a new array where what computes it here may give another one: rows, "C";
that of an operand, "K"; columns where the operand has these alone, "A"; or that of NumPy's result
for small operands that lie as those of the call, "M", which is in rows for "R" where these are and
the call has no options. With the position of the operand. It decides whether a later reshape is a
view."""

ASKED = {np.zeros_like: 2, np.ones_like: 2, np.empty_like: 2, np.full_like: 3}
"""The position of the order in memory that a call asks for, where it has one."""
