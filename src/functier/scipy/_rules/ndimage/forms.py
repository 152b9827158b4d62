"""Facts that the functions of `scipy.ndimage` share: axes, edges, and where a result is put."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...._core.errors import UnsupportedError
from ...._core.numpy_facts import Value
from ...._rules.axes import normalize

PADDING = {
    "reflect": "symmetric", "grid-mirror": "symmetric", "mirror": "reflect", "nearest": "edge",
    "wrap": "wrap", "grid-wrap": "wrap", "constant": "constant", "grid-constant": "constant",
}  # fmt: skip
"""NumPy's names of what is around an image."""


def dtype_of(func: Callable, x: Value, *args: Any, output: Any = None, **options: Any) -> np.dtype:
    """Return the dtype of a result; SciPy checks the other arguments on an image of one pixel."""
    if isinstance(output, np.ndarray):
        raise UnsupportedError(
            f"scipy.ndimage.{func.__name__}: output= is a plain array, which has no "
            f"derivative; write y = scipy.ndimage.{func.__name__}(...) without it"
        )
    like = np.zeros((1,) * np.ndim(x), x.dtype)
    return func(like, *[plain(v) for v in args], output=output, **options).dtype


def plain(value: Any) -> Any:
    """Return an argument for a check of its form: zeros for an array or a tensor."""
    return np.zeros(np.shape(value), value.dtype) if hasattr(value, "dtype") else value


def axes_of(axes: Any, x: Value) -> tuple[int, ...]:
    return normalize(None if axes is None else axes, np.ndim(x))


def each(value: Any, count: int) -> list:
    """Return a list of one value for each axis."""
    several = not isinstance(value, str) and np.ndim(value) > 0
    if several and len(value) != count:
        raise RuntimeError("sequence argument must have length equal to input rank")
    return [value[i] for i in range(count)] if several else [value] * count


def widened(x: Value, axis: int, before: int, after: int, mode: str, cval: Value) -> Value:
    """Return an image with more pixels along one axis."""
    widths = [(before, after) if i == axis else (0, 0) for i in range(np.ndim(x))]
    options: dict[str, Any] = {"constant_values": cval} if PADDING[mode] == "constant" else {}
    return np.pad(x, widths, PADDING[mode], **options)  # type: ignore[call-overload]


def as_numbers(x: Value) -> Value:
    """Return an image in the dtype that SciPy computes with."""
    return np.astype(x, complex if x.dtype.kind == "c" else float, copy=False)


def windows(
    x: Value, shape: Sequence[int], origins: Sequence[int], modes: Sequence[str], cval: Value
) -> list[tuple[tuple[int, ...], Value]]:
    """Return the shifted images: for each place of a window, the pixels that it sees there."""
    sizes = np.shape(x)
    for axis, (n, origin, mode) in enumerate(zip(shape, origins, modes)):
        before = n // 2 + origin
        if n > 1 or origin:
            x = widened(x, axis, before, n - 1 - before, mode, cval)
    return [
        (place, x[tuple(slice(i, i + n) for i, n in zip(place, sizes))])
        for place in np.ndindex(*shape)
    ]
