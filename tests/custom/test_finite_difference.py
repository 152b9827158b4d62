"""finite_difference: derivatives of black boxes, their error estimates, and every nesting."""

import math
import pickle

import numpy as np
import pytest
from scipy import integrate, optimize, special

import functier as ft
import functier.numpy as fnp
from support.basics import HAS_PROGRAMS, close, has_all, message, raises

X = np.array([0.5, 1.5, -0.4])


def noise(x, size):
    """Noise that is the same each time, between -size and size."""
    z = math.sin(1e9 * x + 0.3) * 43758.5453
    return size * (2 * (z - math.floor(z)) - 1)


def root(c):
    """The root of ``y**3 + y = c``, with an error that is a noise."""
    return optimize.brentq(lambda y: y**3 + y - c, -10, 10, xtol=1e-13)


def by_quad(x):
    return integrate.quad(lambda t: math.exp(-t * t), 0, x)[0]


def by_steps(x):
    """The solution of ``y' = -x y`` at 1, by steps of a chosen size."""
    return integrate.solve_ivp(lambda t, y: -x * y, (0, 1), [1.0], rtol=1e-11, atol=1e-12).y[0, -1]


def bell(x):
    return math.exp(-x * x)


def of_root(c):
    y = optimize.brentq(lambda y: y**3 + y - c, -10, 10, xtol=1e-14)
    return 1 / (3 * y * y + 1)


