"""The twin of `math`: its results and errors on numbers, loops and differences on tensors."""

import math
import warnings

import numpy as np
import pytest
from adopt_support import outcome
from hypothesis import given
from hypothesis import strategies as st

import functier as ft
from functier._adopt import mathematics
from functier._adopt.mathematics import FORMULAS, MATH, SPECIAL, TRUTHS, WHOLE
from support.basics import raises

pytestmark = pytest.mark.inside("Each formula of the twin of `math` is compared with the function.")

TWO = {"atan2", "copysign", "fmod", "nextafter", "pow", "remainder"}
ONE = sorted({*FORMULAS, *SPECIAL, *WHOLE, *TRUTHS, "frexp", "modf"} - TWO - {"hypot"})
TWO_ARGUMENTS = sorted({*TWO, "hypot", "log"})
POINTS = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.0, 2.5, 7.3, -7.3, 20.5, 180.0, 1e300, -1e300, 5e-324,
          math.inf, -math.inf, math.nan]  # fmt: skip


def failed(result):
    return isinstance(result, tuple) and isinstance(result[0], type)


def agree(found, expected):
    """Compare results: equal up to two units in the last place."""
    if isinstance(expected, tuple):
        return all(map(agree, found, expected))
    if isinstance(expected, (bool, int)):
        return found == expected
    close = np.isclose(found, expected, rtol=2e-14, atol=0.0, equal_nan=True)
    return bool(close and np.signbit(found) == np.signbit(expected)) or math.isnan(expected)


def first(batch):
    return tuple(first(part) for part in batch) if isinstance(batch, tuple) else batch[0]


def check_point(name, *point):
    """Check a function at a point: plainly, in a batch with a good example, under derivatives."""
    twin, func = getattr(MATH, name), getattr(math, name)
    expected = outcome(func, *point)
    same = outcome(twin, *point)
    assert type(same) is type(expected) and repr(same) == repr(expected)
    good = next(g for g in (2.5, 0.5) if not failed(outcome(func, *[g] * len(point))))
    batch = [np.array([v, good]) for v in point]
    with warnings.catch_warnings(action="error"):
        found = outcome(ft.vmap(twin), *batch)
        under = outcome(ft.jvp, twin, point, (0.0,) * len(point))
        numbers = [np.float64(v) for v in point]
        value = outcome(ft.vjp, twin, *numbers)
    if failed(expected):
        assert value == expected, (name, point, value, expected)
        assert failed(found) and found == expected, (name, point, found, expected)
        assert failed(under) and under == expected, (name, point, under, expected)
        return
    assert not failed(found) and not failed(under), (name, point, found, under)
    assert agree(first(found), expected), (name, point, found, expected)
    assert agree(under[0], expected), (name, point, under, expected)
    assert agree(value[0], expected), (name, point, value, expected)


@pytest.mark.parametrize("name", ONE)
def test_a_function_of_one_number(name):
    for x in POINTS:
        if name in WHOLE and abs(x) == 1e300:
            continue  # an int64 has not so many digits: `test_calls` has the error
        if name == "lgamma" and x in (5e-324, -math.inf):
            continue  # see the next test
        check_point(name, x)


def test_where_a_formula_has_no_number_that_math_has():
    with pytest.raises(ArithmeticError, match=r"math.lgamma is 744.44\d* for \[5e-324\] of an ex"):
        ft.vmap(MATH.lgamma)(np.array([1.0, 5e-324]))


@pytest.mark.parametrize("name", TWO_ARGUMENTS)
def test_a_function_of_two_numbers(name):
    for x in POINTS:
        for y in POINTS[::2] + POINTS[-3:]:
            check_point(name, x, y)


@given(st.sampled_from(ONE), st.floats(-1e15, 1e15))
def test_a_function_at_any_number(name, x):
    check_point(name, x)


@given(st.sampled_from(TWO_ARGUMENTS), st.floats(), st.floats())
def test_a_function_at_any_two_numbers(name, x, y):
    check_point(name, x, y)


