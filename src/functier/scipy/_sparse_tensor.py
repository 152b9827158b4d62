"""The arithmetic and the elements of a sparse matrix inside a level."""

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp  # type: ignore[import-untyped]

from .. import numpy as fnp
from .._core.errors import UnsupportedError
from .._core.tensor import Tensor
from . import _sparse_parts as places
from ._problems import has_tensor
from ._rules.sparse.products import COMPRESSED, Pattern, multiply, pattern_of
from ._sparse_parts import Parts, is_scalar, is_sparse, plain_index

OPERATORS = {
    "matmul": operator.matmul, "multiply": operator.mul, "mul": operator.mul,
    "add": operator.add, "subtract": operator.sub, "sub": operator.sub,
    "divide": operator.truediv, "true_divide": operator.truediv, "truediv": operator.truediv,
}  # fmt: skip


def operate(func: Any, a: Any, b: Any) -> Any:
    """Compute an operator of a tensor and a sparse matrix."""
    known = OPERATORS.get(func.__name__)
    if known is None:
        return NotImplemented
    return known(*[sparse(v) if sp.issparse(v) else v for v in (a, b)])


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
        shared = self.format in COMPRESSED and self._writes_to_data()
        if place is not None and is_scalar(value) and not shared:
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

    def _writes_to_data(self) -> bool:
        """Return whether others see a write, as a tensor's views do, and the caller's array."""
        return isinstance(self._values, Tensor) or self.is_lent()

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
        shared = self.format in COMPRESSED and self._writes_to_data()
        if self._source is not None and self.is_lent():
            raise UnsupportedError(
                f"scipy.sparse.{self.original.__name__}: a write to a matrix would change the "
                f"plain array that it was made from; write A = A.copy() first"
            )
        old, pattern = self.canonical.parts
        self._source = None
        keys = rows.astype(np.int64) * self.shape[1] + columns
        last = keys.shape[0] - 1 - np.unique(keys[::-1], return_index=True)[1]
        keys, new = keys[last], np.take(new, last)
        before = places.keys_of(pattern)
        if shared and old is self._values:
            order, there = np.argsort(before), np.isin(keys, before)
            if there.any():  # SciPy writes these to its data, which others may have
                at = order[np.searchsorted(before, keys[there], sorter=order)]
                self._values[at] = new[there]
            if there.all():
                return
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


