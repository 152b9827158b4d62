"""Collectives: operations over the batch axis of an enclosing `vmap`, by its name.

NOTE [where a tensor meets the axis]
    A collective goes down the levels of its operand until it is at the one whose batch
    axis it is about. A batch level of the same contiguous group holds that axis in its
    own array, and there the work is done, on the array. Other levels on the way treat it
    as an operation like any other, with the facts that are declared here: the sum over
    an axis is linear and its own transpose; gathering and scattering a sum are linear,
    each the transpose of the other. What is not nested in the named level is the same for
    all its examples.

Names, argument order and meaning are those of `jax.lax`. A gradient inside the named level
is that of the sum over all examples of what each computes, as it is there.
"""

import sys
from collections.abc import Callable, Hashable
from math import prod
from types import FrameType
from typing import Any

import numpy as np

from .._core.errors import DataDependentError
from .._core.numpy_facts import PLAIN, dtype_of, shape_of
from .._core.op import Op
from .._core.pytree import flatten, is_value, paths, unflatten
from .._core.table import OPS
from .._core.tensor import Tensor
from .._levels.axes import short
from .._levels.batch import BatchLevel
from .._levels.lineage import innermost_class, levels_of
from .masks import AMONG

# ---- the operations, over one level ----


def _linear(func: Callable, transpose: Callable) -> Op:
    """Declare what is linear. The function finds its own way through the batch levels, so
    that NumPy's table has it as a composite of itself.
    """
    OPS[func] = Op(func, "x axis at", family="composite", body=func)
    rule = lambda g, axis, at: transpose(g, axis, at)  # noqa: E731
    return Op(func, "x axis at", "x", family="linear", jvp="linear", vjp={"x": rule})


def _down(record: Op, x: Any, axis: BatchLevel, at: int, alike: Callable, here: Callable) -> Any:
    """Apply a collective where `x` meets the axis: see the NOTE.

    ``alike(x)`` is the result where all examples have `x`; ``here(value, p, k)`` is that
    for an array with the axis at `p` and `k` batch axes in all.
    """
    cls = type(x)
    if cls in PLAIN or not isinstance(x, Tensor) or not issubclass(cls, axis.cls):
        return alike(x)
    level = cls.level
    if not level.batches:
        return level.apply_single(record, x, {"axis": axis, "at": at})
    mask = AMONG.get()
    if mask is not None and axis.cls in mask.donor:
        raise axis.refusal(
            DataDependentError,
            f"a collective over {axis.axis_name!r} needs all examples, and not all of them come to "
            f"this branch or step of a loop; call it before cond, switch or while_loop, and "
            f"use its result there",
        )
    if axis.cls not in [part.cls for part in level.group()]:
        return level.wrap(record.func(x._value, axis, at + level.k))
    if axis.chunk is not None and axis.chunk.count > 1:
        raise ValueError(
            f"{axis}: a collective over {axis.axis_name!r} needs all examples, and there are "
            f"those of one chunk only; leave chunk_size out, or combine the results after the call"
        )
    return level.wrap(here(x._value, axis.k - 1, level.k))


def _sum(x: Any, axis: BatchLevel, at: int = 0) -> Any:
    """The sum over the axis."""

    def here(value: Any, p: int, k: int) -> Any:
        if value.shape[p] != axis.size:
            return _times(value, axis)
        return np.sum(value, axis=p, keepdims=True)

    return _down(SUM, x, axis, at, lambda x: _times(x, axis), here)


def _times(x: Any, axis: BatchLevel) -> Any:
    """The sum of what is the same for all examples, in the dtype of a sum."""
    if hasattr(x, "dtype") and dtype_of(x).kind in "biu":
        x = np.sum(x, axis=())
    return x * _size(axis)


def _gather(x: Any, axis: BatchLevel, at: int) -> Any:
    """What all examples have, in a new axis `at`; a view where `x` is no derivative."""

    def alike(x: Any, at: int = at) -> Any:
        shape = shape_of(x)
        whole = (*shape[:at], _size(axis), *shape[at:])
        return np.broadcast_to(np.expand_dims(x, at), whole)

    def here(value: Any, p: int, k: int) -> Any:
        if value.shape[p] != axis.size:
            return alike(value, at + k)
        return np.swapaxes(np.expand_dims(value, at + k), p, at + k)

    return _down(GATHER, x, axis, at, alike, here)


