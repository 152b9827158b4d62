"""Complex derivatives, f'(z), by every transform that has `holomorphic`; and what the
Jacobians do with complex numbers without it.
"""

import numpy as np
import pytest

import functier as ft
from support.basics import close, equal, message, raises

Z = 0.4 - 0.7j
A = np.array([[2.0 + 1.0j, 0.3 - 0.2j], [-0.5j, 1.5 - 0.4j]])
B = np.array([0.2 + 0.1j, -1.0 + 0.6j])

SCALAR = {
    "exp": (np.exp, np.exp, np.exp),
    "sin": (np.sin, np.cos, lambda z: -np.sin(z)),
    "cube": (lambda z: z**3, lambda z: 3 * z**2, lambda z: 6 * z),
    "log": (np.log, lambda z: 1 / z, lambda z: -1 / z**2),
    "sqrt": (np.sqrt, lambda z: 0.5 * z**-0.5, lambda z: -0.25 * z**-1.5),
    "power": (
        lambda z: z ** (1 + 2j),
        lambda z: (1 + 2j) * z**2j,
        lambda z: (-4 + 2j) * z ** (2j - 1),
    ),
    "rational": (
        lambda z: (1 + 2j * z) / (z - 3),
        lambda z: (-1 - 6j) / (z - 3) ** 2,
        lambda z: 2 * (1 + 6j) / (z - 3) ** 3,
    ),
    "polynomial": (
        lambda z: np.polyval(np.array([2j, 1.0, -3.0]), z),
        lambda z: 4j * z + 1,
        lambda z: 4j + 0 * z,
    ),
    "twice conjugated": (
        lambda z: np.conjugate(np.sin(np.conjugate(z))),
        np.cos,
        lambda z: -np.sin(z),
    ),
    "by parts": (
        lambda z: (np.real(z) + 1j * np.imag(z)) ** 2,
        lambda z: 2 * z,
        lambda z: 2 + 0 * z,
    ),
}  # fmt: skip
"""Each a holomorphic function with its first and second derivative."""


def by_value_and_grad(f):
    return lambda z: ft.value_and_grad(f, holomorphic=True)(z)[1]


def by_grad_and_value(f):
    return lambda z: ft.grad_and_value(f, holomorphic=True)(z)[0]


def by_context(f):
    def derivative(z):
        with ft.grad(holomorphic=True) as G:
            z = G(z)
            return G.gradient(f(z), z)

    return derivative


def by_jvp(f):
    return lambda z: ft.jvp(f, (z,), (np.ones_like(z),))[1]


WAYS = {
    "grad": lambda f: ft.grad(f, holomorphic=True),
    "value_and_grad": by_value_and_grad,
    "grad_and_value": by_grad_and_value,
    "context": by_context,
    "jacrev": lambda f: ft.jacrev(f, holomorphic=True),
    "jacfwd": lambda f: ft.jacfwd(f, holomorphic=True),
    "jvp": by_jvp,
}
"""Ways to the derivative of a function of one number."""


@pytest.fixture(params=WAYS.values(), ids=WAYS)
def way(request):
    return request.param


@pytest.fixture(params=SCALAR.values(), ids=SCALAR)
def known(request):
    return request.param


# ---- the derivative of a function of one number ----


def test_first_derivative(way, known):
    f, first, _ = known

    close(way(f)(Z), np.complex128(first(Z)))


@pytest.mark.parametrize("inner", WAYS.values(), ids=WAYS)
def test_second_derivative(way, inner, known):
    f, _, second = known

    close(way(inner(f))(Z), np.complex128(second(Z)))


def test_vmap_of_the_derivative(way, known):
    f, first, _ = known
    zs = np.array([Z, 1.0 + 0.5j, -0.3 + 2j])

    close(ft.vmap(way(f))(zs), first(zs))
    close(ft.vmap(ft.vmap(way(f)))(zs[:, None] + zs), first(zs[:, None] + zs))


def test_derivative_of_a_batch(way):
    ws = np.array([1.0 + 1j, 2.0])

    close(
        way(lambda z: np.sum(ft.vmap(lambda w: np.sin(w * z))(ws)))(Z), np.sum(ws * np.cos(ws * Z))
    )


