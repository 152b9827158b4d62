"""Objects of Python: which cannot change, what they have inside, and which methods change them."""

import collections
import contextvars
import functools
import operator
import sys
import types
from collections.abc import Iterable, Iterator
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import numpy as np

from .._core.reached import Generators
from .._core.tensor import Tensor
from .._cpython.code import Code, file_of_code
from .._cpython.functions import contents, defaults_of, original
from .._cpython.homes import HOME
from .._cpython.objects import DESCRIPTORS, Slot
from .guards import plain, slot_of

ndarray = np.ndarray

SEQUENCES = list, collections.deque, bytearray
MAPPINGS = dict, collections.OrderedDict, collections.defaultdict
FIXED = tuple, frozenset
BOXES = (*SEQUENCES, *MAPPINGS, *FIXED, set)
"""The exact containers."""

DISPATCHER = type(np.sum)

IMMUTABLE: tuple[type, ...] = (
    str, bytes, int, float, complex, type(None), type(...), type(NotImplemented), range, slice,
    Code, BuiltinFunctionType, np.ufunc, np.dtype, np.generic, DISPATCHER, *DESCRIPTORS,
    types.MethodWrapperType, types.GenericAlias, types.UnionType, operator.attrgetter,
    operator.itemgetter, operator.methodcaller, contextvars.Token,
    *map(type, (sys.version_info, sys.float_info, sys.int_info, sys.hash_info, sys.flags)),
)  # fmt: skip
"""Types whose instances have no state that changes."""

VIEWS = frozenset({types.MappingProxyType, *map(type, ({}.keys(), {}.values(), {}.items()))})
"""Types whose instances show a dict, which they have for ever."""

CACHES = ("_structure",)
"""Attributes that functier keeps on its objects, and makes anew where they do not fit."""

CHANGING = {
    list: "append extend insert pop remove clear sort reverse __setitem__ __delitem__ __iadd__",
    dict: "update pop popitem clear setdefault __setitem__ __delitem__ __ior__ move_to_end",
    set: "add discard remove pop clear update difference_update intersection_update "
    "symmetric_difference_update",
    collections.deque: "append appendleft extend extendleft pop popleft remove clear rotate insert",
    bytearray: "append extend insert pop remove clear reverse __setitem__",
    ndarray: "sort fill put partition resize setflags setfield byteswap itemset __setitem__",
}
"""Methods that change their object."""


DRAWING = "numpy.random", "random", "functier.random"
"""The modules of generators, whose draws a trace refuses, or makes anew."""


def is_stream(x: Any) -> bool:
    """Return whether an object is a generator of random numbers."""
    return Generators.have(x) or type(x).__module__.startswith("functier.random")


def dict_of(x: Any) -> dict | None:
    """Return the dict of an object; its own code does not run."""
    try:
        return plain(x, "__dict__")
    except AttributeError:
        return None


def parts_of(x: Any) -> list[Any]:
    """Return what an object has in its dict and in its slots."""
    return [*(dict_of(x) or {}).values(), *[slot_of(each, x) for each in slots_in(type(x))]]


def slots_in(kind: type) -> list[Any]:
    """Return the slots of a class, with those of its bases."""
    return [x for each in kind.__mro__ for x in vars(each).values() if type(x) is Slot]


def base_of(x: Any) -> type:
    """Return the exact container that the class of an object extends."""
    return next(kind for kind in BOXES if isinstance(x, kind))


def functions_in(x: Any) -> list[FunctionType]:
    """Return the functions behind what a class has for a name."""
    if type(x) is FunctionType:
        return [x]
    if isinstance(x, property):
        return [f for f in (x.fget, x.fset, x.fdel) if type(f) is FunctionType]
    if isinstance(x, (staticmethod, classmethod)):
        return functions_in(x.__func__)
    if isinstance(x, (functools.cached_property, functools.partialmethod)):
        return functions_in(x.func)
    return []


def reached_from(roots: Iterable[Any]) -> Iterator[Any]:
    """Return some objects, and what they are made of, wrap, or close over."""
    waiting = list(roots)
    seen: dict[int, Any] = {}
    while waiting:
        x = waiting.pop()
        if id(x) in seen:
            continue
        seen[id(x)] = x
        yield x
        if isinstance(x, FunctionType):
            waiting += map(contents, x.__closure__ or ())
            waiting += defaults_of(x)
            waiting.append(getattr(x, "__wrapped__", None))
        elif isinstance(x, functools.partial):
            waiting += [x.func, *x.args, *x.keywords.values()]
        elif isinstance(x, MethodType):
            waiting += [x.__func__, x.__self__]
        elif isinstance(x, (tuple, list)) and len(x) < 100:
            waiting += x
        elif callable(x) and not isinstance(x, type):
            waiting.append(getattr(x, getattr(type(x), "stands_for", "__wrapped__"), None))
            waiting.append(type(x).__call__)


def changes(x: Any, name: str) -> bool:
    """Return whether a method of an exact container or an array changes it."""
    return any([isinstance(x, kind) and name in CHANGING[kind].split() for kind in CHANGING])


def takes_tensors(callee: Any) -> bool:
    """Return whether a function is one of NumPy that dispatches, or one of functier."""
    kind = type(callee)
    if kind is BuiltinFunctionType:
        return isinstance(callee.__self__, np.ufunc)
    if kind is FunctionType:
        return file_of_code(original(callee)).startswith(HOME)
    if hasattr(kind, "stands_for"):
        return takes_tensors(getattr(callee, kind.stands_for))
    return kind is np.ufunc or kind is DISPATCHER


def is_transform(callee: Any) -> bool:
    """Tell if a function of functier gives pytrees with tensors to a function of the user's."""
    module = getattr(callee, "__module__", None) or ""
    return hasattr(type(callee), "stands_for") or module.startswith("functier._transforms.")


def holds_tensor(x: Iterable) -> bool:
    """Return whether there is a tensor among some objects, or in what functions close over."""
    return any([isinstance(y, Tensor) for y in reached_from(x)])
