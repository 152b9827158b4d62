"""Elements that a mask selects where it differs from example to example.

NOTE [a selection is the whole array]
    Each example selects another number of elements, so no array has them all. ``x[mask]`` is
    then the whole array with its mask, of which two uses have a meaning: operations element by
    element, and being written to the same mask, as ``x[mask] *= 2`` does. The elements that are
    not selected are those of the first that is, so that no operation meets a value that the
    function would not have met.
"""

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from .._core.errors import DataDependentError
from .._core.methods import BINARY, UNARY
from .._core.numpy_facts import UFUNC_OF, shape_of
from .._core.tensor import Tensor
from .._core.types import Index, Value

ADVICE = (  # see `_rules.indexing`, which raises the same
    "a boolean mask that differs from example to example selects another number of elements in "
    "each; write numpy.sum(x, where=mask) for a sum, and numpy.where(mask, x, y) to keep all "
    "elements"
)


def mask_of(index: Index) -> Any:
    """Return the mask that an index is, where it is a tensor of a level; else None."""
    if type(index) is tuple:
        if len(index) != 1:
            return None
        (index,) = index
    if isinstance(index, Tensor) and index.level.depth and index.dtype.kind == "b":
        return index
    return None


def spread(mask: Any, ndim: int) -> Any:
    """Return `mask`, of the first axes of an array, with axes for the others."""
    return np.reshape(mask, mask.shape + (1,) * (ndim - mask.ndim))


def check_written(mask: Any, ndim: int, value: Value) -> Value:
    """Return a value that may be written to all elements of a mask: it is the same for each."""
    shape, rest = shape_of(value), ndim - mask.ndim
    if len(shape) > rest:
        if len(shape) > rest + 1 or shape[0] != 1:
            raise DataDependentError(ADVICE)
        value = np.reshape(value, shape[1:])
    return value


class Selection:
    """``x[mask]`` for a mask of a batch; see NOTE [a selection is the whole array]."""

    __slots__ = ("level", "mask", "values")

    def __init__(self, values: Any, mask: Any, level: Any):
        self.values, self.mask, self.level = values, mask, level

    @classmethod
    def of(cls, x: Any, mask: Any, level: Any) -> "Selection":
        """Return the selection of some elements of the array `x`."""
        if x.shape[: mask.ndim] != mask.shape:
            raise IndexError(
                f"boolean index did not match indexed array: the mask has shape {mask.shape} and "
                f"the array {x.shape}"
            )
        rest = x.shape[mask.ndim :]
        rows = np.reshape(x, (-1, *rest))
        first = rows[np.argmax(np.reshape(mask, -1))] if rows.shape[0] else x
        first = np.where(np.any(mask), first, np.ones((), x.dtype))
        return cls(np.where(spread(mask, x.ndim), x, first), mask, level)

    def called(self, ufunc: np.ufunc, *inputs: Any) -> "Selection":
        """Return the selection of the results of a ufunc, element by element."""
        values = []
        for x in inputs:
            if type(x) is Selection:
                self.check_same(x.mask)
                x = x.values
            else:
                x = check_written(self.mask, self.values.ndim, x)
            values.append(x)
        return Selection(ufunc(*values), self.mask, self.level)

    def refusal(self) -> Exception:
        """Return the error for what has no meaning."""
        return self.level.refusal(DataDependentError, ADVICE)

    def check_same(self, mask: Any) -> None:
        """Raise where `mask` may be another one."""
        if mask is not self.mask and not _equal(mask, self.mask):
            raise self.refusal()

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method != "__call__" or kwargs or ufunc.signature or ufunc.nout != 1:
            raise self.refusal()
        return self.called(ufunc, *inputs)

    def __array_function__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise self.refusal()

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise self.refusal()

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise self.refusal()

    def _refuse(self, *args: Any) -> NoReturn:
        raise self.refusal()

    __len__ = __iter__ = __getitem__ = __setitem__ = __bool__ = __float__ = __int__ = __index__ = (
        _refuse
    )


def _equal(a: Any, b: Any) -> bool:
    """True where two masks are the same for all examples."""
    while isinstance(a, Tensor) and type(a) is type(b):
        a, b = a._value, b._value
    return isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and np.array_equal(a, b)


def _define(name: str, ufunc: Callable, several: bool) -> None:
    def direct(self: Selection, *others: Any) -> Selection:
        return self.called(ufunc, self, *others)  # type: ignore[arg-type]

    def reflected(self: Selection, other: Any) -> Selection:
        return self.called(ufunc, other, self)  # type: ignore[arg-type]

    setattr(Selection, f"__{name}__", direct)
    if several:
        setattr(Selection, f"__r{name}__", reflected)


for _func, _ufunc in UFUNC_OF.items():
    _name = _func.__name__.strip("_")
    _name = {"and_": "and", "or_": "or"}.get(_name, _name)
    if _name in BINARY or _name in UNARY:
        _define(_name, _ufunc, _name in BINARY)
