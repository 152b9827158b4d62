"""The derivative of the Hurwitz zeta function with respect to its exponent."""

import math

import numpy as np

from ..._core.numpy_facts import Value
from .._private import special

TERMS = 12
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)


def zeta_slope(s: Value, q: Value) -> Value:
    """Differentiate ``zeta(s, q)``, the sum of ``(n + q) ** -s``, by `s` > 1.

    That is the sum of `TERMS` terms, and the formula of Euler and Maclaurin for the others (DLMF
    25.11.5, differentiated).
    """
    total = 0.0
    for n in range(TERMS):
        total = total - np.log(q + n) * np.power(q + n, -s)
    x = q + TERMS
    log, tail = np.log(x), np.power(x, -s)
    total = total - x * tail * (log + 1 / (s - 1)) / (s - 1) - 0.5 * log * tail
    for j, number in enumerate(BERNOULLI, 1):
        m = 2 * j - 1
        rising = special.poch(s, m) * np.power(x, -s - m)
        change = special.psi(s + m) - special.psi(s) - log
        total = total + number / math.factorial(2 * j) * rising * change
    return total
