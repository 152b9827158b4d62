"""Views by strides and windows, which are computed as copies."""

import numpy as np

from .._core.numpy_facts import Axis, Shape, Value
from .axes import normalize
from .constructors import composite


@lambda body: composite(np.lib.stride_tricks.sliding_window_view, body)
def _sliding_window_view(
    x: Value,
    window_shape: int | Shape,
    axis: Axis = None,
    *,
    subok: bool = False,
    writeable: bool = False,
) -> Value:
    window_shape = tuple(window_shape) if np.iterable(window_shape) else (window_shape,)
    axes = normalize(axis, np.ndim(x))
    if len(window_shape) != len(axes):
        raise ValueError("window_shape and axis must have the same number of elements")
    for size, i in zip(window_shape, axes):
        n = np.shape(x)[i] - size + 1
        if size < 0 or n < 1:
            raise ValueError("window shape cannot be larger than input array shape")
        x = np.moveaxis(np.take(x, np.arange(n)[:, None] + np.arange(size), axis=i), i + 1, -1)
    if not writeable and not np.size(x):  # no element ties it to its source
        return np.broadcast_to(x, np.shape(x))
    return x


@lambda body: composite(np.lib.stride_tricks.as_strided, body)
def _as_strided(
    x: Value,
    shape: Shape | None = None,
    strides: Shape | None = None,
    subok: bool = False,
    writeable: bool = True,
    *,
    check_bounds: bool | None = None,  # which a tensor has in any case
) -> Value:
    own = _offsets(np.shape(x), x.strides).reshape(-1)  # type: ignore[union-attr]
    wanted = _offsets(
        np.shape(x) if shape is None else tuple(shape),
        x.strides if strides is None else tuple(strides),  # type: ignore[union-attr]
    )
    order = np.argsort(own, kind="stable")
    places = np.minimum(np.searchsorted(own[order], wanted), max(own.size - 1, 0))
    if wanted.size and not (own.size and np.array_equal(own[order[places]], wanted)):
        raise ValueError(
            f"numpy.lib.stride_tricks.as_strided: shape={shape} and strides={strides} reach "
            f"outside of the elements of x, of shape {np.shape(x)} and strides "
            f"{x.strides}; write strides in multiples of x.strides, inside of x"  # type: ignore[union-attr]
        )
    row = np.take(np.reshape(x, (-1,)), np.ravel(order[places] if own.size else wanted))
    return np.reshape(row, wanted.shape)  # an array also where it has no axes


def _offsets(shape: Shape, strides: Shape) -> np.ndarray:
    """Return the place of each element in memory, in bytes."""
    places = np.zeros(shape, int)
    for axis, (n, step) in enumerate(zip(shape, strides, strict=True)):
        places += (np.arange(n) * step).reshape(-1, *(1,) * (len(shape) - axis - 1))
    return places
