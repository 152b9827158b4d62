"""Assertions of `numpy.testing` inside a level: they look at the values of all examples."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.root import classes_in, tree_map
from .._core.table import find
from .._core.tensor import Tensor
from .._levels.conversions import unwrap
from .._mutation.array import settle


def call_with_values(func: Callable, args: tuple, kwargs: dict) -> Any:
    """Call a function of `numpy.testing` on plain values; all have the batch axes of all."""
    args, kwargs = settle((args, kwargs))
    stacked: Any = find(np.array)
    args = tuple([stacked.body(v) if type(v) is list and classes_in(v) else v for v in args])
    found: list[Tensor] = []
    tree_map(lambda v: found.append(v) if isinstance(v, Tensor) else None, (args, kwargs))
    shared: Any = True
    for x in found:  # a value without axes that varies with every level among the arguments
        shared = np.logical_or(shared, np.any(np.ravel(x) != 0))

    def spread(x: Any) -> Any:
        return np.where(shared, x, x) if isinstance(x, Tensor) else x

    def axes(x: Tensor) -> int:
        return np.ndim(unwrap(x, None)) - x.ndim

    spread_args, spread_kwargs = tree_map(spread, (args, kwargs))
    lead: tuple[int, ...] = ()
    for x in [spread(x) for x in found]:
        lead = np.broadcast_shapes(lead, np.shape(unwrap(x, None))[: axes(x)])

    def plain(x: Any) -> Any:
        if isinstance(x, Tensor):
            return np.broadcast_to(unwrap(x, None), (*lead, *x.shape))
        if lead and isinstance(x, np.ndarray):
            return np.broadcast_to(x, (*lead, *x.shape))
        return x

    return func(*tree_map(plain, spread_args), **tree_map(plain, spread_kwargs))
