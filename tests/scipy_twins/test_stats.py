"""Cases of `scipy.stats` beyond the samples: results of other classes, NaN, special points."""

import warnings

import numpy as np
import pytest
import scipy.stats

import functier as ft
import functier.scipy.stats as stats

RNG = np.random.default_rng(8)
X, Y = RNG.normal(size=(2, 3, 6))
HOLES = np.where(X > 1, np.nan, X)
POSITIVE = np.abs(X) + 0.1

STATISTICS = {
    "gmean": {}, "hmean": {}, "pmean": {"p": 1.5}, "trim_mean": {"proportiontocut": 0.2},
    "tmean": {"limits": (-1.0, None)}, "tvar": {}, "tstd": {"limits": (None, 1.5)}, "tsem": {},
    "circmean": {}, "circvar": {}, "circstd": {}, "moment": {"order": [0, 2, 3]},
    "skew": {"bias": False}, "kurtosis": {}, "sem": {}, "variation": {"ddof": 1}, "entropy": {},
    "iqr": {"rng": (20, 60)},
}  # fmt: skip
SAMPLES = {
    "whole": POSITIVE, "holes": np.where(POSITIVE > 1, np.nan, POSITIVE),
    "single": POSITIVE.astype(np.float32), "equal": np.ones((3, 2)), "none": np.zeros((2, 0)),
}  # fmt: skip


def outcome(call, *args, **kwargs):
    """The result of a call, or the class of its error."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return np.asarray(call(*args, **kwargs))
        except (ValueError, TypeError) as error:
            return type(error)


@pytest.mark.parametrize("policy", ["propagate", "omit", "raise"])
@pytest.mark.parametrize("name", STATISTICS)
def test_axes_and_policies_are_those_of_scipy(name, policy):
    for x in SAMPLES.values():
        for axis in (0, 1, None, (0, 1)):
            for keepdims in (False, True):
                options = {**STATISTICS[name], "axis": axis, "keepdims": keepdims}
                options["nan_policy"] = policy
                wanted = outcome(getattr(scipy.stats, name), x, **options)

                def call(x, options=options):
                    return getattr(stats, name)(x, **options)

                found = outcome(lambda x, f=call: ft.jvp(f, (x,), (x,))[0], x)
                if isinstance(wanted, type):
                    assert found is wanted
                    continue
                assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
                tolerance = 1e-9 if x.dtype == float else 1e-5
                np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


def test_what_is_left_out_has_no_part_in_a_derivative():
    for f in (
        lambda x: stats.skew(x, axis=1, nan_policy="omit"),
        lambda x: stats.zscore(x, axis=1, nan_policy="omit")[:, :2] ** 2,
    ):
        gradient = ft.grad(lambda x, f=f: np.nansum(f(x)))(HOLES)
        assert np.isfinite(gradient).all()
        assert not gradient[np.isnan(HOLES)].any()


def test_samples_of_a_batch_that_lose_different_numbers_are_refused():
    with pytest.raises(ft.LevelError):
        ft.vmap(lambda x: stats.skew(x, nan_policy="omit"))(HOLES)


def test_results_have_the_fields_of_scipy():
    wanted, line = scipy.stats.pearsonr(X[0], Y[0]), scipy.stats.linregress(X[0], Y[0])

    def fields(x, y):
        r, fit = stats.pearsonr(x, y), stats.linregress(x, y)
        slope, *_ = fit
        return r.statistic, r.pvalue, r.correlation, slope, fit.intercept, fit.intercept_stderr

    found = ft.vmap(fields)(X, Y)
    wanted = (wanted.statistic, wanted.pvalue, wanted.correlation, line.slope, line.intercept)
    for value, expected in zip(found, (*wanted, line.intercept_stderr)):
        np.testing.assert_allclose(value[0], expected, rtol=1e-9)
    described = ft.jvp(lambda x: stats.describe(x).minmax, (X,), (Y,))[0]
    np.testing.assert_array_equal(described, scipy.stats.describe(X).minmax)


def test_an_empty_class_has_an_infinite_slope_alone():
    gradient = ft.grad(lambda p: stats.entropy(p))(np.array([0.0, 0.3, 0.7]))

    assert gradient[0] == np.inf
    entropy = scipy.stats.entropy([0.3, 0.7])
    np.testing.assert_allclose(gradient[1:], -np.log([0.3, 0.7]) - entropy, rtol=1e-12)


def test_large_numbers_do_not_overflow():
    value, moved = ft.jvp(lambda x: stats.pearsonr(x, Y[0]).statistic, (1e200 * X[0],), (X[1],))

    np.testing.assert_allclose(value, scipy.stats.pearsonr(X[0], Y[0]).statistic)
    assert np.isfinite(moved)


REFUSED = [
    (lambda x: stats.boxcox(x), ft.UnsupportedError, "pass lmbda"),
    (lambda x: stats.yeojohnson(x), ft.UnsupportedError, "pass lmbda"),
    (lambda x: stats.describe(x, nan_policy="omit"), ft.UnsupportedError, "masked arrays"),
    (lambda x: stats.pearsonr(x, x, method=1), ft.UnsupportedError, "method=None"),
    (lambda x: stats.pearsonr(x, x).confidence_interval(), ft.UnsupportedError, "arctanh"),
    (lambda x: stats.gmean(x, nan_policy="some"), ValueError, "nan_policy"),
    (lambda x: stats.skew(x / 0 * 0, nan_policy="raise"), ValueError, "contains nan"),
    (lambda x: stats.tmean(x, (50, 60)), ValueError, "within given limits"),
    (lambda x: stats.linregress(0 * x, x), ValueError, "identical"),
    (lambda x: stats.moment(x, 1.5), ValueError, "integral"),
    (lambda x: stats.iqr(x, rng=(1, 2, 3)), TypeError, "two element"),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("call", "error", "message"), REFUSED)
def test_what_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        ft.grad(lambda x: np.sum(call(x)))(X[0])
