"""Rows for the Python functions of `scipy.special`."""

import numpy as np

import functier.scipy.special as special

from ._row import integers, normal, positive, row, unit

F, C = np.float32, complex
INF = np.inf


def same_places(i, x, rng):
    """Every example has its infinities where the row has them."""
    return np.where(np.isfinite(x), x + 0.1 * rng.normal(size=x.shape), x)


def signed_sum(a, b):
    return special.logsumexp(a, b=b, axis=0, return_sign=True)


ONE_INFINITE = np.array([[-INF, 0.5, 1.0], [0.2, -INF, -INF]])
ORDERS = np.arange(3)[:, np.newaxis]
SPHERICAL = (
    special.spherical_jn, special.spherical_yn, special.spherical_in, special.spherical_kn,
)  # fmt: skip
BESSEL = (
    special.jvp, special.yvp, special.ivp, special.kvp, special.h1vp, special.h2vp,
)  # fmt: skip

ROWS = [
    row(signed_sum, normal(3, 2), normal(3, 1)),
    row(special.logsumexp, normal(2, 3), axis=-1, b=positive(2, 3)),
    row(special.logsumexp, normal(2, 3, 2), (0, -1), keepdims=True),
    row(special.logsumexp, normal(2, 1, dtype=F), b=positive(3)),
    row(special.logsumexp, normal(3, 1), axis=1, b=positive(3, 2), keepdims=True),
    row(special.logsumexp, normal(3, 2), axis=1, b=positive(3, 1), keepdims=True),
    row(special.logsumexp, normal(3, dtype=C)),
    row(signed_sum, normal(3, 2, dtype=C), normal(3, 1, dtype=C)),
    row(special.logsumexp, ONE_INFINITE, axis=1, _like=same_places, _order=0),
    row(special.logsumexp, np.zeros((0, 2)), axis=0, _order=0),
    row(special.logsumexp, normal(), _name="logsumexp of a number"),
    row(special.logsumexp, np.arange(3)),
    row(special.softmax, normal(2, 3), axis=0),
    row(special.softmax, normal(2, 3, dtype=F)),
    row(special.softmax, normal(2, 3, 2), axis=(0, -1)),
    row(special.softmax, normal(3, dtype=C)),
    row(special.softmax, ONE_INFINITE, axis=1, _like=same_places, _order=0),
    row(special.log_softmax, normal(2, 3), axis=0),
    row(special.log_softmax, normal(3, dtype=C)),
    row(special.log_softmax, normal(2, 3, dtype=F)),
    row(special.zeta, 2.5, positive(3)),
    # gamma functions
    row(special.polygamma, ORDERS, positive(2)),
    row(special.polygamma, 1, positive(2, dtype=F)),
    row(special.multigammaln, 2 + positive(2), 3),
    row(special.multigammaln, 1 + positive(2, dtype=F), 1),
    row(special.comb, 4 + positive(2, 1), positive(3)),
    row(special.comb, positive(3), positive(2, 1), repetition=True),
    row(special.comb, integers(2, 9, 3), np.array([1, 12, -1])),
    row(special.perm, 4 + positive(2, 1), positive(3)),
    row(special.perm, integers(2, 9, 3), np.array([1, 12, -1])),
    row(special.factorial, np.array([0.5, 2.0, -1.5])),
    row(special.factorial, np.array([1, 4, -3])),
    row(special.factorial, normal(2, dtype=C), extend="complex"),
    row(special.factorial2, positive(2), extend="complex"),
    row(special.factorialk, positive(2), 3.5, extend="complex"),
    row(special.factorial2, np.array([1, 4, 7])),
    row(special.factorialk, np.array([1, 4, 7]), 3),
    row(special.stirling2, np.array([4, 5]), 2),
    # Bessel functions
    *(row(f, ORDERS, normal(2)) for f in SPHERICAL),
    *(row(f, 2, positive(2, dtype=F), derivative=True) for f in SPHERICAL),
    *(row(f, 1, normal(2, dtype=C)) for f in SPHERICAL),
    *(row(f, ORDERS, np.zeros(1), _name="spherical at zero") for f in SPHERICAL[::2]),
    *(row(f, 2, np.zeros(1), True, _name="spherical at zero") for f in SPHERICAL[::2]),
    *(row(f, np.array([0.5, 2.0]), positive(2, 1), 2, _diff=(1,)) for f in BESSEL),
    *(row(f, 1, positive(2, dtype=F)) for f in BESSEL),
    # polynomials and harmonics
    row(special.diric, 3 * normal(3), 4),
    row(special.diric, np.array([0.0, 2 * np.pi, -np.pi]), np.arange(1, 4)[:, np.newaxis]),
    row(special.diric, normal(2), 1.5, _order=0),
]

if hasattr(special, "legendre_p"):  # since SciPy 1.15
    ROWS += [
        row(special.legendre_p, ORDERS, unit(2), diff_n=2, _name="legendre_p"),
        row(special.legendre_p, 3, np.array([-1.0, 0.0, 1.0]), _name="legendre_p at ends"),
        row(special.legendre_p_all, 2, unit(2), diff_n=1, _name="legendre_p_all"),
        row(special.legendre_p_all, 2, unit(2, dtype=F), _name="legendre_p_all"),
        row(special.sph_legendre_p, 2, 1, normal(2), diff_n=1, _name="sph_legendre_p"),
        row(special.sph_legendre_p_all, 2, 1, normal(), _name="sph_legendre_p_all"),
        row(special.sph_legendre_p_all, 2, -1, normal(2, dtype=F), diff_n=1, _name="all polar"),
        row(special.sph_harm_y, 2, -1, normal(2), normal(2), _name="sph_harm_y"),
        row(
            special.sph_harm_y, 2, np.array([-2, 0, 2]), np.zeros(1), normal(1), _name="sph_harm_y"
        ),
        row(special.sph_harm_y_all, 2, 2, normal(2, dtype=F), normal(1), _name="sph_harm_y_all"),
    ]

if hasattr(special, "softplus"):  # since SciPy 1.15
    ROWS.append(row(special.softplus, normal(3)))
