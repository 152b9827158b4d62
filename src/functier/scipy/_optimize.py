"""Twins for `scipy.optimize`: roots and minima."""

from typing import Any

TWINS: list[tuple[Any, Any]] = []
"""Pairs of an object of SciPy and its twin."""
