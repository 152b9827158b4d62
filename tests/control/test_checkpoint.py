"""checkpoint: the same derivatives from less memory, wherever the function is called."""

import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import functier as ft
from support.basics import alike, close, equal, held, in_threads, message, no_level_is_left, raises

rng = np.random.default_rng(0)
X, W = rng.normal(size=4), rng.normal(size=(4, 4)) / 2
XS = rng.normal(size=(3, 4))


def block(x, w):
    return np.tanh(x @ w) + np.sin(x)


def network(wrap):
    """A function of x and w, three of whose blocks are checkpointed, with w closed over."""

    def f(x, w):
        for _ in range(3):
            x = wrap(lambda x: block(x, w))(x)
        return np.sum(x * x)

    return f


USES = {
    "value": lambda f: f(X, W),
    "grad": lambda f: ft.grad(f, (0, 1))(X, W),
    "vjp": lambda f: ft.vjp(f, X, W)[1](2.0),
    "jvp": lambda f: ft.jvp(f, (X, W), (X, W)),
    "hessian": lambda f: ft.hessian(f, (0, 1))(X, W),
    "jacrev of jacrev": lambda f: ft.jacrev(ft.jacrev(f, (0, 1)), (0, 1))(X, W),
    "jacrev of jacfwd": lambda f: ft.jacrev(ft.jacfwd(f, (0, 1)), (0, 1))(X, W),
    "third order": lambda f: ft.grad(
        lambda x: np.sum(ft.grad(lambda x: np.sum(ft.grad(f)(x, W) ** 2))(x))
    )(X),
    "vmap": lambda f: ft.vmap(f, (0, None))(XS, W),
    "vmap of grad": lambda f: ft.vmap(ft.grad(f, (0, 1)), (0, None))(XS, W),
    "grad of vmap": lambda f: ft.grad(lambda w: np.sum(ft.vmap(f, (0, None))(XS, w)))(W),
    "jacrev of vmap": lambda f: ft.jacrev(lambda w: ft.vmap(f, (0, None))(XS, w))(W),
    "grad of vmap of grad": lambda f: ft.grad(
        lambda w: np.sum(ft.vmap(ft.grad(f), (0, None))(XS, w) ** 2)
    )(W),
    "hessian of vmap of hessian": lambda f: ft.hessian(
        lambda w: np.sum(ft.vmap(ft.hessian(f), (0, None))(XS, w))
    )(W),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_every_transform_gives_what_it_gives_without(use):
    alike(use(network(ft.checkpoint)), use(network(lambda f: f)), 1e-9)


TRANSFORMS = {
    "grad": lambda f: lambda x: ft.grad(lambda x: np.sum(f(x)))(x),
    "vjp": lambda f: lambda x: ft.vjp(f, x)[1](np.cos(x))[0],
    "jvp": lambda f: lambda x: ft.jvp(f, (x,), (np.sin(x),))[1],
    "vmap": lambda f: ft.vmap(f),
}


@given(st.lists(st.sampled_from(sorted(TRANSFORMS)), max_size=3), st.integers(0, 3))
def test_in_any_nesting(names, place):
    def stacked(wrap):
        f = wrap(lambda x: np.sin(x) * np.exp(-x) / (1 + x * x))
        for i, name in enumerate(names):
            f = TRANSFORMS[name](f)
            if i == place:
                f = wrap(f)
        return f(np.linspace(0.1, 1.0, 16).reshape(2, 2, 2, 2))

    close(stacked(ft.checkpoint), stacked(lambda f: f), 1e-9)


def test_inside_of_a_checkpointed_function_too():
    def g(x):
        return ft.checkpoint(lambda x: np.sin(ft.checkpoint(np.exp)(x)) * x)(x)

    def plain(x):
        return np.sin(np.exp(x)) * x

    close(ft.vmap(ft.grad(g))(X), ft.vmap(ft.grad(plain))(X))
    close(ft.vmap(ft.grad(ft.grad(g)))(X), ft.vmap(ft.grad(ft.grad(plain)))(X))


def test_functions_with_rules_of_their_own_inside():
    """Their backward rule meets the unit vectors of a Jacobian, a level that is made later."""

    @ft.custom_vjp
    def f(x):
        return np.sin(x)

    f.defvjp(lambda x: (f(x), x), lambda x, g: (g * np.cos(x),))

    def many(wrap):
        return lambda xs: ft.vmap(wrap(lambda x: f(x) * x))(xs)

    for use in (ft.jacrev, ft.jacfwd, lambda g: ft.jacrev(ft.jacrev(g)), ft.hessian):
        close(use(many(ft.checkpoint))(XS), use(many(lambda f: f))(XS))


# ---- what it costs ----


def peak(f, *args):
    f(*args)
    return held(lambda: f(*args))[2] / args[0].nbytes


def chain(wrap):
    def part(x):
        for _ in range(20):
            x = np.sin(x)
        return x

    def f(x):
        for _ in range(20):
            x = wrap(part)(x)
        return np.sum(x)

    return f


def test_the_memory_is_that_of_the_ends_and_one_part():
    x = rng.normal(size=10_000)

    assert peak(ft.grad(chain(lambda f: f)), x) > 400
    assert peak(ft.grad(chain(ft.checkpoint)), x) < 45


def test_so_it_is_in_the_second_order():
    x = rng.normal(size=10_000)

    def second(wrap):
        return ft.grad(lambda x: np.sum(ft.grad(chain(wrap))(x) ** 2))

    assert peak(second(lambda f: f), x) > 1150
    assert peak(second(ft.checkpoint), x) < 150


def counted(runs):
    @ft.checkpoint
    def f(x):
        runs.append(1)
        return np.sin(x) * x

    return f


@pytest.mark.parametrize(
    ("use", "expected"),
    [
        (lambda f: f(X), 1),
        (lambda f: ft.vmap(f)(X), 1),
        (lambda f: ft.jvp(f, (X,), (X,)), 1),
        (lambda f: ft.vjp(f, X), 1),
        (lambda f: ft.vjp(f, X)[1](X), 2),
        (lambda f: ft.jacrev(f)(X), 2),
        (lambda f: ft.jacfwd(f)(X), 1),
        (lambda f: ft.grad(lambda x: np.sum(f(x)))(X), 2),
    ],
)
def test_how_often_the_function_runs(use, expected):
    runs = []
    use(counted(runs))
    assert len(runs) == expected


def test_what_is_between_goes_when_the_function_returns():
    seen = []

    @ft.checkpoint
    def f(x):
        y = np.sin(x)
        seen.append(weakref.ref(y))
        return np.cos(y)

    ft.grad(lambda x: (f(x), seen[0]() is None or pytest.fail("it is alive"))[0])(1.0)
    assert len(seen) == 2


# ---- what a function may take and return ----


def test_trees_keywords_and_results_that_are_no_tensors():
    @ft.checkpoint
    def f(tree, *, scale, name):
        a, (b, n) = tree["a"], tree["b"]
        return {"y": a * b * scale, "n": n, "name": name, "same": a, "none": None, "sign": a > 0}

    def loss(a, b, scale):
        out = f({"a": a, "b": (b, 3)}, scale=scale, name="f")
        assert out["n"] == 3 and out["name"] == "f" and out["none"] is None
        assert type(out["sign"]) is np.ndarray
        return np.sum(out["y"] * out["same"])

    a, b = np.array([1.0, -2.0]), np.array([3.0, 4.0])
    grads = ft.grad(loss, (0, 1, 2))(a, b, 2.0)
    close(grads[0], 4.0 * a * b)
    close(grads[1], 2.0 * a * a)
    close(grads[2], np.sum(a * a * b))


def test_results_that_are_not_used_and_results_that_do_not_depend():
    f = ft.checkpoint(lambda x: (np.sin(x), np.exp(x), np.ones(3)))
    close(ft.grad(lambda x: np.sum(f(x)[0]))(X), np.cos(X))
    equal(ft.grad(lambda x: np.sum(f(x)[2]))(X), np.zeros(4))


def test_operations_with_several_results():
    def eigenvalues(a):
        w, v = np.linalg.eigh(a + a.T)
        return w, v * v

    def loss(wrap):
        return lambda a: sum(np.sum(y**3) for y in wrap(eigenvalues)(a))

    close(ft.grad(loss(ft.checkpoint))(W), ft.grad(loss(lambda f: f))(W), 1e-9)


def test_as_a_decorator_with_and_without_brackets():
    @ft.checkpoint()
    def f(x):
        """Cubes."""
        return x**3

    assert f.__name__ == "f" and f.__doc__ == "Cubes."
    equal(ft.grad(f)(2.0), np.float64(12.0))


def test_complex_numbers():
    z = X + 1j * XS[0]

    def loss(wrap):
        return lambda z: np.sum(np.abs(wrap(lambda z: np.exp(z) * z)(z)) ** 2)

    close(ft.grad(loss(ft.checkpoint))(z), ft.grad(loss(lambda f: f))(z))


def test_sums_of_cotangents_have_the_order_of_those_without():
    def f(wrap):
        def loss(x, w):
            y = x
            for i in range(9):
                y = wrap(lambda y, i=i: np.tanh(w @ y) + w[i % 4] * np.sum(w[1:3]))(y)
            return np.sum(w**3) + np.sum(y * w[0])

        return ft.grad(loss, (0, 1))(X, W)

    for actual, expected in zip(f(ft.checkpoint), f(lambda f: f)):
        equal(actual, expected)


def test_in_a_with_block():
    with ft.grad() as G:
        x = G(X)
        y = np.sum(ft.checkpoint(np.sin)(x))
        close(G.gradient(y, x), np.cos(X))


# ---- the second run ----


def test_a_pullback_is_called_again_later_and_on_a_batch():
    _, pullback = ft.vjp(ft.checkpoint(np.sin), X)
    for g in XS:
        close(pullback(g)[0], g * np.cos(X))
    close(ft.vmap(pullback)(XS)[0], XS * np.cos(X))


def test_a_pullback_is_called_in_several_threads():
    @ft.checkpoint
    def f(x):
        for _ in range(20):
            x = np.sin(x) + ft.grad(lambda y: y * y)(0.5) * x
        return x

    _, pullback = ft.vjp(f, X)
    expected = pullback(X)[0]
    for results in in_threads(lambda _: [pullback(X)[0] for _ in range(20)], range(4)):
        for result in results:
            equal(result, expected)


def test_afterwards_the_level_has_ended_again():
    kept = []

    def f(x):
        kept.append(x)
        return np.sin(x)

    _, pullback = ft.vjp(ft.checkpoint(f), X)
    for _ in range(2):
        pullback(X)
        for x in kept:
            raises(ft.EscapedTensorError, lambda: np.sin(x))
    no_level_is_left()


def test_an_error_in_the_second_run_leaves_nothing_behind():
    runs = []

    @ft.checkpoint
    def f(x):
        runs.append(x)
        if len(runs) == 2:
            raise KeyError("second")
        return np.sin(x)

    _, pullback = ft.vjp(f, X)
    raises(KeyError, lambda: pullback(X), "second")
    no_level_is_left()
    raises(ft.EscapedTensorError, lambda: np.sin(runs[0]))
    close(pullback(X)[0], X * np.cos(X))


def test_a_function_that_does_something_else_the_second_time():
    sizes = iter([4, 3])

    @ft.checkpoint
    def model(x):
        return np.sin(x[: next(sizes)])

    with pytest.raises(RuntimeError) as error:
        ft.grad(lambda x: np.sum(model(x)))(X)
    assert "checkpoint(model)" in message(error)
    assert "[(3,)]" in message(error) and "[(4,)]" in message(error)


def test_what_is_no_function():
    raises(TypeError, lambda: ft.checkpoint(3), "checkpoint: func is a int, not a function")
