"""Rows for `scipy.signal`: designs of filters, windows, linear systems and waves.

Most of these functions are SciPy's code, run on tensors.
"""

import numpy as np
import scipy

import functier.numpy as fnp
import functier.scipy.signal as signal

from ._row import normal, row

CUT = np.array(0.3)
BAND = np.array([0.2, 0.5])
TAPS = np.array([0.2, 0.3, 0.1])
POLES = np.array([1.0, -0.4, 0.2])
REAL = np.array([0.2, 1.0, 0.1])
TIMES = np.linspace(0.1, 2.0, 12)
GRID = np.linspace(0.0, 2.0, 7)
A = np.array([[-1.0, 0.5], [-0.2, -0.7]])
B, C, D = np.array([[1.0], [0.5]]), np.array([[1.0, 0.3]]), np.array([[0.1]])


def of(family, function, *args, **options):
    """A row of a family of composites, of which a quick run has the first row only."""
    return row(function, *args, _name=family, _like=near, _empty=False, **options)


def near(i, x, rng):
    """Another design: as many real poles, and the same order of frequencies."""
    return (x * (1 + 0.02 * rng.uniform(-1, 1, size=x.shape))).astype(x.dtype)


def part(i, function, *given, **more):
    """One of the results of a function."""
    return lambda *args, **options: function(*args, *given, **more, **options)[i]


def joined(function):
    """All results of a function in one array, the imaginary parts behind the real ones."""

    def call(*args, **options):
        flat = [fnp.reshape(fnp.asarray(x), -1) for x in function(*args, **options)]
        return fnp.concatenate([fnp.concatenate([fnp.real(x), fnp.imag(x)]) for x in flat])

    return call


def design(name, *ripples, order=3, **options):
    """The coefficients of a filter by its cutoff."""
    function = joined(getattr(signal, name))
    return lambda cutoff: function(order, *ripples, cutoff, **options)


def system(function, **options):
    return lambda a, b: function((a, b, C, D), **options)


LATER = (
    [  # code in C before SciPy 1.15
        of("lombscargle", lambda y: signal.lombscargle(TIMES, y, np.array([1.0, 2.0])), normal(12))
    ]
    if tuple(map(int, scipy.__version__.split(".")[:2])) >= (1, 15)
    else []
)

ROWS = [
    of("butter", design("butter"), CUT),
    of("butter", design("butter", order=2, btype="bandpass"), BAND),
    of("butter", lambda w: signal.butter(4, w, output="sos"), CUT),
    of("butter", design("butter", output="zpk", btype="high", analog=True), np.array(3.0)),
    of("butter", lambda w, fs: signal.butter(2, w, fs=fs[()])[0], np.array(20.0), np.array(100.0)),
    of("cheby1", design("cheby1", 1.0), CUT),
    of("cheby1", lambda r, w: signal.cheby1(2, r, w, "highpass")[1], np.array(0.7), CUT),
    of("cheby2", design("cheby2", 30.0, btype="bandstop", order=2), BAND),
    of("ellip", design("ellip", 1.0, 30.0), CUT),
    of("bessel", design("bessel", norm="mag"), CUT),
    of("iirnotch", joined(signal.iirnotch), CUT, np.array(20.0)),
    of("iirpeak", joined(signal.iirpeak), CUT, np.array(20.0)),
    of("iircomb", lambda q: joined(signal.iircomb)(0.25, q), np.array(20.0)),
    of("firwin", lambda w: signal.firwin(9, w), CUT),
    of("firwin", lambda w: signal.firwin(9, w, pass_zero=False, window=("kaiser", 3.0)), BAND),
    of("firwin2", lambda g: signal.firwin2(9, [0.0, 0.3, 0.6, 1.0], g), np.array([1, 0.8, 0.2, 0])),
    of("firls", lambda g: signal.firls(9, [0.0, 0.3, 0.5, 1.0], g), np.array([1.0, 0.9, 0.2, 0.1])),
    of("freqs", part(1, signal.freqs, np.array([0.3, 0.5])), TAPS, POLES),
    of("freqz_zpk", lambda z, p, k: signal.freqz_zpk(z, p, k, 5)[1], TAPS, POLES[1:], CUT),
    of("forms", joined(signal.tf2zpk), REAL, POLES - [0, 0, 0.3]),
    of("forms", signal.zpk2sos, np.array([0.2, -0.3]), np.array([0.5, -0.2]), np.array(1.3)),
    of("forms", signal.tf2sos, TAPS, POLES),
    of("forms", lambda x: joined(signal.lp2bp)(x[:3], x[3:], 2.0, 0.5), np.append(TAPS, POLES)),
    of("forms", lambda p, fs: signal.bilinear_zpk(TAPS, p, 1.0, fs[()])[1], POLES, CUT),
    of("group_delay", part(1, signal.group_delay, 5), (TAPS, POLES)),
    of("windows", lambda b: signal.get_window(("kaiser", b), 8), np.array(8.0)),
    of("windows", lambda s: signal.windows.gaussian(9, s), np.array(2.0)),
    of("windows", lambda w: signal.windows.general_cosine(9, w), np.array([0.5, 0.3, 0.2])),
    of("waves", signal.chirp, TIMES, np.array(1.0), np.array(2.0), np.array(3.0)),
    of("waves", lambda t, f: signal.chirp(t, 1.0, 2.0, f, "hyperbolic"), TIMES, np.array(3.0)),
    of("waves", lambda t: signal.sweep_poly(t, np.poly1d([1.0, 2.0, 0.5])), TIMES),
    of("waves", lambda t: signal.gausspulse(t, fc=2.0), TIMES),
    *[
        of("cont2discrete", system(joined(signal.cont2discrete), dt=0.1, method=m), A, B)
        for m in ("zoh", "bilinear", "foh")
    ],
    of("cont2discrete", lambda a, dt: signal.cont2discrete((a, B, C, D), dt)[0], A, np.array(0.1)),
    of("lsim", lambda a, u: signal.lsim((a, B, C, D), u, GRID)[1], A, np.sin(GRID)),
    of("lsim", lambda b, a: signal.lsim((b, a), np.sin(GRID), GRID)[1], TAPS, POLES),
    of("step", part(1, system(signal.step, T=GRID)), A, B),
    of("impulse", part(1, system(signal.impulse, T=GRID)), A, B),
    of("dlsim", lambda a, u: signal.dlsim((a, B, C, D, 0.1), u)[1], A, np.sin(GRID)),
    of("StateSpace", lambda a, b: signal.StateSpace(a, b, C, D).output(GRID, GRID)[1], A, B),
    of("StateSpace", lambda a: signal.StateSpace(a, B, C, D).to_tf().freqresp(GRID)[1].real, A),
    of("bode", lambda b, a: joined(signal.bode)((b, a), GRID[1:]), TAPS, POLES),
    of("tf2ss", joined(signal.tf2ss), TAPS, POLES),
    of("ss2tf", lambda a, b: joined(signal.ss2tf)(a, b, C, D), A, B),
    of("czt", lambda x: signal.czt(x, m=4), normal(6)),
    of("splines", signal.cspline1d, normal(6)),
    of("savgol_coeffs", lambda d: signal.savgol_coeffs(5, 2, deriv=1, delta=d), np.array(0.7)),
    *LATER,
]  # fmt: skip
