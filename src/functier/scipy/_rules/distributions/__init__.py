"""Rules for the distributions of `scipy.stats` of one variable."""

from . import continuous, discrete, methods, moments

__all__ = ["continuous", "discrete", "methods", "moments"]
