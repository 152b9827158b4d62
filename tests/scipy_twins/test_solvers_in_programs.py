"""A compiled function that calls a solver of SciPy gives what the function gives."""

import functools
import warnings

import numpy as np
import pytest
import scipy.integrate
from programs_of_equations import EQUATIONS, last_step
from programs_of_functions import INTEGRALS, NESTINGS, ROOTS

import functier as ft
import functier.scipy
import functier.scipy.integrate as si
import functier.scipy.optimize as so
from faults.planted import scipy as faulty
from support.basics import calls_of

PROGRAMS = [*INTEGRALS, *ROOTS, *EQUATIONS]
POINTS = 0.7, 0.8, 0.7
QUICK = "value under jvp", "grad"


def outcome(call, *args):
    with warnings.catch_warnings(action="ignore"):
        try:
            return call(*args)
        except Exception as error:
            return type(error).__name__


def verdict(program, nesting, points=POINTS):
    """Tell if a compiled program is right, runs as it is, raises what it raises, or is wrong."""
    transform, _, batched = NESTINGS[nesting]
    f = transform(lambda p: program(p, functier.scipy))
    compiled, close = ft.compile(f), 1e-8 if program in EQUATIONS else 1e-10  # other steps to 1e-9
    for p in points:
        given = p + np.array([0.0, 0.13]) if batched else p
        own, found = outcome(f, given), outcome(compiled, given)
        if isinstance(own, str) or isinstance(found, str):
            if own is not found and own != found:
                return "wrong"
        elif np.shape(own) != np.shape(found) or not np.allclose(own, found, 1e-7, close):
            return "wrong"
    if isinstance(own, str):
        return "raises"
    return "as it is" if "not watched" in compiled.explain() else "right"


@pytest.mark.share(3)
@pytest.mark.parametrize(
    ("program", "nesting"),
    [
        pytest.param(f, n, marks=[] if n in QUICK else pytest.mark.slow)
        for f in PROGRAMS
        for n in ("value under jvp", "grad", "jvp", "vmap", "vmap of grad", "grad of grad")
    ],
)
def test_compiled_solvers(program, nesting):
    assert verdict(program, nesting) != "wrong"


# ---- what the functions of a solver read, and change ----

TIMES = np.array([0.25, 0.5, 1.0])
SCALE = 1.0
DATA = np.array([1.0, 2.0])
ITEMS = [1.0, 2.0]


class Model:
    rate = 1.0

    def __init__(self, k):
        self.k, self.weights = k, np.array([1.0, 2.0])

    def slope(self, t, y):
        return -self.k * self.rate * self.weights[0] * y

    def simulate(self, p):
        return solved(lambda t, y: -p * self.k * y * np.sum(self.weights))


def solved(fun, **options):
    return np.sum(si.solve_ivp(fun, (0, 1), [1.0], t_eval=TIMES, **options).y)


def rebind(name, value):
    globals()[name] = value


def maker():
    c = 1.0

    def slope(t, y, p):
        return -c * p * y

    def change(value):
        nonlocal c
        c = value

    return slope, change


MODEL = Model(1.0)
SLOPE, CHANGE = maker()


def of_a_global(p):
    return solved(lambda t, y: -SCALE * p * y)


def of_an_array(p):
    own, part = DATA, DATA[1:]
    return solved(lambda t, y, d=DATA: -np.sum(own + d) * part[0] * p * y)


def of_a_list(p):
    items, copied = ITEMS, [*ITEMS]
    return solved(lambda t, y: -(sum(items) + copied[0]) * p * y)


def of_a_start(p):
    return np.sum(si.solve_ivp(lambda t, y: -p * y, (0, 1), DATA, t_eval=TIMES).y)


def of_times(p):
    return np.sum(si.odeint(lambda y, t: -p * y, [1.0], TIMES))


def of_a_method(p):
    return p * solved(MODEL.slope) + MODEL.simulate(p)


def of_a_cell(p):
    return solved(SLOPE, args=(p,)) + solved(functools.partial(SLOPE, p=p))


def of_residuals(p):
    found = so.least_squares(lambda x: DATA * x[0] - p * x[1] ** 2 + x, np.ones(2), xtol=1e-14)
    return np.sum(found.x)


CHANGES = {
    of_a_global: [lambda: rebind("SCALE", 2.0), lambda: rebind("SCALE", np.float64(3.0))],
    of_an_array: [lambda: np.copyto(DATA, 3.0), lambda: rebind("DATA", np.array([2.0, 2.5]))],
    of_a_list: [lambda: ITEMS.append(0.3), lambda: rebind("ITEMS", [0.1, 0.2])],
    of_a_start: [lambda: np.copyto(DATA, 1.5), lambda: rebind("DATA", np.array([0.5, 2.0, 1.0]))],
    of_times: [lambda: np.copyto(TIMES, [0.3, 0.4, 0.5]), lambda: rebind("TIMES", TIMES[:2])],
    of_a_method: [
        lambda: setattr(MODEL, "k", 2.0), lambda: setattr(Model, "rate", 3.0),
        lambda: np.copyto(MODEL.weights, 2.0), lambda: setattr(MODEL, "weights", np.arange(1, 4.0)),
    ],
    of_a_cell: [lambda: CHANGE(2.0), lambda: CHANGE(np.array([2.5]))],
    of_residuals: [lambda: np.copyto(DATA, 1.2), lambda: rebind("DATA", np.array([2.0, 1.5]))],
}  # fmt: skip


