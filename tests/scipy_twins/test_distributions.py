"""Distributions of `scipy.stats` inside transforms.

The sample table has every rule; here are the facts of each distribution, places on the boundary
of the support, and all that a twin has from SciPy.
"""

import copy
import pickle
import zlib

import numpy as np
import pytest
import scipy.stats as original

import functier as ft
import functier.scipy.stats as st
from functier._rules import velocities
from functier.scipy._rules.distributions import methods, moments
from functier.scipy._rules.special_formulas import zeta_slope
from samples import scipy_stats_continuous, scipy_stats_discrete

pytestmark = pytest.mark.inside("Facts and slopes of distributions are compared one by one.")

X = np.array([0.5, 1.0, 2.5])


def numbers(name, count):
    """Numbers of a generator that each distribution has to itself."""
    return np.random.default_rng(zlib.crc32(name.encode())).uniform(0.2, 0.8, (count, 1))


def continuous(name):
    function = scipy_stats_continuous.methods_of(name, ("logpdf", "cdf"), ("ppf",))
    return function, numbers(name, len(scipy_stats_continuous.DISTRIBUTIONS[name]) + 3)


def discrete(name):
    return scipy_stats_discrete.methods_of(name), numbers(name, 2)


ALL = {
    **{name: (continuous, methods.CONTINUOUS) for name in scipy_stats_continuous.DISTRIBUTIONS},
    **{name: (discrete, methods.DISCRETE) for name in scipy_stats_discrete.DISTRIBUTIONS},
}


def differences(f, x, t, h=1e-3):
    """Central differences of fourth order along `t`."""
    far, near = (
        [np.subtract(*pair) for pair in zip(f(x + k * t), f(x - k * t))] for k in (2 * h, h)
    )
    return [(8 * n - w) / (12 * h) for n, w in zip(near, far)]


