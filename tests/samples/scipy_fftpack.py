"""Rows for `scipy.fftpack`: odd and even lengths, single precision."""

import numpy as np

import functier.scipy.fftpack as fp

from ._row import normal, row

C, F = complex, np.float32


def overwriting(x):
    """Let a transform overwrite what nobody else has."""
    return fp.ifft(fp.fft(1 * x, overwrite_x=True), overwrite_x=True) * x


ROWS = [
    *(row(f, normal(3, 4, dtype=C), 5, 0) for f in (fp.fft, fp.ifft)),
    row(overwriting, normal(4, dtype=C)),
    *(row(f, normal(2, 3, dtype=C), (2, 4)) for f in (fp.fftn, fp.ifftn, fp.fft2, fp.ifft2)),
    *(row(f, normal(2, 3, 2), axes=(0, 1)) for f in (fp.fftn, fp.fft2)),
    *(row(f, normal(5)) for f in (fp.rfft, fp.irfft)),
    *(row(f, normal(4)) for f in (fp.rfft, fp.irfft)),
    *(row(f, normal(3, 4), 6, 0) for f in (fp.rfft, fp.irfft)),
    *(row(f, normal(2, 4, dtype=F), 3) for f in (fp.rfft, fp.irfft)),
    *(row(f, normal(1)) for f in (fp.rfft, fp.irfft)),
    *(row(f, normal(4), norm="ortho") for f in (fp.dct, fp.idct, fp.dst, fp.idst)),
    *(row(f, normal(2, 4), 3, axis=0) for f in (fp.dct, fp.idct, fp.dst, fp.idst)),
    *(row(f, normal(2, 3), 2, (3, 2)) for f in (fp.dctn, fp.idctn, fp.dstn, fp.idstn)),
]
