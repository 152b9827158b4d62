"""The law: a write does what NumPy does, seen through every name and view, or raises."""

import gc
import re

import numpy as np
import pytest

import functier as ft
import functier.numpy as fnp
from rows import each
from support import close, equal, has_all, message, raises

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
    first, second = y
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


NAMES = [
    two_names, a_function_that_scales, views_before_and_after, a_view_of_a_dead_name,
    a_copy_sees_nothing, a_copy_is_written_to, what_a_rule_saved, a_list_of_rows,
    a_sum_is_a_number, an_element_is_a_number, an_element_before_a_write, a_ufunc_of_numbers,
    an_array_without_axes, an_element_with_an_ellipsis, plain_until_a_tensor_comes,
    writes_to_the_argument, a_tuple_of_outs, out_returns_the_array,
]  # fmt: skip


@each("f", NAMES)
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
    return z, w, z.real, z.imag


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
    integers, integers_of_an_operation, truths, single, complex_parts, a_real_part_of_a_real_array,
    python_numbers_are_weak,
]


@each("f", DTYPES)
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


def test_derivatives_through_complex_parts():
    """Writes to the real and the imaginary parts, against the program without writes."""

    def f(x):
        z = x * (1 + 2j)
        z.real[...] = x * x
        z.imag *= x
        return np.sum(np.abs(z) ** 2)

    def without(x):
        return np.sum(x**4 + 4 * x**4)

    close(ft.grad(f)(X), ft.grad(without)(X))
    close(ft.vmap(ft.grad(f))(XS), ft.vmap(ft.grad(without))(XS))
    close(ft.hessian(f)(X), ft.hessian(without)(X))


# ---- what NumPy refuses ----


def at(index, value):
    def write(y):
        y[index] = value

    return write


def plus(value):
    def write(y):
        y += value

    return write


REFUSED = {
    "shape": at(slice(None), np.ones(4)),
    "shape of a slice": at(slice(1, None), np.ones(3)),
    "a matrix": at(..., np.ones((2, 3))),
    "shape of an array index": at([0, 1], np.ones(3)),
    "shape of a mask": at(X > 0, np.ones(3)),
    "shape of a sum": plus(np.ones((2, 3))),
    "other shape of a sum": plus(np.ones(4)),
    "out of range": at(3, 1.0),
    "out of range of an array": at([0, 5], 1.0),
    "too many indices": at((0, 0), 1.0),
    "a mask of another shape": at(np.array([True, False]), 1.0),
    "a float index": at(1.0, 1.0),
    "out": lambda y: np.add(y, np.ones((2, 3)), out=y),
    "out of a sum": lambda y: np.sum(np.stack([y, y]), axis=1, out=y),
    "put": lambda y: np.put(y, [7], 1.0),
    "a product": lambda y: y.__imatmul__(np.ones((3, 2))),
}


OTHER_WORDS = {
    "shape of an array index", "shape of a mask", "other shape of a sum", "out of a sum",
    "a product",
}  # fmt: skip


@each("name", REFUSED)
def test_errors_are_those_of_numpy(name):
    """The type, and mostly the text; the array is unchanged, and the level goes on."""
    write = REFUSED[name]
    with pytest.raises(Exception) as wanted:  # noqa: PT011
        write(X.copy())
    words = "" if name in OTHER_WORDS else re.sub(r"\s", "", message(wanted))

    def program(x):
        y = x * 1.0
        try:
            write(y)
        except type(wanted.value) as error:
            assert words in re.sub(r"\s", "", str(error)), (words, str(error))
        else:
            raise AssertionError("no error")
        y[0] = 2.0
        return y

    made = lambda x: program(fnp.array([1.0, 2.0, 3.0])) + x  # noqa: E731
    for f in (program, made):
        equal(ft.vmap(f)(XS), np.stack([f(x) for x in XS]))
        equal(ft.vjp(f, X)[0], f(X))
        equal(ft.jvp(f, (X,), (T,))[0], f(X))


@each("f", [
    lambda x: at(0, x[0] * 1j)(fnp.zeros(3)),
    lambda x: at(0, x[0] * 1j)(x * 1.0),
    lambda x: plus(x * 1j)(x * 1.0),
    lambda x: np.add(x, 1j, out=x * 1.0),
    lambda x: plus(x)(fnp.zeros(3, int)),
    lambda x: np.sin(x, out=fnp.zeros(3, int)),
], ids="assign, to a result, plus, out, int, int out".split(", "))  # fmt: skip
def test_a_value_that_the_dtype_cannot_hold(f):
    """A complex value in a real array, and what only ``casting='unsafe'`` allows."""
    for run in (
        lambda: ft.vmap(f)(XS), lambda: ft.jvp(f, (X,), (T,)), lambda: ft.vjp(f, X),
        lambda: ft.vmap(ft.vmap(f))(XS[None]),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=r"cannot be written|Cannot cast ufunc"):
            run()


