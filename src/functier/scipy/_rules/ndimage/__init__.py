"""Rules for the functions of `scipy.ndimage`."""

from . import filters, fourier, gaussians, ranks, sampling, splines

__all__ = ["filters", "fourier", "gaussians", "ranks", "sampling", "splines"]
