"""Arrays that are written to, and what is around them: other libraries, modes, files, errors."""

import copy
import io
import pickle
from contextlib import nullcontext

import numpy as np
import pytest
import scipy.linalg
import scipy.special

import functier as ft
import functier.numpy as fnp
import functier.scipy.linalg as fsl
from functier import modes
from functier.testing import check_grads
from support.basics import (
    close,
    equal,
    has_all,
    in_thread,
    message,
    no_level_is_left,
    raises,
    recorder,
)

X = np.array([0.7, -0.4, 1.2])
XS = np.stack([X, X * 2.0])
T = np.array([1.0, 0.5, -2.0])


def everywhere(f, refused=None):
    """Run a function in levels of vmap, grad and jvp, and in a nest of them.

    The levels raise what is `refused`, also where the function has caught it.
    """
    for call in (
        lambda: ft.vmap(f)(XS), lambda: ft.vjp(f, X), lambda: ft.jvp(f, (X,), (T,)),
        lambda: ft.vmap(lambda x: ft.vjp(f, x)[0])(XS),
    ):  # fmt: skip
        with pytest.raises(refused) if refused else nullcontext():
            call()
    no_level_is_left()


# ---- arrays that are made inside and have met no tensor ----


def test_an_array_made_inside_a_level_is_plain_to_everybody():
    """It indexes plain arrays and lists, is an argument of SciPy and of NumPy's other functions,
    and has the attributes of an array."""
    table = np.arange(10.0)

    def f(x):
        i = fnp.array([2, 0, 1])
        a = fnp.zeros((3, 3)) + 2.0 * fnp.eye(3)
        a[0, 0] = 1.0
        equal(table[i], np.array([2.0, 0.0, 1.0]))
        equal(table[i[1] :], table)
        assert [5, 6, 7][i[0]] == 7 and list(range(i[0])) == [0, 1]
        equal(scipy.linalg.inv(a), np.diag([1.0, 0.5, 0.5]))
        equal(np.asarray(scipy.special.gamma(i + 1)), np.array([2.0, 1.0, 1.0]))
        equal(np.linalg.det(np.asarray(a)), np.float64(4.0))
        equal(np.asarray(i), np.array([2, 0, 1]))
        assert float(a[0, 0]) == 1.0 and a.tolist()[1] == [0.0, 2.0, 0.0] and a[1, 1].item() == 2.0
        assert f"{a[1, 1]:.1f}" == "2.0" and bool(np.any(a > 1)) and int(i[0]) == 2
        assert sum(a[0]) == 1.0 and max(i) == 2 and (2 in i) and sorted(i) == [0, 1, 2]
        assert (a.shape, a.dtype, a.ndim, a.size, len(a)) == ((3, 3), float, 2, 9, 3)
        if np.all(a == 0.0):
            raise AssertionError
        with io.StringIO() as out:
            np.savetxt(out, a)
        return x[i] * a[1, 1]

    everywhere(f)
    equal(ft.vmap(f)(XS), XS[:, [2, 0, 1]] * 2.0)
    close(ft.jacrev(f)(X), 2.0 * np.eye(3)[[2, 0, 1]])


CACHE: dict = {}


def cached(n):
    """A table that is made once, at the first call."""
    if n not in CACHE:
        w = fnp.zeros(n)
        for i in range(n):
            w[i] = 1.0 / (i + 1)
        CACHE[n] = w
    return CACHE[n]


def test_a_cache_that_is_filled_inside_a_level():
    """The array outlives the level, and is plain in the next ones and outside."""
    CACHE.clear()
    close(ft.grad(lambda x: np.sum(x * cached(3)))(X), 1.0 / np.arange(1.0, 4.0))
    w = CACHE[3]
    close(np.asarray(w), 1.0 / np.arange(1.0, 4.0))
    close(np.asarray(w * 2.0), 2.0 / np.arange(1.0, 4.0))
    close(np.asarray(np.sum(w)), np.sum(1.0 / np.arange(1.0, 4.0)))
    close(ft.vmap(lambda x: x * cached(3))(XS), XS / np.arange(1.0, 4.0))
    close(ft.hessian(lambda x: np.sum(x * x * cached(3)))(X), np.diag(2.0 / np.arange(1.0, 4.0)))
    close(scipy.special.expit(np.asarray(w)), scipy.special.expit(1.0 / np.arange(1.0, 4.0)))
    CACHE.clear()


