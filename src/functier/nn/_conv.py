"""Convolutions and pooling: windows over the last axes, and one matrix product."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .._core.numpy_facts import Value, dtype_of, shape_of
from . import _operations

Sizes = int | Sequence[int]
"""An option of a window: one int for all of its axes, or one for each."""


def expand_option(name: str, option: str, value: Any, n: int, least: int) -> tuple[int, ...]:
    """Return an option of a window, an int or one for each axis, as a tuple."""
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,) * n
    if len(values) == 1:
        values *= n
    for x in values:
        if len(values) != n or isinstance(x, bool) or not isinstance(x, (int, np.integer)):
            raise TypeError(f"{name}: {option}={value!r}; write an int, or a tuple of {n} ints")
        if x < least:
            raise ValueError(f"{name}: {option}={value!r}; the least is {least}")
    return tuple([int(x) for x in values])


def _add_batch_axis(name: str, input: Value, n: int) -> tuple[Any, bool]:
    """Return the input with an axis of examples, and True if it had one."""
    rank = len(shape_of(input))
    if rank not in (n + 1, n + 2):
        raise ValueError(
            f"{name}: the input has the shape {shape_of(input)}; it has to be (channels"
            f"{SIZES[n]}) or (examples, channels{SIZES[n]})"
        )
    return (input, True) if rank == n + 2 else (input[None], False)


SIZES = {1: ", length", 2: ", height, width"}


def _pad(x: Value, widths: Sequence[tuple[int, int]], value: float = 0) -> Value:
    if not any(map(any, widths)):
        return x
    lead = [(0, 0)] * (len(shape_of(x)) - len(widths))
    return np.pad(x, [*lead, *widths], constant_values=value)


def _check_windows(name: str, shape: Sequence, size: tuple, step: tuple, gap: tuple) -> None:
    if min(_operations.window_counts(shape, size, step, gap)) < 1:
        raise ValueError(
            f"{name}: a kernel of {tuple(size)} with dilation {tuple(gap)} is larger than the "
            f"padded input, whose last axes are {tuple(shape[-len(size) :])}"
        )


class Window(NamedTuple):
    """The options of a window, as the caller wrote them: see `conv2d` and `max_pool2d`."""

    stride: Sizes | None
    padding: Sizes | str
    dilation: Sizes = 1


def _convolve(
    name: str, n: int, input: Value, weight: Value, bias: Value | None, window: Window, groups: int
) -> Value:
    """Convolve over `n` axes, by one product of matrices."""
    x, has_batch = _add_batch_axis(name, input, n)
    whole = shape_of(weight)
    if len(whole) != n + 2:
        raise ValueError(
            f"{name}: the weight has the shape {whole}; it has to be (out_channels, "
            f"in_channels // groups{SIZES[n].replace(', ', ', kernel_')})"
        )
    outputs, inputs, size = whole[0], whole[1], whole[2:]
    step = expand_option(name, "stride", window.stride, n, 1)
    gap = expand_option(name, "dilation", window.dilation, n, 1)
    channels = shape_of(x)[1]
    if groups < 1 or outputs % groups or channels != inputs * groups:
        raise ValueError(
            f"{name}: the input has {channels} channels (shape {shape_of(input)}), but the weight "
            f"of shape {whole} with groups={groups} is for {inputs * groups} channels"
        )
    if bias is not None and shape_of(bias) != (outputs,):
        raise ValueError(f"{name}: the bias has the shape {shape_of(bias)}, not {(outputs,)}")
    if window.padding == "same":
        if step != (1,) * n:
            raise ValueError(f"{name}: padding='same' needs stride=1, got {window.stride!r}")
        total = [g * (k - 1) for k, g in zip(size, gap)]
        widths = [(t // 2, t - t // 2) for t in total]
    else:
        around = 0 if window.padding == "valid" else window.padding
        widths = [(p, p) for p in expand_option(name, "padding", around, n, 0)]
    x = _pad(x, widths)
    _check_windows(name, shape_of(x), size, step, gap)
    # One matrix with a column for each place of the kernel and a row for each of its elements:
    # it is written once, and both modes use it as it is.
    view = _operations.windows(x, size, step, gap)
    examples, counts = shape_of(view)[0], shape_of(view)[2 + n :]
    axes = (*range(1, 2 + 2 * n), 0)
    columns = np.transpose(view, axes)
    length, places = inputs * math.prod(size), examples * math.prod(counts)
    if groups == 1:
        columns = np.reshape(columns, (length, places))
        rows = np.reshape(weight, (outputs, length))
    else:
        columns = np.reshape(columns, (groups, length, places))
        rows = np.reshape(weight, (groups, outputs // groups, length))
    out = np.reshape(rows @ columns, (outputs, *counts, examples))
    if bias is not None:
        out = out + np.reshape(bias, (outputs, *(1,) * (n + 1)))
    out = np.moveaxis(out, -1, 0)
    return out if has_batch else out[0]


def conv1d(
    input: Value, weight: Value, bias: Value | None = None, stride: Sizes = 1,
    padding: Sizes | str = 0, dilation: Sizes = 1, groups: int = 1,
) -> Value:  # fmt: skip
    """Compute the cross-correlation of sequences with kernels.

    Parameters
    ----------
    input : array of shape (N, C, length) or (C, length)
    weight : array of shape (O, C // groups, width)
    bias : array of shape (O,), optional
    stride, dilation : int
    padding : int, "valid" or "same"
    groups : int
        These options are those of `conv2d`, for one axis.

    Returns
    -------
    array of shape (N, O, length') or (O, length')

    Examples
    --------
    >>> import numpy as np
    >>> conv1d(np.array([[1.0, 2.0, 4.0, 8.0]]), np.array([[[-1.0, 1.0]]]))
    array([[1., 2., 4.]])
    """
    window = Window(stride, padding, dilation)
    return _convolve("conv1d", 1, input, weight, bias, window, groups)


def conv2d(
    input: Value, weight: Value, bias: Value | None = None, stride: Sizes = 1,
    padding: Sizes | str = 0, dilation: Sizes = 1, groups: int = 1,
) -> Value:  # fmt: skip
    """Compute the cross-correlation of images with kernels.

    Parameters
    ----------
    input : array of shape (N, C, H, W) or (C, H, W)
    weight : array of shape (O, C // groups, height, width)
    bias : array of shape (O,), optional
    stride, dilation : int or tuple of two
        The distance between the kernel's places, and between its elements.
    padding : int, tuple of two, "valid" or "same"
        The number of zeros on either side of each axis. "same" pads so that the size stays the
        same, with one more at the end if the number is odd.
    groups : int
        The number of groups of channels that are convolved separately.

    Returns
    -------
    array of shape (N, O, H', W') or (O, H', W')

    Raises
    ------
    ValueError
        For shapes that do not fit.

    Notes
    -----
    The function is one matrix product of the weight with copies of the windows. These take the
    memory of the input times the size of the kernel, and derivatives keep them. In memory, the
    channels of the result come first and the examples last.

    Examples
    --------
    >>> import numpy as np
    >>> image = np.arange(16.0).reshape(1, 4, 4)
    >>> conv2d(image, np.ones((1, 1, 3, 3)))
    array([[[45., 54.],
            [81., 90.]]])
    """
    window = Window(stride, padding, dilation)
    return _convolve("conv2d", 2, input, weight, bias, window, groups)


class Pool(NamedTuple):
    """The input of a pooling, padded, and its windows."""

    input: Value
    has_batch: bool
    size: tuple[int, ...]
    step: tuple[int, ...]
    gap: tuple[int, ...]


def _prepare_pool(name: str, input: Value, kernel_size: Sizes, window: Window, fill: float) -> Pool:
    """Pad the input of a pooling with `fill`, and resolve the options of its windows."""
    x, has_batch = _add_batch_axis(name, input, 2)
    size = expand_option(name, "kernel_size", kernel_size, 2, 1)
    step = size if window.stride is None else expand_option(name, "stride", window.stride, 2, 1)
    gap = expand_option(name, "dilation", window.dilation, 2, 1)
    around = expand_option(name, "padding", window.padding, 2, 0)
    if any(2 * p > k for p, k in zip(around, size)):
        raise ValueError(
            f"{name}: padding={window.padding!r} is more than half of kernel_size={kernel_size!r}"
        )
    padded = _pad(x, [(p, p) for p in around], fill)
    _check_windows(name, shape_of(padded), size, step, gap)
    return Pool(padded, has_batch, size, step, gap)


def max_pool2d(
    input: Value, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
    dilation: Sizes = 1,
) -> Value:  # fmt: skip
    """Compute the largest element of each window of images.

    Parameters
    ----------
    input : array of shape (N, C, H, W) or (C, H, W)
    kernel_size, stride, padding, dilation : int or tuple of two
        `stride` is by default `kernel_size`. The padding is smaller than any number.

    Returns
    -------
    array of shape (N, C, H', W') or (C, H', W')

    Notes
    -----
    The gradient goes to the first of several largest elements, as in PyTorch.

    Examples
    --------
    >>> import numpy as np
    >>> max_pool2d(np.arange(16.0).reshape(1, 4, 4), 2)
    array([[[ 5.,  7.],
            [13., 15.]]])
    """
    dtype = dtype_of(input)
    fill = -np.inf if dtype.kind == "f" else np.iinfo(dtype).min if dtype.kind in "iu" else 0
    x, has_batch, size, step, gap = _prepare_pool(
        "max_pool2d", input, kernel_size, Window(stride, padding, dilation), fill
    )
    out, *others = _operations.taps(x, size, step, gap)
    for tap in others:
        out = np.where(np.logical_or(np.greater(tap, out), np.isnan(tap)), tap, out)
    return out if has_batch else out[0]


def avg_pool2d(
    input: Value, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0
) -> Value:
    """Compute the mean of each window of images.

    Parameters
    ----------
    input : array of shape (N, C, H, W) or (C, H, W)
    kernel_size, stride, padding : int or tuple of two
        `stride` is by default `kernel_size`. The zeros of the padding count.

    Returns
    -------
    array of shape (N, C, H', W') or (C, H', W')

    Examples
    --------
    >>> import numpy as np
    >>> avg_pool2d(np.arange(16.0).reshape(1, 4, 4), 2)
    array([[[ 2.5,  4.5],
            [10.5, 12.5]]])
    """
    x, has_batch, size, step, gap = _prepare_pool(
        "avg_pool2d", input, kernel_size, Window(stride, padding), 0
    )
    out = np.mean(_operations.windows(x, size, step, gap), axis=(-4, -3))
    return out if has_batch else out[0]
