"""Rows for the tests of `scipy.stats`, and for its statistics of order."""

import numpy as np
import scipy.stats

import functier.scipy.stats as stats

from ._row import normal, of, positive, row, unit

F = np.float32


def parts(function, *names):
    """Return a function of all values of a result, which has more than those of the tuple."""

    def call(*args, **options):
        result = function(*args, **options)
        fields = getattr(result, "_fields", ("statistic", "pvalue"))
        # A tensor of another library gives the tuple alone.
        return tuple(getattr(result, n) for n in (*fields, *names) if hasattr(result, n))

    return call


def available(name, *rows):
    """The rows, where this SciPy has the function."""
    return [make() for make in rows] if hasattr(scipy.stats, name) else []


def interval(function, side):
    """Return a function of the finite ends of the interval of an estimate."""
    finite = {"less": slice(1, 2), "two-sided": slice(0, 2), "greater": slice(0, 1)}[side]

    def call(*args):
        result = function(*args, alternative=side)
        if not hasattr(result, "confidence_interval"):  # as in `parts`
            return tuple(result)
        return tuple(result.confidence_interval(0.9))[finite]

    return call


def levene_with_more(a, b, **options):
    """The test of more than two observations: two have one distance from their middle."""
    return stats.levene(np.concatenate([a, [0.3, 1.1, -0.8]]), b, **options)


def table(*shape):
    return normal(*shape) ** 2 + 3.0


def kstest_with(name, **options):
    return lambda x: parts(stats.kstest, "statistic_location")(x, name, **options)


t_parts = parts(stats.ttest_ind, "df")
UNIT = positive(4) / 3
X = np.array([0.2, 1.1, 1.9, 3.4, 4.0])
Y = np.array([0.5, 1.9, 2.2, 5.1, 5.0])

STUDENT = [
    of("student", t_parts, normal(4), normal(5), equal_var=False),
    of("student", t_parts, normal(2, 4), normal(2, 3), axis=1, alternative="less"),
    of("student", t_parts, normal(7), normal(6), trim=0.2),
    of("student", t_parts, normal(4, dtype=F), normal(3, dtype=F)),
    of("student", parts(stats.ttest_1samp, "df"), normal(2, 4), 0.3, axis=1),
    of("student", parts(stats.ttest_1samp, "df"), normal(4), np.array(0.3)),
    of("student", parts(stats.ttest_rel, "df"), normal(4), normal(4), alternative="greater"),
    of("intervals", interval(stats.ttest_ind, "two-sided"), normal(4), normal(3)),
    of("intervals", interval(stats.ttest_1samp, "less"), normal(4), 0.2),
    of("from stats", stats.ttest_ind_from_stats, normal(2), positive(2), 5, normal(2),
       positive(2), 4, equal_var=False),
    of("from stats", stats.ttest_ind_from_stats, normal(), positive(), 5, normal(), positive(), 4),
    row(stats.f_oneway, normal(4), normal(3), normal(5)),
    row(stats.f_oneway, normal(2, 4), normal(2, 3), axis=1),
    row(parts(stats.alexandergovern), normal(4), normal(3), _name="alexandergovern"),
    row(levene_with_more, normal(4), normal(5), center="mean", _name="levene"),
    row(levene_with_more, normal(4), normal(5), _name="levene"),
    row(levene_with_more, normal(4), normal(5), center="trimmed", proportiontocut=0.2,
        _name="levene"),
    row(stats.bartlett, normal(4), normal(3), normal(4)),
    row(stats.median_abs_deviation, normal(2, 5), axis=1, scale="normal"),
    row(stats.median_abs_deviation, normal(4), center=np.mean),
    row(stats.gstd, positive(2, 4), axis=1),
    row(lambda x: stats.obrientransform(*x), np.array([[0.0, 1.0, 5.0], [3.0, -2.0, -1.0]]),
        _name="obrientransform"),
]  # fmt: skip

NORMALITY = [
    row(stats.skewtest, normal(8)),
    row(stats.skewtest, normal(2, 8), axis=1, alternative="less"),
    row(stats.kurtosistest, normal(8)),
    row(stats.normaltest, normal(8)),
    row(parts(stats.jarque_bera), normal(8), _name="jarque_bera"),
    row(stats.shapiro, normal(6)),
    row(stats.shapiro, np.cumsum(positive(13))),
    row(stats.shapiro, normal(3)),
]

FREQUENCIES = [
    row(stats.power_divergence, table(2, 3), axis=1, ddof=1, lambda_="cressie-read"),
    row(stats.power_divergence, table(4), lambda_="log-likelihood"),
    row(stats.chisquare, table(4)),
    row(lambda o: stats.chisquare(o, np.zeros_like(o) + np.sum(o) / 3), table(3),
        _name="chisquare"),
    row(parts(stats.chi2_contingency), table(2, 3),
        _name="chi2_contingency", _empty=False),
    row(parts(stats.chi2_contingency), table(2, 2), lambda_=0, correction=False,
        _name="chi2_contingency", _empty=False),
    of("combined", parts(stats.combine_pvalues), UNIT, "stouffer", positive(4)),
    of("combined", parts(stats.combine_pvalues), UNIT),
    of("combined", parts(stats.combine_pvalues), UNIT, "pearson"),
    of("combined", parts(stats.combine_pvalues), UNIT, "mudholkar_george"),
    of("combined", parts(stats.combine_pvalues), UNIT, "tippett"),
    of("discoveries", stats.false_discovery_control, np.array([0.03, 0.5, 0.01, 0.2]),
        _empty=False),
    of("discoveries", stats.false_discovery_control, np.array([[0.3, 0.05], [0.01, 0.2]]),
       axis=1, method="by", _empty=False),
    of("histograms", stats.relfreq, normal(6), 4, _empty=False),
    of("histograms", stats.cumfreq, unit(5), 3, (-1.0, 1.0), positive(5), _empty=False),
]  # fmt: skip

