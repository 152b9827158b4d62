"""A sparse matrix inside a level: plain places, and values that may be tensors.

NOTE [numbers for values]
    What SciPy does to the places of a matrix (slices, formats, blocks) does not depend on the
    values. So it is done to a plain matrix that has their numbers, from 1 on, for values. The
    numbers in the result say which value is at which place; 0 is a place without a value.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp  # type: ignore[import-untyped]

from .. import numpy as fnp
from .._core.agreement import agreed
from .._core.ambient import AMBIENT
from .._core.errors import UnsupportedError
from .._core.foreign_operators import array_for_operator
from .._core.tensor import Tensor
from .._cpython.collector import COUNTS, count_references
from .._mutation.array import Array
from ..numpy._subclasses import tensor_of
from ._problems import has_tensor
from ._rules.sparse.products import COMPRESSED, Pattern, multiply, pattern_of, summing


def numbered(pattern: Pattern, start: int = 0) -> Any:
    """Return SciPy's matrix of the numbers of the values, each larger by `start`."""
    return pattern.fill(np.arange(start + 1, start + 1 + pattern.size))


def chosen(values: Any, numbers: np.ndarray) -> Any:
    """Return the values of these numbers, all of which are places with a value."""
    size = np.shape(values)[0]
    if numbers.shape[0] == size and np.array_equal(numbers, np.arange(1, size + 1)):
        return values
    return np.take(values, numbers - 1)


def dense(values: Any, numbers: np.ndarray) -> Any:
    """Return an array of values, with 0 where the number is 0."""
    nothing = np.zeros(1, values.dtype)
    return np.take(np.concatenate([nothing, values]), numbers)


def found_at(values: Any, found: Any) -> tuple[Any, Pattern]:
    """Return values and pattern of a sparse matrix of numbers."""
    if found.format not in (*COMPRESSED, "coo"):
        found = found.tocsr()
    if not np.all(found.data):  # a block has places without a value
        found = found.copy()
        found.eliminate_zeros()
    return chosen(values, found.data), Pattern(found)


def keys_of(pattern: Pattern) -> np.ndarray:
    """Return the position of each value in the dense matrix as one row."""
    row, col = pattern.places
    return row.astype(np.int64) * pattern.shape[1] + col


def has_repeats(pattern: Pattern) -> bool:
    if pattern.format != "coo":
        return not pattern.template.has_canonical_format
    return np.unique(keys_of(pattern)).shape[0] < pattern.size


def from_keys(keys: np.ndarray, shape: tuple[int, int], is_array: bool) -> Pattern:
    """Return the pattern of values in the order of their positions, in the format csr."""
    make = sp.csr_array if is_array else sp.csr_matrix
    rows, columns = np.divmod(keys, max(shape[1], 1))
    ends = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=shape[0]))])
    return Pattern(make((np.ones(keys.shape[0], np.int8), columns, ends), shape=shape))


def added(values: Any, places: np.ndarray, size: int) -> Any:
    """Return the sums of the values at each place."""
    if values.dtype.kind == "b":
        return added(np.astype(values, int), places, size) > 0
    ones = np.ones(places.shape[0], bool)
    total = multiply(ones, values, summing(places, size))
    return np.astype(total, values.dtype, copy=False)


def collected(values: Any, keys: np.ndarray, shape: Any, is_array: bool) -> tuple[Any, Pattern]:
    """Return a matrix of values at positions, where those at one position add up."""
    places, index = np.unique(keys, return_inverse=True)
    if places.shape[0] == keys.shape[0]:
        values = np.take(values, np.argsort(keys, kind="stable"))
    else:
        values = added(values, index, places.shape[0])
    return values, from_keys(places, shape, is_array)


def canonical(values: Any, pattern: Pattern) -> tuple[Any, Pattern]:
    """Return a matrix with one value for each place."""
    if not has_repeats(pattern):
        return values, pattern
    is_array = isinstance(pattern.template, sp.sparray)
    return collected(values, keys_of(pattern), pattern.shape, is_array)


def product(a: tuple[Any, Pattern], b: tuple[Any, Pattern], is_array: bool) -> tuple[Any, Pattern]:
    """Return the product of two sparse matrices.

    It is the sum of the products of each value of the first one with the values of a row of the
    second one.
    """
    (x, of_x), (y, of_y) = a, canonical(*b)
    row, col = of_x.places
    by_row = numbered(of_y).tocsr() if of_y.format != "csr" else numbered(of_y)
    counts = np.diff(by_row.indptr)[col]
    first = np.repeat(np.arange(row.shape[0]), counts)
    starts = np.repeat(by_row.indptr[col] - np.cumsum(counts) + counts, counts)
    second = starts + np.arange(starts.shape[0])
    shape = of_x.shape[0], of_y.shape[1]
    keys = row[first].astype(np.int64) * shape[1] + by_row.indices[second]
    terms = np.take(x, first) * np.take(y, by_row.data[second] - 1)
    return collected(terms, keys, shape, is_array)