SMOOTH = {  # the function, its derivative, and the point
    "sin": (math.sin, math.cos, 0.7),
    "sin at 2": (math.sin, math.cos, 2.0),
    "sin of a large number": (math.sin, math.cos, 1e6),
    "fast sin": (lambda x: math.sin(50 * x), lambda x: 50 * math.cos(50 * x), 1.0),
    "periods that are powers of two": (
        lambda x: math.sin(64 * math.pi * x) + x, lambda x: 64 * math.pi + 1, 0.0,
    ),
    "exp": (math.exp, math.exp, 1.3),
    "exp near zero": (math.exp, math.exp, 1e-10),
    "exp at a zero by rounding": (math.exp, math.exp, 1e-17),
    "cos at its maximum": (math.cos, lambda x: 0.0, 0.0),
    "log": (math.log, lambda x: 1 / x, 2.0),
    "log near its pole": (math.log, lambda x: 1 / x, 0.05),
    "log of a small number": (math.log, lambda x: 1 / x, 1e-8),
    "1/x": (lambda x: 1 / x, lambda x: -1 / x**2, 0.01),
    "square at its minimum": (lambda x: x * x, lambda x: 0.0, 0.0),
    "square on a large constant": (lambda x: 1e8 + x * x, lambda x: 2 * x, 3.0),
    "tenth power": (lambda x: x**10, lambda x: 10 * x**9, 1.1),
    "cube of a large number": (lambda x: x**3, lambda x: 3 * x * x, 1e5),
    "polynomial": (lambda x: x**5 - 3 * x**2 + 1, lambda x: 5 * x**4 - 6 * x, -2.0),
    "x to the x": (lambda x: x**x, lambda x: x**x * (1 + math.log(x)), 0.5),
    "line": (lambda x: 3 * x + 1, lambda x: 3.0, 1e-3),
    "constant": (lambda x: 3.0, lambda x: 0.0, 2.0),
    "sqrt": (math.sqrt, lambda x: 0.5 / math.sqrt(x), 1e-4),
    "sqrt that ends near": (lambda x: math.sqrt(1 - x), lambda x: -0.5 / math.sqrt(1 - x), 0.99),
    "steep tanh": (lambda x: math.tanh(20 * x), lambda x: 20 / math.cosh(20 * x) ** 2, 0.03),
    "narrow bell": (
        lambda x: math.exp(-50 * x * x), lambda x: -100 * x * math.exp(-50 * x * x), 0.2,
    ),
    "resonance": (lambda x: 1 / (1e-4 + x * x), lambda x: -2 * x / (1e-4 + x * x) ** 2, 0.013),
    "chirp": (lambda x: math.sin(1 / x), lambda x: -math.cos(1 / x) / x**2, 0.02),
    "logistic": (
        lambda x: 1 / (1 + math.exp(-30 * x)),
        lambda x: 30 * math.exp(-30 * x) / (1 + math.exp(-30 * x)) ** 2, -0.2,
    ),
    "softplus": (
        lambda x: math.log(math.exp(100 * x) + math.exp(3)),
        lambda x: 100 / (1 + math.exp(3 - 100 * x)), 0.031,
    ),
    "atan": (math.atan, lambda x: 1 / (1 + x * x), -4.0),
    "gamma": (math.gamma, lambda x: math.gamma(x) * special.digamma(x), 3.3),
    "erf": (math.erf, lambda x: 2 / math.sqrt(math.pi) * bell(x), 0.3),
    "bessel": (special.j0, lambda x: -special.j1(x), 5.1),
    "cancellation": (lambda x: (1 - math.cos(x)) / x**2, lambda x: -x / 12 + x**3 / 180, 0.01),
    "sinc": (lambda x: math.sin(x) / x, lambda x: -x / 3 + x**3 / 30, 1e-3),
    "a tiny unit": (
        lambda x: 1 / math.expm1(1.6e-22 * x), lambda x: -0.4e-22 / math.sinh(0.8e-22 * x) ** 2,
        1e22,
    ),
    "kink near": (lambda x: abs(x - 0.01), lambda x: -1.0, 0.0),
    "curvature that jumps near": (lambda x: max(x, 0.0) ** 2, lambda x: 2 * x, 0.004),
    "jump near": (lambda x: x + (x > 1.003), lambda x: 1.0, 1.0),
    "jump very near": (lambda x: x + 0.3 * (x > 1 + 1e-5), lambda x: 1.0, 1.0),
    "root": (root, of_root, 2.0),
    "root of a large number": (root, of_root, 300.0),
    "quad": (by_quad, bell, 0.8),
    "differential equation": (by_steps, lambda x: -math.exp(-x), 0.8),
    "noise of 1e-12": (lambda x: math.sin(x) + noise(x, 1e-12), math.cos, 0.7),
    "noise of 1e-9": (lambda x: x**3 + noise(x, 1e-9), lambda x: 3 * x * x, 3.7),
    "noise of 1e-7": (lambda x: math.sin(x) + noise(x, 1e-7), math.cos, 0.9),
    "noise of 1e-6": (lambda x: x**3 + noise(x, 1e-6), lambda x: 3 * x * x, 3.1),
    "eight digits": (lambda x: round(math.exp(x), 8), math.exp, 0.3),
    "seven digits": (lambda x: round(math.exp(x), 7), math.exp, 0.35),
}  # fmt: skip

FLAGGED = {  # the function, the point, and what the message says
    "noise of 1e-3": (lambda x: math.sin(x) + noise(x, 1e-3), 0.7, "is noisy there"),
    "noise of 1e-2": (lambda x: math.sin(x) + noise(x, 1e-2), 0.9, "is noisy there"),
    "three digits": (lambda x: round(math.exp(x), 3), 0.3, "is noisy there"),
    "four digits": (lambda x: round(math.exp(x), 4), 0.31, "is noisy there"),
    "jump": (lambda x: float(x > 0), 0.0, "jumps there"),
    "jump on a slope": (lambda x: x + 0.3 * (x > 1), 1.0, "jumps there"),
    "jump to the right": (lambda x: x + 0.3 * (x >= 1), 1.0, "jumps there"),
    "floor": (lambda x: float(math.floor(x)), 2.0, "jumps there"),
    "kink": (abs, 0.0, "has a kink there"),
    "kink on a slope": (lambda x: 10 * x + max(x, 0.0), 0.0, "has a kink there"),
    "end of the domain": (math.sqrt, 0.0, "has no finite values on both sides"),
    "nowhere finite": (lambda x: math.inf, 1.0, "has no finite values on both sides"),
}