class SparseTensor(Elements):
    """A sparse matrix with the operators and methods of SciPy's."""

    # ---- sums ----

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        if out is not None:
            raise self.unsupported("out", "A.sum(axis)")
        values, pattern = self.parts
        if isinstance(axis, tuple):
            axis = None if len(axis) == 2 else axis[0]
        if axis is None:
            return np.sum(values, dtype=dtype)
        if axis not in (-2, -1, 0, 1):
            raise ValueError("axis out of range")
        axis %= 2
        summed = np.sum(np.zeros(1, values.dtype), dtype=dtype).dtype
        total = places.added(
            np.astype(values, summed, copy=False), pattern.places[1 - axis], self.shape[1 - axis]
        )
        return total if self.is_array else fnp.asmatrix(np.expand_dims(total, axis))

    def mean(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        count = self.shape[0] * self.shape[1] if axis is None else self.shape[axis]
        dtype = dtype or np.result_type(self.dtype, np.float64 if self.dtype.kind in "biu" else 0.0)
        return self.sum(axis, dtype, out) / count

    # ---- arithmetic ----

    def __matmul__(self, other: Any) -> Any:
        if is_scalar(other):
            raise ValueError("Scalar operands are not allowed, use '*' instead")
        return self._times(other)

    def __rmatmul__(self, other: Any) -> Any:
        if is_scalar(other):
            raise ValueError("Scalar operands are not allowed, use '*' instead")
        if not sp.issparse(other):
            other = fnp.asarray(other)
        found = self.transpose()._times(other.T)
        return found if found is NotImplemented else found.T

    def dot(self, other: Any) -> Any:
        return self * other if is_scalar(other) else self @ other

    def _times(self, other: Any) -> Any:
        """Return the product with a matrix, a vector or several."""
        values, pattern = self.parts
        if is_sparse(other):
            other = sparse(other)
            if self.shape[1] != other.shape[0]:
                raise ValueError(f"matmul: dimension mismatch, {self.shape} and {other.shape}")
            made = SparseTensor(*places.product(self.parts, other.parts, self.is_array))
            return made if self.format != "csc" else made.tocsc()
        other = fnp.asarray(other)
        if np.ndim(other) not in (1, 2):
            raise ValueError("could not interpret dimensions")
        if np.shape(other)[0] != self.shape[1]:
            raise ValueError(
                f"matmul: dimension mismatch, {self.shape} and {np.shape(other)}: the matrix has "
                f"{self.shape[1]} columns"
            )
        return multiply(values, other, pattern)

    def __mul__(self, other: Any) -> Any:
        return self.multiply(other) if self.is_array or is_scalar(other) else self._times(other)

    def __rmul__(self, other: Any) -> Any:
        if self.is_array or is_scalar(other):
            return self.multiply(other)
        return self.__rmatmul__(other)

    def multiply(self, other: Any) -> Any:
        """Multiply element by element."""
        if is_scalar(other):
            return self.over(self.values * other)
        if is_sparse(other):
            return self._multiply_sparse(sparse(other))
        other = fnp.asarray(other)
        if np.broadcast_shapes(np.shape(other), self.shape) != self.shape:
            raise self.unsupported("a product that is larger than the matrix", "A.toarray() * x")
        values, pattern = self.parts
        row, col = pattern.places
        factors = np.broadcast_to(other, self.shape)[row, col]
        return SparseTensor(values * factors, Pattern(pattern.template.tocoo()))

    def _multiply_sparse(self, other: "SparseTensor") -> "SparseTensor":
        if other.shape != self.shape:
            raise self.unsupported("a sparse factor of another shape", "A.multiply(B.toarray())")
        (x, of_x), (y, of_y) = self.canonical.parts, other.canonical.parts
        keys, i, j = np.intersect1d(
            places.keys_of(of_x), places.keys_of(of_y), assume_unique=True, return_indices=True
        )
        pattern = places.from_keys(keys, self.shape, self.is_array)
        made = SparseTensor(np.take(x, i) * np.take(y, j), pattern)
        return made if self.format != "csc" else made.tocsc()

    def __truediv__(self, other: Any) -> Any:
        if is_sparse(other):
            raise self.unsupported("a quotient of sparse matrices", "A.toarray() / B.toarray()")
        if is_scalar(other):
            return self.over(self.values / other)
        return self.multiply(1 / fnp.asarray(other))

    def __add__(self, other: Any) -> Any:
        if is_sparse(other):
            return self._plus(sparse(other), 1)
        if is_scalar(other):
            if not isinstance(other, Tensor) and other == 0:
                return self.copy()
            raise NotImplementedError(
                "adding a nonzero scalar to a sparse array is not supported; write A.toarray() + c"
            )
        return self._container(self.toarray() + other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._plus(sparse(other), -1) if is_sparse(other) else self + -1 * other

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def _plus(self, other: "SparseTensor", sign: int) -> "SparseTensor":
        if other.shape != self.shape:
            raise ValueError(f"inconsistent shapes, {self.shape} and {other.shape}")
        plain, others = self.plain, other.plain
        if plain is not None and others is not None:  # so SciPy leaves zeros out
            return sparse(plain + others if sign > 0 else plain - others)
        (x, of_x), (y, of_y) = self.parts, other.parts
        y = y if sign > 0 else -y
        first, second = places.keys_of(of_x), places.keys_of(of_y)
        if of_x.format == of_y.format == self.format and np.array_equal(first, second):
            return self.over(x + y)
        both, keys = np.concatenate([x, y]), np.concatenate([first, second])
        made = SparseTensor(*places.collected(both, keys, self.shape, self.is_array))
        kept = self.format in ("csr", "csc") or self.format == other.format == "dia"
        return made.asformat(self.format) if kept else made

    def __neg__(self) -> "SparseTensor":
        return self.over(-self.values)

    def __pos__(self) -> "SparseTensor":
        return self

    def __abs__(self) -> "SparseTensor":
        own = self.canonical
        return own.over(np.abs(own.values))

    def power(self, n: Any, dtype: Any = None) -> "SparseTensor":
        own = self.canonical
        if not is_scalar(n) or has_tensor(n) or n <= 0:
            raise self.unsupported("a power that is not a positive number", "A.toarray() ** n")
        values = own.values if dtype is None else np.astype(own.values, dtype)
        return own.over(values**n)

    def __pow__(self, n: Any) -> "SparseTensor":
        if self.is_array:
            return self.power(n)
        if has_tensor(n) or int(n) != n or n < 1:
            raise self.unsupported("this power", "a positive whole number")
        made = self
        for _ in range(int(n) - 1):
            made = made @ self
        return made

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(self.shape[0]))

    def __len__(self) -> int:
        raise TypeError("sparse array length is ambiguous; use getnnz() or shape[0]")

    def __bool__(self) -> bool:
        raise ValueError("The truth value of an array with more than one element is ambiguous.")

    def __repr__(self) -> str:
        return (
            f"<{self.original.__name__} over a tensor: {self.nnz} values of dtype {self.dtype} in "
            f"the shape {self.shape}>"
        )


def _comparing(name: str) -> Callable:
    """Return an operator that compares, of plain matrices only."""
    compare = getattr(operator, name)

    def method(self: SparseTensor, other: Any) -> Any:
        plain, others = self.plain, other.plain if isinstance(other, SparseTensor) else other
        if plain is None or others is None or has_tensor(others):
            raise self.unsupported("a comparison", "A.toarray()")
        return compare(plain, others)

    return method


def _elementwise(name: str) -> Callable:
    """Return a method that applies a function of NumPy with f(0) = 0 to all values."""
    func = getattr(np, name)

    def method(self: SparseTensor) -> SparseTensor:
        own = self.canonical
        return own.over(func(own.values))

    return method


for _name in ("lt", "le", "eq", "ne", "gt", "ge"):
    setattr(SparseTensor, f"__{_name}__", _comparing(_name))
for _name in (
    "sqrt", "sin", "tan", "arcsin", "arctan", "sinh", "arcsinh", "tanh", "arctanh", "expm1",
    "log1p", "sign", "rint", "floor", "ceil", "trunc", "deg2rad", "rad2deg",
):  # fmt: skip
    setattr(SparseTensor, _name, _elementwise(_name))


def _part(name: str) -> property:
    func = getattr(np, name)
    return property(lambda self: self.over(func(self.values)))


for _name in ("real", "imag"):
    setattr(SparseTensor, _name, _part(_name))


def sparse(x: Any) -> SparseTensor:
    """Return a sparse matrix of SciPy as one that meets tensors."""
    if isinstance(x, SparseTensor):
        return x
    if x.ndim != 2:
        raise UnsupportedError(
            f"scipy.sparse: an array of {x.ndim} axes beside tensors is not supported; write "
            f"A.reshape(1, -1), or A.toarray()"
        )
    made = SparseTensor(*pattern_of(x), x.format)
    made._source = x if x.format in ("dia", "bsr") else None
    return made
