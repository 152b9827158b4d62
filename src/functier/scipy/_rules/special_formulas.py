"""Derivatives that SciPy's special functions share, and rules of more than one line.

The derivative of a distribution function with respect to a parameter is minus the density times a
velocity, the derivative of the inverse: see NOTE [velocities]. The
citations are those of `special`.
"""

import math
from collections.abc import Callable

import numpy as np

from ..._core.numpy_facts import Value, dtype_of
from ..._rules.axes import as_array
from ..._rules.velocities import beta_velocities, gamma_velocity
from ...protocol import Rule
from .._dispatching import order_slope
from .._private import special

TERMS = 12
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)


def zeta_slope(s: Value, q: Value) -> Value:
    """Differentiate ``zeta(s, q)``, the sum of ``(n + q) ** -s``, by `s` > 1.

    That is the sum of `TERMS` terms, and the formula of Euler and Maclaurin for the others (DLMF
    25.11.5, differentiated).
    """
    total = 0.0
    for n in range(TERMS):
        total = total - np.log(q + n) * np.power(q + n, -s)
    x = q + TERMS
    log, tail = np.log(x), np.power(x, -s)
    total = total - x * tail * (log + 1 / (s - 1)) / (s - 1) - 0.5 * log * tail
    for j, number in enumerate(BERNOULLI, 1):
        m = 2 * j - 1
        rising = special.poch(s, m) * np.power(x, -s - m)
        change = special.psi(s + m) - special.psi(s) - log
        total = total + number / math.factorial(2 * j) * rising * change
    return total


LARGE = 1e300


def inner(x: Value) -> Value:
    """Return numbers from 0 to infinity without both ends, where formulas divide."""
    return np.clip(x, _smallest(x), min(LARGE, 0.01 / _smallest(x)))


def _smallest(x: Value) -> float:
    """Return a number near 0 in the precision of `x`."""
    dtype = dtype_of(x)
    return max(1e-200, float(np.finfo(dtype).tiny)) if dtype.kind == "f" else 1e-200


def log_odds_velocity(which: int, x: Value, rest: Value, a: Value, b: Value) -> Value:
    """Return the velocity of ``log(x / rest)`` by `a` or `b`, of a beta number; `rest` is 1 - x."""
    x, rest = np.maximum(x, _smallest(x)), np.maximum(rest, _smallest(rest))
    x, rest, a, b = np.broadcast_arrays(x, rest, a, b)
    return beta_velocities(x, rest, a, b)[which]


def beta_velocity(which: int, x: Value, a: Value, b: Value) -> Value:
    return x * (1 - x) * log_odds_velocity(which, x, 1 - x, a, b)


def f_velocity(which: int, x: Value, n: Value, d: Value) -> Value:
    """Return the velocity of ``x = (d / n) y / (1 - y)`` with a beta number `y`."""
    x = inner(x)
    total = d + n * x
    moved = log_odds_velocity(which, n * x / total, d / total, n / 2, d / 2) / 2
    return x * (moved - 1 / n if which == 0 else moved + 1 / d)


def t_velocity(t: Value, df: Value) -> Value:
    """Return that of ``t * t = df y / (1 - y)`` with a beta number `y`.

    It is a small difference where `df` is large: there it is the series of Cornish and Fisher.
    """
    size = np.clip(np.absolute(t), 1e-90, 1e150)
    few = np.less(df, 1e4 * (1 + size * size))
    a, b = size / np.where(few, 1.0, df), 1 / np.where(few, 1.0, df)
    late = size * (a * a * (size * a - b) / 3 - (a * a + b * b)) / 4
    df = np.where(few, df, 1.0)
    total = df + size * size
    moved = log_odds_velocity(1, size * size / total, df / total, 0.5, df / 2) / 2
    return np.sign(t) * np.where(few, size * (moved + 1 / df) / 2, late)


NODES, LEGENDRE = np.polynomial.legendre.leggauss(64)
NODES, LEGENDRE = (1 + NODES) / 2, LEGENDRE / 2  # of integrals from 0 to 1


def von_mises_velocity(x: Value, kappa: Value) -> Value:
    """Integrate the score by `kappa` from the mean, whose place is one half, in 64 nodes."""
    x = x - 2 * math.pi * np.rint(x / (2 * math.pi))
    mean = special.i1e(kappa) / special.i0e(kappa)
    end = np.sign(x) * np.minimum(np.absolute(x), 12 / np.sqrt(np.maximum(kappa, 1.0)))
    t = np.expand_dims(end, -1) * NODES
    level, at = np.expand_dims(kappa, -1), np.cos(np.expand_dims(x, -1))
    weight = np.exp(level * (np.cos(t) - at)) * LEGENDRE
    return -end * np.sum(weight * (np.cos(t) - np.expand_dims(mean, -1)), axis=-1)


