"""Chunks of `vmap` in compiled functions: one is recorded, and a loop has the others."""

import numpy as np
import pytest

import functier as ft
from support import alike

X = np.random.default_rng(0).normal(size=(103, 3))
W = np.arange(3.0)


def f(w, x):
    return {"a": np.tanh(x * w), "b": x @ w}


def mapped(w, x, **options):
    return ft.vmap(f, (None, 0), chunk_size=5, **options)(w, x)


def loss(w, x):
    return np.sum(mapped(w, x)["a"] * x)


CALLS = {
    "plain": mapped,
    "last axes": lambda w, x: ft.vmap(f, (None, -1), {"a": -1, "b": 0}, chunk_size=5)(w, x.T),
    "one last axis": lambda w, x: ft.vmap(lambda x: x * w, -1, -1, chunk_size=5)(x.T),
    "grad": ft.grad(loss, (0, 1)),
    "of grad": ft.vmap(ft.grad(lambda w, x: f(w, x)["b"]), (None, 0), chunk_size=5),
    "hessian": ft.hessian(loss),
    "in vmap": lambda w, x: ft.vmap(lambda w: mapped(w, x))(np.stack([w, w + 1])),
    "by a keyword": lambda w, x: ft.vmap(lambda x, w=None: f(w, x), chunk_size=5)(x, w=w),
    "integers": lambda w, x: ft.vmap(lambda i: i * w, chunk_size=5)(np.arange(len(x))),
    "one result": lambda w, x: mapped(w, x, out_dims={"a": 0, "b": 0}),
    "split": lambda w, x: mapped(w, x, branches="split"),
    "of draws": lambda w, x: mapped(w, x, randomness="different"),
    "named": lambda w, x: mapped(w, x, axis_name="i"),
}


@pytest.mark.parametrize("size", [40, 100, 103])
@pytest.mark.parametrize("name", CALLS)
def test_a_compiled_call_in_chunks_is_the_call(name, size):
    call = ft.compile(CALLS[name], backend="numpy")
    for k in range(3):
        alike(call(W + k, X[:size]), CALLS[name](W + k, X[:size]))


@pytest.mark.parametrize("name", ["plain", "one last axis", "grad", "of grad", "in vmap"])
def test_the_number_of_chunks_decides_nothing_of_a_program(name):
    lengths = set()
    for n in (100, 5000):
        call = ft.compile(CALLS[name], backend="numpy")
        call(W, np.ones((n, 3)))
        lengths.add(len(call.programs[0].source.splitlines()))
    assert len(lengths) == 1 and lengths.pop() < 200


def test_an_error_names_the_line_of_the_user():
    def bad(x):
        return x @ np.ones(7)

    with pytest.raises(ValueError, match="size 7 is different from 3") as caught:
        ft.compile(lambda x: ft.vmap(bad, chunk_size=5)(x))(X)
    assert caught.traceback[-1].name == "bad"