READ_ONLY = {
    "broadcast_to": lambda x: np.broadcast_to(x, (2, 3)),
    "broadcast_arrays": lambda x: np.broadcast_arrays(x, np.ones((2, 1)))[0],
    "diagonal": lambda x: np.diagonal(np.outer(x, x)),
    "diagonal, a method": lambda x: np.outer(x, x).diagonal(),
    "a view of one": lambda x: np.broadcast_to(x, (2, 3))[0],
}


@each("make", READ_ONLY.values(), ids=READ_ONLY)
@pytest.mark.filterwarnings("ignore:Numpy has detected:DeprecationWarning")
def test_what_is_read_only_in_numpy(make):
    """One element in several places, and a diagonal: the write raises, and a copy takes it."""

    def program(x):
        y = make(x)
        with pytest.raises((ValueError, ft.MutationError), match="read-only|copy"):
            y[0] = 1.0
        with pytest.raises((ValueError, ft.MutationError), match="read-only|copy"):
            y += 1.0
        y = y.copy()
        y[0] = 1.0
        return y

    def wanted(x):
        y = make(x).copy()
        y[0] = 1.0
        return y

    equal(ft.vmap(program)(XS), np.stack([wanted(x) for x in XS]))
    equal(ft.vjp(program, X)[0], wanted(X))
    equal(ft.jvp(program, (X,), (T,))[0], wanted(X))


# ---- the arguments ----


def doubled(x, y):
    x *= 2.0
    return np.sum(x * y)


def test_one_array_given_twice():
    """As it is, or as a view: the derivative would be that of both. A copy is what to write."""
    a = X.copy()
    for call in (
        lambda: ft.grad(doubled, (0, 1))(a, a),
        lambda: ft.grad(lambda t: doubled(*t))((a, a)),
        lambda: ft.grad(doubled, (0, 1))(a[:2], a[1:]),
        lambda: ft.grad(doubled, (0, 1))(a, a[::-1]),
        lambda: ft.jvp(doubled, (a, a), (T, X)),
        lambda: ft.jvp(doubled, (a, a), (XS[0], XS[1])),
        lambda: ft.vjp(doubled, a, a),
    ):
        raises(ft.MutationError, call, "given twice", "a.copy()")
    equal(a, X)
    found = ft.grad(doubled, (0, 1))(a, a.copy())
    close(np.stack(found), np.stack([2 * X, 2 * X]))


def test_one_array_given_twice_and_not_written_to():
    """Nothing is refused before a write; another array may be written to."""

    def f(x, y):
        z = x * 1.0
        z += y
        return np.sum(z * z)

    close(np.stack(ft.grad(f, (0, 1))(X, X)), np.stack([4 * X, 4 * X]))


def test_the_same_array_wrapped_and_plain_raises():
    """The plain one would not see the write."""
    a = X.copy()
    raises(ft.MutationError, lambda: ft.grad(doubled)(a, a), "a.copy()")
    raises(ft.MutationError, lambda: ft.vmap(doubled, (0, None))(XS, XS[0]), "copy()")
    close(ft.grad(doubled)(a, a.copy()), 2 * X)


def test_a_plain_argument_is_numpys():
    """A plain write to it is NumPy's, and is seen outside; that of a tensor raises."""
    a = np.zeros(3)

    def f(x, a):
        a[0] = 1.0
        a += 1.0
        return np.sum(x * a)

    close(ft.grad(f)(X, a), np.array([2.0, 1.0, 1.0]))
    equal(a, np.array([2.0, 1.0, 1.0]))
    with pytest.raises(ft.LevelError) as error:
        ft.grad(lambda x, a: np.add(x, 1.0, out=a))(X, a)
    has_all(message(error), "plain array", "functier.numpy")
    equal(a, np.array([2.0, 1.0, 1.0]))


def test_results_share_no_memory():
    """With the arguments, with one another where NumPy's would not, and with what is kept."""
    kept = []

    def f(x):
        y = x * 1.0
        y[0] = 1.0
        z = y[1:]
        kept.append(fnp.ones(3))
        return x * 1.0, y, y.copy(), z

    for run in (
        lambda x: ft.vmap(f)(np.stack([x, x])),
        lambda x: ft.vjp(f, x)[0],
        lambda x: ft.jvp(f, (x,), (T,))[0],
        lambda x: ft.jvp(f, (x,), (T,))[1],
    ):
        x = X.copy()
        out = run(x)
        for y in out:
            y[...] = 99.0
        equal(x, X)
        equal(T, np.array([1.0, 0.5, -2.0]))
        again = run(x)
        assert not any(np.any(np.asarray(y) == 99.0) for y in again)


