"""Rows for SciPy's special functions."""

import numpy as np
import scipy.special as special

from ._row import as_it_is, normal, positive, row, unit

F32, C = np.float32, complex


def under_mask(x, mask):
    """Most loops of SciPy 1.17 write out of bounds under a mask; this one does not."""
    return np.where(mask, special.entr(x, where=mask, out=None), 0.0)


def in_seconds(d, m, s):
    """Each operand has the same part in the result."""
    return 3600 * special.radian(d / 3600, m / 60, s)


REAL = [
    special.gammaln, special.psi, special.erf, special.erfc, special.erfcx, special.erfi,
    special.dawsn, special.wofz, special.ndtr, special.log_ndtr, special.expit,
    special.log_expit, special.exp2, special.exp10, special.expm1, special.cbrt, special.exprel,
    special.wrightomega, special.cosm1, special.sindg, special.tandg,
    special.itstruve0, special.itmodstruve0, special.j0, special.j1, special.i0, special.i1,
    special.i0e, special.i1e, special.ber, special.bei, special.berp, special.beip,
    special.gammasgn, special.round, special.fresnel, special.sici, special.shichi,
    special.airy, special.rgamma, special.gamma,
]  # fmt: skip
"""Functions of all real numbers."""

POSITIVE = [
    special.loggamma, special.entr, special.log1p, special.exp1, special.expi, special.spence,
    special.it2struve0, special.ellipkm1, special.y0, special.y1, special.k0, special.k1,
    special.k0e, special.k1e, special.ker, special.kei, special.kerp, special.keip, special.cotdg,
    special.itj0y0, special.iti0k0, special.it2j0y0, special.it2i0k0, special.itairy,
    special.kelvin, special.lambertw,
]  # fmt: skip

UNIT = [special.erfinv, special.ellipk, special.ellipe]
FRACTION = [special.erfcinv, special.ndtri, special.logit]

COMPLEX = [
    special.gamma, special.loggamma, special.rgamma, special.psi, special.erf, special.erfc,
    special.erfcx, special.erfi, special.dawsn, special.wofz, special.log_ndtr, special.expm1,
    special.log1p, special.spence, special.exp1, special.expi, special.wrightomega,
    special.lambertw, special.fresnel, special.sici, special.airy,
]  # fmt: skip

BESSEL = [
    special.jv, special.jve, special.yv, special.yve, special.iv, special.ive, special.kv,
    special.kve, special.hankel1, special.hankel1e, special.hankel2, special.hankel2e,
]  # fmt: skip

POLYNOMIALS = [
    special.eval_legendre, special.eval_chebyt, special.eval_chebyu, special.eval_chebyc,
    special.eval_chebys, special.eval_hermite, special.eval_hermitenorm, special.eval_laguerre,
    special.eval_sh_legendre, special.eval_sh_chebyt, special.eval_sh_chebyu,
]  # fmt: skip

GDTR = [special.gdtr, special.gdtrc, special.gdtrix]
MATHIEU = [
    special.mathieu_modcem1, special.mathieu_modcem2, special.mathieu_modsem1,
    special.mathieu_modsem2,
]  # fmt: skip
GAMMA = [special.gammainc, special.gammaincc, special.gammaincinv, special.gammainccinv]
BETA = [special.betainc, special.betaincc, special.betaincinv, special.betainccinv]


def fraction(*shape, dtype=float):
    """Numbers between 0.05 and 0.95."""
    return (0.5 * (1 + unit(*shape))).astype(dtype)


