"""Rules for the functions of `scipy.signal`."""

from . import (
    convolutions,
    filters,
    peaks,
    resampling,
    smoothing,
    spectra,
)

__all__ = [
    "convolutions",
    "filters",
    "peaks",
    "resampling",
    "smoothing",
    "spectra",
]
