"""Twins for `scipy.sparse.linalg`: norms, exponentials and eigenvalues, and the table of all.

NOTE [dense ways]
    SciPy finds exponentials, eigenvalues and singular values of a sparse matrix by iterations that
    have no derivative. Where the values of the matrix are tensors, the dense matrix is used.
"""

import functools
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
import scipy.linalg as sl  # type: ignore[import-untyped]
import scipy.sparse.linalg as ssl  # type: ignore[import-untyped]

from .. import numpy as fnp
from .._core.errors import UnsupportedError
from . import _linear_operators, _sparse_solvers
from ._linear_operators import is_operator
from ._rules.declare import dispatching
from ._rules.sparse.products import expm_product
from ._sparse_making import has_tensors, is_outside, of_plain, plainly
from ._sparse_parts import is_sparse
from ._sparse_solvers import as_sparse, parts_of
from ._sparse_tensor import sparse


def dense_of(a: Any, label: str) -> Any:
    """Return a matrix as an array; see NOTE [dense ways]."""
    if is_operator(a):
        raise UnsupportedError(
            f"scipy.sparse.linalg.{label} of an operator beside tensors is not supported; write "
            f"a matrix"
        )
    return sparse(a).toarray() if is_sparse(a) else fnp.asarray(a)


def twin(original: Callable) -> Callable:
    """Decorate a function of the arguments of SciPy's, for those with a tensor."""
    parameters = inspect.signature(original)

    def made(body: Callable) -> Callable:
        @functools.wraps(original)
        def call(*args: Any, **kwargs: Any) -> Any:
            if is_outside(*args, *kwargs.values()):
                return original(*args, **kwargs)
            if not has_tensors(*args, *kwargs.values()):
                return plainly(original, args, kwargs)
            given = parameters.bind(*args, **kwargs).arguments
            known = inspect.signature(body).parameters
            for name, value in given.items():
                usual = parameters.parameters[name].default
                if name not in known and (np.ndim(value) or value != usual):
                    raise UnsupportedError(
                        f"scipy.sparse.linalg.{original.__name__}: {name} beside tensors is not "
                        f"supported; leave it out"
                    )
            return body(**{name: v for name, v in given.items() if name in known})

        TWINS.append((original, call))
        return call

    return made


TWINS: list[tuple[Any, Any]] = [*_sparse_solvers.TWINS, *_linear_operators.TWINS]
"""Pairs of an object of SciPy and its twin."""

# ---- norms ----


@twin(ssl.norm)
def norm(x: Any, ord: Any = None, axis: Any = None) -> Any:
    if axis is None and ord in (None, "fro", "f"):
        return np.linalg.norm(sparse(x).canonical.values)
    whole = dense_of(x, "norm")
    if axis is None and ord == 0:
        return np.sum(whole != 0)
    return np.linalg.norm(whole, ord, axis if axis is not None else (0, 1))


# ---- functions of a matrix ----


@twin(ssl.expm)
def expm(A: Any) -> Any:
    found = dispatching(sl.expm)(dense_of(A, "expm"))
    return as_sparse(found) if is_sparse(A) else found


@twin(ssl.inv)
def inv(A: Any) -> Any:
    return as_sparse(np.linalg.inv(dense_of(A, "inv"))).asformat("csc")


@twin(ssl.matrix_power)
def matrix_power(A: Any, power: int) -> Any:
    if power < 1:
        raise UnsupportedError(
            "scipy.sparse.linalg.matrix_power: only positive powers of a matrix of tensors are "
            "supported; write scipy.sparse.eye_array(n)"
        )
    a, made = sparse(A), sparse(A)
    for _ in range(power - 1):
        made = made @ a
    return made


@twin(ssl.expm_multiply)
def expm_multiply(
    A: Any, B: Any, start: Any = None, stop: Any = None, num: Any = None, endpoint: Any = None,
    traceA: Any = None,
) -> Any:  # fmt: skip
    B = fnp.asarray(B)
    times: Any = None
    if not (start is None and stop is None and num is None and endpoint is None):
        if has_tensors(start, stop):
            raise UnsupportedError(
                "scipy.sparse.linalg.expm_multiply: times that are tensors are not supported; "
                "write expm_multiply(A * t, B) for each time t"
            )
        given = {"num": num, "endpoint": endpoint}
        times = np.linspace(start, stop, **{k: v for k, v in given.items() if v is not None})
    if has_tensors(A):
        a = dense_of(A, "expm_multiply")
        if times is None:
            return dispatching(sl.expm)(a) @ B
        return np.stack([dispatching(sl.expm)(a * t) @ B for t in times])
    if is_operator(A):
        dense_of(A, "expm_multiply")
    values, pattern = parts_of(A)
    B = np.astype(B, np.result_type(B.dtype, values.dtype, np.float32), copy=False)
    if times is None:
        return expm_product(B, values, pattern)
    return np.stack([expm_product(B, values * t, pattern) for t in times])


# ---- eigenvalues ----

WHICH: dict[str, Callable] = {
    "LM": lambda w: np.argsort(-np.abs(w), kind="stable"),
    "SM": lambda w: np.argsort(np.abs(w), kind="stable"),
    "LA": lambda w: np.argsort(-w, kind="stable"),
    "SA": lambda w: np.argsort(w, kind="stable"),
}
"""The order in which eigenvalues are chosen."""


@twin(ssl.eigsh)
def eigsh(
    A: Any, k: int = 6, M: Any = None, which: str = "LM", sigma: Any = None, v0: Any = None,
    ncv: Any = None, maxiter: Any = None, tol: Any = 0, return_eigenvectors: bool = True,
    rng: Any = None,
) -> Any:  # fmt: skip
    given = [dense_of(a, "eigsh") for a in (A, M) if a is not None]
    w, v = np.linalg.eigh(*given) if M is None else dispatching(sl.eigh)(*given)
    if which not in WHICH or (sigma is not None and which != "LM"):
        raise UnsupportedError(
            f"scipy.sparse.linalg.eigsh: which={which!r} beside tensors is not supported; write "
            f"'LM', 'SM', 'LA' or 'SA', or 'LM' with sigma"
        )
    order = WHICH[which](w) if sigma is None else np.argsort(np.abs(w - sigma), kind="stable")
    chosen = np.sort(order[:k])
    w = np.take_along_axis(w, chosen, axis=0)
    if not return_eigenvectors:
        return w
    return w, np.take_along_axis(v, chosen[None], axis=1)


@twin(ssl.svds)
def svds(
    A: Any, k: int = 6, ncv: Any = None, tol: Any = 0, which: str = "LM", v0: Any = None,
    maxiter: Any = None, return_singular_vectors: Any = True, solver: Any = "arpack",
    rng: Any = None, options: Any = None,
) -> Any:  # fmt: skip
    u, s, vh = np.linalg.svd(dense_of(A, "svds"), full_matrices=False)
    if which not in ("LM", "SM") or return_singular_vectors not in (True, False):
        raise UnsupportedError(
            "scipy.sparse.linalg.svds beside tensors: which is 'LM' or 'SM', and "
            "return_singular_vectors True or False"
        )
    part = slice(k) if which == "LM" else slice(s.shape[0] - k, None)
    s = s[part][::-1]
    return (u[:, part][:, ::-1], s, vh[part][::-1]) if return_singular_vectors else s


_known = [original for original, _ in TWINS]
for _name in ssl.__all__:
    _original = getattr(ssl, _name)
    if isinstance(_original, FunctionType) and _original not in _known:
        TWINS.append((_original, of_plain(_original)))
