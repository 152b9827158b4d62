"""Distributions of vectors of `scipy.stats` inside transforms."""

import pickle

import numpy as np
import pytest
import scipy.stats as original

import functier as ft
import functier.scipy.stats as st
from rows import each

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


@each("name", CASES)
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


@each(
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
