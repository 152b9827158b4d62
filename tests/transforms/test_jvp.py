"""jvp: values, trees, forms, complex numbers, the imperative style."""

import numpy as np
import pytest

import functier as ft
from support import close, equal

X = np.array([0.5, -1.0, 2.0])
T = np.array([1.0, 0.5, -2.0])
W = np.array([[1.0, 2.0, -1.0], [0.5, 0.0, 3.0]])


def test_jvp():
    y, t = ft.jvp(lambda x: np.sin(x) * x, (X,), (T,))
    equal(y, np.sin(X) * X)
    close(t, (np.cos(X) * X + np.sin(X)) * T)


def test_scalars():
    for x, t in ((3.0, 1.0), (np.float64(3.0), np.float64(1.0)), (np.array(3.0), np.array(1.0))):
        y, dy = ft.jvp(lambda x: x * x, (x,), (t,))
        equal(y, np.float64(9.0))
        equal(dy, np.float64(6.0))


def test_several_arguments():
    y, t = ft.jvp(lambda a, b: a * b + a, (X, 2.0), (T, 3.0))
    equal(y, X * 2.0 + X)
    close(t, T * 2.0 + X * 3.0 + T)


def test_trees():
    p, t = {"w": X, "b": [1.0]}, {"w": T, "b": [2.0]}
    y, dy = ft.jvp(lambda p: {"sum": np.sum(p["w"]) * p["b"][0], "w": p["w"]}, (p,), (t,))
    equal(y["sum"], np.sum(X))
    close(dy["sum"], np.sum(T) + np.sum(X) * 2.0)
    equal(dy["w"], T)


def test_has_aux():
    y, t, aux = ft.jvp(lambda x: (x * x, {"twice": 2 * x, "note": "n"}), (X,), (T,), has_aux=True)
    equal(y, X * X)
    equal(t, 2 * X * T)
    equal(aux["twice"], 2 * X)
    assert aux["note"] == "n"


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.longdouble, np.complex64])
def test_tangents_have_the_form_of_their_primal(dtype):
    x, t = X.astype(dtype), T.astype(dtype)
    for f in (lambda x: 2.0 * x**2, np.exp, np.sum, lambda x: x / 3 + 1, lambda x: x[:, None] * x):
        y, dy = ft.jvp(f, (x,), (t,))
        assert y.dtype == dy.dtype == f(x).dtype == dtype
        assert np.shape(y) == np.shape(dy) == np.shape(f(x))


def test_a_tangent_is_cast_to_its_primals_dtype():
    _, t = ft.jvp(lambda x: x * 2, (np.float32(X),), (T,))
    equal(t, np.float32(2 * T))
    _, t = ft.jvp(lambda x: x * 2, (X,), (np.array([1, 0, 2]),))
    equal(t, np.array([2.0, 0.0, 4.0]))
    _, t = ft.jvp(lambda x: x, (np.float32(X),), (T,))
    equal(t, np.float32(T))
    _, pullback = ft.vjp(lambda x: x, np.float32(X))
    equal(pullback(T)[0], np.float32(T))


def test_broadcasting():
    y, t = ft.jvp(lambda a, b: a + b, (np.ones((2, 1)), np.ones(3)), (np.zeros((2, 1)), T))
    equal(y, np.full((2, 3), 2.0))
    equal(t, np.tile(T, (2, 1)))
    _, t = ft.jvp(lambda a: a + np.ones((2, 3)), (1.0,), (5.0,))
    equal(t, np.full((2, 3), 5.0))


PRODUCTS = {
    "right": lambda x: x @ W.T,
    "left": lambda x: W @ x,
    "both": lambda x: x @ (2 * x),
    "matrices": lambda x: (x[:, None] * W.T) @ (W * x),
    "ints": lambda x: x @ np.arange(6).reshape(3, 2),
    "list": lambda x: x @ [1.0, 2.0, 3.0],
    "complex": lambda x: x @ (1j * W.T),
}
READS = {
    "slice": lambda x: x[1:] * x[:-1],
    "int": lambda x: x[1] * x[np.int64(2)],
    "axes": lambda x: x[None, ..., None] * x[:, None],
    "array": lambda x: x[np.array([0, 2, 0])] * x[[0, 1, 0]],
    "mask": lambda x: x[X > 0] ** 2,
    "place": lambda x: x[:1][0],
}


