"""Minima with bounds and constraints, linear programs, searches, and solvers of many equations."""

import warnings

import numpy as np
import pytest
import scipy.optimize
from programs_of_functions import calls, verdict

import functier as ft
import functier.scipy.optimize as fo
from faults.planted import scipy as faulty
from support.basics import raises

TIMES = np.linspace(0, 1, 7)
TIGHT = {"xtol": 1e-15, "ftol": 1e-15, "gtol": 1e-15}
MATRIX = np.array([[1.0, 2, 0.5], [0.3, 1, 2], [2, 1, 1], [1, 0, 1]])


def valley(p):
    return lambda x: (x[0] - p) ** 2 * p + (x[1] - x[0] * p) ** 2 + np.cosh(x[1])


def distance(p):
    return lambda x: (x[0] - p) ** 2 * p + (x[1] - 2 * p) ** 2


# ---- bounds ----


def bounded(p, s):
    bounds = [(0, 0.5), (None, None)]
    return s.optimize.minimize(valley(p), np.array([0.3, 0.2]), bounds=bounds, tol=1e-13).x


def bound_that_moves(p, s):
    bounds = [(0, p / 2), (None, 3.0)]
    return s.optimize.minimize(valley(p), np.array([0.3, 0.2]), bounds=bounds, tol=1e-13).fun


def residuals(p):
    return lambda x: np.stack([x[0] - p, x[1] * p - x[0], x[0] * x[1] - 1.0])


def bounded_least_squares(p, s):
    made = s.optimize.least_squares(residuals(p), [0.3, 0.2], bounds=([0, 0], [0.5, 3]), **TIGHT)
    return np.stack([made.x[0], made.x[1], made.cost])


def bounded_fit(p, s):
    y = p * np.exp(-p * TIMES) + 0.05 * TIMES**2
    return s.optimize.curve_fit(
        lambda t, a, b: a * np.exp(-b * t), TIMES, y, [0.5, 0.6], bounds=([0, 0], [0.8, 9]), **TIGHT
    )[0]


def by_gradient(p, s):
    """An older function, whose function returns the gradient, too."""

    def f(x):
        return np.sum((x - p) ** 2), 2 * (x - p)

    bounds = [(-2, p / 2), (-2, 2)]
    x, least, _ = s.optimize.fmin_l_bfgs_b(f, np.zeros(2), bounds=bounds, pgtol=1e-10)
    return np.stack([x[0], x[1], least])


# ---- constraints ----


def unequal(p, s):
    given = {"type": "ineq", "fun": lambda x: 1 - x[0] - x[1] * p}
    start = np.array([0.3, 0.2])
    return s.optimize.minimize(distance(p), start, constraints=given, tol=1e-13).x


def equal(p, s):
    given = [
        {"type": "eq", "fun": lambda x, c: 1 - x[0] - x[1] * c, "args": (p,)},
        {"type": "ineq", "fun": lambda x: 5 - x[0]},
    ]
    bounds = [(0, None), (None, 0.6)]
    return s.optimize.minimize(
        distance(p), np.array([0.3, 0.2]), bounds=bounds, constraints=given, tol=1e-13
    ).fun


def curved(p, s):
    given = scipy.optimize.NonlinearConstraint(
        lambda x: np.stack([x[0] ** 2 + x[1] ** 2 * p, x[0]]), [-np.inf, -9], [1.0, 9]
    )
    return s.optimize.minimize(distance(p), [0.3, 0.2], constraints=given, tol=1e-13).x


def straight(p, s):
    given = scipy.optimize.LinearConstraint(np.array([[1.0, 1]]), 0.2, 1.0)
    return s.optimize.minimize(distance(p), [0.3, 0.2], constraints=given, tol=1e-13).x


# ---- linear problems ----


def least_squares_from_zero(p, s):
    x, rest = s.optimize.nnls(MATRIX * p, np.stack([p, p * p, -p, 1 + 0 * p]))
    return np.stack([*x, rest])


