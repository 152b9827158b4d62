"""How sure is a classifier? A bootstrap in chunks, on a cluster.

    python examples/chunked_cluster.py [--out DIR]

The program fits a softmax regression to 1200 handwritten digits, and again to 80 samples drawn
from them with replacement. Where the fits disagree, the data does not decide.

The model and its fit are written for one sample. `vmap` computes all fits at once, which is fast
but takes the memory of all of them. With ``chunk_size`` it takes the memory of one chunk. With
``executor``, threads, processes or a Dask cluster compute the chunks. Here the cluster is two
processes of this machine; ``Client("scheduler:8786")`` would use other machines.

The pictures show memory and time for chunks of all sizes, and the digits on which the fits
disagree most. The digits come with scikit-learn.
"""

import argparse
import os
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
from dask.distributed import Client, LocalCluster
from matplotlib.figure import Figure
from sklearn.datasets import load_digits

from functier import grad, vmap

SEED = 0
CLASSES = 10
TRAINING = 1200
FITS = 80
STEPS = 15
RATE, MOMENTUM, DECAY = 0.6, 0.9, 1e-3
CHUNK = 4
WORKERS = 2


# ---- the model and its fit, for one sample ----


def scores(w, images):
    """The log probability of each class, up to a constant that all classes share."""
    return images @ w[:-1] + w[-1]


def loss(w, counts, images, labels):
    """The mean cross entropy, with each image counted as often as it was drawn."""
    z = scores(w, images)
    z = z - np.max(z, axis=1, keepdims=True)
    log_p = z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))
    return -np.mean(counts * np.sum(labels * log_p, axis=1)) + DECAY * np.sum(w * w)


def fit(counts, images, labels, steps=STEPS):
    """Gradient descent with momentum, from zero."""
    w = velocity = np.zeros((images.shape[1] + 1, CLASSES))
    for _ in range(steps):
        velocity = MOMENTUM * velocity - RATE * grad(loss)(w, counts, images, labels)
        w = w + velocity
    return w


# ---- all samples ----

IN_DIMS = 0, None, None
"""A row of counts for each fit, and the images and labels of all."""


def load():
    """Images scaled to [0, 1], one-hot labels, and the copies of each image in each sample."""
    digits = load_digits()
    order = np.random.default_rng(SEED).permutation(len(digits.target))
    images, targets = digits.data[order] / 16, digits.target[order]
    labels = np.eye(CLASSES)[targets]
    draws = np.random.default_rng(SEED + 1)
    counts = draws.multinomial(TRAINING, np.full(TRAINING, 1 / TRAINING), FITS).astype(float)
    return counts, images[:TRAINING], labels[:TRAINING], images[TRAINING:], targets[TRAINING:]


def measured(f, *args):
    """The result of a call, its time, and the peak memory of its arrays."""
    tracemalloc.start()
    start = time.perf_counter()
    try:
        result = f(*args)
        return result, time.perf_counter() - start, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def report(what, seconds, peak=None):
    memory = "" if peak is None else f"{peak / 1e6:8.1f} MB"
    print(f"  {what:<34}{seconds:6.2f} s {memory}")


def compare(args):
    """The fits of the whole batch, and in chunks by each executor."""
    print(f"{FITS} fits to samples of {TRAINING} images, {STEPS} steps each")
    expected, seconds, peak = measured(vmap(fit, IN_DIMS), *args)
    report("the whole batch", seconds, peak)

    chunked = vmap(fit, IN_DIMS, chunk_size=CHUNK)
    weights, seconds, small = measured(chunked, *args)
    report(f"chunks of {CHUNK}", seconds, small)
    print(f"  memory: {peak / small:.1f} times less in chunks")
    difference = np.max(np.abs(weights - expected))

    with ThreadPoolExecutor(WORKERS) as pool:
        threaded = vmap(fit, IN_DIMS, chunk_size=CHUNK, executor=pool)
        weights, seconds, peak = measured(threaded, *args)
    report(f"chunks of {CHUNK}, {WORKERS} threads", seconds, peak)
    difference = max(difference, np.max(np.abs(weights - expected)))

    # Each worker is a process that computes a chunk at a time: more BLAS threads than
    # processors would wait for each other.
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    cluster = LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=None)
    with cluster, Client(cluster) as client:
        distributed = vmap(
            fit, IN_DIMS, chunk_size=CHUNK, executor=client.get_executor(), progress=True
        )
        weights, seconds, peak = measured(distributed, *args)
        report(f"chunks of {CHUNK}, Dask, {WORKERS} processes", seconds, peak)
    difference = max(difference, np.max(np.abs(weights - expected)))
    print(f"  largest difference of any weight  {difference:.1e}")
    return expected


