"""Functions with a cache of `functools`: tensors pass it by, as no derivative has a key.

See NOTE [equal numbers with other derivatives] in `_levels.conversions`.
"""

import functools
from collections.abc import Callable
from types import MethodType
from typing import Any
from weakref import WeakValueDictionary

from .._core.ambient import AMBIENT
from .._core.tensor import Tensor
from .._mutation.array import is_array

CACHED: type = type(functools.lru_cache(len))


class Cached:
    """A function of `functools.lru_cache` that calls its function itself for tensors.

    For others it is called outside of all levels: what the cache keeps is for later calls, too. All
    else is that of the original, so that both have one cache, whoever calls them.
    """

    __slots__ = ("__weakref__", "functier_original")

    def __init__(self, original: Any):
        object.__setattr__(self, "functier_original", original)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        call = _original(self)
        if _holds_number(args) or (kwargs and _holds_number(kwargs.values())):
            return call.__wrapped__(*args, **kwargs)
        level = AMBIENT.get()
        try:
            AMBIENT.set(Tensor)
            return call(*args, **kwargs)
        finally:
            AMBIENT.set(level)

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        return self if owner is None else MethodType(self, owner)

    def __getattribute__(self, name: str) -> Any:
        own = name == "__deepcopy__"
        return object.__getattribute__(self, name) if own else getattr(_original(self), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(_original(self), name, value)

    def __delattr__(self, name: str) -> None:
        delattr(_original(self), name)

    def __eq__(self, other: object) -> bool:
        other = _original(other) if type(other) is Cached else other
        return _original(self) == other

    def __hash__(self) -> int:
        return hash(_original(self))

    def __dir__(self) -> list[str]:
        return dir(_original(self))

    def __repr__(self) -> str:
        return repr(_original(self))

    def __copy__(self) -> "Cached":
        return self

    def __deepcopy__(self, memo: dict) -> "Cached":
        return self


_original: Callable[[Any], Any] = vars(Cached)["functier_original"].__get__


def _holds_number(values: Any) -> bool:
    """Tell whether a tensor that is a number is among some arguments, or in a tuple or a dataclass.

    An array cannot be the key of a cache: it is refused, as NumPy's arrays are.
    """
    for x in values:
        if isinstance(x, Tensor):
            if not is_array(x):
                return True
        elif isinstance(x, (tuple, frozenset)):
            if _holds_number(x):
                return True
        elif hasattr(type(x), "__dataclass_fields__") and type(x).__hash__ is not object.__hash__:
            if _holds_number([getattr(x, name, None) for name in type(x).__dataclass_fields__]):
                return True
    return False


_TWINS: WeakValueDictionary[int, Cached] = WeakValueDictionary()


def twin_of_cached(value: Any) -> Cached:
    """Return the twin of a function with a cache, which is the same for all modules."""
    twin = _TWINS.get(id(value))
    if twin is None:
        _TWINS[id(value)] = twin = Cached(value)
    return twin


def original_of_cached(value: Any) -> Any:
    """Return the function that a twin stands for, or None."""
    return _original(value) if type(value) is Cached else None


def lru_cache(*args: Any, **kwargs: Any) -> Any:
    """Do as `functools.lru_cache`, for functions that tensors are given to."""
    made = functools.lru_cache(*args, **kwargs)
    if type(made) is CACHED:
        return twin_of_cached(made)
    return lambda func: twin_of_cached(made(func))


def cache(user_function: Callable) -> Cached:
    """Do as `functools.cache`, for a function that tensors are given to."""
    return twin_of_cached(functools.cache(user_function))


DECORATORS: dict[Any, Callable] = {functools.lru_cache: lru_cache, functools.cache: cache}
"""The functions that make caches, and those that adopted code calls for them."""
