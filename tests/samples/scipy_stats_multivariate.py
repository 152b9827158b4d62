"""Rows for the distributions of vectors in `scipy.stats`."""

import numpy as np

import functier.scipy.stats as st

from ._row import normal, positive, row


def of_root(a):
    return a @ np.swapaxes(a, -1, -2) + np.eye(a.shape[-1])


def spread(*shape):
    return of_root(normal(*shape))


def positive_definite(i, x, rng):
    if x.ndim == 2 and x.shape[0] == x.shape[1]:
        return of_root(rng.normal(size=x.shape))
    return rng.uniform(0.5, 2.0, x.shape)


def gauss(x, mean, cov):
    frozen = st.multivariate_normal(mean, cov)
    both = st.multivariate_normal.logpdf(x, mean, cov), frozen.pdf(x)
    return *both, frozen.entropy(), st.multivariate_normal.pdf(mean, cov=cov)


def diagonal(x, mean, cov):
    return st.multivariate_normal.logpdf(x, mean, cov)


def fixed(x, mean):
    cov = np.array([[2.0, 0.5], [0.5, 1.0]])
    whole = st.multivariate_normal(mean, cov).logpdf(x), st.multivariate_normal(None, cov).pdf(x)
    one = st.multivariate_normal(0.5, 2.0).logpdf(x[0, 0])
    spreads = st.multivariate_t(mean, 2.0, 3.0).entropy()  # whose dimension is that of the mean
    return *whole, one, spreads, st.multivariate_t.logpdf(x, mean, cov, 3.0)


def student(x, loc, shape, df):
    frozen = st.multivariate_t(loc, shape, df)
    return frozen.logpdf(x), st.multivariate_t.pdf(x, loc, shape, df), frozen.entropy()


def dirichlet(x, alpha):
    frozen = st.dirichlet(alpha)
    moments = frozen.mean(), frozen.var(), frozen.cov(), st.dirichlet.entropy(alpha)
    return st.dirichlet.logpdf(x, alpha), frozen.pdf(x), *moments


ROWS = [
    row(st.multivariate_normal.logpdf, normal(2), normal(2), spread(2, 2),
        _like=positive_definite, _name="vectors"),
    row(dirichlet, np.array([0.2, 0.5]), positive(3), _name="vectors"),
    row(gauss, normal(2, 2), normal(2), spread(2, 2), _like=positive_definite, _name="vectors"),
    row(student, normal(2), normal(2), spread(2, 2), np.array(3.0), _like=positive_definite,
        _name="vectors"),
    row(fixed, normal(3, 2), normal(2), _name="vectors"),
    row(gauss, normal(), normal(), np.array(1.5), _like=positive_definite, _name="vectors"),
    row(diagonal, normal(2), normal(2), positive(2), _name="vectors"),
    row(dirichlet, np.array([[0.2, 0.5], [0.3, 0.3]]), positive(3), _name="vectors"),
]  # fmt: skip
