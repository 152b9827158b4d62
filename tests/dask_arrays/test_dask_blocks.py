"""Operations as functions of chunks: right for all chunkings, few tasks, the same functier."""

import numpy as np
import pytest
from test_dask_spellings import chunked, computed

import functier as ft
from support.basics import close

dask = pytest.importorskip("dask", reason="needs Dask")


from bench import dask_arrays as bench  # noqa: E402

RNG = np.random.default_rng(0)
X, CUBE, M, W = RNG.normal(size=(6, 4)), RNG.normal(size=(2, 6, 4)), RNG.normal(size=(4, 3)), 2.0
CHUNKINGS = {"rows": ((4, 2), (4,)), "columns": ((6,), (1, 3)), "both": ((2, 2, 2), (3, 1)),
             "one": ((6,), (4,))}  # fmt: skip

SPELLINGS = {
    "new axis in chunks": lambda x: x[:, None] * x[None],
    "new axes": lambda x: (x[0, 0] * W)[None, None] * x,
    "column": lambda x: x[:, 0] * x[:, -1],
    "row": lambda x: x[2] * x[..., 1:2],
    "steps": lambda x: x[::-2, ::3],
    "nothing": lambda x: x[:0],
    "squeeze": lambda x: np.squeeze(x[:, :1]) * np.expand_dims(x[0], (0, 2)),
    "reshape": lambda x: x.reshape(1, 6, 1, 4).reshape(6, 1, 4)[:, 0],
    "broadcast": lambda x: np.broadcast_to(x[:1], (2, 5, 4)) * x[:5],
    "reductions": lambda x: x.max(1, keepdims=True) * x.sum(-1).mean() - np.mean(x, axis=0),
    "product": lambda x: (x @ M) @ M.T @ x.T,
    "of rows": lambda x: x[0] @ M,
    "inner": lambda x: x[0] @ x[1],
    "outer": lambda x: x.T @ x,
    "stack": lambda x: (x * np.ones((3, 1, 1))) @ M,
    "broadcast stack": lambda x: np.matmul(x[None], CUBE.swapaxes(1, 2)),
    "dot": lambda x: np.dot(CUBE, x.T) + np.dot(x[0, 0], 2.0),
    "tensordot": lambda x: np.tensordot(CUBE, x, axes=2) + np.tensordot(x, x, ((1, 0), (1, 0))),
    "vecdot": lambda x: np.vecdot(x, x[0]) + np.matvec(x, x[0]),
    "vecmat": lambda x: np.vecmat(x[:, 0], x),
}


@pytest.mark.parametrize("how", CHUNKINGS)
@pytest.mark.parametrize("name", SPELLINGS)
def test_a_function_of_chunks_is_that_of_the_array(name, how):
    f = SPELLINGS[name]
    given = chunked(X, CHUNKINGS[how])
    for transform in (
        lambda x: ft.jvp(f, (x,), (x * 2,))[0],
        lambda x: ft.jvp(f, (x,), (x * 2,))[1],
        lambda x: ft.grad(lambda x: np.sum(np.sin(f(x))))(x),
    ):
        found = computed(transform(given))
        close(found, transform(X), 1e-12)


def test_an_index_out_of_bounds_raises_at_once():
    with pytest.raises(IndexError, match="out of bounds"):
        ft.grad(lambda x: np.sum(x[:, 4]))(chunked(X, CHUNKINGS["rows"]))


@pytest.mark.filterwarnings("ignore::numba.core.errors.NumbaWarning")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_sparse_chunks():
    """Chunks of `sparse`: products and powers; zeros stay zeros in a derivative by the data."""
    sparse = pytest.importorskip("sparse", reason="needs numba")
    dense = np.where(X > 0.3, X, 0)
    data = chunked(dense, CHUNKINGS["rows"]).map_blocks(sparse.COO)
    w = np.linspace(-1, 1, 4)
    for loss in (
        lambda w, x: np.mean((x @ w) ** 2),
        lambda w, x: np.mean(np.log1p(np.exp(-(x @ w)))),
        lambda w, x: np.sum((x * w) ** 2),
    ):
        found = ft.grad(loss)(w, data).compute(scheduler="synchronous")
        found = found.todense() if hasattr(found, "todense") else found
        close(found, ft.grad(loss)(w, dense), 1e-12)
    equal = chunked(dense, ((3, 3), (4,))).map_blocks(sparse.COO)
    for loss in (  # not 0 at 0: plain Dask adds those of equal chunks alone
        lambda w, x: np.log(np.sum(np.exp(x * w))),
        lambda w, x: np.mean(np.log(np.sum(np.cos(x * w), axis=1))),
    ):
        found = dask.compute(*ft.value_and_grad(loss)(w, equal), scheduler="synchronous")
        expected = ft.value_and_grad(loss)(w, dense)
        for ours, theirs in zip(found, expected):
            close(ours.todense(), theirs, 1e-12)
    slope = ft.grad(lambda x: np.sum(x * x))(data).compute(scheduler="synchronous")
    assert type(slope) is sparse.COO and slope.nnz == np.count_nonzero(dense)


def test_the_benchmark_of_dask_arrays_runs(capsys):
    """At most 2.2 times the loss of plain Dask in tasks and bytes, and 3 with clones."""
    for (name, _), found in bench.graphs([50, 200]).items():
        most = 3 if name in bench.BARRIER else 2.2
        assert max(found[3:]) < most
    assert set(bench.beside_hand(1, 3, 50)) >= {("logistic", "in memory")}
    assert bench.large(0.002, 10, ["logistic"])["logistic"] < 500
    assert "of by hand" in capsys.readouterr().out
