"""The law: a write does what NumPy does, seen through every name and view."""

import numpy as np
import pytest

import functier as ft
import functier.numpy as fnp
from support.basics import close, equal

X = np.array([0.7, -0.4, 1.2])
XS = np.stack([X, X * 2.0])
T = np.array([1.0, 0.5, -2.0])


def everywhere(f, *others):
    """The value of a program is NumPy's under vmap, grad and jvp, and their pairs.

    The program gives an array or a tuple of them.
    """

    def parts(x):
        y = f(x)
        return y if isinstance(y, tuple) else (y,)

    x = X.copy()
    wanted = parts(x.copy())

    def compare(found, index=...):
        for a, b in zip(found, wanted, strict=True):
            assert not isinstance(a, ft.Tensor)
            a = np.asarray(a)[index]
            assert np.shape(a) == np.shape(b) and a.dtype == np.asarray(b).dtype
            np.testing.assert_allclose(a, b, rtol=1e-14, atol=1e-14)

    two, three = np.stack([x, x]), np.stack([np.stack([x, x])] * 3)
    compare(ft.vmap(parts)(two), 1)
    compare(ft.vmap(ft.vmap(parts))(three), (2, 1))
    compare(ft.vjp(parts, x)[0])
    compare(ft.jvp(parts, (x,), (T,))[0])
    compare(ft.vmap(lambda x: ft.vjp(parts, x)[0])(two), 1)
    compare(ft.vmap(lambda x: ft.jvp(parts, (x,), (T,))[0])(two), 1)
    compare(ft.vjp(ft.vmap(parts), two)[0], 1)
    compare(ft.jvp(ft.vmap(parts), (two,), (two,))[0], 1)
    compare(ft.jvp(lambda x: ft.vjp(parts, x)[0], (x,), (T,))[0])
    equal(x, X)


# ---- names, views, scalars ----


def two_names(x):
    a = x * 1.0
    b = a
    a += 1.0
    b[0] = 5.0
    return a, b


def a_function_that_scales(x):
    def scale(v):
        v *= 3.0

    y = x + 0.0
    scale(y)
    scale(y[1:])
    return y


def views_before_and_after(x):
    y = x * 1.0
    before = y[1:]
    y[1] = 7.0
    after = y[:2]
    y[0] = before[1] * 2.0
    before[0] += 1.0
    return y, before, after


def a_view_of_a_dead_name(x):
    y = (x * 2.0)[::-1]
    y[0] = 1.0
    z = y[1:]
    del y
    z += 1.0
    return z


def a_copy_sees_nothing(x):
    y = x * 1.0
    copies = y.copy(), y[[0, 1]], y.flatten(), y + 0.0, np.array(y, like=y), y.astype(float)
    y[...] = 9.0
    return y, *copies


def a_copy_is_written_to(x):
    y = x * 1.0
    for z in (y.copy(), y[[0, 1]], y.flatten(), y + 0.0, np.copy(y)):
        z[0] = 9.0
    return y


def what_a_rule_saved(x):
    y = x * 1.0
    z = np.exp(y) * y
    y[...] = 0.0
    return z, y


def a_list_of_rows(x):
    y = np.stack([x, x * 2.0])
    rows = list(y)
    rows[0] += 1.0
    _, second = y
    second[0] = 3.0
    return y, rows[1]


def a_sum_is_a_number(x):
    t = np.sum(x)
    u = t
    t += 1.0
    return t, u


def an_element_is_a_number(x):
    total = x[0]
    total += x[1]
    other = x[1]
    x = x * 1.0
    x[1] = 5.0
    return total, other, x


def an_element_before_a_write(x):
    y = x * 1.0
    a, b = y[0], y[-1]
    y[0] = 5.0
    y[-1] = a
    c = y[0]
    y *= 2.0
    return a, b, c, y


def a_ufunc_of_numbers(x):
    s = np.sin(x[0])
    r = s
    r *= 2.0
    return s, r


def an_array_without_axes(x):
    a = fnp.zeros(())
    b = a
    a += x[0]
    a[...] *= 2.0
    a[()] += 1.0
    return a, b, a * 1.0


def an_element_with_an_ellipsis(x):
    y = x * 1.0
    first = y[0, ...]  # a view without axes
    first += 1.0
    first[...] *= 2.0
    return y, first


def plain_until_a_tensor_comes(x):
    a = fnp.zeros(3)
    b = a[1:]
    a[0] = 1.0
    b += 2.0
    a[1] = x[0]
    b[1] = x[1] * b[0]
    return a, b


def writes_to_the_argument(x):
    y = x
    x += 1.0
    x[0] = 0.0
    return x, y


def a_tuple_of_outs(x):
    y, z = fnp.zeros(3), fnp.zeros(3)
    r = np.divmod(x, 2.0, out=(y, z))
    assert r[0] is y and r[1] is z
    return y, z


def out_returns_the_array(x):
    y = fnp.zeros(3)
    assert np.add(x, 1.0, out=y) is y
    assert np.sum(np.stack([x, x]), axis=0, out=y) is y
    assert np.clip(x, 0.0, 1.0, out=y) is y
    return y


def a_copy_that_ravel_makes(x):
    y = fnp.zeros((2, 3))
    y[0] = x
    backwards, columns = y[::-1], y.T
    backwards.ravel()[0] = 5.0  # lost, as it is in a copy
    columns.reshape(-1)[0] = 5.0
    np.tile(y, 1)[0, 0] = 5.0
    return y, backwards, columns


def flat_views_of_a_transposed_array(x):
    y = np.sin(np.outer(x, x[:2])).T
    backwards, flat = y[:, ::-1], y.T.ravel()[:3]
    backwards[0, 0] = x[0]
    flat[::2] += flat[1]
    return y, backwards, flat


