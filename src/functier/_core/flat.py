"""The elements of a tensor in one row: ``x.flat``."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from .numpy_facts import Index, Value


class Flat:
    """An iterator over the elements of a tensor, which may be read and written to by index."""

    def __init__(self, base: Any):
        self.base = base if base.ndim else base[...]  # of a number a new array
        self.elements: Iterator | None = None

    def __len__(self) -> int:
        return self.base.size

    def __iter__(self) -> "Flat":
        return self

    def __next__(self) -> Value:
        if self.elements is None:
            self.elements = iter(self.base.reshape(-1))
        return next(self.elements)

    def __getitem__(self, index: Index) -> Value:
        found = self.base.reshape(-1)[index]
        if hasattr(found, "reshaped"):  # a selection by a mask of a batch
            return found
        return np.copy(found) if np.ndim(found) else found

    def __setitem__(self, index: Index, value: Value) -> None:
        """Write `value` at an index, over and over where there are fewer values than places."""
        base = self.base
        if hasattr(index, "level") and index.dtype.kind == "b":
            mask = np.reshape(index, base.shape)
            base[mask] = value.reshaped(mask) if hasattr(value, "reshaped") else value
            return
        places = (
            np.arange(base.size)
            if type(index) is slice and index == slice(None)
            else self.places(index)
        )
        count = int(np.size(places))
        if np.ndim(value) and np.size(value) != count:
            row = np.ravel(value)
            value = row[np.arange(count) % max(row.size, 1)]
        elif np.ndim(value):
            value = np.reshape(value, np.shape(places))
        if base.ndim:
            base[np.unravel_index(places, base.shape)] = value
        elif count:
            base[()] = np.ravel(value)[-1] if np.ndim(value) else value

    def places(self, index: Index) -> Value:
        """Return the places at an index, in which tensors of any level may stand."""
        row = np.arange(self.base.size)
        if isinstance(index, (int, slice, np.ndarray, list, np.integer)):
            return row[index]
        return np.take(row, index)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        values = [x.base.reshape(-1) if type(x) is Flat else x for x in inputs]
        return getattr(ufunc, method)(*values, **kwargs)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.asarray(self.base.reshape(-1), dtype)

    def copy(self) -> Value:
        """A copy of the elements, in one row."""
        return np.copy(self.base.reshape(-1))
