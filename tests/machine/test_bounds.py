"""Bounds of the difference between machine code and NumPy hold for every run that rounds."""

import numpy as np
import pytest

pytest.importorskip("llvmlite")
pytest.importorskip("scipy")

from scipy import special
from test_answers import VALUES, choosing

import functier as ft
from functier._programs.graph import replace
from functier._programs.machine import backend
from functier._programs.machine.linalg import inner
from functier._programs.machine.parts import bounds
from functier._programs.machine.parts.exactness import is_exact
from functier._programs.trace import trace

EPS = np.finfo(float).eps
C = np.linspace(0.5, 2.0, 12).reshape(3, 4)

ROWS = {
    "add": lambda x: np.exp(x) + np.sin(x),
    "subtract": lambda x: np.exp(x) - np.exp(x * 1.0000001),
    "multiply": lambda x: np.exp(x) * np.sin(x) * C,
    "divide": lambda x: np.sin(x) / np.exp(x) / (np.cos(x) - 0.3),
    "square": lambda x: np.square(np.exp(x)) - np.square(np.sin(x)),
    "signs": lambda x: np.absolute(-np.sin(x)) + +np.cos(x),
    "extrema": lambda x: np.maximum(np.sin(x), np.minimum(np.exp(x), C)),
    "sqrt": lambda x: np.sqrt(np.exp(x) - np.sin(x)),
    "exp": lambda x: np.exp(np.sin(x) * 20.0) + np.expm1(np.cos(x)),
    "log": lambda x: np.log(np.exp(x) + 0.1) + np.log2(np.exp(x)) - np.log10(np.exp(x)),
    "slow": lambda x: np.tanh(np.exp(x)) + np.arctan(np.exp(x)) + np.cos(np.exp(x)),
    "exponentials": lambda x: np.exp2(np.sin(x)) + np.sinh(np.sin(x)) - np.cosh(np.exp(x)),
    "roots": lambda x: np.cbrt(np.exp(x) - 1.0) + np.log1p(np.exp(x)) + np.fabs(np.sin(x)),
    "inverses": lambda x: np.arcsin(np.tanh(x)) + np.arccos(np.sin(x)) + np.arcsinh(np.exp(x)),
    "hyperbolic": lambda x: np.arctanh(np.sin(x)) + np.arccosh(np.exp(x) + 0.9),
    "tan": lambda x: np.tan(np.exp(x)) + np.tan(x),
    "angles": lambda x: np.arctan2(np.sin(x), np.exp(x) - 1.0) * np.hypot(np.sin(x), C),
    "error functions": lambda x: special.erf(np.exp(x)) - special.erfc(np.sin(x)),
    "powers": lambda x: np.exp(x) ** 0.7 + np.exp(x) ** -3 - 1.7 ** np.sin(x) + np.exp(x) ** 0.5,
    "power": lambda x: np.sin(x) ** 3 - np.exp(x) ** 2 + np.power(np.cos(x), 5),
    "sum": lambda x: np.sum(np.exp(x), axis=0) - np.sum(x, axis=0, keepdims=True),
    "mean": lambda x: np.mean(np.sin(x), axis=1) * np.mean(x),
    "maximum": lambda x: np.max(np.sin(x), axis=1) - np.min(np.exp(x)),
    "products": lambda x: np.exp(x) @ np.sin(x).T + x @ C.T,
    "vectors": lambda x: np.exp(x)[0] @ C[1] + np.dot(x[0], np.sin(x)[1]) + x[0] @ x[1],
    "norm": lambda x: np.linalg.norm(np.sin(x)) * np.linalg.norm(x),
    "views": lambda x: np.exp(x).T[::-1, 1] + np.sin(x).reshape(4, 3)[:, 0].copy(),
    "joined": lambda x: np.concatenate([np.exp(x), x])[:3] * np.stack([np.sin(x), C])[0],
    "selected": lambda x: np.where(x > 0.5, np.exp(x), x) * np.zeros_like(np.exp(x)) + np.exp(x),
    "scalars": lambda x: np.exp(x[0, 0]) * x - np.sin(x[0, 0]) ** 2 / (x[1, 1] + 2.0),
    "newton": lambda x: x - (np.exp(x) - C) / (np.exp(x) + 0.1),
    "gradient": ft.grad(lambda x: np.sum(np.tanh(np.exp(x) * x) / (1.5 + np.sin(x)))),
}
"""Functions of an array whose values machine code rounds."""