def test_a_tensor_is_not_written_to_an_array_of_a_level_that_has_ended():
    """An array that outlives its level is one from outside of the next."""
    CACHE.clear()
    ft.grad(lambda x: np.sum(x * cached(3)))(X)
    w = CACHE.pop(3)

    def f(x):
        w[0] = x[0]
        return np.sum(w)

    with pytest.raises(ft.MutationError, match="made outside"):
        ft.grad(f)(X)
    w[0] = 4.0
    close(np.asarray(w)[0], np.float64(4.0))


def written(x):
    a = fnp.zeros(3)
    a[0] = x[0]
    return a


def test_an_array_that_a_tensor_was_written_to_is_a_tensor():
    """It neither indexes plain arrays with a batch, nor enters other libraries: it raises."""

    def f(x):
        a = fnp.zeros(3)
        a[0] = x[0]
        for use in (
            lambda: scipy.linalg.expm(np.outer(a, a)), lambda: np.asarray(a), lambda: a.tolist(),
        ):  # fmt: skip
            with pytest.raises(ft.LevelError):
                use()
        return a * 1.0

    everywhere(f, ft.LevelError)
    with pytest.raises(ft.ConversionError):
        ft.grad(lambda x: float(written(x)[0]) + x[0])(X)


def test_what_numpy_asarray_gave_is_not_forgotten():
    """Somebody who has the plain array of an array would not see the write of a tensor."""

    def f(x):
        a = fnp.zeros(3)
        shown = np.asarray(a)
        a[1] = 1.0
        assert shown[1] in (0.0, 1.0) and not (shown.flags.writeable and shown[1] == 0.0)
        with pytest.raises(ft.MutationError, match="copy"):
            a[0] = x[0]
        del shown
        a[0] = x[0]
        return a * 1.0

    everywhere(f)


BY_DLPACK = [np.from_dlpack] if np.from_dlpack(X).flags.writeable else []  # not in NumPy 2.1


@pytest.mark.parametrize("shown", [
    lambda a: np.asarray(a)[1:], *BY_DLPACK, lambda a: np.ma.asarray(a).data,
    lambda a: np.asarray(fnp.real(a))[None],
])  # fmt: skip
def test_what_is_taken_of_a_plain_array_keeps_it(shown):
    def f(x):
        for a in fnp.zeros(3), fnp.zeros(3, complex):
            y = shown(a)
            a[1] = 1.0
            assert 1.0 in y and x[0] + a[1] - x[0] == 1.0
            y[...] = 2.0
            assert a[1] == 2.0
            with pytest.raises(ft.MutationError, match="in use"):
                a[0] = x[0]
            del y
            a[0] = x[0]
        return x

    everywhere(f)


def test_a_write_in_an_inner_level_is_not_lost_on_a_plain_array():
    """Under `branches="split"` the array is a copy, which the level around the inner one notes."""

    def f(x):
        y = x * 1.0
        shown = np.asarray(y)
        ft.grad(lambda s: y.fill(5.0) or s * 1.0)(1.0)
        return y + shown

    with pytest.raises(ft.MutationError, match=r"numpy\.asarray at .*; write y = numpy.asarray"):
        ft.vmap(f, branches="split")(XS)


@pytest.mark.parametrize("ended", [False, True])
def test_what_an_inner_level_knows_of_arrays_of_the_level_around(ended):
    """A copy of a view in NumPy is tied to its source, also when the inner level has ended."""

    def f(x):
        arrays = []

        def inside(s):
            b = fnp.zeros_like(x)
            b += x
            arrays.extend((b, fnp.frombuffer(b)))
            if not ended:
                b *= 2.0
            return s

        ft.vjp(inside, 0.0)
        b, r = arrays
        b *= 2.0
        return np.sum(r)

    with pytest.raises(ft.MutationError, match=r"made by numpy\.frombuffer at"):
        ft.trace(f)(XS)


