"""Rules for the functions of `scipy.signal`."""

from . import (
    convolutions,
    designs,
    filters,
    peaks,
    periodograms,
    resampling,
    smoothing,
    spectra,
    zero_phase,
)

__all__ = [
    "convolutions",
    "designs",
    "filters",
    "peaks",
    "periodograms",
    "resampling",
    "smoothing",
    "spectra",
    "zero_phase",
]
