"""The plain values that tensors hold: debug_unwrap."""

from typing import Any

from .._core.pytree import flatten, unflatten
from .._core.tensor import Tensor


def debug_unwrap(x: Any, *, recurse: bool = True) -> Any:
    """The values under all levels, for a look at them.

    What it returns has lost its derivatives, and has the axes of the batches in front: print
    it, and compute with `x`. To compute with the value one level out, use ``x.elem()``; with a
    constant, `stop_gradient`.

    Parameters
    ----------
    x : array or pytree of arrays
        Of any levels, also of ended ones.
    recurse : bool
        Whether to go through all levels, or through the innermost one only.

    Returns
    -------
    array or pytree of arrays
        The wrapped values, in the same memory.

    Examples
    --------
    >>> import numpy as np
    >>> from functier import grad, vmap
    >>> def f(x):
    ...     print(debug_unwrap(x * 2.0))
    ...     return x * x
    >>> _ = vmap(grad(f))(np.arange(3.0))
    [0. 2. 4.]
    """
    leaves, structure = flatten(x)
    return unflatten(structure, [_bare(leaf, recurse) for leaf in leaves])


def _bare(x: Any, recurse: bool) -> Any:
    while isinstance(x, Tensor) and x.level.depth:
        x = x.elem()
        if not recurse:
            break
    return x
