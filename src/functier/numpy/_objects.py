"""Object arrays whose elements are tensors: each is a value by itself.

NOTE [objects beside tensors]
    NumPy computes with an object array element by element, by the operators of the elements: that
    is right for tensors, too. An `Objects` is such an array. It answers before the tensors beside
    it, whose elements become objects, and makes an array of numbers where NumPy converts its
    elements.
"""

import operator
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.border import has_tensors
from .._core.errors import ConversionError
from .._core.root import classes_in, tree_map
from .._core.subclasses import OVER_TENSORS
from .._core.tensor import Tensor, canonical
from .._mutation.array import settle

ndarray = np.ndarray
SEQUENCES = (list, tuple)
twins: Any = sys.modules["functier.numpy"]
COMPARISONS: dict[Any, Callable] = {
    np.less: operator.lt, np.less_equal: operator.le, np.greater: operator.gt,
    np.greater_equal: operator.ge, np.equal: operator.eq, np.not_equal: operator.ne,
}  # fmt: skip


class Objects(np.ndarray):
    """An object array that may hold tensors: see NOTE [objects beside tensors]."""

    __class__ = property(lambda self: ndarray)  # type: ignore[assignment]

    @property
    def functier_tensor(self) -> Any:
        """The array of its numbers, for a result and for what is written to an array."""
        kinds = [x.dtype if isinstance(x, Tensor) else np.asarray(x).dtype for x in self.flat]
        if any([np.ndim(x) for x in self.flat]) or not all([k.kind in "biufc" for k in kinds]):
            raise ConversionError(
                "the operand of an operation is an object array of tensors or arrays, which are "
                "separate values, so their derivative and batch would be lost; write "
                "numpy.stack(list(a.flat)).reshape(a.shape) for such an array a",
                named=True,
            )
        return self.astype(np.result_type(*kinds) if kinds else float)

    @classmethod
    def __tensor_function__(
        cls, func: Any, types: Any, args: tuple = (), kwargs: Any = None
    ) -> Any:
        return _compute(*canonical(func, args, kwargs or {}))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method == "__call__" and ufunc in COMPARISONS and not kwargs:
            a, b = np.broadcast_arrays(*map(_bare, inputs))
            found = [COMPARISONS[ufunc](x, y) for x, y in zip(a.flat, b.flat)]
            return twins.array(found).reshape(a.shape) if found else np.zeros(a.shape, bool)
        return _compute(ufunc if method == "__call__" else getattr(ufunc, method), inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return _compute(func, args, kwargs)

    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> Any:
        """Return an array of numbers, which is a tensor where an element is one."""
        if np.dtype(dtype) == object or not has_tensors(self):
            made = self.view(ndarray).astype(dtype, *args, **kwargs)
            return made.view(Objects) if made.dtype == object else made
        found = []
        for x in self.flat:
            if np.ndim(x):
                raise ValueError("setting an array element with a sequence.")
            found.append(x.astype(dtype) if isinstance(x, Tensor) else _plain(x, dtype))
        return twins.array(found).reshape(self.shape)

    def __repr__(self) -> str:
        return repr(self.view(ndarray))

    def __str__(self) -> str:
        return str(self.view(ndarray))

    def dot(self, b: Any, out: Any = None) -> Any:
        return np.dot(self, b, out)

    def mean(self, axis: Any = None, *args: Any, **kwargs: Any) -> Any:
        return np.mean(self, axis, *args, **kwargs)

    def __setitem__(self, index: Any, value: Any) -> None:
        if classes_in(value) and (type(value) in SEQUENCES or np.ndim(value)):
            several = isinstance(np.broadcast_to(False, self.shape)[index], ndarray)
            value = object_array(value) if several else value  # an array may be an element
        super().__setitem__(index, value.view(ndarray) if type(value) is Objects else value)


OVER: set[type] = {Objects}


def _plain(x: Any, dtype: Any) -> Any:
    one = np.empty((), object)
    one[()] = x
    return one.astype(dtype)[()]


def _bare(x: Any) -> Any:
    """Return an operand as a plain object array where it is one, or a tensor."""
    if type(x) is Objects:
        return x.view(ndarray)
    if not isinstance(x, Tensor):
        return x
    x = settle(x)
    if not isinstance(x, Tensor):
        return x
    made = np.empty(x.shape, object)
    for index in np.ndindex(x.shape):
        made[index] = x[index] if index else x
    return made


def _mean(a: Any, axis: Any = None, dtype: Any = None, **options: Any) -> Any:
    if dtype is not None or options.keys() - {"keepdims"}:
        raise TypeError(
            "numpy.mean of an object array takes axis= and keepdims= alone; write a.astype(float)"
        )
    total = np.sum(a, axis, **options)
    return np.divide(total, np.size(a) // max(np.size(total), 1))


def _where(condition: Any, *parts: Any) -> Any:
    if not parts or not has_tensors(np.asarray(condition)):
        return np.where(condition, *parts)
    table = np.broadcast_arrays(condition, *parts)
    made = np.empty(table[0].shape, object)
    for index in np.ndindex(made.shape):
        made[index] = twins.where(*[x[index] for x in table])
    return made


INSTEAD: dict[Any, Callable] = {
    np.mean: _mean, np.where: _where,
    np.astype: lambda x, dtype, **options: x.view(Objects).astype(dtype),
    np.copy: lambda a, *args, **options: a.copy(),
}  # fmt: skip
"""Functions that NumPy computes in another way than by the operators of the elements."""


def _compute(func: Any, args: tuple, kwargs: dict) -> Any:
    """Call a function of NumPy with plain object arrays; return what it gives as `Objects`."""
    plain, options = tree_map(_bare, (args, kwargs))
    found = INSTEAD.get(func, func)(*plain, **options)
    outs = kwargs.get("out")
    for given in outs if isinstance(outs, tuple) else (outs,):
        if type(given) is Objects:
            return given
        if given is not None:
            raise TypeError(
                f"{getattr(func, '__name__', func)}: the result is an object array, which "
                f"out= does not take; write the call without out="
            )
    return tree_map(as_objects, found)


def as_objects(x: Any) -> Any:
    """Return a plain object array as one that takes tensors."""
    if type(x) is not ndarray or x.dtype != object:
        return x
    OVER_TENSORS.update(OVER)
    return x.view(Objects)


def object_array(a: Any) -> np.ndarray:
    """Return ``numpy.array(a, dtype=object)``, where lists hold tensors.

    NumPy finds the form from arrays of the tensors' shapes. So lists of arrays of one shape make
    an array of their scalars, and others an array of arrays.
    """
    form = np.array(_template(a), dtype=object)
    made = np.empty(form.shape, object)
    for index in np.ndindex(form.shape):
        element = a
        for i in index:
            element = element[i]
        made[index] = element
    return as_objects(made)


def array_of_elements(found: list, shape: tuple[int, ...]) -> np.ndarray:
    """Return an object array of values, in C order."""
    made = np.empty(len(found), object)
    for i, x in enumerate(found):
        made[i] = x
    return as_objects(made.reshape(shape))


def _template(a: Any) -> Any:
    """Return lists with plain arrays for tensors."""
    if type(a) in SEQUENCES:
        return [_template(x) for x in a]
    return np.zeros(a.shape) if isinstance(a, Tensor) else a


def is_object_array(a: Any, dtype: Any) -> bool:
    """Return whether an object array is asked for, of tensors that are in lists or that are `a`."""
    if dtype is None or not (isinstance(a, Tensor) or type(a) in SEQUENCES):
        return False
    return np.dtype(dtype) == object and bool(classes_in(a))


def elements_of(a: Any) -> Any:
    """Return the elements of an object array with tensors as lists; all else as it is."""
    if type(a) in (ndarray, Objects) and a.dtype == object and has_tensors(a):
        return a.view(ndarray).tolist()
    return a
