"""The twins of NumPy's classes that go through elements one by one."""

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .._core.ambient import AMBIENT
from .._core.errors import UnsupportedError
from .._core.numpy_facts import Value, shape_of
from .._core.root import classes_in
from .._core.tensor import Tensor
from .._rules.constructors import composite
from ._copies import TwinMeta
from ._objects import array_of_elements

ndarray = np.ndarray
Elements = list[Any]
twins: Any = sys.modules["functier.numpy"]
"""The package itself, which is only half made when this file is read."""


def element_of(x: Value, index: tuple[int, ...]) -> Value:
    """Return the element of `x`, which may be broadcast, at an index of the whole."""
    shape = shape_of(x)
    own = index[len(index) - len(shape) :]
    return x[tuple([0 if n == 1 else i for i, n in zip(own, shape)])]  # type: ignore[index]


def stack_elements(found: Elements, shape: tuple[int, ...], dtype: Any = None) -> Value:
    """Return elements, in C order, as an array; `dtype` is that of the result."""
    if dtype is not None and np.dtype(dtype).hasobject:
        return array_of_elements(found, shape)  # type: ignore[return-value]
    made = twins.reshape(twins.array(found), shape + shape_of(found[0]))
    return made if dtype is None or made.dtype == dtype else made.astype(dtype)


def form_of(x: Any) -> ndarray:
    """Return an array that lies in memory as `x`, or as an example of it, does."""
    return x.level.window(x) if hasattr(getattr(x, "level", None), "window") else np.asarray(x)


def laid_out(made: Any, arrays: Elements) -> Any:
    """Return a result for each element of `arrays`, as NumPy's lies in memory."""
    ndim = np.ndim(made)
    if ndim < 2 or not isinstance(made, Tensor):
        return made
    forms = [form_of(x) for x in arrays]
    flags: Any = [*[["readonly"]] * len(forms), ["writeonly", "allocate"]]
    walk: Any = np.nditer([*forms, None], ["zerosize_ok"], flags)  # type: ignore[arg-type]
    steps = walk.operands[-1].strides
    order = sorted(range(ndim), key=lambda axis: -steps[axis])
    if len(steps) != ndim or order == sorted(order):
        return made
    return twins.transpose(twins.copy(twins.transpose(made, order), "C"), np.argsort(order))


# ---- numpy.vectorize, numpy.frompyfunc ----


def _kind_of(x: Any) -> Any:
    """Return the dtype of a result, of a text the one of any length."""
    return np.result_type(x) if isinstance(x, Tensor) else np.asarray(x).dtype.char


def vectorize_call(plain: Callable) -> Callable:
    """Return the method of `numpy.vectorize` that calls its function for each element."""

    def _vectorize_call(self: Any, func: Callable, args: tuple) -> Any:
        if AMBIENT.get() is Tensor or not args or self.signature is not None:
            return plain(self, func, args)
        values = [twins.asanyarray(a) for a in args]
        shape = np.broadcast_shapes(*map(shape_of, values))
        if 0 in shape:
            return plain(self, func, tuple([np.zeros(shape_of(v), v.dtype) for v in values]))
        found = [func(*[element_of(v, index) for v in values]) for index in np.ndindex(shape)]
        several = isinstance(found[0], tuple)
        columns = list(zip(*found)) if several else [found]
        kinds = self.otypes or [_kind_of(column[0]) for column in columns]
        forms = [np.empty_like(form_of(v)) for v in values]  # of Python's objects, in NumPy
        made = [
            laid_out(stack_elements(list(c), shape, np.dtype(t)), forms)
            for c, t in zip(columns, kinds)
        ]
        return tuple(made) if several else made[0]

    return _vectorize_call


