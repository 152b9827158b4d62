"""Sparse matrices inside a level from arrays, from their parts, and from each other."""

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp  # type: ignore[import-untyped]

from .. import numpy as fnp
from .._core.ambient import AMBIENT
from .._core.errors import UnsupportedError
from .._core.tensor import Tensor
from . import _sparse_parts as places
from ._problems import has_tensor
from ._sparse_parts import is_plain_array, is_sparse, plain_index
from ._sparse_tensor import SparseTensor, sparse


def is_outside(*values: Any) -> bool:
    """Return whether SciPy is to be called at once: outside of all levels, without a tensor."""
    return AMBIENT.get() is Tensor and not _has_own(values)


def _has_own(values: Any) -> bool:
    """Return whether there is a tensor among the values, or a matrix that meets tensors."""
    return any(
        _has_own(x) if type(x) in (list, tuple) else isinstance(x, SparseTensor) or has_tensor(x)
        for x in values
    )


def plain_of(x: Any) -> Any:
    """Return SciPy's matrix for one over plain values, also in lists; other objects as they are."""
    if isinstance(x, SparseTensor):
        plain = x.plain
        return x if plain is None else plain
    if is_plain_array(x):
        return np.asarray(x)
    if type(x) in (list, tuple):
        return type(x)(map(plain_of, x))
    return x


def has_tensors(*values: Any) -> bool:
    """Return whether there is a tensor among the values, or a matrix over one, also in lists."""
    for x in values:
        if isinstance(x, SparseTensor):
            if x.plain is None:
                return True
        elif type(x) in (list, tuple):
            if has_tensors(*x):
                return True
        elif has_tensor(x) and not is_plain_array(x):
            return True
    return False


def inside(x: Any) -> Any:
    """Return a sparse matrix that SciPy has made as one that meets tensors; see `make`."""
    if sp.issparse(x) and x.ndim == 2:
        return sparse(x)
    return tuple(map(inside, x)) if type(x) is tuple else x


def plainly(original: Callable, args: tuple, kwargs: dict) -> Any:
    """Call a function of SciPy that has met no tensor."""
    given = {name: plain_of(v) for name, v in kwargs.items()}
    return inside(original(*map(plain_of, args), **given))


# ---- classes ----


def make(original: Any, arg: Any, shape: Any = None, dtype: Any = None, **options: Any) -> Any:
    """Return an instance of SciPy's class `original`, or a matrix that meets tensors.

    Inside a level all are of the latter kind, as values may be written to them later.
    """
    if not has_tensors(arg):
        made = plainly(original, (arg,), {"shape": shape, "dtype": dtype, **options})
        if isinstance(arg, tuple) and isinstance(made, SparseTensor):
            if isinstance(arg[0], (np.ndarray, Tensor)) and not options.get("copy"):
                made.lend()
        return made
    refused = {k: v for k, v in options.items() if k not in ("copy",) and v is not None}
    if refused:
        raise UnsupportedError(
            f"scipy.sparse.{original.__name__}: {', '.join(refused)} beside tensors is not "
            f"supported; leave it out"
        )
    name = original.__name__
    format, is_array = name[:3], name.endswith("array")
    made = _from_parts(original, arg, shape) if isinstance(arg, tuple) else _whole(arg, is_array)
    if is_sparse(arg):
        made = _of_kind(made, is_array)
    if shape is not None and tuple(shape) != made.shape:
        raise ValueError(f"inconsistent shapes: {made.shape} and {tuple(shape)}")
    made = made.asformat(format)
    if options.get("copy") or not (is_sparse(arg) or isinstance(arg, tuple)):
        made = made.copy()  # else it shares the memory of `data`, as SciPy's does
    return made if dtype is None else made.astype(dtype)


def _whole(arg: Any, is_array: bool) -> SparseTensor:
    """Return the matrix of a dense array: each of its elements is a value."""
    if is_sparse(arg):
        return sparse(arg)
    x = fnp.asarray(arg)
    if x.ndim == 1 and not is_array:
        x = x[None]
    if x.ndim != 2:
        raise UnsupportedError(
            f"scipy.sparse: a sparse array of {x.ndim} axes is not supported for tensors; write "
            f"x[None] for x, and use A[0]"
        )
    keys = np.arange(x.size)
    return SparseTensor(np.ravel(x), places.from_keys(keys, x.shape, is_array))


def _of_kind(a: SparseTensor, is_array: bool) -> SparseTensor:
    """Return a matrix as an array, or the other way round."""
    if a.is_array == is_array:
        return a
    own = a.canonical.tocsr()
    found = places.numbered(own.pattern)
    found = (sp.csr_array if is_array else sp.csr_matrix)(found)
    return SparseTensor(*places.found_at(own.values, found))


