"""Elements that a mask selects where it differs from example to example.

NOTE [a selection is the whole array]
    Each example selects another number of elements, so no array has them all. ``x[mask]`` is
    then the whole array with its mask, of which three uses have a meaning: operations element by
    element, reductions over all of them, and being written to the same mask, as ``x[mask] *= 2``
    does. The elements that are
    not selected are those of the first that is, so that no operation meets a value that the
    function would not have met.
"""

from collections.abc import Callable
from operator import getitem
from typing import Any, NamedTuple, NoReturn

import numpy as np

from .._core.errors import DataDependentError
from .._core.numpy_facts import BASIC_PARTS, Index, Value, shape_of
from .._core.numpy_private import NO_VALUE
from .._core.tensor import Tensor
from .reductions import ELEMENTWISE, reduce_values

ADVICE = (  # see `_rules.indexing`, which raises the same
    "a boolean mask that differs from example to example selects a different number of elements "
    "in each; write numpy.sum(x, where=mask) for a sum, and numpy.where(mask, x, y) to keep all "
    "elements"
)


class Choice(NamedTuple):
    """An index that holds one mask of a level: ``x[basic]`` has the mask's axes from `place` on.

    `first` is true where NumPy's result has the selected elements along its first axis.
    """

    mask: Any
    basic: tuple
    place: int
    first: bool

    def shown(self, x: Any) -> Any:
        """Return the part of `x` that the mask chooses from, with the mask's axes in front."""
        part = x[self.basic] if self.basic else x
        if not self.place:
            return part
        axes = range(self.mask.ndim)
        return np.moveaxis(part, [self.place + axis for axis in axes], [*axes])


def has_mask(index: Index) -> bool:
    """True for an index that holds a mask of a level."""
    for part in index if type(index) is tuple else (index,):
        if isinstance(part, Tensor) and part.dtype.kind == "b" and part.level.depth:
            return True
    return False


def choice_of(index: Index, ndim: int) -> Choice | None:
    """Return the choice that an index of an array of `ndim` axes makes; None without a mask."""
    parts = index if type(index) is tuple else (index,)
    places = [
        i for i, p in enumerate(parts)
        if isinstance(p, Tensor) and p.level.depth and p.dtype.kind == "b"
    ]  # fmt: skip
    if len(places) != 1:
        return None
    (at,) = places
    mask = parts[at]
    if len(parts) == 1:
        return Choice(mask, (), 0, True)
    others = (*parts[:at], *parts[at + 1 :])
    if any(type(p) not in BASIC_PARTS and not isinstance(p, np.integer) for p in others):
        return None
    ints = [i for i, p in enumerate(parts) if type(p) is int or isinstance(p, np.integer)]
    consumed = len(ints) + sum(type(p) is slice for p in others) + mask.ndim
    place = 0
    for p in parts[:at]:
        if p is ...:
            place += ndim - consumed
        elif p is None or type(p) is slice:
            place += 1
    advanced = [*ints, at]
    apart = max(advanced) - min(advanced) >= len(advanced)
    basic = (*parts[:at], *(slice(None),) * mask.ndim, *parts[at + 1 :])
    return Choice(mask, basic, place, apart or not place)


def spread(mask: Any, ndim: int) -> Any:
    """Return `mask`, of the first axes of an array, with axes for the others."""
    return np.reshape(mask, mask.shape + (1,) * (ndim - mask.ndim))


def check_written(mask: Any, ndim: int, value: Value, first: bool = True) -> Value:
    """Return a value that may be written to all elements of a mask: it is the same for each."""
    shape, rest = shape_of(value), ndim - mask.ndim
    if len(shape) > rest or (shape and not first):
        if len(shape) > rest + 1 or shape[0] != 1 or not first:
            refuse(mask)
        value = np.reshape(value, shape[1:])
    return value


def refuse(mask: Any) -> NoReturn:
    """Raise the error for what examples that differ in their masks cannot do together."""
    level: Any = type(mask).level
    level.run_apart(mask, bool, level.refusal(DataDependentError, ADVICE))
    raise AssertionError  # it has raised


