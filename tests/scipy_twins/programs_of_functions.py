"""Functions of one number that call SciPy's integrators and root finders, and what they equal.

Each takes a number and a namespace, `scipy` or `functier.scipy`. A check compares a program under
a nesting of transforms with loops and central differences of the same program in plain SciPy.
"""

import math

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize

import functier as ft
import functier.scipy.integrate
import functier.scipy.optimize


def slope(f, p, h):
    """A central difference of fourth order."""
    return (8 * (f(p + h) - f(p - h)) - (f(p + 2 * h) - f(p - 2 * h))) / (12 * h)


NESTINGS = {
    "value under jvp": (lambda f: lambda p: ft.jvp(f, (p,), (1.0,))[0], 0, False),
    "jvp": (lambda f: lambda p: ft.jvp(f, (p,), (1.0,))[1], 1, False),
    "grad": (ft.jacrev, 1, False),
    "grad of grad": (lambda f: ft.jacrev(ft.jacrev(f)), 2, False),
    "jvp of grad": (lambda f: ft.jacfwd(ft.jacrev(f)), 2, False),
    "grad of jvp": (lambda f: ft.jacrev(ft.jacfwd(f)), 2, False),
    "vmap": (ft.vmap, 0, True),
    "vmap of grad": (lambda f: ft.vmap(ft.jacrev(f)), 1, True),
    "vmap of jvp of grad": (lambda f: ft.vmap(ft.jacfwd(ft.jacrev(f))), 2, True),
    "grad of vmap": (lambda f: lambda ps: ft.vjp(ft.vmap(f), ps)[1](_ones(f, ps))[0], 1, True),
    "jvp of vmap": (lambda f: lambda ps: ft.jvp(ft.vmap(f), (ps,), (np.ones(3),))[1], 1, True),
}
"""Each nesting with the order of its derivative, and whether it takes a batch."""


QUICK = "grad", "vmap of grad"
"""The nestings in which each program runs in the quick suite; a few programs run in all."""


def calls(programs, in_all):
    """The pairs of a program and a nesting, most of which are for the slow suite."""
    return [
        pytest.param(f, n, marks=[] if n in QUICK or f in in_all else pytest.mark.slow)
        for f in programs
        for n in NESTINGS
    ]


def _ones(f, ps):
    return np.ones_like(ft.vmap(f)(ps))


def expectation(program, order, p, step):
    """The derivative of a program in plain SciPy, by differences."""
    if order == 0:
        return np.asarray(program(p, scipy))
    return slope(lambda q: expectation(program, order - 1, q, step), p, step)


def verdict(program, nesting, p, tolerance=2e-6, careful=False):
    """Tell if a program under a nesting is right, refused or wrong.

    If `careful`, it is unsure where differences with another step say something else.
    """
    transform, order, batched = NESTINGS[nesting]
    points = p + np.array([0.0, 0.13, 0.31])
    try:
        actual = transform(lambda p: program(p, functier.scipy))(points if batched else p)
    except (ft.UnsupportedError, ft.DataDependentError):
        return "refused"
    bound = 1e-13 if order == 0 else tolerance * 50 ** (order - 1)

    def is_right(step):
        expected = [expectation(program, order, q, step) for q in (points if batched else [p])]
        expected = np.stack(expected) if batched else expected[0]
        if nesting == "grad of vmap" and expected.ndim > 1:
            expected = expected.sum(axis=tuple(range(1, expected.ndim)))
        same = np.shape(actual) == np.shape(expected)
        return same and np.allclose(actual, expected, rtol=bound, atol=bound), expected

    right, expected = is_right(4e-3 if order == 2 else 1e-3)
    if right or not careful:
        return "right" if right else "wrong"
    again = is_right(2e-3 if order == 2 else 3e-4)[1]
    return "wrong" if np.allclose(expected, again, rtol=bound, atol=bound) else "unsure"


# ---- integrals ----


def closure(p, s):
    return s.integrate.quad(lambda x: np.exp(-p * x * x) * math.cos(x), 0, 2)[0]


def arguments(p, s):
    return s.integrate.quad(lambda x, c, d: x**c * np.exp(-d * x), 0.1, 2, args=(p, 1.5))[0]


def limits(p, s):
    return s.integrate.quad(lambda x: np.sin(p * x) / x, p, 2 * p + 1)[0]


