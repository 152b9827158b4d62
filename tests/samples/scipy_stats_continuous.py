"""Rows for the continuous distributions of `scipy.stats`.

One operand has the place, a probability, `loc`, `scale` and the parameters, so that a row is cheap;
each of its numbers is between 0.2 and 0.8. All rows have one name: a quick run takes the first,
and `scipy_twins/test_distributions.py` tests the facts of every distribution.
"""

import numpy as np

import functier.scipy.stats as st

from ._row import Row, rng, row

F = np.float32
METHODS = ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf")
PLACES = {
    "unit": lambda z: z,
    "positive": lambda z: 2 * z,
    "negative": lambda z: -2 * z,
    "above one": lambda z: 1 + 2 * z,
    "real": lambda z: 5 * z - 2.5,
}
DISTRIBUTIONS: dict[str, tuple] = {
    "gamma": ("positive", 1.0),
    "arcsine": ("unit",),
    "beta": ("unit", 1.0, 0.3),
    "betaprime": ("positive", 1.5, 0.3),
    "cauchy": ("real",),
    "chi": ("positive", 1.0),
    "chi2": ("positive", 2.0),
    "cosine": ("real",),
    "expon": ("positive",),
    "exponnorm": ("real", 0.7),
    "f": ("positive", 2.0, 5.0),
    "fisk": ("positive", 1.0),
    "genextreme": ("unit", -0.5),
    "gennorm": ("positive", 0.5),
    "genpareto": ("unit", -0.5),
    "gompertz": ("positive", 0.5),
    "gumbel_l": ("real",),
    "gumbel_r": ("real",),
    "halfcauchy": ("positive",),
    "halflogistic": ("positive",),
    "halfnorm": ("positive",),
    "hypsecant": ("real",),
    "invgamma": ("positive", 2.0),
    "invgauss": ("positive", 0.5),
    "laplace": ("real",),
    "levy": ("positive",),
    "loggamma": ("real", 1.0),
    "logistic": ("real",),
    "loguniform": ("above one", 0.1, 3.0),
    "lognorm": ("positive", 0.5),
    "lomax": ("positive", 2.0),
    "maxwell": ("positive",),
    "moyal": ("real",),
    "nakagami": ("positive", 0.5),
    "norm": ("real",),
    "pareto": ("above one", 2.0),
    "powerlaw": ("unit", 1.0),
    "rayleigh": ("positive",),
    "reciprocal": ("above one", 0.1, 3.0),
    "semicircular": ("unit",),
    "skewnorm": ("real", 1.0),
    "t": ("real", 2.0),
    "triang": ("unit", 0.1),
    "truncexpon": ("unit", 1.0),
    "truncnorm": ("real", -2.5, 1.5),
    "uniform": ("unit",),
    "vonmises": ("real", 1.0),
    "vonmises_line": ("real", 1.0),
    "weibull_max": ("negative", 1.0),
    "weibull_min": ("positive", 1.0),
}
"""Places at which a distribution is asked, and the step added to each number for a parameter."""


def methods_of(name, methods=METHODS, inverses=("ppf", "isf")):
    """All methods of a distribution, as a function of one array."""
    kind, *offsets = DISTRIBUTIONS[name]

    def function(z):
        dist = getattr(st, name)
        parameters = [z[i + 4] + offset for i, offset in enumerate(offsets)]
        if name == "skewnorm" or name.startswith("vonmises"):  # SciPy's inverses are rough
            inverses_here = ()
        else:
            inverses_here = inverses
        loc, scale = z[2] - 0.5, z[3] + 0.5
        x = loc + scale * PLACES[kind](z[0])
        return tuple(
            getattr(dist, method)(x, *parameters, loc, scale) for method in methods
        ) + tuple(getattr(dist, method)(z[1], *parameters, loc, scale) for method in inverses_here)

    return function


def numbers(name, *shape):
    return rng().uniform(0.2, 0.8, (len(DISTRIBUTIONS[name]) + 3, *shape))


def of(name, **options) -> Row:
    return row(methods_of(name), numbers(name, 2), _name="continuous", **options)


def on_edges(x, a):
    """Places on the boundary of the support and outside of it, bad parameters."""
    outside = np.array([-1.0, 0.0, np.nan, -np.inf, np.inf])
    return (
        st.gamma.pdf(np.concatenate([x, outside]), a),
        st.gamma.cdf(np.concatenate([x, outside[:2]]), a),
        st.norm.cdf(np.concatenate([x, outside[3:]]), a),
    )


def frozen(x, a, s):
    dist = st.gamma(a, scale=s)
    return dist.logpdf(x), dist.mean(), dist.std(), dist.median(), *dist.interval(0.5)


ROWS = [
    *[of(name) for name in DISTRIBUTIONS],
    row(on_edges, rng().uniform(0.5, 2, 2), np.array(2.5), _order=0, _name="edges"),
    row(frozen, rng().uniform(0.5, 2, 2), np.array(1.5), np.array([0.7]), _name="frozen"),
    row(
        lambda x, a: st.gamma.cdf(x, a, scale=2),
        rng().uniform(0.5, 2, (2, 1)).astype(F), np.array([1.0, 2.5], F),
        _name="continuous",
    ),
]  # fmt: skip