def _from_parts(original: Any, arg: tuple, shape: Any) -> SparseTensor:
    """Return the matrix of ``(data, (row, col))``, ``(data, indices, indptr)`` or the like."""
    data, *rest = arg
    rest = [plain_index(part) for part in rest]
    if has_tensors(*rest):
        raise UnsupportedError(
            f"scipy.sparse.{original.__name__}: indices that are tensors of a level are not "
            f"supported where examples differ, as the places of values are the same for all; pass "
            f"indices that are the same for all examples"
        )
    values = fnp.asarray(data)
    rest = [_plain_indices(part) for part in rest]
    numbers = np.arange(1, values.size + 1).reshape(values.shape)
    if len(rest) == 1 and isinstance(rest[0], tuple):
        kind = sp.coo_array if original.__name__.endswith("array") else sp.coo_matrix
        found = kind((numbers, *rest), shape=shape)
    else:
        found = original((numbers, *rest), shape=shape)
    if np.ndim(found.shape) and len(found.shape) != 2:
        raise UnsupportedError(
            f"scipy.sparse.{original.__name__}: a sparse array of {len(found.shape)} axes is not "
            f"supported for tensors; write shape=(1, n)"
        )
    return SparseTensor(*places.found_at(np.ravel(values), found))


def _plain_indices(part: Any) -> Any:
    if isinstance(part, (tuple, list)) and len(part) and np.ndim(part[0]):
        return tuple(map(np.asarray, part))
    return np.asarray(part)


class Owner:
    """A plain matrix inside a level, of which a copy takes tensors, as in `make`."""

    def __init__(self, x: Any):
        self.x = x

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.x, name)

        def called(*args: Any, **kwargs: Any) -> Any:
            made = method(*args, **kwargs)
            return made if name == "dot" or made is self.x else inside(made)

        return called


class SparseMeta(type):
    """The class of the twins of SciPy's classes: `isinstance` holds for matrices over tensors.

    A twin does not inherit from its original, which asks its subclasses whether an object is one
    of theirs.
    """

    original: Any

    def __new__(
        meta, name: str, bases: tuple[type, ...], names: dict[str, Any], **options: Any
    ) -> Any:
        if "original" in names:  # a twin itself
            return super().__new__(meta, name, bases, names)
        bases = tuple([b.original if isinstance(b, SparseMeta) else b for b in bases])
        return type(bases[0])(name, bases, names, **options)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if is_outside(*args, *kwargs.values()):
            return cls.original(*args, **kwargs)
        return make(cls.original, *args, **kwargs)

    def __instancecheck__(cls, x: Any) -> bool:
        if isinstance(x, SparseTensor):
            return issubclass(x.original, cls.original)
        return isinstance(x, cls.original)

    def __subclasscheck__(cls, other: type) -> bool:
        return issubclass(other, cls.original)

    def __getattr__(cls, name: str) -> Any:
        return getattr(cls.original, name)

    def owner_of(cls, x: Any) -> "Owner":
        """Return what stands for a plain matrix where adopted code calls a method of it."""
        return Owner(x)

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is cls.original

    def __hash__(cls) -> int:
        return hash(cls.original)


def twin_class(original: Any) -> Any:
    """Return the twin of a class of sparse matrices."""
    names = {"original": original, "__doc__": original.__doc__, "__module__": "functier.scipy"}
    return SparseMeta(original.__name__, (), names)


# ---- functions of places ----


def _is_vector(diagonals: Any) -> bool:
    """Return whether `scipy.sparse.diags` gets one diagonal, and not a list of them."""
    return np.ndim(diagonals[0]) == 0 if len(diagonals) else False


def _vectors(diagonals: Any) -> list:
    """Return the diagonals that `scipy.sparse.diags` gets, each as a vector."""
    if _is_vector(diagonals):
        return [fnp.asarray(diagonals)]
    return [fnp.asarray(d) for d in diagonals]


def of_diagonals(original: Callable) -> Callable:
    """Return the twin of `diags`, whose arguments are vectors."""

    @functools.wraps(original)
    def twin(diagonals: Any, *args: Any, **kwargs: Any) -> Any:
        if is_outside(diagonals):
            return original(diagonals, *args, **kwargs)
        if not has_tensors(diagonals):
            return plainly(original, (diagonals, *args), kwargs)
        offsets = args[0] if args else kwargs.get("offsets", 0)
        if np.ndim(offsets) and _is_vector(diagonals):  # numbers, each for a whole diagonal
            diagonals = [np.reshape(fnp.asarray(d), 1) for d in diagonals]
        rows = _vectors(diagonals)
        dtype = args[3] if len(args) > 3 else kwargs.pop("dtype", None)
        ends = np.cumsum([0, *[d.size for d in rows]])
        numbers = [np.arange(a + 1, b + 1) for a, b in itertools.pairwise(ends)]
        given = numbers[0] if _is_vector(diagonals) else numbers
        found = original(given, *args[:3], **kwargs, dtype=np.int64)
        values = np.concatenate(rows)
        if dtype is not None or values.dtype.kind in "biu":
            values = np.astype(values, np.dtype(dtype or float))
        return SparseTensor(*places.found_at(values, found), found.format)

    return twin


