"""Loops whose length is a value are machine code for any length."""

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import functier as ft
from faults.planted import programs as faulty
from support.basics import calls_of
from support.bits import difference


def numbers(x):
    def step(c):
        t, y, z = c
        h = 0.1 / (1 + y * y)
        return t + 4 * h, y + h * (0.1 * z - 0.01 * y), z - h * (0.1 * y + 0.02 * z * y)

    return ft.while_loop(lambda c: c[0] < 10.0, step, (8.0 * x, x, 1.0 + 0.0 * x))[1]


def powers(x):
    def step(c):
        t, h, y = c
        h = np.minimum(0.5, h * 0.9 * np.maximum(np.abs(h * y), 1e-4) ** -0.2)
        return t + h, h, y + h * np.cos(y)

    return ft.while_loop(lambda c: c[0] < 9.0, step, (8.0 * x, 0.01 + 0.0 * x, x))[2]


def arrays(size):
    a = np.linspace(0.1, 1.0, size)

    def f(x):
        def step(c):
            t, y, before, z = c
            h = 0.2 / (1.0 + np.sum(y * y) / size)
            return t + h, y + h * (before - 1.1 * y), y, z + h * np.sin(y)

        _, y, before, z = ft.while_loop(lambda c: c[0] < 10.0, step, (8.0 * x, a * x, a, a))
        return np.sum(y * before * z)

    return f


def two(x):
    y = numbers(x)
    return numbers(1.0 - x) * y + ft.while_loop(lambda c: c < 3.0, lambda c: c * 1.1, 0.3 + y * y)


FUNCTIONS = {
    "numbers": numbers, "powers": powers, "small arrays": arrays(4), "large arrays": arrays(40),
    "two loops": two,
}  # fmt: skip
TRANSFORMS = {
    "value": lambda f: f, "jvp": lambda f: lambda x: ft.jvp(f, (x,), (1.5,)), "grad": ft.grad,
    "forward over reverse": lambda f: ft.jacfwd(ft.grad(f)), "value and grad": ft.value_and_grad,
}  # fmt: skip
STARTS = 0.9, 1.13, 0.5, 0.98, 1.05, 0.1, -1.0, 0.9, 0.3, 1.21, 1.3
"""The first number of steps is small. Those after it are smaller and larger, up to 5 times."""


FEW = 20
"""Calls of functions that a collection may make meanwhile; some steps as NumPy calls make more."""


def compiled(f):
    return ft.compile(f, backend="llvm", warm=True)


def wrong(f, starts=STARTS):
    """Return the starts for which a compiled function gives something else."""
    fast = compiled(f)
    return [x for x in starts if difference(fast(x), f(x), rtol=1e-8) is not None]


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_length_is_right(name, transform):
    assert not wrong(TRANSFORMS[transform](FUNCTIONS[name]))


@pytest.mark.parametrize("transform", ["value", "jvp", "grad"])
@pytest.mark.parametrize("name", ["numbers", "powers", "small arrays", "large arrays"])
def test_machine_code_serves_each_length(name, transform):
    """NumPy's program makes some calls of functions in each step."""
    fast = compiled(TRANSFORMS[transform](FUNCTIONS[name]))
    fast(0.3)

    calls = [calls_of(lambda x=x: fast(x)) for x in (0.5, 0.6, 0.1, 0.9, 0.3)]
    assert max(calls) - min(calls) < FEW
    assert "NumPy's" not in fast.explain() and len(fast.programs) == 1


def test_memory_grows_with_the_lengths():
    """The second call with so many steps is machine code again."""
    f, fast = ft.grad(numbers), compiled(ft.grad(numbers))
    for x in (0.9, -9.0, -9.0, -9.0, 0.9, -9.5):
        assert difference(fast(x), f(x), rtol=1e-8) is None

    assert calls_of(lambda: fast(-9.0)) < calls_of(lambda: fast(0.9)) + FEW
    assert len(fast.programs) == 1


@pytest.mark.parametrize("fault", [
    faulty.lists_that_end_a_row_early, faulty.no_last_values, faulty.one_more_step,
], ids=lambda fault: fault.__name__)  # fmt: skip
def test_a_planted_fault_is_found(fault, monkeypatch):
    fault(monkeypatch)

    assert wrong(ft.grad(FUNCTIONS["large arrays"]))


def test_what_else_is_made_of_a_list_has_the_length_of_the_trace():
    """An array of all steps, whose form is another one for each length."""

    def f(x):
        return ft.grad(lambda x: numbers(x) ** 2)(x) * np.sum(ft.jacfwd(numbers)(x))

    assert not wrong(ft.grad(f), STARTS[:6])


@pytest.mark.parametrize("f", [
    ft.vmap(numbers), ft.vmap(ft.grad(numbers)), ft.grad(lambda x: np.sum(ft.vmap(numbers)(x))),
], ids=["vmap", "vmap of grad", "grad of vmap"])  # fmt: skip
def test_batches_have_the_length_of_their_longest_row(f):
    assert not wrong(f, [np.array([0.9, x, 0.7]) for x in (0.5, 1.0, 0.3, -1.0)])
