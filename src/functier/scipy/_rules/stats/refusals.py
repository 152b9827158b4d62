"""Functions of `scipy.stats` without a rule, and what to write instead."""

import scipy.stats as stats  # type: ignore[import-untyped]

from ....protocol import unsupported

COUNTS = (
    "its result depends on counts or on the order of the numbers, so that its derivative is zero; "
    "call it with functier.stop_gradient(x), and in a batch by functier.sequential_vmap(function)"
)
FITTED = (
    "it searches for the parameter by a minimization; pass lmbda to boxcox and yeojohnson, or call "
    "it with functier.stop_gradient(x), where the derivative of the parameter does not matter, and "
    "in a batch by functier.sequential_vmap(function)"
)
REASONS = {
    **dict.fromkeys(
        (
            "anderson_ksamp", "binomtest", "bws_test", "fisher_exact", "median_test",
            "page_trend_test", "quantile_test", "somersd", "tiecorrect",
        ),
        COUNTS,
    ),
    "boxcox_normmax": FITTED,
    "yeojohnson_normmax": FITTED,
    "anderson": "write -n - numpy.sum((2 * i - 1) / n * (dist.logcdf(w) + dist.logsf(w)[::-1])) "
    "with i = numpy.arange(1, n + 1), and w the observations, sorted and standardized",
    "bayes_mvs": "write numpy.mean and numpy.var of the data, with scipy.stats.t.ppf",
    "ecdf": "write numpy.mean(numpy.less_equal(x, t[..., None]), axis=-1) for the places t",
    "epps_singleton_2samp": "write the means of numpy.cos(t * x) and numpy.sin(t * x)",
    "mvsdist": "write numpy.mean and numpy.var of the data",
    "ppcc_max": "write scipy.stats.pearsonr(dist.ppf(q, c), numpy.sort(x)) for each shape c",
    "probplot": "write scipy.stats.linregress(dist.ppf(q), numpy.sort(x)) for probabilities q",
    "tukey_hsd": "write the differences of the means; the probabilities have no rule",
    "wasserstein_distance_nd": "write scipy.stats.wasserstein_distance of projections x @ v",
}  # fmt: skip
"""The reasons by the names of functions."""

for _name, _reason in REASONS.items():
    if hasattr(stats, _name):
        unsupported(getattr(stats, _name), _reason)
