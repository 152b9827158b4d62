"""Functions with an object: a method, whose object its programs do not take, and a module."""

import functools
import inspect
import warnings
import weakref
from collections.abc import Callable
from types import MethodType
from typing import Any

import optree

from .._core.errors import MutationError
from .._core.key_orders import NAMESPACE
from .._core.pytree import flatten, is_value, name_of_function
from .._core.tensor import Tensor
from .._mutation.array import was_written
from .misses import COST, LIMIT


class Bound:
    """A function with an object as its first argument, to which it has a reference."""

    def __init__(self, func: Callable, reference: Callable):
        functools.update_wrapper(self, func, updated=())
        self.func, self.reference = func, reference

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.func(self.reference(), *args, **kwargs)

    def method(self) -> Callable:
        return MethodType(self.func, self.reference())

    def __reduce__(self) -> tuple:
        return MethodType, (self.func, self.reference())


def is_tree(x: Any) -> bool:
    """Tell if an object is an argument as any other: an array, a number, or a node of pytrees."""
    return is_value(x) or not optree.tree_is_leaf(x, namespace=NAMESPACE)


def has_method(x: Any, func: Callable, made: Any) -> bool:
    """Return whether the class of an object has a function, or what was made of it, as a method."""
    if is_tree(x):
        return False
    inner = inspect.unwrap(func)
    name = getattr(inner, "__name__", "")
    found = [vars(base)[name] for base in type(x).__mro__ if name in vars(base)]
    return bool(found) and (found[0] is inner or found[0] is made)


class Objects:
    """The compiled functions of a method, for each of its objects.

    A trace for an object is a debt, as in `misses`. Once there are some whose calls have not paid,
    a new object has to be called so many times before it is traced: it may be made for one call.

    Attributes
    ----------
    table : dict
        By the number of an object, a reference to it, and the function.
    debt : int
    calls : dict
        By the number of an object that waits, a reference to it, and how often it was called.
    """

    def __init__(self) -> None:
        self.table: dict[int, tuple[Callable, Any]] = {}
        self.calls: dict[int, tuple[Callable, int]] = {}
        self.debt = 0
        self.told = False

    def of(self, x: Any, make: Callable, func: Callable) -> Any:
        """Return the function for an object, or None where it is to wait; `make` takes a link."""
        link, made = self.table.get(id(x), (None, None))
        if link is not None and link() is x:
            self.debt -= self.debt > 0
            return made
        old, calls = self.calls.pop(id(x), (None, 0))
        calls = 0 if old is None or old() is not x else calls
        link = self.reference_to(x)
        if calls < self.debt // COST - MOST:
            if len(self.calls) > LIMIT:
                self.calls.clear()
            if type(link) is weakref.ref:
                self.calls[id(x)] = link, calls + 1
                self.tell(name_of_function(func))
                return None
        made = make(link)
        self.debt += COST
        self.table[id(x)] = link, made
        return made

    def tell(self, name: str) -> None:
        """Warn, once, that most calls come from objects that are new."""
        if not self.told:
            self.told = True
            warnings.warn(
                f"compile({name}): most calls come from objects that are new, and each would be "
                f"traced; the plain function runs for them. Write functier.register_dataclass for "
                f"the class, or make the object once",
                RuntimeWarning,
                stacklevel=5,
            )

    def reference_to(self, x: Any) -> Callable:
        """Return a function that returns an object; with the object its entry goes.

        The reference is weak, where the object has weak references.
        """
        key, table = id(x), self.table

        def forget(reference: Any) -> None:
            if table.get(key, (None,))[0] is reference:
                del table[key]

        try:
            return weakref.ref(x, forget)
        except TypeError:  # it has slots alone
            return lambda: x


MOST = 2
"""So many objects are traced at their first call in any case."""


def has_state(func: Callable) -> bool:
    """Return whether a function is a pytree, such as a module: its arrays are arguments."""
    leaves = flatten(func, "compile", "the function")[0]
    return len(leaves) != 1 or leaves[0] is not func


def calling(func: Callable) -> Callable:
    """Return a function that takes `func`, and its arguments: it does not hold `func`."""
    name = name_of_function(func)

    def call(module: Callable, *args: Any, **kwargs: Any) -> Any:
        result = module(*args, **kwargs)
        for x in flatten(module, "compile", "the module")[0]:
            if isinstance(x, Tensor) and was_written(x):
                raise x.level.refusal(
                    MutationError,
                    f"{name} writes to an array of the module, which later "
                    f"calls of the program would not do; return the new value, and set it after "
                    f"the call",
                )
        return result

    call.__name__ = call.__qualname__ = name
    return call
