"""Twins for `scipy.sparse.linalg`: solvers of linear systems, and factors that solve them."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp  # type: ignore[import-untyped]
import scipy.sparse.linalg as ssl  # type: ignore[import-untyped]

from .. import numpy as fnp
from .._control.effects import VISIBLE, Effects
from .._core.errors import UnsupportedError
from .._core.tensor import Tensor
from .._transforms.stop_gradient import stop_gradient
from ._linear_operators import (
    OperatorTensor,
    closes_over_tensors,
    is_operator,
    operator_of,
    plain_operator,
    solve_with_operator,
)
from ._problems import has_tensor
from ._rules.sparse.products import Pattern
from ._rules.sparse.systems import DIRECT, System, solution
from ._sparse_making import has_tensors, is_outside, plain_of
from ._sparse_parts import from_keys, is_sparse
from ._sparse_tensor import SparseTensor, sparse

VISIBLE.add(ssl.SuperLU)  # factors do not change

ITERATIVE = (
    "cg", "cgs", "bicg", "bicgstab", "gmres", "lgmres", "minres", "qmr", "gcrotmk", "tfqmr",
)  # fmt: skip
"""The solvers that multiply by the matrix only; all return the solution and a number."""


def parts_of(matrix: Any) -> tuple[Any, Pattern | None]:
    """Return the values of a matrix, and their pattern; None for a dense matrix."""
    if is_sparse(matrix):
        return sparse(matrix).parts
    return fnp.asarray(matrix), None


def refuse_tensors(label: str, options: dict, remedy: str) -> None:
    """Raise where an option is a tensor."""
    for name, value in options.items():
        if has_tensors(value):
            raise UnsupportedError(f"{label}: a tensor as {name} is not supported; {remedy}")


def _iterative(original: Callable) -> Callable:
    """Return the twin of a solver that returns the solution and a number."""
    parameters, label = inspect.signature(original), f"scipy.sparse.linalg.{original.__name__}"

    @functools.wraps(original)
    def solver(*args: Any, **options: Any) -> Any:
        if is_outside(*args, *options.values()):
            return original(*args, **options)
        given = dict(parameters.bind(*args, **options).arguments)
        a, b = given.pop("A"), given.pop("b")
        start, m = given.pop("x0", None), given.pop("M", None)
        given = {name: plain_of(v) for name, v in given.items()}
        refuse_tensors(label, given, "pass functier.stop_gradient of it, as a number")
        a, m = matrix_of(a), matrix_of(m)
        moving = [x for x in (a, m) if is_operator(x) and closes_over_tensors(x)]
        if moving:
            return solve_with_operator(original, operator_of(a), b, start, m, given)
        if is_operator(m):
            m, given["M"] = None, plain_operator(m)
        if m is not None and not has_tensors(m):
            m, given["M"] = None, plain_of(m)
        of_m = None
        if m is not None:
            m, of_m = parts_of(m)
            m = stop_gradient(m)
        if isinstance(start, str):
            given["x0"], start = start, None
        if start is not None:
            start = stop_gradient(fnp.asarray(start))
        if not has_tensors(a, b, start, m):
            given |= {} if start is None else {"x0": start}
            a = plain_operator(a) if is_operator(a) else plain_of(a)
            return original(a, b, **given)
        operator, pattern, then = None, None, None
        operators = [x for x in (a, *given.values()) if is_operator(x)]
        if operators:
            then = functools.partial(Effects(operators).again, label)
        if is_operator(a):
            a, operator = None, plain_operator(a)
        else:
            a, pattern = parts_of(a)
        system = System(original, given, pattern, of_m, operator, then=then)
        x, info = solved(original, a, b, start, m, system)
        return x, info if isinstance(info, Tensor) else int(info)

    return solver


def matrix_of(a: Any) -> Any:
    """Return the matrix of an operator that is made of one."""
    if isinstance(a, OperatorTensor):
        return getattr(a, "A", a)
    return a.A if isinstance(a, OF_MATRIX) else a


OF_MATRIX: Any = type(ssl.aslinearoperator(np.eye(1)))
"""SciPy's class of an operator that is made of a matrix."""


def solved(original: Callable, a: Any, b: Any, start: Any, m: Any, system: System) -> Any:
    """Return the result of `solution` for arguments in all of SciPy's forms."""
    b = fnp.asarray(b)
    shape = system.shape(a)
    if len(shape) != 2 or shape[0] != shape[1] or b.ndim not in (1, 2) or b.shape[0] != shape[0]:
        check = ssl.spsolve if original in DIRECT else original
        check(sp.csc_array(shape), np.zeros(b.shape))  # SciPy's error
    several = b.ndim == 2 and (original not in VECTORS or b.shape[1] != 1)
    if not several:
        if b.size != shape[0]:
            raise ValueError(f"shapes of A {shape} and b {b.shape} are incompatible")
        b = np.reshape(b, -1)
    of_a = _computed(original, system.operator.dtype if a is None else a.dtype)
    of_b = _computed(original, b.dtype)
    a = None if a is None else np.astype(a, of_a, copy=False)
    b = np.astype(b, np.result_type(of_a, of_b), copy=False)
    if start is not None:
        start = np.reshape(start, -1)
    return solution(a, b, start, m, system=system)


VECTORS = ssl.spsolve, *[getattr(ssl, name) for name in ITERATIVE]
"""The solvers that return a vector for a matrix of one column."""