RANKS = [
    of("rank tests", stats.kruskal, normal(4), normal(3), normal(4), _diff=()),
    of("rank tests", stats.kruskal, normal(2, 4), normal(2, 3), axis=1, _diff=()),
    of("rank tests", stats.fligner, normal(4), normal(5), _diff=()),
    of("rank tests", stats.ranksums, normal(4), normal(3), alternative="less", _diff=()),
    of("rank tests", stats.brunnermunzel, normal(5), normal(6), _diff=()),
    of("rank tests", stats.friedmanchisquare, normal(4), normal(4), normal(4), _diff=()),
    of("rank tests", parts(stats.mood), normal(4), normal(5), _diff=()),
    of("rank tests", stats.ansari, normal(4), normal(5), _diff=()),
    of("rank tests", parts(stats.cramervonmises_2samp), normal(4), normal(5), _diff=()),
    of("choices", stats.mannwhitneyu, normal(4), normal(5), _diff=()),
    of("choices", stats.mannwhitneyu, normal(2, 4), normal(2, 3), axis=1, method="asymptotic",
       _diff=()),
    of("choices", parts(stats.wilcoxon), normal(6), normal(6), _diff=()),
    of("choices", parts(stats.wilcoxon, "zstatistic"), normal(6), method="asymptotic", _diff=()),
    *available("spearmanrho", lambda: of(
        "rank tests", parts(stats.spearmanrho), normal(5), normal(5), _diff=())),
    *available("chatterjeexi", lambda: of(
        "rank tests", parts(stats.chatterjeexi), normal(5), normal(5), _diff=())),
    of("kolmogorov", kstest_with("norm"), normal(5), _order=1),
    of("kolmogorov", kstest_with("t", args=(3.0,), alternative="less"), normal(5), _order=1),
    of("kolmogorov", kstest_with(stats.norm.cdf, method="asymp"), normal(5), _order=1),
    of("places", parts(stats.ks_2samp, "statistic_location"), normal(4), normal(5)),
    row(stats.percentileofscore, normal(5), normal(3), _diff=(), _empty=False),
]  # fmt: skip

ORDER = [
    row(stats.tmin, normal(2, 5), -5.0, axis=1, _empty=False),
    row(stats.tmax, normal(5), 0.6, inclusive=False, _empty=False),
    row(stats.mode, normal(5)),
    row(stats.trim1, normal(6), 0.3),
    row(stats.trim1, normal(2, 5), 0.3, "left", axis=1),
    row(stats.sigmaclip, np.array([0.1, 0.4, -0.2, 0.3, 9.0]), 1.5, 1.5, _vmap=False),
    row(stats.scoreatpercentile, normal(5), np.array([30.0, 61.0]), _empty=False, _shared=(1,)),
    row(
        stats.scoreatpercentile,
        normal(2, 5),
        40,
        axis=1,
        interpolation_method="lower",
        _empty=False,
    ),
    *available(
        "quantile",
        lambda: row(stats.quantile, normal(5), np.array([0.3, 0.66])),
        lambda: row(stats.quantile, normal(2, 5), 0.3, axis=1, method="harrell-davis"),
        lambda: row(stats.quantile, normal(5), 0.3, method="weibull", keepdims=True),
    ),
    *available(
        "lmoment",
        lambda: row(stats.lmoment, normal(6)),
        lambda: row(stats.lmoment, normal(2, 5), 2, axis=1, standardize=False),
    ),
    row(stats.differential_entropy, normal(7)),
    row(stats.differential_entropy, normal(2, 7), method="correa", axis=1, base=2.0),
    row(stats.differential_entropy, normal(11), window_length=2),
    row(stats.expectile, normal(5), 0.3, _empty=False),
    of("slopes", parts(stats.siegelslopes), Y, X, "separate"),
    of("slopes", parts(stats.theilslopes), Y, X),
    of("slopes", parts(stats.theilslopes), normal(2, 4), axis=1, method="joint"),
    of("slopes", parts(stats.siegelslopes), Y),
    row(stats.energy_distance, normal(3), normal(4)),
    row(stats.energy_distance, normal(3), normal(2), positive(3), positive(2)),
    row(stats.kstat, normal(6), 4),
    row(stats.kstat, normal(2, 5), 3, axis=1),
    row(stats.kstatvar, normal(6), 2),
    row(parts(stats.pointbiserialr), normal(4), normal(4), _name="pointbiserialr"),
    row(lambda x: vars(stats.directional_stats(x)), normal(4, 2), _name="directional_stats"),
]

ROWS = [*STUDENT, *NORMALITY, *FREQUENCIES, *RANKS, *ORDER]
