"""jvp: values, trees, forms, complex numbers, the imperative style."""

import numpy as np
import pytest

import functier as ft
from support.basics import calls_of, close, equal, raises

X = np.array([0.5, -1.0, 2.0])
T = np.array([1.0, 0.5, -2.0])
W = np.array([[1.0, 2.0, -1.0], [0.5, 0.0, 3.0]])


def test_jvp():
    y, t = ft.jvp(lambda x: np.sin(x) * x, (X,), (T,))
    equal(y, np.sin(X) * X)
    close(t, (np.cos(X) * X + np.sin(X)) * T)


def test_has_aux():
    y, t, aux = ft.jvp(lambda x: (x * x, {"twice": 2 * x, "note": "n"}), (X,), (T,), has_aux=True)
    equal(y, X * X)
    equal(t, 2 * X * T)
    equal(aux["twice"], 2 * X)
    assert aux["note"] == "n"


def test_a_tangent_is_cast_to_its_primals_dtype():
    _, t = ft.jvp(lambda x: x * 2, (np.float32(X),), (T,))
    equal(t, np.float32(2 * T))
    _, t = ft.jvp(lambda x: x * 2, (X,), (np.array([1, 0, 2]),))
    equal(t, np.array([2.0, 0.0, 4.0]))
    _, t = ft.jvp(lambda x: x, (np.float32(X),), (T,))
    equal(t, np.float32(T))
    _, pullback = ft.vjp(lambda x: x, np.float32(X))
    equal(pullback(T)[0], np.float32(T))


def test_values_of_outer_levels():
    ws = np.stack([T, 2 * T])
    f = lambda x, w: w * np.sin(x * w) - x / w + w @ x  # noqa: E731
    expected = [ft.jvp(lambda x, w=w: f(x, w), (X,), (T,))[1] for w in ws]
    close(ft.vmap(lambda w: ft.jvp(lambda x: f(x, w), (X,), (T,))[1])(ws), np.stack(expected))
    outer = ft.tensor(T)
    _, dy = ft.jvp(lambda x: f(x, outer), (X,), (T,))
    close(dy.elem(), expected[0])


def test_outputs_that_do_not_depend_on_the_input():
    y, t = ft.jvp(lambda x: (np.ones(2, np.float32), x > 0, 3), (X,), (T,))
    equal(y[0], np.ones(2, np.float32))
    equal(t[0], np.zeros(2, np.float32))
    equal(y[1], X > 0)
    equal(t[1], np.zeros(3, bool))
    assert y[2] == 3
    equal(t[2], np.int64(0))


def test_functions_that_are_not_holomorphic():
    z, t = np.array([3 + 4j]), np.array([1 + 1j])
    close(ft.jvp(np.abs, (z,), (t,))[1], np.array([7.0 / 5.0]))
    close(ft.jvp(np.conjugate, (z,), (t,))[1], np.conjugate(t))
    close(ft.jvp(np.real, (z,), (t,))[1], np.array([1.0]))
    close(ft.jvp(lambda z: np.abs(z) ** 2, (z,), (t,))[1], np.array([14.0]))


# ---- the imperative style ----


def test_the_imperative_style():
    with ft.jvp() as J:
        x = J(X, T)
        y = x * x
        assert y.shape == (3,) and type(y) is J
        value, tangent = J.unwrap(y)
        equal(value, X * X)
        equal(tangent, 2 * X * T)
        value, tangent = J.unwrap(np.float32([1.0]))
        equal(value, np.float32([1.0]))
        equal(tangent, np.zeros(1, np.float32))
    raises(ft.EscapedTensorError, lambda: y + 1)
    equal(y.elem(), X * X)


def test_a_tangent_that_has_escaped():
    with ft.vmap() as B:
        dead = B(X)
    with ft.vmap(escape="passthrough") as B:
        through = B(X)
    with ft.jvp() as J:
        raises(ft.EscapedTensorError, lambda: J(X, dead))
        equal(J.unwrap(2 * J(X, through))[1], 2 * X)


def test_jvp_without_a_function_is_no_decorator():
    raises(TypeError, lambda: ft.jvp()(np.sin), "context manager")


def test_a_zero_tangent_leaves_the_level():
    """Results without a tangent are plain; tensors may be written to an array of zeros."""
    seen = []

    def f(x):
        seen.extend([type(np.argmax(x)), type(x > 0)])
        zeros = np.zeros_like(x)
        assert np.asarray(zeros).tolist() == [0.0] * len(X) and not isinstance(zeros, type(x))
        return x

    ft.jvp(f, (X,), (T,))
    assert not any(issubclass(cls, ft.Tensor) for cls in seen)


