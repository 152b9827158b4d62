"""Dask arrays inside transforms: right, lazy, in chunks, without tensors in their graphs."""

import numpy as np
import pytest
from test_dask_spellings import CHUNKS, T, W, X, chunked, computed, lazy, on_blocks  # noqa: F401

import functier as ft
from support.basics import close, raises

da = pytest.importorskip("dask.array", reason="needs Dask")

LABELS = np.array([1.0, 0, 1, 1, 0, 0])


def logistic(w, x):
    return np.mean(np.log1p(np.exp(-LABELS * (x @ w))))


def model(x):
    return np.sum(np.tanh(x * W) ** 2)


def both(x):
    return np.sin(x) * np.sum(x, axis=0)


TRANSFORMS = {
    "grad": lambda x, t: ft.grad(model)(x),
    "value_and_grad": lambda x, t: ft.value_and_grad(model)(x),
    "two arguments": lambda x, t: ft.grad(logistic, argnums=(0, 1))(W, x),
    "of weights": lambda x, t: ft.grad(logistic)(W, x),
    "vjp": lambda x, t: (lambda y, pull: (y, pull(t)))(*ft.vjp(both, x)),
    "vjp of a form": lambda x, t: ft.vjp(lambda x: np.reshape(x, (*x.shape[:1], 1, -1)), x)[1](
        t[:, None]
    ),
    "vjp of nothing": lambda x, t: ft.vjp(lambda x, y: x * 2, x, x)[1](t),
    "jvp": lambda x, t: ft.jvp(both, (x,), (t,)),
    "hvp": lambda x, t: ft.hvp(model, (x,), (t,)),
    "grad of grad": lambda x, t: ft.grad(lambda x: np.sum(ft.grad(model)(x) ** 2))(x),
    "jvp of grad": lambda x, t: ft.jvp(ft.grad(model), (x,), (t,)),
    "grad of jvp": lambda x, t: ft.grad(lambda x: np.sum(ft.jvp(both, (x,), (t,))[1]))(x),
    "per example": lambda x, t: ft.vmap(ft.grad(lambda r: np.sum(np.sin(r) * W)))(x),
    "per example, of weights": lambda x, t: ft.vmap(
        ft.grad(lambda w, r: np.log1p(np.exp(-r @ w))), in_dims=(None, 0)
    )(W, x),
    "grad of vmap": lambda x, t: ft.grad(lambda x: np.sum(ft.vmap(lambda r: r * r.sum())(x)))(x),
    "vmap of vmap": lambda x, t: ft.vmap(ft.vmap(lambda v: v * v))(x),
    "axis 1": lambda x, t: ft.vmap(lambda c: c * np.sum(c), in_dims=1, out_dims=1)(x),
    "jacrev": lambda x, t: ft.jacrev(lambda x: np.sum(x * x, axis=0))(x),
    "jacfwd": lambda x, t: ft.jacfwd(lambda x: np.sum(x * x, axis=0))(x),
    "hessian": lambda x, t: ft.hessian(lambda x: np.sum(np.sin(x)) ** 2)(x),
    "hessian of weights": lambda x, t: ft.hessian(logistic)(W, x),
    "hessian of weights, closed over": lambda x, t: ft.hessian(lambda w: logistic(w, x))(W),
    "hvp of weights": lambda x, t: ft.hvp(lambda w: np.sum(np.abs(x @ w)), (W,), (W,)),
    "functions of chunks": lambda x, t: ft.grad(
        lambda w, x: np.sum(on_blocks(np.sin(x), lambda b, w: np.sin(b * np.sum(w)), w))
    )(W, x),
    "functions of chunks, mapped": lambda x, t: ft.vmap(
        lambda w, x: on_blocks(x, lambda b, w: np.sin(b * np.sum(w)), w), in_dims=(0, None)
    )(X, x),
    "jet": lambda x, t: ft.jet(np.sin, (x,), ((t, x),)),
    "linearize": lambda x, t: ft.linearize(both, x)[1](t),
    "tree": lambda x, t: ft.grad(lambda p: np.sum(p["a"] * p["b"][0]))({"a": x, "b": (t, 2.0)}),
    "aux": lambda x, t: ft.grad(lambda x: (np.sum(x * x), x * 3), has_aux=True)(x),
}


