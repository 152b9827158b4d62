"""Planted faults of NumPy's twins."""

import numpy as np

from faults.planted import change
from functier._rules import creation
from functier.numpy import _array_api, _objects

# ---- array api array namespace ----


function_that_returns_a_plain_array = change(_array_api, "as_tensor", lambda value, given=(): value)


# ---- numpy twins drawn lists ----


def wrong_nest(monkeypatch):
    right = creation._nest

    def reversed_leaves(value, leaves):
        shape = right(value, leaves)
        leaves.reverse()
        return shape

    monkeypatch.setattr(creation, "_nest", reversed_leaves)


# ---- numpy twins object arrays ----


FAULTS = {
    "numbers of the first": (
        _objects.Objects,
        "astype",
        lambda self, dtype: self.flat[0] * np.ones(4),
    ),
    "tensors answer": (_objects, "_bare", lambda x: x),
    "plain arrays": (_objects, "as_objects", lambda x: x),
}
FAULTS = {k: change(*c) for k, c in FAULTS.items()}
