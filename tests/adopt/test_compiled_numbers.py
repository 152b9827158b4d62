"""Functions of `math` and `cmath` in adopted code that is compiled: calls of Python's functions."""

import sys
import types

import numpy as np
import pytest

import functier as ft

CALLS = {
    "tanh": "math.tanh(x)", "sinh": "math.sinh(x)", "log1p": "math.log1p(abs(x))",
    "log10": "math.log10(abs(x))", "gamma": "math.gamma(abs(x))", "lgamma": "math.lgamma(x)",
    "power": "math.pow(abs(x), 1.7)", "hypot": "math.hypot(x, 1.3)", "log": "math.log(abs(x), 3)",
    "remainder": "math.remainder(x, 0.7)", "fsum": "math.fsum([x, 0.1, -x, 1e-17])",
    "dist": "math.dist([x, 1.0], [0.2, x])", "square root": "math.sqrt(abs(x))",
    "complex": "abs(cmath.tanh(x) + cmath.exp(x))",
}  # fmt: skip


ADOPTIONS = []


@pytest.fixture(autouse=True)
def undone():
    """Undo the adoptions of a test: others ask that nothing is adopted."""
    yield
    while ADOPTIONS:
        ADOPTIONS.pop().undo()


def adopted(text):
    """A function of a module that is adopted."""
    users = types.ModuleType("users")
    users.__file__ = "users.py"
    exec(f"import cmath, math\ndef f(x):\n    return {text}\n", vars(users))
    sys.modules["users"] = users
    try:
        ADOPTIONS.append(ft.adopt(users))
    finally:
        del sys.modules["users"]
    return users.f


@pytest.mark.parametrize("name", CALLS)
def test_one_program_gives_pythons_bits(name):
    f = adopted(CALLS[name])
    compiled = ft.compile(f, backend="numpy")

    for x in np.random.default_rng(0).normal(size=60).tolist():
        assert compiled(x) == f(x)
    assert len(compiled.programs) == 1


@pytest.mark.parametrize("name", ["tanh", "power", "log", "hypot"])
def test_one_program_serves_a_gradient(name):
    derivative = ft.grad(adopted(CALLS[name]))
    compiled = ft.compile(derivative, backend="numpy")

    for x in (0.3, 0.4, 1.7):
        assert compiled(x) == derivative(x)
    assert len(compiled.programs) == 1


ANSWERS = {
    "int": "x * [1.0, 2.0, 3.0][int(x)]", "round": "x * round(x)",
    "a look-up": "x * {1: 2.0, 2: 3.0}[int(x)]", "max": "x * max(x, 1.7) + min(x, 1.55)",
    "sorted": "sorted([x, 1.7, 2.0 * x])[1] * x",
}  # fmt: skip


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_of_python_are_guards(name):
    f = adopted(ANSWERS[name])
    batched = ft.vmap(f), ft.vmap(ft.grad(f))
    for function in (f, ft.grad(f), *batched):
        compiled = ft.compile(function, backend="numpy")
        for x in (1.51, 1.6, 2.4, 1.6, 2.3):
            x = np.array([x, x + 0.01]) if function in batched else x
            np.testing.assert_array_equal(compiled(x), function(x))


def test_errors_of_python_are_answers():
    compiled = ft.compile(adopted("math.sqrt(x)"), backend="numpy")
    assert compiled(4.0) == 2.0

    with pytest.raises(ValueError):
        compiled(-1.0)
