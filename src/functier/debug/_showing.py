"""A value that is printed from inside transforms, each time that the code runs."""

from typing import Any

from .._core.pytree import flatten, unflatten
from .._core.tensor import Tensor
from .._mutation.array import settle


def show(x: Any, label: str = "") -> Any:
    """Print the value of `x` inside any transforms, also each time that a compiled function runs.

    Parameters
    ----------
    x : array or pytree of arrays
        Tensors of any levels, or plain values.
    label : str, optional
        A text to print in front.

    Returns
    -------
    array or pytree of arrays
        `x` itself.

    Notes
    -----
    Under `vmap` all examples are printed at once, with the batch axis in front. In a program each
    call prints, also the one that records it, and the steps of loops run one by one. JAX has
    ``jax.debug.print`` for this.

    Examples
    --------
    >>> import numpy as np
    >>> import functier as ft
    >>> @ft.compile
    ... def f(x):
    ...     return ft.debug.show(x * x, "square:") + 1.0
    >>> y = f(3.0), f(4.0)
    square: 9.0
    square: 16.0
    >>> z = ft.vmap(ft.grad(f))(np.array([1.0, 2.0]))
    square: [1. 4.]
    """
    _print(label, *flatten(x))
    return x


def _print(label: str, leaves: list, structure: Any) -> None:
    values = [_value(x) for x in leaves]
    programs = [x.level for x in values if isinstance(x, Tensor) and x.level.depth]
    if programs:
        innermost: Any = max(programs, key=lambda level: level.depth)
        innermost.perform(_print, label, values, structure)
    else:
        print(*[label] * bool(label), unflatten(structure, values))


def _value(x: Any) -> Any:
    """Return a value from inside levels, up to that of a program."""
    x = settle(x)
    while isinstance(x, Tensor) and x.level.depth and not x.level.guards:
        x = x.elem()
    return x