def slope_of(f):
    return lambda x: ft.jvp(f, (x,), (1.0,))[1]


FORWARD = {
    "jvp": slope_of,
    "linearize": lambda f: lambda x: ft.linearize(f, x)[1](1.0),
    "jacfwd": ft.jacfwd,
    "hessian": lambda f: ft.hessian(lambda x: np.real(f(x))),
    "jvp of grad": lambda f: slope_of(ft.grad(lambda x: np.real(f(x)))),
    "jvp of jvp": lambda f: slope_of(slope_of(f)),
    "linearize of jvp": lambda f: lambda x: ft.linearize(slope_of(f), x)[1](1.0),
    "grad of jvp": lambda f: ft.grad(lambda x: np.real(slope_of(f)(x))),
    "compile": lambda f: ft.compile(slope_of(f)),
}


@pytest.mark.filterwarnings("ignore:(divide by zero|invalid)")
@pytest.mark.parametrize("transform", FORWARD)
def test_powers_of_negative_floats_of_python_are_refused(transform):
    """A complex power of a real number has a complex derivative, which a real tangent has not."""
    for f in (lambda x: x**0.5, lambda x: np.sqrt(x + 2.0) * 0 + x**0.5, lambda x: x ** (x + 1.5)):
        raises(ft.ConversionError, lambda: FORWARD[transform](f)(-2.0), ":  |  write (x + 0j) ** y")


@pytest.mark.filterwarnings("ignore:divide by zero")
def test_floats_of_python_stay_so_after_an_infinite_tangent():
    found, _ = ft.jvp(lambda x: [np.sqrt(x), 3.0 * (x + 1.0)], (0.0,), (1.0,))
    assert found[1] == 3.0 and type(found[1]) is float
    for f, error in (
        (lambda x: x % x, ZeroDivisionError),
        (lambda x: (x + 1e200) ** 2, OverflowError),
    ):
        raises(error, lambda: ft.jvp(lambda x, f=f: [np.sqrt(x), f(x)], (0.0,), (1.0,)))


@pytest.mark.filterwarnings("ignore:invalid")
def test_powers_of_negative_floats_of_python():
    """They are complex, where those of NumPy's numbers are NaN; a real tangent has none."""
    root = lambda x: x**0.5  # noqa: E731
    slope = ft.jvp(lambda x: (x + 0j) ** 0.5, (-2.0,), (1.0,))[1]
    assert np.isclose(slope, 0.5 * (-2 + 0j) ** -0.5)
    assert np.isclose(ft.grad(lambda x: np.imag(root(x)))(-2.0), -0.5 / np.sqrt(2.0))
    assert np.isnan(ft.jvp(root, (np.float64(-2.0),), (1.0,))).all()
    assert np.isnan(ft.jvp(lambda x: np.power(x, 0.5), (-2.0,), (1.0,))).all()


@pytest.mark.filterwarnings("ignore:(divide by zero|invalid)")
@pytest.mark.parametrize("f", [np.log, np.log2, np.log10, np.reciprocal, lambda x: np.log1p(x - 1)])
def test_infinite_slopes_of_floats_of_python(f):
    slope = lambda x: ft.jvp(f, (x,), (1.0,))[1]  # noqa: E731
    for g in slope, ft.grad(f), ft.compile(slope), ft.compile(ft.grad(f)):
        assert np.isinf(g(0.0))


def test_errors_of_python_s_division_stay():
    for f, x, error in (
        (lambda x: 1 / x, 0.0, ZeroDivisionError), (lambda x: x**2, 1e300, OverflowError),
        (lambda x: x % 0.0, 1.0, ZeroDivisionError),
    ):  # fmt: skip
        for g in f, ft.grad(f), ft.jacfwd(f), ft.compile(f), ft.compile(ft.grad(f)):
            raises(error, lambda: g(x))


@pytest.mark.parametrize("number", [1.001, 1.001 + 0.1j])
@pytest.mark.parametrize("step", [lambda y, x: y * x, lambda y, x: 0.5 + y / 3, lambda y, x: x - y])
def test_jvp_of_a_number_of_python_makes_the_calls_of_one_of_numpys(step, number):
    def f(x):
        y = x
        for _ in range(50):
            y = step(y, x)
        return y

    python, numpy = (
        calls_of(lambda: ft.jvp(f, (x,), (x,))) for x in (number, np.float64(number.real))
    )
    assert python < 1.2 * numpy
