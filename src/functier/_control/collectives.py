"""Collectives: operations over the batch axis of an enclosing `vmap`, by its name.

NOTE [where a tensor meets the axis]
    A collective goes down the levels of its operand to the level whose batch axis it names.
    A batch level of the same contiguous group has this axis in its array, and the work is
    done there, on the array. The other levels on the way treat the collective like any other
    operation, with the rules that are declared here: the sum over an axis is linear and its
    own transpose; gathering and scattering a sum are linear, and each is the transpose of
    the other. A value that is not nested in the named level is the same for all its examples.

Names, argument order and meaning are those of `jax.lax`.
"""

from collections.abc import Callable, Hashable
from math import prod
from typing import Any, TypeAlias

import numpy as np

from .._core.errors import DataDependentError
from .._core.numpy_facts import PLAIN, Function, PyTree, Value, dtype_of, shape_of
from .._core.op import Op
from .._core.pytree import flatten, is_value, paths, unflatten
from .._core.table import OPS
from .._core.tensor import Tensor
from .._core.tracebacks import checks_keywords
from .._cpython.frames import Frame, current_frame
from .._levels.axes import short
from .._levels.batch import BatchLevel
from .._levels.lineage import innermost_class, levels_of
from .masks import AMONG

Reduction: TypeAlias = Callable[[Value, list[BatchLevel]], Value]
"""A function of a leaf and the levels that a collective names."""

# ---- the operations, over one level ----


def _declare_linear(func: Callable, transpose: Callable) -> Op:
    """Declare a linear collective, and return its record.

    The table of operations has `func` as a composite of itself, as it goes through the batch
    levels without their help.
    """
    OPS[func] = Op(func, "x axis at", family="composite", body=func)
    rule = lambda g, axis, at: transpose(g, axis, at)  # noqa: E731
    return Op(func, "x axis at", "x", family="linear", jvp="linear", vjp={"x": rule})


