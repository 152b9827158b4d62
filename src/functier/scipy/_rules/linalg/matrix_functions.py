"""Rules for the functions of matrices of `scipy.linalg`.

The derivative of ``f`` at ``a`` along ``e`` is the upper right block of ``f([[a, e], [0, a]])``
(Higham, *Functions of Matrices*, 2008, (3.16)), and its adjoint is that along the adjoint of
the cotangent, transposed back. As a rule calls the same function of a larger matrix, all orders
follow. Square roots and signs satisfy an equation, which is solved instead.

NOTE [branch cuts]
    A logarithm or a power cuts the plane along the negative axis, where a real matrix may
    have eigenvalues. Each is two eigenvalues of the block matrix, which rounding puts on both
    sides of the cut. So a rule turns the plane first, by the angle that puts the cut in the
    middle of the free sector: within it the function is the same.
"""

from collections.abc import Callable

import numpy as np
import scipy.linalg as sl  # type: ignore[import-untyped]

from ...._core.errors import UnsupportedError
from ...._core.numpy_facts import Value, name_of
from ...._rules.linalg.orthogonal import adjoint
from ....protocol import constant, primitive, unsupported
from ..._dispatching import hide_draws
from ..declare import declare, declare_composite, dispatching
from .equations import sylvester
from .stacks import as_lapack, each_vmap, matrices, refuse

# ---- the derivative along a direction ----


def _scale_of(e: Value, a: Value) -> Value:
    """Return the power of 2 that makes the matrices `e` about as large as the matrices `a`."""
    exponents = []
    for x in (e, a):
        size = np.max(np.absolute(x), axis=(-2, -1), initial=0)
        exponents.append(np.where(size > 0, np.frexp(size)[1], 0))
    return np.ldexp(np.ones((), np.absolute(e[..., :0, :0]).dtype), exponents[0] - exponents[1])


scale_of = primitive(_scale_of)
constant(scale_of, "e a", "e a", vmap=lambda k, e, a: scale_of(e, a))


def frechet(func: Callable, a: Value, e: Value, *params: Value) -> Value:
    """Return the derivative of a function of square matrices along `e`.

    It is linear in `e`, which is scaled: a large one would cost digits.
    """
    n = a.shape[-1]
    scale = _as_factor(scale_of(e, a))
    return func(_block(a, e / scale, a), *params)[..., :n, n:] * scale


def _as_factor(x: Value) -> Value:
    """Return numbers, one for each matrix of a stack, as factors of the matrices."""
    return np.reshape(x, (*np.shape(x), 1, 1)) if np.ndim(x) else x


def _block(a: Value, e: Value, d: Value) -> Value:
    upper, lower = np.concatenate([a, e], axis=-1), np.concatenate([np.zeros_like(a), d], axis=-1)
    return np.concatenate([upper, lower], axis=-2)


# ---- expm ----


def _expm_vmap(k: int, A: Value) -> Value:
    return _expm(A) if A.ndim - k > 1 else _each_expm(k, A)


_expm = dispatching(sl.expm)
_each_expm = each_vmap(dispatching(sl.expm))


def _expm_jvp(t: Value, A: Value) -> Value:
    if np.ndim(A) < 2:  # one number, which SciPy takes as a matrix
        A, t = np.reshape(A, (1, 1)), np.reshape(t, (1, 1))
    return frechet(_expm, A, t)


def _expm_vjp(g: Value, A: Value) -> Value:
    if np.ndim(A) < 2:
        c = frechet(_expm, np.reshape(A, (1, 1)), np.reshape(np.conjugate(g), (1, 1)))
        return np.reshape(np.conjugate(c), np.shape(A))
    return adjoint(frechet(_expm, A, adjoint(g)))


declare(sl, "expm", "A", vmap=_expm_vmap, jvp={"A": _expm_jvp}, vjp={"A": _expm_vjp})


def _frechet_block(A: Value, E: Value, ans: Value) -> Value:
    """Return ``[[A, E], [0, A]]`` in the precision of the result."""
    shape = np.broadcast_shapes(A.shape, E.shape)
    A, E = (np.broadcast_to(np.astype(x, np.result_type(x, ans)), shape) for x in (A, E))
    return _block(A, E, A)


def _expm_frechet_jvp(A: Value, E: Value, t: Value, on_e: Value, ans: Value, pair: bool) -> Value:
    n, ans = A.shape[-1], ans[0] if pair else ans
    moved = frechet(_expm, _frechet_block(A, E, ans), _frechet_block(t, on_e, ans))
    return (moved[..., :n, :n], moved[..., :n, n:]) if pair else moved[..., :n, n:]


def _expm_frechet_both(
    g: Value, ans: Value, A: Value, E: Value, compute_expm: bool = True
) -> tuple:
    n = A.shape[-1]
    first, second = g if compute_expm else (np.zeros_like(g), g)
    last = np.zeros_like(second)
    whole = np.concatenate(
        [np.concatenate([first, second], axis=-1), np.concatenate([last, last], axis=-1)], axis=-2
    )
    block = _frechet_block(A, E, second)
    c = adjoint(frechet(_expm, block, adjoint(whole)))
    return c[..., :n, :n] + c[..., n:, n:], c[..., :n, n:]