def frompyfunc(func: Callable, /, nin: int, nout: int, **options: Any) -> Any:
    """Return a ufunc of a Python function, which is called for each element.

    The result for tensors has the dtype of its elements; for plain arrays it is of objects.
    """
    ufunc = np.frompyfunc(func, nin, nout, **options)

    def body(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            raise UnsupportedError(
                f"a ufunc of numpy.frompyfunc got {', '.join(kwargs)}, which it does not take for "
                f"tensors; write the arguments alone"
            )
        if not classes_in(*args):
            return ufunc(*args)
        shape = np.broadcast_shapes(*map(shape_of, args))
        values = [x if isinstance(x, Tensor) else np.asarray(x) for x in args]
        found = [func(*[element_of(v, index) for v in values]) for index in np.ndindex(shape)]
        if not found:
            return ufunc(*[np.zeros(shape_of(x)) for x in args])
        if nout == 1:
            return laid_out(stack_elements(found, shape), values)
        return tuple([laid_out(stack_elements(list(c), shape), values) for c in zip(*found)])

    composite(ufunc, body)
    return ufunc


# ---- numpy.ndenumerate, numpy.broadcast, numpy.nditer ----


class ndenumerate(metaclass=TwinMeta):
    """The twin of `numpy.ndenumerate`, which gives the elements of a tensor with their indices."""

    original = np.ndenumerate

    def __new__(cls, arr: Any) -> Any:
        if not classes_in(arr):
            return np.ndenumerate(arr)
        self = super().__new__(cls)
        self._indices, self._array = np.ndindex(arr.shape), twins.asarray(arr)
        return self

    _indices: Iterator
    _array: Any

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> tuple[tuple[int, ...], Any]:
        index = next(self._indices)
        return index, self._array[index]


class broadcast(metaclass=TwinMeta):
    """The twin of `numpy.broadcast`, which goes through the elements of tensors."""

    original = np.broadcast

    def __new__(cls, *args: Any) -> Any:
        if not classes_in(*args):
            return np.broadcast(*args)
        self = super().__new__(cls)
        self._arrays = [twins.asarray(a) for a in args]
        self._plain = np.broadcast(*[np.broadcast_to(0, x.shape) for x in self._arrays])
        return self

    _arrays: list[Any]
    _plain: Any

    def __getattr__(self, name: str) -> Any:
        return getattr(self._plain, name)

    def __iter__(self) -> Iterator[tuple]:
        for index in np.ndindex(self._plain.shape):
            yield tuple([element_of(x, index) for x in self._arrays])


class nditer(metaclass=TwinMeta):
    """The twin of `numpy.nditer`, which goes through the elements of tensors.

    The order is NumPy's, by the memory of one example. Elements are views: `x[...] = v` writes.
    """

    original = np.nditer
    unsupported = ("external_loop", "buffered", "copy_if_overlap", "ranged", "reduce_ok")

    def __new__(cls, op: Any, flags: Any = (), op_flags: Any = None, *args: Any, **kw: Any) -> Any:
        if not classes_in(op):
            return np.nditer(op, flags, *([op_flags] if op_flags else []), *args, **kw)
        several = type(op) in (list, tuple)
        arrays = [twins.asanyarray(x) for x in (op if several else [op])]
        refused = [f for f in flags if f in cls.unsupported]
        if refused or args or set(kw) - {"order"} or (several and any(x is None for x in op)):
            named = ", ".join([*refused, *kw, *map(str, args)]) or "an operand None"
            raise UnsupportedError(
                f"numpy.nditer of tensors does not take {named}; write a loop over "
                f"numpy.ndindex(x.shape)"
            )
        self = super().__new__(cls)
        self._arrays, self._several = arrays, several
        windows = [form_of(x) for x in arrays]
        own = [*flags, *["multi_index"][: "multi_index" not in flags]]
        self._plain = np.nditer(windows, own, [["readonly"]] * len(windows), **kw)
        self._fresh = True
        return self

    _arrays: list[Any]
    _several: bool
    _plain: Any
    _fresh: bool

    def __getattr__(self, name: str) -> Any:
        return getattr(self._plain, name)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *args: Any) -> None:
        self._plain.close()

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        if self._fresh:
            self._fresh = False
        else:
            self._plain.iternext()
        if self._plain.finished:
            raise StopIteration
        return self.value

    def _element(self, x: Any) -> Any:
        index: tuple = self._plain.multi_index
        own = index[len(index) - x.ndim :]
        return x[(*[0 if n == 1 else i for i, n in zip(own, x.shape)], ...)]

    @property
    def value(self) -> Any:
        found = tuple([self._element(x) for x in self._arrays])
        return found if self._several and len(found) > 1 else found[0]

    @property
    def operands(self) -> tuple:
        return tuple(self._arrays)

    def __getitem__(self, i: int) -> Any:
        return self._element(self._arrays[i])

    def __setitem__(self, i: int, value: Value) -> None:
        self._element(self._arrays[i])[...] = value