def asks(value):
    """A function that asks for each number of a value."""

    def f(x):
        found = value(x)
        return 1.0 if np.all(found > 1e30) else found

    return f


def interpreted(graph, x, own, generator=None):
    """The values of all nodes, and of bounds; rounded ones are moved if there is a generator."""
    values = dict(zip(graph.inputs, [x]))
    for node in [*graph.nodes, *own.new]:
        if node.func is None:
            continue
        args = replace(node.args, values.__getitem__)
        found = node.func(*args, **replace(node.kwargs, values.__getitem__))
        if generator is not None and node in own.errors and not is_exact(node, False):
            size = np.abs(found)
            if node.func in (np.sum, np.mean):
                size = node.func(np.abs(args[0]), *args[1:], **node.kwargs)
            elif node.func in (np.matmul, np.dot, bounds.operator.matmul):
                size = np.abs(args[0]) @ np.abs(args[1])
            found = found + 1.5 * EPS * size * generator.uniform(-1, 1, np.shape(found))
        values[node] = found
    return values


def broken(value, count=30):
    """Count the values that are farther from those of a run that rounds than their bounds."""
    generator, found, seen = np.random.default_rng(0), 0, set()
    for _ in range(count):
        x = generator.normal(size=(3, 4))
        graph = trace(asks(value))(x)._graph
        own = bounds.Bounds(graph, False)
        assert own.errors
        assert not own.unbounded
        plain = interpreted(graph, x, own)
        moved = interpreted(graph, x, own, generator)
        for node, error in own.errors.items():
            func = bounds.UFUNC_OF.get(node.func, node.func)
            seen.update((func, bounds.name_of(func)))
            distance = np.abs(plain[node] - moved[node])
            assert np.shape(moved[error]) == np.shape(moved[node])
            found += np.sum(distance > moved[error])  # which a NaN or infinity is not
    return found, seen


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"):
        yield


@pytest.mark.parametrize("name", ROWS)
def test_bounds_hold(name):
    assert not broken(ROWS[name])[0]


def test_every_rule_has_a_row():
    seen = set().union(*[broken(value, 1)[1] for value in ROWS.values()])

    assert {*bounds.RULES} - {np.positive} <= seen


@pytest.mark.parametrize("name, ufunc", [
    ("multiply", np.multiply), ("divide", np.divide), ("square", np.square), ("exp", np.exp),
    ("log", np.log), ("slow", np.tanh), ("add", np.add), ("sqrt", np.sqrt), ("signs", np.absolute),
    ("extrema", np.maximum), ("tan", np.tan), ("angles", np.arctan2), ("angles", np.hypot),
    ("inverses", np.arccos), ("hyperbolic", np.arctanh), ("hyperbolic", np.arccosh),
    ("error functions", "scipy.special.erf"), ("roots", np.cbrt), ("exponentials", np.cosh),
])  # fmt: skip
def test_a_bound_that_forgets_its_operands_is_found(name, ufunc, monkeypatch):
    def alone(own, node, *given):
        return bounds.rounding(own, node)

    monkeypatch.setitem(bounds.RULES, ufunc, alone)

    assert broken(ROWS[name], 60)[0]


@pytest.mark.parametrize("method, name", [
    ("reduction", "sum"), ("product", "products"), ("power", "power"), ("same", "views"),
    ("power", "powers"),
])  # fmt: skip
def test_a_bound_that_is_too_small_is_found(method, name, monkeypatch):
    real = getattr(bounds.Bounds, method)
    monkeypatch.setattr(
        bounds.Bounds, method, lambda self, node: self.times(1e-3, real(self, node))
    )

    assert broken(ROWS[name])[0]


# ---- what they are for ----


@pytest.mark.parametrize("name", ["sum", "mean", "products", "exp", "of vectors", "third power"])
def test_answers_that_are_far_stay_machine_code(name):
    f = choosing(VALUES[name])
    fast = ft.compile(f, backend="llvm", warm=True)
    generator = np.random.default_rng(0)
    for _ in range(20):
        x = generator.normal(size=(6, 8))
        assert np.isclose(fast(x, VALUES[name](x) + 1e-3), f(x, VALUES[name](x) + 1e-3))

    assert "in doubt" not in fast.explain()
    assert "chosen by it" not in fast.explain()


def rough(x):
    return np.sum(np.exp(x))


def test_an_answer_in_doubt_is_numpys_and_said():
    f = choosing(rough)
    fast = ft.compile(f, backend="llvm", warm=True)
    x = np.random.default_rng(0).normal(size=(6, 8))
    far, near = rough(x) + 1.0, rough(x)
    for expected in (far, near, far, near, far):
        assert np.isclose(fast(x, expected), f(x, expected))

    assert "rounding left answers in doubt in" in fast.explain()
    assert len(fast.programs) == 2


