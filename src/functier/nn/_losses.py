"""Losses, with PyTorch's names and meaning; the axis of classes is the second, or the only one."""

import math

import numpy as np

from .._core.numpy_facts import Value, dtype_of, shape_of
from .._rules.indexing import read_at
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


def l1_loss(input: Value, target: Value, reduction: str = "mean") -> Value:
    """Compute the mean of the absolute differences of two arrays.

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
    >>> float(l1_loss(np.array([1.0, 2.0]), np.array([1.0, 4.0])))
    1.0
    """
    _check_shapes("l1_loss", input, target)
    return reduce_loss("l1_loss", np.abs(input - target), reduction)


def huber_loss(input: Value, target: Value, reduction: str = "mean", delta: float = 1.0) -> Value:
    """Compute half the square of small differences, and a linear function of large ones.

    Parameters
    ----------
    input, target : array
        Of one shape.
    reduction : {"mean", "sum", "none"}
        "none" for the loss of each element.
    delta : float
        The size of a difference above which the loss is linear; positive.

    Returns
    -------
    array

    Examples
    --------
    >>> import numpy as np
    >>> huber_loss(np.array([0.5, 3.0]), np.zeros(2), reduction="none")
    array([0.125, 2.5  ])
    """
    _check_shapes("huber_loss", input, target)
    if delta <= 0:
        raise ValueError(f"huber_loss: delta={delta!r}; it has to be positive")
    d = input - target
    size = np.abs(d)
    loss = np.where(size < delta, 0.5 * np.square(d), delta * (size - 0.5 * delta))
    return reduce_loss("huber_loss", loss, reduction)


def binary_cross_entropy_with_logits(
    input: Value, target: Value, weight: Value = None, *, reduction: str = "mean",
    pos_weight: Value = None,
) -> Value:  # fmt: skip
    """Compute the cross-entropy of probabilities `target` and ``sigmoid(input)``, stably.

    Parameters
    ----------
    input, target : array
        Of one shape.
    weight : array, optional
        A factor for each loss; broadcast.
    reduction : {"mean", "sum", "none"}
    pos_weight : array, optional
        A factor for the term of positive examples; broadcast.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([-1000.0, 0.0, 1000.0])
    >>> binary_cross_entropy_with_logits(x, np.array([0.0, 0.5, 0.0]), reduction="none").round(4)
    array([0.000e+00, 6.931e-01, 1.000e+03])
    """
    name = "binary_cross_entropy_with_logits"
    _check_shapes(name, input, target)
    missed = np.logaddexp(np.negative(input), 0)
    if pos_weight is not None:
        missed = missed * (1 + (pos_weight - 1) * target)
    loss = (1 - target) * input + missed
    return reduce_loss(name, loss if weight is None else loss * weight, reduction)


def _class_axis(name: str, input: Value) -> int:
    rank = len(shape_of(input))
    if not rank:
        raise ValueError(f"{name}: the input has no axis; it has to be (N, C, ...) or (C,)")
    return 1 if rank > 1 else 0


def _pick_classes(name: str, logp: Value, target: Value, weight: Value, ignore_index: int) -> tuple:
    """Return the loss of each target's class, its weight, and False where it is ignored."""
    axis = _class_axis(name, logp)
    shape = shape_of(logp)
    if dtype_of(target).kind not in "iu":
        raise TypeError(
            f"{name}: the target's dtype is {dtype_of(target)}; pass class indices as integers"
        )
    if shape_of(target) != shape[:axis] + shape[axis + 1 :]:
        raise ValueError(
            f"{name}: the input has the shape {shape}, so the target has to have "
            f"{shape[:axis] + shape[axis + 1 :]}, not {shape_of(target)}"
        )
    if weight is not None and shape_of(weight) != (shape[axis],):
        raise ValueError(
            f"{name}: the weight has the shape {shape_of(weight)}, not one of {shape[axis]} classes"
        )
    kept = np.not_equal(target, ignore_index)
    known = np.where(kept, target, 0)
    if type(known) is np.ndarray and known.size:
        low, high = known.min(), known.max()
        if low < 0 or high >= shape[axis]:
            raise ValueError(
                f"{name}: the target has the class {low if low < 0 else high}, but there are "
                f"{shape[axis]} classes; ignore_index={ignore_index}"
            )
    chosen = np.take_along_axis(logp, np.expand_dims(known, axis), axis)
    factor = kept.astype(dtype_of(logp))
    if weight is not None:
        factor = factor * read_at(weight, (known,))
    return np.negative(np.squeeze(chosen, axis)), factor, kept


