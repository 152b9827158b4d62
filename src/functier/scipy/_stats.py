"""Twins for `scipy.stats`: distributions and statistics."""

from typing import Any

from . import _distributions, _kde, _multivariate, _statistics  # noqa: F401  # it declares

TWINS: list[tuple[Any, Any]] = [*_distributions.TWINS, *_multivariate.TWINS, *_kde.TWINS]
"""Pairs of an object of SciPy and its twin."""
