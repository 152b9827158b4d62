"""Equations that explicit methods solve are loops of a compiled function."""

import numpy as np
import pytest

pytest.importorskip("scipy")
pytest.importorskip("llvmlite")

import scipy.integrate as plain

import functier as ft
import functier.numpy as fnp
import functier.scipy.integrate as si
from faults.planted import scipy as faulty

TIMES = np.linspace(0.0, 4.0, 9)


def epidemic(t, y, p):
    s, i, _ = y
    infected, recovered = p[0] * s * i, p[1] * i
    return [-infected, infected - recovered, recovered]


def predators(t, y, p):
    return np.stack([y[0] * (p[0] - y[1]), y[1] * (p[1] * y[0] - 1.0)])


def neuron(t, y, p):
    v, w = y
    return [v - v**3 / 3 - w + p[0], 0.08 * (v + p[1] - 0.8 * w)]


def pendulum(t, y, p):
    return [y[1], -9.81 / p[0] * np.sin(y[0]) - p[1] * y[1]]


def oscillator(t, y, p):
    return np.array([[0.0, 1.0], [-4.0, -0.3]]) @ y * p[0] + p[1] * t


def decay(t, y, p):
    return -p[0] * y * np.exp(-p[1] * t)


EQUATIONS = {
    epidemic: [0.9, 0.1, 0.0], predators: [1.0, 0.5], neuron: [-1.0, 1.0], pendulum: [1.0, 0.0],
    oscillator: [1.0, 0.0], decay: [2.0],
}  # fmt: skip
OPTIONS = (
    {"method": "RK45"}, {"method": "RK45", "rtol": 1e-7, "atol": 1e-9}, {"method": "RK23"},
    {"method": "DOP853", "rtol": 1e-6},
)  # fmt: skip


def solve(module, fun, p, slope=None, **options):
    slope = slope or fun
    return module.solve_ivp(slope, (0, 4), EQUATIONS[fun], t_eval=TIMES, args=(p,), **options)


def rounding(fun, seed):
    """The same slopes, each of which is rounded to one side."""
    draws = np.random.default_rng(seed)

    def slope(t, y, p):
        found = np.asarray(fun(t, y, p))
        return found * (1 + draws.choice([-1, 1], found.shape) * np.finfo(float).eps)

    return slope


def parameters(count, seed=0):
    return np.random.default_rng(seed).uniform(0.6, 1.6, (count, 2))


def is_loop(compiled):
    """Tell if a compiled function, once it is machine code, calls SciPy no longer."""
    return "solve_ivp: " not in compiled.explain() and len(compiled.programs) == 1


@pytest.mark.share(3)
@pytest.mark.slow
@pytest.mark.parametrize("fun", EQUATIONS, ids=lambda fun: fun.__name__)
def test_steps_are_scipys(fun):
    """In all problems but one of 36, with values as near as rounding allows."""
    same = total = 0
    for options in OPTIONS:

        def values(p, options=options):
            found = solve(si, fun, p, **options)
            return found.y, found.nfev

        compiled = ft.compile(values)
        for p in parameters(9):
            y, calls = compiled(p)
            expected = solve(plain, fun, p, **options)
            total, same = total + 1, same + (calls == expected.nfev)
            if calls == expected.nfev:
                rounded = [
                    solve(plain, fun, p, rounding(fun, seed), **options).y for seed in range(3)
                ]
                bound = 10 * np.max(np.abs(rounded - expected.y)) + 1e-13
                assert np.max(np.abs(y - expected.y)) < bound, options
        assert is_loop(compiled), options
    assert total == 36 and same >= 35


