"""Piecewise polynomials and B-splines as NumPy code: places, coefficients and values.

The formulas of cubic splines are those of de Boor, *A Practical Guide to Splines*, 2001, those of
monotone slopes Fritsch and Butland's (1984), and those of Akima's slopes his (1970).
"""

from typing import Any

import numpy as np

from .. import numpy as fnp
from .._rules.constructors import check_values
from .._rules.indexing import read_at


def column(x: Any, like: Any) -> Any:
    """Return `x` with as many axes as `like`, with axes of length 1 behind."""
    return np.reshape(x, np.shape(x) + (1,) * (np.ndim(like) - np.ndim(x)))


def interval(breaks: Any, x: Any) -> Any:
    """Return the number of the piece that each of the places `x` is in; the last one is closed."""
    return np.searchsorted(breaks[1:-1], x, side="right")


def piecewise(c: Any, breaks: Any, x: Any, nu: int) -> Any:
    """Return a derivative of polynomials with coefficients ``c[power, piece]``, the highest first.

    The axes of `x` lead in the result.
    """
    i = interval(breaks, x)
    d = x - read_at(breaks, i)
    size = np.shape(c)[0]
    total: Any = 0.0
    for j in range(size - nu):
        power, factor = size - 1 - j, 1.0
        for lower in range(nu):
            factor *= power - lower
        row = read_at(c[j], i) * factor
        total = row if j == 0 else total * column(d, row) + row
    return total if size > nu else np.zeros_like(read_at(c[0], i))


def of_slopes(x: Any, y: Any, s: Any) -> Any:
    """Return the coefficients of the cubics with values `y` and slopes `s` at `x`."""
    h = column(x[1:] - x[:-1], y)
    rise = (y[1:] - y[:-1]) / h
    bend = (s[:-1] + s[1:] - 2 * rise) / h
    return np.stack([bend / h, (rise - s[:-1]) / h - bend, s[:-1], y[:-1]])


def cubic_slopes(x: Any, y: Any, ends: list) -> Any:
    """Return the slopes of a cubic spline; each end is "not-a-knot" or an order and a value."""
    n = np.shape(x)[0]
    h = x[1:] - x[:-1]
    rise = (y[1:] - y[:-1]) / column(h, y)
    if n == 2:
        ends = [(1, rise[0]) if e == "not-a-knot" else e for e in ends]
    if n == 3 and ends == ["not-a-knot", "not-a-knot"]:  # a parabola
        system = np.stack([
            np.stack([np.ones_like(h[0]), np.ones_like(h[0]), 0 * h[0]]),
            np.stack([h[1], 2 * (h[0] + h[1]), h[0]]),
            np.stack([0 * h[0], np.ones_like(h[0]), np.ones_like(h[0])]),
        ])  # fmt: skip
        forces = [2 * rise[0], 3 * (h[0] * rise[1] + h[1] * rise[0]), 2 * rise[1]]
        return solve(system, np.stack(forces))
    unit = np.eye(n)
    rows: list = []
    right: list = []
    for side, end in enumerate(ends):
        first, second = (0, 1) if side == 0 else (n - 1, n - 2)
        a, b = (0, 1) if side == 0 else (-1, -2)
        if end == "not-a-knot":
            width = h[a] + h[b]
            rows.append(h[b] * unit[first] + width * unit[second])
            near = ((h[a] + 2 * width) * h[b] * rise[a] + h[a] ** 2 * rise[b]) / width
            right.append(near)
        elif end[0] == 1:
            rows.append(unit[first] + 0 * h[a])
            right.append(np.broadcast_to(end[1] + 0 * rise[0], np.shape(rise[0])))
        else:
            rows.append(2 * h[a] * unit[first] + h[a] * unit[second])
            sign = -0.5 if side == 0 else 0.5
            right.append(3 * h[a] * rise[a] + sign * h[a] ** 2 * end[1])
    inner = [
        h[i] * unit[i - 1] + 2 * (h[i - 1] + h[i]) * unit[i] + h[i - 1] * unit[i + 1]
        for i in range(1, n - 1)
    ]
    forces = [3 * (h[i] * rise[i - 1] + h[i - 1] * rise[i]) for i in range(1, n - 1)]
    matrix = np.stack([rows[0], *inner, rows[1]])
    return solve(matrix, np.stack([right[0], *forces, right[1]]))


