"""Arrays that a function makes by `functier.numpy`, beside tensors: writes, names, refusals."""

import importlib
import pickle
import re
import sys
import warnings

import numpy as np
import pytest

import functier as ft
import functier.numpy as fnp
from support.basics import at, close, equal, has_all, message, plus, raises

# ---- conversions ----


def test_a_guard_against_writes_is_a_promise_that_a_level_takes():
    def guarded(x):
        y, plain = x * 2.0, fnp.ones(2)
        y.setflags(write=False)
        plain.setflags(write=False)
        return (y * plain).sum()

    np.testing.assert_array_equal(ft.grad(guarded)(np.ones(2)), [2.0, 2.0])
    np.testing.assert_array_equal(ft.vmap(guarded)(np.ones((2, 2))), [4.0, 4.0])
    with pytest.raises(ft.UnsupportedError, match=r"x\.copy\(\)"):
        ft.grad(lambda x: x.setflags(write=True))(np.ones(2))


# ---- computed numbers ----


X_OF_NUMBERS = np.random.default_rng(1).normal(size=6)
M = np.random.default_rng(2).normal(size=(3, 3))
NUMBERS = {
    "full": (lambda np, x, n: np.full(n, x[0]).sum(), X_OF_NUMBERS, 2, 3),
    "tensordot axes": (lambda np, x, n: np.tensordot(x, x, ([n], [0])).sum(), M, 0, 1),
    "fftfreq": (lambda np, x, n: (np.fft.fftfreq(n, x[0])).sum(), X_OF_NUMBERS, 4, 8),
    "list mul": (lambda np, x, n: sum([x[0]] * n), X_OF_NUMBERS, 1, 2),
}
"""Functions of plain arrays or lists and a whole number that is computed."""


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_that_is_computed(name):
    f, x, *numbers = NUMBERS[name]
    xs, ns = np.stack([x, x * 1.3 + 0.1, x - 0.2]), np.array(numbers)[[0, 1, 0]]

    def total(np, x, n):
        return np.sum(f(np, x, n))

    def g(x, t):
        return total(fnp, x, fnp.astype(t, int))

    wanted = [total(np, x, int(n)) for x, n in zip(xs, ns)]
    close(ft.vmap(g, branches="split")(xs, ns + 0.3), np.stack(wanted))
    step = 1e-6 * np.cos(np.arange(x.size)).reshape(x.shape)
    slope = (total(np, x + step, numbers[0]) - total(np, x - step, numbers[0])) / 2e-6
    assert np.isclose(
        np.sum(ft.grad(g)(x, np.array(numbers[0] + 0.3)) * step) / 1e-6, slope, atol=1e-5
    )


def test_plain_values_are_repeated_by_a_count_that_is_computed():
    found = ft.jvp(lambda x, n: fnp.repeat([1.0, 2.0], n) * x, (2.0, 2.7), (1.0, 1.0))
    np.testing.assert_array_equal(found, [[2.0, 2.0, 4.0, 4.0], [1.0, 1.0, 2.0, 2.0]])


def test_an_array_of_counts_is_refused_as_by_numpy():
    counts = np.array([1.0, 2.0, 1.0, 0.0])
    raises(TypeError, lambda: np.repeat(np.arange(4.0), counts), "Cannot cast")
    with pytest.raises((TypeError, ft.NoRuleError)):
        ft.grad(lambda n: np.sum(fnp.repeat(np.arange(4.0), n)))(counts)


# ---- border ----


X_OF_BORDER = np.array([3.0, 5.0])


