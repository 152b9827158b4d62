"""Structured arrays whose fields are tensors: ``np.rec.fromarrays([x, y], names="x, y")``.

NOTE [fields are arrays]
    A structured array of NumPy has its fields in one memory, as plain numbers. Inside a level it
    is an object of this file, `Records`, with an array for each field. An index, or a method that
    reorders, does the same to all fields. What is not here raises.
"""

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .._core.adopted import ADOPTED
from .._core.ambient import AMBIENT
from .._core.errors import UnsupportedError
from .._core.root import classes_in
from .._core.tensor import Tensor
from ._functions import INSIDE, make_new_writable

ndarray, recarray = np.ndarray, np.recarray
_array, _zeros, _empty = INSIDE[np.array], INSIDE[np.zeros], INSIDE[np.empty]


def array(x: Any, dtype: Any = None) -> Any:
    """Return a new array, which can be written to."""
    return make_new_writable(_array(np.array, x, dtype), ())


class Records:
    """A structured array, or one element of it: see NOTE [fields are arrays]."""

    __slots__ = ("__weakref__", "functier_fields", "functier_kind")
    __hash__ = None  # type: ignore[assignment]
    functier_fields: dict[str, Any]
    functier_kind: type

    def __init__(self, fields: dict[str, Any], kind: type):
        object.__setattr__(self, "functier_fields", fields)
        object.__setattr__(self, "functier_kind", kind)

    __class__ = property(lambda self: self.functier_kind)  # type: ignore[assignment]

    # ---- its form ----

    @property
    def dtype(self) -> np.dtype:
        pairs = [(name, x.dtype) for name, x in self.functier_fields.items()]
        return np.dtype((np.record, pairs) if self.functier_kind is recarray else pairs)

    @property
    def shape(self) -> tuple[int, ...]:
        return next(iter(self.functier_fields.values())).shape

    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: int(np.prod(self.shape, dtype=int)))

    def __len__(self) -> int:
        return self.shape[0] if self.shape else len(self.functier_fields)

    def __iter__(self) -> Iterator:
        if not self.shape:
            return iter(self.functier_fields.values())
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"Records({self.functier_fields!r})"

    # ---- its parts ----

    def __getattr__(self, name: str) -> Any:
        if name in self.functier_fields and self.functier_kind is recarray:
            return self.functier_fields[name]
        if hasattr(self.functier_kind, name):
            raise UnsupportedError(
                f"a structured array of tensors has no {name}; write it for each field, x[name]"
            )
        raise AttributeError(f"recarray has no attribute {name}")

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.functier_fields or self.functier_kind is not recarray:
            raise AttributeError(f"a structured array of tensors has no field {name!r}")
        self.functier_fields[name][...] = value

    def __getitem__(self, index: Any) -> Any:
        fields = self.functier_fields
        if isinstance(index, str):
            if index not in fields:
                raise ValueError(f"no field of name {index}")
            return fields[index]
        if isinstance(index, list) and index and all(isinstance(name, str) for name in index):
            return Records({name: fields[name] for name in index}, self.functier_kind)
        if not self.shape and isinstance(index, (int, np.integer)):
            return list(fields.values())[index]
        return self._map(lambda x: x[index])

    def __setitem__(self, index: Any, value: Any) -> None:
        fields = self.functier_fields
        if isinstance(index, str):
            if index not in fields:
                raise ValueError(f"no field of name {index}")
            fields[index][...] = value
            return
        if isinstance(value, (ndarray, Records)) and value.dtype.names:
            parts = [value[name] for name in value.dtype.names]
        elif isinstance(value, tuple):
            parts = list(value)
        else:
            raise UnsupportedError(
                "a structured array of tensors takes a tuple of values for its fields, or a "
                "structured array; write x[name][index] = v for one field"
            )
        if len(parts) != len(fields):
            raise ValueError(f"{len(parts)} values for {len(fields)} fields")
        for x, part in zip(fields.values(), parts):
            x[index] = part

    def _map(self, func: Callable[[Any], Any]) -> Any:
        return Records({n: func(x) for n, x in self.functier_fields.items()}, self.functier_kind)

    def field(self, name: Any, value: Any = None) -> Any:
        """The field of a name or a number."""
        name = name if isinstance(name, str) else list(self.functier_fields)[name]
        if value is None:
            return self[name]
        self[name] = value
        return None

    def view(self, *args: Any) -> Any:
        """The same fields, of another class of structured arrays."""
        if args in ((recarray,), (ndarray,), ()):
            return Records(self.functier_fields, args[0] if args else self.functier_kind)
        raise UnsupportedError(
            "a structured array of tensors has no memory to view by another dtype; write "
            "numpy.stack([x[name] for name in x.dtype.names], axis=-1)"
        )

    def copy(self, order: str = "C") -> Any:
        return self._map(array)

    def ravel(self, order: str = "C") -> Any:
        return self._map(np.ravel)

    def flatten(self, order: str = "C") -> Any:
        return self._map(lambda x: np.ravel(array(x)))

    def argsort(self, axis: int = -1, kind: Any = None, order: Any = None, **options: Any) -> Any:
        """The places of the elements in the order of some fields, and then of the others."""
        if self.ndim != 1 or axis not in (-1, 0) or options:
            raise UnsupportedError("a structured array of tensors is sorted along its one axis")
        given = [order] if isinstance(order, str) else list(order or ())
        for name in given:
            if name not in self.functier_fields:
                raise ValueError(f"unknown field name: {name}")
        names = dict.fromkeys([*given, *self.functier_fields])
        return np.lexsort(tuple([self.functier_fields[name] for name in reversed(names)]))

    def sort(self, axis: int = -1, kind: Any = None, order: Any = None, **options: Any) -> None:
        places = self.argsort(axis, kind, order, **options)
        for name, x in self.functier_fields.items():
            self.functier_fields[name][...] = array(x[places])

    def item(self, *args: Any) -> tuple:
        one = self[args if len(args) > 1 else args[0]] if args else self
        return _numbers(one, ADOPTED.method_for_caller("item"))

    def tolist(self) -> Any:
        return _numbers(self, ADOPTED.method_for_caller("item"))

    # ---- NumPy's protocols ----

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        made = np.empty(self.shape, self.dtype)
        for name, x in self.functier_fields.items():
            made[name] = x
        return made if dtype is None else made.astype(dtype)

    __array_ufunc__ = None

    def __array_function__(self, func: Any, types: Any, args: tuple, kwargs: dict) -> Any:
        return _compute(func, args, kwargs)

    @classmethod
    def __tensor_function__(
        cls, func: Any, types: Any, args: tuple = (), kwargs: Any = None
    ) -> Any:
        return _compute(func, args, kwargs or {})

    def __eq__(self, other: object) -> Any:
        raise UnsupportedError(
            "structured arrays of tensors are not compared; write it for each field, x[name]"
        )


