"""Right-hand sides of equations, each written in another way, for comparing replays with calls.

Each program takes two parameters and solves by a method; it notes in `SEEN` what can be seen from
outside. A program is in `REFUSED` where no replay may run.
"""

import contextlib
import functools
import io
import math
from types import SimpleNamespace

import numpy as np

import functier as ft
import functier.numpy as fnp
import functier.scipy.integrate as si
import functier.scipy.special as special

SEEN: list = []
REFUSED: set = set()
GAIN = 1.0
HIDDEN = None


def refused(program):
    REFUSED.add(program)
    return program


def solved(fun, method, y0=(1.0, 0.3), span=(0.0, 3.0), **options):
    times = [span[1] / 2, span[1]]
    found = si.solve_ivp(fun, span, list(y0), method, times, rtol=1e-6, atol=1e-8, **options)
    if type(found.nfev) is int:
        SEEN.append(found.nfev)
    return fnp.sum(found.y[:, 0] * found.y[:, 1])


def swing(t, y, a, b):
    return fnp.array([y[1], -a * fnp.sin(y[0]) - b * y[1]])


# ---- where the parameters are ----


def closure(p, method):
    return solved(lambda t, y: [y[1], -p[0] * y[0] - p[1] * y[1] * np.cos(t)], method)


def given(p, method):
    return solved(swing, method, args=(p[0], p[1]))


def whole(p, method):
    return solved(lambda t, y, q: swing(t, y, *q), method, args=(p,))


def table(p, method):
    known = {"a": p[0], "more": [p[1], 2.0], "name": "sin"}

    def fun(t, y):
        assert known["name"] == "sin"
        return swing(t, y, known["a"], known["more"][0] * known["more"][1])

    return solved(fun, method)


def nested(p, method):
    q = fnp.exp(-p)

    def force(y, scale=q[1]):
        return -q[0] * y * scale

    def fun(t, y, *, more=p):
        return fnp.stack([y[1], force(y[0]) - more[0] * y[1]])

    return solved(fun, method)


def start(p, method):
    return solved(lambda t, y: -y * fnp.cos(y + t), method, y0=[p[0], p[1]])


def start_and_slope(p, method):
    return solved(lambda t, y: swing(t, y, p[0], 0.1), method, y0=fnp.array([p[1], p[0]]))


def unused(p, method):
    q = 2.0 * p
    return solved(lambda t, y: swing(t, y, p[0], 0.0) if q is not None else y, method)


def same_twice(p, method):
    q = p
    return solved(lambda t, y: swing(t, y, p[0], q[1]) * q[0], method)


def held_constant(p, method):
    q = ft.stop_gradient(p)
    return solved(lambda t, y: swing(t, y, q[0], p[1]), method)


def data(p, method):
    times, forces, order = np.linspace(0, 3, 7), np.linspace(0, 1, 7) ** 2, 3
    return solved(
        lambda t, y: [y[1] + np.interp(t, times, forces), -p[0] * y[0] ** order - p[1] * y[1]],
        method,
    )


def columns(p, method):
    return solved(
        lambda t, y: fnp.stack([y[1], -p[0] * y[0] - p[1] * y[1]]), method, vectorized=True
    )


def many(p, method):
    w = fnp.reshape(fnp.sin(fnp.arange(20) + fnp.concatenate([p] * 10)), (20,))

    def fun(t, y):
        return -y * w[:10] ** 2 + 0.1 * w[10:] * fnp.roll(y, 1) * np.sin(t)

    return solved(fun, method, y0=np.linspace(0.5, 1.0, 10))


@refused
def by_math(p, method):
    return solved(
        lambda t, y: [y[1] * math.exp(-t), -p[0] * y[0] - p[1] * math.sin(float(t))], method
    )


def by_package(p, method):
    return solved(lambda t, y: [special.j0(p[0] * y[1]), -special.expit(p[1] * y[0])], method)


def loop(p, method):
    def fun(t, y):
        rate = ft.fori_loop(0, 3, lambda i, x: x * p[0] + i, p[1])
        return fnp.array([y[1], -0.2 * rate * y[0]])

    return solved(fun, method)


def compiled(p, method):
    return solved(lambda t, y: COMPILED(t, y, p[0], p[1]), method)


COMPILED = ft.compile(swing)


@ft.custom_vjp
def own(x):
    return fnp.sin(x)


own.defvjp(lambda x: (fnp.sin(x), x), lambda x, g: (g * fnp.cos(x),))


def own_rule(p, method):
    return solved(lambda t, y: fnp.stack([y[1], -p[0] * own(y[0]) - p[1] * y[1]]), method)


