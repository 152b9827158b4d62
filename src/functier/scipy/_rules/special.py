"""Derivatives of SciPy's special functions, in tables.

The first ufunc of SciPy that meets a tensor imports this file; SciPy has been imported by
then. Its Python functions have their rules in `special_functions`.

The formulas are from the Digital Library of Mathematical Functions (Olver et al., 2010),
cited as "DLMF 10.6.1". An operand without a rule, such as the order of a Bessel function,
has no derivative in closed form.
"""

import math
from collections.abc import Callable

import numpy as np

from ...protocol import elementwise
from .._dispatching import order_slope
from .._private import special
from . import special_functions, special_harmonics  # noqa: F401  imported for their declarations
from .special_formulas import (
    DEGREE,
    PI,
    SQRT_2PI,
    SQRT_PI,
    VELOCITIES,
    bessel,
    beta_density,
    binom_part,
    binomial_slope,
    boxcox_lmbda,
    complete_rule,
    damped_rules,
    degree_rule,
    distribution_rows,
    ellipe_slope,
    ellipeinc_m,
    ellipk_slope,
    ellipkinc_m,
    elliprf_x,
    elliprg_x,
    expn_x,
    exprel_slope,
    f_density,
    far_slope,
    gamma_density,
    inv_boxcox_lmbda,
    log,
    lower,
    mathieu,
    modified_mathieu,
    negative_binomial_slope,
    normal_ratio,
    owens_t_h,
    result_rules,
    rgamma_slope,
    safe_ratio,
    spence_slope,
    struve,
    t_density,
    trigamma,
    voigt_gamma,
    voigt_sigma,
    voigt_x,
    zeta_slope,
)

LN2, LN10 = math.log(2), math.log(10)

# ---- functions of one variable ----