declare(
    sl,
    "expm_frechet",
    "A E method compute_expm check_finite",
    "A E",
    vmap=each_vmap(dispatching(sl.expm_frechet)),
    jvp={
        "A": lambda t, ans, A, E, compute_expm=True: _expm_frechet_jvp(
            A, E, t, np.zeros_like(E), ans, compute_expm
        ),
        "E": lambda t, ans, A, E, compute_expm=True: _expm_frechet_jvp(
            A, E, np.zeros_like(A), t, ans, compute_expm
        ),
    },
    vjp={
        "A": lambda g, ans, A, E, compute_expm=True: _expm_frechet_both(g, ans, A, E, compute_expm)[
            0
        ],
        "E": lambda g, ans, A, E, compute_expm=True: _expm_frechet_both(g, ans, A, E, compute_expm)[
            1
        ],
    },
    joint=_expm_frechet_both,
)


# ---- trigonometric and hyperbolic functions, which SciPy too makes of expm ----


def _declare_of_expm(name: str, body: Callable) -> None:
    func = dispatching(getattr(sl, name))

    def rule(k: int, A: Value) -> Value:
        return body(A) if A.ndim - k > 1 and A.shape[-1] == A.shape[-2] else func(A[(0,) * k])

    declare(
        sl,
        name,
        "A",
        vmap=rule,
        jvp={"A": lambda t, A: frechet(body, A, t)},
        vjp={"A": lambda g, A: adjoint(frechet(body, A, adjoint(g)))},
    )


def _cos(A: Value) -> Value:
    if np.iscomplexobj(A):
        return 0.5 * (_expm(1j * A) + _expm(-1j * A))
    return np.real(_expm(1j * A))


def _sin(A: Value) -> Value:
    if np.iscomplexobj(A):
        return -0.5j * (_expm(1j * A) - _expm(-1j * A))
    return np.imag(_expm(1j * A))


def _cosh(A: Value) -> Value:
    return 0.5 * (_expm(A) + _expm(-A))


def _sinh(A: Value) -> Value:
    return 0.5 * (_expm(A) - _expm(-A))


_declare_of_expm("cosm", _cos)
_declare_of_expm("sinm", _sin)
_declare_of_expm("tanm", lambda A: np.linalg.solve(_cos(A), _sin(A)))
_declare_of_expm("coshm", _cosh)
_declare_of_expm("sinhm", _sinh)
_declare_of_expm("tanhm", lambda A: np.linalg.solve(_cosh(A), _sinh(A)))

# ---- sqrtm and signm, by equations ----


def _one_result(func: Callable, ans: Value) -> None:
    """Refuse the error estimate of ``disp=False``, which SciPy 1.18 drops."""
    if isinstance(ans, (tuple, list)):
        raise UnsupportedError(
            f"{name_of(func)} with disp=False has no derivative; leave disp out, and estimate the "
            f"error from the result"
        )


def _sqrtm_jvp(t: Value, ans: Value) -> Value:
    _one_result(sl.sqrtm, ans)
    return sylvester(ans, ans, t)


def _sqrtm_vjp(g: Value, ans: Value) -> Value:
    _one_result(sl.sqrtm, ans)
    return sylvester(adjoint(ans), adjoint(ans), g)


declare(
    sl,
    "sqrtm",
    "A disp blocksize",
    vmap=each_vmap(dispatching(sl.sqrtm)),
    jvp={"A": _sqrtm_jvp},
    vjp={"A": _sqrtm_vjp},
)


def _signm_parts(ans: Value, A: Value) -> tuple:
    """Return the sign and the factor ``(A A)^(1/2)``, Higham (5.10)."""
    _one_result(sl.signm, ans)
    return ans, np.matmul(ans, A)


def _signm_jvp(t: Value, ans: Value, A: Value) -> Value:
    """Solve Higham's (5.11), of Kenney and Laub."""
    s, n = _signm_parts(ans, A)
    return sylvester(n, n, t - np.matmul(np.matmul(s, t), s))


def _signm_vjp(g: Value, ans: Value, A: Value) -> Value:
    s, n = (adjoint(x) for x in _signm_parts(ans, A))
    z = sylvester(n, n, g)
    return z - np.matmul(np.matmul(s, z), s)


declare(
    sl,
    "signm",
    "A disp",
    vmap=each_vmap(dispatching(sl.signm)),
    jvp={"A": _signm_jvp},
    vjp={"A": _signm_vjp},
)

# ---- logm and fractional_matrix_power ----

hide_draws(sl.logm, sl.fractional_matrix_power)  # they estimate norms