def test_a_pullback_is_used_twice():
    """What the tape of a write has saved is not changed by a backward pass."""

    def f(x):
        y = x * 1.0
        y[1:] *= y[:-1]
        y[0] = y[1] * y[2]
        return y

    _, pull = ft.vjp(f, X)
    g = np.array([1.0, 2.0, 3.0])
    first, second = pull(g)[0], pull(g)[0]
    first[...] = 0.0
    equal(pull(g)[0], second)
    close(second, ft.jacrev(f)(X).T @ g)
    value, push = ft.linearize(f, X)
    equal(push(T), push(T))


# ---- other levels ----


def test_an_inner_value_is_not_written_to_an_outer_array():
    """The message names both levels; an outer value goes into an inner array."""

    def outer(make):
        def f(x):
            a = make(x)
            ft.vmap(lambda y: at(0, y[0])(a))(XS)
            return np.sum(a * x)

        return f

    for make in (lambda x: x * 1.0, lambda x: fnp.zeros(3), lambda x: x):
        with pytest.raises(ft.MutationError) as error:
            ft.grad(outer(make))(X)
        assert re.search(r"vmap\(<lambda>\)", message(error)), message(error)
        assert re.search(r"grad\(f\)", message(error)), message(error)
        has_all(message(error), "inside")

    def right(x):
        def inner(y):
            a = fnp.zeros(3)
            a[0] = y[0] * x[1]
            a[1:] = x[1:]
            return a

        return np.sum(ft.vmap(inner)(XS) * x)

    def without(x):
        return np.sum(np.stack([[y[0] * x[1], x[1], x[2]] for y in XS]) * x)

    h = 1e-6
    slope = [(without(X + h * e) - without(X - h * e)) / (2 * h) for e in np.eye(3)]
    close(ft.grad(right)(X), np.array(slope), 1e-8)


def test_an_inner_write_to_an_outer_array_in_grad():
    """The gradient inside of a function that has an array: the array of its own level is written
    to after the inner transform, never by it."""

    def f(x):
        a = x * 1.0
        a[0] = ft.grad(lambda t: t * t * x[1])(x[0])
        a[1:] += ft.vmap(lambda t: t * x[0])(x[1:])
        return np.sum(a * a)

    def without(x):
        return (2 * x[0] * x[1]) ** 2 + np.sum((x[1:] + x[1:] * x[0]) ** 2)

    close(ft.grad(f)(X), ft.grad(without)(X))
    close(ft.hessian(f)(X), ft.hessian(without)(X))
    close(ft.vmap(ft.grad(f))(XS), ft.vmap(ft.grad(without))(XS))


def test_a_branch_that_writes_to_what_is_around_it():
    """In cond, scan and while_loop: NumPy's result, or an error; never a third outcome."""

    def by_cond(x):
        a = x * 1.0
        ft.cond(x[0] > 0, lambda: at(0, 5.0)(a), lambda: at(1, 5.0)(a))
        return a

    def by_scan(x):
        a = x * 1.0

        def body(c, i):
            a[i] = c
            return c * 2.0, c

        ft.scan(body, x[0], np.arange(3))
        return a

    def by_loop(x):
        a = x * 1.0

        def body(state):
            i, y = state
            a[i] = y
            return i + 1, y * 2.0

        ft.while_loop(lambda s: s[0] < 3, body, (0, x[0]))
        return a

    def by_checkpoint(x):
        a = x * 1.0

        @ft.checkpoint
        def part(y):
            a[0] = y[1]
            return y * 2.0

        return part(x) + a

    for f in (by_cond, by_scan, by_loop, by_checkpoint):
        wanted = f(X.copy())
        slope = [(f(X + 1e-6 * e) - f(X - 1e-6 * e)) / 2e-6 for e in np.eye(3)]
        for run, result in (
            (lambda f=f: ft.vmap(f)(X[None])[0], wanted),
            (lambda f=f: ft.vjp(f, X)[0], wanted),
            (lambda f=f: ft.jvp(f, (X,), (T,))[0], wanted),
            (lambda f=f: ft.jacfwd(f)(X), np.stack(slope, -1)),
            (lambda f=f: ft.jacrev(f)(X), np.stack(slope, -1)),
        ):
            try:
                found = run()
            except ft.LevelError:
                continue
            np.testing.assert_allclose(found, result, rtol=1e-6, atol=1e-6, err_msg=f.__name__)


def test_a_level_ends_with_its_arrays():
    """A tensor that was written to and escapes is dead, as any other; nothing keeps its memory."""
    kept = []

    def f(x):
        y = x * 1.0
        y[0] = 2.0
        kept.append((y, y[1:]))
        return np.sum(y)

    ft.grad(f)(X)
    for t in kept[0]:
        for use in (
            lambda t: t + 1.0, lambda t: t[0], at(0, 1.0), plus(1.0), np.sum, lambda t: t.T,
            lambda t: t.reshape(-1),
        ):  # fmt: skip
            with pytest.raises(ft.EscapedTensorError, match=r"grad\(f\)"):
                use(t)
    kept.clear()
    gc.collect()