ONE = {
    # gamma: DLMF 5.2.2, 5.15.1
    "gamma": lambda g, ans, x: g * ans * special.psi(x),
    "gammaln": lambda g, x: g * special.psi(x),
    "loggamma": lambda g, x: g * special.psi(x),
    "rgamma": rgamma_slope,
    "psi": lambda g, x: g * trigamma(x),
    # error functions: DLMF 7.2, 7.10
    "erf": lambda g, x: g * ((2 / SQRT_PI) * np.exp(-x * x)),
    "erfc": lambda g, x: g * ((-2 / SQRT_PI) * np.exp(-x * x)),
    "erfi": lambda g, x: g * ((2 / SQRT_PI) * np.exp(x * x)),
    "erfcx": lambda g, ans, x: g * far_slope(x, 2 * x * ans - 2 / SQRT_PI, 2 / SQRT_PI),
    "dawsn": lambda g, ans, x: g * far_slope(x, 1 - 2 * x * ans, -1),
    "wofz": lambda g, ans, x: g * (2j / SQRT_PI - 2 * x * ans),
    "erfinv": lambda g, ans: g * ((SQRT_PI / 2) * np.exp(ans * ans)),
    "erfcinv": lambda g, ans: g * ((-SQRT_PI / 2) * np.exp(ans * ans)),
    # the normal distribution
    "ndtr": lambda g, x: g * (np.exp(x * x / -2) / SQRT_2PI),
    "log_ndtr": lambda g, x: g * normal_ratio(x),
    "ndtri": lambda g, ans: g * (SQRT_2PI * np.exp(ans * ans / 2)),
    "ndtri_exp": lambda g, ans: g / normal_ratio(ans),
    # logistic functions
    "expit": lambda g, ans, x: g * ans * special.expit(-x),
    "logit": lambda g, x: g / (x * (1 - x)),
    "log_expit": lambda g, x: g * special.expit(-x),
    # exponentials, logarithms, roots
    "exp2": lambda g, ans: g * ans * LN2,
    "exp10": lambda g, ans: g * ans * LN10,
    "expm1": lambda g, ans: g * (ans + 1),
    "log1p": lambda g, x: g / (x + 1),
    "cbrt": lambda g, ans: g / (3 * ans * ans),
    "exprel": lambda g, x: g * exprel_slope(x),
    "entr": lambda g, x: -g * (log(x) + 1),
    "wrightomega": lambda g, ans: g * (ans / (1 + ans)),
    # angles
    "cosm1": lambda g, x: -g * np.sin(x),
    "sindg": lambda g, x: g * (DEGREE * special.cosdg(x)),
    "cosdg": lambda g, x: g * (-DEGREE * special.sindg(x)),
    "tandg": lambda g, ans: g * (DEGREE * (1 + ans * ans)),
    "cotdg": lambda g, ans: g * (-DEGREE * (1 + ans * ans)),
    # integrals: DLMF 6.2, 11.7.2, 25.12.1
    "exp1": lambda g, x: -g * (np.exp(-x) / x),
    "expi": lambda g, x: g * (np.exp(x) / x),
    "spence": lambda g, x: g * spence_slope(x),
    "itstruve0": lambda g, x: g * special.struve(0.0, x),
    "it2struve0": lambda g, x: -g * (special.struve(0.0, x) / x),
    "itmodstruve0": lambda g, x: g * special.modstruve(0.0, x),
    # complete elliptic integrals
    "ellipk": lambda g, x: g * ellipk_slope(x),
    "ellipkm1": lambda g, x: g * (-PI / 8 * special.hyp2f1(0.5, 0.5, 2.0, 1 - x) / x),
    "ellipe": lambda g, x: g * ellipe_slope(x),
    # Bessel functions of the orders 0 and 1: DLMF 10.6.1, 10.29.1
    "j0": lambda g, x: -g * special.j1(x),
    "j1": lambda g, x: g * (0.5 * (special.j0(x) - special.jv(2.0, x))),
    "y0": lambda g, x: -g * special.y1(x),
    "y1": lambda g, ans, x: g * (special.y0(x) - ans / x),
    "i0": lambda g, x: g * special.i1(x),
    "i1": lambda g, x: g * (0.5 * (special.i0(x) + special.iv(2.0, x))),
    "i0e": lambda g, ans, x: g * (special.i1e(x) - np.sign(x) * ans),
    "i1e": lambda g, ans, x: (
        g * (0.5 * (special.i0e(x) + special.ive(2.0, x)) - np.sign(x) * ans)
    ),
    "k0": lambda g, x: -g * special.k1(x),
    "k1": lambda g, ans, x: -g * (special.k0(x) + ans / x),
    "k0e": lambda g, ans, x: g * (ans - special.k1e(x)),
    "k1e": lambda g, ans, x: g * (ans - special.k0e(x) - ans / x),
    # Kelvin functions: DLMF 10.61.3
    "ber": lambda g, x: g * special.berp(x),
    "bei": lambda g, x: g * special.beip(x),
    "ker": lambda g, x: g * special.kerp(x),
    "kei": lambda g, x: g * special.keip(x),
    "berp": lambda g, ans, x: -g * (special.bei(x) + safe_ratio(ans, x)),
    "beip": lambda g, ans, x: (
        g * (special.ber(x) - np.where(np.equal(x, 0), 0.5, safe_ratio(ans, x)))
    ),
    "kerp": lambda g, ans, x: -g * (special.kei(x) + ans / x),
    "keip": lambda g, ans, x: g * (special.ker(x) - ans / x),
}  # fmt: skip


# ---- functions of several variables ----

