"""Twins for `scipy.stats`: distributions and statistics."""

from typing import Any

TWINS: list[tuple[Any, Any]] = []
"""Pairs of an object of SciPy and its twin."""