@pytest.fixture
def put_back():
    """A function that gives what a test has changed its state from before; it runs at the end."""
    before = {name: globals()[name] for name in ("SCALE", "DATA", "ITEMS", "TIMES")}
    contents = {name: [*value] for name, value in before.items() if name != "SCALE"}

    def put_back():
        globals().update(before)
        ITEMS[:] = contents["ITEMS"]
        DATA[:], TIMES[:] = contents["DATA"], contents["TIMES"]
        MODEL.__init__(1.0)
        Model.rate = 1.0
        CHANGE(1.0)

    yield put_back
    put_back()


def stale(f, transform):
    """The number of the change after which the compiled function gives something else."""
    own = transform(f)
    compiled = ft.compile(own)
    for number, change in enumerate([None, *CHANGES[f]]):
        if change is not None:
            change()
        for p in (0.5, 0.6):
            if not np.allclose(compiled(p), own(p), 1e-6, 1e-12):
                return number
    return None if compiled.programs else "no program"


@pytest.mark.parametrize("f", CHANGES)
def test_what_a_solver_reads_is_seen(f, put_back):
    assert stale(f, ft.grad) is None


def test_what_a_solver_calls_tells_no_trace_after_it():
    def f(p, module):
        return np.sum(module.odeint(lambda y, t: -p * y, [1.0], TIMES))

    compiled = ft.compile(lambda p: f(p, si))
    compiled(0.5), compiled(0.6)
    assert calls_of(lambda: compiled(0.7)) < calls_of(lambda: f(0.7, scipy.integrate)) + 100


def counted(p):
    calls = []

    def slope(t, y):
        if p > 0.55:
            calls.append(t)
        return -p * y

    return solved(slope) * (1 + len(calls))


def written(p):
    buffer = np.zeros(1)

    def slope(t, y):
        if p > 0.55:
            buffer[0] = 1.0
        return -p * y

    return solved(slope) + buffer[0]


def reached(p):
    return solved(Model(p).slope)


def dense(p):
    return si.solve_ivp(lambda t, y: -p * y, (0, 1), [1.0], dense_output=True).sol(0.5)[0]


WHY = {
    counted: "changes what it closes over", written: "writes to what it closes over",
    reached: "chooses by values", dense: "its result has a DenseSolution",
}  # fmt: skip


@pytest.mark.parametrize("f", WHY)
def test_what_is_no_step_runs_as_it_is(f):
    compiled = ft.compile(ft.grad(f))

    assert [compiled(p) for p in (0.5, 0.6, 0.5)] == [ft.grad(f)(p) for p in (0.5, 0.6, 0.5)]
    assert WHY[f] in compiled.explain()


def test_a_trace_refuses_what_is_no_step():
    with pytest.raises(ft.ConversionError, match="call it outside"):
        ft.trace(ft.grad(reached))(0.5)
    with pytest.raises(ft.ConversionError, match=r"solve_ivp is no step.*DenseSolution.*call it"):
        ft.trace(ft.grad(dense))(0.5)


def asked(p):
    found = si.solve_ivp(lambda t, y: -20 * p * y, (0, 1), [1.0])
    if not found.success:
        raise ValueError(found.message)
    return found.y[0, -1] * (found.nfev if found.status == 0 else 1) * len(found.t)


def test_numbers_of_a_result_are_values():
    compiled = ft.compile(ft.grad(asked))
    points = 0.5, 0.7, 0.9, 0.5

    assert np.allclose([compiled(p) for p in points], [ft.grad(asked)(p) for p in points], 1e-12)


def network(p):
    def slope(t, y):
        return -np.tanh(np.reshape(p, (16, 16)) @ y) + 0.1

    return np.sum(si.solve_ivp(slope, (0, 1), np.ones(16), t_eval=TIMES, rtol=1e-6).y)


@pytest.mark.parametrize("f", [
    lambda p: len(si.solve_ivp(lambda t, y: -p * y, (0, 4), [1.0]).t) + 0.0 * p,
    lambda p: np.sum(si.solve_ivp(lambda t, y: p * y**2, (0, 4), [1.0], "BDF", [4.0]).y),
], ids=["a length", "no elements"])  # fmt: skip
def test_shapes_of_results_are_checked_where_nobody_needs_the_results(f):
    compiled = ft.compile(f)

    for p in (1.0, 0.1, 5.0, 0.1):
        assert compiled(p) == pytest.approx(f(p), rel=1e-9)


def test_many_parameters_have_a_step_of_cotangents():
    p = np.linspace(-1, 1, 256)
    compiled = ft.compile(ft.grad(network))

    for q in (p, p + 0.1):
        assert np.allclose(compiled(q), ft.grad(network)(q), 1e-9, 1e-12)
    assert compiled.programs


FOUND = {
    "slopes": lambda: verdict(ROOTS[0], "grad"),
    "what is read": lambda: stale(of_a_cell, ft.grad),
    "what is changed": lambda: [f(p) for f in [ft.compile(counted)] for p in (0.5, 0.6)],
    "forms": lambda: verdict(last_step, "value under jvp", (0.7, 1.9)),
}


@pytest.mark.parametrize("fault", FOUND)
def test_planted_faults_are_found(fault, put_back, monkeypatch):
    before = FOUND[fault]()
    put_back()
    faulty.wrong_step(fault, monkeypatch)

    assert FOUND[fault]() != before


def test_an_error_of_the_solver_is_that_of_the_function():
    compiled = ft.compile(ft.grad(lambda k: so.brentq(lambda x: x * x + k, 0.0, 2.0)))

    with pytest.raises(ValueError, match="different signs"):
        compiled(1.0)
    assert np.isclose(compiled(-2.0), -0.5 / np.sqrt(2.0))
