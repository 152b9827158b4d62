"""SciPy's special functions at kinks and poles, and what they have no derivative for."""

import numpy as np
import pytest
import scipy.fft
import scipy.integrate
from scipy import special

import functier as ft

INF = np.inf


@pytest.mark.parametrize(
    ("f", "x", "expected"),
    [
        (special.entr, 0.0, INF),
        (lambda x: special.xlogy(x, 2.0), 0.0, np.log(2)),
        (lambda x: special.xlogy(x, 0.0), 0.0, -INF),
        (lambda y: special.xlogy(0.0, y), 0.0, 0.0),
        (lambda y: special.xlogy(0.0, y), 2.0, 0.0),
        (lambda y: special.xlog1py(0.0, y), -1.0, 0.0),
        (lambda y: special.rel_entr(0.0, y), 0.0, 0.0),
        (lambda y: special.kl_div(0.0, y), 0.0, 1.0),
        (lambda r: special.huber(1.0, r), 1.0, 1.0),
        (special.rgamma, 0.0, 1.0),
        (special.rgamma, -3.0, -6.0),
        (special.gamma, 171.0, special.gamma(171.0) * special.psi(171.0)),
        (special.exprel, 0.0, 0.5),
        (special.spence, 1.0, -1.0),
        (special.i0e, 0.0, 0.0),
        (special.i1e, 0.0, 0.5),
        (special.beip, 0.0, 0.5),
        (special.expit, 800.0, 0.0),
        (special.expit, 40.0, special.expit(-40.0)),
        (special.log_expit, -800.0, 1.0),
        (special.log_ndtr, -1e9, 1e9),
        (special.log_ndtr, 1e9, 0.0),
        (lambda x: special.gammainc(1.0, x), 0.0, 1.0),
        (lambda x: special.betainc(1.0, 1.0, x), 0.0, 1.0),
        (lambda x: special.jv(1, x), 0.0, 0.5),
        (lambda x: special.lambertw(x).real, 0.0, 1.0),
        (lambda lmbda: special.boxcox(np.e, lmbda), 0.0, 0.5),
        (special.ellipk, 0.0, np.pi / 8),
        (special.ellipkm1, 1e-200, -0.5e200),
        (lambda x: special.eval_hermite(0, x), 0.0, 0.0),
        (lambda n: special.binom(n, 0.3), -0.7, 10 / 3),
        (lambda n: special.binom(n, 5.0), 3.0, -1 / 20),
        (lambda k: special.binom(0.5, k), 1.5, -2 / 3),
        (lambda k: special.binom(3.0, k), -1.0, 1 / 4),
    ],
)
def test_derivative_where_a_formula_may_fail(f, x, expected):
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(ft.grad(f)(x), expected, rtol=1e-12)
        np.testing.assert_allclose(ft.jvp(f, (x,), (1.0,))[1], expected, rtol=1e-12)


@pytest.mark.parametrize("df", [1e-6, 1e-4, 0.3, 1e4, 1e7])
@pytest.mark.parametrize("t", [-40.0, 0.01, 1.0, 2.5])
def test_students_distribution_by_any_degrees_of_freedom(df, t):
    steps = df * (1 + np.array([1, -1, 2, -2]) * 1e-2)
    near, far = np.diff(special.stdtr(steps, t).reshape(2, 2))[:, 0]
    expected = (far - 8 * near) / (12e-2 * df)
    noise = 1e-14 / df  # that of SciPy's values
    np.testing.assert_allclose(
        ft.grad(lambda v: special.stdtr(v, t))(df), expected, rtol=1e-5, atol=noise
    )


WHOLE = [
    (special.kn, (0, 1.3)), (special.yn, (0, 1.3)), (special.expn, (0, 1.3)),
    (special.bdtr, (1, 4, 0.3)), (special.bdtrc, (1, 4, 0.3)), (special.bdtri, (1, 4, 0.3)),
    (special.nbdtr, (2, 4, 0.3)), (special.nbdtrc, (2, 4, 0.3)), (special.nbdtri, (2, 4, 0.3)),
    (special.pdtr, (1, 1.3)), (special.pdtri, (1, 0.3)), (special.smirnov, (3, 0.2)),
]  # fmt: skip
"""Functions of whole numbers: SciPy cuts the digits of others."""