def _go_down(
    record: Op,
    x: Value,
    axis: BatchLevel,
    at: int,
    alike: Callable[[Value], Value],
    here: Callable[[Value, int, int], Value],
) -> Value:
    """Apply a collective where `x` meets the axis; see NOTE [where a tensor meets the axis].

    ``alike(x)`` is the result if all examples have the same `x`; ``here(value, p, k)`` is the
    result for an array with the axis at position `p` among `k` batch axes.
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
            f"a collective over {axis.axis_name!r} needs all examples, but not all of them reach "
            f"this branch or step of a loop; call it before cond, switch or while_loop, and "
            f"use its result there",
        )
    if axis.cls not in [part.cls for part in level.group()]:
        return level.wrap(record.func(x.parts()[0], axis, at + level.k))
    if axis.chunk is not None and axis.chunk.count > 1:
        raise ValueError(
            f"{axis}: a collective over {axis.axis_name!r} needs all examples, but a chunk has "
            f"only some of them; leave chunk_size out, or combine the results after the call"
        )
    return level.wrap(here(x.parts()[0], axis.k - 1, level.k))


def _sum(x: Value, axis: BatchLevel, at: int = 0) -> Value:
    """Return the sum over the axis."""

    here = lambda value, p, k: _sum_at(value, p, axis)  # noqa: E731
    return _go_down(SUM, x, axis, at, lambda x: _times(x, axis), here)


def _sum_at(value: Value, p: int, axis: BatchLevel) -> Value:
    """Return the sum over the batch axis `p` of an array, which may have a single example."""
    several = value.shape[p] == axis.size
    return np.sum(value, axis=p, keepdims=True) if several else _times(value, axis)


def _times(x: Value, axis: BatchLevel) -> Value:
    """Return the sum over the axis of a value that is the same for all examples."""
    if hasattr(x, "dtype") and dtype_of(x).kind in "biu":
        x = np.sum(x, axis=())
    return x * _size(axis)


def _gather(x: Value, axis: BatchLevel, at: int) -> Value:
    """Return the values of all examples along a new axis `at`; a view if `x` is an array."""

    def alike(x: Value, at: int = at) -> Value:
        shape = shape_of(x)
        return np.broadcast_to(np.expand_dims(x, at), (*shape[:at], _size(axis), *shape[at:]))

    def here(value: Value, p: int, k: int) -> Value:
        if value.shape[p] != axis.size:
            return alike(value, at + k)
        return np.swapaxes(np.expand_dims(value, at + k), p, at + k)

    return _go_down(GATHER, x, axis, at, alike, here)


def _scatter(x: Value, axis: BatchLevel, at: int) -> Value:
    """Return, for each example, its part along `at` of the sum over the axis."""

    def here(value: Value, p: int, k: int) -> Value:
        return np.squeeze(np.swapaxes(_sum_at(value, p, axis), p, at + k), at + k)

    def alike(x: Value) -> Value:
        total, chunk = _times(x, axis), axis.chunk
        if chunk is not None:
            total = total[(*(slice(None),) * at, slice(chunk.start, chunk.stop))]
        return axis.insert([total], [at], "psum_scatter")[0]

    return _go_down(SCATTER, x, axis, at, alike, here)


SUM = _declare_linear(_sum, _sum)
GATHER = _declare_linear(_gather, _scatter)
SCATTER = _declare_linear(_scatter, _gather)

# ---- the level of a name ----


def _find_levels(op: str, axis_name: Hashable, leaves: list, frame: Frame) -> list[BatchLevel]:
    """Return the levels with one name, or a tuple of names, around `frame` or `leaves`."""
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
    """Return the number of examples along an axis, over all chunks."""
    size = axis.size if axis.chunk is None else axis.chunk.size
    if size is None:
        raise ValueError(
            f"{axis}: the level has no batch size yet; make a tensor of it first, B(xs), or write "
            f"vmap(axis_name={axis.axis_name!r}, axis_size=n)"
        )
    return size


def _map_leaves(op: str, x: PyTree, axis_name: Hashable, frame: Frame, apply: Reduction) -> Any:
    """Return ``apply(leaf, levels)`` for every leaf of `x`."""
    leaves, structure = flatten(x)
    for i, leaf in enumerate(leaves):
        if not is_value(leaf):
            raise TypeError(
                f"{op}: {paths(x, 'x')[i]} is {short(leaf)}, not an array; pass arrays, or "
                f"pytrees of arrays"
            )
    levels = _find_levels(op, axis_name, leaves, frame)
    return unflatten(structure, [apply(leaf, levels) for leaf in leaves])


def _check_axis(op: str, option: str, axis: Any, x: Value, more: int = 0) -> int:
    """Return an axis of `x`, or of `x` with `more` axes, checked and counted from the first."""
    ndim = len(shape_of(x)) + more
    if isinstance(axis, bool) or not isinstance(axis, (int, np.integer)):
        raise TypeError(f"{op}: {option} is {axis!r}, a {type(axis).__name__}; write an int")
    if not -ndim <= axis < ndim:
        raise ValueError(
            f"{op}: {option} {axis} is out of range for x of shape {shape_of(x)}; "
            + (f"write an axis from {-ndim} to {ndim - 1}" if ndim else "it has no axis")
        )
    return int(axis) % ndim


def _sum_all(x: Value, levels: list[BatchLevel]) -> Value:
    """Sum over several levels."""
    for level in levels:
        x = _sum(x, level)
    return x


def _gather_all(x: Value, levels: list[BatchLevel], at: int) -> Value:
    """Gather over several levels, with an axis for each from `at` on."""
    for level in reversed(levels):
        x = _gather(x, level, at)
    return x


def _merge_axes(x: Value, at: int, count: int) -> Value:
    """Return `x` with `count` axes from `at` on merged into one."""
    shape = shape_of(x)
    form = (*shape[:at], prod(shape[at : at + count]), *shape[at + count :])
    return x if count == 1 else np.reshape(x, form)


# ---- the public functions ----


@checks_keywords
def psum(x: PyTree, axis_name: Hashable) -> PyTree:
    """Compute the sum of `x` over the examples of an enclosing `vmap`.

    Parameters
    ----------
    x : array or pytree of arrays
        The value of each example.
    axis_name : hashable or tuple
        The `axis_name` of the `vmap`, or a tuple of names to sum over all their axes.

    Returns
    -------
    array or pytree of arrays
        Arrays with the shapes of `x` and the dtypes of `numpy.sum`, the same for every
        example. A value that does not vary is multiplied by the number of examples:
        ``psum(1, "i")`` is this number, a Python int.

    Raises
    ------
    NameError
        If no enclosing level has the name.
    ValueError
        If the batch is computed in chunks.
    DataDependentError
        If not all examples reach the call, such as in a branch of `cond`.

    Notes
    -----
    The derivative under ``vmap(grad(f), axis_name="i")`` is that of the sum of `f` over all
    examples, as in JAX: `psum` is its own transpose.

    Examples
    --------
    >>> import numpy as np
    >>> from functier import vmap
    >>> vmap(lambda x: x / psum(x, "i"), axis_name="i")(np.array([1.0, 3.0]))
    array([0.25, 0.75])
    """
    return _map_leaves("psum", x, axis_name, current_frame(2), _sum_all)


@checks_keywords
def pmean(x: PyTree, axis_name: Hashable) -> PyTree:
    """Compute the mean of `x` over the examples of an enclosing `vmap`.

    Parameters
    ----------
    x : array or pytree of arrays
    axis_name : hashable or tuple
        As in `psum`.

    Examples
    --------
    >>> import numpy as np
    >>> from functier import vmap
    >>> vmap(lambda x: x - pmean(x, "i"), axis_name="i")(np.array([1.0, 2.0, 6.0]))
    array([-2., -1.,  3.])
    """

    def apply(leaf: Value, levels: list[BatchLevel]) -> Value:
        return _sum_all(leaf, levels) / prod(map(_size, levels))

    return _map_leaves("pmean", x, axis_name, current_frame(2), apply)


@checks_keywords
def pmax(x: PyTree, axis_name: Hashable) -> PyTree:
    """Compute the elementwise maximum of `x` over the examples of an enclosing `vmap`.

    Equal elements share the gradient, as in `numpy.max` under `grad`.

    Parameters
    ----------
    x : array or pytree of arrays
    axis_name : hashable or tuple
        As in `psum`.

    Examples
    --------
    >>> import numpy as np
    >>> from functier import vmap
    >>> vmap(lambda x: x / pmax(x, "i"), axis_name="i")(np.array([1.0, 4.0]))
    array([0.25, 1.  ])
    """
    return _map_leaves("pmax", x, axis_name, current_frame(2), _extremum(np.max))


@checks_keywords
def pmin(x: PyTree, axis_name: Hashable) -> PyTree:
    """Compute the elementwise minimum of `x` over the examples of an enclosing `vmap`.

    Equal elements share the gradient.

    Parameters
    ----------
    x : array or pytree of arrays
    axis_name : hashable or tuple
        As in `psum`.

    Examples
    --------
    >>> import numpy as np
    >>> from functier import vmap
    >>> vmap(lambda x: x - pmin(x, "i"), axis_name="i")(np.array([1.0, 4.0]))
    array([0., 3.])
    """
    return _map_leaves("pmin", x, axis_name, current_frame(2), _extremum(np.min))


def _extremum(func: Function) -> Reduction:
    """Return the reduction by `numpy.max` or `numpy.min` over all axes."""

    def apply(leaf: Value, levels: list[BatchLevel]) -> Value:
        return func(_gather_all(leaf, levels, 0), axis=tuple(range(len(levels))))

    return apply


@checks_keywords
def axis_index(axis_name: Hashable) -> Any:
    """Return the index of the current example of an enclosing `vmap`.

    Parameters
    ----------
    axis_name : hashable or tuple
        The `axis_name` of the `vmap`. With a tuple of names the index counts all examples
        together, along the axis of the last name fastest.

    Returns
    -------
    Tensor
        An integer tensor of the level with the name. If the batch is computed in chunks, it
        is the index in the whole batch.

    Examples
    --------
    >>> import numpy as np
    >>> from functier import vmap
    >>> vmap(lambda x: x * axis_index("i"), axis_name="i")(np.array([5, 5, 5]))
    array([ 0,  5, 10])
    """
    index: Value = 0
    for level in _find_levels("axis_index", axis_name, [], current_frame(2)):
        n, chunk = _size(level), level.chunk
        indices = np.arange(n) if chunk is None else np.arange(chunk.start, chunk.stop)
        index = index * n + level.insert([indices], [0], "axis_index")[0]
    return index


@checks_keywords
def axis_size(axis_name: Hashable) -> int:
    """Return the number of examples of an enclosing `vmap`, or of several together.

    Parameters
    ----------
    axis_name : hashable or tuple
        As in `axis_index`.

    Examples
    --------
    >>> import numpy as np
    >>> from functier import vmap
    >>> vmap(lambda x: x / axis_size("i"), axis_name="i")(np.array([2.0, 4.0]))
    array([1., 2.])
    """
    return prod(map(_size, _find_levels("axis_size", axis_name, [], current_frame(2))))


@checks_keywords
def all_gather(x: PyTree, axis_name: Hashable, *, axis: int = 0, tiled: bool = False) -> PyTree:
    """Gather `x` from all examples of an enclosing `vmap`.

    Parameters
    ----------
    x : array or pytree of arrays
        The value of each example.
    axis_name : hashable or tuple
        The `axis_name` of the `vmap`. With a tuple of names all examples are gathered along
        one axis, those along the axis of the last name fastest.
    axis : int
        The position of the new axis in the result; with `tiled`, the axis of `x` to concatenate the
        examples along.
    tiled : bool
        Whether to concatenate the examples instead of stacking them.

    Returns
    -------
    array or pytree of arrays
        The gathered values, the same for every example. Without `tiled`, and with one name,
        no data is copied: the batch axis becomes an axis of the array.

    Raises
    ------
    NameError, ValueError
        As `psum`; and if `axis` is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> from functier import vmap
    >>> xs = np.array([[3.0, 4.0], [6.0, 8.0]])
    >>> vmap(lambda x: all_gather(x, "i") @ x, axis_name="i")(xs)
    array([[ 25.,  50.],
           [ 50., 100.]])
    """

    def apply(leaf: Value, levels: list[BatchLevel]) -> Value:
        at = _check_axis("all_gather", "axis", axis, leaf, 0 if tiled else 1)
        return _merge_axes(_gather_all(leaf, levels, at), at, len(levels) + bool(tiled))

    return _map_leaves("all_gather", x, axis_name, current_frame(2), apply)


@checks_keywords
def psum_scatter(
    x: PyTree, axis_name: Hashable, *, scatter_dimension: int = 0, tiled: bool = False
) -> PyTree:
    """Sum `x` over the examples of an enclosing `vmap`, and give each example one part.

    The result is ``psum(x, axis_name)[axis_index(axis_name)]``, without computing the whole
    sum for every example. It is the transpose of `all_gather`.

    Parameters
    ----------
    x : array or pytree of arrays
        The value of each example.
    axis_name : hashable or tuple
        The `axis_name` of the `vmap`, or a tuple of names.
    scatter_dimension : int
        The axis of `x` to divide among the examples. Its length is the number of examples,
        or with `tiled` a multiple of it.
    tiled : bool
        Whether each example gets a slice along the axis; otherwise it gets one element, and
        the axis is removed.

    Returns
    -------
    array or pytree of arrays
        Arrays with the shapes of `x` without the axis, or with `tiled` with a shorter axis.

    Raises
    ------
    NameError, ValueError
        As `psum`; and if the axis is out of range, or its length does not match.

    Examples
    --------
    >>> import numpy as np
    >>> from functier import vmap
    >>> xs = np.array([[1.0, 2.0], [10.0, 20.0]])
    >>> vmap(lambda x: psum_scatter(x, "i"), axis_name="i")(xs)
    array([11., 22.])
    """

    def apply(leaf: Value, levels: list[BatchLevel]) -> Value:
        at = _check_axis("psum_scatter", "scatter_dimension", scatter_dimension, leaf)
        shape, sizes = shape_of(leaf), [_size(level) for level in levels]
        n, total = shape[at], prod(sizes)
        if n % total if tiled and total else n != total:
            raise ValueError(
                f"psum_scatter: x of shape {shape} has {n} elements along the axis {at}, but "
                f"there are {total} examples; pass {'a multiple' if tiled else 'as many'}, or "
                f"{'repeat or pad x' if tiled else 'write tiled=True for several each'}"
            )
        rest = (n // total if total else 0,) if tiled else ()
        leaf = np.reshape(leaf, (*shape[:at], *sizes, *rest, *shape[at + 1 :]))
        for level in levels:
            leaf = _scatter(leaf, level, at)
        return leaf

    return _map_leaves("psum_scatter", x, axis_name, current_frame(2), apply)