def test_doubts_in_a_row_leave_answers_to_numpy():
    f = choosing(rough)
    fast = ft.compile(f, backend="llvm", warm=True)
    for seed in range(8):
        x = np.random.default_rng(seed).normal(size=(6, 8))
        assert fast(x, rough(x)) == pytest.approx(f(x, rough(x)))

    assert "left answers in doubt in" in fast.explain()
    assert fast._traced == 1


def test_answers_at_a_boundary():
    """Calls that are far and near in turn: each answer is that of the function."""

    def f(x, bound):
        return np.tanh(x) if np.sum(np.sin(x)) < bound else -x

    fast = ft.compile(f, backend="llvm", warm=True)
    generator = np.random.default_rng(0)
    for _ in range(60):
        x = generator.normal(size=(6, 8))
        sum_ = np.sum(np.sin(x))
        for bound in (sum_ + 1.0, sum_, np.nextafter(sum_, 9.0)):
            np.testing.assert_allclose(fast(x, bound), f(x, bound), rtol=1e-14)
    assert fast._traced == 2
    assert "in doubt" in fast.explain()


def test_bounds_of_nothing_are_found(monkeypatch):
    for name in ("EPS", "ONE", "FEW", "TINY"):
        monkeypatch.setattr(bounds, name, 0.0)

    with pytest.raises(AssertionError):
        test_answers_at_a_boundary()


# ---- a program of one part, which ends where an answer has changed ----


def smooth(x):
    y = np.exp(-x) * np.sin(3.0 * x)
    return np.hypot(y, x) if y > 0.1 else np.arctan2(y, 1.0 + x * x)


def straight(x):
    return 2.0 * x * x if x > 0.1 else -x / (1.0 + x * x)


@pytest.mark.parametrize("f", [smooth, straight])
def test_a_checked_part_gives_all_answers(f):
    fast = ft.compile(ft.grad(f), backend="llvm", warm=True)
    edge = 0.1
    for x in [*np.linspace(-2.0, 2.0, 101).tolist(), edge, np.nextafter(edge, 1.0), np.nan]:
        np.testing.assert_allclose(fast(x), ft.grad(f)(x), rtol=1e-13)

    assert 1 < fast.explain().count("the whole program") == len(fast.programs)


def newton(m, e):
    x = m + e * np.sin(m)
    for _ in range(9):
        step = (x - e * np.sin(x) - m) / (1.0 - e * np.cos(x))
        x = x - step
        if abs(step) < 1e-15:
            break
    return np.arctan2(np.sqrt(1.0 - e * e) * np.sin(x), np.cos(x) - e)


def test_answers_in_doubt_by_rounding_are_those_of_numpys_loops():
    """Steps become as small as their rounding, so their bounds cannot tell which is the last."""
    fast = ft.compile(newton, backend="llvm", warm=True)
    counted = ft.compile(newton, backend="numpy")
    for m in np.linspace(0.1, 3.0, 200).tolist():
        np.testing.assert_allclose(fast(m, 0.3), counted(m, 0.3), rtol=1e-14)

    assert "left answers in doubt in" in fast.explain()
    assert fast._traced == counted._traced == len(fast.programs)
    text = "".join([str(variant.notes) for variant in fast._variants])
    assert "NumPy's" not in text


def test_a_loop_of_a_function_of_numbers_that_differs_is_not_called(monkeypatch):
    inner.addresses.cache_clear()
    sine, cosine = inner.loop_of(np.sin), inner.loop_of(np.cos)
    monkeypatch.setattr(
        inner, "loop_of", lambda func, real=inner.loop_of: cosine if func is np.sin else real(func)
    )
    try:
        assert sine != cosine
        assert "functier.numpy.sin" not in inner.addresses()
        assert "functier.numpy.cos" in inner.addresses()
    finally:
        monkeypatch.undo()
        inner.addresses.cache_clear()
    assert "functier.numpy.sin" in inner.addresses()


def test_a_part_that_does_not_tell_of_a_changed_answer_is_found(monkeypatch):
    monkeypatch.setattr(
        backend, "checking", lambda given: CHECKING(given).replace("zext i8 %answer", "zext i8 0")
    )

    with pytest.raises(AssertionError):
        test_a_checked_part_gives_all_answers(straight)


CHECKING = backend.checking
