"""Elements of a sparse matrix inside a level: reading and writing at an index."""

from typing import Any

import numpy as np
import scipy.sparse as sp  # type: ignore[import-untyped]

from .. import numpy as fnp
from .._core.tensor import Tensor
from . import _sparse_places as places
from ._problems import has_tensor
from ._sparse_parts import Parts, is_scalar, is_sparse, plain_index


class Elements(Parts):
    """A sparse matrix that has an index.

    NOTE [writes of elements]
        Code that fills a matrix writes element by element. So these writes are kept in a dict, and
        get their places when the matrix is used for anything else.
    """

    def __getitem__(self, key: Any) -> Any:
        key = plain_index(key)
        place = self._place(key)
        if place in self._written:
            return self._written[place]
        if has_tensor(key):
            raise self.unsupported("an index that is a tensor", "a plain index")
        return self.moved(lambda a: a[key])

    def __setitem__(self, key: Any, value: Any) -> None:
        key = plain_index(key)
        if has_tensor(key):
            raise self.unsupported("an index that is a tensor", "a plain index")
        if self.format in ("coo", "dia", "bsr"):
            raise TypeError(f"{self.original.__name__!r} object does not support item assignment")
        place = self._place(key)
        if place is not None and is_scalar(value):
            self._written[place] = value
            return
        rows, columns = self._grid(key)
        value = value.toarray() if is_sparse(value) else fnp.asarray(value)
        if np.shape(np.squeeze(value)) == rows.squeeze().shape:
            value = np.reshape(value, rows.shape)
        value = np.broadcast_to(value, rows.shape)
        self._put(np.ravel(rows), np.ravel(columns), np.ravel(value))

    def setdiag(self, values: Any, k: int = 0) -> None:
        m, n = self.shape
        rows = np.arange(max(0, -k), min(m, n - k))
        if np.ndim(values):
            values = fnp.asarray(values)
            rows = rows[: np.shape(values)[0]]
            values = values[: rows.shape[0]]
        self._put(rows, rows + k, np.broadcast_to(fnp.asarray(values), rows.shape))

    def _place(self, key: Any) -> tuple[int, int] | None:
        """Return the row and the column of one element."""
        if not (isinstance(key, tuple) and len(key) == 2):
            return None
        found = []
        for i, n in zip(key, self.shape):
            if not isinstance(i, (int, np.integer)):
                return None
            if not -n <= i < n:
                raise IndexError(f"index ({i}) out of range")
            found.append(int(i) % n)
        return found[0], found[1]

    def _grid(self, key: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows and the columns of all elements at an index."""
        if sp.issparse(key) or (isinstance(key, np.ndarray) and key.dtype == bool and key.ndim > 1):
            return key.nonzero()
        pair = key if isinstance(key, tuple) else (key,)
        pair = (*pair, *[slice(None)] * (2 - len(pair)))
        parts = [np.arange(n)[i] for i, n in zip(pair, self.shape)]
        if any(isinstance(i, slice) for i in pair):
            rows, columns = np.meshgrid(*map(np.atleast_1d, parts), indexing="ij")
            return rows, columns
        rows, columns = np.broadcast_arrays(*parts)
        return rows, columns

    def _put(self, rows: np.ndarray, columns: np.ndarray, new: Any) -> None:
        """Write new values at some places, of which the last one counts."""
        old, pattern = self.canonical.parts
        keys = rows.astype(np.int64) * self.shape[1] + columns
        last = keys.shape[0] - 1 - np.unique(keys[::-1], return_index=True)[1]
        keys, new = keys[last], np.take(new, last)
        before = places.keys_of(pattern)
        kept = np.flatnonzero(~np.isin(before, keys))
        if not isinstance(new, Tensor) or old.dtype.kind in "fc":
            new = np.astype(new, np.result_type(old.dtype, new.dtype), copy=False)
        values = np.concatenate([np.take(old, kept), new])
        if self.dtype.kind in "fc" and values.dtype.kind == "c" != self.dtype.kind:
            raise TypeError("a complex number cannot be written to a real matrix")
        found = places.collected(
            values, np.concatenate([before[kept], keys]), self.shape, self.is_array
        )
        stored = self._pattern.format
        made = type(self)(*found)
        self._values, self._pattern = made.asformat(stored).parts

    def _settle(self) -> None:
        written, self._written = self._written, {}
        rows, columns = np.array(list(written)).T
        self._put(rows, columns, fnp.stack([fnp.asarray(v) for v in written.values()]))