STEP = 1e-5
SMOOTH = {
    1: {name: 0.3 for name in ONE if name not in ("ulp", *WHOLE, *TRUTHS, "frexp", "modf")}
    | {"acosh": 1.7, "gamma": 2.3, "lgamma": 2.3},
    2: {name: (1.3, 0.7) for name in TWO_ARGUMENTS if name != "nextafter"} | {"pow": (1.3, 2.2)},
}


def slope(f, *point, i=0):
    up, down = list(point), list(point)
    up[i], down[i] = up[i] + STEP, down[i] - STEP
    return (f(*up) - f(*down)) / (2 * STEP)


@pytest.mark.parametrize("name", [*SMOOTH[1], *SMOOTH[2]])
def test_derivatives(name):
    twin, func = getattr(MATH, name), getattr(math, name)
    for table in SMOOTH.values():
        point = np.atleast_1d(table.get(name, ()))
        for i in range(len(point)):
            expected = slope(func, *point, i=i)
            batch = [np.array([v, v]) for v in point]
            assert np.isclose(ft.grad(twin, argnums=i)(*point), expected, atol=1e-8)
            tangent = ft.jvp(lambda x: twin(*point[:i], x, *point[i + 1 :]), (point[i],), (1.0,))
            assert np.isclose(tangent[1], expected, atol=1e-8)
            assert np.allclose(ft.vmap(ft.grad(twin, argnums=i))(*batch), expected, atol=1e-8)


LISTS = {
    "fsum": [1e100, 1.0, -1e100, 1e-20, 3.0],
    "prod": [1.5, -2.0, 3.0, 0.5, 1.0],
    "hypot": [3.0, 4.0, 12.0, 0.0, -1.0],
}


@pytest.mark.parametrize("name", LISTS)
def test_functions_of_many_numbers(name):
    x, many = np.array(LISTS[name]), name == "hypot"
    f = lambda v: getattr(MATH, name)(*v) if many else getattr(MATH, name)(v)  # noqa: E731
    g = lambda v: getattr(math, name)(*v) if many else getattr(math, name)(v)  # noqa: E731
    assert np.isclose(ft.jvp(f, (x,), (x,))[0], g(x), rtol=1e-15)
    assert np.allclose(ft.vmap(f)(np.stack([x, x[::-1]])), [g(x), g(x[::-1])], rtol=1e-15)
    units = x / 1e100 if name == "fsum" else x
    expected = [(g(units + t) - g(units - t)) / 2e-5 for t in 1e-5 * np.eye(5)]
    assert np.allclose(ft.grad(f)(units), expected, atol=1e-6)
    assert np.allclose(ft.vmap(ft.grad(f))(units[None])[0], expected, atol=1e-6)


@given(st.lists(st.floats(-1e100, 1e100), max_size=6))
def test_sums_are_exact(values):
    found = (
        ft.vmap(lambda *xs: MATH.fsum(xs))(*[np.array([v]) for v in values]) if values else [0.0]
    )
    exact = math.fsum(values)
    assert abs(found[0] - exact) <= math.ulp(exact)


