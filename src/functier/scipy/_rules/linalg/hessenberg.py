"""Rules for Hessenberg's form in `scipy.linalg`.

NOTE [the derivative of Hessenberg's form]
    Of ``a = q h q^H`` the derivative is ``q^H da q = dh + s h - h s``, where ``s = q^H dq`` is
    skew-Hermitian. The first column of q is the first unit vector, so that of s is zero. Below the
    subdiagonal dh is zero: these equations give the part of s below its diagonal, one column after
    the other (`solve_columns`). Of a complex matrix LAPACK makes the subdiagonal real, which gives
    the diagonal of s. Where an element of the subdiagonal is zero, the next columns of q jump.
"""

from typing import Any

import numpy as np
import scipy.linalg as sl  # type: ignore[import-untyped]

from ...._core.numpy_facts import Value
from ...._rules.linalg.contract import conj
from ...._rules.linalg.factorization import adjoint, reciprocal
from ....protocol import op, primitive
from ..declare import declare_composite
from .batches import as_lapack
from .schur import commuted, declare_solver, on_subdiagonal, skew
from .stacks import at_once, checked, lapack_dtype, require_square, stacking

# ---- the equation below the subdiagonal ----


def _solve_columns(h: Value, m: Value, back: bool = False) -> Value:
    """Return the x for which ``h x - x h`` is `m` below the subdiagonal.

    It is zero but for the elements below the diagonal and right of the first column. `back`: its
    transpose, the x below the subdiagonal for which ``h^H x - x h^H`` is `m` in these elements.
    """
    x, n = np.zeros_like(m), m.shape[-1]
    below = np.diagonal(h, -1, -2, -1)
    if not np.all(below if h.dtype.kind == "c" else below[..., : n - 2]):
        raise np.linalg.LinAlgError(
            "scipy.linalg.hessenberg has no derivative where a number below the diagonal of the "
            "result is zero, because the other factor jumps there"
        )
    for j in range(n - 2)[:: -1 if back else 1]:
        if back:
            rows = slice(j + 2, None)
            known = adjoint(h)[..., rows, :] @ x[..., :, j + 1, None]
            known = known - x[..., rows, j + 1 :] @ conj(h[..., j + 1, j + 1 :, None])
            found = known[..., 0] - m[..., rows, j + 1]
            x[..., rows, j] = found / conj(below[..., j, None])
        else:
            rows = slice(j + 2, None)
            known = h[..., rows, :] @ x[..., :, j, None]
            known = known - x[..., rows, : j + 1] @ h[..., : j + 1, j, None]
            x[..., rows, j + 1] = (known[..., 0] - m[..., rows, j]) / below[..., j, None]
    return x


solve_columns = primitive(_solve_columns)
declare_solver(solve_columns)

# ---- hessenberg ----

hessenberg = primitive(
    stacking("hessenberg", lambda a: sl.hessenberg(a, calc_q=True, check_finite=False))
)


def _jvp(d: Value, ans: tuple) -> tuple:
    h, q = ans
    moved = np.matmul(np.matmul(adjoint(q), d), q)
    s = skew(-solve_columns(h, moved))
    if h.dtype.kind == "c":
        turned = np.imag(np.diagonal(moved + commuted(h, s), -1, -2, -1))
        angles = np.cumsum(turned * reciprocal(np.real(np.diagonal(h, -1, -2, -1))), axis=-1)
        angles = np.concatenate([np.zeros_like(angles[..., :1]), angles], axis=-1)
        s = s + 1j * (np.eye(h.shape[-1], dtype=angles.dtype) * angles[..., None, :])
    return np.triu(moved + commuted(h, s), -1), np.matmul(q, s)


def _vjp(g: tuple, ans: tuple) -> Value:
    h, q = ans
    on_h, on_q = np.triu(g[0], -1), np.matmul(adjoint(q), g[1])
    if h.dtype.kind == "c":
        on_angles = np.imag(np.diagonal(on_q + commuted(adjoint(h), on_h), 0, -2, -1))
        on_angles = np.flip(np.cumsum(np.flip(on_angles[..., 1:], -1), axis=-1), -1)
        on_turned = on_angles * reciprocal(np.real(np.diagonal(h, -1, -2, -1)))
        on_h = on_h + 1j * on_subdiagonal(on_turned)
    on_s = skew(on_q + commuted(adjoint(h), on_h))
    return np.matmul(np.matmul(q, on_h - solve_columns(h, on_s, True)), adjoint(q))


op(hessenberg, "a", vmap=at_once(hessenberg), jvp={"a": _jvp}, vjp={"a": _vjp})


@declare_composite(sl, "hessenberg")
def _scipy_hessenberg(
    a: Value, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    (a,) = checked(check_finite, a)
    require_square(sl.hessenberg, a)
    n = a.shape[-1]
    if 0 < n <= 2:  # which SciPy leaves as it is
        return (a, np.broadcast_to(np.eye(n), a.shape)) if calc_q else a
    a = as_lapack(a)
    found = hessenberg(np.astype(a, lapack_dtype(a), copy=False))
    return found if calc_q else found[0]
