"""Complex numbers in machine code: pairs of real ones give what NumPy gives."""

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import functier as ft
from faults.planted import programs as faulty

PARTS = 0.0, -0.0, 1.0, -2.5, 2.0**-1000, np.inf, -np.inf, np.nan, 700.5, -750.0
Z = np.array([complex(a, b) for a in PARTS for b in PARTS])
"""Numbers whose products are exact, as NumPy rounds some of their differences once, some twice."""

CALLS = {
    "z + w": lambda z, w: z + w,
    "z - w.imag": lambda z, w: z - w.imag,
    "w.imag - z": lambda z, w: w.imag - z,
    "z * w": lambda z, w: z * w,
    "z * w.real": lambda z, w: z * w.real,
    "2j * z.real": lambda z, w: 2j * z.real,
    "z * z": lambda z, w: np.square(z),
    "z / w": lambda z, w: z / w,
    "z / w.real": lambda z, w: z / w.real,
    "1 / z": lambda z, w: 1 / z,
    "-z": lambda z, w: -z,
    "conj": lambda z, w: np.conj(z),
    "abs": lambda z, w: np.abs(z),
    "exp": lambda z, w: np.exp(z),
    "equal": lambda z, w: (z == w) + 2 * (z != w),
    "classes": lambda z, w: np.isfinite(z) + 2 * np.isnan(w) + 4 * np.isinf(z),
    "angle": lambda z, w: np.angle(z),
    "where": lambda z, w: np.where(z.real > 0, z, w),
    "astype": lambda z, w: z.real.astype(complex),
    "sum": lambda z, w: np.sum(z[:30]) + np.sum(w[5:9].reshape(2, 2), axis=1),
    "moves": lambda z, w: np.stack([z[::-1], w])[:, 3:].T,
    "products": lambda z, w: z[20:24].reshape(2, 2) @ z[31:35].reshape(2, 2),
    "single": lambda z, w: z.astype(np.complex64) * np.complex64(0.5 - 2j),
}


def compiled(f):
    """Return a function as machine code; a loop beside it makes small programs worth it."""

    def with_loop(z, w):
        size = 2.0 * z.real
        for _ in range(5):
            size = size * 0.5
        return f(z, w), size

    return ft.compile(with_loop, backend="llvm", warm=True)


def alike(found, expected, rtol=1e-13):
    """Tell if both parts are near, where NaNs and infinities are the same."""
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    return all([
        np.allclose(a, b, rtol=rtol, atol=0, equal_nan=True)
        for a, b in ((np.real(found), np.real(expected)), (np.imag(found), np.imag(expected)))
    ])  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
def test_calls_give_numpys_numbers(name):
    f, fast = CALLS[name], compiled(CALLS[name])

    for w in (np.roll(Z, 1), np.roll(Z, 40), Z[::-1].copy()):
        found = fast(Z, w)[0]
        assert alike(np.asarray(found), np.asarray(f(Z, w)), 1e-6 if name == "single" else 1e-13)
    assert "complex128" not in fast.explain()


def waves(z, steps=40):
    w, total = z, 0.0
    for i in range(steps):
        w = w * (0.99 + 0.1j) + 0.01 * z / (1.0 + w * np.conj(w))
        total = total + np.abs(w[0]) * i
    return total + np.sum(np.abs(w) ** 2)


def scattered(energies):
    total = 0.0
    for e in energies:
        g = 1 / (e - 0.3 + 0.01j)
        for _ in range(20):
            g = 1 / (e + 0.01j - 0.25 * g)
        total = total - g.imag
    return total


def coupled(angles):
    for _ in range(30):
        mean = np.mean(np.exp(1j * angles))
        angles = angles + 0.01 * np.abs(mean) * np.sin(np.angle(mean) - angles)
    return np.sum(np.cos(angles))


def transformed(x):
    z = np.fft.fft(x)
    for _ in range(10):
        z = z * np.exp(-0.01j * np.arange(x.size)) + 0.1 * np.conj(z)
    return np.sum(np.fft.ifft(z).real ** 2)