def flat(tree):
    if isinstance(tree, dict):
        tree = [tree[k] for k in sorted(tree)]
    if isinstance(tree, (tuple, list)):
        return [leaf for part in tree for leaf in flat(part)]
    return [tree]


SLOW = [pytest.param(x, marks=pytest.mark.slow) for x in ("f4", "one", "rows", "columns")]


@pytest.mark.parametrize("how", ["uneven", *SLOW])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_transform_of_a_dask_array(name, how, lazy):  # noqa: F811
    dtype = "f4" if how == "f4" else "f8"
    x, t = X.astype(dtype), T.astype(dtype)
    expected = flat(TRANSFORMS[name](x, t))
    for chunks in ({"one": (6, 4), "rows": (1, 4), "columns": (6, 1)}.get(how, CHUNKS),):
        found = flat(lazy(TRANSFORMS[name], chunked(x, chunks), chunked(t, chunks)))

        assert len(found) == len(expected)
        for y, e in zip(found, expected):
            assert type(y) is da.Array or np.size(y) <= 4
            assert y.dtype == e.dtype
            value = computed(y) if type(y) is da.Array else y
            close(value, e, 1e-4 if dtype == "f4" else 1e-10)


def test_a_gradient_has_the_chunks_of_its_argument(lazy):  # noqa: F811
    for f in (model, lambda x: np.sum(x[1:3, 0] ** 2), lambda x: np.sum(np.diff(x, axis=0)),
              lambda x: np.sum(np.sum(x, axis=0) ** 2), lambda x: 0.0 * np.sum(x[0, 0]),
              lambda x: np.sum(x * np.ones((5, 1, 1)))):  # fmt: skip
        assert lazy(ft.grad(f), chunked(X)).chunks == CHUNKS


HIDDEN = {
    "da.asarray": lambda d, w: da.asarray(w * X),
    "from_array": lambda d, w: da.from_array(w * X),
    "from_array without a name": lambda d, w: da.from_array(w * X, name=False),
    "from_delayed": lambda d, w: da.from_delayed(
        pytest.importorskip("dask").delayed(lambda: w * X)(), X.shape, float
    ),
    "map_blocks": lambda d, w: d.map_blocks(lambda b: b * w, dtype=float),
    "map_blocks with a name": lambda d, w: d.map_blocks(lambda b: b * w, dtype=float, name="mine"),
    "map_blocks, an argument": lambda d, w: d.map_blocks(lambda b, w: b * w, w, dtype=float),
    "map_blocks, a keyword": lambda d, w: d.map_blocks(lambda b, w: b * w, w=w, dtype=float),
    "map_blocks, a default": lambda d, w: d.map_blocks(lambda b, w=w: b * w, dtype=float),
    "map_blocks, an attribute": lambda d, w: d.map_blocks(Holder(w).scale, dtype=float),
    "blockwise": lambda d, w: da.blockwise(lambda b: b * w, "ij", d, "ij", dtype=float),
    "map_overlap": lambda d, w: d.map_overlap(lambda b: b * w, depth=0, dtype=float),
    "da.where": lambda d, w: da.where(d > 0, w * d, d),
    "setitem": lambda d, w: write(d, w),
}


class Holder:
    def __init__(self, w):
        self.w = w

    def scale(self, block):
        return block * self.w


def write(d, w):
    d = d.copy()
    d[0] = w * W
    return d


@pytest.mark.filterwarnings("ignore:.*not implemented by Dask:FutureWarning")
@pytest.mark.parametrize("name", HIDDEN)
def test_a_tensor_in_a_graph_raises_where_it_meets_another(name):
    """Else it would lose its derivative, or its batch, without a word."""
    make = HIDDEN[name]
    for transform in (
        ft.grad,
        lambda f: lambda w: ft.jvp(f, (w,), (1.0,)),
        lambda f: lambda w: ft.vmap(f)(np.full(2, w)),
        lambda f: ft.grad(lambda w: np.sum(ft.vmap(lambda s: f(w) * s)(np.ones(2)))),
    ):
        for use in (
            lambda w, y: w + np.sum(y), lambda w, y: np.sum(y * w), lambda w, y: np.sum(y),
        ):  # fmt: skip
            with pytest.raises((ft.ConversionError, ft.LevelError, TypeError)):
                transform(lambda w, use=use: use(w, make(chunked(X), w)))(0.5)