def test_modules_inside_of_numpys():
    before = {n: m for n, m in sys.modules.items() if n.split(".")[0] == "numpy"}
    la = importlib.import_module("functier.numpy.linalg")
    scimath = importlib.import_module("functier.numpy.lib.scimath")
    fft = importlib.import_module("functier.numpy.fft")
    assert la is fnp.linalg is sys.modules["functier.numpy.linalg"]
    assert scimath is fnp.emath is fnp.lib.scimath
    assert all(sys.modules[n] is m for n, m in before.items())
    for f in (la.norm, np.linalg.norm):
        close(ft.grad(f)(X_OF_BORDER), X_OF_BORDER / np.linalg.norm(X_OF_BORDER))
    close(
        ft.grad(lambda x: np.sum(scimath.arcsin(x)))(X_OF_BORDER / 10),
        1 / np.sqrt(1 - (X_OF_BORDER / 10) ** 2),
    )
    close(ft.grad(lambda x: np.sum(np.abs(fft.rfft(x))))(X_OF_BORDER), [0.0, 2.0])
    for f in (la.norm, scimath.arcsin, fft.rfft, fnp.random.default_rng, fnp.emath.sqrt):
        assert pickle.loads(pickle.dumps(f)) is f
    assert importlib.reload(la) is fnp.linalg
    for name in ("_core", "nothing", "emath"):
        path = f"functier.numpy.{name}"
        raises(ModuleNotFoundError, lambda: importlib.import_module(path), "No module named")


# ---- orders ----


X_FLAGS = np.arange(12.0).reshape(3, 4)


FORMS = {
    "itself": lambda np, x: x,
    "transposed": lambda np, x: x.T,
    "a column": lambda np, x: x[:, 1],
    "a row": lambda np, x: x[1],
    "steps": lambda np, x: x[::2, ::2],
    "reversed": lambda np, x: x[::-1],
    "computed": lambda np, x: x.T * 2.0,
    "a copy": lambda np, x: x.T.copy(),
    "three axes": lambda np, x: np.swapaxes(np.reshape(x, (2, 3, 2)), 0, 2),
    "one row": lambda np, x: x[:1],
    "a number": lambda np, x: x[1, 2],
    "made": lambda np, x: np.zeros((2, 3), order="F") + x[0, 0] * 0,
    "written": lambda np, x: written(np, x),
    "broadcast": lambda np, x: np.broadcast_to(x[0], (3, 4)),
}


NAMES = ("c_contiguous", "f_contiguous", "contiguous", "forc", "fnc", "aligned", "writeable")


KEYS = ("C_CONTIGUOUS", "F_CONTIGUOUS", "C", "F", "WRITEABLE", "W", "ALIGNED")


def written(np, x):
    y = np.zeros((3, 4))
    y[1:] = x[1:]
    return y.T[1:]


def flags_of(x):
    return [getattr(x.flags, n) for n in NAMES] + [x.flags[k] for k in KEYS]


@pytest.mark.parametrize("name", FORMS)
def test_flags_are_those_of_numpy(name):
    wanted, found = flags_of(FORMS[name](np, X_FLAGS.copy())), []

    def f(x):
        found.append(flags_of(FORMS[name](fnp, x)))
        return np.sum(x)

    ft.grad(f)(X_FLAGS)
    ft.jvp(f, (X_FLAGS,), (X_FLAGS,))
    ft.vmap(f)(np.stack([X_FLAGS, X_FLAGS]))
    ft.vmap(ft.grad(f))(np.stack([X_FLAGS, X_FLAGS]))
    assert found == [wanted] * 4


# ---- arguments ----


X_OF_ARGUMENTS = np.array([0.7, -0.4, 1.2])


XS = np.stack([X_OF_ARGUMENTS, X_OF_ARGUMENTS * 2.0])


T = np.array([1.0, 0.5, -2.0])


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
        x = X_OF_ARGUMENTS.copy()
        out = run(x)
        for y in out:
            y[...] = 99.0
        equal(x, X_OF_ARGUMENTS)
        equal(T, np.array([1.0, 0.5, -2.0]))
        again = run(x)
        assert not any(np.any(np.asarray(y) == 99.0) for y in again)


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
            ft.grad(outer(make))(X_OF_ARGUMENTS)
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
    slope = [
        (without(X_OF_ARGUMENTS + h * e) - without(X_OF_ARGUMENTS - h * e)) / (2 * h)
        for e in np.eye(3)
    ]
    close(ft.grad(right)(X_OF_ARGUMENTS), np.array(slope), 1e-8)


# ---- origin ----


