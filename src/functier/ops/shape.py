"""Operations that move elements without changing them."""

import numpy as np

from ._families import linear, shift


def _reshape_vmap(k, a, shape=None, order="C", **params):
    batch, logical = np.shape(a)[:k], np.shape(a)[k:]
    shape = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    if -1 in shape:
        known = int(np.prod([n for n in shape if n != -1], dtype=int))
        size = int(np.prod(logical, dtype=int))
        shape = tuple((size // known if known else 0) if n == -1 else n for n in shape)
    return np.reshape(a, (*batch, *shape), order=order, **params)


linear(
    np.reshape,
    "a shape order copy",
    vmap=_reshape_vmap,
    vjp={"a": lambda g, a_shape, order="C": np.reshape(g, a_shape, order=order)},
)
linear(
    np.transpose,
    "a axes",
    vmap=lambda k, a, axes=None: np.transpose(
        a,
        (*range(k), *(k + i for i in range(np.ndim(a) - k - 1, -1, -1)))
        if axes is None
        else (*range(k), *(shift(i, k, np.ndim(a) - k) for i in axes)),
    ),
    vjp={
        "a": lambda g, axes=None: (
            np.transpose(g) if axes is None else np.transpose(g, np.argsort([i % len(axes) for i in axes]).tolist())
        )
    },
)
linear(
    np.broadcast_to,
    "array shape subok",
    vmap=lambda k, array, shape, **params: np.broadcast_to(
        np.reshape(
            array,
            np.shape(array)[:k]
            + (1,) * (len(_tuple(shape)) + k - np.ndim(array))
            + np.shape(array)[k:],
        ),
        np.shape(array)[:k] + _tuple(shape),
    ),
    vjp={"array": lambda g: g},  # the engine sums down to the operand's shape
)


def _tuple(shape):
    return (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)


linear(
    np.astype,
    "x dtype copy device",
    vmap=lambda k, x, dtype, **params: np.astype(x, dtype, **params),
    vjp={"x": lambda g: g},  # the engine casts to the operand's dtype
)
