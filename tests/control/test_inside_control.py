"""Tests of loops and conditions that look inside: nodes of programs, and schedules."""

from functools import partial
from math import comb

import numpy as np
import pytest

import functier as ft
from functier._control.schedule import split
from functier._programs.loops import every_node, is_loop
from functier.scipy.linalg import cho_factor, cho_solve
from support.compiling import called, leaves

pytestmark = pytest.mark.inside(
    "Nodes of a program are counted, and schedules compared with the best one."
)


# ---- given ----


X = np.array([0.1, 0.4, 0.7])


check = partial(called, of=leaves, backend="numpy")


def nodes_of(compiled):
    (program,) = compiled.programs
    return [*every_node(program._graph)]


def by_scan(x, n):
    return np.sum(ft.scan(lambda c, row: (np.sin(c) + row, c * row), x, np.full((n, 3), 0.1))[1])


def by_fori(x, n):
    return np.sum(ft.fori_loop(0, n, lambda i, c: np.sin(c) + x * i / n, x))


def by_map(x, n):
    return np.sum(ft.map(lambda row: np.sin(x * row), np.full((n, 3), 0.1)))


def by_while(x, n):
    return np.sum(ft.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, np.sin(c[1])), (0, x))[1])


WAYS = {
    "value": lambda f: f,
    "grad": ft.grad,
    "hessian": ft.hessian,
    "vmap of grad": lambda f: lambda x: ft.vmap(ft.grad(f))(np.stack([x, x * 0.5])),
}


@pytest.mark.parametrize("f", [by_scan, by_fori, by_map, by_while])
@pytest.mark.parametrize("way", WAYS)
def test_as_many_nodes_for_any_length(f, way):
    counts = []
    for n in (100, 400):
        compiled = ft.compile(WAYS[way](lambda x, n=n: f(x, n)), backend="numpy")
        compiled(X)
        counts.append(len(nodes_of(compiled)))
        assert any(map(is_loop, nodes_of(compiled)))

    assert counts[0] == counts[1] < 200


@pytest.mark.slow
@pytest.mark.parametrize("f", [by_scan, by_fori, by_map, by_while])
def test_as_many_nodes_for_ten_thousand_steps(f):
    counts = []
    for n in (100, 10_000):
        compiled = ft.compile(ft.grad(lambda x, n=n: f(x, n)), backend="numpy")
        compiled(X)
        counts.append(len(nodes_of(compiled)))

    assert counts[0] == counts[1]


def test_a_first_step_that_asks_for_types():
    """SciPy asks for the types of plain values, which only the first step has."""

    def f(x):
        def body(c, row):
            factor = cho_factor(np.eye(3) * (2.0 + np.sum(c * c)))
            return cho_solve(factor, c) + x * row, None

        return ft.scan(body, np.ones(3), np.linspace(0.0, 1.0, 20))[0]

    compiled = check(f, (X,), (X + 1,))

    assert any(map(is_loop, nodes_of(compiled)))


# ---- slots ----


def optimum(n, slots):
    """The fewest steps that run again to take n steps back: Griewank and Walther, 2000."""
    r = 1
    while comb(slots + r, r) < n:
        r += 1
    return r * n - comb(slots + r, r - 1)


@pytest.mark.parametrize("largest", [1_000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_the_split_is_best_for_all_sizes(largest):
    before: list[int] = []
    for slots in range(1, 51):
        again = [0, 0]
        for n in range(2, largest + 1):
            m = split(n, slots)
            again.append(m + again[m] + (before[n - m] if slots > 1 else 0))
            assert 0 < m < n and again[n] == optimum(n, slots), (n, slots)
        before = again
