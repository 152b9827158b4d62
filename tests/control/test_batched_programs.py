"""Programs of batches whose examples choose or end differently: masks are values in them."""

import numpy as np
import pytest

import functier as ft
from strategies.outcomes import difference
from support.basics import alike, raises
from support.compiling import leaves

TABLE = np.linspace(0.0, 1.0, 50)


def newton(a):
    return ft.while_loop(
        lambda x: np.abs(x * x - a) > 1e-9 * a, lambda x: 0.5 * (x + a / x), 1.0 + 0 * a
    )


def chosen(a):
    return ft.cond(a > 3.0, np.sqrt, lambda a: a * a, a)


def switched(a):
    kind = np.floor(a).astype(int) % 3
    return ft.switch(kind, [np.sin, lambda a: a**2, lambda a: np.exp(-a)], a)


def chosen_in_a_loop(a):
    def step(i, c):
        return ft.cond(c > 1.0, lambda c: c * 0.5, lambda c: c * 1.1 + 0.01 * i, c)

    return ft.fori_loop(0, 30, step, a)


def of_a_length(a):
    n = np.floor(a).astype(int) + 12
    return ft.fori_loop(0, n, lambda i, c: np.sin(c) + TABLE[i] * a, a)


def from_a_start(a):
    begin = np.floor(a).astype(int) % 5
    return ft.fori_loop(begin, 25, lambda i, c: np.sin(c) + 0.1 * i * a, a)


def scanned(a):
    def step(c, y):
        return ft.cond(c > y, lambda c: c * 0.5, lambda c: c + y * a, c), c

    return ft.scan(step, a, np.linspace(0.0, 1.0, 40))[0]


def singular(a):
    """The inverse exists for the examples that choose it alone."""
    m = np.reshape(np.stack([a - 3.0, 0.0 * a, 0.0 * a, 1.0 + 0.0 * a]), (2, 2))
    m = np.where(a > 3.0, m, 0.0)
    return ft.cond(a > 3.0, lambda m: np.sum(np.linalg.inv(m)), lambda m: np.sum(m), m)


def loops_in_loops(a):
    def outer(c):
        n, x = c
        return n + 1, ft.while_loop(lambda x: x > a, lambda x: 0.7 * x, x + 2.0)

    return ft.while_loop(lambda c: c[0] < a, outer, (0, 2.0 * a))[1]


WAYS = {
    "vmap": ft.vmap,
    "vmap of grad": lambda f: ft.vmap(ft.grad(f)),
    "grad of vmap": lambda f: ft.grad(lambda a: np.sum(ft.vmap(f)(a))),
    "jvp of vmap": lambda f: lambda a: ft.jvp(ft.vmap(f), (a,), (np.cos(a),)),
    "vmap of vmap": lambda f: lambda a: ft.vmap(ft.vmap(f))(np.reshape(a, (2, -1))),
    "vmap of hessian": lambda f: ft.vmap(ft.grad(ft.grad(f))),
}

FUNCTIONS = [
    newton, chosen, switched, chosen_in_a_loop, of_a_length, from_a_start, scanned, singular,
    loops_in_loops,
]  # fmt: skip


@pytest.mark.share(2)
@pytest.mark.parametrize("backend", ["numpy", pytest.param("llvm", marks=pytest.mark.slow)])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("f", FUNCTIONS)
def test_examples_that_differ_share_programs(f, way, backend):
    g = WAYS[way](f)
    compiled = ft.compile(g, backend=backend)
    draws = np.random.default_rng(0)
    for a in [draws.uniform(0.1, 9.0, 8) for _ in range(6)]:
        for _ in range(2):
            found, wanted = leaves(compiled(a)), leaves(g(a))
            if backend == "numpy" and way != "vmap of hessian":
                assert difference(found, wanted) is None
            for x, y in zip(found, wanted, strict=True):
                np.testing.assert_allclose(x, y, rtol=1e-8, atol=1e-12)
    if f is not loops_in_loops:
        assert compiled._traced <= 2, compiled.explain()


@pytest.mark.parametrize("f", [chosen, switched, chosen_in_a_loop, newton])
def test_all_examples_may_choose_alike(f):
    g = ft.vmap(ft.value_and_grad(f))
    compiled = ft.compile(g, backend="numpy")
    for a in ([1.5, 1.6], [4.5, 4.7], [1.5, 4.7], [7.5, 0.2], [4.5, 4.4], [3.0, 3.0]):
        assert difference(leaves(compiled(np.array(a))), leaves(g(np.array(a)))) is None


