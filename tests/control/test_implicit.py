"""custom_root and custom_linear_solve: derivatives of solutions, which no solver is seen by."""

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse.linalg
from hypothesis import given
from hypothesis import strategies as st

import functier as ft
from support.basics import alike, close, equal, held, no_level_is_left, raises

rng = np.random.default_rng(0)
W, B = rng.normal(size=(3, 3)) * 0.3, rng.normal(size=3)
BS, WS = rng.normal(size=(4, 3)), rng.normal(size=(2, 3, 3)) * 0.3


def newton(f, x):
    for _ in range(40):
        slope = ft.jacfwd(f)(x)
        x = x - (np.linalg.solve(slope, f(x)) if np.ndim(x) else f(x) / slope)
    return x


def dense(g, y):
    return np.linalg.solve(ft.jacfwd(g)(y), y) if np.ndim(y) else y / g(1.0)


def cube_root(a):
    return ft.custom_root(lambda x: x**3 - a, 1.5, newton, dense)


def fixed(w, b):
    """The x with x + tanh(w x) = b."""
    return ft.custom_root(lambda x: x + np.tanh(w @ x) - b, np.zeros(3), newton, dense)


def fixed_by_steps(w, b):
    """The same, differentiated through the steps of Newton's method."""
    return newton(lambda x: x + np.tanh(w @ x) - b, np.zeros(3))


def solved(w, b):
    return ft.custom_linear_solve(lambda x: w @ x + x, b, dense, dense)


def solved_by_numpy(w, b):
    return np.linalg.solve(w + np.eye(3), b)


