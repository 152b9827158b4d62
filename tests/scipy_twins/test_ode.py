"""Differential equations under every nesting, in each way, beside closed forms and differences."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.integrate
from programs_of_equations import EQUATIONS, OF_ITS_OWN_LENGTH, by, closure, ends, stopping, times
from programs_of_functions import NESTINGS, verdict

import functier as ft
import functier.scipy.integrate as fi
import functier.scipy.linalg as fl
from faults.planted import scipy as faulty
from support.basics import close, equal, raises
from support.turns import few

pytestmark = pytest.mark.filterwarnings("ignore:.*own steps:functier.FallbackWarning")

METHODS = "RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA"
EXPLICIT = METHODS[:3]
QUICK = {
    (closure, "grad of grad", "adjoint"), (closure, "vmap of jvp of grad", "forward"),
    (closure, "jvp of vmap", "steps"), (ends, "grad", "adjoint"), (times, "grad of jvp", "forward"),
    (closure, "grad of vmap", "adjoint"), (stopping, "vmap of grad", "forward"),
}  # fmt: skip
FIRST = "jvp", "grad"


IN_ALL = closure, stopping
WITHOUT_STEPS = {"columns", "with_jacobian", "by_odeint", "odeint_times"}


def calls():
    """The triples of a program, a nesting and a way; few are for the quick suite.

    Two programs run in all ways under each nesting, the others in one of them, but for the
    nesting that takes longest. One of three of those is for the slow suite, the rest for the full.
    """
    for i, program in enumerate(EQUATIONS + OF_ITS_OWN_LENGTH):
        for j, nesting in enumerate(NESTINGS):
            if program in OF_ITS_OWN_LENGTH and "vmap" in nesting:
                continue
            if program not in IN_ALL and nesting == "vmap of jvp of grad":
                continue
            ways = ["forward", "steps", "adjoint"]
            if "grad" not in nesting:
                ways.remove("adjoint")
            if program.__name__ in WITHOUT_STEPS:
                ways.remove("steps")
            first = nesting == FIRST[i % 2]
            chosen = ways if program in IN_ALL else [ways[0 if first else (i + j) % len(ways)]]
            for way in chosen + [w for p, n, w in QUICK if (p, n) == (program, nesting)]:
                quick = (program, nesting, way) in QUICK or (first and way == "forward")
                slow = program in IN_ALL or (i + j) % 3 == 0
                marks = [] if quick else [pytest.mark.slow if slow else pytest.mark.long]
                yield program, nesting, way, marks


def parameters():
    found = {triple[:3]: triple[3] for triple in calls()}
    return [pytest.param(*triple, marks=marks) for triple, marks in found.items()]


@pytest.mark.share(3)
@pytest.mark.parametrize("program, nesting, way", parameters())
def test_equations_are_right(program, nesting, way):
    tolerance = 2e-4 if program.__name__ == "late" else 3e-6
    assert verdict(by(way, program), nesting, 1.1, tolerance) == "right"


# ---- closed forms, and tolerances ----


def linear(a, y0, **options):
    found = fi.solve_ivp(lambda t, y: a @ y, (0.0, 1.5), y0, t_eval=[1.5], **options)
    return found.y[:, 0]


A, Y0 = np.array([[-0.5, 1.0], [-2.0, 0.1]]), np.array([1.0, 0.3])


def tolerances():
    """Methods with two tolerances; the finer one is for the slow suite, but for one."""
    for method in METHODS:
        yield method, 1e-4
        if method != "RK23":
            marks = [] if method == "RK45" else pytest.mark.slow
            yield pytest.param(method, 1e-7, marks=marks)


@pytest.mark.parametrize("way", ["forward", "adjoint"])
@pytest.mark.parametrize("method, rtol", list(tolerances()))
def test_a_linear_system_within_its_tolerance(method, rtol, way):
    expected = ft.jacrev(lambda a, y: fl.expm(1.5 * a) @ y, argnums=(0, 1))(A, Y0)
    options = {"method": method, "rtol": rtol, "atol": rtol / 100, "derivative": way}
    found = ft.jacrev(lambda a, y: linear(a, y, **options), argnums=(0, 1))(A, Y0)
    for x, y in zip(found, expected):
        close(x, y, 50 * rtol)


def logistic(r, k, y0, **options):
    fun = lambda t, y: r * y * (1 - y / k)  # noqa: E731
    found = fi.solve_ivp(fun, (0, 2.0), y0, t_eval=[1.0, 2.0], **options)
    return found.y[0]


@pytest.mark.parametrize("way", few(["forward", "adjoint", "steps"], 3))
def test_second_order_of_the_logistic_equation(way):
    def closed(x):
        t = np.array([1.0, 2.0])
        return np.sum(x[1] / (1 + (x[1] / x[2] - 1) * np.exp(-x[0] * t)))

    def f(x):
        options = {"method": "DOP853", "rtol": 1e-7, "atol": 1e-9, "derivative": way}
        return np.sum(logistic(x[0], x[1], x[2:], **options))

    x = np.array([1.2, 3.0, 0.4])
    close(ft.grad(f)(x), ft.grad(closed)(x), 1e-6)
    close(ft.jacfwd(ft.grad(f))(x), ft.hessian(closed)(x), 1e-5)


def test_an_equilibrium_has_right_derivatives_unless_by_the_steps_of_the_value():
    """The value is constant, so its own steps are too long for the derivative."""

    def f(y0, way):
        found = fi.solve_ivp(lambda t, y: -5 * (y - 1), (0, 9), [y0], t_eval=[9], derivative=way)
        return found.y[0, 0]

    for way in None, "forward", "adjoint":
        close(ft.grad(f)(1.0, way), np.float64(0.0), 1e-5)
    assert abs(ft.grad(f)(1.0, "steps")) > 1e3


@pytest.mark.parametrize("method", EXPLICIT)
def test_steps_are_those_of_the_value(method):
    """The derivative is that of SciPy's own steps, which are fixed."""
    seen = []

    class Watched(getattr(scipy.integrate, method)):
        def step(self):
            result = super().step()
            seen.append(self.t)
            return result

    def f(p):
        return fi.solve_ivp(
            lambda t, y: [p * y[1], -y[0] * t], (0, 3), [1.0, p], Watched, derivative="steps"
        ).y[0, -1]

    ft.jvp(f, (1.3,), (1.0,))
    n = len(seen) // 2
    close(np.array(seen[:n]), np.array(seen[n:]), 1e-7)


