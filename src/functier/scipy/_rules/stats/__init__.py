"""Rules for the functions of `scipy.stats`."""

from . import (
    correlation,
    information,
    kolmogorov,
    normality,
    order,
    ranks,
    refusals,
    slopes,
)

__all__ = [
    "correlation",
    "information",
    "kolmogorov",
    "normality",
    "order",
    "ranks",
    "refusals",
    "slopes",
]
