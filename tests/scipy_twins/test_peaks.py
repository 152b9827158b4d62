"""Peaks of a signal: their number may differ from example to example."""

import warnings

import numpy as np
import pytest
import scipy.signal

import functier as ft
import functier.numpy as fnp
from functier.scipy import signal

WAVE = np.array([0.1, 1.3, 0.4, 0.9, 0.2, -0.5, 1.7, 0.3, 0.6, -0.1])
STEP = np.array([0.3, -0.2, 0.5, 0.1, -0.4, 0.7, 0.2, -0.1, 0.6, 0.4])
PARTS = {
    "peak_heights": {"height": 0.5},
    "left_thresholds": {"threshold": 0.1},
    "right_thresholds": {"threshold": (0.1, 3.0)},
    "prominences": {"prominence": 0.2, "distance": 3},
    "widths": {"width": 0.1, "rel_height": 0.7},
    "left_ips": {"width": 0.1, "wlen": 5},
}


def part_of(name):
    def part(x):
        return signal.find_peaks(x, **PARTS[name])[1][name]

    return part


@pytest.mark.parametrize("name", PARTS)
def test_properties_of_peaks(name):
    """Values are SciPy's; both modes agree with differences, and a batch with a loop."""
    part = part_of(name)
    value, slope = ft.jvp(part, (WAVE,), (STEP,))
    expected = scipy.signal.find_peaks(WAVE, **PARTS[name])[1][name]
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    differences = (part(WAVE + 1e-6 * STEP) - part(WAVE - 1e-6 * STEP)) / 2e-6
    np.testing.assert_allclose(slope, differences, rtol=1e-6, atol=1e-8)
    weights = np.cos(np.arange(len(expected)))
    gradient = ft.grad(lambda x: fnp.sum(part(x) * weights))(WAVE)
    np.testing.assert_allclose(gradient @ STEP, slope @ weights, rtol=1e-10)
    batch = np.stack([WAVE, 1.1 * WAVE + 0.02])
    with warnings.catch_warnings(action="ignore", category=ft.FallbackWarning):
        np.testing.assert_allclose(ft.vmap(part)(batch), [part(x) for x in batch])


def test_examples_with_other_numbers_of_peaks():
    """They are refused, and run apart with ``branches="split"``."""

    def highest(x):
        return fnp.sum(x[signal.find_peaks(x, height=0.5)[0]])

    batch = np.stack([WAVE, -WAVE, WAVE[::-1]])
    with warnings.catch_warnings(action="ignore", category=ft.FallbackWarning):
        with pytest.raises(ft.DataDependentError, match="nonzero"):
            ft.vmap(highest)(batch)
        result = ft.vmap(highest, branches="split")(batch)
    np.testing.assert_allclose(result, [highest(x) for x in batch])


def test_extremes_of_neighbours():
    def lowest(x):
        return x[signal.argrelmin(x)[0]] ** 2

    slope = ft.jvp(lowest, (WAVE,), (STEP,))[1]
    places = scipy.signal.argrelmin(WAVE)[0]
    np.testing.assert_allclose(slope, 2 * WAVE[places] * STEP[places])


def test_what_is_refused():
    with pytest.raises(ft.UnsupportedError, match="leave it out"):
        ft.grad(lambda x: fnp.sum(signal.find_peaks(x, plateau_size=1)[0]))(WAVE)
    with pytest.raises(ft.UnsupportedError, match="pass one number"):
        ft.grad(lambda x: fnp.sum(signal.find_peaks(x, height=WAVE)[0]))(WAVE)
    data = np.ones(2), np.array([0, 1]), np.array([2, 3])
    with pytest.raises(ValueError, match="`x` must be a 1-D array"):
        ft.grad(lambda x: fnp.sum(signal.peak_widths(x, [1, 2], prominence_data=data)[0]))(
            np.stack([WAVE, STEP])
        )
