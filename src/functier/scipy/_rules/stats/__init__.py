"""Rules for the functions of `scipy.stats`."""

from . import (
    correlation,
    information,
    ranks,
    refusals,
)

__all__ = [
    "correlation",
    "information",
    "ranks",
    "refusals",
]