@pytest.mark.filterwarnings("ignore:.*not implemented by Dask:FutureWarning")
@pytest.mark.parametrize("name", [name for name in HIDDEN if name != "map_blocks, an argument"])
def test_a_tensor_in_the_graph_of_an_argument_raises(name):
    """The argument is a Dask array inside the level, whose other methods would lose it."""
    make = HIDDEN[name]
    for use in (
        lambda w, d, y: w + np.sum(y), lambda w, d, y: np.sum(y * w), lambda w, d, y: np.sum(y * d),
    ):  # fmt: skip
        f = lambda w, d, use=use: use(w, d, make(d, w))  # noqa: E731
        with pytest.raises((ft.ConversionError, ft.LevelError, ft.MutationError, TypeError)):
            ft.grad(f)(0.5, chunked(X))
        with pytest.raises((ft.ConversionError, ft.LevelError, ft.MutationError, TypeError)):
            ft.vmap(f, in_dims=(0, None))(np.full(2, 0.5), chunked(X))


def test_a_write_to_an_argument_is_seen_by_the_caller():
    def write_and_sum(w, x):
        y = w * x
        x[0] = 5.0
        return np.sum(x * y)

    given, plain = chunked(X), X.copy()

    close(ft.grad(write_and_sum)(W, given).compute(), ft.grad(write_and_sum)(W, plain), 1e-12)
    close(computed(given), plain, 0)


def test_the_function_of_map_blocks_may_not_close_over_a_tensor():
    with pytest.raises(ft.ConversionError, match=r"x.map_blocks\(f, w\)"):
        ft.grad(lambda w: np.sum((chunked(X) * w).map_blocks(lambda b: b * w)))(2.0)


def test_map_blocks_of_weights_has_a_gradient_for_each():
    w = np.random.default_rng(1).normal(size=(4, 4))
    x = chunked(X, (2, 4))
    (gw, gx) = ft.grad(
        lambda w, x: np.sum(x.map_blocks(lambda b, w: np.tanh(b @ w), w)), argnums=(0, 1)
    )(w, x)
    ew, ex = ft.grad(lambda w, x: np.sum(np.tanh(x @ w)), argnums=(0, 1))(w, X)
    close(computed(gx), ex, 1e-12)
    close(computed(gw) if isinstance(gw, da.Array) else gw, ew, 1e-12)


ZEROS = {
    "a branch": lambda x: np.sum(np.where(x > 0, np.log(x), 0)),
    "a root in a branch": lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0)),
    "sinc": lambda x: np.sum(np.where(x != 0, np.sin(x) / x, 1)),
    "clipped": lambda x: np.sum(np.sqrt(np.maximum(x, 0))),
    "an index": lambda x: np.sum(np.sqrt(x)[2:4]),
    "overflow": lambda x: np.sum(np.where(x < 1, np.exp(x * 1000), 0)),
    "norm": lambda x: np.linalg.norm(x * 0),
    "log": lambda x: np.sum(np.log(np.abs(x))),
    "logaddexp": lambda x: np.sum(np.logaddexp(x, -np.inf)),
    "prod": lambda x: np.prod(x),
    "power": lambda x: np.sum(x**2 + np.abs(x) ** 1.5),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ZEROS)
@pytest.mark.parametrize("chunks", [2, 6, 1])
def test_zeros_win_over_infinity_as_they_do_in_memory(name, chunks, lazy):  # noqa: F811
    """Also where one chunk alone has infinities."""
    f, x = ZEROS[name], np.array([-1.0, 0.0, 2.0, 3.0, 0.0, 5.0])
    given = da.from_array(x, chunks=chunks)
    np.testing.assert_allclose(computed(lazy(ft.grad(f), given)), ft.grad(f)(x))
    for t in (np.ones(6), np.array([0, 0, 1.0, 1, 0, 0])):
        found = lazy(ft.jvp, f, (given,), (da.from_array(t, chunks=chunks),))[1]
        np.testing.assert_allclose(computed(found), ft.jvp(f, (x,), (t,))[1])


