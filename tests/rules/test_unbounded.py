"""Infinite derivatives beside exact zeros: what does not count, or does not move, gives zero;
kinks.
"""

import re
from pathlib import Path

import numpy as np
import pytest

import functier as ft
from faults.planted import levels as faulty
from support.basics import HAS_PROGRAMS, close, equal, raises, silent

GUARDED = {
    "sqrt": (lambda x: np.where(x > 0, np.sqrt(x), 0.0), [0.0, -1.0]),
    "log": (lambda x: np.where(x > 0, np.log(x), 0.0), [0.0, -1.0]),
    "quotient": (lambda x: np.where(x != 0, np.sin(x) / x, 1.0), [0.0]),
    "reciprocal": (lambda x: np.where(x != 0, np.reciprocal(x), 0.0), [0.0]),
    "power": (lambda x: np.where(x > 0, x**-1.5, 0.0), [0.0, -1.0]),
    "powers": (lambda x: np.where(x > 0, np.power(x, np.float64(0.3) + 0 * x), 0.0), [-1.0]),
    "cbrt": (lambda x: np.where(x != 0, np.cbrt(x), 0.0), [0.0]),
    "arccos": (lambda x: np.where(np.abs(x) < 1, np.arccos(x), 0.0), [1.0, -1.0, 2.0]),
    "arccosh": (lambda x: np.where(x > 1, np.arccosh(x), 0.0), [1.0, 0.5]),
    "arctanh": (lambda x: np.where(np.abs(x) < 1, np.arctanh(x), 0.0), [1.0, 2.0]),
}
"""Branches that `numpy.where` does not take: zero, with no guard inside."""

FLAT = {
    "root of a square": (lambda x: np.sqrt(x * x), 0.0),
    "root of a sum of squares": (lambda x: np.sqrt(np.sum((x - x) ** 2)), np.array([1.0, 2.0])),
    "root of a clipped number": (lambda x: np.sqrt(np.maximum(-x, 0.0)), 1.0),
    "angle of a vector with itself": (lambda x: np.arccos(np.clip(2 * x, -1, 1)), 3.0),
    "product": (lambda x: np.sqrt(x @ np.zeros((2, 2)) @ x), np.array([1.0, 2.0])),
}
"""Operands of norms at zero, and those that do not move with x at all."""

WRITES = {
    "diagonal": lambda e: np.fill_diagonal(e, 0.0),
    "mask": lambda e: e.__setitem__(np.eye(len(e)) > 0, 0.0),
    "places": lambda e: e.__setitem__((np.arange(len(e)), np.arange(len(e))), 0.0),
    "rows": lambda e: [e[i].__setitem__(i, 0.0) for i in range(len(e))],
}
"""Writes of zeros to a diagonal."""

LOST = {
    "cosine of a root": lambda x: np.cos(np.sqrt(x)),
    "cube root of a cube": lambda x: np.cbrt(x**3),
    "root of a root": lambda x: np.sqrt(np.sqrt(x**4)),
    "fourth root": lambda x: (x * x) ** 0.25,
    "difference": lambda x: np.cbrt(x**3 - x**3),
    "root of a norm": lambda x: np.sqrt(np.abs(x)),
    "logarithm of a square": lambda x: np.log(x * x),
}
"""Zeros of derivatives that meet infinite ones at 0."""


def _modes(f, x):
    """Return the derivative by each transform; that of an array along ones."""
    ones = np.ones_like(x) if np.ndim(x) else 1.0
    batch = np.stack([x, x + 0.25, x])
    yield np.sum(ft.grad(f)(x))
    yield ft.jvp(f, (x,), (ones,))[1]
    yield np.sum(ft.vmap(ft.grad(f))(batch)[2])
    yield ft.vmap(lambda x: ft.jvp(f, (x,), (ones,))[1])(batch)[0]
    yield np.sum(ft.grad(lambda xs: np.sum(ft.vmap(f)(xs)))(batch)[0])
    yield np.sum(ft.jacrev(f)(x))
    yield np.sum(ft.compile(ft.grad(f), backend="numpy")(x))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", GUARDED)
