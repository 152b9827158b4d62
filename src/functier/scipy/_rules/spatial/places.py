"""Places among points: neighbours and simplices, which are constants to a derivative."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.cluster.vq as vq  # type: ignore[import-untyped]
import scipy.spatial.distance as distance  # type: ignore[import-untyped]

from ...._core.errors import UnsupportedError
from ...._core.numpy_facts import Value
from ...._rules.axes import as_array
from ....protocol import constant, primitive
from ..declare import declare_composite, dispatching
from ..signal.filters import loop_examples


@primitive
def look_up(x: Value, search: Callable) -> Value:
    """Return ``search(x)``, integers for each of the points in the last axis of `x`."""
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


@primitive
def look_up_among(points: Value, x: Value, r: Value, search: Callable, name: str) -> Value:
    """Return ``search(points, x, r)``, numbers that are constants, for one set of points."""
    return search(points, x, r)


def _look_up_among_vmap(
    k: int, points: Value, x: Value, r: Value, search: Callable, name: str
) -> Value:
    def one(*own: Value) -> tuple:
        return (look_up_among(*own, search=search, name=name),)

    operands = [np.reshape(v, np.shape(v) or (1,) * k) for v in (points, x, r)]
    return loop_examples(k, one, name, "SciPy has one set of points", *operands)[0]


constant(look_up_among, "points x r search name", "points x r", vmap=_look_up_among_vmap)


# ---- distances to the nearest ----


@declare_composite(vq, "vq")
def _vq(obs: Value, code_book: Value, check_finite: bool = True) -> tuple:
    obs, code_book = as_array(obs), as_array(code_book)
    if np.ndim(obs) != np.ndim(code_book):
        raise ValueError("Observation and code_book should have the same rank")
    if np.ndim(obs) == 1:
        obs, code_book = obs[:, None], code_book[:, None]
    distances = dispatching(distance.cdist)(obs, code_book)
    code = np.argmin(distances, axis=1)
    nearest = np.take_along_axis(distances, code[:, None], 1)[:, 0]
    dtype = np.result_type(obs, code_book)
    dtype = dtype if dtype.char in "fd" else np.dtype(float)
    return np.astype(code, np.int32), np.astype(nearest, dtype, copy=False)


@declare_composite(distance, "directed_hausdorff")
def _directed_hausdorff(u: Value, v: Value, *args: Any, **options: Any) -> tuple:
    u, v = (np.astype(as_array(x), float, copy=False) for x in (u, v))
    distances = dispatching(distance.cdist)(u, v)
    nearest = np.argmin(distances, axis=1)
    each = np.take_along_axis(distances, nearest[:, None], 1)[:, 0]
    first = np.argmax(each)
    return each[first], first, nearest[first]
