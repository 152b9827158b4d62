"""Twins for `scipy.integrate`: integrals of functions."""

from typing import Any

TWINS: list[tuple[Any, Any]] = []
"""Pairs of an object of SciPy and its twin."""
