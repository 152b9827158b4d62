"""Rows for numpy.fft: odd and even lengths, cut off and filled up, all three norms."""

import numpy as np

from ._row import deprecated, normal, row

C, F, CF = complex, np.float32, np.complex64
fft = np.fft

FULL = (fft.fft, fft.ifft)
TO_HALF = (fft.rfft, fft.ihfft)
FROM_HALF = (fft.irfft, fft.hfft)


def without_axes(x):
    return fft.fftn(x, (2, 3))


def real_without_axes(x):
    return fft.irfftn(x, (2, 3))


def none_in_s(x):
    return fft.ifftn(x, (None, 2), (0, 1))


ROWS = [
    # along one axis
    *(row(f, normal(4, dtype=C)) for f in FULL),
    *(row(f, normal(5)) for f in FULL),
    *(row(f, normal(1, dtype=C)) for f in FULL),
    *(row(f, normal(3, 4, dtype=C), n=6, axis=0, norm="ortho") for f in FULL),
    *(row(f, normal(2, 5, dtype=C), 3, norm="forward") for f in FULL),
    *(row(f, normal(2, 3), n=1, norm="backward") for f in FULL),
    *(row(f, normal(2, 3, 2, dtype=C), axis=-2) for f in FULL),
    *(row(f, normal(4, dtype=CF), norm="ortho") for f in FULL),
    *(row(f, normal(3, dtype=F), n=4) for f in FULL),
    *(row(f, normal(4, dtype=np.float16), norm="forward") for f in FULL),
    *(row(f, normal(0, 3, dtype=C)) for f in FULL),
    *(row(f, normal(4)) for f in TO_HALF),
    *(row(f, normal(5)) for f in TO_HALF),
    *(row(f, normal(1)) for f in TO_HALF),
    *(row(f, normal(2)) for f in TO_HALF),
    *(row(f, normal(3, 4), n=6, axis=0, norm="ortho") for f in TO_HALF),
    *(row(f, normal(4, 3), n=5, axis=-2, norm="forward") for f in TO_HALF),
    *(row(f, normal(2, 5), 4, norm="forward") for f in TO_HALF),
    *(row(f, normal(2, 6), n=3) for f in TO_HALF),
    *(row(f, normal(3), n=1) for f in TO_HALF),
    *(row(f, normal(5, dtype=F), norm="ortho") for f in TO_HALF),
    *(row(f, normal(4, dtype=np.longdouble)) for f in TO_HALF),
    *(row(f, normal(3, dtype=C)) for f in FROM_HALF),
    *(row(f, normal(3, dtype=C), n=5) for f in FROM_HALF),
    *(row(f, normal(4)) for f in FROM_HALF),
    *(row(f, normal(1, dtype=C), n=1) for f in FROM_HALF),
    *(row(f, normal(2, dtype=C), n=2) for f in FROM_HALF),
    *(row(f, normal(3, 2, dtype=C), n=8, axis=0, norm="ortho") for f in FROM_HALF),
    *(row(f, normal(2, 5, dtype=C), 4, norm="forward") for f in FROM_HALF),
    *(row(f, normal(2, 5, dtype=C), 5, -1, "backward") for f in FROM_HALF),
    *(row(f, normal(4, dtype=C), n=1) for f in FROM_HALF),
    *(row(f, normal(3, dtype=CF), norm="ortho") for f in FROM_HALF),
    *(row(f, normal(3, dtype=F), n=3) for f in FROM_HALF),
    row(fft.fft, np.arange(4)),
    row(fft.irfft, np.arange(3)),
    row(fft.rfft, np.array([True, False, True])),
    # along several
    *(row(f, normal(2, 3, dtype=C)) for f in (fft.fftn, fft.ifftn, fft.fft2, fft.ifft2)),
    *(row(f, normal(2, 3, 2), axes=(0, 2), s=(3, -1)) for f in (fft.fftn, fft.ifftn, fft.fft2)),
    row(fft.ifft2, normal(2, 3, 2, dtype=CF), (1, 4), (2, 0), "ortho"),
    row(fft.fftn, normal(2, 3), axes=(0, 0)),
    row(fft.ifftn, normal(2, 3, dtype=C), s=(3, 2), axes=(1, 1), norm="forward"),
    row(fft.fftn, normal(2, 3), axes=()),
    row(fft.fftn, normal(), _name="fftn of a number"),
    row(deprecated(without_axes), normal(2, 3, 2)),
    row(deprecated(none_in_s), normal(2, 3)),
    *(row(f, normal(2, 3)) for f in (fft.rfftn, fft.rfft2)),
    *(row(f, normal(3, 2, 4, dtype=F), (4, 3), (0, 1), "ortho") for f in (fft.rfftn, fft.rfft2)),
    row(fft.rfftn, normal(2, 4), axes=(1, 1)),
    row(fft.rfftn, normal(2, 3, 2), axes=(1,), norm="forward"),
    *(row(f, normal(2, 3, dtype=C)) for f in (fft.irfftn, fft.irfft2)),
    *(row(f, normal(3, 2, 4, dtype=CF), (4, 3), (0, 1)) for f in (fft.irfftn, fft.irfft2)),
    row(fft.irfftn, normal(2, 3, dtype=C), axes=(1, 1)),
    row(fft.irfftn, normal(3, 2), axes=(0,), norm="ortho"),
    row(deprecated(real_without_axes), normal(3, 2, dtype=C)),
    # shifts, and frequencies as functions of the spacing
    *(row(f, normal(4, 5, dtype=C)) for f in (fft.fftshift, fft.ifftshift)),
    *(row(f, normal(3, 5), axes=1) for f in (fft.fftshift, fft.ifftshift)),
    *(row(f, normal(3, 2, 5), axes=(-1, 0)) for f in (fft.fftshift, fft.ifftshift)),
    row(fft.fftshift, np.arange(5)),
    row(lambda d: fft.fftfreq(5, d), np.array(0.5), _name="fftfreq"),
    row(lambda d: fft.rfftfreq(4, d), np.array(0.5), _name="rfftfreq"),
]