@functools.wraps(sp.spdiags)
def spdiags(data: Any, diags: Any, m: Any = None, n: Any = None, format: Any = None) -> Any:
    if is_outside(data):
        return sp.spdiags(data, diags, m, n, format)
    if not has_tensors(data):
        return plainly(sp.spdiags, (data, diags, m, n, format), {})
    values = fnp.asarray(data)
    numbers = np.arange(1, values.size + 1).reshape(values.shape)
    found = sp.spdiags(numbers, diags, m, n, format)
    return SparseTensor(*places.found_at(np.ravel(values), found), found.format)


def of_blocks(original: Callable) -> Callable:
    """Return the twin of a function that puts matrices, or parts of one, at other places."""

    @functools.wraps(original)
    def twin(blocks: Any, *args: Any, **kwargs: Any) -> Any:
        if is_outside(blocks):
            return original(blocks, *args, **kwargs)
        if not has_tensors(blocks):
            return plainly(original, (blocks, *args), kwargs)
        dtype = kwargs.pop("dtype", None)
        pool: list[Any] = []

        def number(x: Any) -> Any:
            if x is None:
                return None
            if type(x) in (list, tuple) and has_blocks(x):
                return [number(v) for v in x]
            own = _whole(x, any_array).canonical
            start = sum(v.shape[0] for v in pool)
            pool.append(own.values)
            return own.numbers(start)

        any_array = has_arrays(blocks)
        if isinstance(blocks, np.ndarray) and blocks.dtype == object:
            blocks = blocks.tolist()
        found = original(number(blocks), *args, **kwargs)
        values = np.concatenate(pool)
        values = values if dtype is None else np.astype(values, np.dtype(dtype))
        return SparseTensor(*places.found_at(values, found), found.format)

    return twin


def has_blocks(x: Any) -> bool:
    """Return whether a list has matrices, and not numbers."""
    return any(
        has_blocks(v) if type(v) in (list, tuple) else v is None or is_sparse(v) or np.ndim(v)
        for v in x
    )


def has_arrays(x: Any) -> bool:
    """Return whether SciPy makes an array, and not a matrix, of some blocks."""
    if type(x) in (list, tuple):
        return any(map(has_arrays, x))
    return x.is_array if isinstance(x, SparseTensor) else isinstance(x, sp.sparray)


@functools.wraps(sp.kron)
def kron(A: Any, B: Any, format: Any = None) -> Any:
    if is_outside(A, B):
        return sp.kron(A, B, format)
    if not has_tensors(A, B):
        return plainly(sp.kron, (A, B, format), {})
    is_array = has_arrays((A, B))
    a, b = _whole(A, is_array), _whole(B, is_array)
    made = SparseTensor(*places.kronecker(a.parts, b.parts, is_array))
    return made.asformat(format)


@functools.wraps(sp.kronsum)
def kronsum(A: Any, B: Any, format: Any = None) -> Any:
    if is_outside(A, B):
        return sp.kronsum(A, B, format)
    if not has_tensors(A, B):
        return plainly(sp.kronsum, (A, B, format), {})
    is_array = has_arrays((A, B))
    a, b = _whole(A, is_array), _whole(B, is_array)
    for x in (a, b):
        if x.shape[0] != x.shape[1]:
            raise ValueError("A is not square" if x is a else "B is not square")
    eye = sp.eye_array if is_array else sp.eye
    made = kron(eye(b.shape[0]), a) + kron(b, eye(a.shape[0]))
    return made.asformat(format)


@functools.wraps(sp.find)
def find(A: Any) -> tuple:
    if not has_tensors(A):
        return sp.find(plain_of(A))
    own = _whole(A, True).canonical
    row, column, numbers = sp.find(own.numbers())
    return row, column, places.chosen(own.values, numbers)


def issparse(x: Any) -> bool:
    return isinstance(x, SparseTensor) or sp.issparse(x)


def is_matrix_of(original: Callable, format: str | None = None) -> Callable:
    """Return the twin of `scipy.sparse.isspmatrix`, or of one for a format."""

    @functools.wraps(original)
    def twin(x: Any) -> bool:
        if not isinstance(x, SparseTensor):
            return original(x)
        return not x.is_array and format in (None, x.format)

    return twin


INSTEAD = (
    "write numpy or functier.scipy.linalg for A.toarray(), or pass functier.stop_gradient(A.data)"
)


def of_plain(original: Callable, instead: str = INSTEAD) -> Callable:
    """Return the twin of a function that takes no tensors."""

    @functools.wraps(original)
    def twin(*args: Any, **kwargs: Any) -> Any:
        if is_outside(*args, *kwargs.values()):
            return original(*args, **kwargs)
        if has_tensors(*args, *kwargs.values()):
            path = f"{original.__module__.partition('._')[0]}.{original.__name__}"
            raise UnsupportedError(f"{path} of tensors is not supported; {instead}")
        return plainly(original, args, kwargs)

    return twin
