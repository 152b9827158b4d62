"""Rules for the functions of `scipy.stats`."""

from . import (
    correlation,
    information,
    kolmogorov,
    normality,
    ranks,
    refusals,
    slopes,
)

__all__ = [
    "correlation",
    "information",
    "kolmogorov",
    "normality",
    "ranks",
    "refusals",
    "slopes",
]
