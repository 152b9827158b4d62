"""Tests of custom rules that look inside."""

import numpy as np
import pytest

import functier as ft
from functier._core import blocks as _observers
from functier._levels.tape import node_numbers
from support.functions import function

pytestmark = pytest.mark.inside("What is recorded and which levels are used again is counted.")


# ---- custom errors ----


X = np.array([0.5, 1.5, -0.4])


def test_levels_are_used_again():
    """Neither a tape nor a rule keeps the class of a level."""
    f = ft.custom_vjp(np.sin)
    f.defvjp(lambda x: (np.sin(x), np.cos(x)), lambda c, g: (g * c,))
    h = ft.custom_jvp(np.sin)
    h.defjvp(lambda p, t: (np.sin(p[0]), np.cos(p[0]) * t[0]))
    seen = []

    def note(level):
        seen.append(id(level.cls))

    calls = [
        lambda f: ft.grad(lambda x: np.sum(f(x)))(X),
        lambda f: ft.grad(lambda x: np.sum(ft.vmap(f)(x)))(X),
        lambda f: ft.vmap(ft.grad(f))(X),
        lambda f: ft.jvp(f, (X,), (X,)),
        lambda f: ft.jvp(ft.vmap(f), (X,), (X,)),
    ]
    _observers.LEVELS.append(note)
    try:
        for function in (f, h):
            for call in calls:
                call(function)
                call(function)
                before, seen[:] = {*seen}, []
                call(function)
                assert {*seen} <= before
                assert seen
                seen.clear()
    finally:
        _observers.LEVELS.remove(note)


# ---- function ----


V = np.array([0.5, -1.5, 2.0])


def test_forward_records_nothing():
    """C13: its inputs are not the caller's tensors, and no node is made."""
    seen = []

    def forward(x):
        start = next(node_numbers)
        y = np.sin(np.cos(x) * x) + x
        seen.append((type(x), next(node_numbers) - start))
        return y

    op = function(forward, lambda ctx, g: g)
    ft.grad(lambda x: np.sum(op.apply(x)))(V)
    ft.grad(lambda x: np.sum(ft.grad(lambda y: np.sum(op.apply(y) * x))(x)))(V)
    assert seen == [(np.ndarray, 1)] * 2