@pytest.mark.filterwarnings("ignore:floating point number truncated", "ignore:non-integer arg")
@pytest.mark.parametrize(("f", "args"), WHOLE)
def test_the_derivative_is_that_of_the_order_that_scipy_takes(f, args):
    *whole, x = args
    for cut in ([n + 0.6 for n in whole], [whole[0], *[n + 0.6 for n in whole[1:]]]):
        assert f(*cut, x) == f(*whole, x)
        found = ft.grad(lambda x, cut=cut: f(*cut, x))(x)
        np.testing.assert_allclose(found, ft.grad(lambda x: f(*whole, x))(x), rtol=1e-12)


def test_slope_of_spence_at_complex_numbers():
    """Also where SciPy's hypergeometric series is wrong: near the root of unity."""
    x = np.array([0.43 + 0.87j, 0.5 + 0.87j, 1.0 + 1e-9j, 0.8 - 0.1j, -2.0 + 0.5j])
    slope = ft.jvp(special.spence, (x,), (np.ones_like(x),))[1]

    np.testing.assert_allclose(slope, np.log(x) / (1 - x), rtol=1e-7)


def test_mixed_derivative_of_xlogy_at_zero():
    f = ft.grad(ft.grad(special.xlogy, argnums=1))

    assert f(0.0, 2.0) == 0.5


@pytest.mark.parametrize(
    ("f", "name", "operand"),
    [
        (lambda v: special.jve(v, 1.0), "jve", "v"),
        (lambda b: special.gdtr(1.0, b, 1.0), "gdtr", "b"),
        (lambda a: special.eval_jacobi(1.0, a, 2.0, 0.5), "eval_jacobi", "alpha"),
        (lambda m: special.ellipj(0.5, m)[0], "ellipj", "m"),
        (special.zetac, "zetac", "x0"),
    ],
)
def test_operand_without_a_derivative(f, name, operand):
    for call in (ft.grad(f), lambda x: ft.jvp(f, (x,), (1.0,))):
        with pytest.raises(ft.NoRuleError, match=rf"scipy\.special\.{name} .* '{operand}'"):
            call(1.5)


def test_operand_without_a_derivative_may_be_batched():
    orders, x = np.array([0.0, 1.0, 2.5]), np.array([0.5, 1.0, 2.0])

    slopes = ft.vmap(ft.grad(lambda x, v: special.jve(v, x)))(x, orders)

    np.testing.assert_allclose(slopes, special.jvp(orders, x), rtol=1e-12)


X = np.array([0.5, 1.0, 4.0])
SUM, REST = special.sici(2 * X)
ORDERS = {  # DLMF 10.15.6, 10.15.8, 10.38.6, 10.38.7; 13.6.1, 15.4.6
    "jv": (lambda p: special.jv(0.5 + p, X),
           np.sqrt(2 / np.pi / X) * (REST * np.sin(X) - SUM * np.cos(X))),
    "yv": (lambda p: special.yv(0.5 + p, X),
           np.sqrt(2 / np.pi / X) * (REST * np.cos(X) + (SUM - np.pi) * np.sin(X))),
    "kv": (lambda p: special.kv(0.5 + p, X),
           np.sqrt(np.pi / 2 / X) * np.exp(X) * special.exp1(2 * X)),
    "iv": (lambda p: special.iv(0.5 + p, X),
           -(special.exp1(2 * X) * np.exp(X) + special.expi(2 * X) * np.exp(-X))
           / np.sqrt(2 * np.pi * X)),
    "hyp1f1 both": (lambda p: special.hyp1f1(1.5 + p, 1.5 + p, X), 0 * X),
    "hyp2f1 a": (lambda p: special.hyp2f1(2 + p, 0.3, 0.3, -X), -np.log1p(X) / (1 + X) ** 2),
    "hyp2f1 both": (lambda p: special.hyp2f1(2.0, 0.3 + p, 0.3 + p, -X), 0 * X),
}  # fmt: skip


