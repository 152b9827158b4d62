"""Chunks do not wait for a sum over all chunks: the forward pass is computed again behind it."""

import pickle

import numpy as np
import pytest

import functier as ft
from support.basics import close

dask = pytest.importorskip("dask", reason="needs Dask")

import dask.array as da  # noqa: E402
from dask.callbacks import Callback  # noqa: E402
from dask.highlevelgraph import MaterializedLayer  # noqa: E402

N, W = 64, np.linspace(-1, 1, 5)


LOSSES = {
    "norm": lambda x: lambda w: np.linalg.norm(x * w),
    "logsumexp": lambda x: lambda w: np.log(np.sum(np.exp(x * w))),
    "of rows": lambda x: lambda w: np.log(np.sum(np.exp(x @ w))),
    "two barriers": lambda x: lambda w: np.log(np.sum(np.exp(x * w - np.mean(x * w)))),
    "mean of squares": lambda x: lambda w: np.mean((x @ w) ** 2),
    "softmax": lambda x: lambda w: np.mean(np.log(np.sum(np.exp(x * w), axis=1)) - x[:, 0] * w[0]),
}


class Peak(Callback):
    """The most elements of results that are alive at one time."""

    def __init__(self):
        self.most = 0
        super().__init__(posttask=self.look)

    def look(self, key, result, dsk, state, worker):
        found = [v for v in state["cache"].values() if isinstance(v, np.ndarray)]
        alive = sum(v.size for v in found if 0 not in v.strides)  # others are one number
        self.most = max(self.most, alive)


def peak(x):
    with Peak() as found:
        value = dask.compute(x, scheduler="synchronous")[0]
    return found.most, value


def data():
    return da.random.default_rng(0).normal(size=(N * 10, 5), chunks=(10, 5))


@pytest.mark.parametrize("name", LOSSES)
def test_a_gradient_keeps_few_chunks(name):
    loss = LOSSES[name](data())
    most, value = peak(ft.grad(loss)(W))
    close(value, ft.grad(LOSSES[name](data().compute(scheduler="synchronous")))(W), 1e-10)
    assert most < (
        N * 50 * 1.1 if name == "two barriers" else N * 30
    )  # as plain Dask's forward pass


def test_clones_are_switched_off_by_a_word():
    loss = LOSSES["logsumexp"](data())
    with dask.config.set({"functier-clones": False}):
        most, value = peak(ft.grad(loss)(W))
    assert most > N * 50
    close(value, peak(ft.grad(loss)(W))[1], 1e-12)


def test_clones_of_tasks_are_made_when_they_are_needed():
    """Else the graph of a gradient takes six times as long to build as that of the loss."""
    with dask.annotate(priority=3):
        x = data()
    slope = ft.grad(LOSSES["logsumexp"](x))(W)
    clones = [n for n in slope.dask.layers if n[:6] == "normal" and n != x.name]
    (clone,) = [slope.dask.layers[name] for name in clones]
    assert not clone.is_materialized() and len(clone) == N
    assert clone.annotations == {"priority": 3}
    assert not any(key in x.dask for key in clone)
    moved = pickle.loads(pickle.dumps(clone))
    assert type(moved) is MaterializedLayer and moved.keys() == clone.keys()


def test_a_backward_pass_runs_once():
    calls = []

    @ft.custom_vjp
    def double(x):
        return 2 * x

    def backward(saved, g):
        calls.append(0)
        return (2 * g,)

    double.defvjp(lambda x: (double(x), None), backward)
    slope = ft.grad(lambda x: np.sum(np.sin(double(x))))(data())
    assert len(calls) == 1
    x = data().compute(scheduler="synchronous")
    close(peak(slope)[1], 2 * np.cos(2 * x), 1e-12)


def test_persisted_data_are_not_computed_again():
    calls = []

    def source(block):
        calls.append(0)
        return block * 2

    x = data().map_blocks(source, dtype=float, meta=np.empty((0, 0)))
    kept = x.persist(scheduler="synchronous")
    assert len(calls) == N
    ft.grad(LOSSES["logsumexp"](kept))(W).compute(scheduler="synchronous")
    assert len(calls) == N
    ft.grad(LOSSES["logsumexp"](x))(W).compute(scheduler="synchronous")
    assert len(calls) == 2 * N  # it counts its calls, so nobody knows that it gives the same again


def test_what_delayed_returns_is_not_asked_for_again():
    calls = []

    @dask.delayed(pure=False)
    def draw():
        calls.append(0)
        return np.random.default_rng().normal(size=(4, 5))

    x = da.concatenate([da.from_delayed(draw(), (4, 5), float) for _ in range(3)])
    ft.grad(LOSSES["logsumexp"](x))(W).compute(scheduler="synchronous")
    assert len(calls) == 3


def test_a_gradient_is_computed_in_one_pass_with_the_value():
    calls = []

    def source(block):
        calls.append(0)
        return block * 2

    x = data().map_blocks(source, dtype=float, meta=np.empty((0, 0)))
    value, g = ft.value_and_grad(LOSSES["mean of squares"](x))(W)
    dask.compute(value, g, scheduler="synchronous")
    assert len(calls) == N


@pytest.mark.parametrize("name", ["mean of squares", "logsumexp", "softmax"])
def test_the_graph_of_a_gradient_is_small(name):
    """At most 2.2 times that of the loss after Dask's optimization, and 3 with clones."""
    sizes = []
    for n in (100, 400):
        x = da.random.default_rng(0).normal(size=(n * 10, 5), chunks=(10, 5))
        loss = LOSSES[name](x)
        graphs = [dask.optimize(y)[0].__dask_graph__() for y in (loss(W), ft.grad(loss)(W))]
        sizes.append([len(dict(graph)) for graph in graphs])
        assert sizes[-1][1] <= (3 if name == "logsumexp" else 2.5) * sizes[-1][0]
    assert sizes[1][1] < 4.2 * sizes[0][1]
