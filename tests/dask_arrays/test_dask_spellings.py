"""Spellings that Dask itself runs: each is right in grad, jvp and vmap, and lazy, or refused."""

from collections.abc import Callable

import numpy as np
import pytest

import functier as ft
from support.basics import close, ours

pytest.importorskip("dask.array", reason="needs Dask")

import dask.array as da
import dask.base
import dask.local
import dask.threaded

RNG = np.random.default_rng(0)
X, T, BATCH = RNG.normal(size=(6, 4)), RNG.normal(size=(6, 4)), RNG.normal(size=(3, 6, 4))
W, M, MASK = RNG.normal(size=4), RNG.normal(size=(4, 5)), np.array([1, 0, 1, 1, 0, 0], bool)
CHUNKS = ((4, 2), (3, 1))
EYE = 4 * np.eye(4)


def chunked(x, chunks=CHUNKS):
    return da.from_array(x, chunks=((2, 1), *chunks) if x.ndim == 3 else chunks)


def in_rows(x):
    """Chunks of whole rows; an array of NumPy has none."""
    return x.rechunk((6, 4)) if hasattr(x, "rechunk") else x


def square(x):
    return (x.T @ x).rechunk((4, 4)) if hasattr(x, "rechunk") else x.T @ x


def on_blocks(x, f, *args):
    return x.map_blocks(f, *args) if hasattr(x, "map_blocks") else f(x, *args)


def softmax(x):
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def write_rows(x):
    y = x * 1.0
    y[0] = 2.0
    y[1] = x[0]
    y[2, 1:3] = x[3, :2] ** 2
    return y * x


def write_where(x):
    y = x * x
    y[x > 0] = 0.5
    return y


