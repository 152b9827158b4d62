"""Transformed: a function that a transform has made.

NOTE [the call of a transformed function]
    `__call__` is a slot with the function that computes: a call costs no further frame of Python,
    and a trace looks into that function.
"""

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from .._core.cards import folded
from .._core.numpy_facts import Function
from .._core.pytree import name_of_function
from .._core.wrapper import Wrapper


class Transformed(Wrapper):
    """A transformed function, which says what it is, and pickles where the function does.

    Parameters
    ----------
    call : callable
        The function that computes; see NOTE [the call of a transformed function].
    func : callable
        The function of the user.
    transform : str
        The public name of the transform.
    options : Any
        The other arguments of the transform, as attributes of this object.
    """

    __slots__ = ("__call__", "options", "transform")
    __call__: Callable[..., Any]
    stands_for = "__call__"  # what a trace looks into

    def __init__(self, call: Function, func: Function, transform: str, options: Any):
        self.__call__ = call  # type: ignore[method-assign]
        self.transform, self.options = transform, options
        functools.update_wrapper(self, func)

    def __repr__(self) -> str:
        return f"<functier.{self.nested_label()}>"

    def _repr_html_(self) -> str:
        """Return the transforms, and the text of the function below them."""
        try:
            text = inspect.getsource(self)
        except (OSError, TypeError):  # of a prompt, or in C
            text = ""
        return folded(repr(self), text)

    def __enter__(self) -> NoReturn:
        raise TypeError(
            f"{self.nested_label()} is a function, and no block; write `with "
            f"functier.{self.transform}() as B:` without a function, and call the function inside"
        )

    def __exit__(self, *error: Any) -> None:
        """Do nothing: no block begins."""

    def nested_label(self) -> str:
        """Return the transform of what, as text; the function may have been transformed before."""
        inner = self.__wrapped__
        label = getattr(type(inner), "nested_label", name_of_function)
        return f"{self.transform}({label(inner)})"

    def __copy__(self) -> "Transformed":
        return self

    def __deepcopy__(self, memo: dict) -> "Transformed":
        return self

    def _parts(self) -> tuple:
        parameters = inspect.signature(_public(self.transform)).parameters
        options = {
            name: getattr(self.options, name)
            for name, p in parameters.items()
            if getattr(self.options, name, p.default) is not p.default
        }
        return _again, (self.transform, self.__wrapped__, options)


def _public(name: str) -> Callable[..., Any]:
    found: Callable[..., Any] = getattr(sys.modules["functier"], name)
    return found


def _again(name: str, func: Function, options: dict) -> Any:
    return _public(name)(func, **options)
