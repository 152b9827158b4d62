"""Twins for `scipy.sparse.linalg`: solvers of linear systems."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp  # type: ignore[import-untyped]
import scipy.sparse.linalg as ssl  # type: ignore[import-untyped]

from .. import numpy as fnp
from .._core.errors import UnsupportedError
from .._core.tensor import Tensor
from .._rules.scipy.sparse.patterns import Pattern, pattern_of
from .._rules.scipy.sparse.systems import System, solution
from .._transforms.stop_gradient import stop_gradient
from ._problems import has_tensor

ITERATIVE = (
    "cg", "cgs", "bicg", "bicgstab", "gmres", "lgmres", "minres", "qmr", "gcrotmk", "tfqmr",
)  # fmt: skip
"""The solvers that multiply by the matrix only; all return the solution and a number."""


def parts_of(matrix: Any) -> tuple[Any, Pattern | None]:
    """Return the values of a matrix, and their pattern; None for a dense matrix."""
    if sp.issparse(matrix):
        return pattern_of(matrix)
    return fnp.asarray(matrix), None


def refuse_tensors(label: str, options: dict, remedy: str) -> None:
    """Raise where an option is a tensor."""
    for name, value in options.items():
        if has_tensor(value):
            raise UnsupportedError(f"{label}: a tensor as {name} is not supported; {remedy}")


def _iterative(original: Callable) -> Callable:
    """Return the twin of a solver that returns the solution and a number."""
    parameters, label = inspect.signature(original), f"scipy.sparse.linalg.{original.__name__}"

    @functools.wraps(original)
    def solver(*args: Any, **options: Any) -> Any:
        given = dict(parameters.bind(*args, **options).arguments)
        a, b = given.pop("A"), given.pop("b")
        start, m = given.get("x0"), given.get("M")
        if not has_tensor(a, b, start, m, *given.values()):
            return original(*args, **options)
        of_m = None
        if m is not None and has_tensor(m):
            m, of_m = parts_of(stop_gradient(given.pop("M")))
        else:
            m = None
        start = stop_gradient(given.pop("x0")) if has_tensor(start) else None
        refuse_tensors(label, given, "write functier.stop_gradient or a number")
        operator = a if isinstance(a, ssl.LinearOperator) else None
        a, pattern = (None, None) if operator is not None else parts_of(a)
        system = System(original, given, pattern, of_m, operator)
        x, info = _solve(original, a, b, start, m, system)
        return x, info if isinstance(info, Tensor) else int(info)

    return solver


def _solve(original: Callable, a: Any, b: Any, start: Any, m: Any, system: System) -> Any:
    """Return the result of `solution` for arguments in all of SciPy's forms."""
    b = fnp.asarray(b)
    shape = system.shape(a)
    if len(shape) != 2 or shape[0] != shape[1] or b.ndim not in (1, 2) or b.shape[0] != shape[0]:
        original(np.zeros(shape), np.zeros(b.shape))  # SciPy's error
    single = original is not ssl.spsolve or b.ndim == 1 or b.shape[1] == 1
    if single:
        if b.size != shape[0]:
            original(np.eye(shape[0]), np.zeros(b.shape))  # SciPy's error
        b = np.reshape(b, -1)
    kinds = [_computed(original, x.dtype) for x in (a, b) if x is not None]
    if a is None:
        kinds.append(_computed(original, np.dtype(getattr(system.operator, "dtype", None))))
    else:
        a = np.astype(a, kinds[0], copy=False)
    b = np.astype(b, np.result_type(*kinds), copy=False)
    return solution(a, b, start, m, system=system)


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


@functools.wraps(ssl.spsolve)
def spsolve(A: Any, b: Any, permc_spec: Any = None, use_umfpack: bool = True) -> Any:
    if not has_tensor(A, b):
        return ssl.spsolve(A, b, permc_spec, use_umfpack)
    if sp.issparse(b):
        raise UnsupportedError(
            "scipy.sparse.linalg.spsolve: a sparse right-hand side beside a tensor is not "
            "supported; write b.toarray()"
        )
    a, pattern = parts_of(A)
    options = {"permc_spec": permc_spec, "use_umfpack": use_umfpack}
    return _solve(ssl.spsolve, a, b, None, None, System(ssl.spsolve, options, pattern))[0]


TWINS: list[tuple[Any, Any]] = [
    (ssl.spsolve, spsolve),
    *[(getattr(ssl, name), _iterative(getattr(ssl, name))) for name in ITERATIVE],
]
"""Pairs of an object of SciPy and its twin."""
