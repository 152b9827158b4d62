"""Examples of a batch that are computed one after the other."""

import warnings
from collections.abc import Callable

import numpy as np

from ...._core.errors import FallbackWarning
from ...._core.numpy_facts import Value


def loop_examples(k: int, func: Callable, name: str, reason: str, *operands: Value) -> Value:
    """Call a function that returns a tuple for one example after the other, with a warning."""
    warnings.warn(
        f"functier.vmap: {reason}, so {name} is applied to one example after the other",
        FallbackWarning,
        stacklevel=2,
    )
    batch = np.broadcast_shapes(*[np.shape(v)[:k] for v in operands])

    def example(index: tuple) -> Value:
        own = []
        for x in operands:
            if 0 in batch:
                own.append(np.ones(x.shape[k:], x.dtype))
            else:
                own.append(x[tuple(i if n > 1 else 0 for i, n in zip(index, x.shape[:k]))])
        return func(*own)

    rows = [example(index) for index in np.ndindex(*batch)] or [example(())]
    columns = [np.stack(column) for column in zip(*rows)]
    return tuple(np.reshape(c[:0] if 0 in batch else c, batch + np.shape(c)[1:]) for c in columns)
