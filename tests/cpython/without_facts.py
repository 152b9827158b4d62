"""Programs of users that need facts about CPython. Without a fact each is right, or refused.

``python without_facts.py NAME`` runs them in an interpreter without that fact, and prints what
they give.
"""

import dataclasses
import gc
import importlib.util
import json
import sys
import types
import warnings
from pathlib import Path

FACTS = Path(__file__).parents[2] / "src" / "functier" / "_cpython" / "facts.py"


def without(name):
    """Let the fact `name` not hold, before functier asks for it."""
    spec = importlib.util.spec_from_file_location("functier._cpython.facts", FACTS)
    sys.modules[spec.name] = facts = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(facts)
    facts.FACTS[name].holds = False


if __name__ == "__main__" and len(sys.argv) > 1:
    without(sys.argv[1])

import numpy as np  # noqa: E402

import functier as ft  # noqa: E402
import functier.numpy as fnp  # noqa: E402

X = np.array([1.0, 2.0, 4.0])


def derivatives():
    """Levels in levels, and classes that are used again."""
    rows = [ft.vmap(ft.grad(lambda x: x**3))(X), ft.hessian(lambda x: np.sum(x**3))(X)]
    return [*rows, ft.jvp(np.sin, (X,), (X,))[1], ft.linearize(np.exp, X)[1](X)]


def escaped_tensor():
    """A tensor that has escaped, used in a later level of the same form."""
    held = []

    def f(x):
        held.append(x)
        return x * 2

    ft.vmap(f)(X)
    return ft.vmap(lambda x: x + held[0])(X)


def infinite_cotangents():
    """A backward pass in the rule of another one, where zeros meet infinity."""

    @ft.custom_vjp
    def f(x):
        return np.sqrt(x)

    f.defvjp(lambda x: (np.sqrt(x), x), lambda x, g: (g * ft.grad(np.sqrt)(x),))
    return ft.grad(lambda x: np.where(x > 0, f(np.where(x > 0, x, 0.0)), 0.0))(0.0)


def block():
    """A level of a ``with`` block."""
    with ft.vmap() as B:
        return ft.unwrap(B(X) * 2.0)


def block_in_generator():
    """A level of a block in a generator that is suspended while another level computes."""

    def doubled():
        with ft.grad() as G:
            x = G(3.0)
            yield
            yield ft.unwrap(x * x)

    steps = doubled()
    next(steps)
    outer = ft.vmap(lambda x: x * 3)(X)
    return [outer, next(steps)]


def named_axis():
    return ft.vmap(lambda x: x / ft.psum(x, "i"), axis_name="i")(X)


def writes_to_views():
    """Writes to a tensor, of which a view is in a list."""

    def f(x):
        y = x * 2
        held = [y[:2], y[::-1]]
        y[0] = 7.0
        held[1][0] += x[0]
        return y + np.sum(held[0])

    return ft.vmap(f)(np.outer(X, X))


def writes_inside():
    """A write at an inner level to a tensor that an outer level may hold, or does."""

    def f(x, keep):
        y = x * 2
        held = [y] if keep else None

        def g(z):
            made = x * 3
            made[0] = z
            if keep:
                y[1] = 5.0
            return np.sum(made * made) + np.sum(y)

        return ft.grad(g)(2.0) + np.sum(held[0] if keep else x)

    return [ft.vmap(lambda x, keep=keep: f(x, keep))(np.outer(X, X)) for keep in (False, True)]


def write_of_inner_value():
    """A value of an inner level, written to what a container of a frame outside has."""

    def f(x):
        box = [[x * 2]]

        def g(z):
            box[0][0][0] = z
            return z * z

        return ft.grad(g)(2.0) + np.sum(box[0][0])

    return ft.vmap(f)(np.outer(X, X))


def required_memory():
    def f(x):
        a = fnp.zeros(3)
        a[...] = x
        b = np.require(a, None, ["O"])
        a[0] = 0.0
        return np.sum(b)

    return ft.vmap(f)(X)


def refilled_array():
    """A large array that is refilled after a rule has kept it."""
    a = np.ones((300, 300))

    def f(x):
        y = np.sum(a * x)
        a[...] = 2.0
        return y * x

    return ft.grad(f)(3.0)


DIFFERENT = {"randomness": "different"}


def unseeded_generator():
    return ft.vmap(lambda x: x + np.random.default_rng().normal(), **DIFFERENT)(X)


RNG = np.random.default_rng(0)


def shared_generator():
    return ft.vmap(lambda x: x + RNG.normal(), **DIFFERENT)(X)


