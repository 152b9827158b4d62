"""Messages of vmap about the axes of its arguments and results."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._core.border import check_leaf, name_of_kind
from .._core.numpy_facts import PLAIN, Value
from .._core.pytree import flatten, instead_of, is_value, paths


def short(x: Any) -> str:
    """Return a short text of a value for a message."""
    if type(x) not in PLAIN:
        return f"a {name_of_kind(x)}"
    text = repr(x)
    return f"{type(x).__name__} {text if len(text) < 40 else text[:37] + '...'}"


def check_axis(level: object, option: str, dim: Any, leaf: Any, args: tuple | str) -> None:
    """Raise where `dim`, an entry of in_dims or out_dims, is neither an int nor None."""
    if type(dim) is int or dim is None:
        return
    if isinstance(dim, bool) or not isinstance(dim, np.integer):
        raise TypeError(
            f"{level}: {option} of {path_of(leaf, args)} is {short(dim)}; write the axis as an "
            f"int, or None"
        )


def size_at(x: Any, dim: Any) -> int | None:
    """Return the size of the axis `dim` of a leaf, or None where it is not mapped, or cannot be."""
    if dim is None or not hasattr(x, "ndim") or not is_value(x):
        return None
    return x.shape[dim] if -x.ndim <= dim < x.ndim else None


def in_dims_for(dims: Sequence, args: tuple | str, size: int | None = None) -> str:
    """Return the `in_dims` by which only leaves are mapped that can be, to one `size`, as text.

    The text is empty where nothing would be mapped, or where the arguments are not known.
    """
    found: list[Any] = []
    rest = iter(dims)
    for arg in args if isinstance(args, tuple) else ():
        sizes = [(size_at(x, dim), dim) for x, dim in zip(flatten(arg)[0], rest)]
        own = [None if n is None or size not in (None, n) else dim for n, dim in sizes]
        if len({*own}) > 1:
            return "None for it in in_dims"
        found += own[:1] or [0]
    return f"in_dims={tuple(found)!r}" if any(dim is not None for dim in found) else ""


def check_mapped(level: object, leaf: Any, dim: Any, args: tuple | str, dims: Sequence) -> None:
    """Raise where `leaf`, whose axis among `dims` is `dim`, does not have that axis."""
    remedy, numbers = in_dims_for(dims, args), "pass numpy.array(x) for a list x of numbers"
    listed = any([type(arg) is list and any([x is leaf for x in arg]) for arg in args])
    if listed and np.ndim(leaf) == 0:
        remedy = f"{remedy} if it is the same for all examples" if remedy else ""
        raise ValueError(
            f"{level}: {path_of(leaf, args)} is {short(leaf)}, which has no axis to map over; "
            f"{numbers}{f', or write {remedy}' if remedy else ''}"
        )
    if type(leaf) in (bool, int, float, complex) or not is_value(leaf):
        raise ValueError(
            f"{level}: {path_of(leaf, args)} is {short(leaf)}, which has no axis to map over; "
            + (f"write {remedy}, or {instead_of(leaf)}" if remedy else instead_of(leaf))
        )
    check_leaf(level, lambda: path_of(leaf, args), leaf)
    check_axis(level, "in_dim", dim, leaf, args)
    ndim = leaf.ndim
    if not -ndim <= dim < ndim:
        raise ValueError(
            f"{level}: in_dim {dim} is out of range for {path_of(leaf, args)} of shape "
            f"{leaf.shape}; "
            + (
                f"write an axis from {-ndim} to {ndim - 1}, or None"
                if ndim
                else "a 0-d value has no axis to map over: "
                + (f"write {remedy}" if remedy else "pass an array with an axis")
            )
        )


def wrong_size(
    level: object, leaf: Value, args: tuple | str, size: int, but: str, dims: Sequence,
    only: int | None = None,
) -> ValueError:  # fmt: skip
    """Return the error for a batch axis of another size; `but` says what was expected.

    The size has to be `only`, where that is given.
    """
    axes: dict[int, int] = {}  # the most axes of a leaf for each size
    leaves = flatten(args)[0] if isinstance(args, tuple) else []
    for x, dim in zip(leaves, dims):
        own = size_at(x, dim)
        if own is not None and only in (None, own):
            axes[own] = max(x.ndim, axes.get(own, 0))
    options = [in_dims_for(dims, args, n) for n in sorted(axes, key=lambda n: -axes[n])]
    remedy = " or ".join(dict.fromkeys(filter(None, options)))
    remedy = remedy and f", or write {remedy}: None is for what is the same for all examples"
    return ValueError(
        f"{level}: {path_of(leaf, args)} has size {size} along its batch axis, but {but}; map over "
        f"axes of one size{remedy}"
    )


def path_of(leaf: Any, args: tuple | str) -> str:
    """Return the path of `leaf` among the arguments in Python's notation; `args` if it is a str.

    Where the same object is at several places, the text names them all.
    """
    if not isinstance(args, tuple):
        return args
    places = zip(flatten(args)[0], paths(args, "args"))
    return " or ".join(path for x, path in places if x is leaf)
