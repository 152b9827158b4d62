"""Wrapper: the base of callable objects that stand for a function, such as a compiled one."""

import sys
from collections.abc import Callable
from types import MethodType
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")


class Wrapper(Generic[P, R]):
    """An object in place of the function `__wrapped__`; in a class it is a method."""

    __module__: str
    __qualname__: str
    __wrapped__: Callable[P, R]

    @overload
    def __get__(self, instance: None, owner: Any = None) -> Self: ...
    @overload
    def __get__(
        self: "Wrapper[Concatenate[Any, Q], R]", instance: object, owner: Any = None
    ) -> Callable[Q, R]: ...
    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else self._bind(instance)

    def _bind(self, instance: Any) -> Any:
        """Return the method of an object."""
        return MethodType(self, instance)  # type: ignore[arg-type]  # subclasses are callable

    def __reduce__(self) -> Any:
        """Return the name where a module has this object by its name, as after a decorator."""
        found, name = sys.modules.get(self.__module__), getattr(self, "__qualname__", "")
        for part in name.split("."):  # a ufunc of NumPy 2.1 has none
            found = getattr(found, part, None)
        return name if found is self else self._parts()

    def _parts(self) -> tuple:
        """Return a function that makes the object again, and its arguments."""
        raise NotImplementedError