def _numbers(x: Records, item: Any) -> Any:
    """Return tuples of numbers, by the method of adopted code if that asks."""
    if x.shape:
        return [_numbers(v, item) for v in x]
    return tuple([item(v) if item else v.item() for v in x.functier_fields.values()])


def _compute(func: Any, args: tuple, kwargs: dict) -> Any:
    """Return what a function of NumPy gives for structured arrays."""
    x: Any = args[0] if args else None
    if func in FORMS:
        return FORMS[func](x)
    if func in SAME and isinstance(x, Records):
        return x if func is not np.array else x.copy()
    if func in METHODS and isinstance(x, Records):
        return getattr(x, METHODS[func])(*args[1:], **kwargs)
    if func is np.sort:
        x = x.copy()
        x.sort(*args[1:], **kwargs)
        return x
    if func in (np.concatenate, np.hstack) and not kwargs and len(args) == 1:
        names = x[0].dtype.names
        return Records({n: np.concatenate([part[n] for part in x]) for n in names}, _kind_of(x[0]))
    if func in (np.zeros_like, np.empty_like):
        return zeros(x.shape, x.dtype, x.functier_kind)
    raise UnsupportedError(
        f"numpy.{getattr(func, '__name__', func)} of a structured array of tensors; write it for "
        f"each field, x[name], or for numpy.stack([x[name] for name in x.dtype.names], axis=-1)"
    )


