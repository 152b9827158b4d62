"""Convolution, and polynomials by their coefficients, the highest first.

A multiple root has no derivative: it is infinite. Leading zeros make a polynomial shorter,
and its product or its remainder, too, so all examples of a batch must have the same number
of them.
"""

import numpy as np

from .._core.errors import DataDependentError
from .._core.numpy_facts import Value
from .._core.rule import Rule
from .axes import as_strong, convert_lists
from .by_value import real_unless, strip_zeros
from .constructors import composite, op, primitive
from .linalg.contract import conj
from .linalg.orthogonal import linalg_dtype
from .own_code import by_own_code

# ---- convolution ----


def _convolution(a: Value, v: Value) -> Value:
    """Return the full convolution: the sum of the rows of the outer product, row i shifted by i.

    It is in the operands' common dtype, as in NumPy: integers wrap around, and for booleans
    the sum is a disjunction.
    """
    n, m = np.shape(a)[0], np.shape(v)[0]
    if not n or not m:
        raise ValueError("a or v cannot be empty")
    rows = np.multiply(np.reshape(a, (n, 1)), np.reshape(v, (1, m)))
    rows = np.concatenate([rows, np.zeros((n, n), rows.dtype)], axis=1)
    shifted = np.reshape(np.reshape(rows, (-1,))[: n * (n + m - 1)], (n, n + m - 1))
    return np.sum(shifted, axis=0, dtype=None if rows.dtype.kind in "fc" else rows.dtype)


def _window(mode: str, longer: int, shorter: int) -> tuple:
    """Return the start of the part that `mode` asks for in the full result, and its length."""
    if mode == "full":
        return 0, longer + shorter - 1
    if mode == "same":
        return (shorter - 1) // 2, longer
    if mode == "valid":
        return shorter - 1, longer - shorter + 1
    raise ValueError(f"mode must be one of 'valid', 'same', or 'full' (got {mode!r})")


@lambda body: composite(np.convolve, body)
def _convolve(a: Value, v: Value, mode: str = "full") -> Value:
    a, v = (np.reshape(x, (1,)) if np.ndim(x) == 0 else x for x in (a, v))
    full = _convolution(a, v)
    start, length = _window(mode, *sorted((np.shape(a)[0], np.shape(v)[0]), reverse=True))
    return full[start : start + length]


@lambda body: composite(np.correlate, body)
def _correlate(a: Value, v: Value, mode: str = "valid") -> Value:
    n, m = np.shape(a)[0], np.shape(v)[0]
    full = _convolution(a, np.flip(conj(v)))
    start, length = _window(mode, max(n, m), min(n, m))
    if m > n:  # the roles are exchanged, and the result is reversed
        start = n + m - 1 - start - length
    return full[start : start + length]


# ---- polynomials ----


by_own_code(np.polyval, np.polyadd, np.polysub, np.polyder, np.polyint)


@lambda body: composite(np.polymul, body)
def _polymul(a1: Value, a2: Value) -> Value:
    a1, a2 = (np.atleast_1d(a) for a in convert_lists(a1, a2))
    # Without coefficients it is the polynomial 0.
    a1, a2 = (strip_zeros(a) if a.size else np.zeros(1, a.dtype) for a in (a1, a2))
    return np.convolve(a1, a2)


@lambda body: composite(np.polydiv, body)
def _polydiv(u: Value, v: Value) -> tuple:
    u, v = (np.atleast_1d(a) + 0.0 for a in convert_lists(u, v))
    if not u.size or not v.size:
        raise IndexError("numpy.polydiv: a polynomial without coefficients")
    rest = np.astype(u, np.result_type(u, v))
    steps, size = np.shape(u)[0] - np.shape(v)[0] + 1, np.shape(v)[0]
    quotient = []
    for k in range(steps):
        d = 1.0 / v[:1] * rest[k : k + 1]
        quotient.append(d)
        rest = np.concatenate([rest[:k], rest[k : k + size] - d * v, rest[k + size :]])
    whole = np.concatenate(quotient) if quotient else np.zeros(1, np.result_type(u, v))
    return whole, strip_zeros(rest, 1e-8, max(min(steps, np.shape(u)[0] - 1), 0))


# ---- polynomials and their roots ----


def _roots(p: Value) -> Value:
    """Return the roots of stacked polynomials: the eigenvalues of their companion matrices."""
    n = p.shape[-1] - 1
    if p.ndim == 1:
        return np.roots(p)
    rows = np.reshape(p, (-1, n + 1))
    if n < 1 or not np.all(rows[:, [0, -1]]):
        each = [np.roots(row) for row in rows]
        if len({row.shape for row in each}) != 1:
            raise DataDependentError(
                "the number of roots depends on the leading zeros, which differ from example "
                "to example; compute with polynomials of one degree"
            )
        return np.reshape(np.stack(each), (*p.shape[:-1], -1))
    companion = np.zeros((*p.shape[:-1], n, n), p.dtype)
    companion[..., range(1, n), range(n - 1)] = 1
    companion[..., 0, :] = -p[..., 1:] / p[..., :1]
    w = np.linalg.eigvals(companion)
    return w if p.dtype.kind == "c" else real_unless(w, np.imag(w) != 0)


roots = primitive(_roots)


