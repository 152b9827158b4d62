"""Python code chooses by values: machine code gives the answers that NumPy gives."""

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import functier as ft
from functier._programs.machine.elementary import ROUNDED
from functier._programs.machine.linalg import inner
from functier._programs.machine.lowering.nodes import Lowering
from functier._programs.machine.parts import answers, division

pytestmark = pytest.mark.inside(
    "Which answers a part of machine code asks is a property of its text."
)

SHAPE = 6, 8


def scattered(x):
    y = ft.numpy.zeros(4)
    np.add.at(y, np.array([0, 1, 1, 0, 3, 0, 1, 0]), x[0])
    return y * y


def written(x):
    y = ft.numpy.zeros(8)
    for row in x:
        y[1:] += np.exp(row[:-1]) * y[:-1] + row[1:]
    return y


VALUES = {
    "sum": np.sum,
    "mean": lambda x: np.mean(x, axis=0),
    "sum of a view": lambda x: np.sum((x * 2.0)[:, ::3], axis=0),
    "sum of columns": lambda x: np.sum(x.T.copy() * 1.5, axis=1),
    "sum of float32": lambda x: np.sum(x.astype("f4"), axis=1),
    "product": lambda x: np.prod(x, axis=1),
    "products": lambda x: x @ x.T,
    "product of a view": lambda x: (x.repeat(9, 1) * 2.0)[:, ::3] @ x[:3].ravel(),
    "product of views": lambda x: (x.repeat(9, 1) * 2.0)[None, :, ::3] @ x[:3].ravel(),
    "of vectors": lambda x: x[0] @ x[1],
    "with a vector": lambda x: (x * 1.1) @ x[0] + (x[1] @ x.T) * 2.0,
    "of columns": lambda x: np.dot(x[:, 1], x[:, 2]) * np.sum(x * 3.0) + np.mean(x[0] / 3.0),
    "norm": lambda x: np.linalg.norm(x[0] * 1.1) * np.linalg.norm(x),
    "exp": np.exp,
    "sin of Python": lambda x: np.sin(x[0, 0]) * x,
    "power": lambda x: np.abs(x) ** 1.7,
    "functions of arrays": lambda x: np.arctan2(np.sin(x), 2.0**x) * np.exp(x * 0.3)[:, :1] ** 3,
    "functions of columns": lambda x: np.abs(x[:, 1]) ** 0.3 + np.arctan2(x[:, 2], x[:, 3]),
    "third power": lambda x: x**3,
    "tanh of a sum": lambda x: np.tanh(np.sum(x, axis=1) / 3.0) - x[:, 0],
    "system": lambda x: np.linalg.solve(x[:, :6] + 8 * np.eye(6), x[:, 6]),
    "determinant": lambda x: np.linalg.det(x[:, :6]),
    "scattered": scattered,
    "written": written,
    "chosen by a rounded value": lambda x: np.where(np.sum(x, axis=0) > x[0] * 3.1, x, -x) * 2.0,
    "counted": lambda x: np.sum(np.sin(x) > np.sin(x[::-1])) * 1.5,
    "gradient": ft.grad(lambda x: np.sum(np.sin(x) * np.exp(x))),
    "batch": lambda x: ft.vmap(lambda row: np.sum(np.cos(row)) * row)(x),
}
EXACT = {
    "arithmetic": lambda x: (x * 0.1 + x / 3.0 - 0.7) * np.sqrt(np.abs(x)) + x**2,
    "extrema": lambda x: np.max(np.abs(x * 0.3), axis=0) - np.min(x, axis=0),
    "selected": lambda x: np.where(x > 0.1, x * 0.1, np.floor(x))[::2, 1:].T,
    "joined": lambda x: np.concatenate([x[0], [1.5, 2], x[1] * 0.1]),
    "listed": lambda x: ft.numpy.array([x[0, 0], 2, x[0, 1] * 0.1]),
    "listed rows": lambda x: ft.numpy.array([[x[0, 0], 2.0], [1, x[1, 1] / 3.0], (x[2, 2],) * 2]),
    "powers of numbers": lambda x: np.abs(x[0, 0]) ** -0.2 * x[0, 1] ** 3 + 2.0 ** x[1, 1],
}


def choosing(value):
    """A function that chooses by each bit of a value."""

    def f(x, expected):
        found = value(x)
        return np.sum(np.tanh(x)) + (1.0 if np.all(found == expected) else 2.0)

    return f