def kronecker(
    a: tuple[Any, Pattern], b: tuple[Any, Pattern], is_array: bool
) -> tuple[Any, Pattern]:
    """Return the Kronecker product of two sparse matrices."""
    (x, of_x), (y, of_y) = a, b
    (row, col), (row_of_y, col_of_y) = of_x.places, of_y.places
    (m, n), (p, q) = of_x.shape, of_y.shape
    rows = row.astype(np.int64)[:, None] * p + row_of_y
    columns = col.astype(np.int64)[:, None] * q + col_of_y
    keys = np.ravel(rows * (n * q) + columns)
    return collected(np.ravel(x[:, None] * y), keys, (m * p, n * q), is_array)


IN_PLACE = {"resize", "set_shape", "update", "setdefault", "pop", "popitem", "clear"}
"""Methods of SciPy's matrices that have no effect on a copy."""


def references(matrix: Any) -> float:
    """Return the number of references to the values of a matrix, and to what these are a view of.

    It is infinite where that cannot be seen.
    """
    base = matrix._given.base
    if not COUNTS or (base is not None and (type(base) is not np.ndarray or base.base is not None)):
        return np.inf
    return count_references(matrix._given) + (0 if base is None else count_references(base))


@functools.cache
def references_of_one(is_view: bool) -> float:
    """Return the number of references to values that a matrix alone has."""
    made = type("Alone", (), {})()
    made._given = np.ones(1)[:] if is_view else np.ones(1)
    made._values = made._given
    return references(made)


