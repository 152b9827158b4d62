"""Rules for the functions of `scipy.signal`."""

from . import (
    convolutions,
    designs,
    filters,
    peaks,
    resampling,
    smoothing,
    spectra,
)

__all__ = [
    "convolutions",
    "designs",
    "filters",
    "peaks",
    "resampling",
    "smoothing",
    "spectra",
]
