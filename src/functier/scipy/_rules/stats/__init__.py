"""Rules for the functions of `scipy.stats`."""

from . import (
    correlation,
    frequencies,
    information,
    kolmogorov,
    means,
    moments,
    normality,
    order,
    quantiles,
    ranks,
    refusals,
    slopes,
    spacings,
    spreads,
    student,
)

__all__ = [
    "correlation",
    "frequencies",
    "information",
    "kolmogorov",
    "means",
    "moments",
    "normality",
    "order",
    "quantiles",
    "ranks",
    "refusals",
    "slopes",
    "spacings",
    "spreads",
    "student",
]