def reversed_limits(p, s):
    return s.integrate.quad(lambda x: np.exp(p * x), 2.0, p)[0]


def half_line(p, s):
    return s.integrate.quad(lambda x: np.exp(-p * x * x), p, np.inf)[0]


def other_half_line(p, s):
    return s.integrate.quad(lambda x: np.exp(p * x), -np.inf, p)[0]


def line(p, s):
    return s.integrate.quad(lambda x: np.exp(-p * (x - p) ** 2), -np.inf, np.inf)[0]


def singular(p, s):
    return s.integrate.quad(lambda x: x ** (-p / 4) * np.log(x), 0, 1)[0]


def with_points(p, s):
    return s.integrate.quad(lambda x: p * abs(x - 0.3) ** 0.5, -1, p, points=[0.3])[0]


def fixed_jump(p, s):
    return s.integrate.quad(lambda x: (p if x > 0.3 else p * p) * np.sin(p * x), 0, 1)[0]


def kink(p, s):
    return s.integrate.quad(lambda x: np.maximum(x - p / 3, 0.0), 0, 1)[0]


def moving_jump(p, s):
    return s.integrate.quad(lambda x: np.where(x < p / 3, np.exp(x), 0.0), 0, 1)[0]


def moving_jump_in_the_middle(p, s):
    return s.integrate.quad(lambda x: np.sign(x - p), p - 0.8, p + 0.8 + p * 1e-9)[0]


def branch(p, s):
    return s.integrate.quad(lambda x: 1.0 if x < p / 3 else 2.0, 0, 1)[0]


def weighted(p, s):
    return s.integrate.quad(lambda x: np.exp(-p * x), 0, p, weight="cos", wvar=3.0)[0]


def weighted_line(p, s):
    return s.integrate.quad(lambda x: np.exp(-p * x), 0, np.inf, weight="sin", wvar=2.0)[0]


def weighted_ends(p, s):
    return s.integrate.quad(lambda x: p * np.exp(p * x), 0, 1, weight="alg", wvar=(-0.5, 0.2))[0]


def principal_value(p, s):
    return s.integrate.quad(lambda x: np.exp(p * x), -1, p, weight="cauchy", wvar=0.2)[0]


def complex_values(p, s):
    found = s.integrate.quad(lambda x: np.exp(1j * p * x), 0, p, complex_func=True)[0]
    return np.real(found) * np.imag(found)


def double(p, s):
    return s.integrate.dblquad(lambda y, x: np.exp(-p * x * y), 0, p, 0, lambda x: x * p)[0]


def triple(p, s):
    return s.integrate.tplquad(lambda z, y, x: x * y * z + p, 1, 2, 0, 1, 0, lambda x, y: p)[0]


def several(p, s):
    ranges = [[0, p], lambda y: [0, y * p]]
    return s.integrate.nquad(lambda x, y, c: np.sin(c * x) * y, ranges, args=(p,))[0]


def vectors(p, s):
    powers = np.array([0.5, 1.0, 2.0])
    return s.integrate.quad_vec(lambda x: powers**p * np.cos(p * x), 0, p)[0]


def vector_line(p, s):
    return s.integrate.quad_vec(
        lambda x: np.stack([np.exp(-p * x), x * p]) / (1 + x**4), p, np.inf
    )[0]


def fixed_rule(p, s):
    return s.integrate.fixed_quad(lambda x: np.exp(-p * x), 0, p, n=6)[0]


INTEGRALS = [
    closure, arguments, limits, reversed_limits, half_line, other_half_line, line, singular,
    with_points, fixed_jump, weighted, weighted_line, weighted_ends, principal_value,
    complex_values, vectors, vector_line, fixed_rule,
]  # fmt: skip
SLOW_INTEGRALS = [double, triple, several]
JUMPS = [moving_jump, moving_jump_in_the_middle, branch]


# ---- roots ----


def bracketed(name):
    def program(p, s):
        solve = getattr(s.optimize, name)
        return solve(lambda x, c: np.exp(x) * x - c * p, 0, p + 2, args=(p,), xtol=1e-14)

    program.__name__ = name
    return program


def newton(p, s):
    return s.optimize.newton(lambda x: x**3 - p, 1 + p, tol=1e-14)