def far_off(table):
    """The names of the rows whose true error is more than ten times its estimate."""
    found = []
    for name, (f, derivative, x) in table.items():
        estimate = ft.finite_difference(f).estimate((x,), (1.0,))
        exact = derivative(x)
        if abs(estimate.tangent - exact) > 10 * estimate.error + 1e-14 * abs(exact):
            found.append(name)
    return found


# ---- the estimates of errors ----


def test_the_true_error_is_within_ten_times_its_estimate():
    assert len(SMOOTH) == 50
    assert len(far_off(SMOOTH)) <= 2, far_off(SMOOTH)


def test_a_wrong_derivative_is_far_off():
    wrong = {n: (f, lambda x, d=d: 1.001 * d(x), x) for n, (f, d, x) in SMOOTH.items()}
    assert len(far_off(wrong)) > 40


@pytest.mark.parametrize("name", SMOOTH)
def test_smooth_functions_have_a_derivative(name):
    f, derivative, x = SMOOTH[name]
    found = ft.grad(ft.finite_difference(f))(x)
    assert abs(found - derivative(x)) < 2e-3 * max(1e-3, abs(derivative(x)))


def test_derivatives_of_random_points_are_within_their_estimates():
    rng = np.random.default_rng(0)
    names = "exp", "log", "gamma", "tenth power", "noise of 1e-12", "noise of 1e-6", "root"
    far = []
    for name in names:
        f, derivative, x = SMOOTH[name]
        for _ in range(30):
            y = x * rng.uniform(0.9, 1.1)
            found = ft.finite_difference(f).estimate((y,), (1.0,))
            if abs(found.tangent - derivative(y)) > 10 * found.error:
                far.append(name)
    assert len(far) <= 0.05 * 30 * len(names), far


@pytest.mark.parametrize("name", FLAGGED)
def test_noise_and_jumps_are_refused_by_name(name):
    f, x, words = FLAGGED[name]
    g = ft.finite_difference(f)
    for call in (lambda: ft.grad(g)(x), lambda: ft.jvp(g, (x,), (1.0,)),
                 lambda: ft.vmap(ft.grad(g))(np.array([x]))):  # fmt: skip
        with pytest.raises(FloatingPointError) as caught:
            call()
        has_all(str(caught.value), f"finite_difference({g.__name__}): the differences ", words)


def test_the_message_names_the_argument_and_a_tolerance_that_works():
    def simulate(params, factor):
        return {"cost": factor * np.sum(np.sin(params["w"])) + noise(params["w"][1], 2e-3)}

    g = ft.finite_difference(simulate)
    w = np.array([0.3, 0.8])
    with pytest.raises(FloatingPointError) as caught:
        ft.grad(lambda p: g(p, 2.0)["cost"])({"w": w})
    text = message(caught)
    has_all(
        text,
        "finite_difference(simulate) | with respect to element 1 of args[0]['w'] | is noisy there",
    )
    rtol = float(text.partition("pass rtol=")[2].split()[0])
    g = ft.finite_difference(simulate, rtol=rtol)
    slopes = ft.grad(lambda p: g(p, 2.0)["cost"])({"w": w})["w"]
    np.testing.assert_allclose(slopes, 2 * np.cos(w), atol=0.2)


def test_calls_are_counted():
    calls = []
    g = ft.finite_difference(lambda x: calls.append(x) or math.exp(x))
    found = g.estimate((1.0,), (1.0,))
    assert found.calls == len(calls) == 9
    assert found.output == math.exp(1.0)
    del calls[:]
    ft.grad(g)(1.0)
    assert len(calls) == 10  # one is the result
    assert ft.finite_difference(lambda x: noise(x, 1e-2)).estimate((0.7,), (1.0,)).calls <= 73


def test_a_step_that_is_given_is_the_largest():
    seen = []
    g = ft.finite_difference(lambda x: seen.append(x[0]) or np.exp(x), step=1e-3)
    close(ft.jvp(g, (np.ones(1),), (np.full(1, 5.0),))[1], np.full(1, 5 * math.e), 1e-9)
    assert math.isclose(max(np.abs(np.array(seen) - 1)), 1e-3, rel_tol=1e-9)


# ---- transforms ----