SCALES = np.array([[1.0], [1.1], [0.9]])
ALONG = (np.array([1.0, -0.5]),)
NESTINGS = {
    "value": lambda f: f, "jvp": lambda f: lambda p: ft.jvp(f, (p,), (p,)), "grad": ft.grad,
    "jacobian": lambda f: ft.jacrev(lambda p: f(p) * p), "hessian": ft.hessian,
    "batch": lambda f: lambda p: ft.vmap(f)(p * SCALES),
    "batch of gradients": lambda f: lambda p: ft.vmap(ft.grad(f))(p * SCALES),
}  # fmt: skip
MORE_NESTINGS = {
    **NESTINGS, "columns": ft.jacfwd, "second derivatives": lambda f: ft.jacrev(ft.grad(f)),
    "forward twice": lambda f: ft.jacfwd(ft.jacfwd(f)),
    "along a gradient": lambda f: lambda p: ft.jvp(ft.grad(f), (p,), ALONG),
    "gradient along": lambda f: ft.grad(lambda p: ft.jvp(f, (p,), ALONG)[1]),
    "batch of columns": lambda f: lambda p: ft.vmap(ft.jacfwd(f))(p * SCALES),
    "columns of a batch": lambda f: ft.jacfwd(lambda p: ft.vmap(f)(p * SCALES)),
    "order 8": lambda f: ft.grad(lambda p: f(p, method="DOP853")),
    "batch of batches": lambda f: lambda p: ft.vmap(ft.vmap(ft.grad(f)))(np.stack([p * SCALES])),
}  # fmt: skip


@pytest.mark.share(3)
@pytest.mark.filterwarnings("ignore:.*each example has its own steps:functier.FallbackWarning")
@pytest.mark.parametrize("nesting", [
    pytest.param(n, marks=[] if n in ("value", "grad") else pytest.mark.slow) for n in NESTINGS
])  # fmt: skip
@pytest.mark.parametrize("fun", EQUATIONS, ids=lambda fun: fun.__name__)
def test_derivatives_are_those_of_the_steps(fun, nesting):
    f = NESTINGS[nesting](lambda p: np.sum(solve(si, fun, p, derivative="steps").y ** 2))
    compiled = ft.compile(f)
    for p in parameters(3, seed=1):
        np.testing.assert_allclose(compiled(p), f(p), rtol=1e-9, atol=1e-12)

    assert is_loop(compiled)


def largest_error(f, compiled, points):
    """The largest difference of a compiled function's results, relative to the largest number."""
    errors = []
    for p in points:
        found, expected = compiled(p), f(p)
        for a, b in zip(found, expected) if isinstance(found, tuple) else [(found, expected)]:
            errors.append(np.max(np.abs(a - b)) / np.max(np.abs(b)))
    return max(errors)


def loss(fun, **options):
    return lambda p, **more: np.sum(solve(si, fun, p, **options, **more).y ** 2)


@pytest.mark.share(3)
@pytest.mark.filterwarnings("ignore:.*each example has its own steps:functier.FallbackWarning")
@pytest.mark.parametrize("nesting", [
    pytest.param(n, marks=[] if n in ("jvp", "grad", "columns") else pytest.mark.slow)
    for n in MORE_NESTINGS
])  # fmt: skip
@pytest.mark.parametrize("fun", [epidemic, predators], ids=lambda fun: fun.__name__)
def test_derivatives_count_in_the_error(fun, nesting):
    """They have the steps that they have without a program: all digits are the same."""
    f = MORE_NESTINGS[nesting](loss(fun, rtol=1e-5))
    compiled = ft.compile(f)

    assert largest_error(f, compiled, parameters(2, seed=1)) < 1e-11
    assert is_loop(compiled)


@pytest.mark.share(3)
@pytest.mark.slow
@pytest.mark.parametrize("fun", EQUATIONS, ids=lambda fun: fun.__name__)
def test_steps_of_derivatives_are_scipys(fun):
    """Where they are not, a derivative is right to the tolerance, and not to the last digits."""
    errors = []
    for options in OPTIONS:
        f = ft.jacrev(lambda p, options=options: solve(si, fun, p, **options).y)
        compiled = ft.compile(f)
        errors += [largest_error(f, compiled, [p]) for p in parameters(4, seed=2)]
        assert is_loop(compiled), options
    assert len(errors) == 16 and sum([e < 1e-10 for e in errors]) >= 15
    assert max(errors) < 0.1


