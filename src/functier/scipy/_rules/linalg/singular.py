"""Rules for the singular values of `scipy.linalg`; the derivatives are those of NumPy's."""

from typing import Any

import numpy as np
import scipy.linalg as sl  # type: ignore[import-untyped]

from ...._core.numpy_facts import Value
from ....protocol import op, primitive
from ..declare import declare_composite, record_of
from .stacks import LAPACK, at_once, for_each, matrices, refuse


def svd_of_one(
    a: Value, full_matrices: bool = True, compute_uv: bool = True, driver: str = "gesdd"
) -> Any:
    return sl.svd(a, full_matrices, compute_uv, check_finite=False, lapack_driver=driver)


def _svd(
    a: Value, full_matrices: bool = True, compute_uv: bool = True, driver: str = "gesdd"
) -> Any:
    """Return the decomposition of a matrix or of each of a stack, or the values alone."""
    if a.ndim > 2 and not compute_uv and a.dtype.char in LAPACK:
        return np.linalg.svd(a, compute_uv=False)
    return for_each(svd_of_one, 1, (a, full_matrices, compute_uv, driver), {})


svd = primitive(_svd)
op(
    svd,
    "a full_matrices compute_uv driver",
    vmap=at_once(svd),
    jvp=record_of(np.linalg.svd).jvp,
    vjp=record_of(np.linalg.svd).vjp,
)


@declare_composite(sl, "svd")
def _scipy_svd(
    a: Value,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    (a,) = matrices(check_finite, a)
    if a.ndim < 2 or lapack_driver not in ("gesdd", "gesvd"):
        refuse(sl.svd, a, lapack_driver=lapack_driver)
    return svd(a, full_matrices, compute_uv, lapack_driver)


@declare_composite(sl, "svdvals")
def _svdvals(a: Value, overwrite_a: bool = False, check_finite: bool = True) -> Value:
    (a,) = matrices(check_finite, a)
    if a.ndim < 2:
        refuse(sl.svdvals, a)
    return svd(a, True, False)
