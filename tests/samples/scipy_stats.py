"""Rows for the descriptive statistics of `scipy.stats`."""

import warnings

import numpy as np
import scipy.stats

import functier.scipy.stats as stats

from ._row import integers, normal, of, positive, row

F = np.float32


def as_tuple(function):
    """Return a function whose result is of another class than SciPy's, and its name."""
    return lambda *args, **options: tuple(function(*args, **options))


def without_nan(x):
    """Scores of a sample with NaN, which is left out of the result, too."""
    return np.where(np.isnan(x), 0.0, stats.zscore(x, axis=1, nan_policy="omit"))


def without_freedom(x):
    """The variation where `ddof` is the number of observations: an infinity, or NaN."""
    return stats.variation(x, ddof=np.size(x))


def quietly(function):
    """Return a function that does not warn of samples without observations."""

    def call(*args):
        with warnings.catch_warnings(action="ignore", category=scipy.stats.ConstantInputWarning):
            return tuple(function(*args))

    return call


WITH_NAN = np.array([[0.3, np.nan, 1.2, 0.5], [0.4, 2.0, -1.0, 0.7]])


ROWS = [
    of("means", stats.gmean, positive(2, 3), weights=positive(2, 3)),
    of("means", stats.gmean, positive(4), keepdims=True),
    of("means", stats.gmean, positive(4, dtype=F)),
    of("means", stats.gmean, positive(2, 3, 2), (0, 2)),
    of("means", stats.hmean, positive(2, 3), axis=1, weights=positive(2, 3)),
    of("means", stats.hmean, positive(4)),
    of("means", stats.pmean, positive(2, 3), 1.5, axis=None),
    of("means", stats.pmean, positive(3), 0, weights=positive(3)),
    row(stats.trim_mean, normal(5, 2), 0.25),
    row(stats.trim_mean, normal(2, 6), 0.2, axis=None),
    row(stats.tmean, normal(5), (-0.9, 0.9), _empty=False),
    row(stats.tmean, normal(2, 3), axis=1, keepdims=True, _empty=False),
    of("limited", stats.tvar, normal(2, 4), (-2, None), axis=1, _empty=False),
    of("limited", stats.tvar, normal(4), ddof=0, _empty=False),
    of("limited", stats.tstd, normal(2, 4), (None, 2), (True, False), _empty=False),
    of("limited", stats.tsem, normal(4), _empty=False),
    of("angles", stats.circmean, normal(2, 3), axis=1),
    of("angles", stats.circmean, normal(4), 5.0, 1.0),
    of("angles", stats.circvar, normal(4)),
    of("angles", stats.circstd, normal(2, 3), 3.0),
    of("angles", stats.circstd, normal(4), normalize=True),
    of("one_angle", stats.circstd, np.zeros((2, 1)), axis=1, _order=1),
    # ---- moments ----
    row(stats.moment, normal(2, 4), [0, 1, 2, 5], axis=1),
    row(stats.moment, normal(4), 3, center=0.3),
    row(stats.moment, normal(4, dtype=F), 4),
    of("shapes", stats.skew, normal(2, 5), axis=1, bias=False),
    of("shapes", stats.skew, normal(5), keepdims=True),
    of("shapes", stats.skew, WITH_NAN, axis=1, nan_policy="omit", _vmap=False),
    of("shapes", stats.kurtosis, normal(5, 2), fisher=False, bias=False),
    of("shapes", stats.kurtosis, normal(5, dtype=F)),
    of("shapes", stats.describe, normal(2, 5), axis=1, bias=False, _empty=False),
    of("shapes", stats.describe, normal(4), ddof=0, _empty=False),
    of("deviations", stats.sem, normal(2, 4), axis=1),
    of("deviations", stats.variation, normal(4, 2), ddof=1),
    of("deviations", without_freedom, normal(2), _diff=()),
    of("scores", stats.zscore, normal(2, 4), axis=1, ddof=1),
    of("scores", stats.zscore, normal(2, 3), axis=None),
    of("scores", stats.zscore, integers(0, 9, 5), _diff=()),
    of("scores", without_nan, WITH_NAN),
    of("scores", stats.zmap, normal(3), normal(4)),
    of("scores", stats.gzscore, positive(4)),
    # ---- entropies, ranges, transformations ----
    row(stats.entropy, positive(3), positive(3), base=2.0),
    row(stats.entropy, positive(2, 3), axis=1),
    row(stats.entropy, positive(2, 1), positive(3)),
    row(stats.iqr, normal(2, 5), axis=1),
    row(stats.iqr, normal(6), rng=(10, 55), scale="normal", interpolation="midpoint"),
    row(stats.wasserstein_distance, normal(3), normal(4)),
    row(stats.wasserstein_distance, normal(3), normal(2), positive(3), positive(2)),
    of("transformed", stats.boxcox, positive(4), np.array(0.4)),
    of("likelihoods", stats.boxcox_llf, np.array(0.4), positive(5), _shared=(0,)),
    of("likelihoods", stats.boxcox_llf, np.array(0.0), positive(2, 3), axis=1, _order=1),
    of("transformed", stats.yeojohnson, normal(4), np.array(0.4)),
    of("likelihoods", stats.yeojohnson_llf, np.array(0.4), normal(5)),
    # ---- correlations ----
    row(as_tuple(stats.pearsonr), normal(4), normal(4), _name="correlation"),
    row(
        as_tuple(stats.pearsonr),
        normal(2, 4),
        normal(1, 4),
        alternative="less",
        axis=1,
        _name="correlation",
    ),
    row(as_tuple(stats.pearsonr), normal(2), normal(2), _name="correlation"),
    row(as_tuple(stats.linregress), normal(5), normal(5), _name="correlation"),
    row(stats.rankdata, normal(2, 3), _diff=()),
    row(stats.rankdata, normal(2, 3), "min", axis=1, _diff=()),
    row(
        quietly(stats.spearmanr),
        normal(5),
        normal(5),
        _loop=True,
        _diff=(),
        _shared=(1,),
        _name="rank tests",
    ),
    row(
        as_tuple(stats.kendalltau),
        normal(5),
        normal(5),
        _loop=True,
        _diff=(),
        _shared=(0,),
        _name="rank tests",
    ),
]