# ---- objects ----


class Model:
    def __init__(self, p):
        self.p = p

    def fun(self, t, y):
        return swing(t, y, self.p[0], self.p[1])

    def __call__(self, t, y):
        return self.fun(t, y)


@refused
def method_of(p, method):
    return solved(Model(p).fun, method)


@refused
def instance(p, method):
    model = Model(p)
    return solved(lambda t, y: model(t, y), method)


@refused
def callable_instance(p, method):
    return solved(Model(p), method)


@refused
def partial(p, method):
    return solved(functools.partial(swing, a=p[0], b=p[1]), method)


@refused
def hidden(p, method):
    global HIDDEN
    HIDDEN = p
    return solved(lambda t, y: swing(t, y, HIDDEN[0], HIDDEN[1]), method)


@refused
def hidden_alone(p, method):
    global HIDDEN
    HIDDEN = fnp.stack([p[0], -p[1]])
    return solved(lambda t, y: HIDDEN * (p[0] if t < 0 else 1.0), method)


@refused
def recursive(p, method):
    def fun(t, y, again=True):
        return fun(t, y, False) if again else swing(t, y, p[0], p[1])

    return solved(fun, method)


@refused
def own_attributes(p, method):
    def fun(t, y):
        fun.calls += 1
        return swing(t, y, p[0], p[1])

    fun.calls = 0
    return seen(fun, method, lambda: fun.calls)


@refused
def written_before(p, method):
    q = fnp.zeros(2)
    q[0], q[1] = p[1], p[0]
    return solved(lambda t, y: swing(t, y, q[0], q[1]), method)


# ---- branches ----


def by_time(p, method):
    def fun(t, y):
        force = -p[0] * y[0]
        return fnp.stack([y[1], force - (p[1] * y[1] if t < 1.5 else 0.0)])

    return solved(fun, method)


def by_state(p, method):
    def fun(t, y):
        push = y[0] ** 4 if y[0] > 0 else 0.0
        return [y[1], -p[0] * y[0] - p[1] * push]

    return solved(fun, method, span=(0.0, 6.0))


def by_parameter(p, method):
    def fun(t, y):
        return swing(t, y, p[0], p[1]) if p[0] > 1.0 else swing(t, y, p[1], p[0])

    return solved(fun, method)


def other_tensor(p, method):
    a, b = 1.0 * p[0], 1.0 * p[1]
    return solved(lambda t, y: -a * y if t < 1.5 else -a * y + (t - 1.5) ** 4 * b, method)


def moving_jump(p, method):
    return solved(lambda t, y: -p[0] * y if t < p[1] else p[0] * y, method)


def caught(p, method):
    def fun(t, y):
        try:
            if y[1] < -0.2:
                raise ArithmeticError
            push = 0.0
        except ArithmeticError:
            push = -((y[1] + 0.2) ** 4)
        return [y[1], -p[0] * y[0] - p[1] * push]

    return solved(fun, method)


def by_flag(p, method):
    flags = {"damped": True}

    def event(t, y):
        flags["damped"] = t < 1.0
        return y[0] - 100.0

    return solved(
        lambda t, y: swing(t, y, p[0], p[1] if flags["damped"] else 0.5 * p[1]), method,
        events=event,
    )  # fmt: skip


# ---- events ----


def events(p, method):
    def low(t, y):
        return y[0] - 0.2 * p[0]

    def turn(t, y):
        return y[1]

    low.terminal = True
    found = si.solve_ivp(
        lambda t, y: swing(t, y, p[0], p[1]), (0, 3), [1.0, 0.3], method, events=[low, turn],
        rtol=1e-6, atol=1e-8,
    )  # fmt: skip
    return found.t[-1] + fnp.sum(found.y[:, -1]) + fnp.sum(found.y_events[0])


def event_changes_cell(p, method):
    scale = 1.0

    def event(t, y):
        nonlocal scale
        scale = 1.0 if t < 1.0 else 0.5
        return y[0] - 100.0

    return solved(lambda t, y: scale * swing(t, y, p[0], p[1]), method, events=event)


def event_changes_array(p, method):
    scale = np.ones(2)

    def event(t, y):
        scale[1] = 1.0 if t < 1.0 else 0.5
        return y[0] - 100.0

    return solved(lambda t, y: scale * swing(t, y, p[0], p[1]), method, events=event)


def event_changes_list(p, method):
    scale = [1.0, p[0]]

    def event(t, y):
        scale[0] = 1.0 if t < 1.0 else 0.5
        return y[0] - 100.0

    return solved(lambda t, y: scale[0] * swing(t, y, scale[1], p[1]), method, events=event)