def test_a_question_computes_as_often_as_in_plain_dask():
    counts = []

    def counting(dsk, keys, **kwargs):
        counts[-1] += 1
        return pytest.importorskip("dask").get(dsk, keys, **kwargs)

    def branch(x):
        y = np.sum(x)
        return np.sum(x * x) if y > 0 and float(ft.unwrap(y).max()) > 0 else np.sum(x)

    def plain(x):
        y = np.sum(x)
        return np.sum(x * x) if y > 0 and float(y.max()) > 0 else np.sum(x)

    with pytest.importorskip("dask").config.set(scheduler=counting):
        for run in (lambda x: plain(x), lambda x: ft.grad(branch)(x)):
            counts.append(0)
            run(chunked(np.abs(X)))
    assert counts[0] == counts[1]


WRITES = {
    "a number": lambda y: y.__setitem__(0, 2.0),
    "an array": lambda y: y.__setitem__((slice(1, 3), 0), np.array([1.0, 2.0])),
    "a list": lambda y: y.__setitem__([0, 2], 3.0),
}


@pytest.mark.parametrize("name", WRITES)
def test_a_write(name, lazy):  # noqa: F811
    def f(x):
        y = x * x
        WRITES[name](y)
        return np.sum(np.sin(y) * x)

    close(computed(lazy(ft.grad(f), chunked(X))), ft.grad(f)(X), 1e-12)


def test_a_write_that_might_be_another_one_is_refused():
    def twice(x):
        y = x * x
        y[[0, 0]] = np.ones((2, 4))
        return np.sum(y)

    def rows(x):
        y = x * x
        y[x[:, 0] > 0] = 1.0
        return np.sum(y)

    for f in (twice, rows):
        raises(ft.MutationError, lambda: ft.grad(f)(chunked(X)), "numpy.where(mask, value, x)")


def test_compute_of_a_tensor():
    def f(x):
        return np.sum(np.sin(x.compute(scheduler="synchronous")) * W)

    def g(x):
        return np.sum(np.sin(x) * W)

    found = ft.grad(f)(chunked(X))
    assert found.chunks == CHUNKS
    close(computed(found), ft.grad(g)(X), 1e-12)
    tangent = ft.jvp(f, (chunked(X),), (chunked(T),))[1]
    close(tangent, ft.jvp(g, (X,), (T,))[1], 1e-12)
    close(ft.vmap(lambda r: r.compute(scheduler="synchronous"))(chunked(X)), X)


def test_an_array_with_labels_is_refused():
    xarray = pytest.importorskip("xarray", reason="an extra")
    labelled = xarray.DataArray(chunked(X), dims=("row", "column"))
    raises(TypeError, lambda: ft.grad(lambda x: np.sum(x * x))(labelled), "write x.data")
    close(computed(ft.grad(lambda x: np.sum(x * x))(labelled.data)), 2 * X)


@pytest.mark.parametrize("how", ["grad", "jvp", "vmap"])
@pytest.mark.parametrize(
    "select",
    [
        lambda x, w: (x * w)[x > 0],
        lambda x, w: (x * w)[x * w > 0],
        lambda x, w: (x @ w)[x[:, 0] > 0],
        lambda x, w: x[x > 0] * w[0],
        lambda x, w: np.extract(x > 0, x * w),
    ],
)
def test_a_selection_by_a_mask_is_right_or_refused(select, how, lazy):  # noqa: F811
    """The remedy is that of the message."""
    x, w = da.from_array(np.random.default_rng(0).normal(size=(12, 6)), chunks=(4, 3)), np.ones(6)
    ways = {
        "grad": lambda f: ft.grad(f)(w),
        "jvp": lambda f: ft.jvp(f, (w,), (w,))[1],
        "vmap": lambda f: ft.vmap(f)(w[None])[0],
    }
    try:
        found = ways[how](lambda w: np.sum(select(x, w)))
    except ft.UnsupportedError as error:
        assert "write numpy.where(mask, x, 0.0)" in str(error)
        found = ways[how](lambda w: np.sum(np.where(x > 0, x * w, 0.0)))
        select = lambda x, w: np.where(x > 0, x * w, 0.0)  # noqa: E731
    plain = x.compute()
    np.testing.assert_allclose(found, ways[how](lambda w: np.sum(select(plain, w))))