VELOCITIES: dict[str, tuple[Callable, ...]] = {
    "a x": (lambda a, x: gamma_velocity(inner(x), a),),
    "a b x": (
        lambda a, b, x: beta_velocity(0, x, a, b),
        lambda a, b, x: beta_velocity(1, x, a, b),
    ),
    "df t": (lambda df, t: t_velocity(t, df),),
    "v x": (lambda v, x: gamma_velocity(inner(x) / 2, v / 2),),
    "dfn dfd x": (
        lambda n, d, x: f_velocity(0, x, n, d),
        lambda n, d, x: f_velocity(1, x, n, d),
    ),
}
"""The velocities of the last variable, by all variables: functions of all of them."""


PI, DEGREE = math.pi, math.pi / 180
SQRT_PI, SQRT_2, SQRT_2PI = math.sqrt(PI), math.sqrt(2), math.sqrt(2 * PI)


def complete_rule(rule: Callable | tuple) -> tuple:
    """Return `rule` for operands that may be lists, with the precision of the (co)tangent.

    SciPy computes ``xlogy(1.0, x)``, and the like, in double precision for any x.
    """
    if not isinstance(rule, tuple):
        rule = (rule, *Rule(rule, ()).needs)
    fn, *needs = rule

    def fitted(g: Value, *saved: Value) -> Value:
        c = fn(g, *prepare_operands(*saved))
        if dtype_of(g).char in "fF" and dtype_of(c).char in SINGLE:
            return c.astype(SINGLE[dtype_of(c).char])
        return c

    return fitted, *needs


def prepare_operands(*saved: Value) -> Value:
    """Return operands for rules: lists as arrays, and integers as signed ones of 64 bits.

    An order of dtype uint8 minus 1 would wrap around, and the logarithm of an int8 has half
    precision.
    """
    return [
        np.astype(as_array(v), np.int64) if dtype_of(v).kind in "biu" and type(v) is not int else v
        for v in lists_as_arrays(*saved)
    ]


def lists_as_arrays(*values: Value) -> list:
    """Return operands with arrays for lists; a Python number stays one."""
    return [as_array(v) if isinstance(v, (list, tuple, range)) else v for v in values]


SINGLE = {"d": np.float32, "D": np.complex64}


def safe_ratio(x: Value, y: Value) -> Value:
    """Return x / y, with 0 where both are 0."""
    return x / np.where(np.logical_and(np.equal(x, 0), np.equal(y, 0)), 1, y)


def log(x: Value) -> Value:
    """Return the logarithm, without a warning at 0."""
    return special.xlogy(1.0, x)


# ---- slopes that several rules share ----


def trigamma(x: Value) -> Value:
    """Return the derivative of `psi`; SciPy's takes real numbers only (DLMF 5.15.6, 5.15.8)."""
    if dtype_of(x).kind != "c":
        return special._zeta(2.0, x)
    left = np.less(np.real(x), 0.5)
    z = np.where(left, 1 - x, x)
    total = 0
    for k in range(12):
        total = total + 1 / ((z + k) * (z + k))
    w = 1 / (z + 12)
    series = 0
    for b in (-3617 / 510, 7 / 6, -691 / 2730, 5 / 66, -1 / 30, 1 / 42, -1 / 30, 1 / 6):
        series = (series + b) * w * w
    total = total + w * (1 + 0.5 * w + series)
    sine = np.sin(PI * np.where(left, x, 0.5)) / PI
    return np.where(left, 1 / (sine * sine) - total, total)


def rgamma_slope(g: Value, ans: Value, x: Value) -> Value:
    """Return -psi / gamma; on the left, where the poles of both cancel, by DLMF 5.5.3."""
    left = np.less(np.real(x), 0.5)
    a = np.where(left, x, 0.5)
    mirrored = special.gamma(1 - a) * (np.cos(PI * a) - np.sin(PI * a) * (special.psi(1 - a) / PI))
    return g * np.where(left, mirrored, -ans * special.psi(np.where(left, 1, x)))


