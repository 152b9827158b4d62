"""Evaluation of music: mir_eval."""

import numpy as np
from mir_eval import alignment, beat, melody

from .call import call

TIMES = np.linspace(0.0, 4.0, 9)


@call(0.02, 0.013, 0.031)
def beats(x):
    estimated = TIMES + x[0] * np.sin(TIMES) + x[1] * np.cos(2.0 * TIMES) + x[2]
    return np.array(beat.cemgil(TIMES, estimated))


@call(0.1, 0.2, 0.35, 0.05)
def lyrics(x):
    reference = np.array([0.5, 1.2, 2.4, 3.3])
    found = alignment.evaluate(reference, reference + x)
    return np.array([found["perceptual"], found["mae"], found["aae"]])


@call(440.0, 1.01, 0.8)
def pitch(x):
    cents = melody.hz2cents(x[0] * x[1] ** np.arange(5.0))
    voicing = np.array([1.0, 0.9, 0.4, 0.7, 1.0]) * x[2]
    return np.array([*melody.voicing_measures(np.ones(5), voicing), np.mean(cents)])


@call(0.4, 1.7)
def resampled(x):
    times = np.arange(6.0)
    frequencies = 220.0 * (1.0 + 0.1 * x[0] * np.sin(x[1] * times))
    new = np.array([0.25, 1.5, 2.75, 4.1])
    found = melody.resample_melody_series(times, frequencies, np.ones(6), new)
    return np.array(found)
