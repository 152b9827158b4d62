"""Writes to arguments, to results, and to arrays of other levels."""

import gc

import numpy as np
import pytest

import functier as ft
from support.basics import at, close, equal, has_all, message, plus, raises

X = np.array([0.7, -0.4, 1.2])
XS = np.stack([X, X * 2.0])
T = np.array([1.0, 0.5, -2.0])


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


READ_ONLY = {
    "grad": lambda f, a: ft.grad(f)(a),
    "jvp": lambda f, a: ft.jvp(f, (a,), (XS,)),
    "vmap": lambda f, a: ft.vmap(f)(a),
    "vmap of grad": lambda f, a: ft.vmap(ft.grad(f))(a),
    "grad of vmap": lambda f, a: ft.grad(lambda x: np.sum(ft.vmap(f)(x)))(a),
    "hessian": lambda f, a: ft.hessian(f)(a),
    "in a pytree": lambda f, a: ft.grad(lambda tree: f(tree["a"]))({"a": a}),
    "compile": lambda f, a: [ft.compile(f)(x) for x in (a.copy(), a)],
}


@pytest.mark.parametrize("transform", READ_ONLY.values(), ids=READ_ONLY)
@pytest.mark.parametrize(
    "view", [lambda x: x, lambda x: x[1:], np.transpose], ids=["whole", "part", "turned"]
)
def test_a_read_only_argument_is_not_written_to(transform, view):
    def f(x):
        part = view(x)
        part[...] = 2.0
        return np.sum(x * x)

    a = XS.copy()
    a.flags.writeable = False
    raises(ValueError, lambda: f(a), "read-only")
    raises(ValueError, lambda: transform(f, a), "read-only", "x.copy()")


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


def test_a_pullback_is_used_twice():
    """A backward pass does not change the values that the tape of a write saved."""

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
    _, push = ft.linearize(f, X)
    equal(push(T), push(T))


# ---- other levels ----


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
            raises(ft.EscapedTensorError, lambda: use(t), "grad(f)")
    kept.clear()
    gc.collect()
