"""Instances of subclasses of NumPy's array over tensors: what ``x.view(Vector)`` gives.

NOTE [the class of a subclass]
    For a subclass of `numpy.ndarray` a class is made that inherits from `Instance` where the
    subclass inherits from `numpy.ndarray`, and has its methods. Its instances say that they are
    of the subclass: ``x.__class__`` is that, and `isinstance` holds. A method that calls
    ``super()`` is copied, with the new class in its cell.
"""

import abc
import functools
from collections.abc import Callable
from types import CellType, FunctionType
from typing import Any

import numpy as np

from .._core.adopted import ADOPTED
from .._core.hidden import is_of_memory
from .._core.methods import METHODS
from .._core.numpy_facts import UFUNC_OF
from .._core.root import dispatch_lists, opts_out, tree_map
from .._core.subclasses import OVER_TENSORS
from .._core.tensor import Tensor, canonical
from .._cpython.functions import cells_of, copy_of_function
from .._cpython.objects import Slot
from ._copies import copy_member
from ._functions import INSIDE
from ._probes import KINDS, Probe, example, probe_class

ndarray = np.ndarray
LIBRARIES = "numpy", "functier"
"""Packages whose subclasses stay what they are, but for those in `KINDS`."""

MADE: dict[type, type] = {}
"""The classes over tensors, by the subclasses."""


# ---- what a call gives ----


def compute(call: Callable, args: tuple, kwargs: dict, plain: Callable | None = None) -> Any:
    """Return ``call(...)``, instances where NumPy's function `plain` gives these.

    See NOTE [NumPy is asked for the class of a result] in `_probes`.
    """
    result = call(*tree_map(tensor_of, args), **tree_map(tensor_of, kwargs))
    out = kwargs.get("out")
    if out is not None:
        return out[0] if type(out) is tuple and len(out) == 1 else out
    if not _has_arrays(result):
        return result
    with np.errstate(all="ignore"):
        shown = (plain or call)(*tree_map(_probe, args), **tree_map(_probe, kwargs))
    return _like(result, shown)


def _has_arrays(result: Any) -> bool:
    if isinstance(result, (tuple, list)):
        return any(map(_has_arrays, result))
    return isinstance(result, (Tensor, ndarray, np.generic))


def _like(result: Any, shown: Any) -> Any:
    """Return a result as NumPy's plain result `shown` is: an instance, or what it is."""
    if isinstance(shown, Probe):
        source = shown.source
        if shown.wrapped and type(source).__array_wrap__ is not Instance.__array_wrap__:
            return source.__array_wrap__(result, None, False)
        return instance_of(result, type(shown).kind, source)
    if type(shown) in KINDS:
        return instance_of(result, type(shown), None)
    if isinstance(shown, (tuple, list)) and len(shown) == len(result):
        parts = [_like(r, s) for r, s in zip(result, shown)]
        fields = getattr(type(result), "_make", type(result))
        return fields(parts)
    return result[()] if isinstance(shown, np.generic) and hasattr(result, "ndim") else result


def tensor_of(x: Any) -> Any:
    """Return the tensor in an instance, or the array that a plain instance of a subclass is."""
    kind = type(x)
    if kind in OVER_TENSORS:
        return x.functier_tensor
    return np.asarray(x) if kind in MADE or kind in OVER_TENSORS.kept else x


def _probe(x: Any) -> Any:
    """Return the plain values of one example: a probe for an instance."""
    kind = type(x)
    if kind in OVER_TENSORS:
        made = np.array(example(x.functier_tensor)).view(probe_class(x.__class__))
        made.source = x
        return made
    if kind in MADE or kind in OVER_TENSORS.kept:
        made = np.array(x).view(probe_class(kind))
        made.source = view_over(np.asarray(x), kind, x)
        return made
    return example(x) if isinstance(x, Tensor) else x


def instance_of(x: Any, kind: type, source: Any) -> Any:
    """Return an instance of the class `kind` over `x`, as NumPy makes one of `source`."""
    made: Any = object.__new__(class_over(kind))
    made.functier_tensor = x
    if type(made).__array_finalize__ is not None:
        made.__array_finalize__(source)
    return made


