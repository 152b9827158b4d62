"""The types of what transforms return, declared for type checkers.

Nothing imports this file when a program runs. A transform takes any function; the type of its
result is chosen at the call, so lambdas and functions without annotations are taken, too.
"""

from collections.abc import Callable
from typing import (
    Any,
    Concatenate,
    Generic,
    ParamSpec,
    Protocol,
    Self,
    TypeVar,
    overload,
)

import numpy as np
from numpy.typing import NDArray

from .._core.tensor import Tensor

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
A = TypeVar("A")
A_contra = TypeVar("A_contra", contravariant=True)
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

class Unannotated:
    """A class that no function takes; Any stands for it, as for a lambda's parameter in mypy."""

class Takes(Protocol[A_contra, Q]):
    """A transform of a function whose first parameter is an A.

    mypy sees this parameter in a callable, and not in a `P`.
    """

    @property
    def __wrapped__(self) -> Callable[Concatenate[A_contra, Q], Any]: ...

# ---- transformed functions ----

class Transformed:
    """A transformed function; in a class it is a method."""

    __name__: str
    __qualname__: str
    @property
    def __wrapped__(self) -> Callable[..., Any]: ...
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

    NumPy's arrays are taken where `f` has tensors.
    """

    @property
    def __wrapped__(self) -> Callable[P, Any]: ...
    @overload
    def __call__(  # type: ignore[overload-overlap]  # of the third, for a lambda
        self: Gradient[[Unannotated]], x: A, /
    ) -> A: ...
    @overload
    def __call__(self: Takes[A, Q], x: A, /, *args: Q.args, **kwargs: Q.kwargs) -> A: ...
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

    @property
    def __wrapped__(self) -> Callable[P, Any]: ...
    @overload
    def __call__(self: GradientAndValue[[Unannotated], R], x: A, /) -> tuple[A, R]: ...
    @overload
    def __call__(
        self: Takes[A, Q], x: A, /, *args: Q.args, **kwargs: Q.kwargs
    ) -> tuple[A, R_co]: ...

class ValueAndGradient(Transformed, Generic[P, R_co]):
    """``value_and_grad(f)``."""

    @property
    def __wrapped__(self) -> Callable[P, Any]: ...
    @overload
    def __call__(self: ValueAndGradient[[Unannotated], R], x: A, /) -> tuple[R, A]: ...
    @overload
    def __call__(
        self: Takes[A, Q], x: A, /, *args: Q.args, **kwargs: Q.kwargs
    ) -> tuple[R_co, A]: ...

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

class Batch(Tensor):
    """A tensor of ``with vmap() as B``, whose class is B."""

    def __init__(self, x: Any, in_dim: int = 0) -> None: ...
    @classmethod
    def unwrap(cls, x: Any, out_dim: int | None = 0) -> Any: ...

class Variable(Tensor):
    """A tensor of ``with grad() as G``, whose class is G."""

    def __init__(self, x: Any) -> None: ...

class Dual(Tensor):
    """A tensor of ``with jvp() as J``, whose class is J."""

    def __init__(self, primal: Any, tangent: Any) -> None: ...
    @classmethod
    def unwrap(cls, x: Any) -> tuple[Any, Any]: ...

class BatchContext(Context):
    """``vmap(...)``."""

    def __enter__(self) -> type[Batch]: ...
    def __call__(self, func: Callable[..., R], /) -> Mapped[R]: ...

class DualContext(Context):
    """``jvp(...)``."""

    def __enter__(self) -> type[Dual]: ...

class GradientContext(Context):
    """``grad(...)``."""

    def __enter__(self) -> type[Variable]: ...
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
