"""Distributions of vectors of `scipy.stats` inside transforms; kernel densities."""

import pickle

import numpy as np
import pytest
import scipy.stats
import scipy.stats as original

import functier as ft
import functier.scipy.stats as st
import functier.scipy.stats as stats

X, MEAN = np.array([0.3, -0.4]), np.array([0.1, 0.2])
COV = np.array([[2.0, 0.5], [0.5, 1.0]])
CASES = {
    "normal": (
        lambda s, x, m, c: [
            s.multivariate_normal.logpdf(x, m, c),
            s.multivariate_normal(m, c).pdf(x),
            s.multivariate_normal(mean=m, cov=c).entropy(),
        ],
        (X, MEAN, COV),
    ),
    "t": (
        lambda s, x, m, c, df: [
            s.multivariate_t.logpdf(x, m, c, df),
            s.multivariate_t(m, shape=c, df=df).pdf(x),
            s.multivariate_t.entropy(m, c, df),
        ],
        (X, MEAN, COV, np.array(3.5)),
    ),
    "dirichlet": (
        lambda s, x, a: [
            s.dirichlet.logpdf(x, a), s.dirichlet(a).pdf(x), s.dirichlet(a).entropy(),
            s.dirichlet.mean(a), s.dirichlet.var(a), s.dirichlet.cov(a),
        ],
        (np.array([0.2, 0.5]), np.array([1.5, 0.7, 3.0])),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_values_and_slopes(name):
    f, args = CASES[name]
    tangents = tuple(np.random.default_rng(0).normal(size=a.shape) for a in args)
    value, moved = ft.jvp(lambda *xs: f(st, *xs), args, tangents)

    def at(h):
        return f(original, *[a + h * t for a, t in zip(args, tangents)])

    h = 1e-3
    for v, m, exact, *far in zip(value, moved, at(0), at(h), at(-h), at(2 * h), at(-2 * h)):
        np.testing.assert_allclose(v, exact, rtol=1e-12)
        slope = (8 * (far[0] - far[1]) - (far[2] - far[3])) / (12 * h)
        np.testing.assert_allclose(m, slope, rtol=1e-7, atol=1e-9)


def test_equal_eigenvalues():
    slope = ft.grad(lambda c: st.multivariate_normal.logpdf(X, MEAN, c))(np.eye(2))

    dev = X - MEAN
    assert np.diag(slope) == pytest.approx((dev**2 - 1) / 2)
    assert slope[1, 0] + slope[0, 1] == pytest.approx(dev[0] * dev[1])


def test_plain_covariances_of_all_kinds():
    for cov in (2.0, np.array([1.0, 2.0]), COV, original.Covariance.from_diagonal([1.0, 2.0])):
        value, slope = ft.value_and_grad(lambda m, c=cov: st.multivariate_normal(m, c).logpdf(X))(
            MEAN
        )
        whole = cov.covariance if isinstance(cov, original.Covariance) else np.asarray(cov)
        whole = whole * np.eye(2) if whole.ndim < 2 else whole
        assert value == pytest.approx(original.multivariate_normal.logpdf(X, MEAN, cov))
        assert slope == pytest.approx(np.linalg.solve(whole, X - MEAN))


def test_degrees_of_freedom_at_their_ends():
    for df in (1e3, 1e7, 1e12):
        value, slope = ft.value_and_grad(lambda d: st.multivariate_t.entropy(MEAN, COV, d))(df)
        assert value == pytest.approx(original.multivariate_t.entropy(MEAN, COV, df), rel=1e-10)
        assert slope == pytest.approx(-2 / df**2, rel=2e-3)
    value = ft.jvp(lambda d: st.multivariate_t.logpdf(X, MEAN, COV, d), (np.inf,), (1.0,))
    assert value == pytest.approx((original.multivariate_normal.logpdf(X, MEAN, COV), 0.0))


def test_twins_are_scipys_but_for_tensors():
    frozen = st.multivariate_normal(MEAN, COV)

    assert isinstance(frozen, type(original.multivariate_normal(MEAN, COV)))
    assert frozen.cdf(X) == pytest.approx(original.multivariate_normal(MEAN, COV).cdf(X))
    assert np.array_equal(frozen.cov, COV)
    assert st.dirichlet([1.0, 2.0]).rvs(2, random_state=1).tolist() == (
        original.dirichlet([1.0, 2.0]).rvs(2, random_state=1).tolist()
    )
    for name in ("multivariate_normal", "multivariate_t", "dirichlet"):
        twin = getattr(st, name)
        assert isinstance(twin, type(getattr(original, name)))
        assert pickle.loads(pickle.dumps(twin)) is twin


@pytest.mark.parametrize(
    "f, error, text",
    [
        (lambda a: st.multivariate_normal.cdf(a * X), ft.UnsupportedError, "normal.cdf does not"),
        (lambda a: st.multivariate_normal(a * X).rvs(), ft.UnsupportedError, "normal.rvs does not"),
        (lambda a: st.multivariate_normal.pdf(X, a * X, COV[:1]), ValueError, "must be square"),
        (lambda a: st.multivariate_normal.pdf(X, cov=-a * COV), np.linalg.LinAlgError, "positive"),
        (
            lambda a: st.multivariate_normal.pdf(X, a * MEAN, np.ones((2, 2)), allow_singular=True),
            ft.UnsupportedError, "singular covariance",
        ),
        (lambda a: st.multivariate_t.pdf(X, MEAN, COV, -a), ValueError, "greater than zero"),
        (lambda a: st.dirichlet.pdf([0.5], -a * np.ones(2)), ValueError, "greater than 0"),
        (lambda a: st.dirichlet.pdf([0.5, 0.2, 0.1, 0.2], a * np.ones(2)), ValueError, "fewer"),
        (lambda a: st.dirichlet.pdf([0.5 * a, 0.2], np.ones(2)), ValueError, "normal simplex"),
        (lambda a: st.dirichlet.pdf([-0.5 * a], np.ones(2)), ValueError, "greater than or equal"),
        (lambda a: st.dirichlet.pdf([0.0], a * np.array([0.5, 1])), ValueError, "alpha is less"),
    ],
)  # fmt: skip
def test_refusals(f, error, text):
    with pytest.raises(error, match=text):
        ft.grad(f)(1.0)


# ---- The twin of `scipy.stats.gaussian_kde` ----


RNG = np.random.default_rng(5)
POINTS, WEIGHTS, AT = RNG.normal(size=(2, 6)), RNG.uniform(1, 2, 6), RNG.normal(size=(2, 3))
LINE = POINTS[0]

METHODS = {
    "evaluate": lambda kde, at: kde.evaluate(at),
    "call": lambda kde, at: kde(at),
    "logpdf": lambda kde, at: kde.logpdf(at),
    "inv_cov": lambda kde, at: kde.inv_cov @ at,
    "log_det": lambda kde, at: kde.log_det * at,
    "marginal": lambda kde, at: kde.marginal([1]).pdf(at[1]),
    "integrate_gaussian": lambda kde, at: kde.integrate_gaussian(
        at[:, 0], np.eye(2) + at[0, 0] ** 2
    ),
    "integrate_kde": lambda kde, at: kde.integrate_kde(scipy.stats.gaussian_kde(POINTS[:, :4] + 1)),
}
WITHOUT_POINTS = {"integrate_kde"}


def near(actual, expected, rtol=1e-9):
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=rtol)


def slope(f, xs, ts, h=1e-3):
    """A central difference of fourth order."""
    p, m, pp, mm = (f(*[x + s * h * t for x, t in zip(xs, ts)]) for s in (1, -1, 2, -2))
    return (8 * (p - m) - (pp - mm)) / (12 * h)


def check_against(f, reference, *xs):
    """The values are those of SciPy's class, and derivatives are differences of it."""
    ts = [RNG.normal(size=np.shape(x)) for x in xs]
    value, moved = ft.jvp(f, tuple(xs), tuple(ts))

    near(value, reference(*xs))
    near(moved, slope(reference, xs, ts), 1e-7)
    weight = RNG.normal(size=np.shape(value))
    pulled = ft.vjp(f, *xs)[1](weight)
    near(sum(np.sum(c * t) for c, t in zip(pulled, ts)), np.sum(weight * moved))


@pytest.mark.parametrize("name", METHODS)
def test_values_and_derivatives(name):
    def with_class(cls):
        return lambda points, weights, at: METHODS[name](cls(points, None, weights), at)

    check_against(
        with_class(stats.gaussian_kde), with_class(scipy.stats.gaussian_kde), POINTS, WEIGHTS, AT
    )


@pytest.mark.parametrize("bandwidth", ["scott", "silverman", 0.4, lambda kde: kde.neff**-0.2])
def test_bandwidths(bandwidth):
    def with_class(cls):
        return lambda line, at: cls(line, bandwidth)(at)

    check_against(with_class(stats.gaussian_kde), with_class(scipy.stats.gaussian_kde), LINE, AT[0])


def test_the_bandwidth_and_the_ends_of_an_interval_are_variables():
    def with_class(cls):
        def mass(line, width, low, high):
            kde = cls(line)
            kde.set_bandwidth(
                kde.factor * width if cls is stats.gaussian_kde else width * kde.factor
            )
            return kde.integrate_box_1d(low, high)

        return mass

    at = [np.float64(x) for x in (0.7, -0.5, 1.5)]
    check_against(with_class(stats.gaussian_kde), with_class(scipy.stats.gaussian_kde), LINE, *at)


def test_only_the_points_are_variables():
    check_against(stats.gaussian_kde(POINTS), scipy.stats.gaussian_kde(POINTS), AT)


def test_batches_and_second_derivatives():
    lines = np.stack([LINE, 2 * LINE[::-1]])
    near(
        ft.vmap(lambda x: stats.gaussian_kde(x, 0.5)(0.3))(lines),
        [scipy.stats.gaussian_kde(x, 0.5)(0.3) for x in lines],
    )

    def density(x):
        return stats.gaussian_kde(x, weights=WEIGHTS).logpdf(0.3)[0]

    t = RNG.normal(size=6)
    near(ft.hessian(density)(LINE) @ t, slope(ft.grad(density), [LINE], [t]), 1e-7)


def test_for_plain_numbers_it_is_that_of_scipy():
    kde, other = stats.gaussian_kde(POINTS), scipy.stats.gaussian_kde(POINTS)

    assert isinstance(kde, scipy.stats.gaussian_kde)
    np.testing.assert_array_equal(kde(AT), other(AT))
    np.testing.assert_array_equal(kde.resample(3, seed=1), other.resample(3, seed=1))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: stats.gaussian_kde(x).resample(3), ft.UnsupportedError, "draw indices"),
        (lambda x: stats.gaussian_kde(x).integrate_box([-1], [1]), ft.UnsupportedError, "box_1d"),
        (lambda x: stats.gaussian_kde(x, weights=x[:2]), ValueError, "of length n"),
        (lambda x: stats.gaussian_kde(x[:, None]), ValueError, "transposed"),
        (lambda x: stats.gaussian_kde(x, bw_method=x), ValueError, "a scalar"),
        (lambda x: stats.gaussian_kde(x)(np.zeros((2, 3))), ValueError, "dimension 2"),
        (lambda x: stats.gaussian_kde(np.stack([x, 0 * x])), np.linalg.LinAlgError, "subspace"),
    ],
)
def test_what_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        ft.grad(lambda x: np.sum(call(x)))(LINE)
