"""Lists of values, which are arrays in a part, with the steps as first axis."""

from typing import Any

import numpy as np

from ...graph import Form
from ...loops import Series
from ..lowering.nodes import array_of

ndarray = np.ndarray


def listed(form: Any, values: ndarray) -> Any:
    """Return the list that an array stands for, whose elements have memory of their own."""
    if type(form) is Series:
        return [listed(form.form, part) for part in values]
    if form.kind is ndarray:
        return values.copy("K")
    return values if form.dtype is not None else values.item()


def stacked(form: Series, values: list) -> ndarray:
    """Return a list as an array that lies in memory as that of a part does."""
    target: Form = array_of(form)
    found = ndarray(target.shape, target.dtype, strides=target.strides)
    for i, value in enumerate(values):
        found[i] = stacked(form.form, value) if type(form.form) is Series else value
    return found
