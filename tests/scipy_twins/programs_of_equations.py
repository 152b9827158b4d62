"""Functions of one number that solve differential equations, as in `programs_of_functions`."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import scipy

import functier as ft
import functier.scipy

EXACT = {"rtol": 1e-9, "atol": 1e-11}


def namespace(way):
    """`functier.scipy` whose equations are differentiated in one way."""
    found = ft.scipy.integrate
    return SimpleNamespace(
        integrate=SimpleNamespace(
            solve_ivp=partial(found.solve_ivp, derivative=way),
            odeint=partial(found.odeint, derivative=way),
        )
    )


def by(way, program):
    """A program whose equations are differentiated in one way."""
    own = namespace(way)

    def chosen(p, s):
        return program(p, s if s is scipy else own)

    chosen.__name__ = f"{program.__name__}_{way}"
    return chosen


def module(s):
    return np if s is scipy else ft.numpy


def solved(s, fun, span, y0, method="DOP853", **options):
    return s.integrate.solve_ivp(fun, span, y0, method, **{**EXACT, **options})


def spring(p):
    return lambda t, y: [y[1] * np.exp(-0.1 * t), -p * y[0]]


# ---- what an equation depends on ----


def closure(p, s):
    return solved(s, spring(p), (0, 2), [1.0, 0.5], t_eval=[1.0, 2.0]).y


def start(p, s):
    found = solved(s, lambda t, y: -y * y * np.cos(t), (0, 2), [p, p * p, 1.0], t_eval=[2.0])
    return found.y[:, -1] * p


def arguments(p, s):
    fun = lambda t, y, a, b: (-a * y[0] * b, a * np.cos(b * t))  # noqa: E731
    return solved(s, fun, (0, 2), (1.0, 0.0), args=(p, 2.0), t_eval=[0.5, 2.0]).y[:, -1]


def ends(p, s):
    found = solved(s, spring(p), (p, 2 * p + 1), [p, 1.0], "RK45", t_eval=module(s).array([2 * p]))
    return found.y[:, 0] * found.t


def last_step(p, s):
    found = solved(s, spring(p), (p, 2 * p + 1), [p, 1.0], max_step=0.5)
    return np.stack([found.y[0, -1] * found.t[-1], found.y[0, 0], found.t[0]])


def times(p, s):
    found = solved(s, spring(p), (0, 4), [p, 1.0], t_eval=module(s).array([0.0, p, 2 * p]))
    return np.sum(found.y * found.t, axis=-1)


def backward(p, s):
    return solved(s, spring(p), (3, p), [p, 1.0], t_eval=[3, 2.5, 2.0]).y[0]


def late(p, s):
    fun = lambda t, y: -y * (np.sin(p * t) if t > 1 else np.sin(t))  # noqa: E731
    return solved(s, fun, (0, 2), [1.0], max_step=0.05, t_eval=[2.0]).y[0]


# ---- options ----


def continuous(p, s):
    found = solved(s, spring(p), (p, 6), [p, 1.0], dense_output=True, t_eval=[5.0])
    return found.sol(p + 1.5)[0] * found.sol(np.array([2.0, 3.0]))[1, 1]


def columns(p, s):
    fun = lambda t, y: -p * y**2  # noqa: E731
    return solved(s, fun, (0, 1), [p], "Radau", vectorized=True, t_eval=[1.0]).y[:, 0]


def with_jacobian(p, s):
    xp = module(s)
    return solved(
        s, lambda t, y: [-p * y[0] + y[1] ** 2, -y[1] * y[0]], (0, 2), [p, 1.0], "BDF",
        jac=lambda t, y: xp.array([[-p, 2 * y[1]], [-y[1], -y[0]]]), t_eval=[2.0],
    ).y[:, 0]  # fmt: skip


# ---- events ----


def fall(p, s):
    def ground(t, y):
        return y[0]

    ground.terminal, ground.direction = True, -1
    fun = lambda t, y: [y[1], -p - 0.1 * y[1]]  # noqa: E731
    return solved(s, fun, (0.0, 10.0), [2 * p, 1.0], events=ground, t_eval=[])


def stopping(p, s):
    found = fall(p, s)
    return np.stack([found.t_events[0][0], found.y_events[0][0][1]])


def crossings(p, s):
    found = solved(
        s, lambda t, y: [y[1], -p * y[0]], (0.0, 3.0), [p, 1.0],
        events=[lambda t, y: y[0] - 0.3 * p, lambda t, y: y[1]], t_eval=[],
    )  # fmt: skip
    return found.t_events[0][0] * found.y_events[0][0][1] + found.t_events[1][0]


def end_by_event(p, s):
    def high(t, y, a):
        return y[0] - 2 * a

    high.terminal = True
    found = solved(s, lambda t, y, a: [a * y[0]], (0, 9), [1.0], events=high, args=(p,))
    return np.stack([found.t[-1], found.y[0, -1]])


# ---- odeint ----

FINE = {"rtol": 1e-11, "atol": 1e-12}


def by_odeint(p, s):
    fun = lambda y, t, a: [y[1] * t, -a * y[0]]  # noqa: E731
    return s.integrate.odeint(fun, [p, 1.0], np.array([0.0, 1.0, 2.0]), args=(p,), **FINE)


def odeint_times(p, s):
    xp = module(s)
    return s.integrate.odeint(
        lambda t, y: [y[1] * t, -p * y[0]], [p, 1.0], xp.array([p, 1.7, 2 * p]), tfirst=True,
        Dfun=lambda t, y: xp.array([[0.0, t], [-p, 0.0]]), **FINE,
    )[:, 0]  # fmt: skip


EQUATIONS = [
    closure, start, arguments, ends, times, backward, late, continuous, columns, with_jacobian,
    stopping, crossings, by_odeint, odeint_times,
]  # fmt: skip
OF_ITS_OWN_LENGTH = [last_step, end_by_event]
