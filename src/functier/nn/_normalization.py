"""Normalizations: values shifted and scaled to mean 0 and variance 1."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._core.ambient import AMBIENT
from .._core.errors import MutationError
from .._core.numpy_facts import Value, dtype_of, shape_of
from .._core.tensor import Tensor


def _affine(x: Value, weight: Value, bias: Value, shape: Any = None) -> Value:
    """Return ``x * weight + bias``, without those that are None; they get the `shape` first."""
    if shape is not None:
        weight, bias = [None if v is None else np.reshape(v, shape) for v in (weight, bias)]
    x = x if weight is None else x * weight
    return x if bias is None else x + bias


def layer_norm(
    input: Value, normalized_shape: int | Sequence[int], weight: Value = None,
    bias: Value | None = None, eps: float = 1e-5,
) -> Value:  # fmt: skip
    """Shift and scale the last axes to mean 0 and variance 1; then ``* weight + bias``.

    Parameters
    ----------
    input : array of shape (..., *normalized_shape)
    normalized_shape : int or tuple of int
    weight, bias : array of shape normalized_shape, optional
    eps : float
        Added to the variance.

    Returns
    -------
    array of the shape of the input

    Raises
    ------
    ValueError
        If the input does not end with these axes.

    Examples
    --------
    >>> import numpy as np
    >>> layer_norm(np.array([[1.0, 3.0], [5.0, -5.0]]), 2, eps=0.0)
    array([[-1.,  1.],
           [ 1., -1.]])
    """
    form = tuple(normalized_shape) if np.iterable(normalized_shape) else (normalized_shape,)
    n = len(form)
    if not n or shape_of(input)[-n:] != form:
        raise ValueError(
            f"layer_norm: the input has the shape {shape_of(input)}; it has to end with "
            f"normalized_shape={form}"
        )
    axes = -1 if n == 1 else tuple(range(-n, 0))
    centred = input - np.mean(input, axis=axes, keepdims=True)
    variance = np.mean(np.square(centred), axis=axes, keepdims=True)
    return _affine(centred / np.sqrt(variance + eps), weight, bias)


def batch_norm(
    input: Value, running_mean: Value, running_var: Value, weight: Value = None,
    bias: Value | None = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-5,
) -> Value:  # fmt: skip
    """Shift and scale each channel, over all examples; then ``* weight + bias``.

    Parameters
    ----------
    input : array of shape (N, C, ...)
    running_mean, running_var : array of shape (C,) or None
        The statistics to normalize the input with, unless `training`. During training they are
        updated in place: ``running += momentum * (new - running)``, where the new variance is
        divided by n - 1.
    weight, bias : array of shape (C,), optional
    training : bool
        True to normalize with the mean and the variance of this batch.
    momentum : float
        The share of a new statistic.
    eps : float
        Added to the variance.

    Returns
    -------
    array of the shape of the input

    Raises
    ------
    ValueError
        For an input without channels, for missing statistics, or in training for an input with only
        one value for each channel.
    MutationError
        Inside a transform, with `training` and statistics, because the call would have to write to
        them.

    Examples
    --------
    >>> import numpy as np
    >>> mean, var = np.zeros(1), np.ones(1)
    >>> batch_norm(np.array([[1.0], [3.0]]), mean, var, training=True, eps=0.0)
    array([[-1.],
           [ 1.]])
    >>> mean, var
    (array([0.2]), array([1.1]))
    """
    shape = shape_of(input)
    if len(shape) < 2:
        raise ValueError(
            f"batch_norm: the input has the shape {shape}; it has to be (examples, channels, ...)"
        )
    given = {"running_mean": running_mean, "running_var": running_var}
    _check_channels("batch_norm", shape, **given, weight=weight, bias=bias)
    form = (-1, *(1,) * (len(shape) - 2))
    if not training:
        if running_mean is None or running_var is None:
            raise ValueError("batch_norm: training=False needs running_mean and running_var")
        centred = input - np.reshape(running_mean, form)
        scale = np.sqrt(np.reshape(running_var, form) + eps)
        return _affine(centred / scale, weight, bias, form)
    axes = (0, *range(2, len(shape)))
    count = shape[0] * math.prod(shape[2:])
    if count < 2:
        raise ValueError(
            f"batch_norm: the input of shape {shape} has {count} values for each channel; "
            f"training needs 2 or more"
        )
    kept = [x for x in given.values() if x is not None]
    if kept and (AMBIENT.get() is not Tensor or any(isinstance(x, Tensor) for x in kept)):
        raise MutationError(
            "batch_norm: inside of a transform training=True would write to running_mean and "
            "running_var; pass None for them (track_running_stats=False for a layer), or use "
            "training=False (layer.eval()); a call outside of the transform updates them"
        )
    mean = np.mean(input, axis=axes, keepdims=True)
    centred = input - mean
    variance = np.mean(np.square(centred), axis=axes, keepdims=True)
    for running, new in (
        (running_mean, mean),
        (running_var, variance * (count / (count - 1))),
    ):
        if running is not None:
            running += (momentum * (np.reshape(new, -1) - running)).astype(dtype_of(running))
    return _affine(centred / np.sqrt(variance + eps), weight, bias, form)


def _check_channels(name: str, shape: tuple, **given: Value) -> None:
    """Raise where an array has another length than the channels of an input."""
    for option, x in given.items():
        if x is not None and shape_of(x) != shape[1:2]:
            raise ValueError(
                f"{name}: {option} has the shape {shape_of(x)}, and the input of shape {shape} "
                f"has {shape[1]} channels; write x[None] for one example x"
            )