def by_chunk_size(args):
    """Time and memory by the size of chunks, for fits of a few steps."""
    rows = []
    for size in (1, 2, CHUNK, 8, 20, 40, FITS):
        f = vmap(partial(fit, steps=3), IN_DIMS, chunk_size=size)
        _, seconds, peak = measured(f, *args)
        rows.append((size, seconds, peak / 1e6))
    return np.array(rows)


# ---- what the fits say ----


def judge(weights, images, targets):
    found = vmap(lambda w: np.argmax(scores(w, images), axis=1))(weights)
    accuracy = np.mean(found == targets, axis=1)
    low, high = np.percentile(accuracy, [5, 95])
    print(f"\n{len(targets)} images that no fit has seen")
    print(f"  accuracy {np.mean(accuracy):.3f}, of 90% of the fits {low:.3f} to {high:.3f}")
    share = np.mean(np.eye(CLASSES)[found], axis=0)  # of the fits, for each image and digit
    most = np.max(share, axis=1)
    agreed = most > 0.95
    wrong = np.argmax(share, axis=1) != targets
    print(f"  where 95% of the fits agree ({np.mean(agreed):.0%} of the images), "
          f"{np.mean(wrong[agreed]):.1%} are wrong;")  # fmt: skip
    print(f"  of the others {np.mean(wrong[~agreed]):.1%}")
    return share, np.argsort(most)[:8]


# ---- pictures ----


def draw(rows, share, unsure, images, targets, path):
    figure = Figure(figsize=(11, 6.2), layout="constrained")
    top, bottom = figure.subfigures(2, 1, height_ratios=[1.15, 1])
    left, right = top.subplots(1, 2)
    size, seconds, peak = rows.T
    left.loglog(size, peak, "o-", color="tab:blue")
    left.set(xlabel="fits in a chunk", ylabel="MB", title="most memory at a time")
    left.annotate(
        "all fits at once", (size[-1], peak[-1]), (-10, 0), textcoords="offset points",
        ha="right", va="center",
    )  # fmt: skip
    left.set_yticks([2, 5, 10, 20, 50, 100], ["2", "5", "10", "20", "50", "100"])
    right.semilogx(size, seconds, "o-", color="tab:orange")
    right.set(xlabel="fits in a chunk", ylabel="seconds", title="time of 3 steps", ylim=(0, None))
    for axes in (left, right):
        axes.set_xticks(size, [f"{s:.0f}" for s in size], minor=False)
        axes.minorticks_off()
        axes.grid(alpha=0.3)
    bottom.suptitle(f"What {FITS} fits take the least certain images for (true digit in blue)")
    panels = bottom.subplots(2, len(unsure), height_ratios=[1.2, 1])
    for (picture, bars), i in zip(panels.T, unsure):
        picture.imshow(images[i].reshape(8, 8), cmap="gray_r")
        picture.set_axis_off()
        colors = ["tab:blue" if c == targets[i] else "0.6" for c in range(CLASSES)]
        bars.bar(range(CLASSES), share[i], color=colors, width=0.8)
        bars.set(xticks=range(CLASSES), ylim=(0, 1), yticks=[])
        bars.tick_params(labelsize=7, length=0)
        bars.get_xticklabels()[targets[i]].set(color="tab:blue", weight="bold")
        for side in ("top", "left", "right"):
            bars.spines[side].set_visible(False)
    figure.savefig(path, dpi=110)
    print(f"\n{path}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "output")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    counts, images, labels, unseen, targets = load()
    args = counts, images, labels
    weights = compare(args)
    share, unsure = judge(weights, unseen, targets)
    draw(by_chunk_size(args), share, unsure, unseen, targets, out / "chunked_cluster.png")


if __name__ == "__main__":  # the workers of a cluster import this file
    main()
