"""Intelligibility of speech: pystoi."""

import numpy as np
from pystoi import stoi
from pystoi.utils import resample_oct, stft, vect_two_norm

from .call import call

T = np.arange(6000.0) / 10000.0
SPEECH = np.sin(900.0 * T) * (1.1 + np.sin(20.0 * T)) + 0.3 * np.cos(5000.0 * T**1.1)
NOISE = np.sin(1e5 * T**1.7)


@call(1.0, 0.4)
def intelligible(x):
    return stoi(SPEECH, x[0] * SPEECH + x[1] * NOISE, 10000)


@call(1.0, 0.4)
def extended(x):
    return stoi(SPEECH, x[0] * SPEECH + x[1] * NOISE, 10000, extended=True)


@call(1.0, 0.4)
def slower(x):
    return resample_oct(x[0] * SPEECH[:200] + x[1] * NOISE[:200], 5, 8)[10:20]


@call(1.0, 0.4)
def spectrum(x):
    found = stft(x[0] * SPEECH[:1024] + x[1] * NOISE[:1024], 256, 512)
    return vect_two_norm(np.abs(found))
