"""`jvp`, held to finite differences, and `vjp`, held to `jvp` by the adjoint identity."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import functier as ft

from .draw import LAPACK
from .references import (
    STEP,
    Inconclusive,
    against_differences,
    check_forms,
    eps_of,
    form,
    inner,
    numeric,
)
from .setting import Setting, Trial, direction, hold, tup


def tied(s: Setting) -> bool:
    """Tell if equal elements are put in order or share an extremum: a kink."""
    text = s.program.text()
    if not re.search(
        "partition|sort|median|quantile|percentile|max|min|ptp|std|unique|set|union", text
    ):
        return False
    return any(np.unique(x).size < x.size for x in s.point if x.dtype.kind in "fc")


def signed(s: Setting) -> bool:
    """Tell if a sign is copied from or to a zero: each is then a kink of the other."""
    zeros = any(np.any(x == 0) for x in s.point)
    return zeros and any("copysign" in name for name in s.program.names)


def jvp(s: Setting) -> Trial:
    where, results = s.differentiated(), s.smooth()
    points, tangents = [s.point[i] for i in where], s.tangents(where)
    if tied(s) or signed(s):
        raise Inconclusive
    loose = len(s.program.steps) > 1 or re.search("modf|pow", s.program.names[0])
    if loose and any(np.isinf(x).any() for x in (*s.point, *s.values)):
        raise Inconclusive
    f = s.of(where)
    names = [s.names[i] for i in where]
    inputs = {f"t{n}": t for n, t in zip(names, tangents)}

    def check(actual: Any) -> None:
        value, moved = actual
        check_forms(value, [form(y) for y in s.values])
        hold(s, value, s.values, lambda p: s.f(*p), s.point)
        for j, t in enumerate(moved):
            if j not in results:
                assert not np.any(np.asarray(t).astype(bool)), f"result {j}: a tangent of integers"
        moved = [moved[j] for j in results]
        check_forms(moved, [form(s.values[j]) for j in results])
        hold_to_differences(s, s.of(where, results), points, tangents, moved)

    def run() -> Any:
        return ft.jvp(f, tuple(points), tuple(tangents))

    line = f"ft.jvp({s.text_of(where)}, {tup(names)}, {tup(list(inputs))})"
    return s.trial(line, inputs, run, check)


def hold_to_differences(
    s: Setting, f: Callable, points: Sequence, tangents: Sequence, moved: Sequence,
    times: float = 1.0,
) -> None:  # fmt: skip
    with np.errstate(all="ignore"):
        try:
            slopes = numeric(f, points, tangents)
        except Inconclusive:
            raise
        except Exception:
            raise Inconclusive from None
    eps = eps_of([*points, *s.values, *s.program.casts()])
    near = times * (2e-5 if eps < 1e-10 else 5e-3 if eps < 1e-5 else 0.1)
    text = against_differences(moved, slopes, near)
    if text:  # beside the point a kink shows that has no part in the slopes at it
        if any(np.abs(y) > 1e6 for y in s.program.between):
            raise Inconclusive
        if s.program.casts() or "int64" in s.program.text():
            raise Inconclusive  # steps are lost in a cast
        aside = [x + 3e-4 * direction(x, s.rng) for x in points]
        with np.errstate(all="ignore"):
            beside = numeric(f, aside, tangents)
            nearer = numeric(f, points, tangents, STEP / 37)
        slopes = [
            (slope, np.where(np.isfinite(other), error + np.abs(slope - near_by), np.inf))
            for (slope, error), (_, other), (near_by, _) in zip(slopes, beside, nearer)
        ]
        text = against_differences(moved, slopes, near)
    if text and len(s.program.steps) > 1 and not all(np.isfinite(t).all() for t in moved):
        raise Inconclusive  # 0 * inf
    if text and eps > 1e-10 and not _also_wide(f, points, tangents, slopes, times):
        raise Inconclusive  # low precision is off, double precision is not
    assert not text, text


def _also_wide(
    f: Callable, points: Sequence, tangents: Sequence, slopes: list, times: float
) -> bool:
    """Tell if the derivative is wrong in double precision too, or rounding does not explain it."""
    wide = [x.astype(np.result_type(x, np.float64)) for x in points]
    turns = tuple(t.astype(x.dtype) for t, x in zip(tangents, wide))
    try:
        moved = ft.jvp(f, tuple(wide), turns)[1]
        return bool(against_differences(moved, slopes, 2e-5 * times))
    except Exception:
        return True


def cotangents(s: Setting, results: Sequence[int]) -> list[np.ndarray]:
    return [direction(s.values[j], s.rng) for j in results]


def vjp(s: Setting) -> Trial:
    """The adjoint identity, and the forms of what is pulled back."""
    where, results = s.differentiated(), s.smooth()
    points, tangents = [s.point[i] for i in where], s.tangents(where)
    f, weights = s.of(where, results), cotangents(s, results)
    names = [s.names[i] for i in where]
    inputs = {f"g{j}": g for j, g in enumerate(weights)}

    def run() -> Any:
        value, pullback = ft.vjp(f, *points)
        return value, pullback(tuple(weights))

    def check(actual: Any) -> None:
        value, pulled = actual
        check_forms(value, [form(s.values[j]) for j in results])
        whole = s.of(range(len(s.point)), results)
        hold(s, value, [s.values[j] for j in results], lambda p: whole(*p), s.point)
        check_forms(pulled, [form(x) for x in points])
        moved = ft.jvp(f, tuple(points), tuple(tangents))[1]
        adjoint(s, weights, moved, pulled, tangents, points)

    line = f"ft.vjp({s.text_of(where)}, {', '.join(names)})[1]({tup(list(inputs))})"
    if len(results) < len(s.values):
        line += f"  # of the results {results}"
    return s.trial(line, inputs, run, check)


def adjoint(
    s: Setting, weights: Sequence, moved: Sequence, pulled: Sequence, tangents: Sequence,
    points: Sequence, times: float = 1.0,
) -> None:  # fmt: skip
    """<g, J t> = <J* g, t>."""
    with np.errstate(all="ignore"):
        left, size = inner(weights, moved)
        right, other = inner(pulled, tangents)
    if not np.isfinite(left) or not np.isfinite(right):
        single = len(s.program.steps) == 1
        if (
            single
            and np.isfinite(left) != np.isfinite(right)
            and eps_of([*points, *s.values]) < 1e-10
        ):
            nans = [np.any(np.isnan(x)) for x in (*points, *s.values)]
            far = [np.any(~np.isfinite(x)) for x in (*points, *s.values)]
            if not any(nans) and not any(far):
                raise AssertionError(f"<g, J t> = {left}, <J* g, t> = {right}")
        raise Inconclusive
    eps = eps_of([*points, *s.values, *moved, *s.program.casts()])
    if any(name.startswith(LAPACK) for name in s.program.names):
        times = max(times, 100)
    near = times * (1e-8 if eps < 1e-10 else 3e-3 if eps < 1e-5 else 0.15)
    scale = max(size, other, 1e-2)
    if abs(left - right) <= near * scale:
        return
    if eps > 1e-10 and _adjoint_wide(s):
        raise Inconclusive
    raise AssertionError(f"<g, J t> = {left:.10g}, <J* g, t> = {right:.10g}, terms {scale:.3g}")


def _adjoint_wide(s: Setting) -> bool:
    """Tell if the identity holds in double precision: then it was rounding that broke it."""
    where = [i for i, op in enumerate(s.operands) if op.differentiable()]
    results = s.smooth()
    points = [s.point[i].astype(np.result_type(s.point[i], np.float64)) for i in where]
    rng = np.random.default_rng(1)
    tangents = [direction(x, rng) for x in points]
    f = s.of(where, results)
    try:
        value, moved = ft.jvp(f, tuple(points), tuple(tangents))
        weights = [direction(y, rng) for y in value]
        left, size = inner(weights, moved)
        right, other = inner(ft.vjp(f, *points)[1](tuple(weights)), tangents)
    except Exception:
        return False
    return abs(left - right) <= 1e-8 * max(size, other, 1e-2)