class Box:
    """An object that has a generator."""

    rng = np.random.default_rng(0)


def generator_in_an_object():
    boxes = [Box()]
    boxes[0].own = [np.random.default_rng(1)]
    return ft.vmap(lambda x: x + boxes[0].own[0].normal(), **DIFFERENT)(X)


class Doubled(ft.Function):
    """A function that writes to its argument."""

    @staticmethod
    def forward(ctx, x):
        x *= 2.0
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 2.0


def marked_dirty():
    def f(x):
        y = fnp.array(x * 1.0)
        Doubled.apply(y)
        return np.sum(y * y)

    return ft.grad(f)(X)


def leak():
    held = []
    with ft.debug.check_leaks():
        ft.vmap(lambda x: held.append(x) or x)(X)
    return len(held)


def conversion():
    return ft.vmap(float)(X)


def text_by_an_operator():
    return ft.grad(lambda x: x * len("%.3f" % x))(2.0)  # noqa: UP031


def shuffled():
    def f(x):
        np.random.default_rng(0).shuffle(x)
        return x

    return ft.vmap(f)(np.outer(X, X))


def found_nan():
    with ft.debug.debug_nans():
        return ft.grad(lambda x: np.sum(np.log(x) * 0.0))(np.zeros(2))


def unknown_name():
    """Python's own error; with another text where that can be."""
    try:
        return ft.jit
    except AttributeError as error:
        return len("functier.compile") if "functier" in str(error) else str(error)


def parts():
    """A batch in parts."""
    return ft.vmap(lambda x: x * 2, chunk_size=2)(X)


def endless_hook():
    """A hook that calls itself without end."""

    class Own(ft.Tensor):
        @classmethod
        def __tensor_function__(cls, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    return np.sin(Own(X))


SOURCE = """
import math
import numpy as np

def f(x):
    values = []
    for i in range(3):
        values.append(math.sin(x) * float(x) + i)
    return np.array(values) * len(values)

def text(x):
    return "%.3f" % x
"""


def adopted():
    """Code that cannot be edited, and the same code afterwards."""
    module = types.ModuleType("adopted_here")
    exec(compile(SOURCE, "adopted_here.py", "exec"), vars(module))
    sys.modules["adopted_here"] = module
    try:
        with ft.adopt(module):
            inside = ft.jacfwd(module.f)(2.0)
            texts = ft.vmap(lambda x: x * len(module.text(x)))(X[:1])
        return [inside, texts, module.f(2.0)]
    finally:
        del sys.modules["adopted_here"]


FACTOR = [2.0]


def compiled():
    """A function that reads a global, which changes."""
    f = ft.compile(lambda x: np.sum(np.sin(x)) * FACTOR[0])
    first = f(X)
    FACTOR[0] = 3.0
    second = f(X)
    FACTOR[0] = 2.0
    return [first, second]


@dataclasses.dataclass(slots=True)
class Rate:
    """An argument that has a slot."""

    rate: float


def compiled_with_object():
    f = ft.compile(lambda x, d: np.sum(x * d.rate) + RATES["a"].rate)
    return [f(X, Rate(rate)) for rate in (1.0, 1.0, 3.0)]


RATES = {"a": Rate(5.0)}


def compiled_loops():
    """Loops in machine code, and a product."""
    f = ft.compile(ft.grad(lambda x: np.sum(np.sin(x) * np.cos(x) @ x)))
    return [f(np.arange(400.0)), f(np.ones(400))]


def traced():
    program = ft.trace(lambda x: np.sort(x)[0] * np.cos(x))(X)
    return program(X + 1)


PROGRAMS = [f for f in list(globals().values()) if isinstance(f, types.FunctionType)]
PROGRAMS = {f.__name__: f for f in PROGRAMS if f is not without}


REFUSALS = (
    ft.LevelError, ft.UnsupportedError, ft.LeakError, ft.NonFiniteError, RecursionError,
    NotImplementedError,
)  # fmt: skip


def outcome(program):
    """Return the result of a program as lists, or the name of its error."""
    try:
        result = program()
    except REFUSALS as error:
        return type(error).__name__
    rows = result if isinstance(result, list) else [result]
    return [np.asarray(row).tolist() for row in rows]


def outcomes():
    with (
        warnings.catch_warnings(action="ignore", category=ft.FallbackWarning),
        np.errstate(all="ignore"),
    ):
        return {name: outcome(program) for name, program in PROGRAMS.items()}


if __name__ == "__main__":
    gc.collect()
    print(json.dumps(outcomes()))
