"""Images at other places, by splines: `map_coordinates`, `shift`, `zoom`, `rotate` and others.

NOTE [the adjoint of a spline filter]
    The coefficients solve a system whose matrix samples a symmetric spline. The image goes on
    beyond its edges as its reflection. About the middle of a pixel ("mirror") the first and the
    last pixel count once there, the others twice. With these weights the matrix is symmetric, so
    the adjoint is the filter between a multiplication by the weights and a division. About the
    edge of a pixel, and where the image repeats, all pixels count the same. SciPy starts its
    recursion with a short sum, which is exact for long axes alone: a short one has a matrix.

NOTE [a sum of few pixels]
    The value at a place is the sum of the nearest ``order + 1`` coefficients along each axis,
    times values of the B-spline. So it is linear in the image, and its derivative by the place
    is that of the B-spline. At integers, where splines of order 1 have kinks, it is the
    derivative to the right.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.ndimage as ndimage  # type: ignore[import-untyped]
import scipy.special as special  # type: ignore[import-untyped]

from ...._core.errors import UnsupportedError
from ...._core.numpy_facts import Value
from ...._rules.axes import as_array, normalize
from ...._rules.indexing import read_at
from ....protocol import linear, primitive
from ..declare import declare_composite
from .filters import PADDING, as_numbers, dtype_of, each

MIRRORED = "mirror", "constant", "wrap", "grid-constant"
"""The modes in which the coefficients are those of a mirrored image."""

SHORT = 100
"""The longest axis whose filter is a matrix in reverse mode."""


@primitive
def coefficients(x: Value, order: int, axis: int, mode: str) -> Value:
    """Return the coefficients along one axis, which is negative, in double precision."""
    if not x.size:
        return x
    output = complex if x.dtype.kind == "c" else float
    return ndimage.spline_filter1d(x, order, axis, output, mode)


def _adjoint(g: Value, order: int, axis: int, mode: str) -> Value:
    n = np.shape(g)[axis]
    if n <= SHORT:
        matrix = ndimage.spline_filter1d(np.eye(n), order, 0, float, mode)
        return np.moveaxis(np.moveaxis(g, axis, -1) @ matrix, -1, axis)
    if mode not in MIRRORED or n < 2:
        return coefficients(g, order, axis, mode)
    place = np.arange(n)
    weights = np.where((place == 0) | (place == n - 1), 1.0, 2.0)
    weights = np.reshape(weights, (-1,) + (1,) * (-1 - axis))
    return coefficients(g / weights, order, axis, mode) * weights


linear(
    coefficients,
    "x order axis mode",
    "x",
    vmap=lambda k, x, order, axis, mode: coefficients(x, order, axis, mode),
    vjp={"x": _adjoint},
)


def filtered(x: Value, order: int, mode: str) -> Value:
    """Return the coefficients along all axes."""
    x = as_numbers(x)
    for axis in range(-np.ndim(x), 0) if order > 1 else ():
        x = coefficients(x, order, axis, mode)
    return x


@declare_composite(ndimage, "spline_filter1d")
def _spline_filter1d(
    input: Value, order: int = 3, axis: int = -1, output: Any = np.float64, mode: str = "mirror"
) -> Value:
    x = as_array(input)
    dtype = dtype_of(ndimage.spline_filter1d, x, order, axis, output=output, mode=mode)
    (axis,) = normalize(axis, np.ndim(x))
    if order > 1:
        x = coefficients(as_numbers(x), order, axis - np.ndim(x), mode)
    return np.astype(x, dtype, copy=False)


@declare_composite(ndimage, "spline_filter")
def _spline_filter(
    input: Value, order: int = 3, output: Any = np.float64, mode: str = "mirror"
) -> Value:
    x = as_array(input)
    dtype = dtype_of(ndimage.spline_filter, x, order, output=output, mode=mode)
    return np.astype(filtered(x, order, mode), dtype, copy=False)


BESIDE = 12
"""The pixels that SciPy adds around an image in the modes "nearest" and "grid-constant"."""


def _inside(c: Value, n: int, mode: str) -> Value:
    """Return a place within the image (or less than a pixel beyond it) of the same value."""
    if mode == "nearest":
        return np.where(c < 0, 0.0, np.where(c > n - 1, n - 1.0, c))
    if mode in ("constant", "grid-constant"):
        return c
    if n == 1:
        return np.where((c < 0) | (c > 0), 0.0, c)
    if mode == "wrap":
        turns = np.where(c < 0, -(np.trunc(-c / (n - 1)) + 1), np.trunc(c / (n - 1)))
        return np.where((c < 0) | (c > n - 1), c - (n - 1) * turns, c)
    if mode == "grid-wrap":
        return np.where((c < 0) | (c > n - 1), c - n * np.floor(c / n), c)
    period = 2.0 * n - 2 if mode == "mirror" else 2.0 * n
    c = c - period * np.floor(c / period)
    if mode == "mirror":
        return np.where(c > n - 1, period - c, c)
    return np.where(c >= n, period - 1 - c, c)


def _pixels(i: Value, n: int, mode: str) -> Value:
    """Return the numbers of pixels, which may be beyond the edges."""
    if mode == "grid-wrap":
        return i % n
    if n == 1:
        return i * 0
    if mode in ("reflect", "nearest"):
        i = i % (2 * n)
        return np.where(i >= n, 2 * n - 1 - i, i)
    i = i % (2 * n - 2)
    return np.where(i >= n, 2 * n - 2 - i, i)


def _spline(d: Value, order: int) -> Value:
    """Return the B-spline of an order at distances from its middle, as a sum of powers."""
    if order == 0:
        return np.ones_like(d)
    ends = [k - (order + 1) / 2 for k in range(order + 2)]
    far = np.where(d > 0, -d, d)  # the side with fewer terms; not abs, which has a kink
    total: Any = 0.0
    for k, end in enumerate(ends):
        if end < 0:
            part = np.maximum(far - end, 0.0) ** order
            total = total + (-1) ** k * math.comb(order + 1, k) * part
    return total / math.factorial(order)


def sampled(
    x: Value, places: Sequence[Value], order: int, mode: str, cval: Value, prefilter: bool
) -> Value:
    """Return the values of an image at places, one array of coordinates for each axis."""
    edge = 0
    if prefilter and order > 1:
        if mode in ("nearest", "grid-constant"):
            edge = BESIDE
            options: dict[str, Any] = {} if mode == "nearest" else {"constant_values": cval}
            x = np.pad(x, edge, PADDING[mode], **options)  # type: ignore[call-overload]
        x = filtered(x, order, mode)
    x = np.astype(x, np.result_type(x, float), copy=False)
    outside: Any = None
    starts, rests = [], []
    for c, n in zip(places, np.shape(x)):
        c = c + edge if edge else c
        if mode == "constant":
            beyond = (c < 0) | (c > n - 1)
            outside = beyond if outside is None else outside | beyond
            c = np.where(beyond, 0.0, c)
        c = _inside(c, n, mode)
        start = np.floor(c + (0.0 if order % 2 else 0.5)) - order // 2
        if order == 1 and mode in ("constant", "wrap") and n > 1:
            start = np.minimum(start, n - 2.0)
        starts.append(start.astype(int))
        rests.append(c - start)
    weights = [
        [1.0 - c, c] if order == 1 else [_spline(c - i, order) for i in range(order + 1)]
        for c in rests
    ]
    total: Any = 0.0
    for taps in itertools.product(range(order + 1), repeat=len(places)):
        index: list = []
        missing: Any = None
        weight: Any = None
        for start, i, n, row in zip(starts, taps, np.shape(x), weights):
            pixel = start + i
            if mode == "grid-constant":
                lost = (pixel < 0) | (pixel >= n)
                missing = lost if missing is None else missing | lost
            index.append(_pixels(pixel, n, mode))
            weight = row[i] if weight is None else weight * row[i]
        value = read_at(x, tuple(index))
        value = value if missing is None else np.where(missing, cval, value)
        total = total + weight * value
    return total if outside is None else np.where(outside, cval, total)


def _result(
    func: Callable, x: Value, places: Sequence[Value], output: Any, order: int, mode: str,
    cval: Value, prefilter: bool,
) -> Value:  # fmt: skip
    if not 0 <= order <= 5:
        raise RuntimeError("spline order not supported")
    if mode not in PADDING:
        raise RuntimeError("boundary mode not supported")
    if isinstance(output, np.ndarray):
        raise UnsupportedError(
            f"scipy.ndimage.{func.__name__}: output= is a plain array, which has no "
            f"derivative; write y = scipy.ndimage.{func.__name__}(...) without it"
        )
    if mode == "nearest" and order > 1 and not prefilter:
        raise UnsupportedError(
            f"scipy.ndimage.{func.__name__}: prefilter=False is not supported for tensors in the "
            f"mode 'nearest'; write mode='reflect', or pass the image and leave prefilter out"
        )
    dtype = x.dtype if output is None else np.dtype(output)
    if x.dtype.kind == "c" and dtype.kind != "c":
        dtype = np.result_type(dtype, np.complex64)
    mode = "reflect" if mode == "grid-mirror" else mode
    y = sampled(x, places, order, mode, cval, prefilter)
    if dtype.kind in "iu":
        y = np.where(y > 0, y + 0.5, y - 0.5) if dtype.kind == "i" else np.maximum(y, 0.0) + 0.5
    return np.astype(y, dtype, copy=False)


def _grid(shape: Sequence[int]) -> list:
    """Return the numbers of the pixels of a result, one array for each axis."""
    axes = range(len(shape))
    return [
        np.reshape(np.arange(n) + 0.0, [-1 if i == j else 1 for j in axes])
        for i, n in enumerate(shape)
    ]


def _spread(places: Sequence[Value], shape: Sequence[int]) -> list:
    return [np.broadcast_to(c, tuple(shape)) for c in places]


@declare_composite(ndimage, "map_coordinates")
def _map_coordinates(
    input: Value, coordinates: Value, output: Any = None, order: int = 3, mode: str = "constant",
    cval: Value = 0.0, prefilter: bool = True,
) -> Value:  # fmt: skip
    x, places = as_array(input), as_array(coordinates)
    if places.dtype.kind == "c":
        raise TypeError("Complex type not supported")
    if np.ndim(x) < 1 or np.ndim(places) < 2:
        raise RuntimeError("input and output rank must be > 0")
    if np.shape(places)[0] != np.ndim(x):
        raise RuntimeError("invalid shape for coordinate array")
    places = [np.astype(places[i], float, copy=False) for i in range(np.ndim(x))]
    func = ndimage.map_coordinates
    return _result(func, x, places, output, order, mode, cval, prefilter)


@declare_composite(ndimage, "shift")
def _shift(
    input: Value, shift: Any, output: Any = None, order: int = 3, mode: str = "constant",
    cval: Value = 0.0, prefilter: bool = True,
) -> Value:  # fmt: skip
    x = as_array(input)
    places = [i - s for i, s in zip(_grid(np.shape(x)), each(shift, np.ndim(x)))]
    places = _spread(places, np.shape(x))
    return _result(ndimage.shift, x, places, output, order, mode, cval, prefilter)


@declare_composite(ndimage, "zoom")
def _zoom(
    input: Value, zoom: Any, output: Any = None, order: int = 3, mode: str = "constant",
    cval: Value = 0.0, prefilter: bool = True, *, grid_mode: bool = False,
) -> Value:  # fmt: skip
    x = as_array(input)
    factors = each(zoom, np.ndim(x))
    shape = [int(np.round(n * f)) for n, f in zip(np.shape(x), factors)]  # also of a tensor
    if all(f == 1 for f in factors) and prefilter:
        return np.copy(x) if output is None else np.astype(x, output)
    grid_mode = grid_mode and x.dtype.kind != "c"  # SciPy forgets it for complex images
    less = 0 if grid_mode else 1
    places = []
    for i, m, n in zip(_grid(shape), shape, np.shape(x)):
        step = (n - less) / (m - less) if m != less else 1.0
        places.append((i + 0.5) * step - 0.5 if grid_mode else i * step)
    places = _spread(places, shape)
    return _result(ndimage.zoom, x, places, output, order, mode, cval, prefilter)


@declare_composite(ndimage, "affine_transform")
def _affine_transform(
    input: Value, matrix: Value, offset: Any = 0.0, output_shape: Any = None, output: Any = None,
    order: int = 3, mode: str = "constant", cval: Value = 0.0, prefilter: bool = True,
) -> Value:  # fmt: skip
    x, matrix = as_array(input), as_array(matrix)
    n = np.ndim(x)
    shape = np.shape(x) if output_shape is None else tuple(output_shape)
    if np.ndim(matrix) not in (1, 2) or not np.shape(matrix)[0]:
        raise RuntimeError("no proper affine matrix provided")
    if np.ndim(matrix) == 2 and np.shape(matrix)[1] == n + 1:
        offset, matrix = matrix[:n, n], matrix[:n, :n]
    if np.shape(matrix)[0] != n:
        raise RuntimeError("affine matrix has wrong number of rows")
    if np.ndim(matrix) == 2 and np.shape(matrix)[1] != len(shape):
        raise RuntimeError("affine matrix has wrong number of columns")
    starts, grid = each(offset, n), _grid(shape)
    if np.ndim(matrix) == 1:
        places = [(i + s / m) * m for i, s, m in zip(grid, starts, matrix)]
    else:
        places = [
            sum((matrix[i, j] * grid[j] for j in range(len(shape))), starts[i]) for i in range(n)
        ]
    places = _spread(places, shape)
    return _result(ndimage.affine_transform, x, places, output, order, mode, cval, prefilter)


@declare_composite(ndimage, "rotate")
def _rotate(
    input: Value, angle: Value, axes: Sequence[int] = (1, 0), reshape: bool = True,
    output: Any = None, order: int = 3, mode: str = "constant", cval: Value = 0.0,
    prefilter: bool = True,
) -> Value:  # fmt: skip
    x = as_array(input)
    if hasattr(angle, "level"):
        raise UnsupportedError(
            "scipy.ndimage.rotate: the angle is a tensor, on which the shape of the result may "
            "depend; write scipy.ndimage.affine_transform with the matrix of the rotation"
        )
    # the shape of the result, and SciPy's errors
    like = ndimage.rotate(np.zeros(np.shape(x), np.float32), angle, axes, reshape, None, 0)
    first, second = sorted(a % np.ndim(x) for a in axes)
    c, s = special.cosdg(angle), special.sindg(angle)
    shape, sizes, grid = np.shape(like), np.shape(x), _grid(np.shape(like))
    plane, bounds = (first, second), ((c, s), (-s, c))
    turned = list(grid)
    middle = [(shape[a] - 1) / 2 for a in plane]
    for row, a in zip(bounds, plane):
        start = (sizes[a] - 1) / 2 - (row[0] * middle[0] + row[1] * middle[1])
        turned[a] = start + row[0] * grid[first] + row[1] * grid[second]
    places = _spread(turned, shape)
    if np.ndim(x) == 2:
        return _result(ndimage.rotate, x, places, output, order, mode, cval, prefilter)
    return _in_planes(x, plane, turned, shape, output, order, mode, cval, prefilter)


def _in_planes(
    x: Value, plane: tuple[int, int], turned: list, shape: Sequence[int], output: Any, order: int,
    mode: str, cval: Value, prefilter: bool,
) -> Value:  # fmt: skip
    """Return an image of which each plane has been rotated by itself."""
    x = np.moveaxis(x, plane, (-2, -1))
    lead, flat = np.shape(x)[:-2], np.reshape(x, (-1, *np.shape(x)[-2:]))
    form = [shape[a] for a in plane]
    places = [np.broadcast_to(np.reshape(turned[a], _form(turned[a], plane)), form) for a in plane]
    rows = [
        _result(ndimage.rotate, flat[i], places, output, order, mode, cval, prefilter)
        for i in range(np.shape(flat)[0])
    ]
    return np.moveaxis(np.reshape(np.stack(rows), (*lead, *form)), (-2, -1), plane)


def _form(c: Value, plane: tuple[int, int]) -> tuple[int, ...]:
    return tuple(np.shape(c)[a] for a in plane)
