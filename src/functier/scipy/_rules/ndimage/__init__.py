"""Rules for the functions of `scipy.ndimage`."""

from . import filters, ranks, sampling

__all__ = ["filters", "ranks", "sampling"]