def test_an_array_of_an_outer_tensor_takes_inner_values():
    c, x = np.array([0.1, 0.2, 0.3]), np.array([0.7, -0.4, 1.2])

    def writing(x, c):
        s = fnp.array(c)
        s -= x
        return s * c

    for inner in (lambda f: ft.vmap(f)(np.stack([x, -x])), lambda f: ft.jvp(f, (x,), (x,))[1]):
        run = lambda g, inner=inner: ft.jvp(lambda c: inner(lambda x: g(x, c)), (c,), (x,))  # noqa: E731
        close(run(writing), run(lambda x, c: (c - x) * c))


def test_a_with_block_takes_a_copy():
    """The names of its function are those outside, too: the message says how to make a copy."""
    c0, x0 = np.array([0.1, 0.2, 0.3]), np.array([0.7, -0.4, 1.2])
    with ft.jvp() as outer:
        c = outer(c0, c0)
        with ft.vmap() as inner:
            x = inner(x0)
            s = np.sin(c)
            with pytest.raises(ft.MutationError, match="made outside of it"):
                s += x
            s = fnp.array(np.sin(c))
            s += x
            value, tangent = outer.unwrap(inner.unwrap(s))
    close(value, np.sin(c0) + x0[:, None])
    close(tangent, np.cos(c0) * c0 + 0 * x0[:, None])


# ---- refusals ----


X_OF_REFUSALS = np.array([0.7, -0.4, 1.2])


XS_OF_REFUSALS = np.stack([X_OF_REFUSALS, X_OF_REFUSALS * 2.0])


