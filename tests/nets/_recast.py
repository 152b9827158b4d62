"""Operands of every dtype, and results that have to be NumPy's, for the net of dtypes."""

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import functier as ft
from functier._levels import batch as _batch
from support.checks import directions
from support.nearness import outputs

STRONG = {
    np.dtype(t).name: np.dtype(t)
    for t in (
        *(bool, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64),
        *(np.float16, np.float32, np.float64, np.longdouble),
        *(np.complex64, np.complex128, np.clongdouble),
    )
}
WEAK: dict[str, type] = {"a bool": bool, "an int": int, "a float": float, "a complex": complex}
KINDS: dict[str, Any] = STRONG | WEAK
"""The dtypes of numbers that an operand is turned into, and Python's numbers, which are weak."""

WATCHED = (np.exceptions.ComplexWarning, DeprecationWarning, ft.FallbackWarning)
"""Warnings that functier must not give where NumPy gives none."""

LENIENT = r"'(bool|int|float|complex)' object|`like` argument"
"""Errors of NumPy where functier may answer: a number that a transform has wrapped is an
array of no axes, and has the methods of one."""

# ---- operands ----


def recast(x: np.ndarray, kind: str, wide: bool = False) -> Any:
    """The numbers of `x` as those of `kind`, in the same order; Python's: the last of them.

    Numbers with a fraction become whole ones that differ; the `wide` ones fill the width of
    the dtype, so that their sums overflow. Whole numbers (an index, a count) stay small.
    """
    x = np.asarray(x)
    if kind in WEAK:
        number = recast(x, np.dtype(WEAK[kind]).name)
        return WEAK[kind](number.ravel()[-1])
    dtype = STRONG[kind]
    if x.dtype.kind not in "fc" or not x.size:
        return x.astype(dtype)
    if dtype.kind == "c":
        y = x.astype(np.result_type(x, np.complex64))
        y.imag = x.imag if x.dtype.kind == "c" else 0.25 * x
        return y.astype(dtype)
    x = x.real
    if dtype.kind == "f":
        return x.astype(dtype)
    x = x.astype(float)  # in the order in which they are sorted
    size = np.max(np.abs(x), initial=1, where=np.isfinite(x))
    x = np.nan_to_num(x, nan=size + 2, posinf=size + 1, neginf=-size - 1)
    if dtype.kind == "b":
        return x > x.mean() if x.size > 1 else x > 0
    if wide:
        x = x / max(np.max(np.abs(x)), 1e-9) * (0.9 * 2.0 ** min(np.iinfo(dtype).bits - 1, 62))
    whole = np.rint(x if wide else 3 * x)
    return (whole - min(whole.min(), 0) if dtype.kind == "u" else whole).astype(dtype)


def doubled(x: Any) -> Any:
    """The same numbers in double precision."""
    dtype = np.result_type(x)
    return np.asarray(x).astype(complex if dtype.kind == "c" else float)


def form_of(x: Any) -> tuple:
    return np.shape(x), kind_of(x)


def kind_of(x: Any) -> str:
    return np.result_type(x).kind


# ---- results ----


def epsilon(values: list) -> float:
    """The coarsest precision of the values."""
    found = [np.result_type(x) for x in values]
    return max([float(np.finfo(d).eps) for d in found if d.kind in "fc"], default=0.0)


def largest(values: list) -> float:
    """The largest modulus of the inexact values: what a difference may be small against."""
    found = [np.asarray(x) for x in values if kind_of(x) in "fc"]
    sizes = [np.abs(x[np.isfinite(x)]) for x in found]
    return float(min(max([1.0, *(np.max(s, initial=0) for s in sizes)]), 1e300))


def alike(
    actual: Any, expected: Any, eps: float, dtypes: bool = True, against: float = 1.0
) -> None:
    """Equal in shape, dtype and value; whole numbers exactly, others relative to the largest,
    of the expected ones or of those that it was computed from.
    """
    a, b = outputs(actual), outputs(expected)
    assert len(a) == len(b), f"{len(a)} results, expected {len(b)}"
    for x, y in zip(a, b):
        assert x.shape == y.shape, f"shape {x.shape}, expected {y.shape}"
        if dtypes:
            assert x.dtype == y.dtype, f"dtype {x.dtype}, expected {y.dtype}"
        if y.dtype.kind not in "fc":
            np.testing.assert_array_equal(x, y)
            continue
        rtol = 100 * max(eps, epsilon([x, y]))
        size = np.abs(y[np.isfinite(y)])
        scale = np.max(size, initial=against)
        scale = scale if np.isfinite(scale) else np.finfo(y.dtype).max
        np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol * scale)


