"""References for a transform's results: loops, finite differences, and how near is near."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


class Inconclusive(Exception):
    """Nothing can be said here: a kink, a NaN, or numbers that rounding decides."""


# ---- nearness ----


def eps_of(values: Sequence[Any]) -> float:
    """The coarsest precision among the dtypes of values."""
    kinds = {np.result_type(v) for v in values}
    return max((float(np.finfo(t).eps) for t in kinds if t.kind in "fc"), default=0.0)


def form(x: Any) -> tuple:
    return np.shape(x), np.result_type(x)


def check_forms(actual: Sequence[Any], expected: Sequence[tuple]) -> None:
    assert len(actual) == len(expected), f"{len(actual)} results, expected {len(expected)}"
    for i, (a, (shape, dtype)) in enumerate(zip(actual, expected)):
        assert np.shape(a) == shape, f"result {i}: shape {np.shape(a)}, expected {shape}"
        found = np.result_type(a)
        assert found == dtype, f"result {i}: dtype {found}, expected {dtype}"


def distance(a: np.ndarray, e: np.ndarray) -> float:
    """The largest difference, by the scale of what is expected; 0 for equal NaN and infinities."""
    if not e.size:
        return 0.0
    if e.dtype.kind not in "fc":
        return 0.0 if np.array_equal(a, e) else np.inf
    wide = np.complex128 if e.dtype.kind == "c" else np.float64
    a, e = a.astype(wide), e.astype(wide)
    finite = np.isfinite(e)
    if not np.array_equal(finite, np.isfinite(a)) or not np.array_equal(np.isnan(a), np.isnan(e)):
        return np.inf
    if e.dtype.kind == "f" and not np.array_equal(a[~finite], e[~finite], equal_nan=True):
        return np.inf
    if not finite.any():
        return 0.0
    scale = max(float(np.max(np.abs(e[finite]))), 1e-3)
    return float(np.max(np.abs(a[finite] - e[finite]))) / scale


def differs(actual: Sequence, expected: Sequence, tolerance: float) -> str:
    """The difference, as a text; empty where all is near."""
    for i, (a, e) in enumerate(zip(actual, expected)):
        a, e = np.asarray(a), np.asarray(e)
        off = distance(a, e)
        if not off <= tolerance:
            return f"result {i}: off by {off:.2g}: got {short(a)}, expected {short(e)}"
    return ""


def short(x: np.ndarray) -> str:
    return np.array2string(x, precision=6, threshold=30).replace("\n", "")[:200]


def tolerance_of(values: Sequence[Any], times: float = 1.0) -> float:
    """The tolerance of results that are computed in another order."""
    eps = eps_of(values)
    return times * (1e-9 if eps < 1e-10 else 2e-4 if eps < 1e-5 else 0.03)


def unstable(reference: Callable, points: Sequence[Any], off: float, zeros: bool) -> bool:
    """Tell if rounding of the operands moves a reference as far as a result is off.

    `zeros`: what is zero moves too, as a zero that was computed may be a little more or less.
    """
    rng = np.random.default_rng(0)
    before = reference(points)
    eps = max(eps_of([*points, *before]), 1e-15)
    for _ in range(3):
        moved = [
            (x * (1 + 4 * eps * rng.choice([-1, 1], np.shape(x)))
             + zeros * eps * rng.choice([-1, 1], np.shape(x))).astype(x.dtype)
            if x.dtype.kind in "fc" else x
            for x in points
        ]  # fmt: skip
        try:
            after = reference(moved)
        except Exception:
            return True
        for a, e in zip(after, before):
            a, e = np.asarray(a), np.asarray(e)
            if a.shape != e.shape or a.dtype != e.dtype or 30 * distance(a, e) >= off:
                return True
    return False


# ---- finite differences ----

STEP = 1e-3


def numeric(
    f: Callable, points: Sequence[Any], tangents: Sequence[Any], step: float = STEP
) -> list:
    """The derivative of `f` along tangents, and how far it is to be trusted, for each result.

    Computed in double precision. Where the slopes to both sides or of two steps differ (a
    kink, a jump, noise), the second is infinite.
    """
    wide = [np.asarray(x).astype(np.result_type(x, np.float64)) for x in points]

    def moved(h: float) -> list:
        xs = [x + h * t.astype(x.dtype) for x, t in zip(wide, tangents)]
        return [np.asarray(y) for y in f(*xs)]

    middle = moved(0.0)
    at = {}
    for h in (step, -step, 2 * step, -2 * step, step / 3, -step / 3):
        at[h] = moved(h)
        if [form(y) for y in at[h]] != [form(y) for y in middle]:
            raise Inconclusive
    found = []
    for i, y0 in enumerate(middle):
        if y0.dtype.kind not in "fc":
            y0 = y0.astype(float)
        p, m, pp, mm, p3, m3 = (at[h][i] for h in at)
        fine = (8 * (p - m) - (pp - mm)) / (12 * step)
        coarse = (p3 - m3) / (2 * step / 3)
        right = (-3 * y0 + 4 * p - pp) / (2 * step)
        left = (3 * y0 - 4 * m + mm) / (2 * step)
        # Both are off by terms of second order in the step.
        error = np.abs(fine - coarse) + np.abs(right - left) * 0.05
        scale = np.abs(fine) + 1e-2
        smooth = np.abs(right - left) <= 2e-3 * scale
        smooth &= np.abs(fine - coarse) <= 1e-4 * scale
        found.append((fine, np.where(smooth & np.isfinite(fine), error, np.inf)))
    return found


def against_differences(actual: Sequence, expected: list, times: float) -> str:
    """The difference from finite differences, where they say something.

    Raises
    ------
    Inconclusive
        Where they say too little.
    """
    known = total = 0
    for i, (a, (slope, error)) in enumerate(zip(actual, expected)):
        a = np.asarray(a)
        if a.shape != slope.shape:  # it is told by the values
            raise Inconclusive
        sure = np.isfinite(error)
        known, total = known + np.count_nonzero(sure), total + sure.size
        if not sure.any():
            continue
        scale = max(float(np.max(np.abs(slope[sure]))), 1e-2)
        off = np.abs(a - slope)
        bad = sure & ~(off <= times * scale + 3 * np.where(sure, error, 0))
        if bad.any():
            got, say = short(a[bad]), short(slope[bad])
            where = np.argwhere(bad)[:3].tolist()
            return f"result {i} at {where}: got {got}, differences say {say}"
    if total and known < 0.5 * total:
        raise Inconclusive
    return ""


def inner(a: Sequence, b: Sequence) -> tuple[float, float]:
    """The real inner product of lists of arrays, and the sum of the sizes of its terms."""
    total = size = 0.0
    for x, y in zip(a, b):
        wide = np.result_type(x, y, np.float64)
        terms = np.real(np.conj(np.asarray(x).astype(wide)) * np.asarray(y).astype(wide))
        total, size = total + float(np.sum(terms)), size + float(np.sum(np.abs(terms)))
    return total, size