def test_a_branch_that_is_not_taken_contributes_nothing(name):
    f, points = GUARDED[name]
    for x in map(np.float64, points):
        assert [float(d) for d in _modes(f, x)] == [0.0] * 7
        if name not in ("arccosh", "powers"):  # whose derivatives multiply by a NaN
            assert float(ft.grad(ft.grad(f))(x)) == 0.0
            assert float(ft.jvp(lambda x: ft.grad(f)(x), (x,), (1.0,))[1]) == 0.0


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", FLAT)
def test_an_operand_that_does_not_move_has_derivative_zero(name):
    f, x = FLAT[name]
    assert [float(d) for d in _modes(f, x)] == [0.0] * 7


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", WRITES)
def test_an_element_that_is_overwritten_contributes_nothing(name):
    def inverse(x):
        found = 1.0 / (x[:, np.newaxis] ** 2 - x**2)
        WRITES[name](found)
        return np.sum(found * np.arange(9.0).reshape(3, 3))

    def guarded(x):
        found = np.where(np.eye(3) > 0, 0.0, 1.0 / (x[:, np.newaxis] ** 2 - x**2))
        return np.sum(found * np.arange(9.0).reshape(3, 3))

    x = np.array([1.0, 2.5, 0.5])
    close(list(_modes(inverse, x)), list(_modes(guarded, x)))

    def kept(x):
        found = 1.0 / (x[:, np.newaxis] - x)
        WRITES[name](found[:2, :2])
        return np.sum(found)

    assert np.isnan(ft.grad(kept)(x)[2])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", LOST)
def test_a_zero_by_value_does_not_win(name):
    assert not any(np.isfinite(float(d)) for d in _modes(LOST[name], 0.0))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_zeros_that_were_given_win():
    x, given = np.array([0.0, 4.0]), np.array([0.0, 2.0])
    equal(ft.vjp(np.sqrt, x)[1](given)[0], [0.0, 0.5])
    equal(ft.jvp(np.sqrt, (x,), (given,))[1], [0.0, 0.5])
    for jacobian in (ft.jacrev, ft.jacfwd):
        equal(jacobian(np.sqrt)(x), [[np.inf, 0.0], [0.0, 0.25]])
        equal(jacobian(lambda x: np.sqrt(np.flip(x)))(x), [[0.0, 0.25], [np.inf, 0.0]])
        equal(jacobian(lambda x: np.sqrt(np.tile(x * x, 2))[2:])(x), [[0.0, 0.0], [0.0, 1.0]])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_pass_in_a_pass_tells_zeros_by_value_from_others():
    x, root = np.array([0.0, 4.0]), ft.checkpoint(np.sqrt)
    equal(ft.grad(lambda x: root(x)[1])(x), [0.0, 0.25])
    equal(ft.grad(lambda x: np.sum(np.cos(root(x))))(x), [np.nan, -np.sin(2) / 4])

    @ft.custom_vjp
    def f(x):
        return np.sqrt(x)

    f.defvjp(lambda x: (np.sqrt(x), x), lambda x, g: (ft.vjp(np.sqrt, x)[1](g)[0],))
    equal(ft.grad(lambda x: np.sum(np.cos(f(x))))(x), [np.nan, -np.sin(2) / 4])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_zeros_win_in_large_arrays_as_in_small_ones():
    x = np.linspace(0.0, 1.0, 20_000)
    inner = np.where(x > 0, 0.5 / np.sqrt(x, where=x > 0, out=np.ones_like(x)), 0.0)
    for f in (
        lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0.0)),
        lambda x: np.sum((x > 0) * np.sqrt(x)),
        lambda x: np.sum(np.sqrt(np.maximum(x, 0.0))[1:]),
    ):
        np.testing.assert_allclose(ft.grad(f)(x), inner, rtol=1e-14)
    points = np.stack([x[::100], x[::100] ** 2], -1)
    distances = ft.grad(lambda p: np.sum(np.sqrt(np.sum((p[:, None] - p) ** 2, -1))))(points)
    assert np.isfinite(distances).all() and np.isnan(
        ft.grad(lambda x: np.sum(np.cos(np.sqrt(x))))(x)[0]
    )