def test_other_functions():
    x, y = np.array([1.5, -3.0, 0.25]), np.array([2.0, 1.0, -4.0])
    f = lambda x, y: MATH.dist([x[0], x[1]], y[:2])  # noqa: E731
    assert np.isclose(ft.vmap(f)(x[None], y[None])[0], math.dist(x[:2], y[:2]))
    assert np.isclose(ft.jvp(f, (x, y), (x, y))[0], math.dist(x[:2], y[:2]))
    assert ft.grad(lambda v: MATH.ldexp(v, 3))(1.5) == 8.0
    assert ft.vmap(MATH.ldexp, in_dims=(0, 0))(x, np.array([1, 2, 3])).tolist() == [3.0, -12.0, 2.0]
    with pytest.raises(OverflowError, match="math range error"):
        ft.vmap(MATH.ldexp)(x, np.array([1, 2, 5000]))
    raises(TypeError, lambda: ft.vmap(MATH.ldexp)(x, x), "Expected an int")
    assert ft.grad(lambda v: MATH.frexp(v)[0])(12.0) == 1 / 16
    assert ft.grad(lambda v: MATH.modf(v)[0] * v)(2.25) == 2.25 + 0.25
    for a, b, words in [(1.0, 1.0 + 1e-10, {}), (1.0, 1.1, {"rel_tol": 0.2}), (0.0, 1e-3, {}),
                        (0.0, 1e-3, {"abs_tol": 0.1}), (math.inf, math.inf, {}),
                        (math.inf, 1.0, {"rel_tol": 1.0}), (math.nan, math.nan, {})]:  # fmt: skip
        found = ft.vmap(lambda a, b, w=words: MATH.isclose(a, b, **w))(np.array([a]), np.array([b]))
        assert found.tolist() == [math.isclose(a, b, **words)] == [MATH.isclose(a, b, **words)]
    assert isinstance(ft.grad(lambda v: v * (type(MATH.isnan(v)) is bool))(2.0), float)
    assert ft.grad(lambda v: v * (type(MATH.floor(v)) is int))(2.5) == 1.0
    with pytest.raises(ValueError, match="non-negative"):
        ft.vmap(lambda v: MATH.isclose(v, v, rel_tol=-v))(np.ones(2))
    assert ft.vmap(MATH.sin)(np.array([1, 0])).dtype == np.float64
    assert ft.vmap(MATH.sqrt)(np.array([4, 9], np.float32)).tolist() == [2.0, 3.0]


def test_names_are_those_of_math():
    names = {n for n in dir(math) if n[0] != "_"}
    assert {n for n in vars(MATH) if n[0] != "_"} == names
    assert all(getattr(MATH, n) is getattr(math, n) for n in ("pi", "e", "inf", "nan", "tau"))
    assert all(getattr(MATH, n).__doc__ == getattr(math, n).__doc__ for n in names)


@pytest.mark.parametrize("name", ["sin", "floor", "isnan", "pow", "frexp", "modf"])
def test_arrays_are_refused_as_math_does(name):
    rest = [2.0] if name == "pow" else []
    with pytest.raises(TypeError, match="only 0-dimensional arrays"):
        ft.vmap(lambda x: getattr(MATH, name)(x, *rest))(np.ones((2, 3)))
    with pytest.raises(TypeError, match="must be real number, not str"):
        ft.vmap(lambda x: MATH.pow(x, "a"))(np.ones(2))
    with pytest.raises(TypeError, match="complex"):
        ft.vmap(lambda x: getattr(MATH, name)(x, *rest))(np.ones(2) * 1j)


@pytest.mark.parametrize("name", ["factorial", "comb", "isqrt", "gcd"])
def test_functions_of_integers_refuse_a_batch(name):
    args = [np.array([3, 4])] * (2 if name in ("comb", "gcd") else 1)
    with pytest.raises(ft.DataDependentError, match="differs from example to example"):
        ft.vmap(getattr(MATH, name))(*args)
    assert getattr(MATH, name)(*[4] * len(args)) == getattr(math, name)(*[4] * len(args))


def test_without_scipy_a_message_says_what_to_install(monkeypatch):
    monkeypatch.setattr(mathematics, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"math.gamma of a tensor .* install scipy"):
        ft.grad(MATH.gamma)(2.0)
    assert MATH.gamma(2.0) == 1.0


def test_an_example_that_did_not_choose_a_function_raises_nothing():
    f = lambda x: ft.cond(x > 0, MATH.log, lambda v: v, x)  # noqa: E731
    assert ft.vmap(f)(np.array([1.0, -1.0])).tolist() == [0.0, -1.0]


FAULTS = {
    "no errors": ("_check", lambda *_: None, lambda: check_point("sqrt", -1.0)),
    "no exact sum": ("_fsum", None, lambda: check_sum()),
}


def check_sum():
    x = np.array(LISTS["fsum"])
    assert ft.vmap(mathematics._fsum)(x[None])[0] == math.fsum(x)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault, monkeypatch):
    name, value, check = FAULTS[fault]
    check_sum()
    monkeypatch.setattr(mathematics, name, value or np.sum)
    raises(AssertionError, check)
