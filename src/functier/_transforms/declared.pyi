"""The types of what transforms return, declared for type checkers.

Nothing imports this file when a program runs. A transform takes any function; the type of its
result is chosen at the call, so lambdas and functions without annotations are taken, too.
"""

from collections.abc import Callable, Hashable
from typing import (
    Any,
    Concatenate,
    Generic,
    Literal,
    ParamSpec,
    Protocol,
    Self,
    TypedDict,
    TypeVar,
    overload,
)

import numpy as np
from numpy.typing import NDArray

from .._core.tensor import Tensor
from .._levels.batch import Randomness
from .._levels.level import Escape
from .vmap import Branches

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
A = TypeVar("A")
B = TypeVar("B")
Real = TypeVar("Real", bound=float)
Array = TypeVar("Array", bound=NDArray[Any] | Tensor)
D = TypeVar("D", bound=np.dtype[Any])
D_co = TypeVar("D_co", bound=np.dtype[Any], covariant=True)
Record = TypeVar("Record", bound=HasFields)

class HasDtype(Protocol[D_co]):
    """An array, a tensor, or a number of NumPy's."""

    @property
    def dtype(self) -> D_co: ...

class HasFields(Protocol):
    """A named tuple."""

    def _asdict(self) -> dict[str, Any]: ...

# ---- options ----

class OfGradients(TypedDict, total=False):
    """Options of `grad` and its like that change nothing in the types."""

    argnames: None
    holomorphic: bool
    allow_int: Literal[False]
    escape: Escape

class OfAnyGradients(TypedDict, total=False):
    """All options of `grad` and its like."""

    argnames: str | tuple[str, ...] | None
    holomorphic: bool
    allow_int: bool
    escape: Escape

class OfJacobians(OfGradients, total=False):
    """Options of `jacrev` that change nothing in the types."""

    chunk_size: int | None

class OfAnyJacobians(OfAnyGradients, total=False):
    """All options of `jacrev`."""

    chunk_size: int | None

class OfForward(OfJacobians, total=False):
    """Options of `jacfwd` that change nothing in the types."""

    randomness: Randomness

class OfAnyForward(OfAnyJacobians, total=False):
    """All options of `jacfwd`."""

    randomness: Randomness

class OfBatches(TypedDict, total=False):
    """Options of `vmap`."""

    chunk_size: int | None
    axis_size: int | None
    axis_name: Hashable
    executor: Any
    progress: bool
    escape: Escape
    branches: Branches

# ---- transformed functions ----

class Transformed:
    """A transformed function; in a class it is a method."""

    __name__: str
    __qualname__: str
    __wrapped__: Callable[..., Any]
    def __get__(self, instance: object, owner: Any = None) -> Callable[..., Any]: ...

class Mapped(Transformed, Generic[R_co]):
    """``vmap(f)``: it takes arrays for numbers, and returns arrays for numbers."""

    def __get__(self, instance: object, owner: Any = None) -> Self: ...
    @overload
    def __call__(
        self: Mapped[HasDtype[D]], *args: Any, **kwargs: Any
    ) -> np.ndarray[tuple[Any, ...], D]: ...
    @overload
    def __call__(self: Mapped[complex | Tensor], *args: Any, **kwargs: Any) -> NDArray[Any]: ...
    @overload
    def __call__(self: Mapped[Record], *args: Any, **kwargs: Any) -> Record: ...
    @overload
    def __call__(
        self: Mapped[tuple[HasDtype[Any] | complex, ...]], *args: Any, **kwargs: Any
    ) -> tuple[NDArray[Any], ...]: ...
    @overload
    def __call__(self, *args: Any, **kwargs: Any) -> R_co: ...

class Gradient(Transformed, Generic[P]):
    """``grad(f)``: it returns what its first argument is.

    NumPy's arrays are taken where `f` has tensors; and mypy needs the second signature for a
    function with ``*args``.
    """

    @overload
    def __call__(
        self: Gradient[Concatenate[A, Q]], x: A, /, *args: Q.args, **kwargs: Q.kwargs
    ) -> A: ...
    @overload
    def __call__(
        self: Gradient[Concatenate[Tensor, Q]], x: NDArray[Any], /, *args: Any, **kwargs: Any
    ) -> NDArray[Any]: ...

class SecondGradient(Transformed, Generic[P]):
    """``grad(f, 1)``."""

    def __call__(
        self: SecondGradient[Concatenate[A, B, Q]], x: A, y: B, /, *args: Q.args, **kwargs: Q.kwargs
    ) -> B: ...

class BothGradients(Transformed, Generic[P]):
    """``grad(f, (0, 1))``."""

    def __call__(
        self: BothGradients[Concatenate[A, B, Q]], x: A, y: B, /, *args: Q.args, **kwargs: Q.kwargs
    ) -> tuple[A, B]: ...

class GradientAndValue(Transformed, Generic[P, R_co]):
    """``grad_and_value(f)``, and ``grad(f, has_aux=True)``, whose second result is another one."""

    def __call__(
        self: GradientAndValue[Concatenate[A, Q], R], x: A, /, *args: Q.args, **kwargs: Q.kwargs
    ) -> tuple[A, R]: ...

class ValueAndGradient(Transformed, Generic[P, R_co]):
    """``value_and_grad(f)``."""

    def __call__(
        self: ValueAndGradient[Concatenate[A, Q], R], x: A, /, *args: Q.args, **kwargs: Q.kwargs
    ) -> tuple[R, A]: ...

class Jacobian(Transformed, Generic[P, R_co]):
    """``jacrev(f)``, ``jacfwd(f)`` or ``hessian(f)``."""

    @overload
    def __call__(
        self: Jacobian[Concatenate[Array, Q], HasDtype[Any] | complex],
        x: Array, /, *args: Q.args, **kwargs: Q.kwargs,
    ) -> NDArray[Any]: ...  # fmt: skip
    @overload
    def __call__(
        self: Jacobian[Concatenate[Real, Q], complex],
        x: Real, /, *args: Q.args, **kwargs: Q.kwargs,
    ) -> np.float64: ...  # fmt: skip
    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Any: ...

# ---- transforms without a function: context managers that are decorators, too ----

class Context:
    """A ``with`` block, which gives the class of a level."""

    def __enter__(self) -> Any: ...
    def __exit__(self, *error: Any) -> None: ...

class BatchContext(Context):
    """``vmap(...)``."""

    def __call__(self, func: Callable[..., R], /) -> Mapped[R]: ...

class GradientContext(Context):
    """``grad(...)``."""

    def __call__(self, func: Callable[P, Any], /) -> Gradient[P]: ...

class AnyGradientContext(Context):
    """``grad(...)`` with options that say which gradients there are."""

    def __call__(self, func: Callable[P, Any], /) -> Callable[P, Any]: ...

class ValueContext(Context):
    """``value_and_grad(...)``: the decorated function returns a pair."""

    def __call__(self, func: Callable[P, R], /) -> Callable[P, tuple[R, Any]]: ...

class GradientAndValueContext(Context):
    """``grad_and_value(...)``: the decorated function returns a pair."""

    def __call__(self, func: Callable[P, R], /) -> Callable[P, tuple[Any, R]]: ...