class Selection(np.lib.mixins.NDArrayOperatorsMixin):
    """``x[mask]`` for a mask of a batch; see NOTE [a selection is the whole array]."""

    def __init__(self, values: Any, mask: Any, first: bool = True):
        self.values, self.mask, self.first = values, mask, first

    @classmethod
    def of(cls, x: Any, choice: Choice, mask: Any) -> "Selection":
        """Return the selection of some elements of the array `x`, in which `choice` shows all.

        `mask` is its mask, to which nobody writes.
        """
        if x.shape[: mask.ndim] != mask.shape:
            raise IndexError(
                f"boolean index did not match indexed array: the mask has shape {mask.shape} and "
                f"the array {x.shape}"
            )
        rows = np.reshape(x, (-1, *x.shape[mask.ndim :]))
        if rows.shape[0]:
            chosen: Any = np.argmax(np.reshape(mask, -1))
            first = type(chosen).level.function(getitem, (rows, chosen), {})
        else:
            first = x
        first = np.where(np.any(mask), first, np.ones((), x.dtype))
        return cls(np.where(spread(mask, x.ndim), x, first), mask, choice.first)

    def called(self, func: Callable, *inputs: Any, **options: Any) -> "Selection":
        """Return the selection of the results of a function of each element."""
        if isinstance(func, np.ufunc) and (func.signature or func.nout != 1):
            raise self.refusal()
        if any([isinstance(v, (Tensor, np.ndarray, Selection)) for v in options.values()]):
            raise self.refusal()
        values = []
        for x in inputs:
            if type(x) is Selection:
                self.check_same(x.mask)
                x = x.values
            elif not isinstance(x, (np.dtype, type)):
                x = check_written(self.mask, self.values.ndim, x, self.first)
            values.append(x)
        return Selection(func(*values, **options), self.mask, self.first)

    def refusal(self) -> Exception:
        """Return the error for what has no meaning; a level may run its examples apart instead."""
        return refuse(self.mask)

    def check_same(self, mask: Any) -> None:
        """Raise where `mask` may be another one."""
        if mask is not self.mask and not _equal(mask, self.mask):
            raise self.refusal()

    def __getitem__(self, index: Index) -> "Selection":
        """Return the selection of parts of the elements: the first part is a full slice.

        A selection of truth values selects among the elements.
        """
        if type(index) is Selection and index.values.dtype.kind == "b":
            self.check_same(index.mask)
            if index.values.ndim != self.mask.ndim:
                raise self.refusal()
            return Selection(self.values, np.logical_and(self.mask, index.values), self.first)
        parts = index if type(index) is tuple else (index,)
        if parts[0] != slice(None) or not self.first or ... in parts:
            raise self.refusal()
        if any(type(p) not in BASIC_PARTS for p in parts):
            raise self.refusal()
        whole = (slice(None),) * self.mask.ndim
        return Selection(self.values[(*whole, *parts[1:])], self.mask)

    def reshaped(self, mask: Any) -> "Selection":
        """Return the selection for a mask of another shape, of as many elements."""
        rest = self.values.shape[self.mask.ndim :]
        return Selection(np.reshape(self.values, (*mask.shape, *rest)), mask)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method == "reduce":
            return self.reduced(getattr(ufunc, method), *inputs, **{"axis": 0, **kwargs})
        (out,) = kwargs.pop("out", (None,))
        if method != "__call__" or kwargs or type(out) not in (Selection, type(None)):
            raise self.refusal()
        made = self.called(ufunc, *inputs)
        if out is None:
            return made
        own, dtype = out.values.dtype, made.values.dtype
        if not np.can_cast(dtype, own, "same_kind"):
            raise TypeError(
                f"Cannot cast ufunc {ufunc.__name__!r} output from {dtype!r} to {own!r} with "
                f"casting rule 'same_kind'"
            )
        out.values = np.astype(made.values, own)  # as an array, it is seen by all its names
        return out

    def __array_function__(self, func: Callable, types: Any, args: tuple, kwargs: dict) -> Any:
        if func in ELEMENTWISE and not (func is np.where and len(args) != 3):
            return self.called(func, *args, **kwargs)
        if func is np.size and len(args) == 1:
            return self.size
        if func is np.ndim:
            return self.ndim
        return self.reduced(func, *args, **kwargs)

    def reduced(self, func: Callable, x: Any, *args: Any, **options: Any) -> Any:
        """Return a reduction over the selected elements."""
        if x is not self or len(args) > 1 or not self.first:
            raise self.refusal()
        axis = args[0] if args else options.pop("axis", None)
        options = {key: v for key, v in options.items() if v is not None and v is not NO_VALUE}
        if axis not in (None, 0) or not options.keys() <= {"ddof", "dtype", "correction"}:
            raise self.refusal()
        result = reduce_values(func, self.values, self.mask, axis, options)
        if result is None:
            raise self.refusal()
        return result

    @property
    def dtype(self) -> np.dtype:
        return self.values.dtype

    @property
    def ndim(self) -> int:
        return 1 + self.values.ndim - self.mask.ndim

    @property
    def size(self) -> Any:
        """The number of elements of each example."""
        rest = self.values.shape[self.mask.ndim :]
        return np.sum(self.mask) * int(np.prod(rest, dtype=int))

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise self.refusal()

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise self.refusal()

    def _refuse(self, *args: Any) -> NoReturn:
        raise self.refusal()

    __divmod__ = __rdivmod__ = _refuse  # type: ignore[assignment]
    __len__ = __iter__ = __bool__ = __float__ = __int__ = __index__ = __setitem__ = _refuse


def _equal(a: Any, b: Any) -> bool:
    """True where two masks are the same for all examples."""
    while isinstance(a, Tensor) and type(a) is type(b):
        a, b = a._value, b._value
    known = isinstance(a, np.ndarray) and isinstance(b, np.ndarray)
    return a is b or (known and np.array_equal(a, b))


def _define_method(name: str, func: Any) -> None:
    def method(self: Selection, *args: Any, **kwargs: Any) -> Any:
        return self.__array_function__(func, (), (self, *args), kwargs)

    setattr(Selection, name, method)


for _name, _func in {
    "sum": np.sum, "prod": np.prod, "mean": np.mean, "var": np.var, "std": np.std, "max": np.max,
    "min": np.min, "any": np.any, "all": np.all, "clip": np.clip, "round": np.round,
    "copy": np.copy, "astype": np.astype,
}.items():  # fmt: skip
    _define_method(_name, _func)