def binom_part(ans: Value, x: Value, k: Value) -> Value:
    """Return ``psi(k + 1)`` times `ans`, a binomial coefficient of `x` with a factor ``1 / k!``.

    At a pole, where that factor is 0, it is the slope of the factor times the others.
    """
    pole = np.less(k, -0.5) & np.less(np.absolute(k - np.rint(k)), 1e-3)
    at = np.where(pole, k, -1.0)
    slope = -rgamma_slope(special.poch(x - at + 1, at), special.rgamma(at + 1), at + 1)
    return np.where(pole, slope, ans * special.psi(np.where(pole, 1.0, k + 1)))


def normal_ratio(x: Value) -> Value:
    """Return the normal density over its distribution function, without overflow (DLMF 7.2.3)."""
    return math.sqrt(2 / PI) / special.erfcx(x / -SQRT_2)


def far_slope(x: Value, near: Value, factor: float) -> Value:
    """Return `near`, and a series where its two terms cancel: DLMF 7.12.1, of 16 terms from 8 on.

    It is the slope of `erfcx`, or of `dawsn`, whose `factor` is negative.
    """
    if np.iscomplexobj(x):
        return near
    far = x > 8 if factor > 0 else np.absolute(x) > 8
    inverse = 1 / np.where(far, x, 8)
    step: Value = -math.copysign(0.5, factor) * inverse * inverse
    total: Value = 0.0
    for n in range(31, 0, -2):
        total = n * step * (1 + total)
    return np.where(far, factor * total, near)


def ellipk_slope(m: Value) -> Value:
    """Return the derivative of `ellipk`: DLMF 19.5.1, 15.5.1 and, for numbers near 1, 15.8.1."""
    return PI / 8 * special.hyp2f1(0.5, 0.5, 2.0, m) / (1 - m)


def ellipe_slope(m: Value) -> Value:
    """Return the derivative of `ellipe`: DLMF 19.5.2, 15.5.1."""
    return -PI / 8 * special.hyp2f1(0.5, 1.5, 2.0, m)


def spence_slope(x: Value) -> Value:
    """Return the derivative of `spence`: DLMF 25.12.1; for complex numbers near 1, 15.4.1.

    SciPy's complex series is wrong by a tenth where ``1 - x`` is near ``exp(pi i / 3)``.
    """
    if dtype_of(x).kind != "c":
        return -special.hyp2f1(1.0, 1.0, 2.0, 1 - x)
    near = np.less(np.absolute(1 - x), 0.5)
    far = np.where(near, 2.0, x)
    series = -special.hyp2f1(1.0, 1.0, 2.0, np.where(near, 1 - x, 0.0))
    return np.where(near, series, log(far) / (1 - far))


# ---- rules of functions of several variables ----


def neighbours(name: str, sign: int) -> Callable:
    """Return half the sum or difference of a Bessel function at the orders v - 1 and v + 1."""
    func = getattr(special, name)
    order = np.trunc if name in ("kn", "yn") else lambda v: v  # SciPy truncates these
    return lambda v, z: 0.5 * (func(order(v) - 1, z) + sign * func(order(v) + 1, z))


def bessel(name: str, sign: int, scale: complex = 1, factor: complex = 0) -> tuple:
    """Return the row of a Bessel function times ``exp(factor z)``: DLMF 10.6.1, 10.29.1."""
    half, order = neighbours(name, sign), None
    if name[1] != "n":
        order = lambda g, v, z: g * order_slope(getattr(special, name), 0, v, z)
    if factor:
        return "v z", order, lambda g, ans, v, z: g * (factor * ans + scale * half(v, z))
    return "v z", order, lambda g, v, z: g * (scale * half(v, z))


def struve(name: str, sign: int) -> tuple:
    """Return the row of a Struve function: DLMF 11.4.24, 11.4.26."""
    half = neighbours(name, sign)

    def rule(g: Value, v: Value, x: Value) -> Value:
        power = np.power(x / 2, v) * (special.rgamma(v + 1.5) * (0.5 / SQRT_PI))
        return g * (half(v, x) + power)

    return "v x", lambda g, v, x: g * order_slope(getattr(special, name), 0, v, x), rule


def lower(n: int) -> Value:
    """Return n - 1; 0 for the degree 0, whose term `degree_rule` drops."""
    return n - np.not_equal(n, 0)


def degree_rule(slope: Callable) -> Callable:
    """Return the rule of a polynomial; `slope` is its derivative for a degree above 0."""
    return lambda g, n, x: g * np.where(np.equal(n, 0), 0, slope(n, x))


def _exprel_far_from_zero(z: Value) -> tuple:
    """Tell where z is far from 0, and return ``z * z * exprel'(z)`` there (DLMF 13.6.2).

    SciPy's confluent hypergeometric function does not return for infinity.
    """
    far = np.absolute(z) > 1
    z = np.where(far, z, 1)
    z = np.maximum(z, -1000) if dtype_of(z).kind != "c" else z  # its exponential is 0 from there
    return far, (z - 1) * np.exp(z) + 1