def filtered(x, norm=None):
    """Transform forward and back, of all kinds, in a loop."""
    for _ in range(12):
        z = np.fft.ifft(np.fft.fft(x, norm=norm) * (1 + 0.1j), norm=norm)
        half = np.fft.rfft(z.real, axis=-1, norm=norm) * (1 - 0.2j)
        x = 0.1 * np.fft.irfft(half, x.shape[-1], norm=norm) + 0.7 * z.imag + 0.2 * x
    return x


def padded(x):
    for _ in range(12):
        x = np.fft.irfft(np.fft.rfft(x, 2 * x.size), x.size) + 0.1 * np.sum(np.fft.fft(x, 3).imag)
    return np.sum(x)


@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize(
    "shape", [(2,), (7,), (3, 4), (60,), (100,), (127,), (128,), (255,), (512,), (2, 3, 9)], ids=str
)  # fmt: skip
def test_fourier_transforms_are_products(shape, norm):
    x = np.random.default_rng(0).normal(size=shape)
    fast = ft.compile(filtered, backend="llvm", warm=True)

    expected = filtered(x, norm)
    np.testing.assert_allclose(fast(x, norm), expected, atol=1e-13 * np.max(np.abs(expected)))
    assert "NumPy's" not in fast.explain()


def spectra(u):
    v = np.fft.rfft(u)
    for _ in range(20):
        v = v - 0.001 * np.fft.rfft(np.fft.irfft(v) ** 2)
    return np.sum(np.fft.irfft(v) ** 2)


X = np.linspace(0.2, 1.4, 8)
PROGRAMS = [
    (spectra, X),
    (waves, X + 0.5j), (scattered, X), (coupled, X), (transformed, X), (padded, X),
]  # fmt: skip


@pytest.mark.parametrize("transform", [lambda f: f, ft.grad], ids=["value", "grad"])
@pytest.mark.parametrize(("f", "x"), PROGRAMS, ids=lambda f: getattr(f, "__name__", "at"))
def test_loops_are_machine_code(f, x, transform):
    own = transform(f)
    fast = ft.compile(own, backend="llvm", warm=True)

    np.testing.assert_allclose(fast(x), own(x), rtol=1e-10)
    assert "loop: " not in fast.explain()


ANSWERS = {
    "z * z": lambda z: (z * z * z).real[0],
    "exp": lambda z: np.exp(z).imag[0],
    "abs": lambda z: np.abs(z)[0],
    "sum": lambda z: np.sum(z * z[::-1]).real,
    "product": lambda z: (MIXING @ z).imag[1],
    "fft": lambda z: np.fft.fft(z).real[1],
}
MIXING = np.sin(np.arange(256.0)).reshape(16, 16) * np.exp(0.3j)


@pytest.mark.parametrize("steps", [1, 10])
@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_is_that_of_numpys_rounding(name, steps):
    size = ANSWERS[name]

    def f(z, bound):
        for _ in range(steps):
            z = z * 0.5 if size(z) > bound else z * 0.25
        return np.sum(np.abs(z))

    fast = ft.compile(f, backend="llvm", warm=True)
    draws = np.random.default_rng(0)
    for _ in range(40):
        z = draws.normal(size=16) + 1j * draws.normal(size=16)
        at = size(z)
        for bound in (at - 1.0, at, np.nextafter(at, -np.inf)):
            assert np.isclose(fast(z, bound), f(z, bound), rtol=1e-12)


def test_parts_that_change_places_are_no_loop_of_pairs():
    def f(z):
        w = z * 2
        for _ in range(9):
            z, w = np.conj(w), z
        return z, w

    found = ft.compile(f, backend="llvm", warm=True)(X + 1j)

    for a, b in zip(found, f(X + 1j), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_loop_that_stays_numpys_has_complex_numbers():
    def f(z):
        for _ in range(20):
            z = z + np.sort(np.abs(z))
        return z

    fast = ft.compile(f, backend="llvm", warm=True)

    np.testing.assert_allclose(fast(X + 1j), f(X + 1j), rtol=1e-13)
    assert "complex_of" not in fast.explain()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["a sign", "a part"])
def test_a_planted_fault_is_found(monkeypatch, name):
    faulty.COMPLEX[name](monkeypatch)

    with pytest.raises(AssertionError):
        test_calls_give_numpys_numbers("z * w")
