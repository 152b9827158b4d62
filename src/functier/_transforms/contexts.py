"""The types of transforms without a function: context managers that are decorators, too."""

from collections.abc import Callable
from typing import Any, ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class Context(Protocol):
    """A ``with`` block, which gives the class of a level."""

    def __enter__(self) -> Any: ...

    def __exit__(self, *error: Any) -> None: ...


class BatchContext(Context, Protocol):
    """``vmap(...)``: the decorated function takes and returns what it did."""

    def __call__(self, func: Callable[P, R], /) -> Callable[P, R]: ...


class GradientContext(Context, Protocol):
    """``grad(...)``."""

    def __call__(self, func: Callable[P, Any], /) -> Callable[P, Any]: ...


class ValueContext(Context, Protocol):
    """``value_and_grad(...)``: the decorated function returns a pair."""

    def __call__(self, func: Callable[P, R], /) -> Callable[P, tuple[R, Any]]: ...


class GradientAndValueContext(Context, Protocol):
    """``grad_and_value(...)``: the decorated function returns a pair."""

    def __call__(self, func: Callable[P, R], /) -> Callable[P, tuple[Any, R]]: ...
