"""Rows for `scipy.signal`."""

import numpy as np

import functier.scipy.signal as signal

from ._row import integers, normal, of, row

F, C = np.float32, complex
A = np.array([1.5, 0.4, -0.2])
SOS = np.array([[0.2, 0.3, 0.1, 1, -0.3, 0.2], [0.5, 0.2, 0.4, 1, 0.2, -0.1]])


def sections(function):
    """A function of sections whose fourth number is 1, as SciPy requires."""
    return lambda sos, *args, **options: function(
        np.concatenate([sos[:, :3], np.ones_like(sos[:, 3:4]), sos[:, 4:]], axis=1),
        *args,
        **options,
    )


def of_sections(function, *args, _name="sosfilt", **options):
    return row(sections(function), *args, _name=_name, **options)


ROWS = [
    row(signal.lfilter, normal(2), A, normal(2, 4), axis=0, zi=normal(2, 4), _shared=(1,)),
    row(signal.deconvolve, normal(6), normal(3) + 2.0, _shared=(1,)),
    row(signal.deconvolve, normal(4, dtype=C), normal(3) + 2.0, _loop=True),
    row(signal.lfilter, normal(3), A, normal(5), _shared=(1,)),
    row(signal.lfilter, normal(2), np.array([2.0]), normal(5), zi=normal(1), _shared=(1,)),
    row(signal.lfilter, normal(2, dtype=C), A, normal(5), zi=normal(2, dtype=C), _shared=(1,)),
    row(signal.lfilter, normal(2), A + 0.3j, normal(2, 4), zi=normal(1, 2), _shared=(1,)),
    row(signal.lfilter, normal(2, dtype=F), A.astype(F), normal(5, dtype=F), _shared=(1,)),
    row(signal.lfilter, normal(4), A, normal(3), zi=normal(3), _loop=True),
    row(signal.lfilter, normal(1), A, np.zeros(0), _shared=(1,)),
    row(signal.lfilter, 0.3, [1.0, -0.4], normal(2, 4)),
    row(signal.lfilter_zi, normal(3), A),
    row(signal.lfilter_zi, normal(4, dtype=C), A),
    of_sections(signal.sosfilt, SOS, normal(5), _shared=(0,)),
    of_sections(signal.sosfilt, SOS, normal(4, 2), axis=0, zi=normal(2, 2, 2), _shared=(0,)),
    row(signal.sosfilt_zi, SOS),
    of("both ways", signal.filtfilt, normal(2), A, normal(2, 12), _shared=(1,)),
    of(
        "both ways",
        signal.filtfilt,
        normal(2),
        A,
        normal(6),
        padtype="even",
        padlen=2,
        _shared=(1,),
    ),
    of("both ways", signal.filtfilt, normal(2), A, normal(5), padtype=None, _shared=(1,)),
    of("both ways", signal.filtfilt, normal(2), A, normal(6, 2), 0, "constant", 3, _shared=(1,)),
    of_sections(signal.sosfiltfilt, SOS, normal(7), padlen=4, _shared=(0,), _name="both ways"),
    of_sections(signal.sosfiltfilt, SOS, normal(20), _shared=(0,), _name="both ways"),
    # ---- convolutions ----
    of("frequencies", signal.fftconvolve, normal(3, 2), normal(2, 3)),
    of("frequencies", signal.fftconvolve, normal(3, 4), normal(1, 2, dtype=C), "same", axes=1),
    of("frequencies", signal.fftconvolve, normal(2, dtype=F), normal(4, dtype=F), "valid"),
    of("frequencies", signal.fftconvolve, normal(0), normal(2)),
    of("frequencies", signal.oaconvolve, normal(20), normal(3)),
    of("frequencies", signal.oaconvolve, normal(2, 4), normal(2, 3), "valid", axes=-1),
    of("frequencies", signal.convolve, normal(5), normal(3), "same", method="fft"),
    of("frequencies", signal.convolve, normal(4), normal(2, dtype=C), "same"),
    of("frequencies", signal.convolve, normal(2), normal(4), "valid"),
    of("frequencies", signal.convolve, normal(3, 2), normal(2, 3), method="direct"),
    of("frequencies", signal.convolve, integers(-3, 4, 5), integers(-3, 4, 3), _diff=()),
    of(
        "frequencies",
        signal.convolve,
        integers(-3, 4, 5),
        integers(-3, 4, 2),
        method="fft",
        _diff=(),
    ),
    of("frequencies", signal.correlate, normal(5), normal(3, dtype=C), "same", method="fft"),
    of("frequencies", signal.correlate, normal(2, 4), normal(2, 2), "valid", "direct"),
    of("frequencies", signal.correlate, normal(2), normal(5), "full", "direct"),
    of("images", signal.convolve2d, normal(3, 4), normal(2, 3), "same", "symm"),
    of("images", signal.convolve2d, normal(2, 2), normal(3, 2), "valid"),
    of("images", signal.convolve2d, normal(3, 2), normal(2, 2), boundary="wrap"),
    of("images", signal.correlate2d, normal(3, 4), normal(2, 2, dtype=C), "same", fillvalue=0.5),
    of("images", signal.correlate2d, normal(2, 2), normal(3, 2), "valid"),
    # ---- trends and spectra ----
    row(signal.detrend, normal(2, 5)),
    row(signal.detrend, normal(6, 2, dtype=F), 0, bp=[2]),
    row(signal.detrend, normal(3, dtype=C), type="constant"),
    row(signal.savgol_filter, normal(7, 2), 5, 2, axis=0),
    row(signal.savgol_filter, normal(7), 4, 2, 1, 0.5, mode="nearest"),
    row(signal.savgol_filter, normal(6), 3, 1, mode="wrap"),
    row(signal.savgol_filter, normal(6, dtype=F), 3, 1, mode="mirror"),
    row(signal.savgol_filter, normal(6), 3, 1, mode="constant", cval=0.3),
    row(signal.hilbert, normal(2, 5)),
    row(signal.hilbert, normal(6), 4),
    row(signal.hilbert, normal(2, 3), 5, axis=0),
    row(signal.hilbert, normal(4, dtype=F)),
    row(signal.freqz, normal(3), A, worN=4),
    row(signal.freqz, normal(3), worN=3, include_nyquist=True),
    row(signal.freqz, normal(3, dtype=C), 2.0, 4, True),
    row(signal.freqz, normal(2, 2, 1), A, np.array([0.3, 1.0, 2.0]), fs=7.0),
]