SEVERAL = {
    # gamma and beta: DLMF 5.2.2, 5.12.1, 25.11.17
    "poch": (
        "z m",
        lambda g, ans, z, m: g * ans * (special.psi(z + m) - special.psi(z)),
        lambda g, ans, z, m: g * ans * special.psi(z + m),
    ),
    "binom": (
        "x y",
        lambda g, ans, x, y: g * (ans * special.psi(x + 1) - binom_part(ans, x, x - y)),
        lambda g, ans, x, y: g * (binom_part(ans, x, x - y) - binom_part(ans, x, y)),
    ),
    "beta": (
        "a b",
        lambda g, ans, a, b: g * ans * (special.psi(a) - special.psi(a + b)),
        lambda g, ans, a, b: g * ans * (special.psi(b) - special.psi(a + b)),
    ),
    "betaln": (
        "a b",
        lambda g, a, b: g * (special.psi(a) - special.psi(a + b)),
        lambda g, a, b: g * (special.psi(b) - special.psi(a + b)),
    ),
    "_zeta": (
        "x q",
        lambda g, x, q: g * zeta_slope(x, q),
        lambda g, x, q: -g * (x * special._zeta(x + 1, q)),
    ),
    "_riemann_zeta": ("x", lambda g, x: g * order_slope(special._riemann_zeta, 0, x)),
    "kolmogorov": ("y", lambda g, y: g * special._kolmogp(y)),
    "kolmogi": ("p", lambda g, ans: g / special._kolmogp(ans)),
    "smirnov": ("n d", None, lambda g, n, d: g * special._smirnovp(n, d)),
    "smirnovi": ("n p", None, lambda g, ans, n: g / special._smirnovp(n, ans)),
    "tklmbda": (
        "x lmbda",
        lambda g, ans, lmbda: g / (np.power(ans, lmbda - 1) + np.power(1 - ans, lmbda - 1)),
    ),
    "gdtr": (
        "a b x",
        lambda g, a, b, x: g * (x * gamma_density(b, a * x)),
        None,
        lambda g, a, b, x: g * (a * gamma_density(b, a * x)),
    ),
    "gdtrc": (
        "a b x",
        lambda g, a, b, x: -g * (x * gamma_density(b, a * x)),
        None,
        lambda g, a, b, x: -g * (a * gamma_density(b, a * x)),
    ),
    "gdtrix": (
        "a b p",
        lambda g, ans, a: -g * (ans / a),
        None,
        lambda g, ans, a, b: g / (a * gamma_density(b, a * ans)),
    ),
    "gdtria": (
        "p b x",
        lambda g, ans, b, x: g / (x * gamma_density(b, ans * x)),
        None,
        lambda g, ans, x: -g * (ans / x),
    ),
    "owens_t": (
        "h a",
        owens_t_h,
        lambda g, h, a: g * (np.exp(h * h * (1 + a * a) / -2) / (2 * PI * (1 + a * a))),
    ),
    "voigt_profile": ("x sigma gamma", voigt_x, voigt_sigma, voigt_gamma),
    # entropies and losses: where x is 0, so is the derivative for y, whatever y is
    "xlogy": ("x y", lambda g, y: g * log(y), lambda g, x, y: g * safe_ratio(x, y)),
    "xlog1py": ("x y", lambda g, y: g * np.log1p(y), lambda g, x, y: g * safe_ratio(x, 1 + y)),
    "rel_entr": (
        "x y",
        lambda g, x, y: g * (log(x / y) + 1),
        lambda g, x, y: -g * safe_ratio(x, y),
    ),
    "kl_div": ("x y", lambda g, x, y: g * log(x / y), lambda g, x, y: g * (1 - safe_ratio(x, y))),
    "huber": (
        "delta r",
        lambda g, delta, r: g * np.maximum(np.absolute(r) - delta, 0),
        lambda g, delta, r: g * np.clip(r, -delta, delta),
    ),
    "pseudo_huber": (
        "delta r",
        lambda g, ans, delta, r: (
            g * (2 * ans / delta - r * r / (delta * np.hypot(1, r / delta)))
        ),
        lambda g, delta, r: g * (r / np.hypot(1, r / delta)),
    ),
    "boxcox": (
        "x lmbda",
        lambda g, x, lmbda: g * np.power(x, lmbda - 1),
        lambda g, x, lmbda: boxcox_lmbda(g, np.log(x), lmbda),
    ),
    "boxcox1p": (
        "x lmbda",
        lambda g, x, lmbda: g * np.power(1 + x, lmbda - 1),
        lambda g, x, lmbda: boxcox_lmbda(g, np.log1p(x), lmbda),
    ),
    "inv_boxcox": (
        "y lmbda",
        lambda g, ans, lmbda: g * np.power(ans, 1 - lmbda),
        lambda g, ans, y, lmbda: inv_boxcox_lmbda(g, ans, y, lmbda),
    ),
    "inv_boxcox1p": (
        "y lmbda",
        lambda g, ans, lmbda: g * np.power(1 + ans, 1 - lmbda),
        lambda g, ans, y, lmbda: inv_boxcox_lmbda(g, 1 + ans, y, lmbda),
    ),
    "powm1": (
        "x y",
        lambda g, x, y: g * (y * np.power(x, y - 1)),
        lambda g, ans, x: g * ((1 + ans) * np.log(np.where(np.equal(x, 0), 1, x))),
    ),
    "radian": (
        "d m s",
        lambda g: g * DEGREE,
        lambda g: g * (DEGREE / 60),
        lambda g: g * (DEGREE / 3600),
    ),
    "expn": ("n x", None, expn_x),
    "_lambertw": ("z k tol", lambda g, ans: g * (np.exp(-ans) / (1 + ans))),  # DLMF 4.13.4
    # Bessel functions and their kin: DLMF 10.6.1, 10.29.1, 10.2.5, 10.2.6
    "jv": bessel("jv", -1),
    "yv": bessel("yv", -1),
    "yn": bessel("yn", -1),
    "iv": bessel("iv", 1),
    "kv": bessel("kv", 1, -1),
    "kn": bessel("kn", 1, -1),
    "kve": bessel("kve", 1, -1, 1),
    "hankel1": bessel("hankel1", -1),
    "hankel2": bessel("hankel2", -1),
    "hankel1e": bessel("hankel1e", -1, 1, -1j),
    "hankel2e": bessel("hankel2e", -1, 1, 1j),
    "struve": struve("struve", -1),
    "modstruve": struve("modstruve", 1),
    "wright_bessel": (
        "a b x", None, None, lambda g, a, b, x: g * special.wright_bessel(a, a + b, x),
    ),
    "log_wright_bessel": (
        "a b x", None, None,
        lambda g, ans, a, b, x: g * np.exp(special.log_wright_bessel(a, a + b, x) - ans),
    ),
    # hypergeometric functions: DLMF 13.3.15, 13.3.22, 15.5.1, 16.3.1
    "hyp0f1": (
        "v z", lambda g, v, z: g * order_slope(special.hyp0f1, 0, v, z),
        lambda g, v, z: g * (special.hyp0f1(v + 1, z) / v),
    ),
    "hyp1f1": (
        "a b x", lambda g, a, b, x: g * order_slope(special.hyp1f1, 0, a, b, x),
        lambda g, a, b, x: g * order_slope(special.hyp1f1, 1, a, b, x),
        lambda g, a, b, x: g * (a / b * special.hyp1f1(a + 1, b + 1, x)),
    ),
    "hyp2f1": (
        "a b c z", lambda g, a, b, c, z: g * order_slope(special.hyp2f1, 0, a, b, c, z),
        lambda g, a, b, c, z: g * order_slope(special.hyp2f1, 1, a, b, c, z),
        lambda g, a, b, c, z: g * order_slope(special.hyp2f1, 2, a, b, c, z),
        lambda g, a, b, c, z: g * (a * b / c * special.hyp2f1(a + 1, b + 1, c + 1, z)),
    ),
    "hyperu": (
        "a b x", lambda g, a, b, x: g * order_slope(special.hyperu, 0, a, b, x),
        lambda g, a, b, x: g * order_slope(special.hyperu, 1, a, b, x),
        lambda g, a, b, x: g * (-a * special.hyperu(a + 1, b + 1, x)),
    ),
    # elliptic integrals: DLMF 19.2.4, 19.2.5, 19.18.1
    "ellipkinc": ("phi m", lambda g, phi, m: g / np.sqrt(1 - m * np.sin(phi) ** 2), ellipkinc_m),
    "ellipeinc": ("phi m", lambda g, phi, m: g * np.sqrt(1 - m * np.sin(phi) ** 2), ellipeinc_m),
    "elliprf": (
        "x y z", elliprf_x,
        lambda g, x, y, z: elliprf_x(g, y, z, x),
        lambda g, x, y, z: elliprf_x(g, z, x, y),
    ),
    "elliprg": (
        "x y z", elliprg_x,
        lambda g, x, y, z: elliprg_x(g, y, z, x),
        lambda g, x, y, z: elliprg_x(g, z, x, y),
    ),
    "elliprc": (
        "x y",
        lambda g, x, y: elliprf_x(g, x, y, y),
        lambda g, x, y: 2 * elliprf_x(g, y, y, x),
    ),
    # orthogonal polynomials, in their variable: DLMF 18.9(iii), 18.7(i)
    "eval_jacobi": (
        "n alpha beta x", None, None, None,
        lambda g, n, alpha, beta, x: degree_rule(
            lambda n, x: (n + alpha + beta + 1) / 2
            * special.eval_jacobi(lower(n), alpha + 1, beta + 1, x))(g, n, x),
    ),
    "eval_sh_jacobi": (
        "n p q x", None, None, None,
        lambda g, n, p, q, x: g * (n * special.eval_sh_jacobi(lower(n), p + 2, q + 1, x)),
    ),
    "eval_gegenbauer": (
        "n alpha x", None, None,
        lambda g, n, alpha, x: degree_rule(
            lambda n, x: 2 * alpha * special.eval_gegenbauer(lower(n), alpha + 1, x))(g, n, x),
    ),
    "eval_genlaguerre": (
        "n alpha x", None, None,
        lambda g, n, alpha, x: degree_rule(
            lambda n, x: -special.eval_genlaguerre(lower(n), alpha + 1, x))(g, n, x),
    ),
    "eval_legendre": ("n x", None, degree_rule(
        lambda n, x: (n + 1) / 2 * special.eval_jacobi(lower(n), 1.0, 1.0, x))),
    "eval_chebyt": ("n x", None, degree_rule(lambda n, x: n * special.eval_chebyu(lower(n), x))),
    "eval_chebyu": ("n x", None, degree_rule(
        lambda n, x: 2 * special.eval_gegenbauer(lower(n), 2.0, x))),
    "eval_chebyc": ("n x", None, degree_rule(lambda n, x: n * special.eval_chebys(lower(n), x))),
    "eval_chebys": ("n x", None, degree_rule(
        lambda n, x: special.eval_gegenbauer(lower(n), 2.0, x / 2))),
    "eval_hermite": ("n x", None, degree_rule(
        lambda n, x: 2 * n * special.eval_hermite(lower(n), x))),
    "eval_hermitenorm": ("n x", None, degree_rule(
        lambda n, x: n * special.eval_hermitenorm(lower(n), x))),
    "eval_laguerre": ("n x", None, degree_rule(
        lambda n, x: -special.eval_genlaguerre(lower(n), 1.0, x))),
    "eval_sh_legendre": ("n x", None, degree_rule(
        lambda n, x: (n + 1) * special.eval_jacobi(lower(n), 1.0, 1.0, 2 * x - 1))),
    "eval_sh_chebyt": ("n x", None, degree_rule(
        lambda n, x: 2 * n * special.eval_sh_chebyu(lower(n), x))),
    "eval_sh_chebyu": ("n x", None, degree_rule(
        lambda n, x: 4 * special.eval_gegenbauer(lower(n), 2.0, 2 * x - 1))),
}  # fmt: skip