def _scatter(x: Any, axis: BatchLevel, at: int) -> Any:
    """The sum over the axis, of which each example gets its own part along `at`."""

    def here(value: Any, p: int, k: int) -> Any:
        if value.shape[p] != axis.size:
            total = _times(value, axis)
        else:
            total = np.sum(value, axis=p, keepdims=True)
        return np.squeeze(np.swapaxes(total, p, at + k), at + k)

    def alike(x: Any) -> Any:
        total, chunk = _times(x, axis), axis.chunk
        if chunk is not None:
            total = total[(*(slice(None),) * at, slice(chunk.start, chunk.stop))]
        return axis.insert([total], [at], "psum_scatter")[0]

    return _down(SCATTER, x, axis, at, alike, here)


SUM = _linear(_sum, _sum)
GATHER = _linear(_gather, _scatter)
SCATTER = _linear(_scatter, _gather)

# ---- the level of a name ----


def _named(op: str, axis_name: Any, leaves: list, frame: FrameType) -> list[BatchLevel]:
    """The levels of one name or a tuple of names, among those around `frame` or `leaves`."""
    names = axis_name if isinstance(axis_name, tuple) else (axis_name,)
    found: dict[Hashable, BatchLevel] = {}
    for level in levels_of(innermost_class(leaves, frame)):
        if level.batches and level.axis_name is not None:
            found.setdefault(level.axis_name, level)
    if not names or len(set(names)) != len(names):
        raise ValueError(f"{op}: axis_name={axis_name!r}; write each name once")
    for name in names:
        if name not in found:
            here = ", ".join(map(repr, found)) or "none"
            raise NameError(
                f"{op}: no enclosing vmap has the axis_name {name!r} (there are: {here}); write "
                f"vmap(f, axis_name={name!r})"
            )
    return [found[name] for name in names]


def _size(axis: BatchLevel) -> int:
    size = axis.size if axis.chunk is None else axis.chunk.size
    if size is None:
        raise ValueError(
            f"{axis}: the level has no batch size yet; make a tensor of it first, B(xs), or write "
            f"vmap(axis_name={axis.axis_name!r}, axis_size=n)"
        )
    return size


def _over(op: str, x: Any, axis_name: Any, frame: FrameType, apply: Callable) -> Any:
    """``apply(leaf, levels)`` of every leaf of `x`."""
    leaves, structure = flatten(x)
    for i, leaf in enumerate(leaves):
        if not is_value(leaf):
            raise TypeError(
                f"{op}: {paths(x, 'x')[i]} is {short(leaf)}, not an array; pass arrays, or "
                f"pytrees of arrays"
            )
    levels = _named(op, axis_name, leaves, frame)
    return unflatten(structure, [apply(leaf, levels) for leaf in leaves])


def _place(op: str, option: str, axis: Any, x: Any, more: int = 0) -> int:
    """An axis of `x`, or of `x` with so many more axes, counted from the first."""
    ndim = len(shape_of(x)) + more
    if isinstance(axis, bool) or not isinstance(axis, (int, np.integer)):
        raise TypeError(f"{op}: {option} is {axis!r}, a {type(axis).__name__}; write an int")
    if not -ndim <= axis < ndim:
        raise ValueError(
            f"{op}: {option} {axis} is out of range for x of shape {shape_of(x)}; "
            + (f"write an axis from {-ndim} to {ndim - 1}" if ndim else "it has no axis")
        )
    return int(axis) % ndim


def _all(x: Any, levels: list[BatchLevel], at: int) -> Any:
    """Gather over several levels: an axis for each, from `at` on."""
    for level in reversed(levels):
        x = _gather(x, level, at)
    return x


def _merge(x: Any, at: int, count: int) -> Any:
    """`x` with `count` axes from `at` on as one."""
    shape = shape_of(x)
    form = (*shape[:at], prod(shape[at : at + count]), *shape[at + count :])
    return x if count == 1 else np.reshape(x, form)