class Parts:
    """A sparse matrix of SciPy's format `format`, over values that may be tensors.

    The values are an array of one axis, in the order of `pattern`, whose format is csr, csc or
    coo; matrices of the other formats are held as csr. It is a matrix or an array as the
    template of the pattern is. Code knows it by the twins of SciPy's classes.
    """

    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]
    ndim = 2

    def __init__(self, values: Any, pattern: Pattern, format: str | None = None):
        self._values, self._pattern = values, pattern
        self._written: dict[tuple[int, int], Any] = {}
        self.format = format or pattern.format
        self._given: Any = None  # the caller's plain array that SciPy's matrix would share
        self._source: Any = None  # SciPy's matrix of a format that values are no part of

    # ---- the parts ----

    @property
    def parts(self) -> tuple[Any, Pattern]:
        """Values and pattern, once what was written element by element has its place."""
        if self._source is not None:  # whose data the caller may have written to
            self._values, self._pattern = pattern_of(self._source)
        if self._written:
            self._settle()
        return self._values, self._pattern

    def lend(self) -> None:
        """Note that the values are an array of the caller's, which this matrix alone refers to."""
        self._given = self._values if self._source is None else self._source.data
        self._pattern = Pattern(self._pattern.fill(np.ones(self._pattern.size, np.int8)))

    def is_lent(self) -> bool:
        """Return whether the values are an array that somebody else has, too."""
        given = self._source.data if self._source is not None else self._values
        if self._given is not given:
            return False
        del given
        return references(self) > references_of_one(self._given.base is not None)

    @property
    def values(self) -> Any:
        return self.parts[0]

    @property
    def pattern(self) -> Pattern:
        return self.parts[1]

    @property
    def is_array(self) -> bool:
        """True for ``csr_array`` and its kin, false for ``csr_matrix``."""
        return isinstance(self._pattern.template, sp.sparray)

    @property
    def original(self) -> type:
        """SciPy's class of such matrices."""
        return getattr(sp, f"{self.format}_{'array' if self.is_array else 'matrix'}")

    @property
    def plain(self) -> Any:
        """SciPy's matrix; None where the values are tensors of a level."""
        values, pattern = self.parts
        if has_tensor(values):
            if type(values) is not Array or values.level.answers_operators(values):
                return None
            values = np.asarray(values)
        return pattern.fill(values).asformat(self.format)

    @property
    def shape(self) -> tuple[int, int]:
        return self._pattern.shape

    @property
    def dtype(self) -> np.dtype:
        return self.values.dtype

    @property
    def nnz(self) -> int:
        return self.pattern.size

    @property
    def size(self) -> int:
        return self.pattern.size

    def getformat(self) -> str:
        return self.format

    def get_shape(self) -> tuple[int, int]:
        return self.shape

    def getnnz(self, axis: int | None = None) -> Any:
        return numbered(self.canonical.pattern).getnnz(axis)

    @property
    def canonical(self) -> Any:
        """The same matrix with one value for each place."""
        values, pattern = canonical(*self.parts)
        return self if pattern is self._pattern else type(self)(values, pattern, self.format)

    def numbers(self, start: int = 0) -> Any:
        """Return a matrix of its format of numbers: see NOTE [numbers for values]."""
        found = numbered(self.pattern, start)
        return found if found.format == self.format else found.asformat(self.format)

    def moved(self, move: Callable[[Any], Any]) -> Any:
        """Return what SciPy makes of the places: a matrix, an array or an element."""
        own = self.canonical
        found = move(own.numbers())
        if sp.issparse(found):
            if found.ndim != 2:
                raise self.unsupported(
                    f"a sparse array of {found.ndim} axes",
                    "A[[i], :] for a row, and A[:, [j]] for a column",
                )
            return type(self)(*found_at(own.values, found), found.format)
        if not np.ndim(found):
            return own.values[int(found) - 1] if found else own.dtype.type(0)
        made = dense(own.values, np.asarray(found))
        return fnp.asmatrix(made) if isinstance(found, np.matrix) else made

    def over(self, values: Any) -> Any:
        """Return a matrix with other values at the same places."""
        return type(self)(values, self.pattern, self.format)

    def __getattr__(self, name: str) -> Any:
        if name[:2] == "__" or name in vars(type(self)):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        value = getattr(self.original, name, None)
        if name in IN_PLACE and value is not None:
            raise self.unsupported(f"{name} (a change in place)", "a new matrix of A.tocoo()")
        plain = self.plain
        if plain is not None:
            return getattr(plain, name)
        if value is not None or hasattr(numbered(self.pattern), name):
            instead = f"A.toarray() and NumPy, for A.{name}"
            raise self.unsupported(f"the attribute {name!r}", instead, AttributeError)
        raise AttributeError(f"{self.original.__name__!r} object has no attribute {name!r}")

    def unsupported(self, what: str, instead: str, kind: Any = UnsupportedError) -> Exception:
        return kind(
            f"scipy.sparse.{self.original.__name__}: {what} is not supported for a matrix whose "
            f"values are tensors; write {instead}"
        )

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        asked = array_for_operator()
        if asked is None:
            raise TypeError(
                "numpy.asarray of a sparse matrix inside a transform would be an array of one "
                "object; write A.toarray()"
            )
        return asked

    # ---- what the places have ----

    def _raw(self, name: str) -> np.ndarray:
        found = self.pattern.template if self.format == self.pattern.format else self.numbers()
        return getattr(found, name)

    indices = property(lambda self: self._raw("indices"))
    indptr = property(lambda self: self._raw("indptr"))
    row = property(lambda self: self._raw("row"))
    col = property(lambda self: self._raw("col"))
    coords = property(lambda self: self._raw("coords"))
    offsets = property(lambda self: self._raw("offsets"))
    blocksize = property(lambda self: self._raw("blocksize"))

    @property
    def data(self) -> Any:
        """The stored values as SciPy has them in this format."""
        lent = self.is_lent()
        values, pattern = self.parts
        if self.format == pattern.format:
            if type(values) is np.ndarray and AMBIENT.get() is not Tensor and not lent:
                values = self._values = fnp.array(values)  # to which tensors can be written
            return values
        numbers = self.numbers()
        if self.format not in ("dia", "bsr"):
            raise self.unsupported("data", "A.tocsr().data")
        whole = dense(values, numbers.data)
        return np.broadcast_to(whole, whole.shape)  # to which nothing can be written in vain

    @data.setter
    def data(self, data: Any) -> None:
        if self.format != self.pattern.format:
            raise self.unsupported("writing data", "A.tocsr()")
        data = fnp.asarray(data)
        if np.shape(data) != (self.nnz,):
            raise ValueError(f"data has the shape {np.shape(data)}, but {(self.nnz,)} is needed")
        self._values = data

    # ---- formats ----

    def asformat(self, format: str | None, copy: bool = False) -> Any:
        if format is None or format == self.format:
            return self.copy() if copy else self
        if format not in ("csr", "csc", "coo", "dia", "bsr", "lil", "dok"):
            raise ValueError(f"Format {format} is unknown.")
        stored = format if format in (*COMPRESSED, "coo") else "csr"
        made = self.moved(lambda a: a.asformat(stored)) if stored != self.pattern.format else self
        values, pattern = made.canonical.parts
        if values is self._values and (copy or format != "coo"):
            values = fnp.array(values)
        return type(self)(values, pattern, format)

    def tocsr(self, copy: bool = False) -> Any:
        return self.asformat("csr", copy)

    def tocsc(self, copy: bool = False) -> Any:
        return self.asformat("csc", copy)

    def tocoo(self, copy: bool = False) -> Any:
        return self.asformat("coo", copy)

    def todia(self, copy: bool = False) -> Any:
        return self.asformat("dia", copy)

    def tobsr(self, blocksize: Any = None, copy: bool = False) -> Any:
        if blocksize is not None:
            raise self.unsupported("a blocksize", "A.tobsr()")
        return self.asformat("bsr", copy)

    def tolil(self, copy: bool = False) -> Any:
        return self.asformat("lil", copy)

    def todok(self, copy: bool = False) -> Any:
        return self.asformat("dok", copy)

    def toarray(self, order: Any = None, out: Any = None) -> Any:
        if out is not None:
            raise self.unsupported("out", "A.toarray()")
        values, pattern = self.parts
        if values.dtype.kind == "b":
            return self.astype(int).toarray() > 0
        flat = multiply(np.ones(pattern.size, bool), values, pattern.elements)
        return np.reshape(np.astype(flat, values.dtype, copy=False), self.shape)

    def todense(self, order: Any = None, out: Any = None) -> Any:
        return self._container(self.toarray(order, out))

    def _container(self, x: Any) -> Any:
        """Return a dense result as SciPy does: of a matrix, a matrix."""
        return x if self.is_array else fnp.asmatrix(x)

    def copy(self) -> Any:
        return self.over(fnp.array(self.values))

    def astype(self, dtype: Any, casting: str = "unsafe", copy: bool = True) -> Any:
        return self.over(np.astype(self.values, np.dtype(dtype)))

    # ---- places ----

    def transpose(self, axes: Any = None, copy: bool = False) -> Any:
        if axes is not None and tuple(axes) != (1, 0):
            raise ValueError("Sparse matrices do not support an 'axes' parameter")
        values, pattern = self.parts
        format = {"csr": "csc", "csc": "csr"}.get(self.format, self.format)
        if self.format not in (*COMPRESSED, "coo"):
            return type(self)(values, pattern.transposed).asformat(format)
        return type(self)(values, pattern.transposed, format)

    T = property(transpose)

    def conj(self, copy: bool = True) -> Any:
        return self.over(np.conjugate(self.values)) if self.dtype.kind == "c" else self

    conjugate = conj

    def getH(self) -> Any:
        return self.transpose().conj()

    def diagonal(self, k: int = 0) -> Any:
        return self.moved(lambda a: a.diagonal(k))

    def trace(self, offset: int = 0) -> Any:
        return np.sum(self.diagonal(offset))

    def reshape(self, *shape: Any, order: str = "C", copy: bool = False) -> Any:
        return self.moved(lambda a: a.reshape(*shape, order=order))

    def getrow(self, i: int) -> Any:
        return self.moved(lambda a: a.tocsr()[[i], :])

    def getcol(self, j: int) -> Any:
        return self.moved(lambda a: a.tocsr()[:, [j]])

    def nonzero(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the places of all stored values."""
        return self.canonical.pattern.places

    def sum_duplicates(self) -> None:
        self._values, self._pattern = self.canonical.tocsr().asformat(self._pattern.format).parts

    def sort_indices(self) -> None:
        """Sort the values of each row, which a matrix over tensors may have in any order."""

    def eliminate_zeros(self) -> None:
        """Leave zeros out; of tensors keep all values, as their places cannot differ."""
        plain = self.plain
        if plain is not None and self._source is None and not self.is_lent():
            plain.eliminate_zeros()
            self._values, self._pattern = pattern_of(plain)

    prune = sort_indices


def is_plain_array(x: Any) -> bool:
    """Return whether `x` is an array of `functier.numpy` that has met no tensor."""
    return type(x) is Array and not x.level.answers_operators(x)


def plain_index(key: Any) -> Any:
    """Return an index with a plain array for each tensor whose examples all have the same."""
    if is_plain_array(key):
        return np.asarray(key)
    if type(key) in (tuple, list):
        return type(key)(map(plain_index, key))
    key = tensor_of(key)
    found = agreed(key) if isinstance(key, Tensor) else None
    return key if found is None else found


def is_sparse(x: Any) -> bool:
    return isinstance(x, Parts) or sp.issparse(x)


def is_scalar(x: Any) -> bool:
    return not is_sparse(x) and not isinstance(x, (list, tuple)) and np.ndim(x) == 0
