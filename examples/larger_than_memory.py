"""A model of data that do not fit: gradient descent and L-BFGS on a cluster.

    python examples/larger_than_memory.py [--gb GB] [--out DIR]

The data are events with 50 properties each, and whether each was the one that is looked for. They
are drawn chunk by chunk when they are needed, as they would be read from files: no process ever
has all of them. The answers fit, and stay in memory. The model is logistic regression, written in
NumPy. Its gradient by functier is a graph of Dask, which a cluster computes. Here the cluster is
two processes of this machine with 500 MB each; ``Client("scheduler:8786")`` would use other
machines. The program prints where the dashboard of the cluster is, and each fit shows its progress.

The default, 0.1 GB, takes seconds. ``--gb 4`` is eight times the memory of a worker, and takes some
minutes.

The picture shows the loss by passes over the data, and the weights beside those that made it.
"""

import argparse
import time
from pathlib import Path

import dask
import dask.array as da
import numpy as np
from dask.distributed import Client, LocalCluster
from matplotlib.figure import Figure
from scipy.optimize import minimize

import functier as ft

SEED = 0
WIDTH = 50
ROWS = 20_000
"""The rows of a chunk, which takes 8 MB."""
STEPS = 10
RATE = 3.0
DECAY = 1e-3
TRUE = np.random.default_rng(SEED).normal(size=WIDTH) / 5


def load(gigabytes):
    """The events, of which nothing is drawn yet, and a 1 for each that is looked for, in memory."""
    chunks = max(round(gigabytes * 1e9 / (8 * WIDTH * ROWS)), 2)
    draws = da.random.default_rng(SEED)
    x = draws.uniform(-2, 2, size=(chunks * ROWS, WIDTH), chunks=(ROWS, WIDTH))
    noise = draws.logistic(size=chunks * ROWS, chunks=ROWS)
    return x, (x @ TRUE + noise > 0).persist()


def loss(w, x, y):
    """The mean of the negative log probability of what happened, and a decay of the weights."""
    z = x @ w
    return np.mean(np.log1p(np.exp(-np.abs(z))) + np.maximum(z, 0) - y * z) + DECAY * np.sum(w * w)


def by_hand(w, x, y):
    """The gradient, for a comparison."""
    z = x @ w
    return x.T @ (1 / (1 + np.exp(-z)) - y) / len(z) + 2 * DECAY * w


def descend(both):
    """Gradient descent: the weights, and the loss before each step."""
    w, losses = np.zeros(WIDTH), []
    for _ in ft.progress.bar(range(STEPS), "gradient descent"):
        value, slope = both(w)
        losses.append(value)
        w = w - RATE * slope
    return w, losses


def quasi_newton(both):
    """The same by L-BFGS of SciPy, which asks for a value and a gradient at each point."""
    losses = []

    def value_and_slope(w):
        value, slope = both(w)
        losses.append(value)
        return value, slope

    with ft.progress.during("L-BFGS"):
        options = {"maxfun": STEPS}  # passes over the data
        found = minimize(
            value_and_slope, np.zeros(WIDTH), jac=True, method="L-BFGS-B", options=options
        )
    return found.x, losses


def fits(x, y):
    """The weights and losses of both ways, and how far the gradient is from that by hand."""
    slopes = ft.value_and_grad(loss)

    def both(w):
        return dask.compute(*slopes(w, x, y))  # one pass over the data

    found = {}
    for name, fit in (("gradient descent", descend), ("L-BFGS", quasi_newton)):
        start = time.perf_counter()
        w, losses = fit(both)
        seconds = time.perf_counter() - start
        print(f"  {name:<18}{len(losses):3} passes  loss {min(losses):.5f}  {seconds:6.1f} s")
        found[name] = w, losses
    w = found["L-BFGS"][0]
    ours, theirs = dask.compute(slopes(w, x, y)[1], by_hand(w, x, y))
    print(f"  largest difference from the gradient by hand  {np.max(np.abs(ours - theirs)):.1e}")
    return found


def draw(found, path):
    figure = Figure(figsize=(9, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    best = min(min(losses) for _, losses in found.values())
    for name, (_, losses) in found.items():
        rest = np.minimum.accumulate(losses) - best
        rest[rest <= 0] = np.nan
        left.semilogy(range(1, len(rest) + 1), rest, "o-", ms=3, label=name)
    left.set(xlabel="passes over the data", ylabel="loss above the best", title="the fits")
    left.legend()
    right.plot(TRUE, found["L-BFGS"][0], "o", ms=4, color="tab:orange")
    right.axline((0, 0), slope=1, color="0.7", lw=1, zorder=0)
    right.set(xlabel="weights that made the data", ylabel="found", title="L-BFGS")
    for axes in (left, right):
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=110)
    print(f"\n{path}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gb", type=float, default=0.1, help="gigabytes of data; default: 0.1")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "output")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="500MB", dashboard_address=":0"
    )
    with cluster, Client(cluster) as client:
        x, y = load(args.gb)
        print(f"dashboard: {client.dashboard_link}")
        print(f"{len(x)} events, {x.nbytes / 1e9:.1f} GB in {x.npartitions} chunks, on 2 workers")
        found = fits(x, y)
    draw(found, args.out / "larger_than_memory.png")


if __name__ == "__main__":  # the workers of a cluster import this file
    main()
