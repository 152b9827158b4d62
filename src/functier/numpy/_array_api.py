"""The namespace that a tensor names to code of the array API standard.

NOTE [a closed namespace]
    Libraries that support the standard ask all arrays of a call for their namespaces, and refuse
    a call where these differ. `functier.numpy` returns a number as NumPy's scalar, and a plain
    array from outside as it is, since its users write NumPy code. So the functions here are those
    of `functier.numpy`, and every array that they return is a tensor.
"""

import functools
import inspect
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from .._core.ambient import AMBIENT
from .._core.root import classes_in, dispatch_lists, tree_map
from .._core.tensor import Tensor
from .._mutation.array import Array, array_holding, is_scalar
from .._mutation.array_level import tensor
from ._namespaces import MIRROR


class ArrayNamespace(ModuleType):
    """A module whose functions return tensors; see NOTE [a closed namespace]."""

    def __init__(self, module: ModuleType):
        super().__init__(f"functier.{module.__name__}", module.__doc__)
        self.__dict__["__wrapped__"] = module

    def __getattr__(self, name: str) -> Any:
        if name[:2] == "__" and not name.startswith("__array_") and name != "__version__":
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        module = self.__dict__["__wrapped__"]
        path = f"{module.__name__}.{name}"
        value = OWN.get(path)
        if path == "numpy.special" and "scipy.special" in sys.modules:
            value = SpecialNamespace(sys.modules["scipy.special"])
        elif value is None:
            original = getattr(module, name)
            value = MIRROR.resolve(module, name, self.__name__)
            if isinstance(original, ModuleType):
                value = NAMESPACES.get(original.__name__, value)
            elif not isinstance(original, type) and callable(original):
                value = _closed(original, value)
        setattr(self, name, value)
        return value

    def __dir__(self) -> list[str]:
        return dir(self.__dict__["__wrapped__"])

    def __reduce__(self) -> tuple:
        return namespace_of, (self.__dict__["__wrapped__"].__name__,)

    def __repr__(self) -> str:
        return (
            f"<{self.__name__}, the namespace of functier's tensors; beside a tensor x, write "
            f"x.__array_namespace__().asarray(a) for a plain array a>"
        )


class SpecialNamespace(ArrayNamespace):
    """The ufuncs of `scipy.special`, where SciPy looks for an extension of that name.

    Without it SciPy would call its ufuncs on plain arrays of the tensors.
    """

    def __getattr__(self, name: str) -> Any:
        value = inspect.unwrap(getattr(self.__dict__["__wrapped__"], name))
        if not isinstance(value, np.ufunc):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        setattr(self, name, _closed(value, value))
        return getattr(self, name)


def _closed(original: Callable, twin: Callable) -> Callable:
    """Return a function that computes `original`, and returns tensors for arrays."""

    @functools.wraps(original, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs and kwargs.get("device") is not None:
            _check_device(original.__name__, kwargs.pop("device"))
        if AMBIENT.get() is Tensor and classes_in(*args, *kwargs.values()):
            result = dispatch_lists(original, args, kwargs)
        else:
            result = twin(*args, **kwargs)
        given: list[Any] = []
        tree_map(lambda v: given.append(memory_of(v)) if type(v) is Array else None, (args, kwargs))
        return tree_map(lambda v: as_tensor(v, given), result)

    return call


def memory_of(x: Any) -> Any:
    return x.level.place(x)


def as_tensor(value: Any, given: Sequence = ()) -> Any:
    """Return an array, or a scalar of NumPy's, as a tensor, and anything else as it is.

    A view of one of the memories in `given` stays as the user has made it.
    """
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "biufc":
        value = tensor(value)
    elif isinstance(value, Tensor) and value.level.depth and not value.ndim and is_scalar(value):
        value = array_holding(value)  # which can be written to
    elif type(value) is Array and memory_of(value) in given:
        return value
    if type(value) is Array:
        memory_of(value).closed = True  # its elements and its sums are arrays, too
    return value


def _twin(name: str) -> Callable:
    return MIRROR.resolve(np, name, "functier.numpy")


def _check_device(name: str, device: Any) -> None:
    if device != "cpu":
        raise ValueError(
            f"{name}(device={device!r}): tensors are on the device 'cpu', which a transform does "
            f"not change; leave device= out"
        )


def _asarray(
    obj: Any, /, dtype: Any = None, order: Any = None, *, device: Any = None, copy: Any = None
) -> Any:
    """Convert numbers, nested lists, arrays and tensors to a tensor.

    A tensor comes back as it is, unless `dtype` or ``copy=True`` asks for another one. The memory
    of a plain array is copied where the transform may write to the result.
    """
    if device is not None:
        _check_device("asarray", device)
    outside = AMBIENT.get() is Tensor
    if isinstance(obj, Tensor):
        same = dtype is None or np.dtype(dtype) == obj.dtype
        if copy is False and not same:
            raise ValueError(f"asarray(x, {dtype}, copy=False): {obj.dtype} is another dtype")
        if outside:
            return obj if same and not copy else np.array(obj, dtype, copy=copy, like=obj)
    elif copy is False and not outside:
        raise ValueError(
            "asarray(a, copy=False): inside a transform a plain array is copied, as tensors may be "
            "written to the result; leave copy= out"
        )
    elif outside and classes_in(obj):
        return dispatch_lists(np.array, (obj, dtype), {})
    given = [memory_of(obj)] if type(obj) is Array else []
    return as_tensor(_twin("asarray")(obj, dtype, order, copy=copy), given)


def _from_dlpack(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    """Return the values of an object with ``__dlpack__`` as a tensor; a tensor stays one."""
    if device is not None:
        _check_device("from_dlpack", device)
    if isinstance(x, Tensor):
        return _asarray(x, copy=copy)
    return tensor(np.from_dlpack(x, copy=copy))


def _unique_values(x: Any, /) -> Any:
    """Return the distinct values of an array in rising order, on which libraries rely.

    `numpy.unique_values` returns them in any order.
    """
    return NAMESPACES["numpy"].unique(x, equal_nan=False)


def _sort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """Return a sorted copy of an array; `numpy.sort` has no `descending`."""
    made = _closed(np.sort, _twin("sort"))(x, axis=axis, stable=stable)
    return np.flip(made, axis) if descending else made


def _argsort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """Return the indices that sort an array; equal elements keep their order."""
    order = _closed(np.argsort, _twin("argsort"))
    if not descending:
        return order(x, axis=axis, stable=stable)
    flipped = order(np.flip(x, axis), axis=axis, stable=stable)
    return x.shape[axis] - 1 - np.flip(flipped, axis)


OWN: dict[str, Any] = {
    "numpy.asarray": _asarray,
    "numpy.from_dlpack": _from_dlpack,
    "numpy.unique_values": _unique_values,
    "numpy.sort": _sort,
    "numpy.argsort": _argsort,
}
"""The functions that differ from their twins in more than what they return."""

for _path, _function in OWN.items():
    _function.__name__ = _function.__qualname__ = _path.rpartition(".")[2]

NAMESPACES = {module.__name__: ArrayNamespace(module) for module in (np, np.linalg, np.fft)}
"""The namespaces by the names of NumPy's modules: libraries compare them by identity."""


def namespace_of(name: str = "numpy") -> ArrayNamespace:
    """Return the namespace for the module `name` of NumPy."""
    return NAMESPACES[name]