def _turn(a: Value) -> Value:
    """Return the angle of NOTE [branch cuts]; a singular matrix raises `LinAlgError`."""
    a = as_lapack(a)
    a = np.astype(a, float) if a.dtype.kind in "biu" else a
    if a.ndim > 2:
        found = [_turn(x) for x in a.reshape((-1, *a.shape[-2:]))]
        return np.reshape(np.array(found, np.finfo(a.dtype).dtype), a.shape[:-2])
    w = np.linalg.eigvals(a)
    size = np.absolute(w)
    if not w.size:
        return np.zeros(())
    if not np.min(size) > 1e-14 * np.max(size):
        raise np.linalg.LinAlgError(
            "logarithms and powers of a singular matrix have no derivative, or one that cannot "
            "be computed from it"
        )
    angle = np.where(w.imag == 0, np.arctan2(0.0, w.real), np.angle(w))
    return 0.5 * (np.max(angle) + np.min(angle))


turn = primitive(_turn)
constant(turn, "a", vmap=lambda k, a: turn(a))


def _turned(a: Value, real: bool) -> tuple:
    """Return a factor that turns the plane, and its angle; a `real` result needs none."""
    angle = turn(a)
    if real:
        return 1.0, 0.0
    return np.exp(-1j * _as_factor(angle)), _as_factor(angle)


def _logm_along(ans: Value, A: Value, e: Value) -> Value:
    _one_result(sl.logm, ans)
    A, e = as_lapack(A), as_lapack(e)  # SciPy computes with long complex numbers in single
    factor, _ = _turned(A, ans.dtype.kind == "f")
    return frechet(dispatching(sl.logm), A * factor, e * factor)


def _logm_vjp(g: Value, ans: Value, A: Value) -> Value:
    _one_result(sl.logm, ans)
    return adjoint(_logm_along(ans, A, adjoint(g)))


declare(
    sl,
    "logm",
    "A disp",
    vmap=each_vmap(dispatching(sl.logm)),
    jvp={"A": lambda t, ans, A: _logm_along(ans, A, t)},
    vjp={"A": _logm_vjp},
)

_power = dispatching(sl.fractional_matrix_power)


def _power_along(ans: Value, A: Value, p: Value, e: Value) -> Value:
    if type(p) in (int, float) and p == int(p):
        return frechet(np.linalg.matrix_power, A, e, int(p))
    A, e = as_lapack(A), as_lapack(e)
    factor, angle = _turned(A, ans.dtype.kind == "f")
    moved = frechet(_power, A * factor, e * factor, p)
    moved = moved if ans.dtype.kind == "f" else moved * np.exp(1j * angle * p)
    return np.astype(moved, np.result_type(moved, ans), copy=False)


def _power_by_exponent(ans: Value, A: Value) -> Value:
    """Return the derivative with respect to the exponent."""
    log = dispatching(sl.logm)(as_lapack(A))
    turn(A)  # it has an error for a singular matrix
    if log.dtype.kind == "c" and ans.dtype.kind == "f":
        raise UnsupportedError(
            "scipy.linalg.fractional_matrix_power has no derivative with respect to an integral "
            "exponent if other powers are complex; give the matrix a complex dtype"
        )
    return np.matmul(log, ans)


declare(
    sl,
    "fractional_matrix_power",
    "A t",
    "A t",
    vmap=each_vmap(dispatching(sl.fractional_matrix_power)),
    jvp={
        "A": lambda g, ans, A, t: _power_along(ans, A, t, g),
        "t": lambda g, ans, A: g * _power_by_exponent(ans, A),
    },
    vjp={
        "A": lambda g, ans, A, t: adjoint(_power_along(ans, A, t, adjoint(g))),
        "t": lambda g, ans, A: np.sum(np.conjugate(_power_by_exponent(ans, A)) * g),
    },
)

# ---- the others ----


@declare_composite(sl, "expm_cond")
def _expm_cond(A: Value, check_finite: bool = True) -> Value:
    """Return the condition of `expm`: the norm of its derivative, as a matrix of ``n**2`` rows."""
    (A,) = matrices(check_finite, A)
    if A.ndim < 2 or A.shape[-1] != A.shape[-2] or not A.shape[-1]:
        refuse(sl.expm_cond, A)
    n = A.shape[-1]
    wide = np.astype(A, np.result_type(A, float))[..., None, :, :]
    wide = np.broadcast_to(wide, (*A.shape[:-2], n * n, n, n))
    units = np.broadcast_to(np.eye(n * n).reshape(n * n, n, n), wide.shape)
    moved = _expm(_block(wide, units, wide))[..., :n, n:]
    largest = np.linalg.norm(moved.reshape((*A.shape[:-2], n * n, n * n)), 2, axis=(-2, -1))
    own, result = (np.linalg.norm(x, axis=(-2, -1)) for x in (A, _expm(A)))
    return largest * own / result


unsupported(
    sl.funm,
    "its function gets a plain array of eigenvalues; write w, v = numpy.linalg.eig(a), and "
    "(v * func(w)) @ numpy.linalg.inv(v)",
)
