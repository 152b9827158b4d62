"""Custom rules in a program: traced where they are NumPy code, else called as a whole."""

import ctypes
import math
import pickle
import sys
import types

import numpy as np
import pytest

import functier as ft
from faults.planted import programs as faulty
from functier import random as ftr
from strategies.outcomes import difference
from support.basics import raises
from support.compiling import check

X = np.array([0.5, -1.0, 2.0])
CALLS = (X,), (X + 1,), (X,)

SQUARED = np.ascontiguousarray(X**2 + 1)
libm = ctypes.CDLL(None)
libm.tgamma.restype, libm.tgamma.argtypes = ctypes.c_double, [ctypes.c_double]


def in_c(func, x):
    """Call a function of numbers, of the type that code in C takes."""
    if isinstance(x, ft.Tensor):
        raise TypeError("an array, please")
    return np.reshape([func(v) for v in x.ravel().tolist()], x.shape)


@ft.custom_op("surroundings::gamma")
def gamma(x):
    return in_c(libm.tgamma, x)


def operation(func):
    """An operation that the registry does not list."""
    op = ft.custom_op("surroundings::operation", func)
    op.unregister()
    return op


@gamma.register_vmap
def _(info, dims, x):
    return gamma(x), 0


@gamma.register_vjp(setup_context=lambda ctx, inputs, out: ctx.save_for_backward(*inputs, out))
def _(ctx, g):
    x, y = ctx.saved_tensors
    return g * y * in_c(lambda v: math.log(v) - 0.5 / v, x)


