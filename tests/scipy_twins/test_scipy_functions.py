"""Python functions of SciPy at infinities, zeros and poles, and options that are refused."""

import numpy as np
import pytest

import functier as ft
import functier.scipy.fft as sf
import functier.scipy.integrate as si
import functier.scipy.special as special

INF, NAN = np.inf, np.nan


@pytest.mark.parametrize(
    ("f", "x", "expected"),
    [
        (special.logsumexp, [-INF, -INF], [0, 0]),
        (special.logsumexp, [INF, 1.0], [1, 0]),
        (special.logsumexp, [-INF, 2.0], [0, 1]),
        (lambda a: special.logsumexp(a, b=np.array([0.0, 1.0])), [INF, 1.0], [0, 1]),
        (lambda b: special.logsumexp(np.ones(2), b=b), [-1.0, 1.0], [INF, INF]),
        (lambda a: special.softmax(a)[1], [-INF, 2.0], [0, 0]),
        (lambda a: special.log_softmax(a)[0], [-INF, 2.0], [1, -1]),
        (special.factorial, -3.0, 0),
        (special.factorial, 0.0, -np.euler_gamma),
        (lambda k: special.comb(3.0, k, repetition=True), 0.0, 1.5),
        (lambda k: special.comb(2.0, k), 5.0, 0),
        (lambda x: special.diric(x, 5), 0.0, 0),
        (lambda z: special.spherical_jn(2, z, derivative=True), 0.0, 2 / 15),
        (lambda z: special.spherical_in(1, z), 0.0, 1 / 3),
        (lambda z: special.jvp(0, z, np.int64(1)), 0.0, -0.5),
    ],
)
def test_derivative_where_a_formula_may_fail(f, x, expected):
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(ft.grad(f)(np.asarray(x)), expected, rtol=1e-9)


def test_the_second_derivative_of_a_dirichlet_function_at_its_peak():
    slope = ft.grad(lambda x: special.diric(x, 5))

    assert ft.grad(slope)(0.0) == pytest.approx(-2.0)


def test_harmonics_at_the_pole_by_both_angles():
    slopes = ft.jvp(lambda *at: special.sph_harm_y(2, 1, *at), (0.0, 0.3), (1.0, 0.0))[1]

    expected = -np.sqrt(15 / (8 * np.pi)) * np.exp(0.3j)
    np.testing.assert_allclose(slopes, expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("f", "error", "words"),
    [
        (lambda x: special.comb(x[0], 2, exact=True), ft.UnsupportedError, "exact=True"),
        (lambda x: special.perm(x[0], 2, exact=True), ft.UnsupportedError, "exact=True"),
        (lambda x: special.factorial2(x), ValueError, "extend='complex'"),
        (lambda x: special.multigammaln(x[0], 9), ValueError, "condition a"),
        (lambda x: special.jvp(1, x, -1), ValueError, "non-negative"),
        (lambda x: special.sph_harm_y(1, 0, x, x, diff_n=1), ft.UnsupportedError, "diff_n=1"),
        (lambda x: special.assoc_legendre_p(2, 1, x), ft.UnsupportedError, "eval_jacobi"),
        (lambda x: sf.fft(x, plan=1), NotImplementedError, "plan"),
        (lambda x: sf.rfft(1j * x), TypeError, "real"),
        (lambda x: sf.dct(x, 5), ValueError, "type"),
        (lambda x: sf.fftn(x, axes=(0, 0)), ValueError, "unique"),
        (lambda x: si.romb(x[:2][[0, 1, 0, 1]]), ValueError, "power of 2"),
        (lambda x: si.cumulative_simpson(x, x=-x), ValueError, "increasing"),
        (lambda x: si.simpson(x, x=x[:2]), ValueError, "same as y"),
    ],
)
def test_what_is_refused_and_the_errors_of_scipy(f, error, words):
    x = np.array([0.5, 1.0, 2.0])

    with pytest.raises(error, match=words):
        ft.jvp(f, (x,), (np.ones(3),))
    with pytest.raises(error, match=words):
        ft.vmap(f)(np.stack([x, 2 * x]))


def test_an_operand_that_may_be_overwritten_is_not():
    x = np.array([1.0, 2.0j, 3.0])
    before = x.copy()

    for f in (sf.fft, sf.ifft, sf.dct, sf.fft2):
        given = np.stack([x, x]) if f is sf.fft2 else x
        ft.vjp(lambda x, f=f: f(x, overwrite_x=True), given)[1](given)
        np.testing.assert_array_equal(x, before)