def test_a_write_to_a_plain_array_of_a_tensor_is_refused():
    """It is a copy; code in C does not ask whether it may be written to, or copies it."""

    def loop(x):
        while x[0] > 0:
            a = np.asarray(x)
            a -= 1.0
        return x

    def scaled(x):
        y = x * 1.0
        scipy.linalg.blas.dscal(2.0, y)
        return y

    arrays = []

    def kept(x):
        arrays.append(np.asarray(x))
        arrays[-1][0] = 5.0
        return x

    for f in loop, scaled, kept:
        with pytest.raises(ft.MutationError, match=r"made at .*py:\d+ was written to"):
            ft.vmap(f, branches="split")(np.ones((2, 3)))

    assert ft.vmap(lambda x: arrays.append(np.asarray(x)) or x[0], branches="split")(XS).size
    arrays.pop()[0] = 5.0  # when the level has ended
    ft.vmap(np.sum, branches="split")(XS)

    def followed(x):
        y = x * 1.0
        a = np.array(y)
        scipy.linalg.blas.dscal(2.0, a)
        y[...] = a
        return y

    close(ft.vmap(followed, branches="split")(XS), 2.0 * XS)


def test_code_in_c_writes_to_a_plain_array():
    def f(x):
        a = fnp.ones(3)
        y = x + a
        scipy.linalg.blas.dscal(2.0, a)
        return x * a + y

    close(ft.vmap(f)(XS), 3.0 * XS + 1.0)
    close(ft.jacrev(f)(X), 3.0 * np.eye(3))


def test_a_write_for_some_examples_does_not_go_to_a_plain_array():
    def f(x):
        a = fnp.ones(3)

        def doubled(v):
            np.asarray(a)[...] *= 2.0
            return v

        return ft.cond(x[0] > 1.0, doubled, lambda v: v, x) * a

    raises(ft.MutationError, lambda: ft.vmap(f)(XS), "was written to")


def test_numpy_require_gives_no_copy_that_is_lost():
    def f(x):
        a = fnp.ones(3)
        with pytest.raises(ft.MutationError, match=r"write functier.numpy.require\(x, ...\)"):
            np.require(a, None, ["C", "O"])
        np.require(a, None, "W")[...] = 1.0
        b = x * 1.0
        owned = fnp.require(b, None, "O")
        with pytest.raises(ft.MutationError, match=r"numpy\.require at"):
            b += owned
        assert np.require(a.reshape(3, 1)[:, [0, 0]].T, None, ["F", "W"]).flags.writeable
        r = fnp.require(a, None, "W")
        r *= x
        return a * 1.0

    everywhere(f, ft.MutationError)


# ---- modes ----


def test_logging_mode_shows_writes():
    """An assignment, ``+=``, ``out=`` and a function that writes are lines of the log."""

    def f(x):
        y = x * 1.0
        y[0] = 2.0
        y += 1.0
        np.add(y, 1.0, out=y)
        np.put(y, [0], 3.0)
        z = fnp.zeros(3)
        z[1] = y[1]
        return y * z

    for run in (lambda: ft.vmap(f)(XS), lambda: ft.vjp(f, X), lambda: ft.jvp(f, (X,), (T,))):
        with modes.LoggingMode() as log:
            run()
        text = "\n".join(log.lines)
        has_all(text, "setitem", "iadd", "out=", "numpy.put")
        assert text.count("setitem") >= 2, text


def test_a_mode_changes_nothing():
    """The values of a program that writes are the same where a mode watches it."""

    class Watch(modes.TensorFunctionMode):
        def __tensor_function__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    class Operations(modes.TensorDispatchMode):
        def __tensor_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    def f(x):
        y = fnp.ones(3)
        y[1:] = x[1:]
        v = y[::-1]
        v *= x
        np.multiply(y, 2.0, out=y)
        y.sort()
        return y * 1.0

    for mode in (Watch, Operations, modes.FlopCounterMode):
        with mode():
            found = ft.vmap(f)(XS), ft.jacrev(f)(X), ft.jacfwd(f)(X)
        for a, b in zip(found, (ft.vmap(f)(XS), ft.jacrev(f)(X), ft.jacfwd(f)(X))):
            equal(a, b)