@pytest.mark.parametrize("f", [*PRODUCTS.values(), *READS.values()], ids=[*PRODUCTS, *READS])
def test_products_and_indices(f):
    eps = 1e-6
    for x, t in ((X, T), (np.float32(X), np.float32(T))):
        y, dy = ft.jvp(f, (x,), (t,))
        equal(y, f(x))
        assert np.shape(dy) == np.shape(y) and dy.dtype == y.dtype
    close(ft.jvp(f, (X,), (T,))[1], (f(X + eps * T) - f(X - eps * T)) / (2 * eps), 1e-8)
    tangents = ft.vmap(lambda t: ft.jvp(f, (X,), (t,))[1])(np.stack([T, 2 * T]))
    close(tangents[1], 2 * ft.jvp(f, (X,), (T,))[1])
    primals = ft.vmap(lambda x: ft.jvp(f, (x,), (T,))[1])(np.stack([X, X + 1]))
    close(primals[0], ft.jvp(f, (X,), (T,))[1])
    twice = ft.jvp(lambda x: ft.jvp(f, (x,), (T,))[1], (X,), (T,))[1]
    close(twice, (f(X + 1e-4 * T) - 2 * f(X) + f(X - 1e-4 * T)) / 1e-8, 1e-6)


def test_values_of_outer_levels():
    ws = np.stack([T, 2 * T])
    f = lambda x, w: w * np.sin(x * w) - x / w + w @ x  # noqa: E731
    expected = [ft.jvp(lambda x, w=w: f(x, w), (X,), (T,))[1] for w in ws]
    close(ft.vmap(lambda w: ft.jvp(lambda x: f(x, w), (X,), (T,))[1])(ws), np.stack(expected))
    outer = ft.tensor(T)
    _, dy = ft.jvp(lambda x: f(x, outer), (X,), (T,))
    close(dy.elem(), expected[0])


@pytest.mark.parametrize("dtype", [np.float32, np.longdouble, np.complex128, int])
def test_two_dtypes(dtype):
    other = np.array([[2], [3]], dtype)
    for f in (lambda x: x * other, lambda x: other - x, lambda x: x / other, lambda x: other**x):
        y, dy = ft.jvp(f, (X,), (T,))
        assert y.dtype == dy.dtype and y.shape == dy.shape == (2, 3)
        y, dy = ft.jvp(f, (np.float32(X),), (T,))
        assert y.dtype == dy.dtype == f(np.float32(X)).dtype
    if dtype is not int:
        f = lambda a, b: a * b - b  # noqa: E731
        y, dy = ft.jvp(f, (X, other), (T, other))
        assert y.dtype == dy.dtype and y.shape == dy.shape == (2, 3)
        close(dy, (T * other + X * other - other).astype(y.dtype))


def test_outputs_that_do_not_depend_on_the_input():
    y, t = ft.jvp(lambda x: (np.ones(2, np.float32), x > 0, 3), (X,), (T,))
    equal(y[0], np.ones(2, np.float32))
    equal(t[0], np.zeros(2, np.float32))
    equal(y[1], X > 0)
    equal(t[1], np.zeros(3, bool))
    assert y[2] == 3
    equal(t[2], np.int64(0))


def test_the_input_returned_as_it_is():
    y, t = ft.jvp(lambda x: (x, x), (X,), (T,))
    equal(y[1], X)
    equal(t[1], T)


def test_forward_over_python_control_flow():
    f = lambda x: x * x if x > 0 else -x  # noqa: E731
    assert ft.jvp(f, (3.0,), (1.0,)) == (9.0, 6.0)
    assert ft.jvp(f, (-3.0,), (1.0,)) == (3.0, -1.0)


def test_holomorphic_functions():
    z, t = np.array([1 + 2j, 0.5 - 1j]), np.array([1j, 2.0])
    y, dy = ft.jvp(lambda z: np.exp(z) * z, (z,), (t,))
    close(y, np.exp(z) * z)
    close(dy, (np.exp(z) * z + np.exp(z)) * t)