@pytest.mark.filterwarnings("ignore:.*each example has its own steps:functier.FallbackWarning")
@pytest.mark.parametrize("fault, nesting", [
    (faulty.errors_of_values_alone, "grad"),
    pytest.param(faulty.errors_of_values_alone, "columns", marks=pytest.mark.slow),
    (faulty.examples_with_common_steps, "columns"),
])  # fmt: skip
def test_other_steps_of_derivatives_are_found(fault, nesting, monkeypatch):
    fault(monkeypatch)
    f = MORE_NESTINGS[nesting](loss(epidemic, rtol=1e-5))

    assert largest_error(f, ft.compile(f), parameters(1, seed=1)) > 1e-9


def test_the_gradient_of_a_batch_is_a_batch_of_gradients():
    """Each example has directions of its own, and those of a common number are added."""
    f = loss(predators)

    def total(ps, q):
        return np.sum(ft.vmap(lambda p: f(p * q))(ps))

    compiled = ft.compile(ft.grad(total, (0, 1)))
    ps, one = parameters(150, seed=3), ft.compile(ft.grad(f))
    for q in (1.0, 0.9):
        own, common = compiled(ps, q)
        expected = np.stack([one(p * q) for p in ps])
        np.testing.assert_allclose(own, expected * q, rtol=1e-9)
        np.testing.assert_allclose(common, np.sum(expected * ps), rtol=1e-3)
    assert is_loop(compiled)


def test_many_parameters_take_the_adjoint():
    """It is a call of SciPy's in the program, and has one backward pass."""
    a, start = 0.1 * np.random.default_rng(0).normal(size=(40, 40)), np.linspace(0.5, 1.0, 40)

    def f(p, way):
        fun = lambda t, y: a @ y - y * (p[0] + p[1] * y)  # noqa: E731
        found = si.solve_ivp(fun, (0, 1), start * p[0], t_eval=[1.0], derivative=way)
        return np.sum(found.y[:, -1] ** 2)

    p = np.linspace(0.5, 1.0, 4)
    for way, bound in ((None, 1e-9), ("adjoint", 1e-9), ("forward", 1e-3)):
        compiled = ft.compile(ft.grad(lambda p, way=way: f(p, way)))
        expected = ft.grad(f)(p, "adjoint")
        for _ in range(2):
            np.testing.assert_allclose(compiled(p), expected, rtol=bound)
        assert is_loop(compiled) == (way == "forward")


def test_other_derivatives_have_their_own_steps():
    """The steps of a constant value say nothing of its derivative."""

    def last(p, **options):
        fun = lambda t, y: -5.0 * (y - 1.0)  # noqa: E731
        return si.solve_ivp(fun, (0, 10), [p], t_eval=[10.0], **options).y[0, 0]

    compiled = ft.compile(last)
    assert compiled(1.0) == compiled(1.0) == 1.0 and is_loop(compiled)
    for f in (ft.grad(compiled), ft.compile(ft.grad(last)), ft.jacfwd(compiled)):
        assert abs(f(1.0)) < 1e-6
    assert abs(ft.compile(ft.grad(last))(1.0, derivative="steps")) > 1e6


JUMPS = {
    "where": lambda t, y, p: np.where(y > 0.5, -p * y, -3.0 * p * y),
    "a branch": lambda t, y, p: -p * y if y[0] > 0.5 else -3.0 * p * y,
    "a whole number": lambda t, y, p: -p * y * (1 + int(y[0] > 0.5)),
    "whole numbers": lambda t, y, p: -p * y * (1 + (2 * y).astype(int)),
    "later": lambda t, y, p: -p * y if t < 0.1 else -p * y * (1 + np.sign(y - 0.5)),
}
KINKS = {
    "a maximum": lambda t, y, p: -p * np.maximum(y, 0.5),
    "a root of an absolute value": lambda t, y, p: -p * np.sqrt(np.abs(y - 0.5)),
}