def plain(p, x):
    return {"y": np.tanh(p["w"] @ x), "n": np.sum(x**2 * p["c"]), "k": 3}


def opaque(p, x):
    """The same where only plain arrays are taken."""
    assert type(x) is np.ndarray and type(p["w"]) is np.ndarray
    return plain(p, x)


P = {"w": np.array([[0.1, -0.2, 0.3], [0.5, 0.4, -0.6]]), "c": 0.5, "label": "text", "n": 2}
TREE = {"w": P["w"], "c": P["c"]}
BOX = ft.finite_difference(opaque)


def loss(f):
    def total(p, x):
        out = f(P | p, x)
        return np.sum(np.sin(out["y"])) * out["n"]

    return total


ROWS = np.stack([X, 2 * X, X[::-1]])
NESTINGS = {
    "grad": lambda f: ft.grad(f, argnums=(0, 1))(TREE, X),
    "grad of one argument": lambda f: ft.grad(f)(TREE, X),
    "jvp": lambda f: ft.jvp(f, (TREE, X), (TREE, X[::-1])),
    "jacfwd": lambda f: ft.jacfwd(f, argnums=1)(TREE, X),
    "vmap": lambda f: ft.vmap(f, (None, 0))(TREE, ROWS),
    "vmap grad": lambda f: ft.vmap(ft.grad(f, argnums=1), (None, 0))(TREE, ROWS),
    "grad vmap": lambda f: ft.grad(lambda p: np.sum(ft.vmap(f, (None, 0))(p, ROWS)))(TREE),
    "vmap vmap": lambda f: ft.vmap(ft.vmap(f, (None, 0)), (None, 0))(TREE, np.stack([ROWS] * 2)),
    "hessian": lambda f: ft.hessian(f, argnums=1)(TREE, X),
    "grad grad": lambda f: ft.grad(lambda x: np.sum(ft.grad(f, argnums=1)(TREE, x) ** 2))(X),
    "jvp jvp": lambda f: ft.jvp(lambda x: ft.jvp(lambda x: f(TREE, x), (x,), (X,)), (X,), (X,)),
    "vmap hessian": lambda f: ft.vmap(ft.hessian(f, argnums=1), (None, 0))(TREE, ROWS),
    "hvp": lambda f: ft.hvp(lambda x: f(TREE, x), (X,), (X[::-1],)),
    "checkpoint": lambda f: ft.grad(ft.checkpoint(f))(TREE, X),
    "jet": lambda f: ft.jet(lambda x: f(TREE, x), (X,), ((X, X * 0),)),
}


@pytest.mark.parametrize("name", NESTINGS)
def test_transforms_agree_with_those_of_the_code(name):
    found, expected = NESTINGS[name](loss(BOX)), NESTINGS[name](loss(plain))
    digits = 1e-6 if name in ("jvp jvp", "jet") or "hessian" in name else 1e-7
    for a, b in zip(ft.ravel_pytree(found), ft.ravel_pytree(expected)):
        if not callable(a):
            np.testing.assert_allclose(a, b, rtol=digits, atol=digits)


def test_third_derivatives():
    psi = [special.polygamma(n, 4.0) for n in range(3)]
    exact = math.gamma(4.0) * (psi[0] ** 3 + 3 * psi[0] * psi[1] + psi[2])
    found = ft.grad(ft.grad(ft.grad(ft.finite_difference(math.gamma))))(4.0)
    assert abs(found / exact - 1) < 1e-4


def test_complex_numbers_and_single_precision():
    g = ft.finite_difference(lambda z: z**2 + np.conj(z))
    close(ft.grad(lambda z: np.abs(g(z)))(1 + 2j), ft.grad(lambda z: np.abs(z**2 + np.conj(z)))
          (1 + 2j), 1e-9)  # fmt: skip
    found = ft.grad(ft.finite_difference(lambda x: np.sum(np.exp(x))))(X.astype(np.float32))
    close(found, np.exp(X.astype(np.float32)), 1e-3)