def test_a_users_tensor_is_written_to():
    """A tensor of a user's class: the write goes to its array. A level does not write to the
    copy of one: the message says so, and the plain array is what to pass."""
    Recorder = recorder()
    array = X.copy()
    x = Recorder(array)
    x[0] = 2.0
    x += 1.0
    equal(array, np.array([3.0, 0.6, 2.2]))

    def f(x):
        y = x * 1.0
        y[0] = y[1] * 2.0
        x[1] = 5.0
        return y

    given = Recorder(XS.copy())
    for run in (lambda x: ft.vmap(f)(x), lambda x: ft.vjp(f, x), lambda x: ft.jvp(f, (x,), (x,))):
        with pytest.raises(ft.MutationError) as error:
            run(given)
        has_all(message(error), "Recorder", "x.elem()")
        equal(given.elem(), XS)
    wanted = XS.copy()
    wanted[:, 0] = XS[:, 1] * 2.0
    equal(ft.vmap(f)(given.elem()), wanted)
    equal(given.elem(), XS)


# ---- copies and files ----


def test_copies_of_written_tensors():
    """`copy.copy` and `copy.deepcopy` give an array with its own elements."""

    def f(x):
        y = x * 1.0
        y[0] = 5.0
        made = fnp.zeros(3)
        made[1] = x[1]
        for a in (y, made):
            for b in (copy.copy(a), copy.deepcopy(a), copy.deepcopy([a])[0]):
                b[2] = 9.0
        return y + made

    everywhere(f)
    equal(ft.vmap(f)(XS), np.stack([[5.0, 2 * x[1], x[2]] for x in XS]))
    equal(ft.jacrev(f)(X), np.diag([0.0, 2.0, 1.0]))


def test_pickles():
    """An array that has met no tensor is pickled as a plain one; a tensor says what to do."""

    def f(x):
        a = fnp.zeros(3)
        a[0] = 1.0
        equal(np.asarray(pickle.loads(pickle.dumps(a))), np.array([1.0, 0.0, 0.0]))
        a[1] = x[1]
        y = x * 1.0
        y[0] = 1.0
        for t in (a, y):
            with pytest.raises(ft.LevelError, match="pickle the result"):
                pickle.dumps(t)
        return a + y

    everywhere(f)  # also if the function has caught it, as Dask does


def test_the_text_of_a_written_tensor():
    """`repr` and `str` show the elements of now."""

    def f(x):
        y = x * 1.0
        y[0] = 77.5
        assert "77.5" in repr(y) and "77.5" in str(y) and "77.5" in f"{y}"
        a = fnp.zeros(2)
        a[0] = 77.5
        assert "77.5" in repr(a) and "77.5" in str(a)
        return y

    everywhere(f)


# ---- errors in the middle ----


class Stop(Exception):
    """An error that a program raises."""


def test_an_exception_in_the_middle_of_a_program():
    """The level ends, the arrays of the caller are unchanged, and the next call is right."""

    def f(x, stop):
        y = x * 1.0
        y[0] = 2.0
        v = y[1:]
        v *= x[1:]
        if stop:
            raise Stop
        return np.sum(y * y)

    close(ft.grad(f)(X, False), np.array([0.0, *(4 * X[1:] ** 3)]))
    for run in (
        lambda: ft.grad(f)(X, True), lambda: ft.vmap(f, (0, None))(XS, True),
        lambda: ft.jvp(lambda x: f(x, True), (X,), (T,)), lambda: ft.hessian(f)(X, True),
        lambda: ft.vmap(ft.grad(f), (0, None))(XS, True),
    ):  # fmt: skip
        before = X.copy(), XS.copy()
        raises(Stop, run)
        no_level_is_left()
        equal(X, before[0])
        equal(XS, before[1])
        close(ft.grad(f)(X, False), np.array([0.0, *(4 * X[1:] ** 3)]))


