"""Reductions over one axis, several or all."""

import numpy as np

from ._families import linear, reduction_vmap, spread

linear(
    np.sum,
    "a axis dtype out keepdims initial where",
    "a where",
    vmap=reduction_vmap(np.sum),
    vjp={
        "a": lambda g, a_shape, axis=None, keepdims=False, where=True: (
            spread(g, a_shape, axis, keepdims) * where
            if where is not True
            else spread(g, a_shape, axis, keepdims)
        )
    },
)
