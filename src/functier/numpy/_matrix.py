"""The twins of `numpy.matrix` and of the functions that make one.

Over a tensor, a matrix has NumPy's own methods, which run on the twins.
"""

import functools
import types
from typing import Any

import numpy as np

from .._core.ambient import AMBIENT
from .._core.tensor import Tensor
from .._cpython.functions import copy_function
from ._namespaces import TWINS, twin_of
from ._probes import KINDS
from ._subclasses import Instance

original = np.matrix


class MatrixMeta(type):
    """The class of the twin of `numpy.matrix`.

    It is that class for all but calls: `isinstance` holds for its instances, also for those over
    tensors.
    """

    def __new__(
        meta, name: str, bases: tuple[type, ...], names: dict[str, Any], **options: Any
    ) -> Any:
        if bases[0] is original:  # the twin itself
            return super().__new__(meta, name, bases, names)
        bases = tuple([original if isinstance(base, meta) else base for base in bases])
        return types.new_class(name, bases, options, lambda made: made.update(names))

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, original)

    def __subclasscheck__(cls, other: type) -> bool:
        return issubclass(other, original)

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is original

    def __hash__(cls) -> int:
        return hash(original)

    def __call__(cls, data: Any, dtype: Any = None, copy: bool = True) -> Any:
        if AMBIENT.get() is Tensor:
            return original(data, dtype, copy)
        if isinstance(data, str):
            data = np.asarray(original(data))
        elif isinstance(data, original) and not copy:
            if dtype is None or np.dtype(dtype) == data.dtype:
                return data
        given = _array(data, dtype=dtype) if copy else _asarray(data, dtype=dtype)
        if not isinstance(given, Tensor):
            return original(given, copy=False)
        if given.ndim > 2:
            raise ValueError("matrix must be 2-dimensional")
        return given.view(original)


matrix = MatrixMeta(
    "matrix",
    (original,),
    {"__doc__": original.__doc__, "__module__": "functier.numpy"},
)
_array, _asarray = twin_of(np.array, "array"), twin_of(np.asarray, "asarray")


def _bare(self: Any) -> Any:
    """Return the matrix as an array."""
    return self.view(np.ndarray)


def _flat(self: Any) -> Any:
    """Return the matrix as an array of one axis."""
    return _bare(self).ravel()


KINDS[original] = (
    twin_of,
    {
        "A": property(_bare),
        "A1": property(_flat),
        "getA": _bare,
        "getA1": _flat,
        "tolist": Instance.tolist,
    },
)


@functools.wraps(np.asmatrix)
def asmatrix(data: Any, dtype: Any = None) -> Any:
    return matrix(data, dtype, False)


TWINS[id(original)] = matrix
TWINS[id(np.asmatrix)] = asmatrix
_bmat: Any = np.bmat
TWINS[id(_bmat)] = copy_function(_bmat, twin_of)
