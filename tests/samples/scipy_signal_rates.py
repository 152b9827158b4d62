"""Rows for `scipy.signal`: other rates, spectra of segments, neighbourhoods, peaks and forms."""

from functools import partial

import numpy as np

import functier.scipy.signal as signal
from functier.scipy._rules.signal.peaks import are_peaks

from ._row import normal, of, row

F, C = np.float32, complex
TAPS = np.array([0.5, 1.0, 0.3])
SECTIONS = np.array([[0.2, 0.3, 0.1, 1, -0.3, 0.2], [0.5, 0.2, 0.4, 1, 0.2, -0.1]])
WAVE = np.array([0.1, 1.3, 0.4, 0.9, 0.2, -0.5, 1.7, 0.3, 0.6, -0.1])


def second(function):
    """The second result of a function, whose others are constants or the same for all signals."""
    return lambda *args, **options: function(*args, **options)[1]


def both_sides(function):
    """A function of complex signals, of which older releases of SciPy warn without the option."""
    return partial(function, nperseg=5, return_onesided=False)


def third(function):
    return lambda *args, **options: function(*args, **options)[2]


def sections(function):
    """A function of sections whose fourth number is 1, as SciPy requires."""
    return lambda sos, **options: function(
        np.concatenate([sos[:, :3], np.ones_like(sos[:, 3:4]), sos[:, 4:]], axis=1), **options
    )


def near(i, x, rng):
    """Another signal with the same peaks."""
    return x * (1 + 0.05 * rng.uniform(-1, 1, size=x.shape))


def mask_of_peaks(x):
    """Their number may differ from example to example, so `find_peaks` itself is refused there."""
    return are_peaks(x, np.array([-5.0]), np.array([np.inf]), given=("height",))


def peaks_of(function, part):
    """A part of what a function tells of the peaks of a signal."""
    return lambda x, **options: function(x, np.array([1, 3, 6, 8]), **options)[part]


ROWS = [
    row(signal.upfirdn, normal(3), normal(4), 3, 2),
    row(signal.upfirdn, normal(4, dtype=C), normal(2, 5), 2, 3, axis=0),
    row(signal.upfirdn, normal(3), normal(4), 1, 2, mode="symmetric", _vmap=True),
    of("rates", signal.resample_poly, normal(6), 3, 2, window=TAPS),
    of("rates", signal.resample_poly, normal(2, 5, dtype=F), 2, 4, axis=1, padtype="mean"),
    of("rates", signal.resample_poly, normal(5), 2, 3, padtype="edge", window=TAPS),
    of("rates", signal.resample, normal(6), 4),
    of("rates", signal.resample, normal(2, 5, dtype=C), 8, axis=1, window="hann"),
    of("rates", signal.resample, normal(4), 6, window="hann"),
    of("rates", signal.decimate, normal(30), 2),
    of("rates", signal.decimate, normal(12), 3, n=4, ftype="fir"),
    of("rates", signal.decimate, normal(9), 2, n=4, ftype="fir", zero_phase=False),
    of("powers", second(signal.welch), normal(2, 12), nperseg=4),
    of("powers", second(signal.welch), normal(14), nperseg=4, average="median", detrend=False),
    of("powers", second(both_sides(signal.welch)), normal(9, dtype=C), scaling="spectrum"),
    of("powers", second(signal.csd), normal(12), normal(9), nperseg=4, nfft=6),
    of("powers", second(signal.periodogram), normal(7), nfft=5),
    of("powers", second(signal.coherence), normal(12), normal(12), nperseg=4),
    of("segments", third(signal.stft), normal(9), nperseg=4),
    of("segments", third(signal.stft), normal(8, 2), nperseg=3, boundary="odd", axis=0),
    of("segments", third(signal.spectrogram), normal(12), nperseg=5, mode="magnitude"),
    of("segments", third(signal.spectrogram), normal(2, 9), nperseg=4),
    of("segments", second(signal.istft), normal(3, 4, dtype=C)),
    of("segments", second(signal.istft), normal(4, 3, dtype=C), input_onesided=False, nperseg=4),
    of("neighbours", signal.medfilt, normal(6)),
    of("neighbours", signal.medfilt, normal(3, 4, dtype=F), (3, 1)),
    of("neighbours", signal.medfilt2d, normal(4, 3)),
    of("neighbours", signal.order_filter, normal(5), [1, 1, 1], 2),
    of("neighbours", signal.wiener, normal(7), 3, 0.01),
    of("neighbours", signal.hilbert2, normal(3, 4)),
    of("forms", signal.zpk2tf, normal(2), normal(3), normal(1)),
    of("forms", signal.bilinear, normal(2), normal(3) + 4.0, 0.5),
    of("forms", second(sections(signal.sosfreqz)), SECTIONS, worN=4, _empty=False),
    of("masks", mask_of_peaks, WAVE, _like=near, _loop=True, _diff=()),
    of("peaks", peaks_of(signal.peak_prominences, 0), WAVE, _like=near, _loop=True),
    of("widths", peaks_of(signal.peak_widths, 0), WAVE, rel_height=0.4, _like=near, _loop=True),
    of("neighbours", signal.order_filter, normal(5), [1, 1, 1], 0),
]
