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
    widths: list[tuple[int, int]]


def _prepare_pool(
    name: str, input: Value, kernel_size: Sizes, window: Window, ceil_mode: bool, fill: float
) -> Pool:
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
    widths = []
    for p, length, k, s, g in zip(around, shape_of(x)[2:], size, step, gap):
        after = p
        if ceil_mode:  # another window where one would not fit whole, if it begins inside
            rest = length + 2 * p - g * (k - 1) - 1
            count = -(-rest // s) + 1
            count -= (count - 1) * s >= length + p
            after += max(0, (count - 1) * s - rest)
        widths.append((p, after))
    padded = _pad(x, widths, fill)
    _check_windows(name, shape_of(padded), size, step, gap)
    return Pool(padded, has_batch, size, step, gap, widths)


def max_pool2d(
    input: Value, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
    dilation: Sizes = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Value:  # fmt: skip
    """Compute the largest element of each window of images.

    Parameters
    ----------
    input : array of shape (N, C, H, W) or (C, H, W)
    kernel_size, stride, padding, dilation : int or tuple of two
        `stride` is by default `kernel_size`. The padding is smaller than any number.
    ceil_mode : bool
        True for a last window that does not fit in whole.
    return_indices : bool
        True to also return the positions of the elements in their image, as indices of
        ``image.ravel()``.

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
    x, has_batch, size, step, gap, widths = _prepare_pool(
        "max_pool2d", input, kernel_size, Window(stride, padding, dilation), ceil_mode, fill
    )
    out = _operations.window_max(x, size, step, gap)
    out = out if has_batch else out[0]
    if not return_indices:
        return out
    at = _operations.window_argmax(x, size, step, gap).astype(np.intp)
    at = at if has_batch else at[0]
    rows, columns = shape_of(at)[-2:]
    y = np.arange(rows)[:, None] * step[0] - widths[0][0] + at // size[1] * gap[0]
    x = np.arange(columns) * step[1] - widths[1][0] + at % size[1] * gap[1]
    return out, y * shape_of(input)[-1] + x


def avg_pool2d(
    input: Value, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: Value = None,
) -> Value:  # fmt: skip
    """Compute the mean of each window of images.

    Parameters
    ----------
    input : array of shape (N, C, H, W) or (C, H, W)
    kernel_size, stride, padding : int or tuple of two
        `stride` is by default `kernel_size`.
    ceil_mode : bool
        True for a last window that does not fit in whole. Its elements beyond the padding
        do not count.
    count_include_pad : bool
        True to count the padding as elements of the windows.
    divisor_override : number, optional
        The divisor of the sums, instead of the number of elements.

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
    x, has_batch, size, step, gap, widths = _prepare_pool(
        "avg_pool2d", input, kernel_size, Window(stride, padding), ceil_mode, 0
    )
    total = np.sum(_operations.windows(x, size, step, gap), axis=(-4, -3))
    if divisor_override is not None:
        count: Any = divisor_override
    else:
        counts = []
        for i, (before, _) in enumerate(widths):
            whole = np.zeros(shape_of(x)[2 + i])
            inside = before + shape_of(input)[i - 2]
            whole[: inside + before] = count_include_pad  # no more than `padding` at the end
            whole[before:inside] = 1
            counts.append(_operations.windows(whole, size[i : i + 1], step[i : i + 1], (1,)).sum(0))
        count = counts[0][:, None] * counts[1]
        first = count.flat[0]
        count = float(first) if (count == first).all() else count.astype(dtype_of(total))
    out = total / count
    return out if has_batch else out[0]