@pytest.mark.parametrize("name", [*JUMPS, *KINKS])
def test_what_may_jump_is_scipys_to_solve(name):
    def f(p):
        slope = {**JUMPS, **KINKS}[name]
        found = si.solve_ivp(
            slope, (0, 2), [1.0], t_eval=[2.0], args=(p,), rtol=1e-6, derivative="steps"
        )
        return np.sum(found.y)

    compiled = ft.compile(ft.grad(f))
    for p in (0.9, 0.91):
        for g in (ft.grad(f), compiled):
            if name in JUMPS:
                with pytest.raises(ft.UnsupportedError, match="jumps"):
                    g(p)
        if name in KINKS:
            assert compiled(p) == pytest.approx(ft.grad(f)(p), rel=1e-12)
    assert ft.compile(f)(0.9) == pytest.approx(f(0.9), rel=1e-9)


def listed(t, y, p):
    u, v = y
    return fnp.array([p[0] * u - u * v, p[1] * u * v - v])


def rolled(t, y, p):
    return p[0] * (np.roll(y, 1) - 2.0 * y + np.roll(y, -1)) + p[1] * y * (1.0 - y)


def joined(t, y, p):
    padded = np.concatenate([[0.0], y, [1.0]])
    return p[0] * (padded[2:] - 2.0 * y + padded[:-2]) - p[1] * y**3


def written(t, y, p):
    found = fnp.zeros(2)
    found[0], found[1] = p[0] * y[0] - y[0] * y[1], p[1] * y[0] * y[1] - y[1]
    return found


@pytest.mark.filterwarnings("ignore:.*each example has its own steps:functier.FallbackWarning")
@pytest.mark.parametrize("transform", [
    ft.grad, pytest.param(ft.jacfwd, marks=pytest.mark.slow),
])  # fmt: skip
@pytest.mark.parametrize("fun", [listed, rolled, joined, written], ids=lambda fun: fun.__name__)
def test_slopes_in_the_ways_that_people_write_them(fun, transform):
    """A slope that writes to an array is SciPy's to solve."""

    def f(p):
        found = si.solve_ivp(fun, (0, 4), [1.0, 0.5], t_eval=TIMES, args=(p,), rtol=1e-5)
        return np.sum(found.y**2)

    compiled = ft.compile(transform(f))
    assert largest_error(transform(f), compiled, parameters(2)) < 1e-11
    assert is_loop(compiled) == (fun is not written)
    assert "made a choice with it" not in compiled.explain()


def test_a_start_and_a_closure_have_derivatives():
    def f(p, y0):
        k = 2.0 * p
        found = si.solve_ivp(
            lambda t, y: -k * y, (4, 0), y0, t_eval=TIMES[::-2], derivative="steps"
        )
        return np.sum(found.y[0] * np.arange(1.0, 6.0))

    compiled = ft.compile(ft.grad(f, (0, 1)))
    for p in (0.3, 0.4):
        for a, b in zip(compiled(p, np.array([1.0, p])), ft.grad(f, (0, 1))(p, np.array([1.0, p]))):
            np.testing.assert_allclose(a, b, rtol=1e-9)
    assert is_loop(compiled)


SPELLINGS = {
    "list of times": {"t_eval": [1.0, 2.0, 4.0]}, "range": {"t_eval": range(5)},
    "whole numbers": {"y0": [1, 0], "t_eval": [0, 1, 2]}, "span": {"t_span": np.array([0, 4])},
    "vectorized": {"vectorized": True}, "class": {"method": si.RK45},
}  # fmt: skip


