"""Loudness: pyloudnorm."""

import numpy as np
import pyloudnorm
from pyloudnorm.iirfilter import IIRfilter

from .call import call

RATE = 8000
TIME = np.arange(RATE // 2) / RATE


def sound(x):
    """Return half a second of two tones."""
    return x[0] * np.sin(600.0 * TIME) + x[1] * np.sin(2500.0 * TIME + 0.3)


@call(0.5, 0.2)
def loudness(x):
    return pyloudnorm.Meter(RATE).integrated_loudness(sound(x))


@call(0.5, 0.2)
def blocks(x):
    stereo = np.stack([sound(x), 0.5 * sound(x)], axis=1)
    return pyloudnorm.Meter(RATE, block_size=0.2).integrated_loudness(stereo)


@call(0.5, 0.2)
def normalized(x):
    return pyloudnorm.normalize.loudness(sound(x), -20.0, -23.0)[:50]


@call(0.5, 0.2)
def peak(x):
    return pyloudnorm.normalize.peak(sound(x), -1.0)[:50]


@call(4.0, 0.7, 1500.0)
def coefficients(x):
    found = IIRfilter(x[0], x[1], x[2], 48000, "high_shelf")
    return np.concatenate([found.a, found.b])
