"""Twins for linear operators of `scipy.sparse.linalg`: functions of vectors, which may be tensors.

NOTE [a system with an operator]
    A solver of SciPy sees plain vectors, one example at a time. The derivative of the solution is
    another solve, as `custom_linear_solve` has it, by what the function closes over, too.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse.linalg as ssl  # type: ignore[import-untyped]

from .. import numpy as fnp
from .._control.solves import custom_linear_solve
from .._core.tensor import Tensor
from .._transforms.stop_gradient import stop_gradient
from .._transforms.vjp import vjp
from ._problems import Problem
from ._rules.sparse.systems import ONLY_ONCE, SYMMETRIC
from ._sparse_making import SparseMeta, has_tensors, is_outside, plain_of
from ._sparse_parts import is_scalar, is_sparse


class OperatorTensor:
    """A linear operator whose functions take tensors."""

    __array_ufunc__ = None
    ndim = 2

    def __init__(
        self, shape: Any, matvec: Callable, rmatvec: Callable | None = None,
        matmat: Callable | None = None, dtype: Any = None, rmatmat: Callable | None = None,
    ):  # fmt: skip
        self.shape: tuple[int, int] = tuple(map(int, shape))  # type: ignore[assignment]
        if len(self.shape) != 2:
            raise ValueError(f"invalid shape {shape!r} (must be 2-d)")
        self._matvec, self._rmatvec, self._matmat = matvec, rmatvec, matmat
        self._rmatmat = rmatmat
        self._dtype = dtype and np.dtype(dtype)
        self.args = ()

    @property
    def dtype(self) -> np.dtype:
        """The given dtype, or that of a product."""
        if self._dtype is None:
            self._dtype = fnp.asarray(self._matvec(np.zeros(self.shape[1]))).dtype
        return self._dtype

    def _applied(self, function: Callable, x: Any, sizes: tuple[int, int]) -> Any:
        x = fnp.asarray(x)
        if np.shape(x) not in ((sizes[1],), (sizes[1], 1)):
            raise ValueError("dimension mismatch")
        y = fnp.asarray(function(x))
        return np.reshape(y, (sizes[0],) if np.ndim(x) == 1 else (sizes[0], 1))

    def matvec(self, x: Any) -> Any:
        """Apply the operator to a vector."""
        return self._applied(self._matvec, x, self.shape)

    def rmatvec(self, x: Any) -> Any:
        """Apply the adjoint operator to a vector; without a function for it, that of `matvec`."""
        return self._applied(self._rmatvec or self._transposed, x, self.shape[::-1])

    def _transposed(self, x: Any) -> Any:
        dtype = np.result_type(self.dtype, x.dtype)
        pullback = vjp(self.matvec, np.zeros(self.shape[1], dtype))[1]
        return pullback(np.reshape(np.astype(x, dtype), -1))[0]

    def matmat(self, X: Any) -> Any:
        """Apply the operator to each column of a matrix."""
        X = fnp.asarray(X)
        if np.ndim(X) != 2 or np.shape(X)[0] != self.shape[1]:
            raise ValueError(f"dimension mismatch: {self.shape}, {np.shape(X)}")
        if self._matmat is not None:
            return fnp.asarray(self._matmat(X))
        return np.stack([self.matvec(X[:, j]) for j in range(np.shape(X)[1])], axis=1)

    def rmatmat(self, X: Any) -> Any:
        return self.adjoint().matmat(X)

    def adjoint(self) -> "OperatorTensor":
        return OperatorTensor(
            self.shape[::-1], self.rmatvec, self.matvec, self._rmatmat, self._dtype, self._matmat
        )

    H = property(adjoint)

    def transpose(self) -> "OperatorTensor":
        def forward(x: Any) -> Any:
            return np.conjugate(self.rmatvec(np.conjugate(x)))

        def backward(x: Any) -> Any:
            return np.conjugate(self.matvec(np.conjugate(x)))

        return OperatorTensor(self.shape[::-1], forward, backward, dtype=self._dtype)

    T = property(transpose)

    def dot(self, x: Any) -> Any:
        if is_operator(x):
            return self._after(operator_of(x))
        if is_scalar(x):
            return self._scaled(x)
        x = x.toarray() if is_sparse(x) else fnp.asarray(x)
        if np.ndim(x) == 1 or (np.ndim(x) == 2 and np.shape(x)[1] == 1):
            return self.matvec(x)
        return self.matmat(x)

    __call__ = __mul__ = dot

    def __matmul__(self, x: Any) -> Any:
        if not is_operator(x) and is_scalar(x):
            raise ValueError("Scalar operands are not allowed, use '*' instead")
        return self.dot(x)

    def __rmul__(self, x: Any) -> Any:
        if is_operator(x):
            return operator_of(x)._after(self)
        return self._scaled(x) if is_scalar(x) else self.__rmatmul__(x)

    def __rmatmul__(self, x: Any) -> Any:
        if is_operator(x):
            return operator_of(x)._after(self)
        return np.transpose(self.T.dot(np.transpose(fnp.asarray(x))))

    def _after(self, other: "OperatorTensor") -> "OperatorTensor":
        if self.shape[1] != other.shape[0]:
            raise ValueError(f"cannot multiply operators of shapes {self.shape}, {other.shape}")
        return OperatorTensor(
            (self.shape[0], other.shape[1]),
            lambda x: self.matvec(other.matvec(x)),
            lambda x: other.rmatvec(self.rmatvec(x)),
        )

    def _scaled(self, c: Any) -> "OperatorTensor":
        return OperatorTensor(
            self.shape, lambda x: c * self.matvec(x), lambda x: np.conjugate(c) * self.rmatvec(x)
        )

    def __add__(self, other: Any) -> "OperatorTensor":
        other = operator_of(other)
        if self.shape != other.shape:
            raise ValueError(f"cannot add operators of shapes {self.shape}, {other.shape}")
        return OperatorTensor(
            self.shape, lambda x: self.matvec(x) + other.matvec(x),
            lambda x: self.rmatvec(x) + other.rmatvec(x),
        )  # fmt: skip

    __radd__ = __add__

    def __neg__(self) -> "OperatorTensor":
        return self._scaled(-1)

    def __sub__(self, other: Any) -> "OperatorTensor":
        return self + -operator_of(other)

    def __truediv__(self, c: Any) -> "OperatorTensor":
        return self._scaled(1 / c)

    def __pow__(self, n: int) -> "OperatorTensor":
        if n < 1:
            return OperatorTensor(self.shape, lambda x: x, lambda x: x, dtype=self._dtype)
        return self if n == 1 else self._after(self ** (n - 1))


def is_operator(x: Any) -> bool:
    return isinstance(x, (OperatorTensor, ssl.LinearOperator))


def operator_of(x: Any) -> OperatorTensor:
    """Return a matrix, or an operator of SciPy, as an operator whose functions take tensors."""
    if isinstance(x, OperatorTensor):
        return x
    if isinstance(x, ssl.LinearOperator):
        given = vars(x)
        own = given.get("_CustomLinearOperator__matvec_impl")
        adjoint = given.get("_CustomLinearOperator__rmatvec_impl")
        if own is None:  # of a class of the user
            own = x._matvec
            kind: Any = ssl.LinearOperator
            for name in ("_rmatvec", "_adjoint"):
                if getattr(type(x), name) is not getattr(kind, name):
                    adjoint = x.rmatvec if name == "_adjoint" else x._rmatvec
        return OperatorTensor(x.shape, own, adjoint, dtype=x.dtype)
    if is_sparse(x):
        x = plain_of(x)
        adjoint_matrix = x.T.conj()
    else:
        x = fnp.asarray(x)
        if np.ndim(x) != 2:
            raise ValueError("array must have ndim <= 2")
        adjoint_matrix = np.conjugate(x).T
    made = OperatorTensor(
        x.shape, lambda v: x @ v, lambda v: adjoint_matrix @ v, lambda v: x @ v, x.dtype,
        lambda v: adjoint_matrix @ v,
    )  # fmt: skip
    made.A = x  # type: ignore[attr-defined]
    return made


def closes_over_tensors(x: Any) -> bool:
    """Return whether the function of an operator returns a tensor for a plain vector."""
    operator = operator_of(x)
    return has_tensors(operator._matvec(np.zeros(operator.shape[1])))


def plain_operator(x: Any) -> Any:
    """Return SciPy's operator of functions that return plain vectors."""
    if isinstance(x, ssl.LinearOperator) and operator_of(x)._rmatvec is not None:
        return x
    operator = operator_of(x)
    return ssl.LinearOperator(
        operator.shape, operator.matvec, operator.rmatvec, dtype=operator.dtype
    )