def view_over(x: Any, kind: type, source: Any = None) -> Any:
    """Return ``x.view(kind)`` for a tensor; None where `kind` is a class that stays NumPy's."""
    kind = getattr(kind, "functier_kind", kind)
    if kind.__module__.partition(".")[0] in LIBRARIES and kind not in KINDS:
        return None
    return instance_of(x[...], kind, x if source is None else source)


OVER_TENSORS.makers.append(view_over)


# ---- the classes ----


def class_over(kind: type) -> type:
    """Return the class over tensors of a subclass: see NOTE [the class of a subclass]."""
    if kind is ndarray:
        return Instance
    if kind not in MADE:
        if type(kind) not in (type, abc.ABCMeta):
            raise TypeError(
                f"x.view({kind.__name__}): its class is a {type(kind).__name__}, which may mean "
                f"more than a subclass of numpy.ndarray; write its methods as functions of x"
            )
        bases = tuple([class_over(b) if issubclass(b, ndarray) else b for b in kind.__bases__])
        cell, members = CellType(), _members(kind)
        members = {name: _copied(member, cell) for name, member in members.items()}
        members |= {"__class__": property(lambda self: kind), "functier_kind": kind}
        members["__module__"], members["__qualname__"] = kind.__module__, kind.__qualname__
        made: Any = type(kind)(kind.__name__, bases, members)
        cell.cell_contents = made
        MADE[kind] = made
        OVER_TENSORS.add(made)
    return MADE[kind]


OWN = {
    "__new__", "__init__", "__init_subclass__", "__dict__", "__weakref__", "__slots__",
    "__classcell__", "__array__", "__reduce__", "__setstate__",
}  # fmt: skip
"""Members of a subclass that its instances over tensors do without."""


def _members(kind: type) -> dict[str, Any]:
    """Return the members of a subclass that the class over tensors has."""
    if isinstance(vars(kind).get("__init__"), FunctionType):
        raise TypeError(
            f"x.view({kind.__name__}): its __init__ would not run for a tensor; set the attributes "
            f"in __new__ and __array_finalize__, as NumPy's guide for subclasses does"
        )
    twins, more = KINDS.get(kind, (None, {}))
    found = {}
    for name, member in vars(kind).items():
        if name in OWN or isinstance(member, Slot):
            continue
        if isinstance(member, classmethod):
            member = OfClass(name)
        elif twins is not None:
            member = copy_member(member, twins) or member
        found[name] = member
    return found | more


class OfClass:
    """A class method: that of the subclass itself."""

    def __init__(self, name: str):
        self.name = name

    def __get__(self, x: Any, owner: Any = None) -> Any:
        return getattr((owner or type(x)).functier_kind, self.name)


def _copied(member: Any, cell: CellType) -> Any:
    """Return a member with another class for its ``super()``; others as they are."""
    if isinstance(member, FunctionType):
        cells = cells_of(member)
        if "__class__" not in cells:
            return member
        own = tuple({**cells, "__class__": cell}.values())
        return functools.update_wrapper(copy_of_function(member, member.__globals__, own), member)
    if type(member) is property:
        parts = [part and _copied(part, cell) for part in (member.fget, member.fset, member.fdel)]
        return property(parts[0], parts[1], parts[2], member.__doc__)
    return member


