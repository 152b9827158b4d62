"""Methods of a tensor that return Python's numbers: in adopted code these are tensors."""

from typing import Any

import numpy as np

from .._mutation.array import settle
from .python_numbers import in_level, noted
from .values import is_batched, plain_values


def item_(x: Any, *args: Any) -> Any:
    """Return ``x.item(...)``: a scalar that keeps its derivative and its batch."""
    x = settle(x)
    if not in_level(x):
        return x.item(*args)
    np.broadcast_to(0.0, x.shape).item(*args)  # raises as NumPy does
    if not args:
        return _number(x.reshape(()))
    if len(args) == 1 and not isinstance(args[0], tuple):
        return _number(x.reshape(-1)[args[0]])
    return _number(x[args if len(args) > 1 else args[0]])


def tolist_(x: Any) -> Any:
    """Return ``x.tolist()``: nested lists of what `item_` returns."""
    x = settle(x)
    if not in_level(x):
        return x.tolist()
    return [tolist_(v) for v in x] if x.ndim else _number(x)


def _number(x: Any) -> Any:
    """Return a tensor without axes as Python's number: a plain one, if it is an integer."""
    return noted(_as_number(x), True)


def _as_number(x: Any) -> Any:
    if x.dtype.kind == "f":
        return x.astype(float)[()]
    if x.dtype.kind == "c":
        return x.astype(complex)[()]
    if not is_batched(x):
        return np.asarray(plain_values(x)).item()
    return x.astype(np.int64)[()] if x.dtype.kind in "iu" else x[()]


ELEMENTS = {"item": item_, "tolist": tolist_}
"""The methods by their names."""