# ---- distribution functions in their last variable ----


DISTRIBUTIONS = (
    ("a x", gamma_density, "gammainc", "gammaincc", "gammaincinv", "gammainccinv"),
    ("a b x", beta_density, "betainc", "betaincc", "betaincinv", "betainccinv"),
    ("df t", t_density, "stdtr", "", "stdtrit", ""),
    ("v x", lambda v, x: gamma_density(v / 2, x / 2) / 2, "chdtr", "chdtrc", "", "chdtri"),
    ("dfn dfd x", f_density, "fdtr", "fdtrc", "fdtri", ""),
    ("k m", lambda k, m: -gamma_density(np.floor(k) + 1, m), "pdtr", "pdtrc", "pdtri", ""),
    ("k n p", binomial_slope, "bdtr", "bdtrc", "bdtri", ""),
    ("k n p", negative_binomial_slope, "nbdtr", "nbdtrc", "nbdtri", ""),
)
"""Parameters, slope, and the names of the function, its complement, and their inverses."""


# ---- functions with several results, or without a complex derivative ----

RESULTS: dict[str, tuple[str, str, Callable]] = {
    # DLMF 6.2.9, 6.2.11, 6.2.15, 6.2.16, 7.2.7, 7.2.8, 22.13.1
    "sici": ("x", "x", lambda ans, x: (np.sinc(x / PI), np.cos(x) / x)),
    "shichi": ("x", "x", lambda ans, x: (special.hyp0f1(1.5, x * x / 4), np.cosh(x) / x)),
    "fresnel": ("x", "x", lambda ans, x: (np.sin(PI / 2 * x * x), np.cos(PI / 2 * x * x))),
    "itj0y0": ("x", "x", lambda ans, x: (special.j0(x), special.y0(x))),
    "iti0k0": ("x", "x", lambda ans, x: (special.i0(x), special.k0(x))),
    "it2j0y0": ("x", "x", lambda ans, x: ((1 - special.j0(x)) / x, -special.y0(x) / x)),
    "it2i0k0": ("x", "x", lambda ans, x: ((special.i0(x) - 1) / x, -special.k0(x) / x)),
    "itairy": ("x", "x", lambda ans, x: (*special.airy(x)[::2], *special.airy(-x)[::2])),
    "ellipj": (
        "u m", "u",
        lambda ans, u, m: (ans[1] * ans[2], -ans[0] * ans[2], -m * ans[0] * ans[1], ans[2]),
    ),
    # by the differential equation: DLMF 9.2.1, 10.61.3, 12.2.2, 12.2.3, 28.2.1, 28.20.1
    "airy": ("x", "x", lambda ans, x: (ans[1], x * ans[0], ans[3], x * ans[2])),
    "kelvin": (
        "x", "x",
        lambda ans, x: (*ans[2:], 1j * ans[0] - ans[2] / x, 1j * ans[1] - ans[3] / x),
    ),
    "pbdv": ("v x", "x", lambda ans, v, x: (ans[1], (x * x / 4 - v - 0.5) * ans[0])),
    "pbvv": ("v x", "x", lambda ans, v, x: (ans[1], (x * x / 4 - v - 0.5) * ans[0])),
    "pbwa": ("a x", "x", lambda ans, a, x: (ans[1], (a - x * x / 4) * ans[0])),
    "mathieu_cem": ("m q x", "x", mathieu("mathieu_a")),
    "mathieu_sem": ("m q x", "x", mathieu("mathieu_b")),
    "mathieu_modcem1": ("m q x", "x", modified_mathieu("mathieu_a")),
    "mathieu_modcem2": ("m q x", "x", modified_mathieu("mathieu_a")),
    "mathieu_modsem1": ("m q x", "x", modified_mathieu("mathieu_b")),
    "mathieu_modsem2": ("m q x", "x", modified_mathieu("mathieu_b")),
}  # fmt: skip


DAMPED = {
    "jve": damped_rules("jve", -1, np.imag, 1j),
    "yve": damped_rules("yve", -1, np.imag, 1j),
    "ive": damped_rules("ive", 1, np.real, 1),
}

# ---- the declarations ----

ROWS = {name: ("x", rule) for name, rule in ONE.items()} | SEVERAL
for params, slope, *names in DISTRIBUTIONS:
    ROWS.update(zip(names, distribution_rows(params, slope, VELOCITIES.get(params, ()))))

for name, (params, *rules) in ROWS.items():
    if hasattr(special, name):  # private ones may go
        rules = [rule and complete_rule(rule) for rule in rules]
        elementwise(getattr(special, name), *rules, params=params)

for name, (params, variable, slopes) in RESULTS.items():
    jvp, vjp = result_rules(params, variable, slopes)
    elementwise(getattr(special, name), params=params, jvp=jvp, vjp=vjp)

for name, (jvp, vjp) in DAMPED.items():
    elementwise(getattr(special, name), params="v z", holomorphic=False, jvp=jvp, vjp=vjp)

for name in ("gammasgn", "round"):
    elementwise(getattr(special, name), constant=True)
