"""Least squares: the solution of smallest norm, and its residuals.

The derivative of the solution is that of the pseudoinverse, for a matrix of constant rank
(Golub and Pereyra, *The differentiation of pseudo-inverses*, 1973). Where the rank
changes, the solution is not continuous; the derivative there takes the rank that NumPy has
found, by `rcond`. The residuals are empty where the matrix has not full column rank, so a
batch has to agree in that.
"""

import numpy as np

from ..._core.errors import DataDependentError
from ..._core.numpy_facts import Value, align
from ..axes import batch_shape
from ..constructors import composite, op, primitive
from .contract import conj, ensure_array
from .gaps import check_cut
from .orthogonal import adjoint, as_column, as_row, linalg_dtype


def _tolerance(a: Value, rcond: Value) -> Value:
    """Return the part of the largest singular value up to which others count as zero."""
    eps = float(np.finfo(a.dtype).eps)
    if rcond is None:
        return eps * max(a.shape[-2:])
    return rcond if rcond >= 0 else eps


def _least_squares(a: Value, b: Value, rcond: Value = None) -> tuple:
    """Return the solution and the residuals, also for stacks of matrices."""
    if a.ndim == b.ndim == 2:
        return np.linalg.lstsq(a, b, rcond)[:2]
    k, n = a.ndim - 2, a.shape[-1]
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    kept = s > _tolerance(a, rcond) * s[..., :1]
    inverse = np.where(kept, 1 / np.where(kept, s, 1), 0)
    x = np.matmul(adjoint(vh), as_column(inverse) * np.matmul(adjoint(u), b))
    full = np.sum(kept, axis=-1) == n
    if a.shape[-2] <= n or (full.size and not np.any(full)):
        return x, np.zeros((*batch_shape(k, a, b), 0), s.dtype)
    if not np.all(full):
        raise DataDependentError(
            "the shape of the residuals of numpy.linalg.lstsq depends on the rank, which "
            "differs from example to example; write numpy.linalg.pinv(a) @ b"
        )
    return x, np.sum(np.square(np.abs(b - np.matmul(a, x))), axis=-2)


least_squares = primitive(_least_squares)


def _result_tangents(ans: Value, x: Value, r: Value, direction: Value) -> tuple:
    """Return the tangents of both results; `direction` is that of the residual for fixed x."""
    if ans[1].shape[-1] == 0:
        return x, None
    return x, 2 * np.sum(np.real(conj(r) * direction), axis=-2)


def _inverse(a: Value, rcond: Value) -> Value:
    """Return the pseudo-inverse for derivatives by the matrix."""
    p = np.linalg.pinv(a, _tolerance(a, rcond))
    check_cut(a, p)
    return p


def _jvp_a(t: Value, ans: Value, a: Value, b: Value, rcond: Value = None) -> tuple:
    x = ans[0]
    p = _inverse(a, rcond)
    r, along = b - np.matmul(a, x), np.matmul(t, x)
    outside = np.matmul(adjoint(t), np.matmul(adjoint(p), x))
    outside = outside - np.matmul(p, np.matmul(a, outside))
    rest = np.matmul(adjoint(p), np.matmul(adjoint(t), r)) - along
    return _result_tangents(ans, np.matmul(p, rest) + outside, r, -along)


def _jvp_b(t: Value, ans: Value, a: Value, b: Value, rcond: Value = None) -> tuple:
    p = np.linalg.pinv(a, _tolerance(a, rcond))
    return _result_tangents(ans, np.matmul(p, t), b - np.matmul(a, ans[0]), t)


def _cotangents(p: Value, g: Value, ans: Value, a: Value, b: Value) -> tuple:
    """Return the cotangents of the matrix and of the right-hand sides; `p` is its inverse."""
    x = ans[0]
    r = b - np.matmul(a, x)
    on_b = np.matmul(adjoint(p), g[0])
    on_a = np.matmul(r, adjoint(np.matmul(p, on_b)))
    outside = g[0] - np.matmul(p, np.matmul(a, g[0]))
    on_a = on_a + np.matmul(np.matmul(adjoint(p), x), adjoint(outside))
    if ans[1].shape[-1]:
        on_b = on_b + 2 * as_row(g[1]) * r
    return on_a - np.matmul(on_b, adjoint(x)), on_b


def _both_cotangents(g: Value, ans: Value, a: Value, b: Value, rcond: Value = None) -> tuple:
    return _cotangents(_inverse(a, rcond), g, ans, a, b)


def _vjp_b(g: Value, ans: Value, a: Value, b: Value, rcond: Value = None) -> Value:
    return _cotangents(np.linalg.pinv(a, _tolerance(a, rcond)), g, ans, a, b)[1]


op(
    least_squares,
    "a b rcond",
    "a b",
    vmap=lambda k, a, b, rcond=None: least_squares(*align(k, (a, b)), rcond),
    jvp={"a": _jvp_a, "b": _jvp_b},
    vjp={
        "a": lambda g, ans, a, b, rcond=None: _both_cotangents(g, ans, a, b, rcond)[0],
        "b": _vjp_b,
    },
    joint=_both_cotangents,
    by_value="a",
)


@lambda body: composite(np.linalg.lstsq, body)
def _lstsq(a: Value, b: Value, rcond: Value = None) -> tuple:
    a, b = ensure_array(a), ensure_array(b)
    if a.ndim != 2 or b.ndim not in (1, 2) or a.shape[0] != b.shape[0]:
        one, other = np.broadcast_to(0.0, a.shape), np.broadcast_to(0.0, b.shape)
        return np.linalg.lstsq(one, other)  # NumPy's error
    dtype = linalg_dtype(a, b)
    wide = np.result_type(dtype, np.float64)  # as NumPy has it: so the ranks agree
    a, b = np.astype(a, wide), np.astype(b, wide)
    x, residuals = least_squares(a, b if b.ndim == 2 else as_column(b), rcond)
    s = np.linalg.svdvals(a)
    rank = np.sum(s > _tolerance(a, rcond) * np.max(s, initial=0), dtype=np.int32)
    x = x if b.ndim == 2 else np.reshape(x, x.shape[:1])
    real = np.finfo(dtype).dtype
    x, residuals, s = (
        np.astype(y, t, copy=False) for y, t in ((x, dtype), (residuals, real), (s, real))
    )
    return x, residuals, rank, s