def test_constants_methods_and_pickles():
    class Model:
        @ft.finite_difference
        def cost(self, x, n=2):
            return x**n

    close(ft.grad(Model().cost)(2.0), np.float64(4.0), 1e-9)
    close(ft.grad(lambda x: Model().cost(x, n=3))(2.0), np.float64(12.0), 1e-9)
    again = pickle.loads(pickle.dumps(ft.finite_difference(math.gamma, step=0.1)))
    close(ft.grad(again)(4.0), np.float64(6.0 * special.digamma(4.0)), 1e-9)
    assert again.step == 0.1
    assert ft.vmap(BOX, (None, 0))(P, np.zeros((0, 3)))["y"].shape == (0, 2)


@HAS_PROGRAMS
def test_a_compiled_program_calls_the_function_as_one_step():
    gradient = ft.grad(loss(BOX), argnums=1)
    for f, x in ((gradient, X), (ft.vmap(gradient, (None, 0)), ROWS)):
        compiled = ft.compile(lambda x, f=f: f(TREE, x))
        for y in (x, x + 0.1, x - 0.2):
            np.testing.assert_array_equal(compiled(y), f(TREE, y))
        has_all(str(compiled.explain()), "finite_difference(opaque)", "the function opaque")
        assert len(compiled.programs) == 1


def test_a_function_may_fill_the_same_array_again():
    buffer = np.zeros(2)

    def f(x):
        buffer[:] = np.sin(x), np.cos(x)
        return buffer

    g = ft.finite_difference(f)
    xs = np.array([0.5, 1.0, 1.5])
    close(ft.vmap(g)(xs), np.stack([np.sin(xs), np.cos(xs)], 1))
    value, slope = ft.value_and_grad(lambda x: np.sum(g(x) * np.array([2.0, 3.0])))(0.5)
    close(value, 2 * np.sin(0.5) + 3 * np.cos(0.5))
    close(slope, 2 * np.cos(0.5) - 3 * np.sin(0.5), 1e-9)
    close(ft.grad(lambda x: np.prod(g(x)))(0.5), np.cos(1.0), 1e-9)


# ---- what is refused ----


def test_recorded_derivatives_are_refused_by_name():
    with pytest.raises(ft.NoRuleError, match=r"finite_difference\(opaque\) takes plain arrays"):
        ft.linearize(lambda x: BOX(P, x)["n"], X)


def test_tensors_that_a_function_closes_over_are_refused():
    def f(y):
        return ft.finite_difference(lambda x: math.sin(x) * y)(y)

    raises(ft.LevelError, lambda: ft.grad(f)(1.0), "it closes over the tensor")


def test_the_function_runs_outside_of_levels():
    def f(x):
        made = fnp.zeros(2)
        assert type(made) is np.ndarray  # which compiled code takes
        made[:] = x[:2] ** 2
        return made

    g = ft.finite_difference(f)
    np.testing.assert_allclose(ft.grad(lambda x: np.sum(g(x)))(X)[:2], 2 * X[:2], rtol=1e-7)
    np.testing.assert_allclose(ft.vmap(ft.jacrev(g))(X[None])[0, :, :2], 2 * np.diag(X[:2]))


def test_results_of_other_shapes_near_the_point_are_refused():
    g = ft.finite_difference(lambda x: x[: 2 + (x[0] > 0.5)])
    raises(TypeError, lambda: ft.jacfwd(g)(X), "near the point the results have different shapes")


def test_a_function_that_changes_its_argument_is_refused():
    def f(x):
        x[0] = 1.0
        return np.sum(x)

    with pytest.raises(ft.MutationError, match=r"finite_difference\(f\)"):
        ft.grad(ft.finite_difference(f))(X)


def test_options_are_checked():
    for options, words in (({"rtol": 0}, "rtol=0 is not a positive number"),
                           ({"step": -1.0}, "step=-1.0 is not a positive number")):  # fmt: skip
        with pytest.raises(ValueError, match=words):
            ft.finite_difference(math.exp, **options)
    raises(TypeError, lambda: ft.finite_difference(3), "is a int, not a function")
    with pytest.raises(TypeError, match="estimate: the tangents are"):
        ft.finite_difference(np.sum).estimate((X,), (1.0,))
