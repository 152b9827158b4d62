"""The twin of `scipy.stats.gaussian_kde`."""

import numpy as np
import pytest
import scipy.stats

import functier as ft
import functier.scipy.stats as stats

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