@pytest.mark.parametrize("name", SPELLINGS)
def test_a_call_is_a_loop_in_the_ways_that_people_write_it(name):
    """One program serves other numbers of steps, and no step is recorded twice."""
    given = {"t_span": (0, 4), "y0": [1.0, 0.5], "t_eval": TIMES, "rtol": 1e-8} | SPELLINGS[name]

    def f(p):
        slope = lambda t, y, a, b: [-a * y[0], y[0] - b * y[1]]  # noqa: E731
        return np.sum(si.solve_ivp(slope, args=tuple(p), **given).y ** 2)

    compiled = ft.compile(ft.grad(f))
    assert largest_error(ft.grad(f), compiled, [*parameters(2), np.array([9.0, 4.0])]) < 1e-9
    assert is_loop(compiled) and "written to" not in compiled.explain()


STEADY = {
    "a factor of time": lambda t, y, p: -p * y * np.where(t < 1.0, 1.0, 3.0),
    "a table of times": lambda t, y, p: -p * y * np.interp(t, [0.0, 1.0, 2.0], [1.0, 3.0, 1.0]),
    "a power": lambda t, y, p: -p * y**p,
    "a size": lambda t, y, p: -p * np.abs(y - 0.5) * y / p**0.5,
    "no less than": lambda t, y, p: -p * np.maximum(y, 0.5) / 2.0,
}
SIGNS = {
    "a sign": lambda t, y, p: -p - 0.5 * np.abs(y - 0.5) / (y - 0.5),
    "a sign by a power": lambda t, y, p: -p - 0.5 * np.abs(y - 0.5) * (y - 0.5) ** -1,
    "a step": lambda t, y, p: -p - np.maximum(y - 0.5, 0.0) / (y - 0.5),
    "a factor of a parameter": lambda t, y, p: -y * np.where(t < p, 1.0, 3.0),
}


@pytest.mark.parametrize("name", [*STEADY, *SIGNS])
def test_what_jumps_by_time_alone_or_has_kinks_is_a_loop(name):
    """A kink that is divided by something may be a sign."""
    slope, end = {**STEADY, **SIGNS}[name], 2.0 if name in STEADY else 0.2

    def f(p):
        times = [end / 2, end]
        found = si.solve_ivp(slope, (0, end), [1.0], "RK45", times, args=(p,), rtol=1e-8, atol=1e-8)
        return np.sum(found.y)

    compiled = ft.compile(ft.grad(f))
    for p in (0.9, 0.91):
        assert compiled(p) == pytest.approx(ft.grad(f)(p), rel=1e-6)
    assert is_loop(compiled) == (name in STEADY)


def test_a_kink_is_scipys_to_solve_for_second_derivatives():
    def f(p):
        slope = STEADY["a size"]
        return np.sum(si.solve_ivp(slope, (0, 2), [1.0], t_eval=[2.0], args=(p,)).y)

    assert not is_loop(ft.compile(ft.grad(ft.grad(f))))


def integrated(module, fun, p, **options):
    slope = lambda y, t, p: fun(t, y, p)  # noqa: E731
    return module.odeint(slope, EQUATIONS[fun], TIMES, args=(p,), **options)


@pytest.mark.share(6)
@pytest.mark.parametrize("transform", [ft.grad, pytest.param(ft.hessian, marks=pytest.mark.slow)])
@pytest.mark.parametrize("fun", EQUATIONS, ids=lambda fun: fun.__name__)
def test_derivatives_of_odeint_are_a_loop(fun, transform):
    """The values are SciPy's, whose function is called once for a gradient."""
    compiled = ft.compile(transform(lambda p: np.sum(integrated(si, fun, p) ** 2)))
    values = ft.compile(lambda p: ft.jvp(lambda p: integrated(si, fun, p), (p,), (p,)))
    for p in parameters(3):
        assert np.array_equal(values(p)[0], integrated(plain, fun, p))
        own = transform(lambda p: np.sum(integrated(si, fun, p) ** 2))(p)
        np.testing.assert_allclose(compiled(p), own, 1e-5, 1e-5)
    assert len(compiled.programs) == 1 and compiled.explain().count("odeint: ") == 1


