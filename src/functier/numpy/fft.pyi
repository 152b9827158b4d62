"""NumPy's types, name by name: see `__init__.pyi`."""

from numpy.fft import test as test  # type: ignore[attr-defined]
from numpy.fft._helper import (
    fftfreq as fftfreq, fftshift as fftshift, ifftshift as ifftshift, rfftfreq as rfftfreq,
)  # fmt: skip
from numpy.fft._pocketfft import (
    fft as fft, fft2 as fft2, fftn as fftn, hfft as hfft, ifft as ifft, ifft2 as ifft2,
    ifftn as ifftn, ihfft as ihfft, irfft as irfft, irfft2 as irfft2, irfftn as irfftn,
    rfft as rfft, rfft2 as rfft2, rfftn as rfftn,
)  # fmt: skip