RIGHT: dict[str, Callable] = {
    # elementwise
    "sin": lambda x: np.sin(x * W),
    "operators": lambda x: (2 - x) ** 2 / (1 + x * x) - x,
    "log1p": lambda x: np.log1p(np.exp(-x)),
    "abs": np.abs,
    "maximum": lambda x: np.maximum(x, 0),
    "minimum of two": lambda x: np.minimum(x, x[::-1]),
    "clip": lambda x: np.clip(x, -0.5, 0.5),
    "x.clip": lambda x: x.clip(-0.5, 0.5),
    "where": lambda x: np.where(x > 0, x, x * x),
    "da.sin": lambda x: da.sin(x),
    "power": lambda x: np.abs(x) ** (x * x),
    "arctan2": lambda x: np.arctan2(x, 1 + x * x),
    "hypot": lambda x: np.hypot(x, 1),
    "logaddexp": lambda x: np.logaddexp(x, 0),
    "nan_to_num": lambda x: np.nan_to_num(x) ** 2,
    "astype": lambda x: x.astype("f4").astype(float) ** 2,
    "np.astype": lambda x: (x if type(x) is da.Array else np.astype(x, float)) ** 2,
    "real and imag": lambda x: np.real(x * (1 + 2j)) * np.imag(x * 1j),
    # reductions
    "sum": lambda x: np.sum(np.sin(x)),
    "sum axis": lambda x: np.sin(np.sum(x, axis=0)),
    "sum keepdims": lambda x: x / np.sum(x * x, axis=1, keepdims=True),
    "x.sum": lambda x: x.sum(axis=-1) ** 2,
    "mean": lambda x: np.mean(x, axis=1) ** 2,
    "var": lambda x: np.var(x, axis=0),
    "std": lambda x: np.std(x),
    "standard scores": lambda x: (x - x.mean(axis=0)) / x.std(axis=0),
    "max": lambda x: np.max(x, axis=1),
    "min": lambda x: np.min(x),
    "x.max": lambda x: x.max(axis=0),
    "ptp": lambda x: np.ptp(x, axis=1),
    "prod": lambda x: np.prod(x, axis=1),
    "nansum": lambda x: np.nansum(x * x),
    "average": lambda x: np.average(x, axis=1, weights=np.arange(1, 5.0)) ** 2,
    "median": lambda x: np.median(x, axis=1),
    "percentile": lambda x: (
        np.percentile(np.sum(x, axis=1).rechunk(-1), 30)
        if hasattr(x, "chunks")
        else np.percentile(np.sum(x, axis=1), 30)
    ),
    "logsumexp": lambda x: np.log(np.sum(np.exp(x - np.max(x)), axis=1)),
    "softmax": softmax,
    "cross entropy": lambda x: np.mean(np.log(np.sum(np.exp(x), axis=1)) - x[:, 0]),
    "cov": lambda x: np.cov(x),
    "trace": lambda x: np.trace(x) ** 2,
    "norm": lambda x: np.linalg.norm(x),
    "norm axis": lambda x: np.linalg.norm(x, axis=1),
    # products
    "matmul": lambda x: np.sin(x) @ M,
    "matmul vector": lambda x: x @ W,
    "matmul left": lambda x: M.T @ x.T,
    "gram": lambda x: x.T @ x,
    "dot": lambda x: np.dot(x, M),
    "x.dot": lambda x: x.dot(M),
    "tensordot": lambda x: np.tensordot(x, M, axes=((1,), (0,))),
    "tensordot of two": lambda x: np.tensordot(x, x, axes=((0,), (0,))),
    "einsum": lambda x: np.einsum("ij,jk->ik", x, M),
    "einsum of two": lambda x: np.einsum("ij,ij->i", x, x),
    "outer": lambda x: np.outer(x[0], x[:, 0]),
    "vdot": lambda x: np.vdot(x[0], W),
    "layers": lambda x: np.tanh(np.tanh(x @ M) @ M.T),
    "matmul of many": lambda x: np.matmul(x.reshape(2, 3, 4), M),
    # indices
    "int": lambda x: x[1] * x[0],
    "slice": lambda x: x[1:5, ::2] ** 2,
    "slice backward": lambda x: x[::-1] * x,
    "newaxis": lambda x: x[:, None, :] - x[None],
    "ellipsis": lambda x: x[..., 0],
    "list": lambda x: x[[3, 0, 3]] ** 2,
    "array": lambda x: x[np.array([2, 5])] ** 2,
    "array and int": lambda x: x[np.array([2, -1]), 1] ** 2,
    "mask of rows": lambda x: x[MASK] ** 2,
    "take": lambda x: np.take(x, [0, 2], axis=1) ** 2,
    "compress": lambda x: np.compress(MASK, x, axis=0) ** 2,
    "setitem": write_rows,
    "setitem by a mask": write_where,
    # forms
    "reshape": lambda x: np.reshape(x, (2, 3, 4)) ** 2,
    "x.reshape": lambda x: x.reshape(-1) ** 2,
    "ravel": lambda x: np.ravel(x) ** 2,
    "flatten": lambda x: x.flatten() ** 2,
    "T": lambda x: x.T * x.T,
    "transpose": lambda x: np.transpose(x, (1, 0)) ** 2,
    "swapaxes": lambda x: np.swapaxes(x, 0, 1) ** 2,
    "moveaxis": lambda x: np.moveaxis(x, 0, 1) ** 2,
    "expand_dims": lambda x: np.expand_dims(x, 1) ** 2,
    "squeeze": lambda x: np.squeeze(x[:1]) ** 2,
    "broadcast_to": lambda x: np.broadcast_to(x, (2, 6, 4)) ** 2,
    "atleast": lambda x: np.atleast_3d(x) ** 2,
    "concatenate": lambda x: np.concatenate([x, x * x], axis=0),
    "stack": lambda x: np.stack([x, np.sin(x)]),
    "vstack": lambda x: np.vstack([x, x * x]),
    "hstack": lambda x: np.hstack([x, x * x]),
    "block": lambda x: np.block([[x, x * x]]),
    "roll": lambda x: np.roll(x, 1, axis=0) * x,
    "flip": lambda x: np.flip(x, 0) * x,
    "diff": lambda x: np.diff(x, axis=0) ** 2,
    "cumsum": lambda x: np.cumsum(x, axis=0) ** 2,
    "x.cumsum": lambda x: x.cumsum(axis=1) ** 2,
    "cumprod": lambda x: np.cumprod(x, axis=1),
    "repeat": lambda x: np.repeat(x, 2, axis=0) ** 2,
    "tile": lambda x: np.tile(x, (2, 1)) ** 2,
    "pad": lambda x: np.pad(x, ((1, 1), (0, 0))) ** 2,
    "tril": lambda x: np.tril(x) ** 2,
    "split": lambda x: np.sin(np.array_split(x, 2)[1]),
    "gradient": lambda x: np.gradient(x, axis=0) ** 2,
    "interp": lambda x: np.interp(x, [-1.0, 0.0, 1.0], [0.0, 1.0, 3.0]),
    "cross": lambda x: np.cross(x[:, :3], x[:, 1:]),
    "diagonal": lambda x: np.diagonal(x) ** 2,
    # linear algebra
    "qr": lambda x: np.abs(np.linalg.qr(in_rows(x))[1]),
    "solve": lambda x: np.linalg.solve(square(x) + EYE, x[:4].T @ W[:4]),
    "inv": lambda x: np.linalg.inv(square(x) + EYE),
    # of Dask alone
    "map_blocks": lambda x: on_blocks(x, np.sin),
    "map_blocks of two": lambda x: on_blocks(x, np.multiply, x),
    "map_blocks of a number": lambda x: on_blocks(x, lambda b, c: np.sin(b * c), 2.0),
    "rechunk": lambda x: in_rows(x) ** 2,
    "persist": lambda x: (x * 2).persist() ** 2 if hasattr(x, "persist") else (x * 2) ** 2,
}
NOT_OF_DASK = {"split", "gradient", "cross", "interp"}
"""Those that plain Dask does not run so, and that are right inside a transform."""

