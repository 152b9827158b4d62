"""The polynomials of the elementary functions, made anew from series in decimal numbers.

Each agrees with its function at Chebyshev's nodes, which is near the best there is (Trefethen,
"Approximation Theory and Approximation Practice", 2013, chapter 16). Run as a program, it
prints the tuples of `functier._programs.machine.elementary.coefficients`.
"""

import math
from decimal import Decimal, localcontext
from functools import cache
from itertools import count

DIGITS = 60


def series(terms, z):
    """The sum of `terms(k) * z**k` for k = 0, 1, ...: numbers, or pairs of two integers."""
    total, power = Decimal(0), Decimal(1)
    for k in count():
        above, below = terms(k)
        step = power * above / below
        total += step
        if abs(step) < Decimal(10) ** -DIGITS and k > 3:
            return total
        power *= z


def ladder(start, step):
    """Terms whose denominator is a factorial: (-1)**k / (start + step*k)! in pairs."""
    return lambda k: ((-1) ** k, math.factorial(start + step * k))


@cache
def log2():
    """log(2)."""
    return 2 * series(lambda k: (1, 2 * k + 1), Decimal(1) / 9) / 3


@cache
def pi():
    """pi, by Machin's formula."""

    def arctan(n):
        return series(lambda k: ((-1) ** k, 2 * k + 1), Decimal(1) / n**2) / n

    return 4 * (4 * arctan(5) - arctan(239))


def exp_tail(x):
    return series(lambda k: (1, math.factorial(k + 2)), x)


def exp2_tail(x):
    return exp_tail(x * log2()) * log2() ** 2


def erf_tail(z):
    def term(k):
        return (-1) ** k * 2, math.factorial(k) * (2 * k + 1)

    return series(term, z) / pi().sqrt() - 1


def erfc_scaled(t):
    """exp(x**2) * erfc(x) * (x + 2) at x = 2 * (1 + t) / (1 - t)."""
    with localcontext() as context:
        context.prec = 480  # erfc(28) begins at the 343rd digit
        x = 2 * (1 + t) / (1 - t)
        step = total = x
        for k in count(1):
            step = step * 2 * x * x / (2 * k + 1)
            total += step
            if step < Decimal(10) ** -60:
                break
        # erf(x) = 2/sqrt(pi) * exp(-x**2) * total
        return +((x * x).exp() - 2 / long_pi().sqrt() * total) * (x + 2)


@cache
def long_pi():
    """pi to as many digits as the context has, by Machin's formula in integers."""
    unit = 10**500

    def arctan(n):
        return sum((-1) ** k * unit // ((2 * k + 1) * n ** (2 * k + 1)) for k in range(360))

    return Decimal(4 * (4 * arctan(5) - arctan(239))) / unit


def arcsin_term(k):
    k += 1
    return math.comb(2 * k, k), 4**k * (2 * k + 1)


QUARTER = Decimal("0.6169")  # (pi/4)**2
LOGARITHM = Decimal("0.02945")  # (3 - 2*sqrt(2))**2
EIGHTH = Decimal("0.17158")  # tan(pi/8)**2
HALF_LOG2 = Decimal("0.3466")

SPECS = {
    "EXP": (exp_tail, -HALF_LOG2, HALF_LOG2, 11),
    "EXP2": (exp2_tail, Decimal(-1) / 2, Decimal(1) / 2, 11),
    "SIN": (lambda z: -series(ladder(3, 2), z), 0, QUARTER, 6),
    "COS": (lambda z: series(ladder(4, 2), z), 0, QUARTER, 6),
    "LOG": (lambda z: series(lambda k: (2, 2 * k + 3), z), 0, LOGARITHM, 8),
    "POWER": (lambda z: series(lambda k: (2, 2 * k + 5), z), 0, LOGARITHM, 7),
    "ARCTAN": (lambda z: -series(lambda k: ((-1) ** k, 2 * k + 3), z), 0, EIGHTH, 12),
    "ARCSIN": (lambda z: series(arcsin_term, z), 0, Decimal(1) / 4, 13),
    "ERF": (erf_tail, 0, Decimal(1) / 4, 10),
    "ERFC": (erfc_scaled, Decimal(-3) / 5, Decimal(26) / 30, 24),
}
"""For each polynomial the function that it takes the place of, its interval, its terms."""


def nodes(low, high, terms):
    """Chebyshev's nodes of an interval, to 12 digits: the same on every machine."""
    angles = [math.pi * (2 * k + 1) / (2 * terms) for k in range(terms)]
    places = [Decimal(round(math.cos(angle), 12)) for angle in angles]
    return [(low + high) / 2 + (high - low) / 2 * place for place in places]


def fitted(function, low, high, terms):
    """The polynomial that agrees with a function at the nodes, constant term first."""
    xs = nodes(Decimal(low), Decimal(high), terms)
    differences = [function(x) for x in xs]  # Newton's divided differences
    for j in range(1, terms):
        for i in range(terms - 1, j - 1, -1):
            gap = differences[i] - differences[i - 1]
            differences[i] = gap / (xs[i] - xs[i - j])
    result = [differences[-1]]
    for x, difference in zip(xs[-2::-1], differences[-2::-1]):
        result = [a - x * b for a, b in zip([Decimal(0), *result], [*result, Decimal(0)])]
        result[0] += difference
    return result


def coefficients(name):
    """The coefficients of a polynomial as floats."""
    with localcontext() as context:
        context.prec = DIGITS + 10
        return tuple(map(float, fitted(*SPECS[name])))


def constants():
    """The constants in parts, each the rest of those before it, by name."""
    with localcontext() as context:
        context.prec = DIGITS + 10
        ten = 3 * log2() + series(lambda k: ((-1) ** k, k + 1), Decimal(1) / 4) / 4  # log(10)
        return {
            "LN2": parts(log2()), "LOG2_E": parts(1 / log2()), "LOG10_E": parts(1 / ten),
            "LOG10_2": parts(log2() / ten), "HALF_PI": parts(pi() / 2, 3),
            "QUARTER_PI": parts(pi() / 4), "TWO_THIRDS": parts(Decimal(2) / 3),
            "INVERSE_SQRT2": parts(1 / Decimal(2).sqrt()), "TWO_OVER_PI": parts(2 / pi(), 1),
        }  # fmt: skip


def parts(number, many=2):
    """A number as a sum of floats."""
    result = ()
    for _ in range(many):
        result = *result, float(number)
        number -= Decimal(result[-1])
    return result


if __name__ == "__main__":
    for name in SPECS:
        rows = [coefficients(name)[i : i + 3] for i in range(0, SPECS[name][3], 3)]
        print(f"{name} = (", *(f"    {', '.join(map(repr, row))}," for row in rows), sep="\n")
        print(")  # fmt: skip")