def test_many_parameters_take_the_adjoint(monkeypatch):
    made = []
    faulty.many_parameters_take_the_adjoint(monkeypatch, made)

    def f(w, way=None):
        found = fi.solve_ivp(
            lambda t, y: np.tanh(np.reshape(w, (-1, 2)) @ y)[:2] + 0 * np.sum(w), (0, 1), Y0,
            t_eval=[1.0], rtol=1e-6, derivative=way,
        )  # fmt: skip
        return np.sum(found.y)

    few, many = np.linspace(0, 1, 6), np.linspace(0, 1, 600)
    ft.grad(f)(few)
    assert not made
    g = ft.grad(f)(many)
    assert made
    close(g, ft.grad(f)(many, "forward"), 1e-4)


# ---- results ----


def test_values_and_reports_are_those_of_scipy():
    ps = np.array([1.0, 1.3])

    def f(p):
        return fi.solve_ivp(lambda t, y: -p * y, (0, 2), [1.0, 2.0], t_eval=[1.0, 2.0])

    expected = [
        scipy.integrate.solve_ivp(lambda t, y, p=p: -p * y, (0, 2), [1.0, 2.0], t_eval=[1.0, 2.0])
        for p in ps
    ]
    seen = []

    def noted(p):
        found = f(p)
        seen.append((type(found), found.message, found.sol, found.t_events))
        return found.y, found.nfev, found.status, found.success

    y, nfev, status, success = ft.vmap(noted)(ps)
    equal(y, np.stack([r.y for r in expected]))
    equal(nfev, np.array([r.nfev for r in expected]))
    assert not status.any() and success.all()
    assert seen == [(type(expected[0]), expected[0].message, None, None)]


JUMPS = {
    "time": lambda t, y, p: [1.0] if t < p else [0.0],
    "where": lambda t, y, p: np.where(t < p, 1.0, 2.0) + 0 * y,
    "state": lambda t, y, p: [p if y[0] < 1 else 3 * p],
}


