"""Filters by rank: medians, percentiles, largest and smallest pixels of a window."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.ndimage as ndimage  # type: ignore[import-untyped]

from ...._core.errors import UnsupportedError
from ...._core.numpy_facts import Value
from ...._rules.axes import as_array, normalize
from ..declare import declare_composite
from .filters import axes_of, dtype_of, each, stored, windows


def _window(size: Any, footprint: Any, axes: tuple[int, ...], ndim: int) -> np.ndarray:
    """Return which places of a window count, an axis for each of the image."""
    if footprint is None:
        inside = np.ones(each(size, len(axes)), bool)
    else:
        inside = np.astype(as_array(footprint), bool)
    form = [1] * ndim
    for axis, n in zip(axes, inside.shape):
        form[axis] = n
    return np.reshape(inside, form)


def _seen(x: Value, inside: np.ndarray, origin: Any, mode: Any, cval: Value, axes: Any) -> Value:
    """Return the pixels that each window sees, on the last axis."""
    starts, edges = [0] * np.ndim(x), ["reflect"] * np.ndim(x)
    for axis, start, edge in zip(axes, each(origin, len(axes)), each(mode, len(axes))):
        starts[axis], edges[axis] = start, edge
    seen = [v for place, v in windows(x, inside.shape, starts, edges, cval) if inside[place]]
    return np.stack(seen, axis=-1)


def _ranked(
    func: Callable, pick: Callable, given: tuple, input: Value, size: Any, footprint: Any,
    output: Any, mode: Any, cval: Value, origin: Any, axes: Any,
) -> Value:  # fmt: skip
    x = as_array(input)
    more = {} if axes is None else {"axes": axes}
    dtype = dtype_of(
        func, x, *given, size=size, footprint=footprint, output=output, mode=mode, origin=origin,
        **more,
    )  # fmt: skip
    axes = axes_of(axes, x)
    inside = _window(size, footprint, axes, np.ndim(x))
    if not np.size(x):
        return stored(x, dtype)
    seen = _seen(x, inside, origin, mode, cval, axes)
    return stored(pick(seen, int(np.count_nonzero(inside))), dtype)


def _at(seen: Value, rank: int, count: int) -> Value:
    """Return the number of a rank; the extremes as SciPy's filters for them."""
    rank = rank + count if rank < 0 else rank
    if rank == 0:
        return np.min(seen, axis=-1)
    if rank == count - 1:
        return np.max(seen, axis=-1)
    return np.sort(seen, axis=-1)[..., rank]


@declare_composite(ndimage, "rank_filter")
def rank_filter(
    input: Value, rank: int, size: Any = None, footprint: Any = None, output: Any = None,
    mode: Any = "reflect", cval: Value = 0.0, origin: Any = 0, *, axes: Any = None,
) -> Value:  # fmt: skip
    return _ranked(
        ndimage.rank_filter, lambda seen, n: _at(seen, rank, n), (rank,), input, size, footprint,
        output, mode, cval, origin, axes,
    )  # fmt: skip


@declare_composite(ndimage, "percentile_filter")
def _percentile_filter(
    input: Value, percentile: float, size: Any = None, footprint: Any = None, output: Any = None,
    mode: Any = "reflect", cval: Value = 0.0, origin: Any = 0, *, axes: Any = None,
) -> Value:  # fmt: skip
    share = percentile + 100.0 if percentile < 0 else percentile

    def pick(seen: Value, n: int) -> Value:
        return _at(seen, n - 1 if share == 100.0 else int(float(n) * share / 100.0), n)

    return _ranked(
        ndimage.percentile_filter, pick, (percentile,), input, size, footprint, output, mode, cval,
        origin, axes,
    )  # fmt: skip


def _declare(name: str, pick: Callable) -> None:
    func = getattr(ndimage, name)

    @declare_composite(ndimage, name)
    def body(
        input: Value, size: Any = None, footprint: Any = None, output: Any = None,
        mode: Any = "reflect", cval: Value = 0.0, origin: Any = 0, *, axes: Any = None,
    ) -> Value:  # fmt: skip
        return _ranked(func, pick, (), input, size, footprint, output, mode, cval, origin, axes)


_declare("median_filter", lambda seen, n: _at(seen, n // 2, n))
_declare("maximum_filter", lambda seen, n: np.max(seen, axis=-1))
_declare("minimum_filter", lambda seen, n: np.min(seen, axis=-1))


def _declare_along(name: str, reduce: Callable) -> None:
    func = getattr(ndimage, name)

    @declare_composite(ndimage, name)
    def body(
        input: Value, size: int, axis: int = -1, output: Any = None, mode: str = "reflect",
        cval: Value = 0.0, origin: int = 0,
    ) -> Value:  # fmt: skip
        x = as_array(input)
        dtype = dtype_of(func, x, size, axis, output=output, mode=mode, origin=origin)
        axes = normalize(axis, np.ndim(x))
        seen = _seen(x, _window([size], None, axes, np.ndim(x)), origin, mode, cval, axes)
        return stored(reduce(seen, axis=-1), dtype)


_declare_along("maximum_filter1d", np.max)
_declare_along("minimum_filter1d", np.min)


def _declare_grey(name: str, sign: int) -> None:
    """Declare the largest pixel of a window (`sign` 1), which is mirrored, or the smallest one."""
    func = getattr(ndimage, name)

    @declare_composite(ndimage, name)
    def body(
        input: Value, size: Any = None, footprint: Any = None, structure: Any = None,
        output: Any = None, mode: str = "reflect", cval: Value = 0.0, origin: Any = 0,
        *, axes: Any = None,
    ) -> Value:  # fmt: skip
        x = as_array(input)
        if structure is not None:
            raise UnsupportedError(
                f"scipy.ndimage.{name}: structure= is not supported for tensors; write size= or "
                f"footprint= for a flat structure"
            )
        dtype = dtype_of(
            func, x, size=size, footprint=footprint, output=output, mode=mode, origin=origin,
            **({} if axes is None else {"axes": axes}),
        )  # fmt: skip
        axes = axes_of(axes, x)
        inside = _window(size, footprint, axes, np.ndim(x))
        starts = each(origin, len(axes))
        if sign > 0:
            inside = np.flip(inside)
            starts = [-s - (1 - inside.shape[i] % 2) for s, i in zip(starts, axes)]
        seen = _seen(x, inside, starts, mode, cval, axes)
        return stored((np.max if sign > 0 else np.min)(seen, axis=-1), dtype)


_declare_grey("grey_dilation", 1)
_declare_grey("grey_erosion", -1)