def periodic_slopes(x: Any, y: Any) -> Any:
    """Return the slopes of a periodic cubic spline, whose first and last values are equal."""
    n = np.shape(x)[0] - 1
    if n < 2:
        return np.zeros_like(y)
    h = x[1:] - x[:-1]
    rise = (y[1:] - y[:-1]) / column(h, y)
    before, last = np.roll(h, 1), np.roll(rise, 1, axis=0)
    unit = np.eye(n)
    matrix = (
        h[:, None] * np.roll(unit, -1, axis=1)
        + 2 * (before + h)[:, None] * unit
        + before[:, None] * np.roll(unit, 1, axis=1)
    )
    s = solve(matrix, 3 * (column(h, y) * last + column(before, y) * rise))
    return np.concatenate([s, s[:1]])


def solve(matrix: Any, right: Any) -> Any:
    """Return the solution for right sides along the first axis."""
    flat = np.reshape(right, (np.shape(right)[0], -1))
    return np.reshape(np.linalg.solve(matrix, flat), np.shape(right))


def monotone_slopes(x: Any, y: Any) -> Any:
    """Return the slopes of PCHIP: weighted harmonic means of the rises, 0 at extremes."""
    h = column(x[1:] - x[:-1], y)
    rise = (y[1:] - y[:-1]) / h
    if np.shape(y)[0] == 2:
        return np.stack([rise[0], rise[0]])
    left, right = rise[:-1], rise[1:]
    flat = (np.sign(left) != np.sign(right)) | (left == 0) | (right == 0)
    one, two = 2 * h[1:] + h[:-1], h[1:] + 2 * h[:-1]
    mean = (one / np.where(flat, 1, left) + two / np.where(flat, 1, right)) / (one + two)
    inner = np.where(flat, 0, 1 / np.where(flat, 1, mean))
    first = _end_slope(h[0], h[1], rise[0], rise[1])
    last = _end_slope(h[-1], h[-2], rise[-1], rise[-2])
    return np.concatenate([first[None], inner, last[None]])


def _end_slope(h0: Any, h1: Any, m0: Any, m1: Any) -> Any:
    d = ((2 * h0 + h1) * m0 - h0 * m1) / (h0 + h1)
    d = np.where((np.sign(m0) != np.sign(m1)) & (np.abs(d) > 3 * np.abs(m0)), 3 * m0, d)
    return np.where(np.sign(((2 * h0 + h1) * m0 - h0 * m1) / (h0 + h1)) != np.sign(m0), 0, d)


def akima_slopes(x: Any, y: Any, modified: bool = False) -> Any:
    """Return Akima's slopes: means of neighbours' rises, weighted by how these change.

    The `modified` weights are those of Matlab's `makima`.
    """
    h = column(x[1:] - x[:-1], y)
    m = (y[1:] - y[:-1]) / h
    if np.shape(y)[0] == 2:
        return np.stack([m[0], m[0]])
    before, after = 2 * m[:1] - m[1:2], 2 * m[-1:] - m[-2:-1]
    m = np.concatenate([2 * before - m[:1], before, m, after, 2 * after - m[-1:]])
    steps = np.abs(m[1:] - m[:-1])
    if modified:
        steps = steps + np.abs(m[1:] + m[:-1]) / 2
    right, left = steps[2:], steps[:-2]
    total = right + left
    flat = ~(total > 1e-9 * np.max(total, initial=-np.inf))
    weighted = (right * m[1:-2] + left * m[2:-1]) / np.where(flat, 1, total)
    return np.where(flat, 0.5 * (m[3:] + m[:-3]), weighted)


# ---- B-splines ----


