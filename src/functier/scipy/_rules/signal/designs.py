"""Forms of filters: polynomials from zeros and poles, digital from analog, sections' responses."""

import math
from typing import Any

import numpy as np
import scipy.signal as signal  # type: ignore[import-untyped]

from ...._core.numpy_facts import Value
from ...._rules.axes import as_array
from ..declare import declare_composite, dispatching
from .filters import as_row


@declare_composite(signal, "zpk2tf")
def _zpk2tf(z: Value, p: Value, k: Value) -> tuple:
    z, p, k = as_row(z), as_row(p), as_array(k)
    if np.ndim(z) > 1:
        gains = [k[0] if np.size(k) == 1 and np.ndim(k) else k[i] if np.ndim(k) else k
                 for i in range(np.shape(z)[0])]  # fmt: skip
        b = np.stack([gains[i] * np.poly(z[i]) for i in range(np.shape(z)[0])])
    else:
        b = k * np.poly(z)
    return (b if np.ndim(b) else np.reshape(b, (1,))), as_row(np.poly(p))


def _bilinear_matrix(degree: int) -> np.ndarray:
    """Return the coefficients of ``(z - 1)**i * (z + 1)**(degree - i)``, a row for each i."""
    rows = []
    for i in range(degree + 1):
        row = np.ones(1)
        for sign in [-1.0] * i + [1.0] * (degree - i):
            row = np.convolve(row, [1.0, sign])
        rows.append(row)
    return np.stack(rows)


@declare_composite(signal, "bilinear")
def _bilinear(b: Value, a: Value, fs: Value = 1.0) -> tuple:
    b, a = as_row(b), as_row(a)
    if np.ndim(fs):
        raise ValueError("Sampling frequency fs must be a single scalar.")
    signal.bilinear(np.ones(np.shape(b)), np.ones(np.shape(a)))  # SciPy's errors
    degree = max(np.size(b), np.size(a)) - 1
    found = []
    for c in (b, a):
        n = np.size(c)
        powers = np.arange(n - 1, -1, -1)
        rows = _bilinear_matrix(degree)[powers]
        found.append(np.sum(np.reshape(c * (2.0 * fs) ** powers, (-1, 1)) * rows, axis=0))
    return found[0] / found[1][0], found[1] / found[1][0]


def _of_sections(sos: Value, worN: Any, whole: bool, fs: Value) -> tuple:
    sos = as_array(sos)
    if np.ndim(sos) != 2 or np.shape(sos)[1] != 6 or not np.shape(sos)[0]:
        signal.sosfreqz(np.ones(np.shape(sos)))  # SciPy's errors
    h: Any = 1.0
    for i in range(np.shape(sos)[0]):
        w, row = dispatching(signal.freqz)(sos[i, :3], sos[i, 3:], worN=worN, whole=whole, fs=fs)
        h = h * row
    return w, h


@declare_composite(signal, "sosfreqz")
def _sosfreqz(
    sos: Value, worN: Any = 512, whole: bool = False, fs: Value = 2 * math.pi
) -> tuple:  # fmt: skip
    return _of_sections(sos, worN, whole, fs)


@declare_composite(signal, "freqz_sos")
def _freqz_sos(
    sos: Value, worN: Any = 512, whole: bool = False, fs: Value = 2 * math.pi
) -> tuple:  # fmt: skip
    return _of_sections(sos, worN, whole, fs)
