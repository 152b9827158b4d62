"""The twin of `numpy.ndarray`: for tensors, too, it tells that they are arrays.

NOTE [one class more]
    The twin inherits from NumPy's class, so that its methods and annotations are NumPy's. It has
    no instances: a call makes an array of NumPy's class, and a subclass inherits from that. It
    equals NumPy's class, so that either is a key for the other.
"""

import functools
import types
from typing import Any

import numpy as np

from .._core.ambient import AMBIENT
from .._core.methods import METHODS
from .._core.subclasses import OVER_TENSORS
from .._core.tensor import Tensor
from .._mutation.array import is_scalar
from ._functions import make_new_writable
from ._subclasses import Instance

original = np.ndarray


class NdarrayMeta(type):
    """The class of the twin: `isinstance` and `issubclass` hold for arrays and tensors."""

    def __new__(
        meta, name: str, bases: tuple[type, ...], names: dict[str, Any], **options: Any
    ) -> Any:
        if bases[0] is original:  # the twin itself, which equals it
            return super().__new__(meta, name, bases, names)
        bases = tuple([original if isinstance(base, NdarrayMeta) else base for base in bases])
        return types.new_class(name, bases, options, lambda made: made.update(names))

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        made = original(*args, **kwargs)
        return made if AMBIENT.get() is Tensor else make_new_writable(made, (args, kwargs))

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, original) or (isinstance(x, Tensor) and not is_scalar(x))

    def __subclasscheck__(cls, other: type) -> bool:
        return issubclass(other, (original, Tensor))

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is original

    def __hash__(cls) -> int:
        return hash(original)


def _by_class(name: str) -> Any:
    """Return a method of arrays that takes a tensor, too, where it is called by its class."""
    method = getattr(original, name)

    @functools.wraps(method)
    def call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        if isinstance(self, Tensor):
            return getattr(self, name)(*args, **kwargs)
        if type(self) in OVER_TENSORS:
            return getattr(Instance, name)(self, *args, **kwargs)
        return method(self, *args, **kwargs)

    return call


OWN = "__new__", "__hash__", "__array_ufunc__", "__array_function__", "__class__"
"""Methods that are NumPy's."""


def _new(cls: Any, shape: Any, dtype: Any = float, buffer: Any = None, *args: Any, **kwargs: Any):
    """Return a new array of a class; in the memory of `buffer` it may be one over a tensor."""
    if isinstance(buffer, Tensor):
        if args or kwargs.keys() - {"order"} or np.dtype(dtype) != buffer.dtype:
            raise TypeError(
                f"numpy.ndarray.__new__({cls.__name__}, ..., buffer=x): a tensor hides its memory; "
                f"write x.reshape(shape).view({cls.__name__})"
            )
        return np.reshape(buffer, shape).view(cls)  # type: ignore[call-overload]  # dispatches
    return original.__new__(cls, shape, dtype, buffer, *args, **kwargs)


ndarray = NdarrayMeta(
    "ndarray",
    (original,),
    {
        **{
            name: _by_class(name)
            for name in {*METHODS, *vars(Instance)} & vars(original).keys()
            if callable(getattr(original, name)) and name not in OWN
        },
        "__new__": _new,
        "__doc__": original.__doc__,
        "__module__": "functier.numpy",
        "__class_getitem__": original.__class_getitem__,
    },
)
