"""Modes: see every call while a block runs, without touching the code that makes them.

python examples/modes.py
"""

import numpy as np

import functier as ft
import functier.numpy as fnp
from functier import modes

rng = np.random.default_rng(0)
x, w1, w2 = rng.normal(size=(64, 32)), rng.normal(size=(32, 16)), rng.normal(size=(16, 4))


def model(w1, w2, row):
    return np.tanh(row @ w1) @ w2


def loss(w1, w2, rows):
    return np.mean(ft.vmap(lambda row: np.sum(model(w1, w2, row) ** 2))(rows))


# ---- what happens, and who does it ----

print("A trace: the level that handles a call, and below it what it calls\n")
with modes.LoggingMode() as log:
    ft.grad(lambda w: np.sum(ft.vmap(lambda row: np.tanh(row @ w))(x)))(w1)
print("\n".join(log.lines[:8]), f"\n... {len(log.lines)} lines\n")

# ---- what it costs ----

with modes.FlopCounterMode() as flops, modes.MemoryMode() as memory:
    ft.grad(loss, argnums=(0, 1))(w1, w2, x)
print(f"A gradient of the whole model\n\n{flops}\n\n{memory}\n")


# ---- one of our own ----


class SinglePrecision(modes.TensorDispatchMode):
    """Computes matrix products in single precision, whatever asks for them."""

    def __tensor_dispatch__(self, func, types, args=(), kwargs=None):
        if func in (np.matmul, np.dot):
            return func(*[a.astype(np.float32) for a in args]).astype(np.float64)
        return NotImplemented


exact = ft.grad(loss)(w1, w2, x)
with SinglePrecision():
    rounded = ft.grad(loss)(w1, w2, x)
print(
    f"The gradient with products in single precision is off by {abs(rounded - exact).max():.0e}\n"
)


# ---- the essay's python mode, and no_dispatch ----


class Variable(ft.Tensor):
    """What the mode below makes of every new array, as grad does of its inputs."""


class PythonMode(modes.TensorFunctionMode):
    """Every array that is made or computed in the block is a `Variable`.

    Its own calls on Variables would come back to it, without end: it is off in its handler,
    but switches itself on again there, so that what a function calls is seen, too. Inside
    `no_dispatch` Variables are the arrays that they wrap, and nobody is asked for those.
    """

    made = 0

    def __tensor_function__(self, func, types, args=(), kwargs=None):
        with self, ft.no_dispatch(Variable):
            result = func(*args, **(kwargs or {}))
        if isinstance(result, np.ndarray) and not isinstance(result, Variable):
            self.made += 1
            result = Variable(result)
        return result


with PythonMode() as mode:
    y = fnp.linspace(0.0, 1.0, 5) * 2
    z = np.sin(y) + fnp.ones(5)
print(f"PythonMode: z is a {type(z).__name__}, one of {mode.made}")
print(f"outside, fnp.ones(2) is {fnp.ones(2)!r}")
