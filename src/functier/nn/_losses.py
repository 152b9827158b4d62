"""Losses, with PyTorch's names and meaning; the axis of classes is the second, or the only one."""

import numpy as np

from .._core.numpy_facts import Value, dtype_of, shape_of
from . import _operations


def reduce_loss(name: str, loss: Value, reduction: str) -> Value:
    """Return the losses as they are, their sum or their mean."""
    if reduction == "mean":
        return np.mean(loss)
    if reduction == "sum":
        return np.sum(loss)
    if reduction == "none":
        return loss
    raise ValueError(f"{name}: reduction={reduction!r}; it has to be 'mean', 'sum' or 'none'")


def _check_shapes(name: str, input: Value, target: Value) -> None:
    if shape_of(input) != shape_of(target):
        raise ValueError(
            f"{name}: the input has the shape {shape_of(input)}, the target {shape_of(target)}; "
            f"they have to be the same, or they would be broadcast"
        )


def mse_loss(input: Value, target: Value, reduction: str = "mean") -> Value:
    """Compute the mean of the squared differences of two arrays.

    Parameters
    ----------
    input, target : array
        Of one shape.
    reduction : {"mean", "sum", "none"}
        "none" for the loss of each element.

    Returns
    -------
    array

    Examples
    --------
    >>> import numpy as np
    >>> float(mse_loss(np.array([1.0, 2.0]), np.array([1.0, 4.0])))
    2.0
    """
    _check_shapes("mse_loss", input, target)
    return reduce_loss("mse_loss", np.square(input - target), reduction)


def cross_entropy(
    input: Value, target: Value, *, reduction: str = "mean", label_smoothing: float = 0.0
) -> Value:
    """Compute the cross-entropy of logits and classes, or class probabilities.

    Parameters
    ----------
    input : array of shape (N, C, ...) or (C,)
        Logits.
    target : array of int of shape (N, ...) or (), or of float of the shape of `input`
        Class indices, or the probability of each class.
    reduction : {"mean", "sum", "none"}
    label_smoothing : float
        The part of each target that is spread over all classes, from 0 to 1.

    Returns
    -------
    array of shape () or that of the indices

    Raises
    ------
    TypeError, ValueError
        For shapes and dtypes that do not match, and classes that do not exist. (Classes in a tensor
        are not checked: NumPy then raises IndexError, or counts negative ones from the end.)

    Notes
    -----
    For a factor of each class, or examples that do not count, multiply the losses of
    ``reduction="none"`` by weights.

    Examples
    --------
    >>> import numpy as np
    >>> from functier import grad
    >>> logits, classes = np.zeros((2, 4)), np.array([3, 0])
    >>> round(float(cross_entropy(logits, classes)), 6)
    1.386294
    >>> grad(cross_entropy)(logits, classes)
    array([[ 0.125,  0.125,  0.125, -0.375],
           [-0.375,  0.125,  0.125,  0.125]])
    """
    name, shape = "cross_entropy", shape_of(input)
    if not 0 <= label_smoothing <= 1:
        raise ValueError(f"{name}: label_smoothing={label_smoothing!r}; it has to be from 0 to 1")
    if not shape:
        raise ValueError(f"{name}: the input has no axis; it has to be (N, C, ...) or (C,)")
    axis = 1 if len(shape) > 1 else 0
    logp = _operations.log_softmax(input, axis)
    if dtype_of(target).kind == "f":
        _check_shapes(name, input, target)
        loss = np.negative(np.sum(target * logp, axis=axis))
    else:
        _check_classes(target, shape, axis)
        chosen = np.take_along_axis(logp, np.expand_dims(target, axis), axis)
        loss = np.negative(np.squeeze(chosen, axis))
    if label_smoothing:
        spread = np.negative(np.mean(logp, axis=axis))
        loss = (1 - label_smoothing) * loss + label_smoothing * spread
    return reduce_loss(name, loss, reduction)


def _check_classes(target: Value, shape: tuple, axis: int) -> None:
    """Raise unless these are classes of logits of a shape."""
    if dtype_of(target).kind not in "iu":
        raise TypeError(
            f"cross_entropy: the target's dtype is {dtype_of(target)}; pass class indices as "
            f"integers"
        )
    if shape_of(target) != shape[:axis] + shape[axis + 1 :]:
        raise ValueError(
            f"cross_entropy: the input has the shape {shape}, so the target has to have "
            f"{shape[:axis] + shape[axis + 1 :]}, not {shape_of(target)}"
        )
    if type(target) is np.ndarray and target.size:
        low, high = target.min(), target.max()
        if low < 0 or high >= shape[axis]:
            raise ValueError(
                f"cross_entropy: the target has the class {low if low < 0 else high}, but there "
                f"are {shape[axis]} classes"
            )