class Outcome:
    """The outcome of a call: its result or its error, and the watched warnings."""

    def __init__(self, run: Callable):
        _batch._warned.clear()
        self.error: Exception | None = None
        self.result: Any = None
        with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            for category in WATCHED:
                warnings.simplefilter("always", category)
            try:
                self.result = run()
            except Exception as error:
                self.error = error
        self.warned = {w.category for w in caught}

    def get(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.result


def settled(
    counts: Any, case: str, actual: Outcome, expected: Outcome, eps: float, lenient: bool
) -> None:
    """Count a case whose result, error and warnings have to be NumPy's.

    `lenient`: a number stands where the row has axes, which NumPy may refuse.
    """
    if expected.error is not None:
        if lenient or actual.error is not None or re.search(LENIENT, str(expected.error)):
            counts.right += 1  # both raise
        else:
            counts.judge(case, lambda: actual.result, raised(expected.error))
        return

    def check(result: Any) -> None:
        more = actual.warned - expected.warned
        assert not more, f"warns: {more}"
        alike(result, expected.result, eps)

    counts.judge(case, actual.get, check)


def raised(error: Exception) -> Callable:
    def check(result: Any) -> None:
        shown = [f"{y.dtype}{list(y.shape)}" for y in outputs(result)]
        raise AssertionError(f"gave {shown}, where NumPy raises {type(error).__name__}: {error}")

    return check


# ---- a call under each transform ----


def under_vmap(
    counts: Any,
    case: str,
    f: Callable,
    one: list,
    many: list,
    dims: tuple,
    loop: bool,
    lenient: bool,
) -> None:
    """vmap of `f` equals the loop over the examples: operand i is ``many[i]``, or ``one[i]``."""
    inputs = [x if d is None else xs for x, xs, d in zip(one, many, dims)]
    n = next(len(xs) for xs, d in zip(inputs, dims) if d == 0)

    def examples() -> list:
        rows = [f(*[x if d is None else x[j] for x, d in zip(inputs, dims)]) for j in range(n)]
        return [np.stack(column) for column in zip(*rows)]

    expected = Outcome(examples)
    actual = Outcome(lambda: ft.vmap(f, dims)(*inputs))
    if loop:
        actual.warned.discard(ft.FallbackWarning)
    shown = "".join("b" if d == 0 else "-" for d in dims)
    settled(counts, f"{case} vmap {shown}", actual, expected, epsilon(inputs), lenient)


def under_derivatives(
    counts: Any, case: str, f: Callable, operands: list, where: tuple, double: bool, lenient: bool
) -> None:
    """Values of jvp and vjp are NumPy's; (co)tangents have their primals' dtypes.

    With `double` the derivatives are those of the same numbers in double precision.
    """
    points = tuple(operands[i] for i in where)
    tangents = tuple(
        t if hasattr(x, "dtype") else type(x)(t)
        for t, x in zip(directions(list(points), 0), points)
    )
    case = f"{case} at {','.join(map(str, where))}"
    expected = Outcome(lambda: f(*operands))
    eps = epsilon([*operands, *(expected.result or [])])
    g = _at(f, operands, where)
    forward = Outcome(lambda: ft.jvp(g, points, tangents))
    reverse = Outcome(lambda: ft.vjp(g, *points))
    moved, pulled = forward.result and forward.result[1], None
    if forward.result:
        forward.result = forward.result[0]
    if reverse.result:
        reverse.result = reverse.result[0]
    settled(counts, f"{case} jvp", forward, expected, eps, lenient)
    settled(counts, f"{case} vjp", reverse, expected, eps, lenient)
    if expected.error or forward.error or reverse.error:
        return
    inexact = [y for y in expected.result if kind_of(y) in "fc"]
    moved = [t for t, y in zip(moved, expected.result) if kind_of(y) in "fc"]
    if not inexact:
        return
    counts.judge(f"{case} tangents", lambda: moved, lambda t: same_forms(t, inexact))
    cotangents = list(directions(inexact, 100))
    pulled = Outcome(lambda: list(ft.vjp(_at(f, operands, where, True), *points)[1](cotangents)))
    counts.judge(f"{case} cotangents", pulled.get, lambda c: same_forms(c, points))
    if not double or pulled.error:
        return
    wide = [doubled(x) for x in operands]
    g, points = _at(f, wide, where, True), tuple(wide[i] for i in where)
    tangents = tuple(doubled(t) for t in tangents)
    reference = Outcome(lambda: ft.jvp(g, points, tangents))
    if reference.error or list(map(form_of, reference.result[0])) != list(map(form_of, inexact)):
        return  # another function where some operands are not integers
    if not near(inexact, reference.result[0], eps):
        return  # it wraps around, or rounds across a step
    backs = [doubled(c) for c in cotangents]
    compared(counts, f"{case} tangents", moved, reference.result[1], eps)
    back = ft.vjp(g, *points)[1](backs)
    compared(counts, f"{case} cotangents", pulled.result, back, eps)


def _at(f: Callable, operands: list, where: tuple, floats: bool = False) -> Callable:
    """`f` as a function of the operands at `where`; with `floats` its inexact results only."""

    def g(*chosen: Any) -> list:
        whole = list(operands)
        for i, x in zip(where, chosen):
            whole[i] = x
        return [y for y in f(*whole) if not floats or kind_of(y) in "fc"]

    return g


def same_forms(actual: Any, expected: Any) -> None:
    for x, y in zip(actual, expected, strict=True):
        if kind_of(y) in "fc":
            assert np.result_type(x) == np.result_type(y), f"{x!r} for {y!r}"
            assert np.shape(x) == np.shape(y), f"{x!r} for {y!r}"


def near(actual: list, expected: list, eps: float) -> bool:
    try:
        alike(actual, expected, max(eps, float(np.finfo(float).eps)), dtypes=False)
    except AssertionError:
        return False
    return True


def compared(counts: Any, case: str, actual: Any, expected: Any, eps: float) -> None:
    a, b = outputs(actual), outputs(expected)
    eps = max(eps, float(np.finfo(float).eps))
    pairs = [(x, y) for x, y in zip(a, b) if np.isfinite(y).all() and kind_of(x) == kind_of(y)]

    def check(_: Any) -> None:
        for x, y in pairs:
            alike([x], [y.astype(x.dtype)], eps, dtypes=False)

    counts.judge(f"{case} in double", lambda: None, check)
