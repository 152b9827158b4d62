"""Recurrences of the coefficients of products, quotients, powers, roots and linear systems.

`RECURRENCES` has a function for each operation. It takes the level, the operands and the value of
the result, and returns a function of k, from 1, for the coefficient of t^k of the result. It is
called for one k after the other. None is zero; in place of such a function it says that there is
no recurrence for these operands.

The formulas are those of Griewank and Walther, *Evaluating Derivatives* (2008), chapter 13.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

NUMBERS = int, float, np.floating, np.integer


def total(parts: Iterable) -> Any:
    """Return the sum of the parts that are not None, or None without such."""
    found = None
    for part in parts:
        if part is not None:
            found = part if found is None else found + part
    return found


def products(pairs: Iterable, multiply: Callable = np.multiply) -> Any:
    """Return the sum of the products of pairs that are not None."""
    return total(multiply(a, b) for a, b in pairs if a is not None and b is not None)


def convolve(multiply: Callable, factors: Sequence[list]) -> Any:
    """Return the last coefficient of a product, by those of its factors up to this one."""
    first, *others = factors
    if not others:
        return None if first[-1] is None else multiply(first[-1])
    return total(
        convolve(partial(multiply, c), [other[: len(first) - j] for other in others])
        for j, c in enumerate(first)
        if c is not None
    )


def less(a: Any, b: Any) -> Any:
    """Return a - b."""
    return a if b is None else -b if a is None else a - b


def multiply(level: Any, operands: Sequence, ans: Any) -> Callable:
    a, b = operands
    at = level.coefficient
    return lambda k: products([(at(a, j), at(b, k - j)) for j in range(k + 1)])


def square(level: Any, operands: Sequence, ans: Any) -> Callable:
    return multiply(level, [*operands, *operands], ans)


def divide(level: Any, operands: Sequence, ans: Any, quotient: Callable = np.divide) -> Callable:
    """Return the terms of a / b; `quotient` says what is at a zero of b."""
    (a, b), at, known = operands, level.coefficient, [ans]
    bottom = level.lower(b)

    def term(k: int) -> Any:
        rest = products([(at(b, j), known[k - j]) for j in range(1, k + 1)])
        found = less(at(a, k), rest)
        known.append(None if found is None else quotient(found, bottom))
        return known[k]

    return term


def reciprocal(level: Any, operands: Sequence, ans: Any) -> Callable:
    return divide(level, [1, *operands], ans)


def is_flat(level: Any, x: Any) -> Any:
    """Return where a root is that of a sum of squares which are zero: its slope is 0, as in jvp.

    A kink on the way has a slope of 0 that says nothing of this.
    """
    value, first = level.lower(x), level.coefficient(x, 1)
    flat = np.equal(value, 0)
    if first is not None:
        flat = flat & np.equal(first, 0)
    for met in x.parts()[1].kinks.values():
        flat = flat & np.logical_not(met)
    return flat


def sqrt(level: Any, operands: Sequence, ans: Any) -> Callable:
    (x,), known = operands, [ans]
    flat: list = []

    def term(k: int) -> Any:
        if not flat:
            flat.append(is_flat(level, x))
            flat.append(2 * np.where(flat[0], 1, ans)[()])
        rest = products([(known[j], known[k - j]) for j in range(1, k)])
        found = less(level.coefficient(x, k), rest)
        if found is not None:  # a chosen zero, of which no more is known
            chosen = np.where(np.equal(found, 0), 0, np.nan)
            found = np.where(flat[0], chosen, found)[()] / flat[1]
        known.append(found)
        return known[k]

    return term


def power(level: Any, operands: Sequence, ans: Any) -> Callable | None:
    x, p = operands
    if not isinstance(p, NUMBERS) or not math.isfinite(p):
        return None
    if p == 0.5:
        return sqrt(level, [x], ans)
    if p >= 0 and p == int(p):
        return whole_power(level, x, int(p))
    # In units of t in which x begins as x0 (1 + ..), so that x0 may be zero or very small.
    value, at, known = level.lower(x), level.coefficient, [1.0]

    def scaled(j: int) -> Any:
        c = at(x, j)
        return c if c is None or j == 1 else c * np.power(value, j - 1)

    def term(k: int) -> Any:
        pairs = [((p * j - (k - j)) / k, scaled(j), known[k - j]) for j in range(1, k + 1)]
        known.append(products([(times(f, c), y) for f, c, y in pairs]))
        return None if known[k] is None else np.power(value, p - k) * known[k]

    return term


def times(factor: Any, c: Any) -> Any:
    return None if c is None else factor * c


def whole_power(level: Any, x: Any, p: int) -> Callable:
    """Return the terms of x to a whole power, by products: also where x is zero."""

    def made() -> Any:
        found = None
        for digit in bin(p)[2:]:
            found = x if found is None else np.square(found)
            found = found * x if digit == "1" and found is not x else found
        return found

    return level.lazily(made) if p else lambda k: None


def solve(level: Any, operands: Sequence, ans: Any) -> Callable:
    (a, b), at, known = operands, level.coefficient, [ans]
    matrix, is_vector = level.lower(a), np.ndim(b) == 1

    def multiply(a: Any, x: Any) -> Any:
        return np.matmul(a, x[..., None])[..., 0] if is_vector else np.matmul(a, x)

    def term(k: int) -> Any:
        rest = products([(at(a, j), known[k - j]) for j in range(1, k + 1)], multiply)
        found = less(at(b, k), rest)
        if found is not None:
            column = found[..., None] if is_vector else found
            found = np.linalg.solve(matrix, column)
            found = found[..., 0] if is_vector else found
        known.append(found)
        return found

    return term


def sinc(level: Any, operands: Sequence, ans: Any) -> Callable:
    """Return the terms of sin(u) / u; near u = 0, where that loses all digits, of its series."""
    (x,) = operands

    def made() -> Any:
        near = np.less(np.absolute(level.lower(x)), 2)
        far, square = np.where(near, 2, x) * np.pi, np.square(np.where(near, x, 0) * np.pi)
        found = 0
        for n in range(22 + level.order // 2, -1, -1):
            found = found * square + (-1) ** n / math.factorial(2 * n + 1)
        return np.where(near, found, np.sin(far) / far)

    return level.lazily(made)


KINKED = {np.absolute, np.fabs, np.hypot, np.linalg.norm, np.sqrt}
"""Functions that have the slope 0 at the kink where they are zero."""

RECURRENCES: dict[Callable, Callable] = {
    np.multiply: multiply,
    np.square: square,
    np.divide: divide,
    np.reciprocal: reciprocal,
    np.sqrt: sqrt,
    np.power: power,
    np.sinc: sinc,
    np.linalg.solve: solve,
}