def test_a_constant_of_an_enclosing_level(way):
    """The derivative of w cos(w z), which is that of sin(w z), for w."""
    mixed = WAYS["grad"](lambda w: way(lambda z: np.sin(w * z))(Z))(B[0])

    close(mixed, np.cos(B[0] * Z) - B[0] * Z * np.sin(B[0] * Z))


# ---- functions of matrices ----


def by_element(directional):
    """A Jacobian from the derivatives in the directions UNITS[i, j]."""
    return np.moveaxis(directional, (0, 1), (-2, -1))


UNITS = np.eye(4, dtype=complex).reshape(2, 2, 2, 2)
INVERSE = np.linalg.inv(A)
MATRIX = {
    "inv": (np.linalg.inv, by_element(-INVERSE @ UNITS @ INVERSE)),
    "solve": (lambda a: np.linalg.solve(a, B), by_element(-INVERSE @ UNITS @ INVERSE @ B)),
    "det": (np.linalg.det, np.linalg.det(A) * INVERSE.T),
    "logdet": (lambda a: np.log(np.linalg.det(a)), INVERSE.T),
    "trace of a power": (lambda a: np.trace(np.linalg.matrix_power(a, 3)), 3 * (A @ A).T),
    "bilinear": (lambda a: B @ a @ B, np.outer(B, B)),
    "sum of eigenvalues": (lambda a: np.sum(np.linalg.eigvals(a) ** 2), 2 * A.T),
    "fft": (np.fft.fft, by_element(np.fft.fft(UNITS))),
}
"""Each a function of a matrix and its derivative."""


@pytest.mark.parametrize("jacobian", [ft.jacrev, ft.jacfwd])
@pytest.mark.parametrize(("f", "expected"), MATRIX.values(), ids=MATRIX)
def test_functions_of_matrices(jacobian, f, expected):
    close(jacobian(f, holomorphic=True)(A), expected)


@pytest.mark.parametrize("name", ["det", "logdet", "trace of a power", "bilinear"])
def test_gradients_of_functions_of_matrices(name):
    f, expected = MATRIX[name]

    close(ft.grad(f, holomorphic=True)(A), expected)
    forward = ft.jacfwd(ft.grad(f, holomorphic=True), holomorphic=True)(A)
    close(ft.hessian(f, holomorphic=True)(A), forward)
    close(np.transpose(forward, (2, 3, 0, 1)), forward)


def test_both_modes_agree_on_several_inputs_and_outputs():
    def f(a, b):
        x = np.linalg.solve(a, b["b"])
        return {"x": x, "y": [np.exp(b["c"]) * a]}

    args = A, {"b": B, "c": np.complex128(Z)}
    reverse = ft.jacrev(f, (0, 1), holomorphic=True)(*args)
    forward = ft.jacfwd(f, (0, 1), holomorphic=True)(*args)

    close(reverse["x"][0], forward["x"][0])
    close(reverse["x"][1]["b"], forward["x"][1]["b"])
    close(reverse["y"][0][1]["c"], np.exp(Z) * A)
    close(forward["y"][0][1]["c"], np.exp(Z) * A)
    equal(reverse["x"][1]["c"], np.zeros(2, complex))


def test_argnums_and_aux():
    f = lambda a, z: (np.sum(a * z**2), "aux")  # noqa: E731
    options = {"argnums": 1, "has_aux": True, "holomorphic": True}

    gradient, aux = ft.grad(f, **options)(B, Z)
    close(gradient, np.sum(B) * 2 * Z)
    assert aux == "aux"
    close(ft.jacfwd(f, **options)(B, Z)[0], gradient)
    (value, _), again = ft.value_and_grad(f, **options)(B, Z)
    close(value, np.sum(B) * Z**2)
    close(again, gradient)


def test_the_conjugate_convention_is_the_other_one():
    close(ft.grad(lambda z: np.real(np.sin(z)))(Z), np.conjugate(np.cos(Z)))
    close(ft.grad(np.sin, holomorphic=True)(Z), np.cos(Z))


# ---- Jacobians without holomorphic: what is whole ----


def test_rows_of_jacrev_are_gradients():
    """For a real result of complex inputs, in the convention of grad."""
    z = np.array([Z, 1 + 2j])
    f = lambda z: np.stack([np.sum(np.abs(z) ** 2), np.sum(np.imag(z))])  # noqa: E731

    close(ft.jacrev(f)(z), np.stack([2 * z, np.array([1j, 1j])]))
    for k in range(2):
        close(ft.jacrev(f)(z)[k], ft.grad(lambda z, k=k: f(z)[k])(z))