USES = {
    "value": lambda f: f(W, B),
    "jacrev": lambda f: ft.jacrev(f, (0, 1))(W, B),
    "jacfwd": lambda f: ft.jacfwd(f, (0, 1))(W, B),
    "jvp": lambda f: ft.jvp(f, (W, B), (W, B)),
    "vjp": lambda f: ft.vjp(f, W, B)[1](B),
    "hessian": lambda f: ft.hessian(lambda w, b: np.sum(f(w, b) ** 3), (0, 1))(W, B),
    "jacrev of jacrev": lambda f: ft.jacrev(ft.jacrev(f, (0, 1)), (0, 1))(W, B),
    "jacrev of jacfwd": lambda f: ft.jacrev(ft.jacfwd(f, (0, 1)), (0, 1))(W, B),
    "vmap": lambda f: ft.vmap(f, (None, 0))(W, BS),
    "vmap of jacrev": lambda f: ft.vmap(ft.jacrev(f), (None, 0))(W, BS),
    "jacrev of vmap": lambda f: ft.jacrev(lambda w: ft.vmap(f, (None, 0))(w, BS))(W),
    "hessian of vmap": lambda f: ft.hessian(lambda w: np.sum(ft.vmap(f, (None, 0))(w, BS) ** 2))(W),
    "vmap of vmap": lambda f: ft.vmap(ft.vmap(f, (None, 0)), (0, None))(WS, BS),
    "jacrev of vmap of vmap": lambda f: ft.jacrev(
        lambda s: ft.vmap(ft.vmap(f, (None, 0)), (0, None))(s * WS, BS)
    )(1.0),
    "vmap of jacrev of vmap": lambda f: ft.vmap(
        lambda s: ft.jacrev(lambda w: ft.vmap(f, (None, 0))(s * w, BS))(W)
    )(B),
    "hessian of vmap of jacrev of vmap": lambda f: ft.hessian(
        lambda b: np.sum(
            ft.vmap(lambda s: ft.jacrev(lambda w: ft.vmap(f, (None, 0))(s * w, BS))(W))(b)
        )
    )(B),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_root_has_the_derivatives_of_the_steps_to_it(use):
    alike(use(fixed), use(fixed_by_steps), 1e-9)


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_linear_solution_has_the_derivatives_of_numpys(use):
    alike(use(solved), use(solved_by_numpy), 1e-9)


ORDERS = {
    "jvp": lambda f: lambda a: ft.jvp(f, (a,), (np.ones_like(a),))[1],
    "grad": lambda f: ft.grad(lambda a: np.sum(f(a))),
}


@given(st.lists(st.sampled_from(sorted(ORDERS)), max_size=4), st.booleans(), st.booleans())
def test_every_order_in_every_mix_of_modes(names, batched, inside):
    def derived(f):
        if inside and batched:
            f = ft.vmap(f)
        for name in names:
            f = ORDERS[name](f)
        return f if inside or not batched else ft.vmap(f)

    a = np.array([1.0, 3.0, 5.0]) if batched else np.float64(5.0)
    close(derived(cube_root)(a), derived(np.cbrt)(a), 1e-9)


def test_the_gradient_is_that_of_finite_differences():
    def loss(w):
        return np.sum(np.sin(fixed(w, B)))

    slope, eps = ft.grad(loss)(W), 1e-6
    for i in range(3):
        for j in range(3):
            step = np.zeros((3, 3))
            step[i, j] = eps
            assert abs((loss(W + step) - loss(W - step)) / (2 * eps) - slope[i, j]) < 1e-8


# ---- solvers see plain values, and nothing of them is kept ----


def test_a_solver_may_be_one_that_knows_arrays_only():
    def by_scipy(f, x):
        def plain(v):
            out = f(v)
            assert type(out) is np.ndarray
            return out

        assert type(x) is np.ndarray
        return scipy.optimize.root(plain, x, tol=1e-13).x

    def root(w, b):
        return ft.custom_root(lambda x: x + np.tanh(w @ x) - b, 0 * b, by_scipy, dense)

    for use in ("jacrev", "jacfwd", "hessian", "jacrev of jacrev"):
        alike(USES[use](root), USES[use](fixed_by_steps), 1e-7)


def test_a_tangent_solver_that_knows_arrays_only_takes_directions_one_by_one():
    def cg(g, y):
        assert type(y) is np.ndarray
        matrix = scipy.sparse.linalg.LinearOperator((3, 3), matvec=g, dtype=float)
        return scipy.sparse.linalg.gmres(matrix, y, rtol=1e-13)[0]

    def root(tangent_solve):
        return lambda w, b: ft.custom_root(
            lambda x: x + np.tanh(w @ x) - b, np.zeros(3), newton, tangent_solve
        )

    plain = root(cg)
    for use in ("jvp", "vjp"):
        alike(USES[use](plain), USES[use](fixed), 1e-9)
    one_by_one = root(lambda g, y: ft.sequential_vmap(lambda y: cg(g, y))(y))
    for use in ("jacrev", "jacfwd", "jvp", "vjp"):
        alike(USES[use](one_by_one), USES[use](fixed), 1e-9)


@pytest.mark.parametrize("f", [fixed, solved])
def test_linearize_records_the_linear_solve(f):
    value, push = ft.linearize(f, W, B)
    equal(value, f(W, B))
    for t in (W, W * W):
        close(push(t, B), ft.jvp(f, (W, B), (t, B))[1], 1e-12)


def test_what_a_solver_reads_of_outer_variables_is_plain_too():
    seen = []

    def loss(a):
        def solve(f, x):
            seen.append(type(a * x))
            return newton(f, x)

        return ft.custom_root(lambda x: x**3 - a, 1.5, solve, dense)

    close(ft.grad(ft.grad(loss))(5.0), ft.grad(ft.grad(np.cbrt))(5.0))
    assert set(seen) == {float}


def test_the_steps_of_a_solver_are_not_kept():
    n = 10_000

    def slow(f, x):
        for _ in range(300):
            x = x - 0.1 * f(x)
        return x

    def root(a):
        return ft.custom_root(lambda x: x - np.cos(a), np.zeros(n), slow, lambda g, y: y)

    a = np.linspace(0.0, 1.0, n)
    close(ft.grad(lambda a: np.sum(root(a)))(a), -np.sin(a), 1e-9)
    assert held(lambda: ft.grad(lambda a: np.sum(root(a)))(a))[2] < 20 * a.nbytes


def test_a_pullback_is_called_again_later():
    def many(w):
        return ft.vmap(fixed, (None, 0))(w, BS)

    _, pullback = ft.vjp(many, W)
    expected = ft.vjp(lambda w: ft.vmap(fixed_by_steps, (None, 0))(w, BS), W)[1]
    for g in (BS, BS * BS):
        close(pullback(g)[0], expected(g)[0], 1e-9)
    gs = np.stack([BS, 2 * BS])
    close(ft.vmap(pullback)(gs)[0], ft.vmap(expected)(gs)[0], 1e-9)
    nested = ft.vmap(ft.vmap(pullback))(np.stack([gs, gs]))[0]
    close(nested, ft.vmap(ft.vmap(expected))(np.stack([gs, gs]))[0], 1e-9)


def test_a_pullback_is_linear_in_its_cotangent():
    _, pullback = ft.vjp(fixed, W, B)
    _, expected = ft.vjp(fixed_by_steps, W, B)

    def loss(pull):
        return lambda g: np.sum(pull(g)[0] ** 2) + np.sum(pull(g)[1] ** 3)

    close(ft.grad(loss(pullback))(B), ft.grad(loss(expected))(B), 1e-9)
    close(ft.hessian(loss(pullback))(B), ft.hessian(loss(expected))(B), 1e-9)


# ---- trees, aux, and what does not depend ----


def circle(a, b):
    """The point at which a circle of radius a meets the line y = b x."""
    return ft.custom_root(
        lambda p: {"x": p["x"] ** 2 + p["y"] ** 2 - a * a, "y": p["y"] - b * p["x"]},
        {"x": 1.0, "y": 1.0},
        tree_newton,
        tree_dense,
    )


def flat(f):
    def g(v):
        out = f({"x": v[0], "y": v[1]})
        return np.stack([out["x"], out["y"]])

    return g


def tree_newton(f, guess):
    v = newton(flat(f), np.stack([guess["x"], guess["y"]]))
    return {"x": v[0], "y": v[1]}


def tree_dense(g, y):
    v = dense(flat(g), np.stack([y["x"], y["y"]]))
    return {"x": v[0], "y": v[1]}


def circle_by_hand(a, b):
    x = a / np.sqrt(1 + b * b)
    return {"x": x, "y": b * x}


@pytest.mark.parametrize("transform", [ft.jacrev, ft.jacfwd, ft.hessian])
def test_trees(transform):
    args = np.float64(2.0), np.float64(0.5)
    alike(transform(circle, (0, 1))(*args), transform(circle_by_hand, (0, 1))(*args), 1e-9)


def test_aux_is_passed_out_without_levels():
    steps = []

    def f(a):
        def solve(f, x):
            n = 0
            while abs(f(x)) > 1e-14:
                x, n = x - f(x) / ft.grad(f)(x), n + 1
            return x, {"steps": n, "a": a}

        root, aux = ft.custom_root(lambda x: x**3 - a, 1.5, solve, dense, has_aux=True)
        steps.append(aux["steps"])
        assert type(aux["a"]) in (float, np.float64)
        return root

    close(ft.grad(f)(5.0), ft.grad(np.cbrt)(5.0))
    assert 2 < steps[0] < 20

    def g(s):
        x, aux = ft.custom_linear_solve(
            lambda x: s * x, B, lambda a, b: (dense(a, b), "done"), dense, has_aux=True
        )
        assert aux == "done"
        return np.sum(x)

    close(ft.jvp(g, (2.0,), (1.0,))[1], -np.sum(B) / 4)


def test_a_root_that_depends_on_nothing():
    def f(a):
        return a * ft.custom_root(lambda x: x * x - 2.0, 1.0, newton, dense)

    close(ft.grad(f)(3.0), np.sqrt(2.0))
    close(ft.custom_root(lambda x: x * x - 2.0, 1.0, newton, dense), np.sqrt(2.0))


def test_the_guess_has_no_derivative():
    equal(ft.grad(lambda x: ft.custom_root(lambda y: y**3 - 8.0, x, newton, dense))(1.5), 0.0)


def test_a_symmetric_function_needs_one_solver():
    def f(s):
        return ft.custom_linear_solve(lambda x: s * (A @ x), B, dense, symmetric=True)

    A = W + W.T + 2 * np.eye(3)
    close(ft.jacrev(f)(2.0), -np.linalg.solve(A, B) / 4)


# ---- errors ----


def model(x):
    return x[:2]


def test_errors_name_the_function_and_say_what_to_write():
    def run(f=lambda x: x - B, solve=newton, tangent=dense, **options):
        return lambda: ft.custom_root(f, np.zeros(3), solve, tangent, **options)

    raises(TypeError, run(f=3), "custom_root: func is a int, not a function")
    raises(TypeError, run(solve=None), "custom_root: func is a NoneType")
    raises(TypeError, run(has_aux=True), "custom_root(<lambda>)", "returns (x, aux)")
    shape = "the function has shape (2,)", "(3,) was expected"

    def wrong(a):
        return ft.custom_root(lambda x: (x - a)[:2], B, lambda f, x: x, dense)

    raises(ValueError, lambda: ft.jacrev(wrong)(B), "custom_root(<lambda>)", *shape)

    def wrong_tree(a):
        return ft.custom_root(lambda x: [x - a], B, lambda f, x: x, dense)

    raises(ValueError, lambda: ft.jacfwd(wrong_tree)(B), "the structure", "was expected")

    def bad_tangent(a):
        return ft.custom_root(lambda x: x - a, B, newton, lambda g, y: y[:2])

    raises(ValueError, lambda: ft.jacfwd(bad_tangent)(B), "the solver has shape (2,)", "(3,)")

    def one_way(s):
        return ft.custom_linear_solve(lambda x: s * x, B, dense)

    close(ft.jacfwd(one_way)(2.0), -B / 4)
    raises(
        TypeError, lambda: ft.jacrev(one_way)(2.0),
        "custom_linear_solve(<lambda>)", "transpose_solve", "symmetric=True",
    )  # fmt: skip


def test_a_solver_that_raises_leaves_nothing_behind():
    def solve(f, x):
        raise ArithmeticError("no convergence")

    def root(a):
        return ft.custom_root(lambda x: x - a, 1.0, solve, dense)

    for use in (
        lambda: ft.grad(root)(2.0),
        lambda: ft.jvp(root, (2.0,), (1.0,)),
        lambda: ft.vmap(ft.grad(root))(np.ones(2)),
    ):
        raises(ArithmeticError, use, "no convergence")
        no_level_is_left()
    with ft.grad() as G:
        x = G(2.0)
        raises(ArithmeticError, lambda: root(x))
        assert type(x * x) is G  # the level is on again