def knots_of(x: Any, k: int) -> Any:
    """Return the knots of the interpolating spline of a degree through points at `x`."""
    if k == 0:
        return np.concatenate([x, x[-1:]])
    if k % 2:
        inner = x[(k + 1) // 2 : np.shape(x)[0] - (k + 1) // 2]
    else:
        middle = (x[1:] + x[:-1]) / 2
        inner = middle[k // 2 : np.shape(middle)[0] - k // 2]
    return np.concatenate([np.repeat(x[:1], k + 1), inner, np.repeat(x[-1:], k + 1)])


def basis(t: Any, k: int, x: Any) -> tuple:
    """Return the first of the ``k + 1`` coefficients that count at each place, and factors."""
    n = np.shape(t)[0] - k - 1
    place = np.searchsorted(t[k + 1 : n], x, side="right") + k
    factors = [np.ones_like(x)]
    for j in range(1, k + 1):
        moved, saved = [], 0.0
        for r in range(j):
            right, left = read_at(t, place + r + 1), read_at(t, place + 1 - j + r)
            part = factors[r] / (right - left)
            moved.append(saved + (right - x) * part)
            saved = (x - left) * part
        factors = [*moved, saved]
    return place - k, factors


def spline(t: Any, c: Any, k: int, x: Any, nu: int = 0) -> Any:
    """Return a derivative of a spline; its coefficients and the axes of `x` lead."""
    if nu > k:
        return np.zeros(np.shape(x) + np.shape(c)[1:])
    c = c[: np.shape(t)[0] - k - 1]
    for _ in range(nu):
        n = np.shape(c)[0]
        width = t[k + 1 : n + k] - t[1:n]
        known = np.where(width == 0, 1, width)
        c = (c[1:] - c[:-1]) * column(np.where(width == 0, 0, k / known), c)
        t, k = t[1:-1], k - 1
    first, factors = basis(t, k, x)
    total: Any = 0.0
    for j, factor in enumerate(factors):
        row = read_at(c, first + j)
        total = total + column(factor, row) * row
    return total


def design(t: Any, k: int, x: Any, nu: int = 0) -> Any:
    """Return the values at the places `x` of each spline of the basis, or of its derivative."""
    return spline(t, np.eye(np.shape(t)[0] - k - 1), k, x, nu)


def interpolating(x: Any, y: Any, k: int) -> tuple:
    """Return the knots and the coefficients of the spline through points."""
    t = knots_of(x, k)
    return t, solve(design(t, k, x), y)


def ended_knots(x: Any, k: int) -> Any:
    """Return knots at all places, of which the first and the last are repeated."""
    return np.concatenate([np.repeat(x[:1], k), x, np.repeat(x[-1:], k)])


def conditioned(x: Any, y: Any, t: Any, k: int, ends: tuple) -> Any:
    """Return the coefficients of the spline through points, with derivatives at the two ends.

    Each of `ends` is a list of orders and values.
    """
    rows, right = [design(t, k, x)], [y]
    for at, conditions in zip((x[:1], x[-1:]), ends):
        for order, value in conditions:
            rows.append(design(t, k, at, order))
            right.append(np.broadcast_to(value, np.shape(y)[1:])[None] + 0 * y[:1])
    matrix = np.concatenate(rows)
    if np.shape(matrix)[0] != np.shape(matrix)[1]:
        raise ValueError(
            "The number of derivatives at boundaries does not match: expected "
            f"{np.shape(matrix)[1] - np.shape(x)[0]}, got {np.shape(matrix)[0] - np.shape(x)[0]}"
        )
    return solve(matrix, np.concatenate(right))


def repeated(x: Any, y: Any, k: int) -> tuple:
    """Return the knots and the coefficients of a periodic spline through points."""
    n = np.shape(x)[0]
    inner = x
    if k % 2 == 0:
        inner = np.concatenate([x[:1], x[1:-1] - (x[1:-1] - x[:-2]) / 2, x[-1:]])
    period, turns = x[-1] - x[0], -(-k // (n - 1)) + 1
    copies = [inner[:-1] + i * period for i in range(-turns, turns + 1)]
    every = np.concatenate([*copies, inner[-1:] + turns * period])
    first = turns * (n - 1)
    t = every[first - k : first + n + k]
    matrix = design(t, k, x[:-1])
    wrapped = matrix[:, : n - 1]
    for start in range(n - 1, n + k - 1, n - 1):
        more = matrix[:, start : start + n - 1]
        wide = np.shape(more)[1]
        more = np.concatenate([more, np.zeros((n - 1, n - 1 - wide))], axis=1)
        wrapped = wrapped + more
    c = solve(wrapped, y[:-1])
    return t, read_at(c, np.arange(n + k - 1) % (n - 1))


def _holds_nowhere(beyond: Any) -> bool:
    return not np.any(beyond)


def fitted(x: Any, y: Any, t: Any, k: int, w: Any) -> Any:
    """Return the coefficients of the spline with the least sum of weighted squares."""
    ends = t[k], t[np.shape(t)[0] - k - 1]
    check_values((x < ends[0]) | (x > ends[1]), _holds_nowhere, "Out of bounds w/ x")
    rows = design(t, k, x) * w[:, None]
    return solve(rows.T @ rows, np.tensordot(rows.T, column(w, y) * y, axes=1))


def smoothed(x: Any, y: Any, w: Any, lam: Any) -> Any:
    """Return the values at `x` of the natural cubic spline that is smooth and near `y`.

    It has the least sum of weighted squares and `lam` times the integral of the squared second
    derivative: Green and Silverman, *Nonparametric Regression*, 1994, (2.9).
    """
    n = np.shape(x)[0]
    h = x[1:] - x[:-1]
    unit = np.eye(n)
    steps = (unit[1:] - unit[:-1]) / h[:, None]
    bends = steps[1:] - steps[:-1]
    inner = np.eye(n - 2)
    gram = (h[1:] + h[:-1])[:, None] * inner / 3
    if n > 3:
        beside = h[1:-1, None] / 6 * inner[1:]
        above = np.concatenate([beside, np.zeros((1, n - 2))])
        gram = gram + above + above.T
    roughness = bends.T @ np.linalg.solve(gram, bends)
    return solve(w[:, None] * unit + lam * roughness, column(w, y) * y)


def derived(t: Any, c: Any, k: int) -> tuple:
    """Return the derivative of a spline; as many coefficients as knots follow FITPACK's form."""
    n = np.shape(t)[0] - k - 1
    width = t[k + 1 : n + k] - t[1:n]
    known = np.where(width == 0, 1, width)
    c = (c[1:n] - c[: n - 1]) * column(np.where(width == 0, 0, k / known), c)
    return t[1:-1], np.concatenate([c, np.zeros((k, *np.shape(c)[1:]))]), k - 1


def integrated(t: Any, c: Any, k: int) -> tuple:
    """Return the antiderivative of a spline that is 0 at its first knot."""
    n = np.shape(t)[0] - k - 1
    width = column(t[k + 1 :] - t[:n], c)
    c = np.cumsum(c[:n] * width, axis=0) / (k + 1)
    c = np.concatenate([np.zeros_like(c[:1]), c, np.repeat(c[-1:], k + 2, axis=0)])
    return np.concatenate([t[:1], t, t[-1:]]), c, k + 1


def integral(t: Any, c: Any, k: int, a: Any, b: Any) -> Any:
    """Return the integral of a spline between two places."""
    t, c, k = integrated(t, c, k)
    high, low = (spline(t, c, k, place) for place in (b, a))
    return high - low


def as_floats(x: Any) -> Any:
    """Return an array of floats or complex numbers; a list may hold tensors."""
    x = fnp.asarray(x)
    return x if x.dtype.kind in "fc" else x.astype(float)


def as_doubles(x: Any) -> Any:
    """Return an array in double precision, in which SciPy computes splines."""
    x = fnp.asarray(x)
    return np.astype(x, complex if x.dtype.kind == "c" else float, copy=False)


def as_places(x: Any) -> Any:
    """Return places as real numbers; SciPy leaves an imaginary part out, too."""
    return np.real(as_doubles(x))