def wrong(value, count=60, **options):
    """Count how often another branch is taken; return the count and the compiled function."""
    f = choosing(value)
    fast = ft.compile(f, backend="llvm", warm=True, **options)
    generator, found = np.random.default_rng(0), 0
    for k in range(count):
        x = generator.normal(size=SHAPE)
        expected = value(x)
        if k % 3 == 2:
            expected = np.nextafter(expected, np.inf)
        found += not np.isclose(fast(x, expected), f(x, expected), rtol=1e-9)
    return found, fast


@pytest.mark.parametrize("name", VALUES)
def test_answers_are_numpys(name):
    found, fast = wrong(VALUES[name])

    assert not found
    assert fast._traced == 2
    assert "compiled parts" in fast.explain()


@pytest.mark.parametrize("name", EXACT)
def test_exact_functions_stay_machine_code(name):
    found, fast = wrong(EXACT[name])

    assert not found
    assert "made a choice with it" not in fast.explain()


def test_fused_products_are_not_exact():
    found, fast = wrong(EXACT["arithmetic"], fastmath=True)

    assert not found
    assert "made a choice with it" in fast.explain()


def test_whole_numbers_and_keys_of_rounded_values():
    x = np.random.default_rng(1).normal(size=SHAPE)

    def f(x):
        return x * (int(np.sum(x) * 1e15) % 7)

    fast = ft.compile(f, backend="llvm", warm=True)
    for _ in range(3):
        np.testing.assert_array_equal(fast(x), f(x))
    assert fast._traced == 1


@pytest.mark.parametrize("name", ["sum", "exp", "products", "written", "sum of float32"])
def test_machine_code_that_answers_is_found(name, monkeypatch):
    monkeypatch.setattr(division, "rounded", lambda *given: (set(), set()))

    assert wrong(VALUES[name])[0]


@pytest.mark.parametrize("name", [
    "products", "product of a view", "of vectors", "with a vector", "of columns", "norm", "exp",
    "power", "functions of arrays", "functions of columns",
])  # fmt: skip
def test_products_and_sums_are_those_of_numpys_loops(name):
    found, fast = wrong(VALUES[name])

    assert not found
    assert "made a choice with it" not in fast.explain()


def test_iterations_that_end_by_a_norm_are_one_part():
    """They give NumPy's bits, of arrays in all orders."""

    def solve(a, b):
        x, r = np.zeros_like(b), b - a @ np.zeros_like(b)
        p, before = r, r @ r
        for _ in range(20):
            moved = a @ p
            x, r = x + before / (p @ moved) * p, r - before / (p @ moved) * moved
            if np.linalg.norm(r) < 1e-8:
                break
            p, before = r + np.sum(r * r) / before * p, np.sum(r * r)
        return x

    generator = np.random.default_rng(0)
    for n in (2, 5, 9, 33):
        a = generator.normal(size=(n, n))
        a, b = a @ a.T + n * np.eye(n), generator.normal(size=n)
        for other in (a, np.asfortranarray(a), np.hstack([a, a])[:, :n]):
            fast = ft.compile(solve, backend="llvm", warm=True)
            for _ in range(2):
                np.testing.assert_array_equal(fast(other, b), solve(other, b))
            assert "compiled parts: 1\n" in fast.explain()
            assert "made a choice with it" not in fast.explain()


@pytest.mark.parametrize("name", ["with a vector", "powers of numbers"])
def test_loops_that_are_not_called_are_found(name, monkeypatch):
    def others(low, node):
        return Lowering.rule_for(low, node)(low, node)

    monkeypatch.setattr(division, "exact", others)
    assert wrong({**VALUES, **EXACT}[name])[0]


def test_where_loops_are_unknown_answers_are_numpys(monkeypatch):
    monkeypatch.setattr(inner, "SYMBOLS", {np.matmul: "a", np.add: "b"})
    monkeypatch.setattr(inner, "loop_of", lambda func: 0)
    inner.known_addresses.cache_clear()
    try:
        assert not inner.addresses()
        assert not wrong(VALUES["with a vector"])[0]
    finally:
        monkeypatch.undo()
        inner.known_addresses.cache_clear()
    assert inner.addresses()


def test_memory_of_another_order_is_found(monkeypatch):
    monkeypatch.setattr(answers, "lies_alike", lambda form: True)

    assert wrong(VALUES["product of views"])[0]


def test_rounded_functions_are_known_to_numpy():
    assert all([isinstance(func, np.ufunc) for func in ROUNDED])