REFUSED = {
    "shape": at(slice(None), np.ones(4)),
    "shape of a slice": at(slice(1, None), np.ones(3)),
    "a matrix": at(..., np.ones((2, 3))),
    "shape of an array index": at([0, 1], np.ones(3)),
    "shape of a mask": at(X_OF_REFUSALS > 0, np.ones(3)),
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


@pytest.mark.parametrize("name", REFUSED)
def test_errors_are_those_of_numpy(name):
    """The type, and mostly the text; the array is unchanged, and the level goes on."""
    write = REFUSED[name]
    with pytest.raises(Exception) as wanted:
        write(X_OF_REFUSALS.copy())
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
        equal(ft.vmap(f)(XS_OF_REFUSALS), np.stack([f(x) for x in XS_OF_REFUSALS]))
        equal(ft.vjp(f, X_OF_REFUSALS)[0], f(X_OF_REFUSALS))
        equal(ft.jvp(f, (X_OF_REFUSALS,), (T,))[0], f(X_OF_REFUSALS))


@pytest.mark.parametrize("f", [
    lambda x: at(0, 1j)(x * 1.0),
    lambda x: plus(x * 1j)(x * 1.0),
    lambda x: np.add(x, 1j, out=x * 1.0),
    lambda x: plus(x)(fnp.zeros(3, int)),
    lambda x: np.sin(x, out=fnp.zeros(3, int)),
], ids="of Python, plus, out, int, int out".split(", "))  # fmt: skip
def test_a_value_that_the_dtype_cannot_hold(f):
    """A complex number of Python in a real array, and what only ``casting='unsafe'`` allows."""
    for run in (
        lambda: ft.vmap(f)(XS_OF_REFUSALS), lambda: ft.jvp(f, (X_OF_REFUSALS,), (T,)),
        lambda: ft.vjp(f, X_OF_REFUSALS),
        lambda: ft.vmap(ft.vmap(f))(XS_OF_REFUSALS[None]),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=r"cannot be written|Cannot cast ufunc"):
            run()


@pytest.mark.parametrize("make", [lambda x: x, lambda x: x * 1.0, lambda x: fnp.zeros(3)],
      ids=["argument", "result", "array"])  # fmt: skip
def test_shuffle_refuses(make):
    """`numpy.random.shuffle` swaps what it reads; `permutation` gives a new array."""
    for shuffle in (np.random.shuffle, np.random.default_rng(0).shuffle):

        def f(x, shuffle=shuffle):
            y = make(x)
            shuffle(y)
            return y

        for run in (lambda f=f: ft.vmap(f)(XS_OF_REFUSALS), lambda f=f: ft.vjp(f, X_OF_REFUSALS)):
            with (
                warnings.catch_warnings(action="ignore"),
                pytest.raises((ft.MutationError, TypeError)),
            ):
                run()


@pytest.mark.parametrize("make", [lambda x: np.stack([x, x * x]), lambda x: fnp.array([x, x * x])],
      ids=["result", "array"])  # fmt: skip
def test_a_mask_and_a_view_of_the_same_array(make):
    """NumPy reads what it has written already; with a copy it has a meaning."""
    mask = np.array([[True, False, True], [False, True, False]])

    def f(x):
        y = make(x)
        y[mask] = y[0]
        return y

    def advised(x):
        y = make(x)
        y[mask] = y[0].copy()
        return y

    wanted = [advised(x) for x in XS_OF_REFUSALS]
    runs = {
        "vmap": lambda f: ft.vmap(f)(XS_OF_REFUSALS)[0],
        "vjp": lambda f: ft.vjp(f, X_OF_REFUSALS)[0],
        "jvp": lambda f: ft.jvp(f, (X_OF_REFUSALS,), (T,))[0],
        "vmap vjp": lambda f: ft.vmap(lambda x: ft.vjp(f, x)[0])(XS_OF_REFUSALS)[0],
    }
    for run in runs.values():
        with pytest.raises(ft.MutationError) as error:
            run(f)
        has_all(message(error), "x[mask] = v", "a view of x", "write x[mask] = v.copy()")
        equal(run(advised), wanted[0])


def test_a_tensor_in_a_plain_array_from_outside():
    """By every way to write: the array is unchanged, and what the message says works."""
    out = np.zeros(3)

    def program(write, make):
        def f(x):
            a = make(out)
            write(a, x)
            return a * 1.0

        return f

    for write in (
        lambda a, x: np.add(x, 1.0, out=a),
        lambda a, x: np.copyto(a, x),
        lambda a, x: np.put_along_axis(a, np.array([0]), x[:1], 0),
        lambda a, x: a.__iadd__(x),
        lambda a, x: np.add.at(a, [0, 0], x[:2]),
        lambda a, x: np.cumsum(x, out=a),
    ):
        for run in (ft.vmap, lambda f: lambda xs: ft.vjp(f, xs[0])):
            with pytest.raises(ft.MutationError) as error:
                run(program(write, lambda a: a))(XS_OF_REFUSALS)
            has_all(message(error), "plain array", "inside the function", "functier.numpy.zeros")
            equal(out, np.zeros(3))
        wanted = np.stack([program(write, np.copy)(x) for x in XS_OF_REFUSALS])
        equal(ft.vmap(program(write, fnp.array))(XS_OF_REFUSALS), wanted)
        equal(ft.vjp(program(write, fnp.array), X_OF_REFUSALS)[0], wanted[0])


# ---- selections ----


def test_a_mask_that_is_a_tensor_beside_plain_operands():
    import functier.numpy as fnp

    def f(x):
        return np.sum(x * np.sqrt(np.array([4.0, 9.0]), out=fnp.zeros(2), where=x > 0))

    batch = np.array([[1.0, -1.0], [2.0, 3.0]])
    np.testing.assert_array_equal(ft.vmap(f)(batch), [2.0, 13.0])


def test_arrays_that_are_made_inside_have_no_warning():
    import functier.numpy as fnp

    def f(x):
        y = fnp.array([0.0, 2.0])
        with warnings.catch_warnings(action="error"):
            return x * np.divide(1.0, y, out=fnp.ones(2), where=y != 0)

    np.testing.assert_array_equal(ft.vmap(f)(np.array([1.0, 2.0])), [[1.0, 0.5], [2.0, 1.0]])


INDICES = {
    "nothing, by a mask": np.array([False]),
    "the element, by a mask": np.array([True]),
    "no place": np.array([], int),
    "one place": np.array([0]),
    "one place twice": np.array([0, 0]),
    "all": slice(None),
    "an empty slice": slice(0, 0),
    "a number": 0,
}


@pytest.mark.parametrize("index", INDICES.values(), ids=INDICES)
@pytest.mark.parametrize("several", [False, True])
def test_a_write_to_an_array_without_axes_is_numpys(index, several):
    def f(x, xp):
        out = xp.zeros_like(x, dtype=float)
        values = xp.stack([x, 3.0 * x]) if several and np.ndim(index) else x
        out.flat[index] = values
        return out * 2.0

    expected = f(np.float64(0.7), np)
    value, tangent = ft.jvp(lambda x: f(x, fnp), (0.7,), (1.0,))
    np.testing.assert_array_equal(value, expected)
    np.testing.assert_allclose(tangent, expected / 0.7)
    np.testing.assert_allclose(ft.grad(lambda x: np.sum(f(x, fnp)))(0.7), expected / 0.7)
    rows = ft.vmap(lambda x: f(x, fnp))(np.array([0.7, 1.4]))
    np.testing.assert_allclose(rows, [expected, 2 * expected])


# ---- moved views ----


def test_plain_array_that_is_read_at_numbers_of_a_batch():
    """A later write is seen, and what was read before does not change."""

    def f(i, x):
        a = fnp.ones(3)
        b = a[i]
        c = a * x
        a += 5.0
        return np.sum(c) + np.sum(np.sin(a)) + 0 * np.sum(b)

    i, x = np.array([[0, 1], [1, 2]]), np.array([0.5, 2.0])
    np.testing.assert_allclose(ft.vmap(f)(i, x), 3 * x + 3 * np.sin(6))
    np.testing.assert_allclose(ft.vmap(ft.grad(f, 1))(i, x), [3, 3])


# ---- indexing ----


@pytest.mark.parametrize(
    "write",
    [
        pytest.param(lambda a, t: np.copyto(a, t), id="copyto"),
        pytest.param(lambda a, t: np.put(a, [0], t), id="put"),
        pytest.param(
            lambda a, t: np.put_along_axis(a, np.array([0]), t[:1], 0), id="put_along_axis"
        ),
        pytest.param(lambda a, t: np.place(a, np.array([True, False]), t), id="place"),
        pytest.param(lambda a, t: np.putmask(a, np.array([True, False]), t), id="putmask"),
    ],
)
def test_a_tensor_is_written_to_a_copy_by_functier_numpy(write):
    """As the message of a plain array says."""

    def right(t):
        b = fnp.array(np.zeros(2))
        write(b, t)
        return b

    t = np.ones((2, 2)) * 3.0
    equal(ft.vmap(right)(t), np.stack([right(row) for row in t]))


def test_functions_go_through_the_hook_of_a_subclass():
    class Seen(ft.Tensor):
        pass

    t = Seen(np.arange(3.0))
    equal(fnp.sum(t).elem(), np.sum(t).elem())
    assert type(fnp.sum(t)) is Seen


def test_an_array_without_axes_is_an_index_whose_result_is_a_copy():
    def f(x, i):
        u = x[fnp.array(i)]
        u += 1
        return x, u

    x, i = np.arange(12.0).reshape(3, 4), np.array([0, 2])
    for found, wanted in zip(ft.vmap(f)(np.stack([x, x]), i), (np.stack([x, x]), x[i] + 1)):
        equal(found, wanted)


def test_a_state_that_is_made_inside_takes_writes_of_a_loop():
    def f(x):
        def body(state):
            i, y = state
            y[...] = 0.0
            y += x * x
            return i + 1, y

        return ft.while_loop(lambda s: s[0] < 1, body, (0, fnp.zeros_like(x * 1.0)))[1]

    x = np.array([0.5, -1.0])
    equal(ft.jvp(f, (x,), (x,))[1], 2 * x * x)
    equal(ft.vmap(f)(np.stack([x, 2 * x])), np.stack([x * x, 4 * x * x]))


@pytest.mark.parametrize("numbers", [[3.0, np.nan], [3.0, 300.0], [300.0, -200.0]])
def test_a_number_that_does_not_fit_into_an_array_of_an_example(numbers):
    def f(x):
        a = fnp.zeros(2, np.int8)
        a[1] = x
        return a * 1

    assert np.array_equal(ft.vmap(f)(np.array([-128.9, 127.9])), [[0, -128], [0, 127]])
    with pytest.raises(OverflowError, match="an array of int8 is out of its bounds"):
        ft.vmap(f)(np.array(numbers))
    with pytest.raises(OverflowError, match="an array of int8 is out of its bounds"):
        ft.vmap(lambda x: ft.vmap(f)(x))(np.array([numbers]))
