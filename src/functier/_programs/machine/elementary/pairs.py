"""Sums and products without rounding errors, as pairs of a number and its remainder.

The sequences are those of Dekker, "A floating-point technique for extending the available
precision" (1971), and Knuth, "The Art of Computer Programming" 2, 4.2.2; the product takes
one fused multiplication. None may be contracted.
"""

__all__ = ["divide", "fast_two_sum", "two_product", "two_sum"]


def fast_two_sum(e, a, b):
    """a + b, where |a| >= |b|, or a is zero, or a multiple of the last place of b."""
    total = e.add(a, b)
    return total, e.sub(b, e.sub(total, a))


def two_sum(e, a, b):
    """a + b for any two numbers."""
    total = e.add(a, b)
    other = e.sub(total, a)
    return total, e.add(e.sub(a, e.sub(total, other)), e.sub(b, other))


def two_product(e, a, b):
    """a * b."""
    product = e.mul(a, b)
    return product, e.fma(a, b, e.neg(product))


def divide(e, a, b):
    """The quotient of two pairs, and the plain inverse of the divisor."""
    inverted = e.div(e.like(1.0, b[0]), b[0])
    quotient = e.mul(a[0], inverted)
    rest = e.fma(e.neg(quotient), b[0], a[0])
    rest = e.add(rest, e.fma(e.neg(quotient), b[1], a[1]))
    return (quotient, e.mul(rest, inverted)), inverted