def test_a_write_that_raises_leaves_the_array():
    """An error of NumPy's in a write: the values and the derivatives are those without it."""

    def f(x):
        y = x * 1.0
        y[0] = x[1]
        for write in (
            lambda: y.__setitem__(0, np.ones(7)), lambda: y.__setitem__(9, x[0]),
            lambda: y.__setitem__([0, 9], x[0]), lambda: np.add(y, np.ones(7), out=y),
            lambda: y.__iadd__(np.ones((2, 2))), lambda: y.__setitem__(0, 1j),
            lambda: np.put(y, [9], x[0]), lambda: np.add.at(y, [9], x[0]),
            lambda: y.__setitem__(0, "text"), lambda: y.__setitem__(0, object()),
        ):  # fmt: skip
            with pytest.raises((ValueError, IndexError, TypeError)):
                write()
        return y * y

    wanted = np.array([[0.0, 2 * X[1], 0.0], [0.0, 2 * X[1], 0.0], [0.0, 0.0, 2 * X[2]]])
    close(ft.jacrev(f)(X), wanted)
    close(ft.jacfwd(f)(X), wanted)
    equal(ft.vmap(f)(XS), XS[:, [1, 1, 2]] ** 2)


def test_an_interrupt_in_the_middle_of_a_write():
    """The value to write is an iterator that raises."""

    class Broken:
        def __array__(self, *args, **kwargs):
            raise KeyboardInterrupt

    def f(x):
        y = x * 1.0
        y[0] = 3.0
        with pytest.raises(KeyboardInterrupt):
            y[1:] = Broken()
        return y * 2.0

    equal(ft.vmap(f)(XS), np.stack([[6.0, *(x[1:] * 2)] for x in XS]))
    equal(ft.vjp(f, X)[0], np.array([6.0, *(X[1:] * 2)]))


# ---- other ways to run ----


def test_another_thread():
    """A level in each of two threads; a tensor is handed to a thread and written to there."""

    def f(x):
        y = x * 1.0
        y[0] = 3.0
        return np.sum(y * y)

    wanted = np.array([0.0, *(2 * X[1:])])
    close(in_thread(lambda: ft.grad(f)(X)), wanted)

    def handed(x):
        y = x * 1.0

        def write():
            y[0] = 3.0

        try:
            in_thread(write)
        except ft.MutationError:
            y[0] = 3.0
        return np.sum(y * y)

    close(ft.grad(handed)(X), wanted)


def test_gradients_against_the_checker():
    """`functier.testing` takes functions that write."""

    def f(x):
        y = fnp.zeros((3, 3))
        for i in range(3):
            y[i] = x * x[i]
            y[i, i] += np.sin(x[i])
        y[1:] -= y[:-1]
        return np.sum(y * y)

    check_grads(f, (X,), order=2)


def test_one_step_after_another():
    """The level of a label is made again and again: writes of one call are not seen in the next."""

    def f(x, n):
        y = fnp.zeros(3)
        z = x * 1.0
        for i in range(n):
            v = z[i:]
            y[i] = np.sum(v)
            z[i] = 0.0
        return np.sum(y * y)

    for n in (0, 1, 3, 2, 0, 3):
        h = 1e-6
        slope = [(f(X + h * e, n) - f(X - h * e, n)) / (2 * h) for e in np.eye(3)]
        close(ft.grad(f)(X, n), np.array(slope, float), 1e-8)
        close(ft.vmap(f, (0, None))(XS, n), np.array([f(x, n) for x in XS], float))


def test_none_stays_none_among_results():
    def f(b):
        b = b * 1.0
        b[0][0] = 2.0
        x, *_, s = fsl.lstsq(fnp.array(np.diag([1.0, 2.0, 4.0])), b, lapack_driver="gelsy")
        return x if s is None else b

    for _ in range(2):  # the second one has been written to before
        equal(ft.vmap(f)(np.ones((1, 3, 3)))[0][0], np.array([2.0, 1.0, 1.0]))


class Asked(np.ndarray):
    """An array whose `__array__` NumPy never calls, as it is one already."""

    def __new__(cls, data):
        return fnp.asarray(data).view(cls)

    def __array__(self):
        return fnp.asarray(self)


def test_asarray_of_an_array_does_not_ask_it():
    a = Asked([1.0, 2.0])
    assert ft.grad(lambda x: (fnp.asarray(a) * x).sum())(1.5) == 3.0
    assert ft.grad(lambda x: fnp.asarray(Asked(np.stack([x, 2 * x]))).sum())(1.5) == 3.0