def check_slopes(name):
    """Every method of a distribution has the derivative of its values."""
    make, _ = ALL[name]
    f, x = make(name)
    t = np.random.default_rng(1).uniform(-1, 1, x.shape)
    with np.errstate(all="ignore"):
        value, moved = ft.jvp(f, (x,), (t,))
        for a, b in zip(value, f(x), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)
        for a, b in zip(moved, differences(f, x, t), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", ALL)
def test_slopes(name):
    check_slopes(name)


def with_faults(facts):
    """The facts of a distribution with one of them wrong by a thousandth."""
    for field, value in facts._asdict().items():
        if callable(value):
            yield facts._replace(**{field: lambda *xs, f=value: f(*xs) * 1.001})
            continue
        for i, fact in enumerate(value):
            if fact is not None:
                wrong = list(value)
                wrong[i] = lambda *xs, f=fact: f(*xs) * 1.001
                yield facts._replace(**{field: tuple(wrong)})


@pytest.mark.parametrize("name", ALL)
def test_a_wrong_fact_is_found(name):
    _, table = ALL[name]
    for wrong in with_faults(table[name]):
        if name in ("uniform",):  # whose facts are zero
            continue
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(table, name, wrong)
            with pytest.raises(AssertionError):
                check_slopes(name)


def test_every_distribution_with_facts_is_tested():
    tested = {*scipy_stats_continuous.DISTRIBUTIONS, *scipy_stats_discrete.DISTRIBUTIONS}

    assert {*methods.CONTINUOUS, *methods.DISCRETE} - tested == {"erlang", "hypergeom", "randint"}
    for name in ("pdf", "cdf", "ppf"):
        a, b = (
            ft.grad(lambda x, d=d, name=name: getattr(d, name)(x, 2.0))(0.3)
            for d in (st.erlang, st.gamma)
        )
        assert a == b


# ---- the velocities ----


@pytest.mark.parametrize(
    "a, b, x, by_a, by_b",
    [
        (1.5, 2.5, 0.3, 0.18825556006280703, -0.09252661680735436),
        (0.02, 40.0, 0.01, 0.5344030113739809, -0.0002518120736266701),
        (800.0, 1200.0, 0.41, 0.00029876947710051334, -0.0002033440791179018),
        (0.3, 0.2, 0.99, 0.07641751092780487, -0.3119036915731224),
        (5000.0, 0.5, 0.9999, 1.9999999899987796e-08, -0.0002674471447163059),
    ],
)
def test_beta_velocities(a, b, x, by_a, by_b):
    """The references are differences of 60 digits."""
    found = np.multiply(velocities.beta_velocities(x, 1 - x, a, b), x * (1 - x))

    np.testing.assert_allclose(found, (by_a, by_b), rtol=1e-9)


@pytest.mark.parametrize(
    "a, z, expected",
    [
        (0.01, 1e-09, 2.016238040002079e-06),
        (0.5, 3.0, 2.9129424164403646),
        (40.0, 30.0, 0.8666398251504487),
        (100000.0, 100500.0, 1.0024975145455495),
    ],
)
def test_gamma_velocity(a, z, expected):
    np.testing.assert_allclose(velocities.gamma_velocity(z, a), expected, rtol=1e-10)


@pytest.mark.parametrize(
    "s, q, expected", [(1.5, 1.0, -3.9322397374311016), (4.0, 0.3, 148.4970105748159)]
)
def test_zeta_slope(s, q, expected):
    np.testing.assert_allclose(zeta_slope(s, q), expected, rtol=1e-12)


# ---- places of their own ----


def gradients(f, *args):
    with np.errstate(all="ignore"):
        return ft.grad(f, argnums=tuple(range(len(args))))(*args)


@pytest.mark.parametrize(
    "name, x, a, expected",
    [
        ("pdf", 0.0, 1.0, -1.0),  # the boundary: the formula inside
        ("pdf", 0.0, 2.0, 1.0),
        ("logpdf", 0.0, 1.0, -1.0),
        ("cdf", 0.0, 1.0, 1.0),
        ("cdf", 0.0, 2.0, 0.0),
        ("sf", 0.0, 1.0, -1.0),
        ("ppf", 0.0, 1.0, 1.0),
        ("ppf", 1.0, 1.0, np.inf),
        ("pdf", -1.0, 2.0, 0.0),  # outside
        ("logpdf", -1.0, 2.0, 0.0),
        ("logcdf", -1.0, 2.0, 0.0),
        ("logsf", -1.0, 2.0, 0.0),
        ("cdf", np.inf, 2.0, 0.0),
        ("pdf", np.nan, 2.0, np.nan),
        ("pdf", 1.0, -2.0, np.nan),  # a bad parameter
        ("cdf", 1.0, -2.0, np.nan),
        ("ppf", 0.5, -2.0, np.nan),
        ("ppf", 1.5, 2.0, np.nan),
    ],
)
def test_slope_of_gamma(name, x, a, expected):
    method = getattr(st.gamma, name)
    slopes = gradients(lambda x, a, loc, scale: method(x, a, loc, scale), x, a, 0.0, 1.0)

    np.testing.assert_allclose(slopes[0], expected, atol=1e-9)
    if expected == 0.0 or np.isnan(expected):
        np.testing.assert_allclose(slopes, [expected] * 4, atol=1e-9)
    assert ft.jvp(method, (x, a), (0.0, 0.0))[0] == pytest.approx(
        getattr(original.gamma, name)(x, a), nan_ok=True
    )


@pytest.mark.parametrize(
    "f, expected",
    [
        (lambda p: st.binom.pmf(0, 3, p), -3.0),
        (lambda p: st.binom.pmf(1, 3, p), 3.0),
        (lambda p: st.binom.pmf(2, 3, p), 0.0),
        (lambda p: st.binom.cdf(0, 3, p), -3.0),
        (lambda p: st.binom.cdf(3, 3, p), 0.0),
        (lambda p: st.binom.logpmf(0, 3, p), -3.0),
        (lambda p: st.binom.pmf(1.5, 3, p), 0.0),
        (lambda p: st.poisson.pmf(1, p), 1.0),
        (lambda p: st.poisson.sf(0, p), 1.0),
        (lambda p: st.poisson.pmf(-1, p), 0.0),
        (lambda p: st.t.cdf(1.0, np.inf, p), -0.24197072451914337),
        (lambda p: st.genextreme.cdf(0.7, p), 0.245 * np.exp(-0.7 - np.exp(-0.7))),
        (lambda p: st.genpareto.pdf(0.7, p), -0.455 * np.exp(-0.7)),
    ],
)
def test_slope_at_zero(f, expected):
    np.testing.assert_allclose(gradients(f, 0.0)[0], expected, rtol=1e-9)


def test_degrees_of_freedom_without_end():
    assert gradients(lambda df: st.t.cdf(1.0, df) + st.t.logpdf(1.0, df), np.inf) == (0.0,)


# ---- moments ----

PARAMETERS = (2.3, 4.6)
TABLES = {name: row for t in (moments.CONTINUOUS, moments.DISCRETE) for name, row in t.items()}


@pytest.mark.parametrize("name", [n for n in TABLES if n not in ("norm", "uniform", "expon")])
def test_moments(name):
    dist, plain = getattr(st, name), getattr(original, name)
    known = {"binom": (5, 0.3), "betabinom": (5, 1.2, 0.8), "nbinom": (5, 0.3), "erlang": (2.0,)}
    few = {"bernoulli": (0.3,), "geom": (0.3,), "triang": (0.3,)}
    args = np.array((known | few).get(name, PARAMETERS[: plain.numargs]), float)
    where = [i for i, a in enumerate(args) if name != "erlang" and a != 5]
    place = {"loc": 0.4} if methods.is_discrete(plain) else {"loc": 0.4, "scale": 1.7}

    def f(dist, free):
        given = list(args)
        for i, j in enumerate(where):
            given[j] = free[i]
        kinds = ["mean", "var", "std"] + ["entropy"] * (TABLES[name].entropy is not None)
        return [getattr(dist, kind)(*given, **place) for kind in kinds]

    x = args[where]
    t = np.ones_like(x)
    value, moved = ft.jvp(lambda free: f(dist, free), (x,), (t,))
    np.testing.assert_allclose(value, f(plain, x), rtol=1e-9)
    np.testing.assert_allclose(
        moved, differences(lambda v: f(plain, v), x, t), rtol=1e-6, atol=1e-9
    )


def test_moments_of_what_has_no_formula():
    assert ft.grad(lambda s: st.genextreme.var(0.1, scale=s))(2.0) == pytest.approx(
        4 * original.genextreme.var(0.1)
    )
    assert ft.grad(lambda m: st.cosine(m).stats()[0] + st.cosine(m).entropy())(2.0) == 1.0
    assert np.isnan(ft.jvp(st.gamma.mean, (-1.0,), (1.0,))[0])
    with pytest.raises(ft.UnsupportedError, match=r"scipy\.stats\.ncx2\.var does not take tensors"):
        ft.grad(lambda a: st.ncx2.var(a, 2.0))(1.0)
    with pytest.raises(ft.UnsupportedError, match="'m' and 'v' only"):
        ft.grad(lambda a: st.gamma.stats(a, moments="s"))(1.0)


def test_median_interval_and_support():
    close = np.testing.assert_allclose
    close(
        ft.jvp(lambda a: st.gamma.interval(0.6, a), (2.0,), (1.0,))[0],
        original.gamma.interval(0.6, 2),
    )
    assert ft.grad(lambda m: st.norm.median(m, 2.0))(0.5) == 1.0
    close(ft.jacfwd(lambda s: np.stack(st.uniform.support(1.0, s)))(2.0), [0.0, 1.0])
    with pytest.raises(ValueError, match="alpha must be"):
        ft.grad(lambda m: st.norm.interval(1.5, m)[0])(0.5)


# ---- twins ----


def test_a_twin_is_scipys_but_for_tensors():
    assert isinstance(st.gamma, original.rv_continuous) and isinstance(
        st.binom, original.rv_discrete
    )
    assert type(st.gamma).__name__ == "gamma_gen" and st.gamma.name == "gamma"
    assert type(st.norm.pdf(0.0)) is np.float64
    assert st.gamma.cdf(X, 2).tobytes() == original.gamma.cdf(X, 2).tobytes()
    assert st.gamma.rvs(2, size=3, random_state=1).tolist() == (
        original.gamma.rvs(2, size=3, random_state=1).tolist()
    )
    assert st.norm.fit(X) == original.norm.fit(X)
    assert st.norm.expect(lambda x: x**2) == pytest.approx(1.0)
    assert st.ncx2.stats(2.0, 3.0) == original.ncx2.stats(2.0, 3.0)
    assert st.levy_stable is original.levy_stable
    for made in (copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))):
        assert made(st.gamma) is st.gamma