def _root_jacobian(ans: Value, p: Value) -> Value:
    """Return the Jacobian of the roots by the coefficients, by implicit differentiation."""
    n = np.shape(p)[-1]
    exponents = np.arange(n - 1, -1, -1, dtype=np.finfo(p.dtype).dtype)
    powers = np.power(np.reshape(ans, (*np.shape(ans), 1)), exponents)
    slopes = np.reshape(p[..., :-1] * exponents[:-1], (*np.shape(p)[:-1], n - 1, 1))
    return -powers / np.matmul(powers[..., 1:], slopes)


def _roots_jvp(t: Value, ans: Value, p: Value) -> Value:
    moved = np.matmul(_root_jacobian(ans, p), np.reshape(t, (*np.shape(t), 1)))
    return np.reshape(moved, np.shape(ans))


def _roots_vjp(g: Value, ans: Value, p: Value) -> Value:
    moved = np.matmul(
        np.reshape(g, (*np.shape(g)[:-1], 1, np.shape(g)[-1])), _root_jacobian(ans, p)
    )
    return np.reshape(moved, np.shape(p))


op(
    roots,
    "p",
    vmap=lambda k, p: roots(p),
    by_value="p",
    jvp={"p": _roots_jvp},
    vjp={"p": Rule(_roots_vjp, ("p",), holomorphic=True)},
)


@lambda body: composite(np.roots, body)
def _roots_of(p: Value) -> Value:
    p = np.atleast_1d(*convert_lists(p))
    if np.ndim(p) != 1:
        raise ValueError("Input must be a rank-1 array.")
    return roots(p if p.dtype.kind in "fc" else np.astype(p, float))


@lambda body: composite(np.poly, body)
def _poly(seq_of_zeros: Value) -> Value:
    zeros = np.atleast_1d(*convert_lists(seq_of_zeros))
    shape, real = np.shape(zeros), np.result_type(zeros).kind != "c"
    if len(shape) == 2 and shape[0] == shape[1] != 0:
        zeros = np.linalg.eigvals(zeros)
    elif len(shape) == 1:
        zeros = np.astype(zeros, np.dtype(np.mintypecode(zeros.dtype.char)))
    else:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    a = np.ones(1, zeros.dtype)
    for i in range(shape[0]):
        a = np.convolve(a, np.concatenate([np.ones(1, zeros.dtype), -zeros[i : i + 1]]))
    if not shape[0]:
        return 1.0
    if real or zeros.dtype.kind != "c":  # a real matrix has pairs of complex eigenvalues
        return np.real(a)
    return real_unless(a, np.not_equal(np.sort(zeros), np.sort(np.conjugate(zeros))))


# ---- fitting ----


def _weigh(x: Value, w: Value) -> Value:
    """Return `x` times `w` in the dtype of `x`, as NumPy does."""
    y = x * w
    if not np.can_cast(y.dtype, x.dtype, "same_kind"):
        raise TypeError(f"numpy.polyfit: weights of dtype {w.dtype} do not fit {x.dtype}")
    return np.astype(y, x.dtype, copy=False)


@lambda body: composite(np.polyfit, body)
def _polyfit(
    x: Value,
    y: Value,
    deg: int,
    rcond: Value = None,
    full: bool = False,
    w: Value = None,
    cov: Value = False,
) -> Value:
    x, y = (as_strong(np.add(v, 0.0)) for v in convert_lists(x, y))
    if np.ndim(x) != 1 or np.ndim(y) not in (1, 2) or np.shape(x)[0] != np.shape(y)[0]:
        np.polyfit(np.broadcast_to(1.0, np.shape(x)), np.broadcast_to(1.0, np.shape(y)), deg)
    n, order = np.shape(x)[0], int(deg) + 1
    rcond = n * float(np.finfo(np.result_type(x)).eps) if rcond is None else rcond
    powers = np.vander(x, order)
    if w is not None:
        w = np.add(convert_lists(w)[0], 0.0)
        if np.shape(w) != np.shape(x):
            raise TypeError("expected a 1-d array for weights, of the length of y")
        powers = _weigh(powers, np.reshape(w, (-1, 1)))
        y = _weigh(y, np.reshape(w, (-1,) + (1,) * (np.ndim(y) - 1)))
    linalg_dtype(powers, y)
    scale = np.sqrt(np.sum(powers * powers, axis=0))
    powers = powers / scale
    if not full and not cov:  # the rank is not returned, and may differ in a batch
        solution, residuals = np.matmul(np.linalg.pinv(powers, rcond), y), None
    else:
        solution, residuals, rank, s = np.linalg.lstsq(powers, y, rcond)
    c = solution / np.reshape(scale, (-1,) + (1,) * (np.ndim(y) - 1))
    if full:
        return c, residuals, rank, s, rcond
    if not cov:
        return c
    base = np.linalg.inv(np.matmul(np.transpose(powers), powers)) / np.outer(scale, scale)
    if cov != "unscaled":
        if n <= order:
            raise ValueError(
                "the number of data points must exceed order to scale the covariance matrix"
            )
        residuals = residuals / (n - order)
    else:
        residuals = 1
    return c, (base if np.ndim(y) == 1 else np.reshape(base, (order, order, 1))) * residuals