def nll_loss(
    input: Value, target: Value, weight: Value = None, *, ignore_index: int = -100,
    reduction: str = "mean",
) -> Value:  # fmt: skip
    """Compute the negative log-probability of each target's class.

    Parameters
    ----------
    input : array of shape (N, C, ...) or (C,)
        Log-probabilities: see `log_softmax`.
    target : array of int of shape (N, ...) or ()
        Class indices.
    weight : array of shape (C,), optional
        A factor for each class. The mean is weighted.
    ignore_index : int
        A target that does not count.
    reduction : {"mean", "sum", "none"}

    Raises
    ------
    TypeError, ValueError
        As for `cross_entropy`.

    Examples
    --------
    >>> import numpy as np
    >>> nll_loss(np.array([[-1.0, -2.0], [-3.0, -4.0]]), np.array([0, 1]), reduction="none")
    array([1., 4.])
    """
    loss, factor, kept = _pick_classes("nll_loss", input, target, weight, ignore_index)
    loss = np.where(kept, loss, 0) * factor
    if reduction == "mean":
        return np.sum(loss) / np.sum(factor)
    return reduce_loss("nll_loss", loss, reduction)


def cross_entropy(
    input: Value, target: Value, weight: Value = None, *, ignore_index: int = -100,
    reduction: str = "mean", label_smoothing: float = 0.0,
) -> Value:  # fmt: skip
    """Compute the cross-entropy of logits and classes, or class probabilities.

    Parameters
    ----------
    input : array of shape (N, C, ...) or (C,)
        Logits.
    target : array of int of shape (N, ...) or (), or of float of the shape of `input`
        Class indices, or the probability of each class.
    weight : array of shape (C,), optional
        A factor for each class. With indices, the mean is weighted.
    ignore_index : int
        A class index that does not count.
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
    name = "cross_entropy"
    if not 0 <= label_smoothing <= 1:
        raise ValueError(f"{name}: label_smoothing={label_smoothing!r}; it has to be from 0 to 1")
    axis = _class_axis(name, input)
    shape = shape_of(input)
    classes = shape[axis]
    logp = _operations.log_softmax(input, axis)
    smooth = label_smoothing / classes
    if dtype_of(target).kind == "f":
        _check_shapes(name, input, target)
        if smooth:
            target = target * (1 - label_smoothing) + smooth
        spent = target * logp
        if weight is not None:
            spent = spent * np.reshape(weight, (classes, *(1,) * (len(shape) - axis - 1)))
        loss = np.negative(np.sum(spent, axis=axis))
        if reduction == "mean":
            return np.sum(loss) / max(1, math.prod(shape) // classes)
        return reduce_loss(name, loss, reduction)
    if not smooth:
        if weight is None and reduction == "mean" and type(target) is np.ndarray:
            if not (target == ignore_index).any():
                return np.mean(_pick_classes(name, logp, target, None, ignore_index)[0])
        return nll_loss(logp, target, weight, ignore_index=ignore_index, reduction=reduction)
    loss, factor, kept = _pick_classes(name, logp, target, weight, ignore_index)
    each = logp
    if weight is not None:
        each = each * np.reshape(weight, (classes, *(1,) * (len(shape) - axis - 1)))
    spread = np.negative(np.sum(each, axis=axis))
    loss = (1 - label_smoothing) * np.where(kept, loss, 0) * factor + smooth * np.where(
        kept, spread, 0
    )
    if reduction == "mean":
        return np.sum(loss) / np.sum(factor)
    return reduce_loss(name, loss, reduction)
