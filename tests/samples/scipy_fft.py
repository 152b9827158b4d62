"""Rows for `scipy.fft`: odd and even lengths, all types and norms, single precision."""

import numpy as np

import functier.scipy.fft as sf

from ._row import normal, positive, row

C, F, CF = complex, np.float32, np.complex64

FULL = (sf.fft, sf.ifft)
TO_HALF = (sf.rfft, sf.ihfft)
FROM_HALF = (sf.irfft, sf.hfft)
REAL = (sf.dct, sf.idct, sf.dst, sf.idst)
REAL_N = (sf.dctn, sf.idctn, sf.dstn, sf.idstn)


def overwriting(x):
    """Let a transform overwrite what nobody else has."""
    return sf.ifft(sf.fft(1 * x, overwrite_x=True), overwrite_x=True) * x


def offset_of(p):
    """Return an offset, of numbers that differ from example to example."""
    return sf.fhtoffset(p[0], 1 + p[1] / 10, p[2] / 10, p[3] / 10)


def hankel(a, p):
    return sf.fht(a, p[0], p[1], p[2], p[3] / 10)


def inverse_hankel(a, p):
    return sf.ifht(a, p[0], p[1], p[2], p[3] / 10)


ROWS = [
    *(row(f, normal(3, 4, dtype=C), n=6, axis=0, norm="ortho", workers=2) for f in FULL),
    *(row(f, normal(2, 5, dtype=C), 3, norm="forward") for f in FULL),
    row(overwriting, normal(4, dtype=C)),
    *(row(f, normal(3, dtype=F), n=4) for f in FULL),
    *(row(f, normal(4, dtype=CF), norm="ortho") for f in FULL),
    *(row(f, normal(3, 4), n=6, axis=0, norm="ortho") for f in TO_HALF),
    *(row(f, normal(5, dtype=F)) for f in TO_HALF),
    *(row(f, normal(2, 6), n=3) for f in TO_HALF),
    *(row(f, normal(3, 2, dtype=C), n=8, axis=0, norm="ortho", workers=2) for f in FROM_HALF),
    *(row(f, normal(2, 5, dtype=CF), 5, -1, "forward") for f in FROM_HALF),
    *(row(f, normal(4)) for f in FROM_HALF),
    # along several axes
    *(row(f, normal(2, 3, 2, dtype=C), s=(3, -1), axes=(0, 2)) for f in (sf.fftn, sf.ifftn)),
    *(row(f, normal(2, 3, dtype=CF), norm="ortho") for f in (sf.fftn, sf.ifftn)),
    *(row(f, normal(2, 3), norm="ortho", _name="two") for f in (sf.fft2, sf.ifft2)),
    *(row(f, normal(3, 2, 4), (4, 3), (0, 1), "ortho") for f in (sf.rfftn, sf.ihfftn)),
    *(row(f, normal(3, 2, dtype=F)) for f in (sf.rfftn, sf.ihfftn)),
    *(row(f, normal(2, 3), _name="two") for f in (sf.rfft2, sf.ihfft2)),
    *(row(f, normal(2, 3), 3) for f in (sf.rfftn, sf.ihfftn)),
    *(row(f, normal(3, 2, 4, dtype=C), (4, 3), (0, 1)) for f in (sf.irfftn, sf.hfftn)),
    *(row(f, normal(3, 3, dtype=CF)) for f in (sf.irfftn, sf.hfftn)),
    *(row(f, normal(2, 3, dtype=C), norm="forward", _name="two") for f in (sf.irfft2, sf.hfft2)),
    row(sf.fftn, normal(2, 3), axes=()),
    # cosines and sines
    *(row(f, normal(3, 4), 1, norm="forward") for f in REAL),
    *(row(f, normal(4, 3), n=5, axis=0) for f in REAL),
    *(row(f, normal(2, 4), 3, n=3, workers=2) for f in REAL),
    *(row(f, normal(3), 4, norm="ortho") for f in REAL),
    *(row(f, normal(4), type, norm="ortho") for f in REAL for type in (1, 2, 3)),
    *(row(f, normal(4), type, orthogonalize=True) for f in REAL for type in (1, 2)),
    *(
        row(f, normal(4), type, None, -1, "ortho", orthogonalize=False)
        for f in REAL
        for type in (1, 3)
    ),
    *(row(f, normal(3, dtype=C), 2, orthogonalize=True) for f in REAL),
    *(row(f, normal(3, dtype=C), norm="ortho", orthogonalize=False) for f in REAL),
    *(row(f, normal(3, dtype=F), 3) for f in REAL),
    *(row(f, normal(3, dtype=np.float16)) for f in REAL[:1]),
    *(row(f, normal(2, 3, 2), 1, s=(3, 2), axes=(0, 2)) for f in REAL_N),
    *(row(f, normal(2, 3, dtype=CF), 3, norm="ortho") for f in REAL_N),
    # frequencies, shifts and Hankel transforms
    *(row(f, normal(3, 2, 5), axes=(-1, 0)) for f in (sf.fftshift, sf.ifftshift)),
    row(lambda d: sf.fftfreq(5, d), np.array(0.5), _name="frequencies"),
    row(lambda d: sf.rfftfreq(4, d), np.array(0.5), _name="frequencies"),
    *(row(f, normal(2, 4), 0.3, 1.5, 0.2, 0.1) for f in (sf.fht, sf.ifht)),
    *(row(f, normal(5, dtype=F), 0.3, 0.5) for f in (sf.fht, sf.ifht)),
    row(hankel, normal(4), positive(4), _order=1, _name="hankel"),
    row(inverse_hankel, normal(5), positive(4), _order=1, _name="hankel"),
    row(offset_of, positive(4)),
]