def least_squares_between(p, s):
    b = np.stack([p, p * p, -p, 1 + 0 * p])
    made = s.optimize.lsq_linear(MATRIX * p, b, bounds=(-0.2 * p, 0.5), tol=1e-14)
    return np.stack([*made.x, made.cost, made.fun[0]])


def program(p, s):
    a = np.stack([np.stack([p, 1 + 0 * p]), np.stack([2 + 0 * p, p])])
    b = np.stack([4 + p, 5 + 0 * p])
    made = s.optimize.linprog(-np.stack([p, 2 * p]), a, b, bounds=[(0, None), (0, 10)])
    return np.stack([*made.x, made.fun, made.slack[0]])


def program_of_equations(p, s):
    made = s.optimize.linprog(
        np.stack([p, 1 + 0 * p, 2 + 0 * p]), A_eq=np.ones((1, 3)), b_eq=np.stack([p]),
        bounds=[(0.1, None), (0, p / 4), (0, None)],
    )  # fmt: skip
    return made.fun


def value_of_many(p, s):
    """All points of an edge are solutions, and have one value."""
    made = s.optimize.linprog(np.stack([p, p]), np.array([[-1.0, -1]]), np.array([-1.0]))
    return made.fun


# ---- searches, many equations ----


def soft(p):
    return lambda x: np.stack([x[0] - 0.3 * np.cos(x[1]) * p, x[1] - 0.2 * np.sin(x[0]) - 0.1 * p])


def equations_by(name):
    def found(p, s):
        return getattr(s.optimize, name)(soft(p), np.zeros(2), f_tol=1e-12)

    found.__name__ = name
    return found


def root_by(method):
    def found(p, s):
        return s.optimize.root(soft(p), np.zeros(2), method=method, tol=1e-12).x

    found.__name__ = f"root {method}"
    return found


def search(name, *args, **options):
    def found(p, s):
        def f(x):
            return np.sum((x - p) ** 2) * p + 0.1 * np.sum(x**4)

        return getattr(s.optimize, name)(f, *args, **options).x

    found.__name__ = name
    return found


BOX = [(-2, 0.5), (-2, 2)]
CONDITIONS = [
    bounded, bound_that_moves, bounded_least_squares, bounded_fit, by_gradient, unequal, equal,
    curved, straight,
]  # fmt: skip
LINEAR = [
    least_squares_from_zero, least_squares_between, program, program_of_equations, value_of_many,
]  # fmt: skip
OTHERS = [
    *map(equations_by, ("newton_krylov", "broyden1", "broyden2", "anderson", "diagbroyden")),
    *map(root_by, ("hybr", "lm", "broyden1", "anderson", "krylov", "df-sane")),
    search("shgo", BOX), search("basinhopping", np.zeros(2), niter=1, rng=1),
    search("dual_annealing", BOX, rng=1, maxiter=5),
]  # fmt: skip
SLOW = {"bounded_fit", "equal", "curved", "straight"}


def quick_or_slow():
    for case in calls([*CONDITIONS, *LINEAR, *OTHERS], []):
        found, nesting = case.values
        kept = found not in OTHERS[1:] and not (found.__name__ in SLOW and nesting == "grad")
        yield case if kept else pytest.param(*case.values, marks=pytest.mark.slow)


def judge(found, nesting):
    exact = nesting in ("value under jvp", "vmap")
    tolerance = 2e-6 if found in LINEAR else 5e-4
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of SciPy, about steps and functions that are linear
        return verdict(found, nesting, 1.1, 1e-13 if exact else tolerance, careful=True)


@pytest.mark.parametrize("found, nesting", list(quick_or_slow()))
def test_conditions(found, nesting):
    """The place of a minimum is known to half of the digits, so some differences say nothing."""
    assert judge(found, nesting) in ("right", "unsure")


def test_most_are_right():
    found = [judge(f, "grad") for f in (*CONDITIONS, *LINEAR)]

    assert found.count("right") >= len(found) - 2


@pytest.mark.parametrize(
    "fault, found",
    [
        (faulty.conditions_that_are_not_felt, bounded), (faulty.another_vertex, program),
        (faulty.free_unknowns, least_squares_from_zero),
    ],
)  # fmt: skip
def test_faults_are_found(fault, found, monkeypatch):
    fault(monkeypatch)

    assert judge(found, "grad") == "wrong"


