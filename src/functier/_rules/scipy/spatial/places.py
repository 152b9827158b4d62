"""Places among points: neighbours and simplices, which are constants to a derivative."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ...._core.errors import UnsupportedError
from ...._core.types import Value
from ...constructors import constant, primitive


@primitive
def look_up(x: Value, search: Callable) -> Value:
    """Return ``search(x)``, whole numbers for each of the points in the last axis of `x`."""
    return search(x)


def _look_up_vmap(k: int, x: Value, search: Callable) -> Value:
    return look_up(x, search)


constant(look_up, "x search", "x", vmap=_look_up_vmap)


@primitive
def as_constant(x: Value, name: str, kind: str) -> Any:
    """Return the plain values of `x`, by which something is built that a batch has many of."""
    return np.asarray(x)


def _refuse_batch(k: int, x: Value, name: str, kind: str) -> Any:
    raise UnsupportedError(
        f"{name}: {kind} that differ from example to example are not supported; write "
        f"functier.sequential_vmap for the function that builds them"
    )


constant(as_constant, "x name kind", "x", vmap=_refuse_batch)