SIZES = {
    "far below": lambda x: np.sum(2 * np.where(x > 0, 1 - 2 * (3 * np.sqrt(x) + 1) / 7, 0.0)),
    "in a dot": lambda x: (x > 0) @ np.sqrt(x),
    "times a log": lambda x: np.sum(np.where(x > 0, x * np.log(x), 0.0)),
    "nested": lambda x: np.sum(np.where(x > 0, np.maximum(np.sqrt(x), x - 9) / 3, x * x)),
    "constant": lambda x: np.std(x * 0),
    "masked data": lambda x: np.sum(np.where(x > 0, 3 * (x * np.where(x > 0, x, np.inf)), 0.0)),
    "a mask below": lambda x: np.sum(np.tile([0.0, 2.0, 1.0, 1.0], x.size // 4) * np.cbrt(x)),
    "in a product": lambda x: np.sum(np.sqrt(x).reshape(-1, 4) @ np.diag([0.0, 1.0, 1.0, 1.0])),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", SIZES)
def test_the_size_of_an_array_decides_nothing(name):
    f, x = SIZES[name], np.array([0.0, 0.25, 2.0, 3.0])
    small = ft.grad(f)(np.tile(x, 2))[:4]
    scale = 4 * 10_000 / 8 if name == "constant" else 1
    assert np.isfinite(small).all()
    np.testing.assert_allclose(ft.grad(f)(np.tile(x, 10_000)), np.tile(small, 10_000) / scale)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_an_operand_that_moves_keeps_its_infinite_derivative():
    for f in (np.sqrt, np.cbrt, lambda x: np.sqrt(x) + np.sqrt(x * x), lambda x: np.sqrt(2 * x)):
        assert [float(d) for d in _modes(f, 0.0)] == [np.inf] * 7
    assert ft.grad(np.log)(0.0) == np.inf
    assert np.isnan(ft.grad(lambda x: np.sqrt(x))(-1.0))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_distances_of_points_from_themselves():
    points = np.array([[1.0, 2.0], [3.0, 4.0], [0.0, 1.0]])
    weights = np.arange(9.0).reshape(3, 3)

    def total(points):
        return np.sum(weights * np.sqrt(np.sum((points[:, None] - points) ** 2, axis=-1)))

    def difference(direction):
        h = 1e-6 * direction
        return (total(points + h) - total(points - h)) / 2e-6

    gradient = ft.grad(total)(points)
    for direction in np.eye(6).reshape(6, 3, 2):
        np.testing.assert_allclose(np.sum(gradient * direction), difference(direction), rtol=1e-6)
        tangent = ft.jvp(total, (points,), (direction,))[1]
        np.testing.assert_allclose(tangent, difference(direction), rtol=1e-6)


@HAS_PROGRAMS
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("backend", ["numpy", "auto"])
def test_a_program_that_was_traced_elsewhere_gives_the_same(backend):
    """It trusts that products are finite, until its result is NaN."""
    for f, points in [*GUARDED.values(), (FLAT["root of a square"][0], [0.0])]:
        gradient = ft.compile(ft.grad(f), backend=backend, warm=True)
        for x in map(np.float64, [0.5, *points, 0.5, *points]):
            np.testing.assert_allclose(gradient(x), ft.grad(f)(x), rtol=1e-13)
    product = ft.compile(ft.grad(lambda x: x * np.sqrt(x)), backend=backend, warm=True)
    assert [np.isnan(product(x)) for x in (1.0, np.nan, np.nan, 1.0)] == [False, True, True, False]
    assert product._traced == 2, "a NaN that eager mode has, too, is not traced each time"


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_pass_that_looks_for_what_moves_leaves_the_tape_and_frees_it():
    def f(x):
        flat = np.sqrt(np.maximum(x - 5.0, 0.0))
        return np.sum(flat * x) + np.sum(x**3)

    x = np.array([1.0, 2.0])
    np.testing.assert_array_equal(ft.grad(f)(x), 3 * x**2)
    _, pullback = ft.vjp(f, x)
    for _ in range(2):
        np.testing.assert_array_equal(pullback(np.float64(1.0))[0], 3 * x**2)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_the_check_finds_a_probe_that_sees_nothing(monkeypatch):
    """A pass in which nothing ever arrives makes the root of a norm flat."""
    faulty.probes_see_nothing(monkeypatch)
    raises(AssertionError, lambda: test_a_zero_by_value_does_not_win("root of a norm"))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_part_of_a_memory_under_vmap():
    """The places that do not move are known of the part, and not of the memory."""

    def loss(x):
        y = x * 1.0
        y[0] = 2.0
        return np.sum(np.where(y[1:] > 0, np.sqrt(y[1:]), 0.0)) + np.sum(y * y)

    x = np.array([[1.0, 0.0, 4.0], [2.0, 9.0, 0.0]])
    expected = [[0.0, 0.0, 8.25], [0.0, 18 + 1 / 6, 0.0]]

    equal(ft.vmap(ft.grad(loss))(x), np.stack([ft.grad(loss)(row) for row in x]))
    np.testing.assert_allclose(ft.vmap(ft.grad(loss))(x), expected, rtol=1e-15)


# ---- Every row of the tables of `design/0009-kinks-and-nans.md`, in both modes and by series ----


NOTE = Path(__file__).resolve().parents[2] / "design" / "0009-kinks-and-nans.md"
ROW = re.compile(r"^\| `(.+?)` \| `(.+?)` \| `(.+?)` \|", re.M)
TWICE = ROW.findall(re.search("(?ms)^## Second(.*?)^## ", NOTE.read_text())[1])
ROWS = [row for row in ROW.findall(NOTE.read_text()) if row not in TWICE]

NOT_BY_SERIES = {"np.arccos(np.clip(x, -1.0, 1.0))", "np.array([0.0, 2.0]) * np.cbrt(x)"}
"""Rows of which `jet` has no number: it does not record where a series moves."""


def test_the_tables_are_read():
    assert len(TWICE) > 10
    assert len(ROWS + TWICE) == NOTE.read_text().count("\n| `") > 40


@pytest.mark.parametrize(("expression", "at", "derivative"), ROWS, ids=lambda text: text[:40])
def test_row(expression, at, derivative):
    x, expected = eval(at, {"np": np}), eval(derivative, {"np": np})

    def f(x):
        return np.sum(eval(expression, {"np": np, "x": x}))

    with silent():
        backward = ft.grad(f)(x)
        forward, recorded, series = [np.zeros_like(np.asarray(x)) for _ in range(3)]
        push = ft.linearize(f, x)[1]
        for i in np.ndindex(np.shape(x)):
            direction = np.zeros_like(np.asarray(x))
            direction[i] = 1.0
            forward[i] = ft.jvp(f, (x,), (direction[()],))[1]
            recorded[i] = push(direction[()])
            terms = [direction[()], np.zeros_like(direction)[()]]
            series[i] = ft.jet(f, (x,), (terms,))[1][0]
    np.testing.assert_allclose(backward, expected, rtol=1e-14)
    np.testing.assert_allclose(forward, expected, rtol=1e-14)
    np.testing.assert_allclose(recorded, expected, rtol=1e-14)
    if expression in NOT_BY_SERIES:
        assert np.any(np.isnan(series))
    else:
        np.testing.assert_allclose(series, expected, rtol=1e-14)


@pytest.mark.parametrize(("expression", "at", "second"), TWICE, ids=lambda text: text[:40])
def test_row_of_second_derivatives(expression, at, second):
    x, expected = eval(at, {"np": np}), eval(second, {"np": np})

    def f(x):
        return eval(expression, {"np": np, "x": x})

    with silent():
        found = [a(b(f))(x) for a in (ft.jacfwd, ft.jacrev) for b in (ft.jacfwd, ft.jacrev)]
        found += [ft.vmap(ft.grad(ft.grad(f)))(np.array([x, 1.0]))[0], 2 * ft.taylor(f, x, 2)[2]]
    for result in found:
        is_finite = np.isfinite(result)
        np.testing.assert_allclose(result if is_finite else np.nan, expected, rtol=1e-14, atol=0)