class Sine(ft.Function):
    @staticmethod
    def forward(x):
        return in_c(math.sin, x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    @ft.once_differentiable
    def backward(ctx, g):
        return g * in_c(math.cos, *ctx.saved_tensors)


class Cube(ft.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        return g * 3 * ctx.saved_tensors[0] ** 2


class Doubled(ft.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        x[...] = x * 2
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 2


def doubled(x):
    y = x * 1
    Doubled.apply(y)
    return y


@ft.custom_vjp
def sine(x):
    return in_c(math.sin, x)


sine.defvjp(lambda x: (sine(x), x), lambda x, g: (g * in_c(math.cos, x),))


@ft.custom_jvp
def cosine(x):
    return in_c(math.cos, x)


cosine.defjvp(lambda p, t: (cosine(*p), -t[0] * in_c(math.sin, *p)))


@ft.custom_op("surroundings::both")
def both(xs, k=2):
    return np.array(sum(map(math.fsum, xs))), xs[0] * k


both.register_vjp(lambda ctx, g, h: ([g * np.ones(3) + 2 * h, g * np.ones(3)], None))
by_loop = ft.sequential_vmap(lambda x: np.sin(x) * np.sum(x))

CUSTOM = {
    "operation": gamma,
    "operation, grad": ft.grad(lambda x: np.sum(gamma(x) * x)),
    "operation, vmap": lambda x: ft.vmap(gamma)(np.outer(x, x)),
    "operation of containers": lambda x: both([x, x * 2]),
    "operation of containers, grad": ft.grad(lambda x: sum(map(np.sum, both([x, x * 2])))),
    "operation of containers, jvp": lambda x: ft.jvp(lambda x: both([x, x]), (x,), (x,)),
    "Function": Sine.apply,
    "Function, grad": ft.grad(lambda x: np.sum(Sine.apply(x))),
    "Function with its context": ft.hessian(lambda x: np.sum(Cube.apply(x))),
    "Function that writes": doubled,
    "Function that writes, grad": ft.grad(lambda x: np.sum(doubled(x) * x)),
    "custom_vjp": sine,
    "custom_vjp, grad": ft.grad(lambda x: np.sum(sine(x))),
    "custom_jvp": lambda x: ft.jvp(cosine, (x,), (x,)),
    "sequential_vmap": lambda x: ft.vmap(by_loop)(np.outer(x, x)),
    "frompyfunc": lambda x: np.frompyfunc(lambda v: v * 2, 1, 1)(x),
}


@pytest.mark.parametrize("name", CUSTOM)
def test_custom_rules(name):
    check(CUSTOM[name], (SQUARED,), (SQUARED + 1,), programs=1)


def test_a_kernel_for_arrays_is_the_one_that_runs():
    with operation(lambda x: x * 0).replaced(lambda x: x * 3, types=np.ndarray) as op:
        check(op, *CALLS)
        check(lambda x: op(x) + op(x * 2), *CALLS)


def test_rules_by_which_a_batch_cannot_pass_are_refused():
    f = ft.jacrev(gamma)
    f(SQUARED)

    with pytest.raises(ft.LevelError, match=r"a rule of surroundings::gamma fails on tensors"):
        ft.compile(f)(SQUARED)


def test_an_operation_of_a_module_is_imported():
    user = types.ModuleType("user_of_operations")
    exec(
        "import functier\n"
        "@functier.custom_op('surroundings::tripled')\n"
        "def tripled(x): return 3 * x\n",
        vars(user),
    )  # fmt: skip
    sys.modules[user.__name__] = user
    try:
        program = ft.trace(lambda x: user.tripled(x) + 1)(X)
        space = {}
        exec(program.source, space)
        assert np.array_equal(space["program_lambda"](X), 3 * X + 1)
        assert np.array_equal(pickle.loads(pickle.dumps(program))(X), 3 * X + 1)
    finally:
        user.tripled.unregister()
        del sys.modules[user.__name__]


def test_a_program_of_rules_in_c_pickles():
    program = ft.trace(ft.grad(lambda x: np.sum(sine(x))))(X)
    again = pickle.loads(pickle.dumps(program))

    assert difference(again(X), np.cos(X)) is None


def test_operations_that_are_not_functions_of_their_arguments_are_refused():
    rng = ftr.default_rng(0)
    x = X.copy()
    noise = operation(lambda x: x + rng.normal(size=3))
    with pytest.raises(ft.RandomnessError, match="surroundings::operation draws random numbers"):
        ft.compile(noise)(x)
    writes = operation(lambda x: x.__imul__(2))
    with pytest.raises(ft.MutationError, match="surroundings::operation has changed an argument"):
        ft.compile(writes)(x)
    assert np.array_equal(x, X)
    closes = lambda x: operation(lambda y: in_c(math.sin, y) * x[0])(x)  # noqa: E731
    raises(ft.LevelError, lambda: ft.compile(closes)(x), "closes over a tensor")


def test_a_draw_of_a_rule_that_no_program_makes_is_refused_by_its_name():
    rng = ftr.default_rng(0)
    noisy = ft.custom_vjp(lambda x: x * len(rng.bytes(2)))
    noisy.defvjp(lambda x: (noisy(x), None), lambda _, g: (g,))
    with pytest.raises(ft.RandomnessError, match=r"rng\.bytes\(\.\.\.\) would be the same in each"):
        ft.compile(noisy)(X)


def test_the_error_of_a_rule_is_its_own():
    def fails(x):
        raise KeyError("mine")

    raises(KeyError, lambda: ft.compile(operation(fails))(X), "mine")


# ---- planted faults ----


def test_rules_that_are_not_called_as_a_whole_are_found(monkeypatch):
    faulty.rules_that_are_not_called_as_a_whole(monkeypatch)

    for name in ("Function", "custom_vjp, grad", "operation, grad"):
        raises(TypeError, lambda: test_custom_rules(name), "an array, please")


def test_a_write_that_is_not_looked_for_is_found(monkeypatch):
    faulty.write_that_is_not_looked_for(monkeypatch)

    with pytest.raises(pytest.fail.Exception):
        test_operations_that_are_not_functions_of_their_arguments_are_refused()


def test_an_operation_that_changes_its_argument_is_refused():
    @ft.custom_op("surroundings::spoiling")
    def spoiling(x: np.ndarray) -> np.ndarray:
        x += 1.0
        return x * 2.0

    x = np.ones(3)
    with pytest.raises(ft.MutationError, match="has changed an argument in place"):
        ft.trace(lambda x: spoiling(x * 1.0))(x)


@pytest.mark.parametrize("size", [3, (2, 2)])
def test_a_gradient_of_windows_adds_slices(size):
    windows = np.lib.stride_tricks.sliding_window_view
    x = np.ones((8,) * np.size(size))
    program = ft.trace(ft.grad(lambda x: np.sum(windows(x, size) ** 2)))
    assert "add.at" not in program(x).source