def test_frozen_distributions():
    frozen = st.gamma(2.0, scale=3.0)
    assert isinstance(frozen, original.distributions.rv_frozen)
    assert frozen.rvs(2, random_state=1).tolist() == (
        original.gamma(2.0, scale=3.0).rvs(2, random_state=1).tolist()
    )
    assert pickle.loads(pickle.dumps(frozen)).pdf(1.0) == frozen.pdf(1.0)
    assert ft.grad(frozen.logpdf)(1.0) == pytest.approx(1 - 1 / 3)

    def ends(b):
        frozen = st.truncnorm(-1.0, b)
        assert isinstance(frozen, original.distributions.rv_frozen)
        return frozen.b + frozen.support()[1] + frozen.cdf(b)

    assert ft.grad(ends)(1.0) == pytest.approx(2.0 + st.truncnorm.pdf(1.0, -1.0, 1.0) * 0)
    with pytest.raises(TypeError, match="positional arguments"):
        ft.grad(lambda x: st.norm(x, 1.0, 2.0).pdf(1.0))(1.0)


def test_tensors_in_lists_and_integers():
    assert ft.grad(lambda m: st.norm.logpdf([m, 2 * m, 1]).sum())(3.0) == -15.0
    f = ft.vmap(lambda n: st.binom.pmf(1, n, 0.5))(np.array([1, 2]))
    assert f == pytest.approx(np.array([0.5, 0.5]))
    assert ft.vmap(lambda x: st.ncx2.cdf(x, 2.0, 1.0))(X).tobytes() == (
        original.ncx2.cdf(X, 2.0, 1.0).tobytes()
    )