def exprel_slope(z: Value) -> Value:
    """Return the derivative of `exprel`; near 0, where the closed form cancels, by DLMF 13.3.15."""
    far, above = _exprel_far_from_zero(z)
    near = 0.5 * special.hyp1f1(2.0, 3.0, np.where(far, 0, z))
    z = np.where(far, z, 1)
    return np.where(far, above / (z * z), near)


def boxcox_lmbda(g: Value, logarithm: Value, lmbda: Value) -> Value:
    """Differentiate ``logarithm * exprel(lmbda * logarithm)``, whose limit for x = 0 is finite."""
    far, above = _exprel_far_from_zero(lmbda * logarithm)
    inside, by = np.where(far, 0, logarithm), np.where(far, lmbda, 1)
    return g * np.where(far, above / (by * by), inside * inside * exprel_slope(lmbda * inside))


def inv_boxcox_lmbda(g: Value, power: Value, y: Value, lmbda: Value) -> Value:
    """Return `power` times the derivative of ``log1p(lmbda y) / lmbda``: DLMF 15.4.1, 15.5.1."""
    return g * (power * (-0.5 * y * y * special.hyp2f1(2.0, 2.0, 3.0, -lmbda * y)))


def expn_x(g: Value, ans: Value, n: int, x: Value) -> Value:
    """Differentiate `expn`: DLMF 8.19.13; for n = 0 it is ``exp(-x) / x``."""
    n = np.trunc(n)  # as SciPy does
    zero = np.equal(n, 0)
    return -g * np.where(zero, ans * (1 + 1 / np.where(zero, x, 1)), special.expn(lower(n), x))


def _voigt_slope(x: Value, sigma: Value, gamma: Value) -> tuple:
    """Return the argument of `wofz` in the Voigt profile, and its derivative: DLMF 7.10.2."""
    z = (x + 1j * gamma) / (SQRT_2 * sigma)
    return z, (2j / SQRT_PI - 2 * z * special.wofz(z)) / (SQRT_2PI * sigma)


def voigt_x(g: Value, x: Value, sigma: Value, gamma: Value) -> Value:
    return g * (np.real(_voigt_slope(x, sigma, gamma)[1]) / (SQRT_2 * sigma))


def voigt_sigma(g: Value, ans: Value, x: Value, sigma: Value, gamma: Value) -> Value:
    z, slope = _voigt_slope(x, sigma, gamma)
    return -g * ((np.real(z * slope) + ans) / sigma)


def voigt_gamma(g: Value, x: Value, sigma: Value, gamma: Value) -> Value:
    return -g * (np.imag(_voigt_slope(x, sigma, gamma)[1]) / (SQRT_2 * sigma))


def _half_turns(phi: Value) -> tuple:
    """Return the number of half turns in an angle, and the sine and squared cosine of the rest."""
    n = np.rint(phi / PI)
    sine = np.sin(phi - PI * n)
    return 2 * n, sine, 1 - sine * sine


def ellipkinc_m(g: Value, phi: Value, m: Value) -> Value:
    """DLMF 19.25.5, 19.18.1."""
    n, sine, square = _half_turns(phi)
    part = special.elliprd(square, 1.0, 1 - m * sine * sine)
    return g * (sine * sine * sine * part / 6 + n * ellipk_slope(m))


def ellipeinc_m(g: Value, phi: Value, m: Value) -> Value:
    """DLMF 19.25.5, 19.25.9."""
    n, sine, square = _half_turns(phi)
    part = special.elliprd(square, 1 - m * sine * sine, 1.0)
    return g * (n * ellipe_slope(m) - sine * sine * sine * part / 6)


def elliprf_x(g: Value, x: Value, y: Value, z: Value) -> Value:
    """Return the derivative of a symmetric integral by its first variable: DLMF 19.18.1."""
    return g * (special.elliprd(y, z, x) / -6)


def elliprg_x(g: Value, x: Value, y: Value, z: Value) -> Value:
    """Return that of R_G, of degree 1/2, by R_F and R_D: DLMF 19.20, 19.21.10."""
    return g * ((special.elliprf(x, y, z) - x * special.elliprd(y, z, x) / 3) / 4)


def owens_t_h(g: Value, h: Value, a: Value) -> Value:
    bell = np.exp(h * h / -2) / (-2 * SQRT_2PI)
    return g * (bell * special.erf(a * h / SQRT_2))


