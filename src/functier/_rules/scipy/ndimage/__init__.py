"""Rules for the functions of `scipy.ndimage`."""

from . import filters, gaussians, ranks, sampling, splines

__all__ = ["filters", "gaussians", "ranks", "sampling", "splines"]
