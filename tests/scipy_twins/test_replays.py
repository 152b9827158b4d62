"""Replays of right-hand sides give what the function itself gives, or do not run."""

import warnings

import numpy as np
import pytest
import right_hand_sides as sides
import scipy.integrate

import functier as ft
import functier.scipy.integrate as si
from faults.planted import scipy as faulty
from support.basics import close
from support.turns import turn

P, T = np.array([1.3, 0.4]), np.array([0.3, -0.7])
PS = np.stack([P, P + 0.1 * T])
WAYS = {
    "grad": lambda f: (f(P), ft.grad(f)(P)),
    "jvp": lambda f: ft.jvp(f, (P,), (T,)),
    "vmap": lambda f: (ft.vmap(f)(PS),),
    "vmap of grad": lambda f: (ft.vmap(ft.grad(f))(PS),),
    "grad of vmap": lambda f: (ft.grad(lambda q: np.sum(ft.vmap(f)(q)))(PS),),
    "hessian": lambda f: (ft.hessian(f)(P),),
}
PAIRS = [
    ("RK45", "grad"), ("LSODA", "jvp"), ("DOP853", "vmap of grad"), ("Radau", "grad"),
    ("BDF", "jvp"), ("RK23", "grad"), ("RK45", "vmap"), ("LSODA", "grad of vmap"),
    ("RK45", "hessian"),
]  # fmt: skip
PLAIN = "jvp", "vmap"
"""Ways whose first result is what SciPy's solution has, to the last bit."""


@pytest.fixture
def made(monkeypatch):
    """The programs that a test makes; it starts without any."""
    found = []

    faulty.made(monkeypatch, found)
    return found


def outcome(side, method, way, first, warm, monkeypatch):
    """The results of a program or its error, and what it has done besides."""
    faulty.outcome(monkeypatch, first, warm)
    sides.SEEN.clear()
    sides.GAIN = 1.0
    np.random.seed(0)  # noqa: NPY002, another state than the draws of a side leave
    with warnings.catch_warnings(action="ignore"):
        try:
            return WAYS[way](lambda p: side(p, method)), [*sides.SEEN]
        except Exception as error:
            return f"{type(error).__name__}: {error}"[:100], [*sides.SEEN]


def check(side, method, way, monkeypatch):
    own, seen = outcome(side, method, way, np.inf, np.inf, monkeypatch)
    for warm in (np.inf, np.inf, 60):  # programs are made, are there, and are machine code
        found, now = outcome(side, method, way, 2, warm, monkeypatch)
        assert now == seen
        if isinstance(own, str) or isinstance(found, str):
            assert found == own
            continue
        if way in PLAIN:
            assert np.array_equal(found[0], own[0])
        for x, y in zip(found, own):
            close(x, y, 1e-4)


def cases():
    """Each program under each pair; quick and slow runs take theirs in turn."""
    few = [pytest.mark.slow]
    for i, side in enumerate(sides.SIDES):
        for j, pair in enumerate(PAIRS):
            if side is sides.events and pair[1] == "hessian":
                continue  # refused with an error of the inside, replayed or not
            yield pytest.param(side, *pair, marks=turn(i, j, 3) or few * (i % 2))


@pytest.mark.share(24)
@pytest.mark.parametrize("side, method, way", [*cases()])
def test_replays_give_what_calls_give(side, method, way, made, monkeypatch):
    check(side, method, way, monkeypatch)
    if way in ("grad", "jvp") and side is not sides.compiled:
        tried = [programs for programs in made if any(p.count for p in programs.backends)]
        refused = [programs.refused for programs in tried]
        assert all(refused) if side in sides.REFUSED else tried and not all(refused)


# ---- planted faults ----


@pytest.mark.parametrize("name, plant, side", faulty.FAULTS_OF_REPLAYS)
def test_faults_of_replays_are_found(name, plant, side, made, monkeypatch):
    plant(monkeypatch)
    if name == "_parts":
        check(side, "RK45", "jvp", monkeypatch)  # each new program is compared with the function
        assert made[-1].refused
        made.clear()
        faulty.replays_are_the_same(monkeypatch)
    with pytest.raises(AssertionError):
        check(side, "RK45", "grad", monkeypatch)


def test_the_function_of_odeint_is_replayed(made, monkeypatch):
    faulty.outcome(monkeypatch, 2, np.inf)
    seen, times = [], np.linspace(0, 10, 7)

    def states(p, integrate, note):
        def slope(y, t):
            note(t)
            return [-p[0] * y[0] * y[1], p[0] * y[0] * y[1] - p[1] * y[1]]

        return integrate.odeint(slope, [0.9, 0.1], times)

    def own(p):
        return states(p, si, abs)

    expected = states(P, scipy.integrate, seen.append)

    for _ in range(2):
        value, tangent = ft.jvp(own, (P,), (T,))
        assert np.array_equal(value, expected)
    assert len({*map(id, made)}) == 2 and not any(programs.refused for programs in made)
    assert all(programs.calls > len(seen) for programs in made)
    change = own(P + 1e-6 * T) - own(P - 1e-6 * T)
    close(tangent, change / 2e-6, 1e-4)