def _kind_of(x: Any) -> type:
    return recarray if isinstance(x, recarray) else ndarray


FORMS: dict[Any, Callable] = {
    np.shape: lambda x: x.shape,
    np.ndim: lambda x: x.ndim,
    np.size: lambda x: x.size,
}
SAME = {np.asarray, np.asanyarray, np.array, np.atleast_1d, np.ascontiguousarray}
METHODS = {np.argsort: "argsort", np.ravel: "ravel", np.copy: "copy"}


# ---- what makes one ----


def _is_structured(dtype: Any) -> bool:
    """Return whether a dtype has fields of numbers, each of one number."""
    found = np.dtype(dtype)
    if found.names is None:
        return False
    return all(found[name].kind in "biufc" and not found[name].shape for name in found.names)


def zeros(shape: Any, dtype: Any, kind: type) -> Any:
    """Return a structured array of zeros."""
    dtype = np.dtype(dtype)
    fields = {name: array(np.zeros(shape, dtype[name])) for name in dtype.names or ()}
    return Records(fields, kind)


def _of_columns(columns: list[Any], dtype: np.dtype, kind: type) -> Any:
    """Return the structured array with these fields."""
    names = dtype.names or ()
    if len(columns) != len(names):
        raise ValueError("mismatch between the number of fields and the number of arrays")
    if not _is_structured(dtype):
        raise UnsupportedError(
            f"a structured array of tensors has one number in each field, and not {dtype}; pass "
            f"the others as arrays by themselves"
        )
    given = [array(x, dtype[name]) for name, x in zip(names, columns)]
    for i, x in enumerate(given):
        if x.shape != given[0].shape:
            raise ValueError(f'array-shape mismatch in array {i} ("{names[i]}")')
    return Records(dict(zip(names, given)), kind)


def _of_tensors(func: Callable, rows: bool) -> Callable:
    """Return the twin of a function that makes record arrays of columns, or of `rows`."""

    @functools.wraps(func)
    def make(
        values: Any, dtype: Any = None, shape: Any = None, formats: Any = None, *rest: Any,
        **words: Any,
    ) -> Any:  # fmt: skip
        if AMBIENT.get() is Tensor or not classes_in(values) or shape is not None:
            return func(values, dtype, shape, formats, *rest, **words)
        columns = [array(list(c)) for c in zip(*values)] if rows else [array(c) for c in values]
        if dtype is None:
            formats = [x.dtype for x in columns] if formats is None else formats
            options = dict.fromkeys(("names", "titles")) | dict(zip(FORMATTING, rest)) | words
            dtype = np.rec.format_parser(formats, **options).dtype  # type: ignore[arg-type]
        return _of_columns(columns, np.dtype(dtype), recarray)

    return make


FORMATTING = "names", "titles", "aligned", "byteorder"
"""Parameters of functions that make record arrays, by their place."""

RECORD_TWINS = [
    (np.rec.fromarrays, _of_tensors(np.rec.fromarrays, False)),
    (np.rec.fromrecords, _of_tensors(np.rec.fromrecords, True)),
]


def _fill(func: Callable, shape: Any, dtype: Any = float, *args: Any, **kwargs: Any) -> Any:
    """`numpy.zeros` and `numpy.empty`: a structured array takes tensors, too."""
    if dtype is not float and _is_structured(dtype):
        return zeros(shape, dtype, ndarray)
    return (_zeros if func is np.zeros else _empty)(func, shape, dtype, *args, **kwargs)


def _convert(func: Callable, a: Any, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
    """`numpy.array`, of tuples with tensors a structured array."""
    if dtype is None or type(a) not in (list, tuple) or not _is_structured(dtype):
        return _array(func, a, dtype, *args, **kwargs)
    if not classes_in(a):
        return _array(func, a, dtype, *args, **kwargs)
    columns = list(a) if type(a) is tuple else [list(column) for column in zip(*a)]
    return _of_columns(columns, np.dtype(dtype), ndarray)


INSIDE[np.array] = _convert
INSIDE[np.zeros] = INSIDE[np.empty] = _fill
