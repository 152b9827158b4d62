"""Functions of a selection that have a meaning for each example, whatever it selects.

NOTE [an example that selects nothing]
    A sum has a value then, and a mean NumPy's warning. A minimum raises, as NumPy's does. What
    needs the number of elements, or their order, is refused.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.agreement import examples_of
from .._core.numpy_facts import Axis, Value

ELEMENTWISE: set[Callable] = {
    np.clip, np.round, np.nan_to_num, np.real, np.imag, np.angle, np.sinc, np.copy, np.astype,
    np.zeros_like, np.ones_like, np.empty_like, np.where, np.isclose, np.isreal, np.iscomplex,
    np.interp, np.i0, np.fix,
}  # fmt: skip
"""Functions, besides the ufuncs, of each element by itself."""

WITH_MASK: dict[Callable, Callable] = {
    func: func for func in (np.sum, np.prod, np.mean, np.var, np.std, np.any, np.all)
} | {np.add.reduce: np.sum, np.multiply.reduce: np.prod}
"""Reductions that take ``where=``."""

EXTREMA: dict[Callable, tuple[Callable, bool]] = {
    np.max: (np.max, True), np.amax: (np.max, True), np.maximum.reduce: (np.max, True),
    np.min: (np.min, False), np.amin: (np.min, False), np.minimum.reduce: (np.min, False),
}  # fmt: skip
"""Reductions that need an element, and whether they are the largest."""


def reduce_values(
    func: Callable, values: Any, mask: Any, axis: Axis, options: dict[str, Any]
) -> Value | None:
    """Return a reduction over the selected elements of `values`, which has the mask's axes first.

    None where the function is none of these.
    """
    where = np.reshape(mask, mask.shape + (1,) * (values.ndim - mask.ndim))
    over = tuple(range(mask.ndim)) if axis == 0 else None
    if func in WITH_MASK:
        return WITH_MASK[func](values, axis=over, where=where, **options)
    if func is np.count_nonzero:
        return np.sum(np.logical_and(values != 0, where), axis=over)
    if func in EXTREMA:
        extreme, largest = EXTREMA[func]
        some: Any = np.any(mask)
        chosen = examples_of(some)
        if chosen is not None and not chosen.all():
            raise ValueError(
                f"zero-size array to reduction operation {'max' if largest else 'min'}imum which "
                f"has no identity"
            )
        return extreme(np.where(where, values, _beyond(values.dtype, largest)), axis=over)
    return None


def _beyond(dtype: np.dtype, largest: bool) -> Any:
    """Return a value that no element exceeds in a minimum, or in a maximum."""
    if dtype.kind == "b":
        return not largest
    if dtype.kind in "iu":
        return np.iinfo(dtype).min if largest else np.iinfo(dtype).max
    return dtype.type(-np.inf if largest else np.inf)