ROWS = [
    *[row(f, normal(2, 2)) for f in REAL],
    *[row(f, positive(3)) for f in POSITIVE],
    *[row(f, unit(3)) for f in UNIT],
    *[row(f, fraction(3)) for f in FRACTION],
    *[row(f, normal(2, dtype=C)) for f in COMPLEX],
    *[row(f, normal(2, dtype=F32)) for f in REAL],
    *[row(f, positive(2, dtype=F32)) for f in POSITIVE],
    *[row(f, 2.0, fraction(2, dtype=F32)) for f in (special.chdtr, special.stdtr)],
    row(special.gammaincinv, 2.0, fraction(2, dtype=F32)),
    row(special.cosdg, 60 * normal(3)),
    row(special.ndtri_exp, -positive(3)),
    # one argument has a derivative
    *[row(f, 1.5, positive(3)) for f in BESSEL],
    *[row(f, np.array([0.0, 2.5]), positive(2, 1) + 1j * unit(2, 1), _diff=(1,)) for f in BESSEL],
    *[row(f, 2, positive(3)) for f in (special.yn, special.kn, special.expn)],
    row(special.jv, np.arange(3), normal(3, dtype=F32)),
    row(special.expn, np.arange(3), positive(3)),
    row(special.struve, 1.0, normal(3)),
    row(special.modstruve, 0.5, positive(3)),
    row(special.zeta, 2.5, positive(3)),
    row(special.zeta, positive(2, 1) + 1, positive(3), _diff=(1,)),
    # SciPy 1.14 takes no logarithm for some x between 1 and 2.
    row(special.log_wright_bessel, 1.0, 2.0, np.array([0.3, 2.5, 3.0])),
    *[row(f, 1.5, normal(3)) for f in (special.pbdv, special.pbvv, special.pbwa)],
    *[row(f, 2, 0.7, 10 * normal(3)) for f in (special.mathieu_cem, special.mathieu_sem)],
    *[row(f, 2, 0.7, positive(3)) for f in MATHIEU],
    row(special.kolmogorov, positive(3), _order=1),
    row(special.kolmogi, fraction(3), _order=1),
    row(special.smirnov, 5, fraction(3), _order=1),
    row(special.smirnovi, 5, fraction(3), _order=1),
    row(special.tklmbda, unit(3), 0.3),
    row(special.gdtria, fraction(3), 2.0, positive(2, 1)),
    row(special.wright_bessel, 1.0, 2.0, positive(3)),
    row(special.hyp0f1, 1.5, normal(3)),
    row(special.hyp1f1, 0.5, 1.5, normal(3)),
    row(special.hyp1f1, 0.5, 1.5, normal(2, dtype=C)),
    row(special.hyp2f1, 0.5, 1.0, 2.5, unit(3)),
    row(special.hyp2f1, 0.5, 1.0, 2.5, unit(2) + 0.3j),
    row(special.hyperu, 0.5, 1.5, positive(3)),
    *[row(f, 3, unit(3)) for f in POLYNOMIALS],
    *[row(f, np.arange(3), unit(2, 3)) for f in POLYNOMIALS],
    row(special.eval_jacobi, 3, 0.5, 1.5, unit(3)),
    row(special.eval_jacobi, np.arange(2), 1, 2.0, unit(3, 1)),
    row(special.eval_sh_jacobi, 3, 2.5, 1.5, fraction(3)),
    row(special.eval_gegenbauer, 3, 1.5, unit(3)),
    row(special.eval_genlaguerre, 3, 0.5, positive(3)),
    *[row(f, 1.5, fraction(3)) for f in GAMMA],
    row(special.gammainc, positive(2, 1), positive(3), _diff=(1,)),
    *[row(f, 1.5, 2.5, fraction(3)) for f in BETA],
    row(special.betainc, positive(2, 1), positive(3), fraction(2, 3), _diff=(2,)),
    *[row(f, 3.0, fraction(3)) for f in (special.stdtr, special.stdtrit)],
    *[row(f, 3.0, fraction(3)) for f in (special.chdtr, special.chdtrc, special.chdtri)],
    *[row(f, 2.0, 3.0, fraction(3)) for f in (special.fdtr, special.fdtrc, special.fdtri)],
    *[row(f, positive(2, 1), 3.0, fraction(3)) for f in GDTR],
    *[row(f, 2.0, fraction(3)) for f in (special.pdtr, special.pdtrc, special.pdtri)],
    *[row(f, 2.0, 5, fraction(3)) for f in (special.bdtr, special.bdtrc, special.bdtri)],
    *[row(f, 2, 5, fraction(3)) for f in (special.nbdtr, special.nbdtrc, special.nbdtri)],
    row(special.ellipj, unit(3), 0.3),
    # every argument has
    *[row(f, positive(2, 1), positive(3)) for f in (special.beta, special.betaln, special.poch)],
    row(special.binom, 3 + positive(2, 1), positive(3)),
    *[row(f, positive(2, 1), positive(3)) for f in (special.xlogy, special.xlog1py)],
    row(special.xlogy, normal(2, dtype=C), normal(2, dtype=C)),
    *[row(f, positive(2, 1), positive(3)) for f in (special.rel_entr, special.kl_div)],
    *[row(f, positive(2, 1), normal(3)) for f in (special.huber, special.pseudo_huber)],
    *[row(f, positive(2, 1), normal(3)) for f in (special.boxcox, special.boxcox1p)],
    *[row(f, positive(2, 1), unit(3)) for f in (special.boxcox, special.boxcox1p)],
    *[row(f, unit(2, 1), positive(3) / 2) for f in (special.inv_boxcox, special.inv_boxcox1p)],
    row(special.boxcox, positive(3), np.zeros(3)),
    row(special.powm1, positive(2, 1), normal(3)),
    row(in_seconds, normal(2, 1), normal(3), normal(1)),
    row(special.cosdg, 60 + normal(3)),  # where the derivative is not nearly 0
    row(special.owens_t, normal(2, 1), normal(3)),
    row(special.voigt_profile, normal(2, 1), positive(3), positive(1)),
    row(special.ellipkinc, 2 * normal(2, 1), unit(3), _order=1),
    row(special.ellipeinc, 2 * normal(2, 1), unit(3), _order=1),
    row(special.ellipkinc, 2 * normal(3), 0.3),
    row(special.ellipeinc, 2 * normal(3), 0.3),
    row(special.elliprc, positive(2), positive(2), _order=1),
    *[
        row(f, positive(2), positive(2), positive(1), _order=1)
        for f in (special.elliprf, special.elliprg)
    ],
    # at zeros and poles
    row(special.rgamma, np.array([0.0, -1.0, -2.0, 0.5, -20.5])),
    *[row(f, np.zeros(2)) for f in (special.j1, special.i1, special.exprel, special.berp)],
    *[row(f, np.zeros(2)) for f in (special.beip, special.ellipk)],
    *[row(f, np.ones(2)) for f in (special.spence, special.ellipkm1)],
    row(special.jv, np.array([0, 1, 2]), np.zeros(3)),
    row(special.xlogy, np.zeros(2), positive(2)),
    row(special.gammaln, np.array([-0.5, -1.5])),
    row(under_mask, np.array([-1.0, 0.5, 2.0]), np.array([False, True, True]), _like=as_it_is),
]  # fmt: skip
