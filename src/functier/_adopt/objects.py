"""Objects of an adopted package through which its code reaches NumPy.

NOTE [objects that forward]
    ``np = Backend(numpy)``, where ``Backend.__getattr__`` asks the module that it keeps, is an
    object like any other. What it keeps is bound as a global name is. One that keeps nothing, and
    imports the module when it is asked, stands behind a `Forwarding`.
"""

import functools
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from .search import import_name
from .twins import twin_of


def attributes_of(value: Any, module: ModuleType) -> dict[str, Any]:
    """Return the attributes of an instance of one of the package's classes; else nothing."""
    kind = type(value)
    if kind is not SimpleNamespace and not _is_of(kind, module):
        return {}
    try:
        found = object.__getattribute__(value, "__dict__")
    except AttributeError:  # it has slots
        return {}
    return found if type(found) is dict and found is not vars(module) else {}


def _is_of(kind: type, module: ModuleType) -> bool:
    """Return whether a class is defined in the package of a module."""
    root = getattr(kind, "__module__", None)
    if not isinstance(root, str) or issubclass(kind, type):
        return False
    return root.partition(".")[0] in {
        name.partition(".")[0] for name in (module.__name__, import_name(module))
    }


def for_numpy(method: Callable) -> Callable:
    """Return a method ``__array__`` that gives NumPy's own code an array of NumPy's.

    Adopted code asks `method` itself, which may return a tensor.
    """

    @functools.wraps(method)
    def array(self: Any, *args: Any, **kwargs: Any) -> np.ndarray:
        return np.asarray(method(self, *args, **kwargs))

    array.functier_original = method  # type: ignore[attr-defined]
    return array


class Forwarding:
    """An object that forwards to NumPy; its attributes are the twins of what it would return."""

    def __init__(self, original: Any):
        object.__setattr__(self, "functier_original", original)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.functier_original, name)
        twin = twin_of(value)
        return value if twin is None else twin

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.functier_original, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self.functier_original, name)

    def __dir__(self) -> list[str]:
        return dir(self.functier_original)

    def __repr__(self) -> str:
        return repr(self.functier_original)

    def __reduce__(self) -> tuple:
        return Forwarding, (self.functier_original,)


def forwarding(value: Any, module: ModuleType) -> Forwarding | None:
    """Return a `Forwarding` for an object whose ``zeros`` is NumPy's, as its class finds it."""
    kind = type(value)
    if not _is_of(kind, module) or "__getattr__" not in {n for c in kind.__mro__ for n in vars(c)}:
        return None
    if any([twin_of(kept) is not None for kept in attributes_of(value, module).values()]):
        return None  # which is bound instead
    try:
        forwards = value.zeros is np.zeros
    except Exception:  # the package's code
        return None
    return Forwarding(value) if forwards else None
