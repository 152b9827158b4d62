"""Rows for the functions of matrices and the matrix equations of `scipy.linalg`."""

import numpy as np

import functier.scipy.linalg as sl
from functier.scipy._rules.linalg.equations import sylvester
from functier.scipy._rules.linalg.matrix_functions import scale_of, turn

from ._row import normal, row

C, F = complex, np.float32


def small(*shape, dtype=float):
    """Matrices whose eigenvalues are far from the negative axis, and stable if 1 is taken off."""
    return (0.1 * normal(*shape, dtype=dtype) + 0.5 * np.eye(*shape[-2:])).astype(dtype)


def another(i, x, rng):
    """A matrix a little off."""
    noise = 1 + 0.05 * rng.normal(size=x.shape)
    return (x * noise).astype(x.dtype)


def of(name, function, *arrays, **options):
    return row(function, *arrays, _name=name, _like=another, **options)


def near(function, *args, **options):
    return row(function, *args, _like=another, **options)


def riccati(function):
    """An equation of Riccati as one of any matrices; `q` and `r` are made positive definite."""

    def of_any(a, b, q, r, *rest, **options):
        q, r = (np.matmul(x, np.conjugate(x.mT)) + np.eye(len(x), dtype=x.dtype) for x in (q, r))
        return function(a, b, q, r, *rest, **options)

    return of_any


def as_complex(function):
    """Results of real matrices that are real or complex as the numbers want, also of none."""
    return lambda *args: np.astype(function(*args), complex)


SPIN = np.array([[-1.0, 0.2, 0.3], [0.1, 1.5, 0.4], [0.2, -0.5, 1.2]])
"""A matrix with a negative eigenvalue, and two that are complex."""

SMALL = np.array([[0.4, 0.1], [0.05, 0.5]])

SYSTEM = (
    np.array([[0.1, 1.0], [-0.5, -0.3]]),
    np.array([[0.3], [1.0]]),
    np.array([[1.0, 0.3], [0.5, 2.0]]),
    np.array([[0.7]]),
)
"""Matrices for which an equation of Riccati has a solution."""

TERMS = np.array([[1.0, 0.2], [0.1, 1.5]]), np.array([[0.1], [-0.2]])

ROWS = [
    row(sl.expm, normal(3, 3)),
    row(sl.expm, normal(2, 2, 2, dtype=C)),
    row(sl.expm, np.triu(normal(3, 3, dtype=F))),
    row(sl.expm, np.zeros((2, 2))),
    row(sl.expm, normal(1)),
    row(sl.expm, normal(0, 0)),
    row(sl.expm_frechet, normal(2, 2), normal(2, 2)),
    row(sl.expm_frechet, normal(2, 2, dtype=F), normal(2, 2, dtype=F), compute_expm=False),
    row(sl.expm_frechet, normal(2, 2, dtype=C), normal(2, 2), method="blockEnlarge"),
    near(sl.expm_cond, normal(2, 2)),
    *[near(f, small(3, 3)) for f in (sl.cosm, sl.sinm, sl.tanm, sl.coshm, sl.sinhm, sl.tanhm)],
    *[near(f, small(2, 2, dtype=C)) for f in (sl.cosm, sl.sinm, sl.tanm)],
    *[near(f, small(2, 2, dtype=F)) for f in (sl.cosm, sl.coshm, sl.tanhm)],
    near(sl.logm, small(2, 2)),
    of("on the cut", as_complex(sl.logm), SPIN),
    near(sl.logm, small(2, 2, dtype=C)),
    near(sl.sqrtm, small(3, 3)),
    of("on the cut", as_complex(sl.sqrtm), SPIN),
    near(sl.sqrtm, small(2, 2, dtype=C)),
    near(sl.sqrtm, small(2, 2, dtype=F)),
    near(sl.signm, SPIN),
    near(sl.signm, SPIN + 0.1j * normal(3, 3)),
    near(sl.fractional_matrix_power, small(2, 2), 0.3, _order=1),
    of("power", lambda t: sl.fractional_matrix_power(SMALL, t), np.array(0.3), _order=1),
    of("on the cut", as_complex(lambda a: sl.fractional_matrix_power(a, -0.7)), SPIN),
    near(sl.fractional_matrix_power, SPIN, 2),
    near(sl.fractional_matrix_power, small(2, 2, dtype=C), np.array(1.6), _shared=(1,)),
    near(scale_of, 8 * normal(2, 2), normal(2, 2), _diff=()),
    near(turn, SPIN, _diff=()),
    # ---- equations ----
    near(sylvester, small(3, 3), small(2, 2), normal(3, 2)),
    near(sl.solve_sylvester, small(3, 3), small(2, 2), normal(3, 2)),
    near(sl.solve_sylvester, small(2, 2, dtype=C), SMALL, normal(2, 2, dtype=F)),
    near(sl.solve_continuous_lyapunov, small(2, 2), normal(2, 2)),
    near(sl.solve_continuous_lyapunov, small(2, 2, dtype=C), normal(2, 2)),
    near(sl.solve_discrete_lyapunov, small(2, 2), normal(2, 2)),
    near(sl.solve_discrete_lyapunov, small(2, 2, dtype=C), normal(2, 2), method="bilinear"),
    of(
        "solve_continuous_are",
        riccati(sl.solve_continuous_are),
        *SYSTEM,
        *TERMS,
        _shared=(1, 2, 3, 4, 5),
    ),
    of(
        "solve_continuous_are",
        riccati(sl.solve_continuous_are),
        SYSTEM[0] + 0.1j * normal(2, 2),
        *SYSTEM[1:],
        _order=1,
    ),
    of(
        "solve_discrete_are",
        riccati(sl.solve_discrete_are),
        *SYSTEM,
        *TERMS,
        _shared=(1, 2, 3, 4, 5),
    ),
    of(
        "solve_discrete_are",
        riccati(lambda a, b, q, r, s: sl.solve_discrete_are(a, b, q, r, s=s)),
        *SYSTEM,
        0.1 * normal(2, 1, dtype=C),
    ),
]