def test_an_index_out_of_range_is_named():
    compiled = ft.compile(ft.vmap(lambda i, x: ft.switch(i, [np.sin, np.cos], x)))
    x = np.ones(2)
    compiled(np.array([0, 1]), x)
    raises(IndexError, lambda: compiled(np.array([0, 2]), x), "index 2 is out of range")


def test_a_batched_counter_slices_an_array_that_examples_share():
    xs = np.linspace(0.0, 1.0, 20)

    def f(x, xs):
        def step(c):
            return c[0] * 0.5 + np.sum(xs[c[1] : c[1] + 2]), c[1] + 1

        return ft.while_loop(lambda c: c[1] < 2 + 2 * np.sum(x > 0.2), step, (x[0], 0))[0]

    g = ft.vmap(f, in_dims=(0, None), branches="split")
    compiled = ft.compile(g, backend="numpy")
    for seed in range(3):
        x = np.random.default_rng(seed).normal(size=(4, 3))
        assert difference(leaves(compiled(x, xs)), leaves(g(x, xs))) is None


def test_numbers_that_all_examples_share_stay_weak():
    """A number of Python in the carry would be an array of float64 beside float32."""

    def f(x):
        return ft.while_loop(
            lambda c: c[0] < 9.0, lambda c: (c[0] + 1.0, np.cos(c[1] + 0.1 * c[0])), (0.0, x)
        )[1]

    compiled = ft.compile(ft.vmap(f), backend="numpy")
    x = np.linspace(0.0, 1.0, 4).astype(np.float32)
    for _ in range(2):
        assert difference(leaves(compiled(x)), leaves(ft.vmap(f)(x))) is None


# ---- Chunks of `vmap` in compiled functions: one is recorded, and a loop has the others ----


X = np.random.default_rng(0).normal(size=(103, 3))
W = np.arange(3.0)


def f(w, x):
    return {"a": np.tanh(x * w), "b": x @ w}


def mapped(w, x, **options):
    return ft.vmap(f, (None, 0), chunk_size=5, **options)(w, x)


def loss(w, x):
    return np.sum(mapped(w, x)["a"] * x)


CALLS = {
    "plain": mapped,
    "last axes": lambda w, x: ft.vmap(f, (None, -1), {"a": -1, "b": 0}, chunk_size=5)(w, x.T),
    "one last axis": lambda w, x: ft.vmap(lambda x: x * w, -1, -1, chunk_size=5)(x.T),
    "grad": ft.grad(loss, (0, 1)),
    "of grad": ft.vmap(ft.grad(lambda w, x: f(w, x)["b"]), (None, 0), chunk_size=5),
    "hessian": ft.hessian(loss),
    "in vmap": lambda w, x: ft.vmap(lambda w: mapped(w, x))(np.stack([w, w + 1])),
    "by a keyword": lambda w, x: ft.vmap(lambda x, w=None: f(w, x), chunk_size=5)(x, w=w),
    "integers": lambda w, x: ft.vmap(lambda i: i * w, chunk_size=5)(np.arange(len(x))),
    "one result": lambda w, x: mapped(w, x, out_dims={"a": 0, "b": 0}),
    "split": lambda w, x: mapped(w, x, branches="split"),
    "of draws": lambda w, x: mapped(w, x, randomness="different"),
    "named": lambda w, x: mapped(w, x, axis_name="i"),
}


@pytest.mark.parametrize("size", [40, 100, 103])
@pytest.mark.parametrize("name", CALLS)
def test_a_compiled_call_in_chunks_is_the_call(name, size):
    call = ft.compile(CALLS[name], backend="numpy")
    for k in range(3):
        alike(call(W + k, X[:size]), CALLS[name](W + k, X[:size]))


@pytest.mark.parametrize("name", ["plain", "one last axis", "grad", "of grad", "in vmap"])
def test_the_number_of_chunks_decides_nothing_of_a_program(name):
    lengths = set()
    for n in (100, 5000):
        call = ft.compile(CALLS[name], backend="numpy")
        call(W, np.ones((n, 3)))
        lengths.add(len(call.programs[0].source.splitlines()))
    assert len(lengths) == 1 and lengths.pop() < 200


def test_an_error_names_the_line_of_the_user():
    def bad(x):
        return x @ np.ones(7)

    with pytest.raises(ValueError, match="size 7 is different from 3") as caught:
        ft.compile(lambda x: ft.vmap(bad, chunk_size=5)(x))(X)
    assert caught.traceback[-1].name == "bad"