def test_jacfwd_of_a_complex_result():
    x = np.array([0.3, -1.2])

    close(ft.jacfwd(lambda x: np.exp(1j * x))(x), np.diag(1j * np.exp(1j * x)))
    close(ft.jacfwd(np.fft.fft)(x), np.fft.fft(np.eye(2)))
    assert ft.jacfwd(lambda z: np.real(z))(x).dtype == float


def test_both_modes_agree_by_real_and_imaginary_parts():
    """The remedies in the messages are right."""
    x, y = np.real(B), np.imag(B)
    w = lambda x, y: np.conjugate(x + 1j * y) * np.exp(x + 1j * y)  # noqa: E731
    parts = lambda x, y: np.stack([np.real(w(x, y)), np.imag(w(x, y))])  # noqa: E731
    forward = ft.jacfwd(w, (0, 1))(x, y)
    reverse = ft.jacrev(parts, (0, 1))(x, y)

    for a, b in zip(forward, reverse):
        close(b[0] + 1j * b[1], a)


# ---- errors: transform, function, argument, what came and what to write ----


def modulus(z):
    return np.sum(np.abs(z))


def total(z):
    return np.sum(z)


@pytest.mark.parametrize("name", ["grad", "value_and_grad", "grad_and_value", "jacrev", "jacfwd"])
def test_a_real_input(name):
    transform = getattr(ft, name)
    with pytest.raises(TypeError) as error:
        transform(lambda z, x: z, 1, holomorphic=True)(B, {"w": np.ones(2, np.float32)})
    text = message(error)

    assert text.startswith(f"{name}(<lambda>): args[1]['w'] has dtype float32; ")
    assert "x.astype(complex)" in text
    raises(TypeError, lambda: transform(total, holomorphic=True)(2.0), "pass x.astype")


@pytest.mark.parametrize("name", ["grad", "value_and_grad", "grad_and_value", "jacrev", "jacfwd"])
def test_a_real_result(name):
    with pytest.raises(TypeError) as error:
        getattr(ft, name)(modulus, holomorphic=True)(B)
    text = message(error)

    assert f"{name}(modulus)" in text
    assert "dtype float64" in text
    assert "leave holomorphic out" in text


@pytest.mark.parametrize("jacobian", [ft.jacrev, ft.jacfwd])
def test_one_real_result_of_several(jacobian):
    with pytest.raises(TypeError, match=r"the result\['b'\]\[0\] has dtype float64"):
        jacobian(lambda z: {"a": z, "b": [np.real(z)]}, holomorphic=True)(B)


def test_a_complex_scalar_without_holomorphic():
    for f in (ft.grad, ft.value_and_grad, ft.grad_and_value):
        with pytest.raises(TypeError, match=r"\(total\).*complex128.*pass holomorphic=True"):
            f(total)(B)
    with ft.grad() as G:
        z = G(B)
        raises(TypeError, lambda: G.gradient(np.sum(z), z), "holomorphic=True")


def test_a_real_scalar_in_a_context_with_holomorphic():
    with ft.grad(holomorphic=True) as G:
        z = G(B)
        raises(TypeError, lambda: G.gradient(modulus(z), z), "leave holomorphic out")


@pytest.mark.parametrize(("f", "x"), [(np.sin, B), (lambda x: x * 1j, np.ones(2))])
def test_jacrev_of_a_complex_result_without_holomorphic(f, x):
    with pytest.raises(TypeError) as error:
        ft.jacrev(f)(x)

    assert "the result has dtype complex128" in message(error)
    for remedy in ("jacfwd", "holomorphic=True", "numpy.real(y)"):
        assert remedy in message(error)


@pytest.mark.parametrize("f", [np.sin, np.abs])
@pytest.mark.parametrize("transform", [ft.jacfwd, ft.hessian])
def test_forward_mode_by_a_complex_input_without_holomorphic(transform, f):
    with pytest.raises(TypeError) as error:
        transform(f)(B)

    assert "args[0] has dtype complex128" in message(error)
    for remedy in ("jacrev", "holomorphic=True", "x + 1j * y"):
        assert remedy in message(error)