def robertson(t, y, p):
    first, second, third = 0.04 * p[0] * y[0], 1e4 * y[1] * y[2], 3e7 * p[1] * y[1] ** 2
    return [second - first, first - second - third, third]


def tracked(t, y, p):
    return np.stack([-1e4 * p[0] * (y[0] - np.cos(p[1] * t))])


STIFF = {robertson: [1.0, 0.0, 0.0], tracked: [0.0], epidemic: EQUATIONS[epidemic]}
TIGHT = {"rtol": 1e-6, "atol": 1e-9}


def by_implicit(module, fun, method, p, **options):
    if method == "odeint":
        return module.odeint(lambda y, t: fun(t, y, p), STIFF[fun], TIMES, **TIGHT)
    options = TIGHT | options
    return module.solve_ivp(fun, (0, 5), STIFF[fun], method, TIMES, args=(p,), **options).y


@pytest.mark.share(5)
@pytest.mark.parametrize("fun, method", [
    (robertson, "Radau"), (robertson, "LSODA"), (tracked, "BDF"), (epidemic, "odeint"),
    *[
        pytest.param(*each, marks=pytest.mark.slow)
        for each in ((robertson, "odeint"), (epidemic, "BDF"), (epidemic, "LSODA"))
    ],
])  # fmt: skip
def test_derivatives_of_implicit_methods_are_a_loop(fun, method):
    """The values are SciPy's, which is called once for a gradient."""

    def f(p):
        found = by_implicit(si, fun, method, p)
        return np.sum(found**2), found

    compiled = ft.compile(ft.grad(f, has_aux=True))
    for p in parameters(3):
        slope, found = compiled(p)
        assert np.array_equal(found, by_implicit(plain, fun, method, p))
        own = ft.grad(lambda p: np.sum(by_implicit(si, fun, "LSODA", p) ** 2))(p)
        np.testing.assert_allclose(slope, own, 1e-3, 3e-5)  # the values of Radau are off by that
    name = "odeint: " if method == "odeint" else "solve_ivp: "
    assert len(compiled.programs) == 1 and compiled.explain().count(name) == 1


@pytest.mark.share(3)
@pytest.mark.filterwarnings("ignore:.*each example has its own steps:functier.FallbackWarning")
@pytest.mark.parametrize("transform", [
    lambda f: ft.vmap(ft.grad(f)),
    pytest.param(lambda f: ft.vmap(ft.hessian(f)), marks=pytest.mark.slow),
], ids=["gradients", "hessians"])  # fmt: skip
def test_other_derivatives_of_implicit_methods_are_loops(transform):
    def f(p):
        return np.sum(by_implicit(si, robertson, "Radau", p) ** 2)

    compiled, given = ft.compile(transform(f)), parameters(2)
    np.testing.assert_allclose(compiled(given), transform(f)(given), 1e-4, 1e-6)
    assert len(compiled.programs) == 1


def test_a_stiff_equation_of_many_unknowns_is_scipys_to_solve():
    def f(p):
        slope = lambda t, y: -p * y + np.roll(y, 1)  # noqa: E731
        return np.sum(si.solve_ivp(slope, (0, 1), np.ones(17), "BDF", [1.0]).y)

    compiled = ft.compile(ft.grad(f))
    assert compiled(2.0) == pytest.approx(ft.grad(f)(2.0), rel=1e-13)


