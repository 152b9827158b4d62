"""Rules for the functions of `scipy.stats`."""

from . import (
    correlation,
    information,
    normality,
    ranks,
    refusals,
)

__all__ = [
    "correlation",
    "information",
    "normality",
    "ranks",
    "refusals",
]
