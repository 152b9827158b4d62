"""The value of a tensor some levels out, and the number of its levels."""

from typing import Any

import numpy as np

from .._core.pytree import flatten, unflatten
from .._core.tensor import Tensor
from .._mutation.array import settle


def depth_of(x: Any) -> int:
    """Return the number of levels around the value of `x`: 0 for a plain value.

    Parameters
    ----------
    x : any
        A value, usually a tensor or an array.

    Returns
    -------
    int

    Examples
    --------
    >>> import numpy as np
    >>> from functier import grad, vmap
    >>> seen = []
    >>> def f(x):
    ...     seen.append(depth_of(x))
    ...     return x * x
    >>> slopes = vmap(grad(f))(np.ones(3))
    >>> seen, depth_of(slopes)
    ([2], 0)
    """
    x = settle(x)
    return x.level.depth if isinstance(x, Tensor) else 0


def unwrap(x: Any, levels: int | None = 1) -> Any:
    """Return the value of `x` some levels out, for inspection.

    The value has lost its derivatives, or has the batch axis in front: print it, but compute with
    `x`. To make a constant, use `stop_gradient`.

    Parameters
    ----------
    x : array or pytree of arrays
        Tensors of any levels, which may have ended.
    levels : int, optional
        How many times to go one level out, as ``x.elem()`` does, at most to the plain value.
        None goes to the plain value.

    Returns
    -------
    array or pytree of arrays
        The values, in the same memory. A `Tensor` that belongs to no level, or an instance of a
        subclass, stays as it is; ``x.elem()`` is its array.

    Examples
    --------
    >>> import numpy as np
    >>> from functier import grad, vmap
    >>> def f(x):
    ...     print(depth_of(unwrap(x)), unwrap(x * 2.0, levels=None))
    ...     return x * x
    >>> _ = vmap(grad(f))(np.arange(3.0))
    1 [0. 2. 4.]
    """
    if levels is None:
        steps = -1
    elif isinstance(levels, bool) or not isinstance(levels, (int, np.integer)) or levels < 0:
        raise ValueError(
            f"unwrap: levels={levels!r}; write how many levels to take off, or None for all"
        )
    else:
        steps = int(levels)
    leaves, structure = flatten(x)
    return unflatten(structure, [_unwrap_leaf(leaf, steps) for leaf in leaves])


def _unwrap_leaf(x: Any, steps: int) -> Any:
    while steps and isinstance(x, Tensor) and x.level.depth:
        x = x.elem()
        steps -= 1
    return x