def test_functions_that_are_not_holomorphic():
    z, t = np.array([3 + 4j]), np.array([1 + 1j])
    close(ft.jvp(np.abs, (z,), (t,))[1], np.array([7.0 / 5.0]))
    close(ft.jvp(np.conjugate, (z,), (t,))[1], np.conjugate(t))
    close(ft.jvp(np.real, (z,), (t,))[1], np.array([1.0]))
    close(ft.jvp(lambda z: np.abs(z) ** 2, (z,), (t,))[1], np.array([14.0]))


def test_jvp_agrees_with_vjp():
    def f(x):
        h = np.tanh(W @ x)
        return h * np.sum(x), np.max(x)

    _, t = ft.jvp(f, (X,), (T,))
    _, pullback = ft.vjp(f, X)
    c = (np.array([0.3, -2.0]), 1.5)
    (g,) = pullback(c)
    close(np.sum(g * T), np.sum(c[0] * t[0]) + c[1] * t[1])


def test_linear_in_the_tangent_so_it_can_be_mapped():
    f = lambda x: np.tanh(W @ x)  # noqa: E731
    columns = ft.vmap(lambda t: ft.jvp(f, (X,), (t,))[1])(np.eye(3))
    close(columns, ((1 - np.tanh(W @ X) ** 2)[:, None] * W).T)


def test_differentiated_in_the_tangent():
    f = lambda t: np.sum(ft.jvp(np.sin, (X,), (t,))[1] ** 2)  # noqa: E731
    close(ft.grad(f)(T), 2 * np.cos(X) ** 2 * T)


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
    with pytest.raises(ft.EscapedTensorError):
        y + 1
    equal(y.elem(), X * X)


def test_a_tangent_that_has_escaped():
    with ft.vmap() as B:
        dead = B(X)
    with ft.vmap(escape="passthrough") as B:
        through = B(X)
    with ft.jvp() as J:
        with pytest.raises(ft.EscapedTensorError):
            J(X, dead)
        equal(J.unwrap(2 * J(X, through))[1], 2 * X)


def test_imperative_levels_nest():
    with ft.jvp() as J0:
        x = J0(0.7, 1.0)
        with ft.jvp() as J1:
            first = J1.unwrap(np.sin(J1(x, 1.0)))[1]
        value, second = J0.unwrap(first)
        close(value, np.float64(np.cos(0.7)))
        close(second, np.float64(-np.sin(0.7)))


def test_jvp_without_a_function_is_no_decorator():
    with pytest.raises(TypeError, match="context manager"):
        ft.jvp()(np.sin)


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


def test_a_tangent_can_be_written_to():
    t = T.copy()
    _, (a, b, c) = ft.jvp(lambda x: (x, x + 1.0, np.broadcast_to(x, (2, 3))), (X,), (t,))
    a[0] = b[1] = c[0, 0] = 99.0
    equal(t, T)
    equal(a, np.array([99.0, 0.5, -2.0]))
    equal(b, np.array([1.0, 99.0, -2.0]))
    equal(c, np.array([[99.0, 0.5, -2.0], [1.0, 0.5, -2.0]]))


def slope_of(f):
    return lambda x: ft.jvp(f, (x,), (1.0,))[1]


FORWARD = {
    "jvp": slope_of,
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
        with pytest.raises(ft.ConversionError, match=r": .* write \(x \+ 0j\) \*\* y"):
            FORWARD[transform](f)(-2.0)


@pytest.mark.filterwarnings("ignore:divide by zero")
def test_floats_of_python_stay_so_after_an_infinite_tangent():
    found, _ = ft.jvp(lambda x: [np.sqrt(x), 3.0 * (x + 1.0)], (0.0,), (1.0,))
    assert found[1] == 3.0 and type(found[1]) is float
    for f, error in (
        (lambda x: x % x, ZeroDivisionError),
        (lambda x: (x + 1e200) ** 2, OverflowError),
    ):
        with pytest.raises(error):
            ft.jvp(lambda x, f=f: [np.sqrt(x), f(x)], (0.0,), (1.0,))


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
            with pytest.raises(error):
                g(x)
