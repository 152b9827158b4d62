"""Values that are printed from inside transforms, in each call."""

import pickle

import numpy as np
import pytest

import functier as ft


def square(x):
    return ft.debug.show(x * x, "square:") + 1.0


@pytest.mark.parametrize("backend", ["numpy", "auto"])
def test_each_call_of_a_compiled_function_prints(backend, capsys):
    f = ft.compile(square, backend=backend)
    for x in (2.0, 3.0, 4.0):
        assert f(x) == x * x + 1.0

    assert capsys.readouterr().out == "square: 4.0\nsquare: 9.0\nsquare: 16.0\n"


@pytest.mark.parametrize("nest", [
    lambda f: ft.vmap(ft.grad(f)), lambda f: ft.compile(ft.vmap(ft.grad(f))),
    lambda f: ft.vmap(ft.compile(ft.jacfwd(f))), lambda f: ft.grad(lambda x: np.sum(ft.vmap(f)(x))),
], ids=["vmap of grad", "compiled", "compiled inside", "grad of vmap"])  # fmt: skip
def test_all_levels_are_taken_off(nest, capsys):
    f = nest(square)
    for _ in range(3):
        np.testing.assert_array_equal(f(np.array([1.0, 2.0])), [2.0, 4.0])

    assert capsys.readouterr().out == "square: [1. 4.]\n" * 3


def test_the_value_is_returned_with_its_derivative():
    assert ft.hessian(lambda x: ft.debug.show(x) ** 3)(2.0) == 12.0


def test_pytrees_and_plain_values(capsys):
    ft.debug.show({"a": 1.0, "b": (np.zeros(2), 3)})
    ft.vmap(lambda x: ft.debug.show([x, 2.0]))(np.arange(2.0))

    assert (
        capsys.readouterr().out == "{'a': 1.0, 'b': (array([0., 0.]), 3)}\n[array([0., 1.]), 2.0]\n"
    )


@pytest.mark.parametrize("backend", ["numpy", "auto"])
def test_each_step_of_a_loop_prints(backend, capsys):
    def loop(x):
        return ft.fori_loop(0, 12, lambda i, y: ft.debug.show(y + 1.0), x)

    f = ft.compile(ft.grad(loop), backend=backend)
    for x in (0.0, 10.0):
        f(x)
        printed = capsys.readouterr().out.split()
        assert [float(y) for y in printed] == [x + i + 1.0 for i in range(12)]


def test_a_program_that_was_read_from_a_pickle_prints(capsys):
    program = pickle.loads(pickle.dumps(ft.trace(square)(2.0)))
    assert program(5.0) == 26.0

    assert capsys.readouterr().out == "square: 4.0\nsquare: 25.0\n"