def event_changes_global(p, method):
    def event(t, y):
        global GAIN
        GAIN = 1.0 if t < 1.0 else 0.5
        return y[0] - 100.0

    return solved(lambda t, y: GAIN * swing(t, y, p[0], p[1]), method, events=event)


def event_writes(p, method):
    q = 1.0 * p

    def event(t, y):
        if t > 1.0:
            q[1] = 0.5
        return y[0] - 100.0

    return solved(lambda t, y: swing(t, y, p[0], q[1]), method, events=event)


# ---- effects ----


def seen(fun, method, effect):
    """The solution, after which the effect of the calls is noted."""
    found = solved(fun, method)
    SEEN.append(effect())
    return found


@refused
def counter(p, method):
    calls = 0

    def fun(t, y):
        nonlocal calls
        calls += 1
        return swing(t, y, p[0], p[1])

    return seen(fun, method, lambda: calls)


@refused
def global_counter(p, method):
    global GAIN
    GAIN = 0

    def fun(t, y):
        global GAIN
        GAIN += 1
        return swing(t, y, p[0], p[1])

    return seen(fun, method, lambda: GAIN)


@refused
def log(p, method):
    times = []

    def fun(t, y):
        times.append(float(t))
        return swing(t, y, p[0], p[1])

    return seen(fun, method, lambda: len(times))


@refused
def memo(p, method):
    known = {}

    def fun(t, y):
        known[float(t)] = len(known)
        return swing(t, y, p[0], p[1])

    return seen(fun, method, lambda: len(known))


@refused
def attribute(p, method):
    space = SimpleNamespace(calls=0)

    def fun(t, y):
        space.calls += 1
        return swing(t, y, p[0], p[1])

    return seen(fun, method, lambda: space.calls)


@refused
def deep_counter(p, method):
    calls = 0

    def fun(t, y):
        def count():
            nonlocal calls
            calls += 1

        count()
        return swing(t, y, p[0], p[1])

    return seen(fun, method, lambda: calls)


@refused
def late_effect(p, method):
    late = []

    def fun(t, y):
        if t > 1.5:
            late.append(float(t))
        return swing(t, y, p[0], p[1])

    return seen(fun, method, lambda: len(late))


@refused
def prints(p, method):
    def fun(t, y):
        print("called")
        return swing(t, y, p[0], p[1])

    with contextlib.redirect_stdout(io.StringIO()) as paper:
        return seen(fun, method, lambda: paper.getvalue().count("called"))


@refused
def buffer(p, method):
    space = np.zeros(2)

    def fun(t, y):
        space[0] += 1.0
        return swing(t, y, p[0], p[1])

    return seen(fun, method, lambda: space[0])


@refused
def writes_state(p, method):
    def fun(t, y):
        y = y + 0.0
        y[0] = y[0] * p[0]
        SPACE[1] = 1.0
        return swing(t, y, p[0], p[1])

    return solved(fun, method)


SPACE = np.zeros(2)


def fresh_buffer(p, method):
    def fun(t, y):
        space = fnp.zeros(2)
        space[0] = y[1]
        space[1] = -p[0] * y[0] - p[1] * y[1]
        return space

    return solved(fun, method)


@refused
def iterator(p, method):
    steps = iter(range(100_000))

    def fun(t, y):
        return swing(t, y, p[0], p[1]) * (1.0 + 0.0 * next(steps))

    return seen(fun, method, lambda: next(steps))


@refused
def draws(p, method):
    source = np.random.default_rng(3)

    def fun(t, y):
        return swing(t, y, p[0], p[1]) * (1.0 + 1e-12 * source.random())

    return seen(fun, method, lambda: source.random())


@refused
def draws_of_ours(p, method):
    source = ft.random.default_rng(3)

    def fun(t, y):
        return swing(t, y, p[0], p[1]) * (1.0 + 1e-12 * source.random())

    return seen(fun, method, lambda: source.random())


@refused
def draws_of_a_global(p, method):
    np.random.seed(3)  # noqa: NPY002

    def fun(t, y):
        return swing(t, y, p[0], p[1]) * (1.0 + 1e-12 * np.random.random())  # noqa: NPY002

    found = solved(fun, method)
    SEEN.append(np.random.random())  # noqa: NPY002
    return found


SIDES = [
    x for x in list(globals().values())
    if callable(x) and getattr(x, "__module__", "") == __name__ and not isinstance(x, type)
    and getattr(getattr(x, "__code__", None), "co_varnames", ())[:2] == ("p", "method")
]  # fmt: skip
