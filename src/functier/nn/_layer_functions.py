"""Affine functions, dropout, embedding, softmax and attention."""

import math

import numpy as np

from .._core.numpy_facts import Value, dtype_of, shape_of
from .._core.tensor import Tensor
from .._rules.indexing import read_at
from .._transforms.stop_gradient import stop_gradient
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


def embedding(input: Value, weight: Value, padding_idx: int | None = None) -> Value:
    """Return the rows of `weight` with the given indices.

    Parameters
    ----------
    input : array of int
        Of any shape.
    weight : array of shape (rows, features)
    padding_idx : int, optional
        A row that gets no gradient.

    Returns
    -------
    array of shape (*input.shape, features)

    Raises
    ------
    TypeError
        For an input that is not an array of integers.

    Notes
    -----
    As in NumPy, a negative integer counts from the last row.

    Examples
    --------
    >>> import numpy as np
    >>> embedding(np.array([2, 0]), np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    array([[5., 6.],
           [1., 2.]])
    """
    if dtype_of(input).kind not in "iu":
        raise TypeError(f"embedding: the input's dtype is {dtype_of(input)}; pass integers")
    rows = read_at(weight, (input,))
    if padding_idx is None:
        return rows
    count = shape_of(weight)[0]
    if not -count <= padding_idx < count:
        raise ValueError(f"embedding: padding_idx={padding_idx} is not one of {count} rows")
    padding = np.expand_dims(np.equal(input, padding_idx % count), -1)
    return np.where(padding, stop_gradient(rows), rows)


def one_hot(tensor: Value, num_classes: int = -1) -> Value:
    """Return 1 at the index of each class and 0 elsewhere, along a new last axis.

    Parameters
    ----------
    tensor : array of int
    num_classes : int
        -1 stands for one more than the largest class, which is not known inside a transform.

    Returns
    -------
    array of int of shape (*tensor.shape, num_classes)

    Raises
    ------
    TypeError, ValueError
        For anything but integers from 0 to `num_classes` - 1.

    Examples
    --------
    >>> import numpy as np
    >>> one_hot(np.array([2, 0]), 3)
    array([[0, 0, 1],
           [1, 0, 0]])
    """
    if dtype_of(tensor).kind not in "iu":
        raise TypeError(f"one_hot: the dtype is {dtype_of(tensor)}; pass class indices as integers")
    known = not isinstance(tensor, Tensor)
    if num_classes == -1 and not known:
        raise ValueError(
            "one_hot: inside a transform num_classes=-1 would depend on data; write the number "
            "of classes"
        )
    x = np.asarray(tensor) if known else tensor
    if known and x.size:
        if x.min() < 0 or (num_classes != -1 and x.max() >= num_classes):
            raise ValueError(
                f"one_hot: classes are from {x.min()} to {x.max()}, with num_classes={num_classes}"
            )
        num_classes = int(x.max()) + 1 if num_classes == -1 else num_classes
    elif num_classes < 1:
        raise ValueError(f"one_hot: num_classes={num_classes}; write the number of classes")
    return np.equal(np.expand_dims(x, -1), np.arange(num_classes)).astype(np.int64)


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


def attention_weights(query: Value, key: Value, mask: Value, is_causal: bool = False) -> Value:
    """Return the weights of the keys for each query, which is scaled: 0 where all are masked."""
    scores = query @ np.swapaxes(key, -1, -2)
    if is_causal:
        mask = np.tri(*shape_of(scores)[-2:], dtype=bool)
    if mask is None:
        return _operations.softmax(scores, -1)
    if dtype_of(mask).kind != "b":
        return _operations.softmax(scores + mask, -1)
    some = np.any(mask, axis=-1, keepdims=True)
    hidden = np.where(some, np.where(mask, scores, -np.inf), 0)
    return np.where(some, _operations.softmax(hidden, -1), 0)


def scaled_dot_product_attention(
    query: Value, key: Value, value: Value, attn_mask: Value = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False, *,
    generator: Seed = None,
) -> Value:  # fmt: skip
    """Compute ``softmax(query @ key.T * scale + mask) @ value``.

    Parameters
    ----------
    query : array of shape (..., L, E)
    key : array of shape (..., S, E)
    value : array of shape (..., S, F)
    attn_mask : array, optional
        It broadcasts with (..., L, S). Booleans are True where a key takes part; numbers are
        added to the scores.
    dropout_p : float
        The probability of dropping a weight (also outside training, as in torch).
    is_causal : bool
        True if query i attends only to the keys up to i.
    scale : float, optional
        By default ``1 / sqrt(E)``.
    enable_gqa : bool
        True if several heads of the query (the third axis from the end) share a head of the key and
        the value.
    generator : seed or generator, optional
        For the dropout.

    Returns
    -------
    array of shape (..., L, F)
        It is 0 for a query whose keys are all masked.

    Notes
    -----
    The scores are written out: L times S numbers for each head, which derivatives keep.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.eye(2)
    >>> scaled_dot_product_attention(x, x, np.array([[1.0], [3.0]]), is_causal=True).round(2)
    array([[1.  ],
           [2.34]])
    """
    if is_causal and attn_mask is not None:
        raise ValueError(
            "scaled_dot_product_attention: attn_mask and is_causal=True are both given; put both "
            "into attn_mask"
        )
    if enable_gqa:
        times = shape_of(query)[-3] // shape_of(key)[-3]
        key, value = np.repeat(key, times, axis=-3), np.repeat(value, times, axis=-3)
    scale = 1 / math.sqrt(shape_of(query)[-1]) if scale is None else scale
    weights = attention_weights(query * scale, key, attn_mask, is_causal)
    return dropout(weights, dropout_p, generator=generator) @ value