def _computed(original: Callable, dtype: np.dtype) -> np.dtype:
    """Return the dtype in which SciPy computes with an operand."""
    if dtype.char == "G" or (dtype.char == "g" and original is ssl.minres):
        raise TypeError(
            f"scipy.sparse.linalg.{original.__name__} computes in double precision; write "
            f"numpy.astype(x, float) or complex"
        )
    if dtype.char in "fdFD":
        return dtype
    small = original is ssl.spsolve and dtype.char != "g" and np.can_cast(dtype, np.float32)
    return np.dtype(np.float32 if small else np.float64)


# ---- direct solvers ----


@functools.wraps(ssl.spsolve)
def spsolve(A: Any, b: Any, permc_spec: Any = None, use_umfpack: bool = True) -> Any:
    options = {"permc_spec": permc_spec, "use_umfpack": use_umfpack}
    return _direct(ssl.spsolve, A, b, options)


def _direct(original: Callable, A: Any, b: Any, options: dict) -> Any:
    if is_outside(A, b):
        return original(A, b, **options)
    if not has_tensors(A, b):
        found = original(plain_of(A), plain_of(b), **options)
        return sparse(found) if sp.issparse(found) else found
    label = f"scipy.sparse.linalg.{original.__name__}"
    refuse_tensors(label, options, "write a plain one")
    several = is_sparse(b)
    if several:
        b = b.toarray()
    a, pattern = parts_of(A)
    x = solved(original, a, b, None, None, System(original, options, pattern))[0]
    return as_sparse(x) if several and np.ndim(x) == 2 else x


def as_sparse(x: Any) -> SparseTensor:
    """Return a dense matrix in the form of a sparse one."""
    shape = np.shape(x)
    return SparseTensor(np.ravel(x), from_keys(np.arange(shape[0] * shape[1]), shape, True))


@functools.wraps(ssl.spsolve_triangular)
def spsolve_triangular(
    A: Any, b: Any, lower: bool = True, overwrite_A: bool = False, overwrite_b: bool = False,
    unit_diagonal: bool = False,
) -> Any:  # fmt: skip
    if unit_diagonal and has_tensors(A):
        raise UnsupportedError(
            "scipy.sparse.linalg.spsolve_triangular: unit_diagonal=True is not supported for a "
            "matrix whose values are tensors; write A + identity(n) of a matrix without diagonal"
        )
    options = {"lower": lower, "unit_diagonal": unit_diagonal}
    return _direct(ssl.spsolve_triangular, A, b, options)


class Factors:
    """The factors of a sparse matrix, as `splu` and `spilu` return them, which solve systems."""

    def __init__(self, original: Callable, A: Any, options: dict):
        label = f"scipy.sparse.linalg.{original.__name__}"
        refuse_tensors(label, options, "write a plain one")
        a = A if is_sparse(A) else sp.csc_array(A) if not has_tensor(A) else as_sparse(A)
        self._values, pattern = sparse(a).parts
        self._pattern = pattern.owning(np.copy)
        self.shape = self._pattern.shape
        if original is ssl.spilu and stop_gradient(self._values) is not self._values:
            raise UnsupportedError(
                "scipy.sparse.linalg.spilu: an incomplete factorization has no derivative by the "
                "matrix; write spilu(csc_matrix((functier.stop_gradient(A.data), A.indices, "
                "A.indptr), A.shape)) for a csc matrix A"
            )
        self._system = System(original, options, self._pattern)

    def solve(self, rhs: Any, trans: str = "N") -> Any:
        """Solve with the matrix, its transpose ('T') or its adjoint ('H')."""
        if trans not in ("N", "T", "H"):
            raise ValueError("trans must be N, T, or H")
        values, system = self._values, self._system
        if trans != "N":
            system = system.adjoint
            values = np.conjugate(values) if trans == "H" and values.dtype.kind == "c" else values
        rhs = fnp.asarray(rhs)
        if not has_tensor(values, rhs) and trans == "N":
            return self._plain.solve(rhs)
        return solved(system.solver, values, rhs, None, None, system)[0]

    __call__ = solve  # of `factorized`

    @property
    def _plain(self) -> Any:
        """SciPy's factors, of plain values."""
        return self._system.factors_of(np.asarray(self._values, float_of(self._values.dtype)))

    def __getattr__(self, name: str) -> Any:
        if name[:1] == "_":
            raise AttributeError(name)
        if has_tensor(self._values):
            raise UnsupportedError(
                f"scipy.sparse.linalg: the attribute {name!r} of the factors of a matrix whose "
                f"values are tensors is not supported; write scipy.linalg.lu(A.toarray())"
            )
        return getattr(self._plain, name)


def float_of(dtype: np.dtype) -> np.dtype:
    return dtype if dtype.char in "fdFD" else np.dtype(float)


def _factors(original: Callable) -> Callable:
    """Return the twin of `splu` or `spilu`."""
    parameters = inspect.signature(original)

    @functools.wraps(original)
    def twin(*args: Any, **kwargs: Any) -> Any:
        if is_outside(*args):
            return original(*args, **kwargs)
        given = dict(parameters.bind(*args, **kwargs).arguments)
        return Factors(original, given.pop("A"), given)

    return twin


@functools.wraps(ssl.factorized)
def factorized(A: Any) -> Any:
    return ssl.factorized(A) if is_outside(A) else Factors(ssl.splu, A, {})


TWINS: list[tuple[Any, Any]] = [
    (ssl.spsolve, spsolve),
    (ssl.spsolve_triangular, spsolve_triangular),
    (ssl.splu, _factors(ssl.splu)),
    (ssl.spilu, _factors(ssl.spilu)),
    (ssl.factorized, factorized),
    *[(getattr(ssl, name), _iterative(getattr(ssl, name))) for name in ITERATIVE],
]
"""Pairs of an object of SciPy and its twin."""
