"""Windows, and views by strides, which are computed as copies."""

import math

import numpy as np

from .._core.numpy_facts import Axis, Shape, Value
from .._core.sharing import declare_memory
from .axes import normalize
from .constructors import composite, linear, primitive
from .indexing import transpose_read
from .pieces import add_pieces

MANY = 32
"""So many slices are added one by one, also in a program."""


@primitive
def sliding_windows(x: Value, sizes: Shape, axes: Shape) -> Value:
    """Return a copy of the windows along axes that are not negative; the last axes are theirs.

    It lies in memory as the elements that a program takes.
    """
    view = np.lib.stride_tricks.sliding_window_view(x, sizes, axes)
    last = axes[-1] + 1 if axes else -1
    return np.moveaxis(np.moveaxis(view, -1, last).copy(), last, -1)


def _windows_recorded(x: Value, sizes: Shape, axes: Shape) -> Value:
    """Take the elements of windows, which machine code does in its loops."""
    for size, axis in zip(sizes, axes):
        places = _places(np.shape(x)[axis] - size + 1, size)
        x = np.moveaxis(np.take(x, places, axis=axis), axis + 1, -1)
    return x


def _places(n: int, size: int) -> np.ndarray:
    return np.arange(n)[:, None] + np.arange(size)


def _windows_vjp(g: Value, x_shape: Shape, sizes: Shape, axes: Shape) -> Value:
    """Add slices: one for each place in a window, or for each window if these are fewer."""
    shape, count = np.shape(g), math.prod(sizes)
    if len(axes) > 1 and not 0 < count <= MANY:
        *before, size = sizes
        middle = list(shape[:-1])
        middle[axes[-1]] += size - 1
        g = _windows_vjp(g, tuple(middle), (size,), axes[-1:])
        return _windows_vjp(g, x_shape, tuple(before), axes[:-1])
    axis = axes[0]
    n, at = shape[axis], (slice(None),) * axis
    if len(axes) == 1 and min(n, count) > MANY and type(g) is not np.ndarray:
        # In a program one call with an index, as machine code would be a line for each slice.
        return transpose_read(np.moveaxis(g, -1, axis + 1), x_shape, (*at, _places(n, count)))
    if len(axes) == 1 and not 0 < count <= n:
        pieces = [np.moveaxis(g[(*at, i)], -1, axis) for i in range(n)]
        places = [(*at, slice(i, i + count)) for i in range(n)]
        return add_pieces(x_shape, tuple(places), *pieces)
    pieces, places = [], []
    for place in np.ndindex(*sizes):
        starts = [
            sum([i for i, axis in zip(place, axes) if axis == j]) for j in range(len(x_shape))
        ]
        places.append(tuple([slice(i, i + m) for i, m in zip(starts, shape)]))
        pieces.append(g[(..., *place)])
    return add_pieces(x_shape, tuple(places), *pieces)


linear(
    sliding_windows, "x sizes axes",
    vmap=lambda k, x, sizes, axes: sliding_windows(x, sizes, tuple([axis + k for axis in axes])),
    vjp={"x": _windows_vjp},
)  # fmt: skip
sliding_windows.body = _windows_recorded  # type: ignore[attr-defined]
declare_memory("fresh", [sliding_windows])


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
    shape = [*np.shape(x)]
    for size, i in zip(window_shape, axes):
        shape[i] -= size - 1
        if size < 0 or shape[i] < 1:
            raise ValueError("window shape cannot be larger than input array shape")
    x = sliding_windows(x, window_shape, axes)
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