def test_new_results_can_be_written_to():
    def f(x):
        y = st.norm.pdf(X)
        y[0] = x
        return np.sum(y)

    assert ft.grad(f)(3.0) == 1.0


def model(x, s):
    from scipy.stats import norm

    return norm.pdf(x, scale=s) * original.gamma(s).sf(x)


def test_adopted_code():
    with ft.adopt(model):
        slope = ft.grad(model, argnums=1)(0.5, 2.0)

    h = 1e-5
    assert slope == pytest.approx((model(0.5, 2 + h) - model(0.5, 2 - h)) / (2 * h))


@pytest.mark.parametrize(
    "f, error, text",
    [
        (lambda a: st.gamma.fit(a * X)[0], ft.UnsupportedError, r"gamma\.fit .* write -numpy"),
        (lambda a: st.gamma.rvs(a), ft.UnsupportedError, r"gamma\.rvs .* functier\.random"),
        (lambda a: st.norm(a).rvs(), ft.UnsupportedError, r"stats\.norm\.rvs "),
        (lambda a: st.binom.pmf(1, a, 0.5), ft.NoRuleError, r"stats\.binom\.pmf .* 'n'"),
        (lambda a: st.ncx2.pdf(1.0, a, 0.5), ft.NoRuleError, r"stats\.ncx2\.pdf .* 'df'"),
        (lambda a: st.ncx2.pdf(a, 1, 0.5), ft.NoRuleError, r"stats\.ncx2\.pdf .* 'x'"),
        (lambda a: st.poisson.pmf(a, 0.5), ft.NoRuleError, r"rv_discrete\.pmf .* 'x'"),
        (lambda a: st.norm.pdf(a * 1j).real, ft.UnsupportedError, r"norm\.pdf takes real numbers"),
    ],
)
def test_refusals(f, error, text):
    for call in (lambda: ft.grad(f)(2.0), lambda: ft.jvp(f, (2.0,), (1.0,))):
        with pytest.raises(error, match=text):
            call()


def test_distributions_without_facts_have_slopes_of_cdf_and_ppf():
    assert ft.grad(lambda x: st.ncx2.cdf(x, 2.0, 1.0))(1.5) == original.ncx2.pdf(1.5, 2, 1)
    slope = ft.grad(lambda q: st.kappa3.ppf(q, 2.0))(0.3)
    assert slope == pytest.approx(1 / original.kappa3.pdf(original.kappa3.ppf(0.3, 2.0), 2.0))


def test_von_mises_far_from_its_mean():
    f = lambda x, k: st.vonmises.cdf(x, k)  # noqa: E731
    h = 1e-4
    for x in (-9.0, 0.3, 3.0, 8.0):
        for k in (0.3, 20.0):
            expected = (f(x, k + h) - f(x, k - h)) / (2 * h)
            assert ft.grad(f, argnums=1)(x, k) == pytest.approx(expected, rel=1e-5, abs=1e-7)
