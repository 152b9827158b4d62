"""Copies of SciPy's code: where they run, what their names mean, and what they refuse."""

import pickle
import sys
import types

import numpy as np
import pytest
import scipy.signal

import functier as ft
from faults.planted import scipy as faulty
from functier.scipy import interpolate, signal, spatial
from support.basics import raises

A = np.array([[-1.0, 0.5], [-0.2, -0.7]])
B, C, D = np.array([[1.0], [0.5]]), np.array([[1.0, 0.3]]), np.array([[0.1]])
GRID = np.linspace(0.0, 2.0, 7)


def slope_is_right(f, x, rtol=1e-6):
    value, slope = ft.jvp(f, (x,), (1.0,))
    np.testing.assert_allclose(slope, (f(x + 1e-6) - f(x - 1e-6)) / 2e-6, rtol=rtol, atol=1e-6)
    np.testing.assert_allclose(value, f(x), rtol=1e-12)
    np.testing.assert_allclose(ft.vmap(f)(np.array([x, 1.01 * x])), [f(x), f(1.01 * x)], rtol=1e-9)


def test_plain_arguments_meet_scipys_function(monkeypatch):
    """Inside a level, too: no copy is made for them."""
    faulty.plain_arguments_meet_scipys_function(monkeypatch)

    def scaled(x):
        return x * signal.butter(3, 0.3)[0][0]

    assert ft.grad(scaled)(1.0) == scipy.signal.butter(3, 0.3)[0][0]
    raises(ZeroDivisionError, lambda: ft.grad(lambda w: signal.butter(3, w)[0][0])(0.3))


def test_a_copy_without_twins_is_found(monkeypatch):
    """The planted fault: globals that stay SciPy's."""
    faulty.copy_without_twins(monkeypatch)
    raises(ft.ConversionError, lambda: ft.grad(lambda t: signal.chirp(t, 1.0, 2.0, 3.0))(0.4))


def test_classes_are_copied_with_their_bases():
    made = signal.StateSpace(A, B, C, D)
    assert isinstance(made, signal.lti) and isinstance(made, signal.StateSpace)
    assert isinstance(scipy.signal.StateSpace(A, B, C, D), signal.lti)
    expected = scipy.signal.StateSpace(A, B, C, D).output(GRID, GRID)[1]
    np.testing.assert_array_equal(made.output(GRID, GRID)[1], expected)
    assert pickle.loads(pickle.dumps(signal.StateSpace)) is signal.StateSpace


def test_systems_hold_tensors():
    """An instance hides them from the twin of a function, which runs its copy then."""

    def end(a):
        system = signal.StateSpace(a * A, B, C, D)
        return (signal.lsim(system, GRID, GRID)[1] + signal.step(system.to_tf(), T=GRID)[1])[-1]

    slope_is_right(end, 0.7)
    slope_is_right(lambda a: signal.TransferFunction([a], [1.0, a, 2.0]).poles[0].imag, 0.7)


@pytest.mark.parametrize(
    "f, x",
    [
        (lambda a: signal.windows.chebwin(9, a)[2], 80.0),
        (lambda a: signal.windows.taylor(9, 4, a)[2], 30.0),
        (lambda a: signal.envelope(a * np.cos(3 * GRID))[0][3], 0.7),
        (lambda a: signal.square(GRID, 0.3)[3] * a, 0.7),
        (lambda a: signal.sawtooth(5 * a * GRID, 0.3)[3], 0.71),
        (lambda a: signal.iirdesign(a, 0.4, 1.0, 30.0)[1][2], 0.2),
        (lambda a: signal.minimum_phase(a * np.array([0.1, 0.3, 0.5, 0.3, 0.1]))[1], 0.7),
        (lambda a: signal.gammatone(440 * a, "iir", fs=16000)[1][3], 1.1),
        (lambda a: signal.kaiser_beta(60 * a), 1.1),
        (lambda a: signal.filtfilt(a * A[0], A[1] + 1, GRID, method="gust")[2], 0.7),
        (lambda a: spatial.minkowski_distance(a * A, A[::-1])[0], 0.7),
        (lambda a: interpolate.Rbf(GRID, np.cos(a * GRID))(0.3), 0.7),
    ],
)
def test_functions_without_a_row(f, x):
    if f.__code__.co_names[1] not in ("envelope",) or hasattr(scipy.signal, "envelope"):
        slope_is_right(f, x)


def test_programs_call_compiled_code_with_arrays_that_are_made_inside():
    """SciPy's code asks for arrays that it may write to."""

    def slow(x):
        sections = signal.butter(2, 0.3, output="sos")
        return signal.sosfilt(sections, signal.decimate(x, 2, n=2))

    x = np.cos(np.arange(30.0))
    for _ in range(2):
        np.testing.assert_array_equal(ft.compile(slow)(x), slow(x))


def test_errors_are_scipys():
    raises(ValueError, lambda: ft.grad(lambda w: signal.butter(3, w)[0][0])(1.5), "0 < Wn < 1")
    with pytest.raises(ft.DataDependentError, match="iirfilter"):
        ft.vmap(lambda w: signal.butter(3, w)[0][0])(np.array([0.5, 1.5]))


ADOPTED = """
import numpy as np
import scipy.ndimage as nd
from scipy.cluster.vq import vq
from scipy.interpolate import make_smoothing_spline
from scipy.signal import butter, sosfilt
from scipy.signal.windows import kaiser
from scipy.spatial import cKDTree
from scipy.spatial.transform import Rotation

POINTS = np.array([[0.0, 0.0], [1.0, 0.2], [0.3, 1.1], [0.9, 1.3]])

def total(a):
    x = np.cos(np.arange(12.0) * a)
    turned = Rotation.from_euler("xyz", [0.1 * a, 0.2, 0.3]).apply([1, 2, 3])
    found = [sosfilt(butter(2, 0.2, output="sos"), x), kaiser(5, a), turned,
             vq(POINTS * a, POINTS + 0.1)[1], cKDTree(POINTS).query(POINTS * a + 0.1)[0],
             make_smoothing_spline(np.arange(12.0), x, lam=a)(2.2),
             nd.generic_filter(x.reshape(3, 4), lambda v: np.sum(v**2), 2)]
    assert isinstance(Rotation.identity(), Rotation)
    return sum(np.sum(part) for part in found)
"""


def test_adopted_code_of_many_modules(monkeypatch):
    module = types.ModuleType("model_of_many_modules")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(ADOPTED, vars(module))
    plain = [module.total(a) for a in (1.1, 1.2, 1.1 + 1e-6, 1.1 - 1e-6)]
    with ft.adopt(module.__name__):
        np.testing.assert_allclose(ft.vmap(module.total)(np.array([1.1, 1.2])), plain[:2])
        slope = ft.grad(module.total)(1.1)
    np.testing.assert_allclose(slope, (plain[2] - plain[3]) / 2e-6, rtol=1e-6)