class Instance:
    """An instance of a subclass of `numpy.ndarray` over a tensor; the base of the classes made."""

    functier_tensor: Any
    functier_kind: type
    __array_priority__ = 0.0
    __hash__ = None  # type: ignore[assignment]

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        return cls.functier_kind(*args, **kwargs)

    # ---- NumPy's protocols ----

    def __array_finalize__(self, obj: Any) -> None:
        """Do nothing, as NumPy's."""

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return instance_of(tensor_of(array), self.__class__, self)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        if ADOPTED.method_for_caller("item"):  # adopted code takes the tensor
            return self.functier_tensor if dtype is None else self.functier_tensor.astype(dtype)
        return self.functier_tensor.__array__(dtype, copy)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        own = type(self).__array_ufunc__
        for x in inputs:
            if type(x) in OVER_TENSORS and type(x).__array_ufunc__ not in (
                own, Instance.__array_ufunc__,
            ):  # fmt: skip
                return NotImplemented
        inputs = tuple([array_of(x) for x in inputs])
        call = ufunc if method == "__call__" else getattr(ufunc, method)
        return compute(call, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: tuple, kwargs: dict) -> Any:
        return _call(func, args, kwargs)

    @classmethod
    def __tensor_function__(
        cls, func: Any, types: Any, args: tuple = (), kwargs: Any = None
    ) -> Any:
        func, args, kwargs = canonical(func, args, kwargs or {})
        return _call(func, args, kwargs)

    # ---- its form and its parts ----

    shape = property(
        lambda self: self.functier_tensor.shape,
        lambda self, shape: setattr(self, "functier_tensor", self._at(shape)),
    )
    ndim = property(lambda self: self.functier_tensor.ndim)
    size = property(lambda self: self.functier_tensor.size)
    dtype = property(lambda self: self.functier_tensor.dtype)
    flat = property(
        lambda self: Elements(self),
        lambda self, value: self.functier_tensor.flat.__setitem__(..., value),
    )

    def _at(self, shape: Any) -> Any:
        return np.reshape(self.functier_tensor, shape)

    def __getattr__(self, name: str) -> Any:
        if is_of_memory(name):
            return getattr(self.functier_tensor, name)
        raise AttributeError(f"{self.__class__.__name__!r} object has no attribute {name!r}")

    def __len__(self) -> int:
        return len(self.functier_tensor)

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))  # type: ignore[index]

    def __contains__(self, value: Any) -> bool:
        return bool((self.functier_tensor == tensor_of(value)).any())

    def __setitem__(self, index: Any, value: Any) -> None:
        self.functier_tensor[tree_map(tensor_of, index)] = tree_map(tensor_of, value)

    def fill(self, value: Any) -> None:
        self.functier_tensor[...] = value

    def view(self, *args: Any, **kwargs: Any) -> Any:
        dtype = kwargs.get("dtype", self.dtype)
        if np.dtype(dtype) != self.dtype:
            return self.functier_tensor.view(dtype)  # raises
        args += (kwargs["type"],) if "type" in kwargs else ()
        if not args:
            return instance_of(self.functier_tensor[...], self.__class__, self)
        if args == (ndarray,):
            return self.functier_tensor[...]
        kind = getattr(args[0], "functier_kind", args[0])
        if isinstance(kind, type) and issubclass(kind, ndarray):
            return instance_of(self.functier_tensor[...], kind, self)
        return self.functier_tensor.view(*args)

    def __copy__(self) -> Any:
        return self.copy()  # type: ignore[attr-defined]

    def __deepcopy__(self, memo: dict) -> Any:
        return self.copy()  # type: ignore[attr-defined]

    # ---- leaving ----

    def __bool__(self) -> bool:
        return bool(self.functier_tensor)

    def __int__(self) -> int:
        return int(self.functier_tensor)

    def __index__(self) -> int:
        return self.functier_tensor.__index__()

    def __float__(self) -> float:
        return float(self.functier_tensor)

    def __complex__(self) -> complex:
        return complex(self.functier_tensor)

    def __format__(self, spec: str) -> str:
        asked = ADOPTED.text_for(self, str, spec)
        return format(self.functier_tensor, spec) if asked is None else asked

    def __str__(self) -> str:
        return ADOPTED.text_for(self, str) or repr(self)

    def __repr__(self) -> str:
        return (
            ADOPTED.text_for(self, repr) or f"{self.__class__.__name__}({self.functier_tensor!r})"
        )

    def item(self, *args: Any) -> Any:
        method = ADOPTED.method_for_caller("item") or type(self.functier_tensor).item
        return method(self.functier_tensor, *args)

    def tolist(self) -> Any:
        method = ADOPTED.method_for_caller("tolist") or type(self.functier_tensor).tolist
        return method(self.functier_tensor)