def a_mask_of_a_matrix_and_a_row_of_it(x):
    y = fnp.array([x, x * x])
    mask = np.array([[True, False, True], [False, True, False]])
    y[mask] = y[0].copy()
    y[mask] += y[:, ::-1][1]
    return y


NAMES = [
    two_names, a_function_that_scales, views_before_and_after, a_view_of_a_dead_name,
    a_copy_sees_nothing, a_copy_is_written_to, what_a_rule_saved, a_list_of_rows,
    a_sum_is_a_number, an_element_is_a_number, an_element_before_a_write, a_ufunc_of_numbers,
    an_array_without_axes, an_element_with_an_ellipsis, plain_until_a_tensor_comes,
    writes_to_the_argument, a_tuple_of_outs, out_returns_the_array, a_copy_that_ravel_makes,
    flat_views_of_a_transposed_array, a_mask_of_a_matrix_and_a_row_of_it,
]  # fmt: skip


@pytest.mark.parametrize("f", NAMES)
def test_what_names_and_views_see(f):
    """Aliases and views see a write, copies and scalars do not."""
    everywhere(f)


# ---- dtypes ----


def integers(x):
    y = fnp.zeros(3, int)
    y[0] = 2
    y[1:] = x[1:] * 3.0  # cut off, as NumPy does
    return y, y + 1


def integers_of_an_operation(x):
    y = np.argsort(x)
    y[0] = 7
    y += 1
    return y


def truths(x):
    y = x > 0
    y[0] = False
    y |= np.array([False, True, False])
    return y


def single(x):
    y = fnp.zeros(3, np.float32)
    y[...] = x
    y *= 2.0
    y[0] += x[1]
    return y, y * 2.0


def complex_parts(x):
    z = x * (1 + 2j)
    z.real[0] = 3.0
    z.imag += x
    z.real *= 2.0
    z[1] = x[0]
    w = z.conj()
    w.imag[...] = 0.0
    return z, w, z.real, z.imag, z.imag.real, z.real.imag


def a_real_part_of_a_real_array(x):
    y = x * 1.0
    y.real[1:] = 5.0
    return y


def python_numbers_are_weak(x):
    y = x.astype(np.float32)
    y += 1.5
    y[0] = 2
    y[1] = True
    return y


DTYPES = [
    integers,
    integers_of_an_operation,
    truths,
    single,
    complex_parts,
    a_real_part_of_a_real_array,
    python_numbers_are_weak,
]


@pytest.mark.parametrize("f", DTYPES)
def test_a_write_keeps_the_dtype(f):
    """An int array stays int, float32 stays float32, complex values have two parts."""
    everywhere(f)


def test_derivatives_of_single_precision_keep_it():
    """The gradient of a float32 argument that is written to is float32."""

    def f(x):
        x[0] = x[1] * 2
        y = fnp.zeros(2, np.float32)
        y[...] = x
        return np.sum(y * y)

    x = np.float32([3.0, 5.0])
    equal(ft.grad(f)(x), np.float32([0.0, 50.0]))
    equal(ft.jvp(f, (x,), (x,))[1], np.float32(250.0))


def test_a_write_of_float_into_int_has_no_derivative():
    """As of a conversion to int."""

    def f(x):
        y = fnp.zeros(2, int)
        y[...] = x
        return np.sum(y * x)

    close(ft.grad(f)(np.array([1.5, 2.5])), np.array([1.0, 2.0]))


def parts_of_rows(x):
    y = fnp.zeros((2, 3))
    for i in range(2):
        y[i] = 1.0 * (x * (i + 1)) + 1j * (x[::-1] * x)
    return y


COMPLEX_WRITES = {
    "a number": lambda x: at(fnp.zeros(3), 0, x[0] * (2.0 + 1j)),
    "to a result": lambda x: at(x * 1.0, 1, x[0] * (2.0 + 1j)),
    "an array": lambda x: at(fnp.zeros(3), slice(None), np.exp(1j * x)),
    "a plain one": lambda x: at(x * 1.0, slice(2), np.array([1 + 2j, 3j])),
    "a plain number": lambda x: at(x * 1.0, 0, np.complex128(1 + 2j)),
    "places": lambda x: at(x * 1.0, [2, 0], x[:2] * (1j + 0.5)),
    "a mask": lambda x: at(x * 1.0, np.array([True, False, True]), x[:2] * (1j + 0.5)),
    "single": lambda x: at(fnp.zeros(3, np.float32), ..., x * (2.0 + 1j)),
    "whole": lambda x: at(fnp.zeros(3, int), ..., x * (20.0 + 1j)),
    "rows": parts_of_rows,
}


def at(y, index, value):
    y[index] = value
    return y


@pytest.mark.filterwarnings("ignore:Casting complex values")
@pytest.mark.parametrize("f", COMPLEX_WRITES.values(), ids=COMPLEX_WRITES)
def test_a_real_array_takes_the_real_part_of_complex_values_with_a_warning(f):
    everywhere(f)
    for run in (lambda: f(X.copy()), lambda: ft.vmap(f)(XS), lambda: ft.jvp(f, (X,), (T,))):
        with pytest.warns(np.exceptions.ComplexWarning, match="discards the imaginary part"):
            run()
    tangent = ft.jvp(f, (X,), (T,))[1]
    h = 1e-6
    if f(X.copy()).dtype == float:
        close(tangent, (f(X + h * T) - f(X - h * T)) / (2 * h), 1e-6)
    weights = np.arange(1.0, 1.0 + tangent.size).reshape(tangent.shape)
    if f(X.copy()).dtype == float:
        close(ft.vjp(f, X)[1](weights)[0] @ T, np.sum(weights * tangent))