def halley(p, s):
    return s.optimize.newton(
        lambda x: x**3 - p * x - 1, 2.0, lambda x: 3 * x * x - p, fprime2=lambda x: 6 * x, tol=1e-14
    )


def newton_of_array(p, s):
    c = np.array([0.5, 1.0, 2.0])
    return s.optimize.newton(lambda x: x**3 - c * p, np.ones(3), tol=1e-14)


def scalar_root(p, s):
    return s.optimize.root_scalar(
        lambda x, p: x**3 + p * x - p * p, args=(p,), bracket=[0, 3 + p], xtol=1e-14
    ).root


def scalar_root_with_slope(p, s):
    return s.optimize.root_scalar(
        lambda x: (x**3 + p * x - p * p, 3 * x * x + p), x0=1.0, fprime=True, xtol=1e-14
    ).root


def system(p):
    return lambda x: [x[0] + 0.5 * (x[0] - x[1]) ** 3 - p, 0.5 * (x[1] - x[0]) ** 3 + x[1] * p]


def equations(p, s):
    return s.optimize.fsolve(system(p), [0, 0.0], xtol=1e-12)


def equations_by_root(p, s):
    return s.optimize.root(system(p), np.zeros(2), tol=1e-12).x


def equations_with_jacobian(p, s):
    def jacobian(x):
        return ft.numpy.array([[np.exp(x[0]) * p, 1.0], [1.0, 3.0]])

    def f(x):
        return np.stack([np.exp(x[0]) * p + x[1] - 2, x[0] + 3 * x[1] - p])

    return s.optimize.root(f, np.zeros(2), jac=jacobian, tol=1e-12).x


def root_of_integral(p, s):
    def f(b):
        return s.integrate.quad(lambda x: np.exp(-p * x * x), 0, b)[0] - 0.4

    return s.optimize.brentq(f, 0.1, 1, xtol=1e-14)


ROOTS = [
    *map(bracketed, ("brentq", "brenth", "ridder", "bisect", "toms748")),
    newton, halley, newton_of_array, scalar_root, scalar_root_with_slope, equations,
    equations_by_root, equations_with_jacobian, root_of_integral,
]  # fmt: skip


# ---- random integrals ----

SMOOTH = [
    lambda p, x: np.sin(p * x),
    lambda p, x: np.exp(-p * x * x),
    lambda p, x: p * np.cos(x),
    lambda p, x: 1 / (1 + (x - p) ** 2),
    lambda p, x: np.tanh(x + p) + 0.5,
    lambda p, x: abs(x - 0.25) ** 2.5 * p,
]
ROUGH = [
    lambda p, x: np.abs(x - p),
    lambda p, x: np.maximum(x, p / 2),
    lambda p, x: np.where(x < p / 2, x, p),
    lambda p, x: p if x < 0.4 else p * p,
    lambda p, x: x if x * p < 0.7 else 2 * p,
    lambda p, x: np.floor(2 * x * p),
    lambda p, x: np.sqrt(np.abs(x - p)),
    lambda p, x: np.round(x) * p,
    lambda p, x: np.heaviside(x - p, 0.5) * (x - p),
]
LIMITS = [
    lambda p: (0, 1), lambda p: (p - 1, 2), lambda p: (0.1, p), lambda p: (p, 0.2),
    lambda p: (-p, p * p), lambda p: (0, 1.5), lambda p: (p / 2, 1.1), lambda p: (-1, 1),
]  # fmt: skip


def random_integral(rng):
    """A random product or sum of factors over random limits, and if all of it is smooth."""
    rough = rng.integers(3) == 0
    atoms = [SMOOTH[i] for i in rng.integers(len(SMOOTH), size=2)]
    if rough:
        atoms.append(ROUGH[rng.integers(len(ROUGH))])
    ends, product = LIMITS[rng.integers(len(LIMITS))], rng.integers(2)
    infinite = not rough and rng.integers(4) == 0

    def integrand(x, p):
        values = [atom(p, x) for atom in atoms]
        total = math.prod(values) if product else sum(values)
        return total * np.exp(-x * x) if infinite else total

    def program(p, s):
        a, b = ends(p)
        b = np.inf if infinite else b
        return s.integrate.quad(integrand, a, b, args=(p,), epsabs=1e-11, limit=200)[0]

    return program, not rough