@pytest.mark.parametrize(("f", "slopes"), ORDERS.values(), ids=list(ORDERS))
def test_derivatives_by_orders_and_parameters(f, slopes):
    close = {"rtol": 1e-9, "atol": 1e-9}
    np.testing.assert_allclose(ft.jvp(f, (0.0,), (1.0,))[1], slopes, **close)
    np.testing.assert_allclose(ft.grad(lambda p: np.sum(f(p)))(0.0), np.sum(slopes), **close)
    batch = ft.vmap(ft.jacfwd(f))(np.zeros(2))
    np.testing.assert_allclose(batch, np.stack([slopes, slopes]), **close)


def test_mixed_derivatives_by_an_order_agree():
    by_order_first = ft.grad(ft.grad(special.jv), argnums=1)(1.0, 2.0)
    by_order_last = ft.grad(ft.grad(special.jv, argnums=1))(1.0, 2.0)
    assert by_order_first == pytest.approx(by_order_last, rel=1e-8)


def test_a_derivative_by_a_parameter_is_refused_where_there_is_none():
    with pytest.raises(FloatingPointError, match=r"hyp1f1.*do not settle"):
        ft.grad(special.hyp1f1, argnums=1)(1.0, -2.0, 3.0)


@pytest.mark.parametrize(
    ("f", "name"),
    [
        (special.logsumexp, "logsumexp"),
        (lambda x: special.softmax(x), "softmax"),
        (lambda x: special.polygamma(1, x), "polygamma"),
        (lambda x: special.spherical_jn(1, x), "spherical_jn"),
        (lambda x: scipy.fft.dct(x), "dct"),
        (lambda x: scipy.integrate.simpson(x), "simpson"),
    ],
)
def test_function_that_does_not_dispatch_names_its_twin(f, name):
    x = np.array([[0.5, 1.0, 2.0], [1.0, 3.0, 2.0]])

    for transform in (ft.vmap, ft.jacrev):
        with pytest.raises(ft.ConversionError, match=rf"write functier\.scipy\.\w+\.{name} for"):
            transform(f)(x)


def test_an_unsigned_order_does_not_wrap_around():
    for order in (np.uint8(0), np.array([0], np.uint64), True):
        expected = ft.grad(lambda x: np.sum(special.jv(order * 1.0, x)))(0.5)
        assert ft.grad(lambda x, v=order: np.sum(special.jv(v, x)))(0.5) == pytest.approx(expected)


def test_boxcox_at_zero_has_its_limit():
    with np.errstate(all="ignore"):
        assert ft.grad(lambda lmbda: special.boxcox(0.0, lmbda))(2.0) == pytest.approx(0.25)
    assert ft.grad(special.exprel)(-3.0) == pytest.approx((1 - 4 * np.exp(-3.0)) / 9)


def test_zeta_has_a_derivative_by_its_second_argument():
    slope = ft.grad(lambda q: special.zeta(2.0, q))(1.5)
    assert slope == pytest.approx(-2 * special.zeta(3.0, 1.5))


def test_zeta_has_a_derivative_without_a_second_argument():
    assert ft.grad(special.zeta)(2.5) == pytest.approx(ft.grad(special.zeta)(2.5, 1.0), rel=1e-9)
    assert ft.grad(special.zeta)(0.0) == pytest.approx(-np.log(2 * np.pi) / 2, rel=1e-9)
    slope = ft.grad(special.zeta, holomorphic=True)(2.5 + 0j)
    assert slope == pytest.approx(ft.grad(special.zeta)(2.5), rel=1e-9)


@pytest.mark.parametrize("x", [8.001, 30.0, 1e4, 1e8, 1e150])
def test_slopes_whose_terms_cancel_keep_their_digits(x):
    """They are sums of DLMF 7.12.1, of which 16 terms are enough from 8 on."""
    inverse = 0.5 / x / x
    for f, sign, factor in ((special.erfcx, -1, 2 / np.sqrt(np.pi)), (special.dawsn, 1, -1)):
        terms = np.cumprod(sign * inverse * np.arange(1, 33, 2))
        assert ft.grad(f)(x) == pytest.approx(factor * np.sum(terms), rel=1e-14)
        assert ft.jvp(f, (x,), (1.0,))[1] == pytest.approx(factor * np.sum(terms), rel=1e-14)
        below, above = (ft.grad(ft.grad(f))(y) for y in (8 - 1e-9, 8 + 1e-9))
        assert below == pytest.approx(above, rel=1e-8)
