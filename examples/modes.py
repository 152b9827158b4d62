"""Modes: observe every call in a block, without changing the code that makes the calls.

Run it with ``python examples/modes.py``.
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

with modes.FlopCounterMode() as flops:
    ft.grad(loss, argnums=(0, 1))(w1, w2, x)
print(f"A gradient of the whole model\n\n{flops}\n")


# ---- one of our own ----


class SinglePrecision(modes.TensorDispatchMode):
    """Computes all matrix products in the block in single precision."""

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
    """The class of every new array under the mode below."""


class PythonMode(modes.TensorFunctionMode):
    """Makes every array that is created or computed in the block a `Variable`.

    A mode is off in its handler. This one switches itself on again there, so that it also sees
    the calls that a function makes. Inside `no_dispatch` a `Variable` acts as the array that it
    wraps, so these calls do not come back to the mode.
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
