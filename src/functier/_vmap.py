"""vmap: the transform over batch levels."""

import functools
import sys
from collections.abc import Callable, Hashable
from typing import Any, ParamSpec, TypeVar, overload

import numpy as np

from ._batch import BatchLevel, Randomness, check_axis
from ._context import LevelContext, check_escape
from ._level import Escape
from ._pytree import (
    check_callable,
    flatten,
    name_of_function,
    paths,
    prefix_leaves,
    unflatten,
)
from ._tensor import Tensor

P = ParamSpec("P")
R = TypeVar("R")

ndarray = np.ndarray


@overload
def vmap(
    func: Callable[P, R], in_dims: Any = 0, out_dims: Any = 0, randomness: Randomness = "error",
    *, axis_size: int | None = None, axis_name: Hashable = None, escape: Escape = "dead",
) -> Callable[P, R]: ...  # fmt: skip
@overload
def vmap(
    func: None = None, in_dims: Any = 0, out_dims: Any = 0, randomness: Randomness = "error",
    *, axis_size: int | None = None, axis_name: Hashable = None, escape: Escape = "dead",
) -> Any: ...  # fmt: skip
def vmap(
    func: Callable | None = None,
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: Randomness = "error",
    *,
    axis_size: int | None = None,
    axis_name: Hashable = None,
    escape: Escape = "dead",
) -> Any:
    """Vectorize `func`: written for one example, applied to a batch at once.

    Parameters
    ----------
    func : callable, optional
        A function of arrays, or of pytrees of arrays, that returns such. Keyword
        arguments are passed through unmapped. Without `func` the result is a context
        manager (``with vmap() as B:``, where ``B(xs, in_dim=0)`` makes a tensor and
        ``B.unwrap(y, out_dim=0)`` takes one out) and a decorator.
    in_dims : int, None, or pytree of these
        The axis of each argument to map over; None for an argument that is the same
        for every example. A prefix of the tree of positional arguments.
    out_dims : int, None, or pytree of these
        Where the batch axis goes in each result; None for a result that does not vary.
    randomness : {"error", "different", "same"}
        What a draw from a `functier.random` generator does in `func`: raise, give every
        example numbers of its own, or the same ones to all.
    axis_size : int, optional
        The batch size, for where no argument is mapped; else it has to be theirs.
    axis_name : hashable, optional
        The name by which `psum` and the other collectives know the batch axis.
    escape : {"dead", "passthrough"}
        What a tensor of this level does once the call is over: raise on every use, or
        act as the value it wraps.

    Returns
    -------
    callable or context manager
        With the signature of `func`, its arguments and results having one axis more.

    Raises
    ------
    ValueError
        Where nothing is mapped, batch sizes differ, `in_dims` or `out_dims` does not
        fit, or a result that varies has ``out_dims=None``; the message names the
        argument by its path.
    LevelError
        Where a tensor of another, unrelated level is met.

    Examples
    --------
    >>> import numpy as np
    >>> xs, ys = np.ones((10, 2)), np.ones((15, 2))
    >>> vmap(lambda x: vmap(lambda y: x + y)(ys))(xs).shape
    (10, 15, 2)
    """
    check_escape("vmap", escape)
    named: dict[str, Any] = {"randomness": randomness, "axis_name": axis_name, "size": axis_size}
    common = named == {"randomness": "error", "axis_name": None, "size": None}
    if func is None:
        return LevelContext(
            BatchLevel,
            "vmap()",
            escape,
            lambda f: vmap(
                f, in_dims, out_dims, randomness,
                axis_size=axis_size, axis_name=axis_name, escape=escape,
            ),
            **named,
        )  # fmt: skip
    check_callable("vmap", func)
    label = f"vmap({name_of_function(func)})"
    simple = type(in_dims) is int or (
        type(in_dims) is tuple and all(d is None or type(d) is int for d in in_dims)
    )
    leading = type(out_dims) is int and not out_dims
    flat: dict[int, Any] = {}  # the axes for so many bare arrays

    @functools.wraps(func)
    def vmapped(*args: Any, **kwargs: Any) -> Any:
        dims: Any
        for arg in args:
            if type(arg) is not ndarray and not isinstance(arg, Tensor):
                leaves, structure, dims = _mapped_leaves(label, args, in_dims, axis_size)
                break
        else:
            leaves, structure, dims = args, None, flat.get(len(args))
            if dims is None:
                leaves, structure, dims = _mapped_leaves(label, args, in_dims, axis_size)
                if simple:
                    structure = None
                    flat[len(args)] = dims
        given = (*leaves, *flatten(kwargs)[0]) if kwargs else leaves
        level = BatchLevel.enter(label, escape, sys._getframe(1), given)
        if not common:
            vars(level).update(named)
        try:
            inner = level.insert(leaves, dims, args)
            if structure is not None:
                inner = unflatten(structure, inner)
            out = func(*inner, **kwargs)
            del inner
            if leading and (type(out) is level.cls or type(out) is ndarray):
                result = level.unwrap(out)
            else:
                result = _unwrap_tree(level, out, out_dims)
            del out
        finally:
            level.exit()
        if common:
            level.recycle()
        return result

    return vmapped


def _mapped_leaves(
    label: str, args: tuple, in_dims: Any, axis_size: int | None
) -> tuple[Any, Any, list]:
    """The leaves of the arguments, their structure, and the axis to map for each."""
    if isinstance(in_dims, (tuple, list)) and len(in_dims) != len(args):
        raise _wrong_length(label, in_dims, args)
    leaves, structure = flatten(args)
    spec = tuple(in_dims) if isinstance(in_dims, list) else in_dims
    dims = prefix_leaves(spec, args, label, "in_dims", True)
    if type(in_dims) is not int:
        for leaf, dim in zip(leaves, dims):
            check_axis(label, "in_dim", dim, leaf, args)
    if axis_size is None and not any(dim is not None for dim in dims):
        raise ValueError(
            f"{label}: no argument is mapped (in_dims={in_dims!r}, {len(args)} positional "
            f"arguments); give at least one array an axis to map over, or write axis_size"
        )
    return leaves, structure, dims


def _unwrap_tree(level: BatchLevel, out: Any, out_dims: Any) -> Any:
    results, structure = flatten(out)
    if type(out_dims) is int:
        dims = [out_dims] * len(results)
    else:
        dims = prefix_leaves(out_dims, out, str(level), "out_dims")
    where = paths(out, "the result")
    if type(out_dims) is not int:
        for dim, path in zip(dims, where):
            check_axis(level, "out_dim", dim, None, path)
    return unflatten(structure, [level.unwrap(*r) for r in zip(results, dims, where)])


def _wrong_length(label: str, in_dims: Any, args: tuple) -> ValueError:
    return ValueError(
        f"{label}: in_dims={in_dims!r} has {len(in_dims)} entries for {len(args)} positional "
        f"arguments; write one entry for each (None for an argument that is not mapped)"
    )
