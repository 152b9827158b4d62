"""The memory of results: results of transforms share none with arguments or other results."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core.hooks import lazy_argument
from .._core.numpy_facts import PLAIN, SCALARS, Value, copy_in_rows, is_lazy, known_array
from .._core.pytree import flatten, unflatten
from .._core.tensor import Tensor
from .._cpython.collector import COUNTS, count_references
from .._mutation.array import innermost, was_written

ndarray = np.ndarray

TO_PLAIN: dict[type, Callable] = {}
"""Functions that make plain arrays, by the class of arrays that ask modes, or are inside levels.

Nobody else gets these. Empty until a mode has been on, or a level has met a Dask array.
"""


def own_memory(values: list[Value], given: Sequence[Value] = ()) -> list[Value]:
    """Return results as arrays that the caller may write to.

    Those that share memory with another one or with `given`, or are read-only, are copied. The
    memory of a tensor is that of the array inside it, with which it leaves the transform.
    """
    if TO_PLAIN:
        values[:] = show_plain(values)
    if len(values) == 1 and not given:
        if is_read_only(values[0]):
            values[0] = copy_in_rows(values[0])
        return values
    owners = {id(owner_of(x)) for x in given if type(x) not in SCALARS} if given else set()
    for i, x in enumerate(values):
        kind = type(x)
        if kind is not ndarray and not isinstance(x, Tensor):
            continue
        owner = x if kind is ndarray and x.base is None else owner_of(x)
        if owner is None:
            continue
        if id(owner) in owners or is_read_only(x):
            values[i] = copy_in_rows(x)
        owners.add(id(owner))
    return values


def is_read_only(x: Value) -> bool:
    """Tell if `x` is a read-only array, or a known one whose copy has another order in memory."""
    if type(x) is ndarray:
        return not x.flags.writeable
    array = known_array(x)
    return array is not None and not array.flags.writeable and not array.flags.c_contiguous


def separate_from_holders(values: list[Value], others: Sequence[Value] = ()) -> list[Value]:
    """Make the results of a user's function safe against others that hold the same arrays.

    An array that somebody else may refer to becomes a read-only view, so that `own_memory` copies
    it where it comes out as a result. A tensor is copied where it shares memory with `others`.
    """
    owners = None
    for i in range(len(values)):
        kind = type(values[i])
        if kind is ndarray:
            if not COUNTS or count_references(values[i]) > 2 or values[i].base is not None:
                values[i] = read_only(values[i])
        elif (array := known_array(values[i])) is not None and not was_written(values[i]):
            if not COUNTS or count_references(values[i]) > 2 or array.base is not None:
                values[i] = with_value(values[i], read_only(array))
        elif kind not in SCALARS and isinstance(values[i], Tensor):
            if owners is None:
                owners = {id(owner_of(v)) for v in others} - {id(None)}
            if id(owner_of(values[i])) in owners:
                values[i] = np.copy(values[i])
    return values


def read_only(x: ndarray) -> ndarray:
    """Return a read-only view."""
    x = x.view()
    x.flags.writeable = False
    return x


def with_value(x: Any, value: Value) -> Any:
    """Return a tensor like `x` with another array inside."""
    y = object.__new__(type(x))
    y._value, y._extra, y._moves = value, x._extra, None
    return y


def owner_of(x: object) -> ndarray | None:
    """Return the array that owns the memory of `x`, of any level; None if `x` is not an array."""
    if type(x) is ndarray:
        base = x.base
        if base is None or (type(base) is ndarray and base.base is None):
            return x if base is None else base
    while isinstance(x, Tensor):
        x = x._value
    if not isinstance(x, ndarray):
        return None
    owner: Any = x
    base = x
    while base is not None:
        if isinstance(base, ndarray):
            owner = base
        base = getattr(base, "base", None)  # the base that as_strided makes owns no memory
    return owner


def fix_shared(x: Any, leaves: Sequence[Value]) -> Any:
    """Return an argument that is not differentiated, or not mapped, as `leaves` are.

    An array that shares memory with one of these is a read-only view: numbers that are written to
    it would go past the tensor. A Dask array is one whose methods may be given tensors.
    """
    if type(x) is ndarray:
        for leaf in leaves:
            if x is leaf or (
                (x.base is not None or type(leaf) is not ndarray or leaf.base is not None)
                and owner_of(x) is owner_of(leaf)
                and meet(x, innermost(leaf))
            ):
                return read_only(x)
        return x
    if type(x) in PLAIN or isinstance(x, Tensor):
        return x
    arrays, structure = flatten(x)
    if len(arrays) == 1 and arrays[0] is x:
        return lazy_argument(x) if is_lazy(x) else x
    fixed = [fix_shared(y, leaves) for y in arrays]
    return unflatten(structure, fixed) if any([y is not z for y, z in zip(arrays, fixed)]) else x


def fix_unmapped(inner: list[Any], leaves: Sequence[Value], dims: Sequence[int | None]) -> None:
    """Do so for the leaves of a mapped function's arguments that have no axis in `dims`."""
    for i, dim in enumerate(dims):
        if dim is None and (type(inner[i]) is ndarray or is_lazy(inner[i])):
            mapped = [x for x, d in zip(leaves, dims) if d is not None]
            inner[i] = fix_shared(inner[i], mapped)


def meet(x: Any, y: Any) -> bool:
    """Return whether two arrays share an element; where that takes long, if they may."""
    try:
        return np.shares_memory(x, y, max_work=1000)  # type: ignore[arg-type]  # of any number
    except np.exceptions.TooHardError:
        return True


def show_plain(values: list[Value]) -> list[Value]:
    """Replace arrays that ask modes by plain arrays."""
    return [TO_PLAIN[type(v)](v) if type(v) in TO_PLAIN else v for v in values]