def _call(func: Callable, args: tuple, kwargs: dict) -> Any:
    """Return the result of a function; NumPy has some that call a method of that name."""
    name = getattr(func, "__name__", "")
    if func is np.ravel and args and isinstance(args[0], np.matrix):
        name = "copy"  # NumPy makes an array of a matrix, whose method gives a matrix
    if args and type(args[0]) in OVER_TENSORS and METHODS.get(name) is func and name != "copy":
        if getattr(type(args[0]), name) is not getattr(Instance, name):
            return getattr(args[0], name)(*args[1:], **kwargs)
    return compute(calling(func), args, kwargs, func)


class Elements:
    """The elements of an instance as `flat` gives them: an instance of them is a flat one."""

    def __init__(self, owner: Instance):
        self.owner, self.flat = owner, owner.functier_tensor.flat

    def __getitem__(self, index: Any) -> Any:
        return compute(_element, (self.owner, index), {})

    def __setitem__(self, index: Any, value: Any) -> None:
        self.flat[index] = tensor_of(value)

    def __iter__(self) -> Any:
        return iter(self.flat)

    def __len__(self) -> int:
        return len(self.flat)


def _element(x: Any, index: Any) -> Any:
    return x.flat[index]


def array_of(x: Any) -> Any:
    """Return an operand that is a list as an array."""
    return INSIDE[np.asarray](np.asarray, x) if type(x) in (list, tuple) else x


@functools.cache
def calling(func: Callable) -> Callable:
    """Return what computes a function of NumPy, also of tensors in lists."""
    own = INSIDE.get(func)
    if own is not None:
        return functools.partial(own, func)
    return lambda *args, **kwargs: dispatch_lists(func, args, kwargs)


def _method(name: str) -> Callable:
    plain = getattr(ndarray, name)

    def call(x: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(x, name)(*args, **kwargs)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return compute(call, (self, *args), kwargs, plain)

    method.__name__ = method.__qualname__ = name
    return method


def _reordering(name: str) -> Callable:
    def method(self: Any, *args: Any, **kwargs: Any) -> None:
        getattr(self.functier_tensor, name)(*args, **kwargs)

    return method


def _operator(ufunc: np.ufunc, reflected: bool) -> Callable:
    def call(self: Any, other: Any, modulus: None = None) -> Any:
        if type(other) not in OVER_TENSORS and opts_out(other):
            return NotImplemented
        return ufunc(other, self) if reflected else ufunc(self, other)

    return call


def _augmenting(name: str) -> Callable:
    def call(self: Any, other: Any) -> Any:
        made = getattr(self.functier_tensor, name)(tensor_of(other))
        if made is NotImplemented:
            return NotImplemented
        self.functier_tensor = made
        return self

    return call


def _reading(name: str) -> property:
    def read(self: Any) -> Any:
        return compute(lambda x: getattr(x, name), (self,), {})

    def write(self: Any, value: Any) -> None:
        setattr(self.functier_tensor, name, tensor_of(value))

    return property(read, write)


def _define() -> None:
    for name in METHODS:
        if hasattr(ndarray, name) and name[:2] != "__":
            setattr(Instance, name, _method(name))
    for name in ("__getitem__", "__divmod__", "__rdivmod__"):
        setattr(Instance, name, _method(name))
    for name in ("sort", "partition"):
        setattr(Instance, name, _reordering(name))
    for name in ("T", "mT", "real", "imag"):
        setattr(Instance, name, _reading(name))
    ufunc: Any
    for func, ufunc in UFUNC_OF.items():
        name = func.__name__.strip("_")
        if ufunc.nin == 1:
            setattr(Instance, f"__{name}__", lambda self, ufunc=ufunc: ufunc(self))
            continue
        setattr(Instance, f"__{name}__", _operator(ufunc, False))
        if hasattr(ndarray, f"__i{name}__"):
            setattr(Instance, f"__r{name}__", _operator(ufunc, True))
            setattr(Instance, f"__i{name}__", _augmenting(f"__i{name}__"))


_define()
