"""Gradients on a cluster: a worker that dies, and tensors that do not travel."""

import os
import time

import numpy as np
import pytest
from scipy.optimize import minimize

import functier as ft
from support.basics import close

distributed = pytest.importorskip("distributed", reason="needs Dask's scheduler")

import dask  # noqa: E402
import dask.array as da  # noqa: E402

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # of the event loops of others
]
W = np.linspace(-0.5, 0.5, 6)


def loss(w, x):
    return np.log(np.sum(np.exp(x * w)))


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_a_worker_that_dies_in_the_middle(client, tmp_path):
    marker = str(tmp_path / "died")

    def source(block, block_id=None):
        if block_id[0] == 7:
            try:
                os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                return block
            time.sleep(0.2)
            os._exit(1)
        return block

    x = da.random.default_rng(0).normal(size=(4000, 6), chunks=(200, 6))
    lazy = x.map_blocks(source, dtype=float, meta=np.empty((0, 0)))
    value, slope = dask.compute(*ft.value_and_grad(loss)(W, lazy))

    assert os.path.exists(marker)
    expected = ft.value_and_grad(loss)(W, x.compute())
    close(value, expected[0], 1e-12)
    close(slope, expected[1], 1e-12)


def test_an_optimizer_on_a_cluster(client):
    x = da.random.default_rng(1).normal(size=(4000, 6), chunks=(500, 6)).persist()
    both = ft.value_and_grad(lambda w: np.mean((x @ w - 1) ** 2) + np.sum(w * w))
    found = minimize(lambda w: dask.compute(*both(w)), W, jac=True, method="L-BFGS-B")

    data = x.compute()
    best = np.linalg.solve(data.T @ data / 4000 + np.eye(6), data.mean(axis=0))
    close(found.x, best, 1e-5)


def test_a_tensor_does_not_travel(client):
    x = da.ones((4, 6), chunks=2)
    with pytest.raises(TypeError) as error:
        ft.grad(lambda w: x.map_blocks(lambda b: b * w, dtype=float).sum().compute())(0.5)
    causes = []
    found = error.value
    while found is not None:
        causes.append(found)
        found = found.__cause__ or found.__context__
    assert any("pickle.dumps(x)" in str(cause) for cause in causes)
