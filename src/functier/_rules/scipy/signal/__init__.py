"""Rules for the functions of `scipy.signal`."""

from . import convolutions, filters, spectra, zero_phase

__all__ = ["convolutions", "filters", "spectra", "zero_phase"]