# ---- distribution functions ----


def gamma_density(a: Value, x: Value) -> Value:
    """DLMF 8.8.13."""
    return np.exp(special.xlogy(a - 1, x) - x - special.gammaln(a))


def beta_density(a: Value, b: Value, x: Value) -> Value:
    """DLMF 8.17.1."""
    power = special.xlogy(a - 1, x) + special.xlog1py(b - 1, -x)
    return np.exp(power - special.betaln(a, b))


def t_density(df: Value, t: Value) -> Value:
    power = special.xlog1py((df + 1) / 2, t * t / df)
    return np.exp(-power - special.betaln(0.5, df / 2)) / np.sqrt(df)


def f_density(n: int, d: Value, x: Value) -> Value:
    total = n * x + d
    return beta_density(n / 2, d / 2, n * x / total) * (n / total) * (d / total)


def binomial_slope(k: int, n: int, p: Value) -> Value:
    return -beta_density(np.floor(k) + 1, np.trunc(n) - np.floor(k), p)


def negative_binomial_slope(k: int, n: int, p: Value) -> Value:
    return beta_density(np.trunc(n), np.trunc(k) + 1, p)


def distribution_rows(params: str, slope: Callable, velocities: tuple = ()) -> tuple:
    """Return the rows of the four functions of a distribution.

    `velocities` are the derivatives of its inverse by the parameters: see NOTE [velocities].
    """
    *fixed, _ = names = params.split()
    none = [None] * len(fixed)

    def flow(sign: int, velocity: Callable) -> tuple:
        def rule(g: Value, *at: Value) -> Value:
            density = slope(*at)  # infinite at ends only, where the function is constant
            return g * (-sign * np.where(np.isinf(density), 0.0, density) * velocity(*at))

        return rule, *names

    def move(velocity: Callable) -> tuple:
        return lambda g, ans, *at: g * velocity(*at, ans), "ans", *fixed

    def value(sign: int) -> tuple:
        flows = [flow(sign, v) for v in velocities] or none
        return params, *flows, (lambda g, *at: g * (sign * slope(*at)), *names)

    def inverse(sign: int) -> tuple:
        moves = [move(v) for v in velocities] or none
        by_place = (lambda g, ans, *at: g / (sign * slope(*at, ans)), "ans", *fixed)
        return params, *moves, by_place

    return value(1), value(-1), inverse(1), inverse(-1)


# ---- several results, and no complex derivative ----


def mathieu(characteristic: str) -> Callable:
    """Return the slopes of a Mathieu function and its derivative, the angle in degrees."""
    value = getattr(special, characteristic)

    def slopes(ans: Value, m: Value, q: Value, x: Value) -> tuple:
        bent = (2 * q * np.cos(2 * DEGREE * x) - value(m, q)) * ans[0]
        return DEGREE * ans[1], DEGREE * bent

    return slopes


def modified_mathieu(characteristic: str) -> Callable:
    value = getattr(special, characteristic)
    return lambda ans, m, q, x: (ans[1], (value(m, q) - 2 * q * np.cosh(2 * x)) * ans[0])


def result_rules(params: Value, variable: str, slopes: Callable) -> tuple:
    """Return the rules, for one variable, of a function with several results."""
    needs = ("ans", *params.split())

    def jvp(t: Value, ans: Value, *at: Value) -> Value:
        return tuple(t * slope for slope in slopes(ans, *prepare_operands(*at)))

    def vjp(g: Value, ans: Value, *at: Value) -> Value:
        pairs = zip(g, slopes(ans, *prepare_operands(*at)))
        return np.conjugate(sum(np.conjugate(c) * slope for c, slope in pairs))

    return {variable: (jvp, *needs)}, {variable: (vjp, *needs)}


def damped_rules(name: str, sign: int, part: Callable, unit: complex) -> tuple:
    """Return the rules of a Bessel function times ``exp(-abs(part(z)))``: DLMF 10.6.1, 10.29.1."""
    half = neighbours(name, sign)

    def jvp(t: Value, ans: Value, v: Value, z: Value) -> Value:
        return t * half(v, z) - np.sign(part(z)) * part(t) * ans

    def vjp(g: Value, ans: Value, v: Value, z: Value) -> Value:
        along = unit * (np.sign(part(z)) * np.real(np.conjugate(ans) * g))
        along = along if dtype_of(z).kind == "c" else np.real(along)
        return g * np.conjugate(half(v, z)) - along

    return {"z": complete_rule(jvp)}, {"z": complete_rule(vjp)}
