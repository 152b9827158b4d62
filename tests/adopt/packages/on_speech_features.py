"""Speech: python-speech-features."""

import numpy as np
import python_speech_features as features

from .call import call

SIGNAL = np.cos(np.arange(600) * 0.3) + 0.3 * np.sin(np.arange(600) * 1.1)


@call(1.0, 0.5, rtol=1e-4)
def cepstrum(x):
    return features.mfcc(SIGNAL * x[0] + x[1] * np.cos(np.arange(600) * 0.7), 16000)


@call(1.0, 0.5)
def banks(x):
    return features.logfbank(SIGNAL * x[0] + x[1] * np.cos(np.arange(600) * 0.7), 16000)


@call(0.2, 0.4, 0.1, 0.7, 0.3, 0.9)
def slopes(x):
    return features.delta(x.reshape(3, 2), 2)


@call(0.2, 0.4, 0.1, 0.7, 0.3, 0.9)
def emphasis(x):
    return features.sigproc.preemphasis(x, 0.95)


@call(0.2, 0.4, 0.1, 0.7, 0.3, 0.9)
def spectrum(x):
    return features.sigproc.logpowspec(x.reshape(2, 3), 8)
