"""Messages of vmap about the axes of its arguments and results."""

from typing import Any

import numpy as np

from .._core.border import check_leaf
from .._core.numpy_facts import PLAIN
from .._core.pytree import flatten, instead_of, is_value, paths
from .._core.types import Value


def short(x: Any) -> str:
    """Return a short text of a value for a message."""
    if type(x) not in PLAIN:
        return f"a {type(x).__name__}"
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


def check_mapped(level: object, leaf: Any, dim: Any, args: tuple | str) -> None:
    """Raise where `leaf` has no axis `dim` to map over."""
    if type(leaf) in (bool, int, float, complex) or not is_value(leaf):
        raise ValueError(
            f"{level}: {path_of(leaf, args)} is {short(leaf)}, which has no axis to map over; "
            f"write in_dims=None for it, or {instead_of(leaf)}"
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
                else "a 0-d value has no axis to map over: write None"
            )
        )


def wrong_size(level: object, leaf: Value, args: tuple | str, size: int, but: str) -> ValueError:
    """Return the error for a batch axis of another size; `but` says what was expected."""
    return ValueError(
        f"{level}: {path_of(leaf, args)} has size {size} along its batch axis, but {but}; map over "
        f"axes of one size, or write in_dims=None"
    )


def path_of(leaf: Any, args: tuple | str) -> str:
    """Return the path of `leaf` among the arguments in Python's notation; `args` if it is a str.

    Where the same object is at several places, the text names them all.
    """
    if not isinstance(args, tuple):
        return args
    places = zip(flatten(args)[0], paths(args, "args"))
    return " or ".join(path for x, path in places if x is leaf)