# ---- random linear problems ----


def of_draw(rng):
    """A random least squares problem with bounds, or a random linear program, of one number."""
    m, n = 5, int(rng.integers(2, 4))
    a, b, c = rng.random((m, n)), rng.normal(size=m) + 0.5, rng.normal(size=n)
    da, db, dc = (rng.normal(size=np.shape(v)) * 0.3 for v in (a, b, c))
    kind = rng.integers(3)

    def found(p, s):
        if kind == 0:
            return s.optimize.nnls(a + p * da, b + p * db)[0] @ c
        if kind == 1:
            box = 0.0, rng_high
            made = s.optimize.lsq_linear(a + p * da, b + p * db, bounds=box)
            return made.x @ c + made.cost
        made = s.optimize.linprog(c + p * dc, a + p * da, np.abs(b) + p * db, bounds=(-1, 1))
        return made.fun + made.x[0]

    rng_high = rng.uniform(0.1, 0.6)
    return found


def random_counts(count):
    counts = {"right": 0, "wrong": 0, "unsure": 0}
    for seed in range(count):
        found = of_draw(np.random.default_rng(seed))
        slope = ft.grad(lambda p, f=found: f(p, ft.scipy))(0.1)
        steps = [
            (found(0.1 + h, scipy) - found(0.1 - h, scipy)) / (2 * h) for h in (1e-4, 3e-5)
        ]  # fmt: skip
        if not np.isclose(*steps, rtol=1e-3, atol=1e-3):
            counts["unsure"] += 1  # a kink is near
        else:
            right = np.isclose(slope, steps[1], rtol=2e-3, atol=2e-3)
            counts["right" if right else "wrong"] += 1
    return counts


def test_random_linear_problems(request):
    count = 600 if request.config.getoption("--slow") else 80
    counts = random_counts(count)

    assert not counts["wrong"]
    assert counts["unsure"] < count / 10


def test_random_problems_find_a_bound_that_is_missed(monkeypatch):
    faulty.random_problems_find_a_bound_that_is_missed(monkeypatch)
    assert random_counts(80)["wrong"]


def test_functions_of_rosenbrock():
    x, p = np.array([0.5, -0.3, 1.2]), np.array([1.0, 2.0, -1.0])
    for name in ("rosen", "rosen_der", "rosen_hess"):
        expected = getattr(scipy.optimize, name)(x)
        np.testing.assert_allclose(ft.vmap(getattr(fo, name))(np.stack([x]))[0], expected)
    np.testing.assert_allclose(ft.grad(fo.rosen)(x), scipy.optimize.rosen_der(x))
    np.testing.assert_allclose(ft.jacfwd(fo.rosen_der)(x), scipy.optimize.rosen_hess(x))
    np.testing.assert_allclose(
        ft.jvp(fo.rosen_der, (x,), (p,))[1], scipy.optimize.rosen_hess_prod(x, p)
    )
    np.testing.assert_allclose(
        ft.vmap(fo.rosen_hess_prod)(np.stack([x]), np.stack([p]))[0],
        scipy.optimize.rosen_hess_prod(x, p),
    )


def test_what_is_refused():
    def dependent(p):
        return fo.lsq_linear(p * np.ones((3, 2)), np.ones(3)).x[0]

    def whole(p):
        return fo.linprog(np.stack([p]), [[-1.0]], [-1.5], integrality=[1]).fun

    def choice(p):
        given = {"constraints": scipy.optimize.LinearConstraint(np.ones((1, 2)), 0, 1)}
        return fo.differential_evolution(lambda x: np.sum((x - p) ** 2), BOX, rng=1, **given).x[0]

    for call, text in (
        (dependent, "not independent"), (whole, "integrality"), (choice, "constraints"),
    ):  # fmt: skip
        raises(ft.UnsupportedError, lambda call=call: ft.grad(call)(1.0), "scipy.optimize.", text)
