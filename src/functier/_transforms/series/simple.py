"""Eigenvalues and singular values that have to be simple.

Equal ones do not determine their vectors. A rule of forward mode raises an error where a direction
mixes these, and takes them to stand still else. Along a curve they may turn nevertheless: those of
``[[1 + t, t**2], [t**2, 1]]`` do. So no coefficient beyond that of t is computed there.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ...protocol import Op, constant, primitive

ULPS = 1024
"""Gaps of so many units in the last place of the largest value count as closed, as in the rules."""

NAMES = {
    "eig", "eig_banded", "eigh", "eigh_tridiagonal", "eigvals", "eigvals_banded", "eigvalsh",
    "eigvalsh_tridiagonal", "svd", "svdvals",
}  # fmt: skip
"""The functions, of NumPy and of SciPy."""


def _check(w: Any, name: str) -> Any:
    """Return True; raise where two values are equal."""
    gap, size = np.absolute(w[..., None, :] - w[..., :, None]), np.absolute(w)
    largest = size.max(axis=-1, initial=0.0)[..., None, None]
    closed = gap <= ULPS * np.finfo(gap.dtype).eps * largest
    if np.any(closed & ~np.eye(w.shape[-1], dtype=bool)):
        raise np.linalg.LinAlgError(
            f"{name}: equal eigenvalues or singular values have no Taylor series beyond the first "
            f"derivative; for a function of a matrix write scipy.linalg.sqrtm, expm, polar or funm"
        )
    return np.ones((), bool)


check = primitive(_check)
constant(check, "w name", "w", vmap=lambda k, w, name: np.broadcast_to(check(w, name), (1,) * k))


def checker(op: Op, ans: Any) -> Callable | None:
    """Return a function of coefficients, which checks the values of `ans`; None without such."""
    if op.name.rpartition(".")[2] not in NAMES:
        return None
    values = min(ans, key=np.ndim) if isinstance(ans, (tuple, list)) else ans

    def checked(c: Any) -> Any:
        return None if c is None else np.where(check(values, op.name), c, np.nan)[()]

    return checked
