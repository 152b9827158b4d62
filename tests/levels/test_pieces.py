"""Loops that read elements and slices: their gradients are those of whole arrays, at their cost."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import functier as ft
from faults.planted import levels as faulty
from functier._core.table import PIECES, load
from functier._levels import backward as _backward
from functier._levels import cotangents as _cotangents
from functier._rules import pieces as _pieces
from functier._rules import scatter as _scatter
from support.basics import held

pytestmark = pytest.mark.inside(
    "Pieces of cotangents are an optimization that results do not show."
)

load()
RNG = np.random.default_rng(0)

# ---- programs that read at indices ----


def parts(draw, n):
    """An index along an axis of length `n`, and whether it has an array."""
    kind = draw(st.sampled_from(["number", "step", "slice", "all", "new", "array", "mask"]))
    if kind == "number":
        return [draw(st.integers(-n, n - 1))]
    if kind == "step":
        return [slice(None, None, draw(st.sampled_from([-2, -1, 2])))]
    if kind == "slice":
        low = draw(st.integers(0, n))
        return [slice(low, draw(st.integers(low, n)))]
    if kind == "new":
        return [None, slice(None)]
    if kind == "array":
        return [np.array(draw(st.lists(st.integers(-n, n - 1), min_size=2, max_size=2)))]
    if kind == "mask":
        return [np.array([True] * 2 + [False] * (n - 2))]  # of two, as the arrays have
    return [slice(None)]


@st.composite
def programs(draw):
    """A function that reads an array at several indices and uses some results twice."""
    shape = draw(st.sampled_from([(4,), (3, 4), (2, 3, 2)]))
    indices = []
    for _ in range(draw(st.integers(1, 6))):
        index = [p for n in shape[: draw(st.integers(1, 3))] for p in parts(draw, n)]
        if draw(st.booleans()):
            index.append(...)
        indices.append(tuple(index))
    ways = draw(st.lists(st.sampled_from("abcd"), min_size=len(indices), max_size=len(indices)))
    hooked, inner = (
        draw(st.booleans()),
        draw(st.sampled_from([None, np.sin, lambda x: np.transpose(np.exp(np.transpose(x)))])),
    )

    def f(x):
        y = x if inner is None else inner(x) * 1.5
        total, read = 0.0, []
        for i, (index, way) in enumerate(zip(indices, ways), 1):
            v = y[index]
            read.append(v)
            if (
                hooked
                and way == "c"
                and getattr(type(v).level, "differentiates", None) == "reverse"
            ):
                ft.register_hook(v, lambda g: 2.0 * g)
            if way == "a":
                total = total + np.sum(np.sin(v) * v) * i
            elif way == "b":
                total = total + np.sum(v + v) + np.sum(y * y * 0.1 * i)  # shared
            else:
                total = total + np.sum(v) * np.sum(read[0] * 0.3) - np.sum(y) / i
        return total + np.sum(read[0] ** 3) + np.sum(read[-1] * read[-1])

    x = np.random.default_rng(draw(st.integers(0, 99))).normal(size=shape)
    return f, x


def along(f, v):
    return lambda x: np.sum(ft.grad(f)(x) * v)


WAYS = {
    "grad": lambda f, x, b: ft.grad(f)(x),
    "vmap of grad": lambda f, x, b: ft.vmap(ft.grad(f))(b),
    "grad of vmap": lambda f, x, b: ft.grad(lambda b: np.sum(ft.vmap(f)(b)))(b),
    "grad of grad": lambda f, x, b: ft.grad(along(f, b[0]))(x),
    "third": lambda f, x, b: ft.grad(along(along(f, b[0]), b[1]))(x),
    "jvp of grad": lambda f, x, b: ft.jvp(ft.grad(f), (x,), (b[0],))[1],
    "hessian": lambda f, x, b: ft.hessian(f)(x),
    "jacrev": lambda f, x, b: ft.jacrev(lambda x: np.sin(x) * f(x))(x),
    "linearize": lambda f, x, b: ft.linearize(ft.grad(f), x)[1](b[0]),
    "vmap of hessian": lambda f, x, b: ft.vmap(ft.hessian(f))(b[:2]),
    "trace": lambda f, x, b: ft.trace(ft.grad(f))(x)(x),
    "trace of vmap": lambda f, x, b: ft.trace(ft.vmap(ft.grad(f)))(b)(b),
    "trace of second": lambda f, x, b: ft.trace(ft.grad(along(f, b[0])))(x)(x),
    "compile": lambda f, x, b: ft.compile(ft.grad(f))(x),
}


def check(f, x, large=False, exact=False, ways=WAYS):
    """Compare with the backward pass that makes an array of each piece."""
    batch = np.random.default_rng(1).normal(size=(3, *x.shape))
    before = x.copy()
    with pytest.MonkeyPatch.context() as patch, np.errstate(all="ignore"):
        patch.setattr(_cotangents, "SMALL", 0)
        patch.setattr(_cotangents, "WAITING", 0 if large else 1000)
        if large:
            patch.setattr(_backward, "BIG", -1)
            patch.setattr(_cotangents, "FEW_PIECES", 1)
        found = {name: way(f, x, batch) for name, way in ways.items()}
        patch.delitem(PIECES, next(iter(PIECES)))
        for name, way in ways.items():
            want = way(f, x, batch)
            assert (found[name].shape, found[name].dtype) == (want.shape, want.dtype), name
            np.testing.assert_allclose(found[name], want, 1e-9, 1e-9, err_msg=name)
            if exact:
                np.testing.assert_array_equal(found[name], want, err_msg=name)
    np.testing.assert_array_equal(x, before)


EAGER = {name: WAYS[name] for name in ("grad", "vmap of grad", "grad of grad", "third", "jacrev")}


@given(programs(), st.booleans())
@settings(max_examples=20, deadline=None)
def test_pieces_give_what_arrays_give(program, large):
    check(*program, large, ways=EAGER)


@pytest.mark.slow
@given(programs(), st.booleans())
@settings(max_examples=30, deadline=None)
def test_pieces_give_what_arrays_give_in_every_way(program, large):
    check(*program, large)


@given(programs(), st.sampled_from([0, 1 << 14]))
@settings(max_examples=20, deadline=None)
def test_pieces_are_added_in_the_order_of_the_arrays(program, dense):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_scatter, "DENSE", dense)
        check(*program, exact=True, ways={"grad": WAYS["grad"]})
        f, x = program
        np.testing.assert_array_equal(ft.grad(f)(x), ft.trace(ft.grad(f))(x)(x))


def shared(x):
    y = x * 1.5
    read = y[1, 2] * y[1, 2] + np.sum(y[:, 1]) * x[0, 0]
    z = y + x  # hands one array to both
    return np.sum(z * z) + read + np.sum(z[0])


def rounded(x):
    total = 0.0
    for i, scale in enumerate((1e16, 1.0, -1e16, 1.0)):
        total = total + scale * x[1, i % 2 : 3 - (i + 1) % 2]
    return np.sum(total[:1]) + np.sum(x[1] * 3.0)


X = RNG.normal(size=(3, 4))


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("f", [shared, rounded], ids=lambda f: f.__name__)
def test_in_every_way(f, large):
    check(f, X, large, exact=False)
    check(f, X, large, exact=True, ways={"grad": WAYS["grad"]})


# ---- planted faults ----


@pytest.mark.parametrize("fault", faulty.FAULTS_OF_PIECES)
def test_faults_are_found(fault, monkeypatch):
    monkeypatch.setattr(_pieces, "scatter_all", faulty.FAULTS_OF_PIECES[fault])
    found = 0
    for f in (shared, rounded):
        try:
            check(f, X, exact=True, ways={"grad": WAYS["grad"]})
        except AssertionError:
            found += 1
    assert found


# ---- the cost, zeros and what is not finite ----


def test_elements_cost_their_element(monkeypatch):
    shapes = []
    faulty.elements_cost_their_element(monkeypatch, shapes)
    a = RNG.normal(size=(100, 100))

    def diagonal(a):
        return sum([a[i, i] * a[i, i] for i in range(100)])

    gradient = ft.grad(diagonal)(a)

    np.testing.assert_array_equal(gradient, np.diag(2 * np.diag(a)))
    assert not shapes


def test_large_pieces_do_not_wait():
    x = np.ones(100_000)

    def f(x):
        return sum([np.sum(x[i:]) for i in range(40)])

    assert held(lambda: ft.grad(f)(x))[2] < 8 * x.nbytes


def test_a_trace_adds_in_one_memory():
    def f(x):
        return sum([x[i] * x[i] for i in range(20)])

    source = ft.trace(ft.grad(f))(np.ones(20)).source

    assert source.count("np.zeros") == 1
    assert source.count("[i] += ") == 2


def layers_over_steps(xs, layers):
    n = xs.shape[1]

    def cell(w, b, x, h, c):
        i = 1 / (1 + np.exp(-(x * w[:n] + b[:n])))
        o = 1 / (1 + np.exp(-(x * w[n : 2 * n] + b[n : 2 * n])))
        c = c * i + (1 - i) * np.tanh(h * w[2 * n :] + b[2 * n :])
        return o * np.tanh(c), c

    def net(p):
        h, c, total = [np.zeros(n)] * layers, [np.zeros(n)] * layers, 0.0
        for t in range(len(xs) - 1):
            x = xs[t]
            for k in range(layers):
                h[k], c[k] = cell(p[2 * k], p[2 * k + 1], x, h[k], c[k])
                x = h[k]
            total = total + np.sum(xs[t + 1] * (x - np.log(np.sum(np.exp(x)) + 2)))
        return total

    return ft.grad(net), RNG.normal(size=(2 * layers, 3 * n))


@pytest.mark.parametrize("size", [4, 400])
@pytest.mark.parametrize("layers", [1, 2, 3])
def test_pieces_of_weights_are_added_in_the_loop_of_the_steps(layers, size):
    lines = []
    for steps in (20, 40):
        gradient, p = layers_over_steps(RNG.random((steps, size)), layers)
        program = ft.trace(gradient)(p)
        lines.append(len(program.source.splitlines()))
        np.testing.assert_array_equal(program(p), gradient(p))

    assert lines[0] == lines[1]


def test_a_sum_of_pieces_that_is_used_twice_stays():
    def f(x):
        def loss(x):
            return sum([np.sin(x[i]) for i in range(20)])

        g = ft.grad(loss)(x)
        return g, ft.grad(lambda y: loss(y) + np.sum(y * g))(x)

    program = ft.trace(f)(np.linspace(0, 1, 20))
    for found, wanted in zip(program(np.ones(20)), f(np.ones(20))):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("size", [30, 20_000])
def test_zero_wins_where_nothing_is_read(size):
    def f(x):
        root = np.sqrt(x)
        total = np.sum(root[2:4]) * 1.0
        for i in range(4, 20):
            total = total + root[i]
        return total

    with np.errstate(all="ignore"):
        gradient = ft.grad(f)(np.r_[np.zeros(2), np.ones(size - 2)])

    np.testing.assert_array_equal(gradient, np.r_[0, 0, np.full(18, 0.5), np.zeros(size - 20)])


def test_a_read_infinity_is_not_hidden():
    with np.errstate(all="ignore"):
        gradient = ft.grad(lambda x: np.sum(np.sqrt(x)[:2]) + x[1] * x[2])(np.r_[0, np.ones(9)])
    assert gradient.tolist() == [np.inf, 1.5, 1.0, *[0.0] * 7]


def test_zeros_of_several_reads_have_no_sign():
    def f(x):
        return np.sum(-0.0 * x[:]) + np.sum(-0.0 * x[:])

    x = np.ones(10)
    assert not np.signbit(ft.grad(f)(x)).any()
    assert not np.signbit(ft.trace(ft.grad(f))(x)(x)).any()