@pytest.mark.parametrize("way", ["forward", "adjoint"])
def test_a_jump_that_may_move_is_refused(way):
    def solved(slope):
        return lambda p: fi.solve_ivp(
            slope, (0, 2), [0.2], args=(p,), t_eval=[2.0], rtol=1e-7, derivative=way
        ).y[0, 0]

    for slope in JUMPS.values():
        f = solved(slope)
        raises(ft.UnsupportedError, lambda f=f: ft.grad(f)(0.9), "jumps", "terminal event")
    kink = solved(lambda t, y, p: np.maximum(y, p))
    assert abs(ft.grad(kink)(0.9) - np.exp(2 - 7 / 9) * 7 / 9) < 1e-3
    raises(ft.UnsupportedError, lambda: ft.grad(ft.grad(kink))(0.9), "jumps", "maximum")
    fixed = solved(lambda t, y, p: p * y * (1.0 if t < 0.7 else 2.0))
    assert abs(ft.grad(fixed)(0.9) - 0.2 * 3.3 * np.exp(3.3 * 0.9)) < 1e-3


def test_the_remedy_for_a_jump_is_right():
    """Heat until the state reaches p, then cool: both parts have derivatives."""

    def reached(t, y, p):
        return y[0] - p

    reached.terminal = True

    def f(p):
        options = {"args": (p,), "rtol": 1e-9, "atol": 1e-11}
        first = fi.solve_ivp(lambda t, y, p: [2 - y[0]], (0, 9), [0.2], events=reached, **options)
        middle = first.t_events[0][0]
        second = fi.solve_ivp(lambda t, y, p: -y, (middle, 2), first.y_events[0][0], **options)
        return second.y[0, -1]

    def closed(p):
        return p * np.exp(-(2 - np.log(1.8 / (2 - p))))

    close(ft.grad(f)(1.1), ft.grad(closed)(1.1), 1e-6)
    close(ft.grad(ft.grad(f))(1.1), ft.grad(ft.grad(closed))(1.1), 1e-5)


def test_a_jump_is_silently_wrong_without_the_check(monkeypatch):
    faulty.jump_is_silently_wrong_without_the_check(monkeypatch)
    f = lambda p: fi.solve_ivp(JUMPS["where"], (0, 2), [0.2], args=(p,)).y[0, -1]  # noqa: E731
    assert ft.grad(f)(0.9) == 0.0  # it is -1


def test_without_tensors_the_result_is_that_of_scipy():
    results = []

    def f(p):
        results.append(fi.solve_ivp(lambda t, y: -y, (0, 1), [1.0], derivative="adjoint"))
        results.append(fi.odeint(lambda y, t: -y, 1.0, [0, 1]))
        return p

    ft.vmap(ft.grad(f))(np.ones(2))
    fi.solve_ivp(lambda t, y: -y, (0, 1), [1.0], derivative="forward")
    equal(results[0].y, scipy.integrate.solve_ivp(lambda t, y: -y, (0, 1), [1.0]).y)
    equal(results[1], scipy.integrate.odeint(lambda y, t: -y, 1.0, [0, 1]))


def test_the_continuous_solution_has_a_slope():
    def f(t, p):
        found = fi.solve_ivp(lambda t, y: -p * y, (0, 2), [1.0], dense_output=True, rtol=1e-9)
        assert isinstance(found.sol, scipy.integrate.OdeSolution)
        return found.sol(t)[0]

    close(ft.grad(f)(0.7, 1.2), -1.2 * np.exp(-0.84), 1e-6)
    close(ft.grad(ft.grad(f), argnums=1)(0.7, 1.2), (0.84 - 1) * np.exp(-0.84), 1e-6)

    def later(p):
        sol = fi.solve_ivp(lambda t, y: -p * y, (0, 2), [1.0], dense_output=True, rtol=1e-9).sol
        return ft.grad(lambda t: sol(t)[0])(0.7)

    close(ft.grad(later)(1.2), (0.84 - 1) * np.exp(-0.84), 1e-6)
    raises(ft.UnsupportedError, lambda: ft.grad(f)(2.5, 1.2), "outside of its times", "0 to 2")
    raises(
        ft.UnsupportedError,
        lambda: ft.grad(
            lambda p: np.sum(
                ft.vmap(fi.solve_ivp(lambda t, y: -p * y, (0, 2), [1.0], dense_output=True).sol)(
                    np.ones(2)
                )
            )
        )(1.0),
        "sol(ts)",
    )