@pytest.mark.parametrize("fault", [None, "A", "T", "D"])
def test_the_method_for_stiff_equations_has_order_four(fault, monkeypatch):
    """Half the step makes the error of a state, also within a step, at least twelve times less."""
    table = faulty.Rodas.method
    if fault is not None:
        rows = np.array([0.0, *getattr(table, fault)], dtype=object)[1:]
        k = 0 if fault == "D" else 1
        rows[k] = tuple(np.array(rows[k]) * 1.01) if fault != "T" else rows[k] * 1.01
        monkeypatch.setattr(table, fault, tuple(rows))
    steps = faulty.Rodas(lambda t, y: -t * y**2, 1.0, 1.0, np.ones(1), np.inf)

    def errors(n):
        y, found = np.array([2.0]), []
        for t in np.arange(n) / n:
            new, slopes = steps.stages(t, 1 / n, y, steps.system(t, y))
            within = steps.between(np.array([[0.5]]), t, 1 / n, y, new, slopes)
            exact = [2 / (1 + at**2) for at in (t + 1 / n, t + 0.5 / n)]
            found.append([abs(new - exact[0]), abs(within - exact[1])])
            y = new
        return [np.max(column) for column in zip(*found)]

    ratios = np.divide(errors(20), errors(40))
    assert np.all(ratios > 12) == (fault is None)


CALLS = {
    "events": {"events": lambda t, y, p: y[0] - 0.5}, "dense output": {"dense_output": True},
    "all times": {"t_eval": None}, "an implicit method": {"method": "BDF"},
    "only a start": {"t_eval": TIMES[:1]},
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_what_is_no_loop_calls_scipy(name):
    options = {"t_eval": TIMES, **CALLS[name]}

    def f(p):
        return np.sum(si.solve_ivp(decay, (0, 4), [2.0], args=(p,), **options).y[0, -1])

    compiled = ft.compile(f)
    for p in parameters(2):
        assert compiled(p) == f(p)


def test_a_step_that_is_too_small_is_scipys_to_report():
    def f(p):
        found = si.solve_ivp(lambda t, y: p * y**2, (0, 4), [1.0], t_eval=[4.0])
        return found.status + 0.0 * p

    compiled = ft.compile(f)
    for p in (0.1, 0.1, 1.0, 0.1, 1.0):
        assert compiled(p) == f(p)


@pytest.mark.filterwarnings("ignore:.*each example has its own steps:functier.FallbackWarning")
def test_an_example_whose_step_is_too_small_is_scipys_to_report():
    def f(p):
        return np.sum(si.solve_ivp(lambda t, y: p * y**2, (0, 4), [1.0], t_eval=[4.0]).y)

    compiled = ft.compile(ft.vmap(ft.grad(f)))
    good, bad = np.array([0.1, 0.2]), np.array([0.1, 1.0])
    for p in (good, bad, good):
        if p is bad:
            with pytest.raises(ft.UnsupportedError, match="different length"):
                compiled(p)
        else:
            np.testing.assert_allclose(compiled(p), ft.vmap(ft.grad(f))(p), rtol=1e-9)


def test_parameters_that_grow_large_call_scipy():
    def f(p):
        slope = lambda t, y: -np.sum(p) * y  # noqa: E731
        return np.sum(si.solve_ivp(slope, (0, 1), [1.0], t_eval=[1.0], derivative="steps").y)

    compiled = ft.compile(ft.grad(f))
    p = np.full(100, 0.01)
    np.testing.assert_allclose(compiled(p), ft.grad(f)(p), rtol=1e-9)


@pytest.mark.parametrize("fault", [faulty.no_estimate, faulty.another_norm])
def test_planted_faults_of_steps_are_found(fault, monkeypatch):
    fault(monkeypatch)
    compiled = ft.compile(lambda p: solve(si, epidemic, p).nfev)

    assert [compiled(p) for p in parameters(3)] != [
        solve(plain, epidemic, p).nfev for p in parameters(3)
    ]


def test_a_slope_that_nobody_looks_at_is_found(monkeypatch):
    faulty.slopes_that_nobody_looks_at(monkeypatch)

    def last(p):
        return si.solve_ivp(
            JUMPS["where"], (0, 2), [1.0], t_eval=[2.0], args=(p,), derivative="steps"
        ).y[0, 0]

    assert ft.compile(ft.grad(last))(0.9) < 0.0