# ---- the public functions ----


def psum(x: Any, axis_name: Any) -> Any:
    """The sum of `x` over the examples of an enclosing `vmap`.

    Parameters
    ----------
    x : array or pytree of arrays
        What each example has.
    axis_name : hashable or tuple
        The `axis_name` of the `vmap`; several for the sum over all of their axes.

    Returns
    -------
    array or pytree of arrays
        The shapes of `x`, and the dtypes of `numpy.sum`; the same for every example. What
        does not vary is multiplied by the number of examples: ``psum(1, "i")`` is that
        number, a Python int.

    Raises
    ------
    NameError
        Where no enclosing level has the name.
    ValueError
        Where the batch is computed in chunks, and all its examples are needed.
    DataDependentError
        Where not all examples come to the call: in a branch of `cond` that some take.

    Notes
    -----
    The derivative is that of the sum: under ``vmap(grad(f), axis_name="i")`` it is of the
    sum over the examples of all their `f`, as in JAX, whose `psum` is its own transpose.

    Examples
    --------
    >>> import numpy as np
    >>> from functier import vmap
    >>> vmap(lambda x: x / psum(x, "i"), axis_name="i")(np.array([1.0, 3.0]))
    array([0.25, 0.75])
    """

    def apply(leaf: Any, levels: list) -> Any:
        for level in levels:
            leaf = _sum(leaf, level)
        return leaf

    return _over("psum", x, axis_name, sys._getframe(1), apply)


def pmean(x: Any, axis_name: Any) -> Any:
    """The mean of `x` over the examples of an enclosing `vmap`: `psum` over their number.

    Examples
    --------
    >>> import numpy as np
    >>> from functier import vmap
    >>> vmap(lambda x: x - pmean(x, "i"), axis_name="i")(np.array([1.0, 2.0, 6.0]))
    array([-2., -1.,  3.])
    """

    def apply(leaf: Any, levels: list) -> Any:
        for level in levels:
            leaf = _sum(leaf, level)
        return leaf / prod(map(_size, levels))

    return _over("pmean", x, axis_name, sys._getframe(1), apply)


def pmax(x: Any, axis_name: Any) -> Any:
    """The largest `x` of the examples of an enclosing `vmap`, element by element.

    Equal ones share the gradient, as in `numpy.max` under `grad`. See `psum` for the
    parameters.

    Examples
    --------
    >>> import numpy as np
    >>> from functier import vmap
    >>> vmap(lambda x: x / pmax(x, "i"), axis_name="i")(np.array([1.0, 4.0]))
    array([0.25, 1.  ])
    """
    return _over("pmax", x, axis_name, sys._getframe(1), _extreme(np.max))


def pmin(x: Any, axis_name: Any) -> Any:
    """The smallest `x` of the examples of an enclosing `vmap`; see `pmax`.

    Examples
    --------
    >>> import numpy as np
    >>> from functier import vmap
    >>> vmap(lambda x: x - pmin(x, "i"), axis_name="i")(np.array([1.0, 4.0]))
    array([0., 3.])
    """
    return _over("pmin", x, axis_name, sys._getframe(1), _extreme(np.min))


def _extreme(func: Callable) -> Callable:
    def apply(leaf: Any, levels: list) -> Any:
        return func(_all(leaf, levels, 0), axis=tuple(range(len(levels))))

    return apply


def axis_index(axis_name: Any) -> Any:
    """Which example of an enclosing `vmap` this is.

    Parameters
    ----------
    axis_name : hashable or tuple
        The `axis_name` of the `vmap`; of several the index counts through all of their
        examples, the last name fastest.

    Returns
    -------
    Tensor
        An integer, of the level that has the name. Where the batch is computed in chunks it
        is the index in the whole batch.

    Examples
    --------
    >>> import numpy as np
    >>> from functier import vmap
    >>> vmap(lambda x: x * axis_index("i"), axis_name="i")(np.array([5, 5, 5]))
    array([ 0,  5, 10])
    """
    index: Any = 0
    for level in _named("axis_index", axis_name, [], sys._getframe(1)):
        n, chunk = _size(level), level.chunk
        own = np.arange(n) if chunk is None else np.arange(chunk.start, chunk.stop)
        index = index * n + level.insert([own], [0], "axis_index")[0]
    return index


