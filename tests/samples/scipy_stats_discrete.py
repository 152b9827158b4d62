"""Rows for the discrete distributions of `scipy.stats`: see `scipy_stats_continuous`.

One operand has the parameters that are differentiated, each between 0.2 and 0.8.
"""

import numpy as np

import functier.scipy.stats as st

from ._row import Row, integers, rng, row

MASSES = ("pmf", "logpmf")
METHODS = (*MASSES, "cdf", "logcdf", "sf", "logsf")
DISTRIBUTIONS: dict[str, tuple] = {
    "nbinom": (METHODS, 0, lambda z: (2 + z[0], z[1])),
    "bernoulli": (METHODS, 0, lambda z: (z[0],)),
    "betabinom": (MASSES, 2, lambda z: (4, z[0] + 1, z[1])),
    "betanbinom": (MASSES, 2, lambda z: (4, z[0] + 3, z[1])),
    "binom": (METHODS, 2, lambda z: (5, z[0])),
    "boltzmann": (METHODS, 2, lambda z: (z[0], 6)),
    "dlaplace": (METHODS, -1, lambda z: (z[0],)),
    "geom": (METHODS, 2, lambda z: (z[0],)),
    "logser": (METHODS, 2, lambda z: (z[0],)),
    "planck": (METHODS, 1, lambda z: (z[0],)),
    "poisson": (METHODS, 2, lambda z: (z[0] + 1,)),
    "skellam": (METHODS, 1, lambda z: (z[0] + 1, z[1])),
    "zipf": (METHODS, 2, lambda z: (z[0] + 1.5,)),
}
"""The methods, a number, and the parameters of a distribution."""


def methods_of(name):
    methods, k, parameters = DISTRIBUTIONS[name]
    places = 1 + np.array([k, k + (name != "bernoulli")])

    def function(z):
        dist = getattr(st, name)
        return tuple(getattr(dist, method)(places, *parameters(z), 1) for method in methods)

    return function


def numbers(name):
    return rng().uniform(0.2, 0.8, (2, 1))


def of(name, **options) -> Row:
    return row(methods_of(name), numbers(name), _name="discrete", **options)


def by_number(k, n):
    """Methods that are constants: integers have no derivative."""
    return (
        st.hypergeom.pmf(k, 9, n, 4), st.hypergeom.logcdf(k, 9, n, 4), st.randint.sf(k, 0, n),
        st.binom.ppf(0.4, n, 0.3), st.randint.logpmf(k, 0, n),
    )  # fmt: skip


def steps(x, p):
    return st.binom.cdf(x, 5, p, x - x), st.geom.isf(p, p), st.poisson(p).median()


ROWS = [
    *[of(name) for name in DISTRIBUTIONS],
    row(by_number, integers(0, 3, 3), integers(3, 6, 3), _name="numbers"),
    row(steps, np.array([1.3, 2.4]), rng().uniform(0.3, 0.7, 2), _name="steps"),
]