def aslinearoperator(A: Any) -> Any:
    if is_outside(A):
        return ssl.aslinearoperator(A)
    if isinstance(A, ssl.LinearOperator):
        return A
    if not is_sparse(A) and not isinstance(A, (Tensor, np.ndarray)) and hasattr(A, "matvec"):
        return OperatorTensor(A.shape, A.matvec, getattr(A, "rmatvec", None))
    return operator_of(A)


aslinearoperator.__doc__ = ssl.aslinearoperator.__doc__


class OperatorMeta(SparseMeta):
    """The class of the twin of ``LinearOperator``."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if is_outside():
            return ssl.LinearOperator(*args, **kwargs)
        return OperatorTensor(*args, **kwargs)

    def __instancecheck__(cls, x: Any) -> bool:
        return is_operator(x)

    __hash__ = SparseMeta.__hash__


LinearOperator = OperatorMeta(
    "LinearOperator", (),
    {
        "original": ssl.LinearOperator, "__doc__": ssl.LinearOperator.__doc__,
        "__module__": "functier.scipy",
    },
)  # fmt: skip


# ---- systems ----


def solve_with_operator(
    original: Callable, operator: OperatorTensor, b: Any, start: Any, m: Any, options: dict
) -> tuple:
    """Return the solution of a system with an operator; see NOTE [a system with an operator]."""
    label = f"scipy.sparse.linalg.{original.__name__}"
    b = np.reshape(fnp.asarray(b), -1)
    n = operator.shape[0]
    if operator.shape != (n, n) or np.shape(b) != (n,):
        raise ValueError(f"shapes of A {operator.shape} and b {np.shape(b)} are incompatible")
    b = np.astype(b, np.result_type(operator.dtype, b.dtype, np.float32), copy=False)
    numbers: list[Any] = []
    later = {name: v for name, v in options.items() if name not in ONLY_ONCE}

    def solver(transposed: bool) -> Callable:
        preconditioner = None if m is None else operator_of(stop_gradient_of(m))
        if transposed and preconditioner is not None and original not in SYMMETRIC:
            preconditioner = preconditioner.adjoint()
        other = operator.matvec if transposed else operator.rmatvec

        def solve(matvec: Callable, b: Any) -> Any:
            problem, first = Problem(label, ()), not numbers and not transposed

            def one(e: tuple) -> Any:
                def plain(function: Callable) -> Callable:
                    own = problem.function(function, e)
                    return lambda x: np.array(own(x))

                given = dict(options if first else later)
                if first and start is not None:
                    given["x0"] = start if isinstance(start, str) else problem.value(start, e)
                if preconditioner is not None:
                    given["M"] = ssl.LinearOperator(
                        operator.shape, plain(preconditioner.matvec),
                        plain(preconditioner.rmatvec), dtype=b.dtype,
                    )  # fmt: skip
                a = ssl.LinearOperator(
                    operator.shape, plain(matvec), plain(other), dtype=operator.dtype
                )
                side = np.array(problem.value(b, e))
                with np.errstate(all=None if first else "ignore"):
                    x, info = original(a, side, **given)
                if info and not first:
                    rtol = given.get("rtol", 1e-5)
                    x, info = ssl.gmres(a, side, rtol=rtol, restart=min(n, 200))
                    if info:
                        raise stopped(label, info)
                return x, info

            starts = () if start is None or isinstance(start, str) else (start,)
            results = problem.solve(one, (b, *starts))
            numbers.append(problem.joined([np.int64(r[1]) for r in results]))
            xs = np.array([r[0] for r in results])
            return problem.layout.constant(xs.reshape((*problem.layout.batch_shape(), n)))

        return solve

    x = custom_linear_solve(operator.matvec, b, solver(False), solver(True))
    info = numbers[0]
    if stop_gradient(x) is not x and np.any(stop_gradient(info) != 0):
        raise stopped(label, info)
    return x, info if isinstance(info, Tensor) else int(info)


def stop_gradient_of(m: Any) -> Any:
    """Return a preconditioner without derivatives: they do not change the solution."""
    if is_operator(m):
        return m
    if is_sparse(m):
        return m.over(stop_gradient(m.values)) if has_tensors(m) else plain_of(m)
    return stop_gradient(fnp.asarray(m))


def stopped(label: str, info: Any) -> ValueError:
    return ValueError(
        f"{label} stopped early, so its result has no derivative: info is {info}; pass a larger "
        f"maxiter, a larger rtol or a preconditioner M"
    )


TWINS: list[tuple[Any, Any]] = [
    (ssl.LinearOperator, LinearOperator),
    (ssl.aslinearoperator, aslinearoperator),
]
"""Pairs of an object of SciPy and its twin."""
