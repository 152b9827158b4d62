"""Cases of `scipy.stats` beyond the samples: results of other classes, NaN, special points."""

import numpy as np
import optree
import pytest
import scipy.stats

import functier as ft
import functier.scipy.stats as stats
from support.basics import raises, silent

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
    with silent():
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


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "call",
    [
        *[lambda m, x, n=n: getattr(m, n)(x) for n in ("skewtest", "normaltest", "jarque_bera")],
        *[lambda m, x, n=n: getattr(m, n)(x) for n in ("zscore", "variation", "sem", "gstd")],
        *[lambda m, x, n=n: getattr(m, n)(x, (0.1, 7.6)) for n in ("tmean", "tvar", "tsem")],
        lambda m, x: m.skew(x, bias=False),
        lambda m, x: m.kurtosis(x, bias=False),
        lambda m, x: m.quantile(x, np.array([0.3, 0.5])) if hasattr(m, "quantile") else 0.0,
        lambda m, x: m.iqr(x),
        lambda m, x: m.ttest_1samp(np.nan_to_num(x), 0.5),
        lambda m, x: m.ttest_ind(x, x[:3], equal_var=False),
        lambda m, x: m.f_oneway(x[:4], x[4:]),
        lambda m, x: m.bartlett(x[:4], x[4:]),
        lambda m, x: m.levene(x[:4], x[4:]),
        lambda m, x: m.power_divergence(x),
    ],
)
def test_examples_that_differ_in_what_scipy_asks(call):
    """Samples with NaN, alike, beyond all limits: SciPy's code goes other ways for them."""
    x = np.abs(RNG.normal(size=(6, 9))) + 0.05
    x[1, 2], x[2], x[3] = np.nan, 0.5, x[3] + 7

    def values_of(result):
        if isinstance(result, tuple) or np.ndim(result):
            return tuple(result)
        return getattr(result, "statistic", result), getattr(result, "pvalue", 0.0)

    found = ft.vmap(lambda x: values_of(call(stats, x)))(x)
    wanted = zip(*[values_of(call(scipy.stats, row)) for row in x])
    for values, expected in zip(found, wanted, strict=True):
        np.testing.assert_allclose(values, np.stack(expected), 1e-9, 1e-12)


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


@pytest.mark.parametrize("kind", ["rank", "strict"])
def test_there_are_no_shares_below_a_score_without_observations(kind):
    for sample in (X[0, :0], X[0] * np.nan):
        shares = ft.vmap(
            lambda score, a=sample: stats.percentileofscore(a, score, kind, nan_policy="omit")
        )(Y[0])
        assert np.isnan(shares).all()


def test_large_numbers_do_not_overflow():
    value, moved = ft.jvp(lambda x: stats.pearsonr(x, Y[0]).statistic, (1e200 * X[0],), (X[1],))

    np.testing.assert_allclose(value, scipy.stats.pearsonr(X[0], Y[0]).statistic)
    assert np.isfinite(moved)


REFUSED = [
    (lambda x: stats.boxcox(x), ft.UnsupportedError, "pass lmbda"),
    (lambda x: stats.yeojohnson(x), ft.UnsupportedError, "pass lmbda"),
    (lambda x: stats.describe(x / 0 * 0, nan_policy="omit"), TypeError, "masked array"),
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


# ---- results with attributes ----

WITH_ATTRIBUTES = {
    "ttest_ind": (lambda x, y: stats.ttest_ind(x, y, equal_var=False), "df"),
    "ttest_1samp": (lambda x, y: stats.ttest_1samp(x, y[0]), "df"),
    "ks_1samp": (lambda x, y: stats.ks_1samp(x, stats.norm.cdf), "statistic_location"),
    "wilcoxon": (lambda x, y: stats.wilcoxon(x, y, method="asymptotic"), "zstatistic"),
    "linregress": (stats.linregress, "intercept_stderr"),
    "pointbiserialr": (stats.pointbiserialr, "correlation"),
}


def everything(result, name):
    return [np.asarray(v) for v in (*result, getattr(result, name))]


@pytest.mark.parametrize(("call", "name"), WITH_ATTRIBUTES.values(), ids=WITH_ATTRIBUTES)
def test_a_result_leaves_a_transform_whole(call, name):
    """Its attributes, too, by each transform; the tensors of level 0 are SciPy's."""
    wanted = [everything(call(x, y), name) for x, y in zip(X, Y)]

    for many in ft.vmap(call), ft.vmap(ft.sequential_vmap(call)):
        for found, expected in zip(everything(many(X, Y), name), zip(*wanted)):
            np.testing.assert_allclose(found, np.stack(expected), rtol=1e-9)
    values, moved = ft.jvp(call, (X[0], Y[0]), (X[1], Y[1]))
    again, pull = ft.vjp(call, X[0], Y[0])
    for result in values, again, call(ft.Tensor(X[0]), Y[0]):
        for found, expected in zip(everything(result, name), wanted[0]):
            np.testing.assert_allclose(found, expected, rtol=1e-9)
    alone = ft.jvp(lambda x, y: getattr(call(x, y), name), (X[0], Y[0]), (X[1], Y[1]))[1]
    np.testing.assert_array_equal(getattr(moved, name), alone)
    gradient = ft.grad(lambda x, y: call(x, y)[0])(X[0], Y[0])
    ones = optree.tree_map(np.zeros_like, again, namespace="functier")
    assert type(ones) is type(again) and np.shape(gradient) == np.shape(X[0])
    assert not any(np.any(c) for c in pull(ones))


def test_the_interval_of_a_result_outlives_its_transform():
    batch = ft.vmap(lambda x, y: stats.ttest_ind(x, y, alternative="less"))(X, Y)
    low, high = batch.confidence_interval(0.8)
    for i, (x, y) in enumerate(zip(X, Y)):
        wanted = scipy.stats.ttest_ind(x, y, alternative="less").confidence_interval(0.8)
        assert low[i] == wanted.low == -np.inf
        np.testing.assert_allclose(high[i], wanted.high, rtol=1e-9)


def test_a_program_says_which_attributes_it_lacks():
    compiled = ft.compile(lambda x, y: stats.ttest_ind(x, y).df)
    raises(AttributeError, lambda: compiled(X[0], Y[0]), "statistic, pvalue alone, and no 'df'")


@pytest.mark.parametrize(
    "call",
    [
        lambda x: stats.moment(x, [2], axis=0, keepdims=True),
        lambda x: stats.lmoment(x, [2], axis=0, keepdims=True),
        lambda x: stats.lmoment(x, None, axis=0, keepdims=True),
    ],
)
def test_new_axes_of_one_moment_in_a_list_are_refused(call):
    """SciPy puts them elsewhere."""
    if not hasattr(scipy.stats, "lmoment"):
        pytest.skip("this SciPy has no L-moments")
    with pytest.raises(ft.UnsupportedError, match="write the order as a number"):
        ft.grad(lambda x: np.sum(call(x)))(X)


def test_the_exact_probability_of_kolmogorov_has_one_derivative():
    def probability(x):
        return stats.ks_1samp(x, stats.norm.cdf, method="exact").pvalue

    assert np.any(ft.grad(probability)(X[0]))
    raises(ft.NoRuleError, lambda: ft.hessian(probability)(X[0]), "first derivative only")
