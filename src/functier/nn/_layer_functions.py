"""Affine functions, dropout, embedding, softmax and attention."""

import numpy as np

from .._core.numpy_facts import Value, shape_of
from ..random._sampling import Seed
from . import _operations
from ._random import generator_of

# ---- affine ----


def linear(input: Value, weight: Value, bias: Value | None = None) -> Value:
    """Compute ``input @ weight.T + bias``.

    Parameters
    ----------
    input : array of shape (..., inputs)
    weight : array of shape (outputs, inputs)
    bias : array of shape (outputs,), optional

    Returns
    -------
    array of shape (..., outputs)

    Examples
    --------
    >>> import numpy as np
    >>> linear(np.array([1.0, 2.0]), np.array([[3.0, 4.0]]), np.array([0.5]))
    array([11.5])
    """
    try:
        out = input @ weight.T
        return out if bias is None else out + bias
    except ValueError as error:
        if shape_of(input)[-1:] == shape_of(weight)[-1:]:
            raise
        raise ValueError(
            f"linear: the input has the shape {shape_of(input)}, but the weight of shape "
            f"{shape_of(weight)} needs a last axis of {shape_of(weight)[-1]}"
        ) from error


# ---- random ----


def dropout(
    input: Value, p: float = 0.5, training: bool = True, *, generator: Seed = None
) -> Value:
    """Zero each element with probability `p`, and divide the others by ``1 - p``.

    Parameters
    ----------
    input : array
    p : float
        From 0 to 1.
    training : bool
        With False, the result is `input`.
    generator : seed or generator, optional
        By default that of `functier.nn.manual_seed`.

    Raises
    ------
    RandomnessError
        Inside a `vmap` without ``randomness="different"`` or ``"same"``.

    Examples
    --------
    >>> import numpy as np
    >>> dropout(np.ones(5), 0.5, generator=0)
    array([2., 0., 0., 0., 2.])
    """
    if not 0 <= p <= 1:
        raise ValueError(f"dropout: p={p!r}; a probability is from 0 to 1")
    if not training or p == 0:
        return input
    if p == 1:
        return input * 0.0
    kept = generator_of(generator).random(shape_of(input)) >= p
    return np.where(kept, input * (1 / (1 - p)), 0)


# ---- along axes ----

Axes = int | tuple[int, ...] | None


def one_of(name: str, dim: Axes, axis: Axes) -> int | tuple[int, ...]:
    """Return the axes that a function got as `dim` or as `axis`; raise for both or none."""
    if (dim is None) == (axis is None):
        both = "both" if dim is not None else "neither"
        raise TypeError(f"{name}: {both} of dim= and axis= were given; write one of them")
    return dim if axis is None else axis  # type: ignore[return-value]


def softmax(input: Value, dim: Axes = None, *, axis: Axes = None) -> Value:
    """Compute ``exp(input) / sum(exp(input))`` along axes, without overflow.

    Parameters
    ----------
    input : array
    dim, axis : int or tuple of int
        The axes that sum up to 1, by torch's name or by NumPy's: one of the two.

    Examples
    --------
    >>> import numpy as np
    >>> softmax(np.array([1000.0, 1000.0]), 0)
    array([0.5, 0.5])
    """
    return _operations.softmax(input, one_of("softmax", dim, axis))


def log_softmax(input: Value, dim: Axes = None, *, axis: Axes = None) -> Value:
    """Compute the logarithm of `softmax`, without overflow and without a logarithm of 0.

    Parameters
    ----------
    input : array
    dim, axis : int or tuple of int
        The axes that `softmax` sums up to 1, by torch's name or by NumPy's: one of the two.

    Examples
    --------
    >>> import numpy as np
    >>> log_softmax(np.array([0.0, 1000.0]), 0)
    array([-1000.,     0.])
    """
    return _operations.log_softmax(input, one_of("log_softmax", dim, axis))


def logsumexp(
    input: Value, dim: Axes = None, keepdim: bool = False, *, axis: Axes = None,
    keepdims: bool = False,
) -> Value:  # fmt: skip
    """Compute ``log(sum(exp(input)))`` along axes, without overflow.

    See ``torch.logsumexp``. The derivative is `softmax`. Where all elements are -inf, so is the
    result, and the derivative is 0.

    Parameters
    ----------
    input : array
    dim, axis : int or tuple of int
        The axes to sum over, by torch's name or by NumPy's: one of the two.
    keepdim, keepdims : bool
        True to keep the axes, with size 1.

    Examples
    --------
    >>> import numpy as np
    >>> from functier import grad
    >>> grad(logsumexp)(np.array([1000.0, 1000.0]), 0)
    array([0.5, 0.5])
    """
    axes = one_of("logsumexp", dim, axis)
    return _operations.logsumexp(input, axes, keepdims=keepdim or keepdims)