def test_a_report_of_odeint():
    def f(p):
        y, report = fi.odeint(lambda y, t: -p * y, 1.0, [0.0, 1.0], full_output=True)
        assert report["nfe"][0] > 5 and "success" in report["message"]
        return y[1, 0]

    close(ft.grad(f)(1.2), -np.exp(-1.2), 1e-6)
    raises(ft.UnsupportedError, lambda: ft.vmap(f)(np.ones(2)), "full_output", "2 examples")


def test_a_complex_state():
    def f(p):
        found = fi.solve_ivp(lambda t, y: 1j * p * y, (0, 1), [1 + 0j], t_eval=[1.0], rtol=1e-8)
        return found.y[0, 0]

    close(ft.jvp(f, (0.7,), (1.0,))[1], 1j * np.exp(0.7j), 1e-6)
    raises(ft.UnsupportedError, lambda: ft.grad(lambda p: np.real(f(p)))(0.7), "imaginary", "jvp")


def test_messages():
    def f(p, **options):
        return fi.solve_ivp(lambda t, y: -p * y, (0, 1), [1.0], **options)

    raises(ValueError, lambda: f(1.0, derivative="back"), "'back'", "'adjoint'")
    raises(
        ValueError,
        lambda: ft.grad(lambda p: f(p, method="BDF", derivative="steps").y[0, -1])(1.0),
        "steps", "'BDF'", "'forward'",
    )  # fmt: skip
    raises(
        ft.UnsupportedError,
        lambda: ft.vmap(lambda p: f(p, rtol=1e-9).y[0])(np.array([1.0, 9.0])),
        "t_eval",
    )
    with pytest.warns(ft.FallbackWarning, match="own steps"):
        ft.vmap(lambda p: f(p, t_eval=[1.0]).y)(np.ones(2))
    raises(ValueError, lambda: ft.grad(lambda p: f(p, t_eval=[2.0]).y[0, 0])(1.0), "within")
    raises(TypeError, lambda: ft.grad(lambda p: f(p, args=p).y[0, 0])(1.0), "args")

    def event(p, g):
        found = fi.solve_ivp(lambda t, y: [1.0 + 0 * p], (0, 2), [0.0], events=g)
        return found.t_events[0][0]

    for g in (
        lambda p: lambda t, y: np.sign(y[0] - 1) + 0 * p,
        lambda p: lambda t, y: np.where(y[0] > 1, p * y[0], -1.0),
    ):
        raises(
            ft.UnsupportedError,
            lambda g=g: ft.grad(lambda p: event(p, g(p)))(1.0),
            "event", "stop_gradient",
        )  # fmt: skip


@pytest.mark.parametrize("solve", [
    lambda p: fi.odeint(lambda y, t: -p[0] * y * p[1], [1.0], [0.0, 1.0]),
    lambda p: fi.solve_ivp(lambda t, y: -p[0] * y * p[1], (0, 1), [1.0], t_eval=[1.0]).y,
    lambda p: fi.quad(lambda x: p[1] * np.exp(-p[0] * x), 0, 1)[0],
])  # fmt: skip
def test_states_are_auxiliary_results_of_second_derivatives(solve):
    def f(p):
        found = solve(p)
        return np.sum(found**2), found

    p = np.array([1.0, 0.5])
    for hessian in (ft.hessian(f, has_aux=True), ft.compile(ft.hessian(f, has_aux=True))):
        second, states = hessian(p)
        assert np.array_equal(states, solve(p)) and not isinstance(states, ft.Tensor)
        own = ft.hessian(lambda p: f(p)[0])(p)
        np.testing.assert_allclose(second, own, 1e-4, 1e-6)


# ---- planted faults ----


UNSIGNED = SimpleNamespace(**{**vars(np), "sign": np.ones_like})


@pytest.mark.parametrize("fault", faulty.FAULTS, ids=lambda f: f[0])
def test_planted_faults_are_found(fault, monkeypatch):
    _, plant, program, nesting, way = fault
    plant(monkeypatch)
    faulty.faults_in_ode(monkeypatch)
    with warnings.catch_warnings(action="ignore"):
        assert verdict(by(way, program), nesting, 1.1, 3e-6) == "wrong"
