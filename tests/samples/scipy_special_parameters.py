"""Rows for the distribution functions of `scipy.special` by their parameters."""

import numpy as np
from scipy import special

from ._row import positive, rng, row


def fraction(*shape):
    return rng().uniform(0.2, 0.8, shape)


def several(*functions):
    """Several functions of the same operands, as one."""
    return lambda *xs: tuple(f(*xs) for f in functions)


GAMMA = several(special.gammainc, special.gammaincc, special.gammaincinv, special.gammainccinv)
BETA = several(special.betainc, special.betaincc, special.betaincinv, special.betainccinv)
SQUARES = several(special.chdtr, special.chdtrc, special.chdtri)
STUDENT = several(special.stdtr, special.stdtrit)
BESSEL = several(special.jv, special.yv, special.iv, special.kv)
SCALED = several(special.kve, special.struve, special.modstruve)
HANKEL = several(
    lambda v, x: special.hankel1(v, x).real, lambda v, x: special.hankel2(v, x).imag,
    lambda v, x: special.hankel1e(v, x).imag, lambda v, x: special.hankel2e(v, x).real,
)  # fmt: skip
RATIOS = several(special.fdtr, special.fdtrc, special.fdtri)

ROWS = [
    row(GAMMA, positive(2), fraction(2), _name="gamma by parameters"),
    row(BETA, positive(2), positive(1), fraction(1), _name="beta by parameters"),
    row(STUDENT, positive(2), fraction(1), _name="stdtr by parameters"),
    row(SQUARES, positive(2), fraction(2), _name="chdtr by parameters"),
    row(RATIOS, positive(1) + 1, positive(2), fraction(1), _name="fdtr by parameters"),
    row(special.zeta, positive(2) + 1, positive(1), _name="zeta by its exponent"),
    row(BESSEL, positive(2), positive(2), _name="Bessel functions by their order"),
    row(special.hyp1f1, positive(2), positive(1) + 1, positive(2), _name="hyp1f1 by parameters"),
    row(GAMMA, np.array([0.05, 30.0]), fraction(2), _name="gamma by parameters"),
    row(BETA, np.array([0.3, 30.0]), np.array([2.5, 0.4]), fraction(2), _name="beta by parameters"),
    row(special.zeta, positive(2) + 1, _name="zeta of Riemann"),
    row(SCALED, positive(2), positive(2), _name="other Bessel functions by their order"),
    row(HANKEL, positive(2), positive(2), _name="Hankel functions by their order"),
    row(special.hyp0f1, positive(2), positive(1), _name="hyp0f1 by parameters"),
    row(
        special.hyp2f1,
        positive(1),
        positive(1),
        positive(2) + 1,
        fraction(),
        _name="hyp2f1 by parameters",
    ),
    row(special.hyperu, positive(1), positive(1) + 1, positive(2), _name="hyperu by parameters"),
]
