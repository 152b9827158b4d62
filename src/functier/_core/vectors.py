"""The leaves of a pytree in one vector, and back."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .border import check_leaf, name_of_kind
from .numpy_facts import PyTree, Value, dtype_of, shape_of
from .pytree import describe, flatten, instead_of, is_value, paths, unflatten
from .tensor import Tensor

__all__ = ["ravel_pytree"]


def ravel_pytree(tree: PyTree) -> tuple[Value, Callable[[Value], PyTree]]:
    """Put the leaves of a pytree in one vector, for code that takes one, such as SciPy's.

    Parameters
    ----------
    tree : pytree
        Numbers and arrays of any shapes.

    Returns
    -------
    vector : array of shape ``(n,)``
        The elements of all leaves, one leaf after the other, in a new array. Its dtype is the
        common one of the leaves.
    unravel : callable
        Takes a vector of shape ``(n,)`` and returns a new pytree with the structure, shapes
        and dtypes of `tree`.

    Raises
    ------
    TypeError
        If a leaf is not an array of numbers, or cannot get its elements back from the common dtype:
        an integer leaf beside a leaf of floats, or a real one beside a complex one. `unravel`
        raises it if a leaf cannot hold the dtype of the vector, such as an integer leaf for a
        vector of floats.
    ValueError
        From `unravel`, if the vector has a different shape.

    Notes
    -----
    The order of the leaves is that of optree: dicts by their sorted keys. Both functions have
    derivatives and batches: ``vmap(unravel)`` takes the rows of a matrix. A vector of float64
    goes into leaves of float32 and is rounded.

    Examples
    --------
    >>> import numpy as np
    >>> params = {"slope": np.array([[1.0, 2.0]]), "start": 3.0}
    >>> vector, unravel = ravel_pytree(params)
    >>> vector
    array([1., 2., 3.])
    >>> unravel(2.0 * vector)
    {'slope': array([[2., 4.]]), 'start': array(6.)}

    Turn a function of a pytree into one of a vector, with its gradient:

    >>> from functier import grad
    >>> grad(lambda v: np.sum(unravel(v)["slope"] ** 2))(vector)
    array([2., 4., 0.])
    """
    leaves, structure = flatten(tree, "ravel_pytree", "tree")
    for i, x in enumerate(leaves):
        if not is_value(x):
            raise TypeError(
                f"ravel_pytree: {paths(tree, 'tree')[i]} is a {name_of_kind(x)}, not an array; "
                f"{instead_of(x)}"
            )
        check_leaf("ravel_pytree", lambda i=i: paths(tree, "tree")[i], x)
        if dtype_of(x).kind not in "biufc":
            raise TypeError(
                f"ravel_pytree: {paths(tree, 'tree')[i]} has dtype {dtype_of(x)}; pass arrays of "
                f"numbers"
            )
    shapes, dtypes = [shape_of(x) for x in leaves], [dtype_of(x) for x in leaves]
    names = paths(tree, "tree")
    common = np.result_type(*dtypes) if leaves else np.dtype(float)
    for name, dtype in zip(names, dtypes):
        if not np.can_cast(common, dtype, "same_kind"):
            raise TypeError(
                f"ravel_pytree: {name} has dtype {dtype}, and the vector of all leaves has "
                f"{common}, which it cannot be made from again; pass {name}.astype({common.name!r})"
                f" in the tree, or leave it out of the tree"
            )
    sizes = [int(np.prod(shape)) for shape in shapes]
    stops = np.cumsum(sizes).tolist()
    n, form = sum(sizes), describe(tree)

    def unravel(vector: Value) -> PyTree:
        """Return a pytree of the elements of a vector."""
        if not is_value(vector) or shape_of(vector) != (n,):
            kind: type[Exception]
            kind, given = TypeError, f"is a {type(vector).__name__}"
            if is_value(vector):
                kind, given = ValueError, f"has shape {shape_of(vector)}"
            raise kind(
                f"unravel: the vector {given}; pass an array of shape ({n},), for the elements "
                f"of {form}"
            )
        check_leaf("unravel", "the vector", vector)
        own = dtype_of(vector)
        for name, dtype in zip(names, dtypes):
            if not np.can_cast(own, dtype, "same_kind"):
                raise TypeError(
                    f"unravel: the vector has dtype {own}, and {name} had {dtype}, which would "
                    f"lose a part of each number; call ravel_pytree with {name} as {own}, or pass "
                    f"a vector of {common}"
                )
        if not isinstance(vector, Tensor):
            vector = np.array(vector)  # the leaves are views of it, and its owner may refill it
        parts: list[Any] = []
        for size, stop, shape, dtype in zip(sizes, stops, shapes, dtypes):
            part = vector[stop - size : stop].reshape(shape)
            parts.append(part if own == dtype else part.astype(dtype))
        return unflatten(structure, parts)

    if not leaves:
        return np.zeros(0), unravel
    return np.concatenate([np.reshape(x, -1) for x in leaves]), unravel