def axis_size(axis_name: Any) -> int:
    """The number of examples of an enclosing `vmap`, or of several together.

    Examples
    --------
    >>> import numpy as np
    >>> from functier import vmap
    >>> vmap(lambda x: x / axis_size("i"), axis_name="i")(np.array([2.0, 4.0]))
    array([1., 2.])
    """
    return prod(map(_size, _named("axis_size", axis_name, [], sys._getframe(1))))


def all_gather(x: Any, axis_name: Any, *, axis: int = 0, tiled: bool = False) -> Any:
    """The `x` of all examples of an enclosing `vmap`, for every example.

    Parameters
    ----------
    x : array or pytree of arrays
        What each example has.
    axis_name : hashable or tuple
        The `axis_name` of the `vmap`; of several all examples stand in one row, the last
        name fastest.
    axis : int
        Where the examples go: the place of a new axis of the result, or with `tiled` the
        axis of `x` along which they are concatenated.
    tiled : bool
        Whether to concatenate instead of stacking.

    Returns
    -------
    array or pytree of arrays
        The same for every example. Without `tiled`, and with one name, no data is copied:
        the batch axis is made an axis of the array.

    Raises
    ------
    NameError, ValueError
        As `psum`; and where `axis` is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> from functier import vmap
    >>> xs = np.array([[3.0, 4.0], [6.0, 8.0]])
    >>> vmap(lambda x: all_gather(x, "i") @ x, axis_name="i")(xs)
    array([[ 25.,  50.],
           [ 50., 100.]])
    """

    def apply(leaf: Any, levels: list) -> Any:
        at = _place("all_gather", "axis", axis, leaf, 0 if tiled else 1)
        return _merge(_all(leaf, levels, at), at, len(levels) + bool(tiled))

    return _over("all_gather", x, axis_name, sys._getframe(1), apply)


def psum_scatter(x: Any, axis_name: Any, *, scatter_dimension: int = 0, tiled: bool = False) -> Any:
    """The sum of `x` over the examples of an enclosing `vmap`, of which each gets its part.

    ``psum(x, axis_name)[axis_index(axis_name)]``, without the other parts for every
    example; the transpose of `all_gather`.

    Parameters
    ----------
    x : array or pytree of arrays
        What each example has.
    axis_name : hashable or tuple
        The `axis_name` of the `vmap`, or several.
    scatter_dimension : int
        The axis of `x` to take a part of: as long as there are examples, or with `tiled` a
        multiple of that.
    tiled : bool
        Whether the axis stays, each part having several elements; else it goes.

    Returns
    -------
    array or pytree of arrays
        The shapes of `x` without the axis, or with `tiled` with a shorter one.

    Raises
    ------
    NameError, ValueError
        As `psum`; and where the axis is out of range or cannot be divided so.

    Examples
    --------
    >>> import numpy as np
    >>> from functier import vmap
    >>> xs = np.array([[1.0, 2.0], [10.0, 20.0]])
    >>> vmap(lambda x: psum_scatter(x, "i"), axis_name="i")(xs)
    array([11., 22.])
    """

    def apply(leaf: Any, levels: list) -> Any:
        at = _place("psum_scatter", "scatter_dimension", scatter_dimension, leaf)
        shape, sizes = shape_of(leaf), [_size(level) for level in levels]
        n, total = shape[at], prod(sizes)
        if n % total if tiled and total else n != total:
            raise ValueError(
                f"psum_scatter: x of shape {shape} has {n} elements along the axis {at}, and "
                f"there are {total} examples; pass {'a multiple' if tiled else 'as many'}, or "
                f"{'repeat or pad x' if tiled else 'write tiled=True for several each'}"
            )
        rest = (n // total if total else 0,) if tiled else ()
        leaf = np.reshape(leaf, (*shape[:at], *sizes, *rest, *shape[at + 1 :]))
        for level in levels:
            leaf = _scatter(leaf, level, at)
        return leaf

    return _over("psum_scatter", x, axis_name, sys._getframe(1), apply)
