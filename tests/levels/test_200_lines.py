"""The example that shows the idea in 200 lines, beside the library."""

import runpy
from pathlib import Path

import numpy as np
import pytest

import functier as ft
from support.basics import close, raises

FILE = Path(__file__).parents[2] / "examples" / "functier_in_200_lines.py"
SMALL = runpy.run_path(str(FILE), run_name="small")
X = np.array([[0.3, -0.2, 0.5], [-0.4, 0.1, 0.2]])
W = np.array([0.7, -0.4, 0.9])

FUNCTIONS = {
    "elementwise": lambda x: np.sum(np.tanh(np.sin(x) * np.exp(-x)) / (2.0 + np.cos(x))),
    "powers": lambda x: np.sum(x * x * x - np.log(3.0 + x)),
    "broadcasting": lambda x: np.sum(x * np.reshape(x, (3, 1)) - W),
    "sums": lambda x: np.sum(np.sin(np.sum(np.reshape(x, (3, 1)) * W, axis=-1))),
    "axes": lambda x: np.sum(np.exp(np.sum(np.reshape(x, (3, 1)) * x, axis=0)) * x),
    "constant": lambda x: np.sum(W),
}
NESTINGS = {
    "grad": lambda T, f: T["grad"](f)(W),
    "jvp": lambda T, f: T["jvp"](f, W, X[0]),
    "vmap": lambda T, f: T["vmap"](f)(X),
    "vmap of vmap": lambda T, f: T["vmap"](lambda x: T["vmap"](lambda y: f(x * y))(X))(X),
    "vmap of grad": lambda T, f: T["vmap"](T["grad"](f))(X),
    "grad of vmap": lambda T, f: T["grad"](lambda w: np.sum(T["vmap"](lambda x: f(w * x))(X)))(W),
    "vmap of jvp": lambda T, f: T["vmap"](lambda t: T["jvp"](f, W, t)[1])(X),
    "jvp of grad": lambda T, f: T["jvp"](T["grad"](f), W, X[1]),
    "grad of jvp": lambda T, f: T["grad"](lambda w: T["jvp"](f, w, X[1])[1])(W),
    "grad of grad": lambda T, f: T["grad"](lambda w: np.sum(T["grad"](f)(w) * X[0]))(W),
    "three": lambda T, f: T["vmap"](lambda t: T["jvp"](T["grad"](f), W, t)[1])(np.eye(3)),
}
LARGE = {"vmap": ft.vmap, "grad": ft.grad, "jvp": lambda f, x, t: ft.jvp(f, (x,), (t,))}


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("nesting", NESTINGS)
def test_it_computes_what_the_library_does(nesting, function):
    use, f = NESTINGS[nesting], FUNCTIONS[function]
    found, expected = use(SMALL, f), use(LARGE, f)
    if isinstance(expected, tuple):
        for a, b in zip(found, expected, strict=True):
            close(a, b)
    else:
        close(found, expected)


def test_two_variables_are_not_taken_for_each_other():
    grad = SMALL["grad"]

    assert grad(lambda x: x * grad(lambda y: x + y)(1.0))(1.0) == 1.0


def test_a_tensor_that_escapes_raises():
    kept = []
    SMALL["vmap"](lambda x: kept.append(x) or x)(X)

    with pytest.raises(RuntimeError, match="a tensor of Batch was used after its call was over"):
        kept[0] + 1.0


def test_unrelated_levels_do_not_mix():
    run, batch, reverse = SMALL["run"], SMALL["Batch"], SMALL["Reverse"]
    ambient, tensor = SMALL["AMBIENT"], SMALL["Tensor"]

    def beside(cls):
        token = ambient.set(tensor)
        try:
            return run(reverse, lambda other: other(1.0, (0, [])) + cls(X))
        finally:
            ambient.reset(token)

    raises(TypeError, lambda: run(batch, beside))


@pytest.mark.parametrize(
    "f", [np.sqrt, lambda x: np.sum(x, 0), lambda x: np.sum(x, keepdims=True), np.add.reduce]
)
def test_what_has_no_rule_is_refused(f):
    with pytest.raises((NotImplementedError, TypeError)):
        SMALL["vmap"](f)(X)
