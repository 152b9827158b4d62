"""Names of types that functions take and return, where one Python type does not suffice."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

Value: TypeAlias = Any
"""An operand: a tensor of any level, an array, a NumPy scalar or a Python number."""

PyTree: TypeAlias = Any
"""Nested tuples, lists, dicts and registered nodes, with values as leaves."""

Structure: TypeAlias = Any
"""The structure of a pytree without its leaves, as `flatten` returns it."""

Index: TypeAlias = Any
"""The index in ``x[index]``: ints, slices, None, an ellipsis, arrays, or a tuple of these."""

Axis: TypeAlias = int | tuple[int, ...] | None
"""The axis argument of a reduction."""

Shape: TypeAlias = tuple[int, ...]

Function: TypeAlias = Callable[..., Any]
"""A function of NumPy or of the user, with any parameters."""

Scalar: TypeAlias = np.generic | complex
"""A number of NumPy or of Python."""