COMPUTES = {"persist"}
"""The spellings that ask for a computation."""

REFUSED: dict[str, tuple[Callable, str]] = {
    "an estimate": (lambda x: np.percentile(np.sum(x, axis=1), 30), r"rechunk\(-1\)"),
    "da.where": (lambda x: da.where(x > 0, x, x * x), "function of NumPy"),
    "da.sum": (lambda x: da.exp(da.sum(x, axis=1)), "function of NumPy"),
    "da.dot": (lambda x: da.dot(x, M), "function of NumPy"),
    "da.einsum": (lambda x: da.einsum("ij,jk->ik", x, M), "function of NumPy"),
    "da.concatenate": (lambda x: da.concatenate([x, x]), "function of NumPy"),
    "da.stack": (lambda x: da.stack([x, x]), "function of NumPy"),
    "da.map_blocks": (lambda x: da.map_blocks(np.sin, x), "x.map_blocks"),
    "da.blockwise": (lambda x: da.blockwise(np.sin, "ij", x, "ij"), "x.map_blocks"),
    "da.reduction": (lambda x: da.reduction(x, np.sum, np.sum, dtype=float), "function of NumPy"),
    "map_overlap": (lambda x: x.map_overlap(np.sin, depth=1), "x.map_blocks"),
    "lstsq": (lambda x: np.linalg.lstsq(in_rows(x), np.arange(6.0))[0], r"x.compute\(\)"),
}  # fmt: skip
"""Spellings that are refused, and a part of what is to be written."""


@pytest.fixture
def lazy(monkeypatch):
    """No scheduler of Dask may be asked for anything."""

    def refuse(*args, **kwargs):
        raise AssertionError("a computation while the graph is built")

    def run(function, *args):
        distributed = pytest.importorskip("distributed", reason="needs Dask's scheduler")
        with monkeypatch.context() as patch:
            for owner, name in (
                (dask.base, "compute"), (dask.base, "persist"), (dask.threaded, "get"),
                (dask.local, "get_sync"), (distributed.Client, "get"),
            ):  # fmt: skip
                patch.setattr(owner, name, ours(refuse))
            with dask.config.set(scheduler=ours(refuse)):
                return function(*args)

    return run


def computed(x):
    assert type(x) is da.Array
    return x.compute(scheduler="synchronous")


def loss(f):
    return lambda x: np.sum(np.sin(f(x)))


def gradient(f, x, t, batch):
    return ft.grad(loss(f))(x)


def tangent(f, x, t, batch):
    return ft.jvp(f, (x,), (t,))[1]


def mapped(f, x, t, batch):
    return ft.vmap(f)(batch)


@pytest.mark.parametrize("transform", [gradient, tangent, mapped])
@pytest.mark.parametrize("name", RIGHT)
def test_a_spelling_of_dask(name, transform, lazy):
    f = RIGHT[name]
    given = X, T, BATCH
    expected = transform(f, *given)
    if name not in NOT_OF_DASK:
        close(np.asarray(f(chunked(X))), f(X), 1e-6)

    run = lazy if name not in COMPUTES else lambda function, *args: function(*args)
    found = run(transform, f, *map(chunked, given))

    assert found.dtype == expected.dtype
    close(computed(found), expected, 1e-6)
    if transform is gradient:
        assert found.chunks == CHUNKS


@pytest.mark.parametrize("transform", [gradient, tangent, mapped])
@pytest.mark.parametrize("name", REFUSED)
def test_a_spelling_that_is_refused(name, transform, lazy):
    f, remedy = REFUSED[name]
    with pytest.raises((ft.ConversionError, ft.UnsupportedError, AttributeError), match=remedy):
        lazy(transform, f, *map(chunked, (X, T, BATCH)))
