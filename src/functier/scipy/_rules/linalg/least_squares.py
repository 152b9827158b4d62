"""Rules for the least squares of `scipy.linalg`; the derivatives are those of NumPy's."""

from typing import Any

import numpy as np
import scipy.linalg as sl  # type: ignore[import-untyped]

from ...._core.numpy_facts import Value, align
from ...._rules.linalg.lstsq import least_squares
from ....protocol import op, primitive
from ..declare import declare_composite, record_of
from .stacks import for_each, lapack_dtype, matrices, refuse

RULES: Any = record_of(least_squares)


def lstsq(a: Value, b: Value, rcond: float, driver: str | None = None) -> tuple:
    x, residuals, rank, _ = sl.lstsq(a, b, rcond, check_finite=False, lapack_driver=driver)
    return x, residuals, np.int64(rank)


def _solution(a: Value, b: Value, rcond: float, driver: str | None = None) -> tuple:
    """Return the solution, the residuals and the rank, also for stacks of matrices."""
    return for_each(lstsq, 2, (a, b, rcond, driver), {})


solution = primitive(_solution)


def _jvp_a(t: Value, ans: Value, a: Value, b: Value, rcond: float) -> tuple:
    return *RULES.jvp["a"].fn(t, ans, a, b, rcond), None


def _jvp_b(t: Value, ans: Value, a: Value, b: Value, rcond: float) -> tuple:
    return *RULES.jvp["b"].fn(t, ans, a, b, rcond), None


def _both(g: Value, ans: Value, a: Value, b: Value, rcond: float) -> tuple:
    return RULES.joint.fn(g, ans, a, b, rcond)


op(
    solution,
    "a b rcond driver",
    "a b",
    vmap=lambda k, a, b, rcond, driver=None: solution(*align(k, (a, b)), rcond, driver),
    jvp={"a": _jvp_a, "b": _jvp_b},
    vjp={
        "a": lambda g, ans, a, b, rcond: _both(g, ans, a, b, rcond)[0],
        "b": lambda g, ans, a, b, rcond: _both(g, ans, a, b, rcond)[1],
    },
    joint=_both,
    by_value="a",
)


@declare_composite(sl, "lstsq")
def _lstsq(
    a: Value,
    b: Value,
    cond: float | None = None,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    lapack_driver: str | None = None,
) -> tuple:
    a, b = matrices(check_finite, a, b)
    vector = b.ndim == 1
    if a.ndim < 2 or b.ndim == 0 or a.shape[-2] != b.shape[0 if vector else -2]:
        refuse(sl.lstsq, a, b)
    dtype = lapack_dtype(a, b)
    a, b = np.astype(a, dtype, copy=False), np.astype(b, dtype, copy=False)
    rcond = float(np.finfo(dtype).eps) if cond is None else cond
    x, residuals, rank = solution(a, b[..., None] if vector else b, rcond, lapack_driver)
    driver = lapack_driver or sl.lstsq.default_lapack_driver
    s = None if driver == "gelsy" else np.linalg.svdvals(a)
    if vector:
        x = x[..., 0]
        residuals = residuals[..., 0] if residuals.shape[-1] else residuals
    return x, residuals, rank, s
