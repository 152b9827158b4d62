"""Gradients of Dask arrays beside plain Dask and beside gradients by hand, as ratios.

``python tests/bench/dask_arrays.py graph [CHUNKS ...]``
    The gradient's graph over that of the loss in plain Dask: CPU time to build it and of Dask's
    optimization, tasks after it, bytes of the pickled graph. The garbage collector is off: its
    full passes would fall on one of both.
``python tests/bench/dask_arrays.py hand [ROUNDS]``
    CPU time of a gradient over one by hand with `map_blocks`, from the call to the result, for
    160 chunks of 10 MB: data in memory and generated.
``python tests/bench/dask_arrays.py large [GB]``
    The most memory of a gradient of 50 GB in 1000 chunks, with two threads.
"""

import gc
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import cloudpickle
import dask
import dask.array as da
import numpy as np

import functier as ft
from bench.memory import resident

WIDTH = 50
W = np.linspace(-0.1, 0.1, WIDTH)
M = np.random.default_rng(1).normal(size=(WIDTH, 8)) * 0.1
BARRIER = {"logsumexp", "norm"}
"""The losses whose gradient waits for a sum over all chunks: their forward pass is cloned."""

LOSSES: dict[str, tuple[Callable, np.ndarray]] = {
    "mean of squares": (lambda w, x: np.mean((x @ w) ** 2), W),
    "logistic": (lambda w, x: np.mean(np.log1p(np.exp(-(x @ w)))), W),
    "two layers": (lambda m, x: np.mean(np.sum(np.tanh(x @ m), axis=1) ** 2), M),
    "softmax": (lambda w, x: np.mean(np.log(np.sum(np.exp(x * w), axis=1)) - x[:, 0] * w[0]), W),
    "logsumexp": (lambda w, x: np.log(np.sum(np.exp(x * w))), W),
    "norm": (lambda w, x: np.linalg.norm(x * w), W),
}


def data(chunks: int, rows: int) -> Any:
    """Return normal numbers that are drawn when they are needed."""
    return da.random.default_rng(0).normal(size=(chunks * rows, WIDTH), chunks=(rows, WIDTH))


# ---- the graph ----


def cpu(f: Callable, times: int = 3) -> tuple[float, Any]:
    """Return the least CPU time of some calls, and a result."""
    least = np.inf
    for _ in range(times):
        start = time.process_time()
        made = f()
        least = min(least, time.process_time() - start)
    return least, made


def graph_of(f: Callable) -> list[float]:
    """Return what the graph that a function makes costs."""
    gc.collect()
    gc.disable()
    try:
        built, y = cpu(f)
        optimized, z = cpu(lambda: dict(dask.optimize(y)[0].dask))
    finally:
        gc.enable()
    return [built, optimized, built + optimized, len(z), len(cloudpickle.dumps(z))]


def graphs(counts: Iterable[int], names: Iterable[str] = LOSSES) -> dict[tuple, list[float]]:
    """Return, for each loss and number of chunks, what the gradient's graph costs more."""
    ratios = {}
    for n in counts:
        x = data(n, 10)
        for name in names:
            loss, w = LOSSES[name]
            plain = graph_of(lambda loss=loss, w=w, x=x: loss(w, x))
            slope = graph_of(lambda loss=loss, w=w, x=x: ft.grad(loss)(w, x))
            ratios[name, n] = [a / b for a, b in zip(slope, plain)]
            text = ["build", "optimization", "both", "tasks", "bytes"]
            words = [f"{t} {r:.2f}" for t, r in zip(text, ratios[name, n])]
            print(f"{name}, {n} chunks: {', '.join(words)}", flush=True)
    return ratios


# ---- by hand ----


def sum_of(func: Callable, x: Any, shape: tuple[int, ...]) -> Any:
    """Return the sum over the chunks of an array of a function of each."""
    chunks = ((1,) * x.numblocks[0], *[(n,) for n in shape])
    new = {"new_axis": list(range(2, len(chunks)))} if len(chunks) > 2 else {}
    return x.map_blocks(lambda b: func(b)[None], chunks=chunks, dtype=float, **new).sum(0)


def squares_by_hand(w: np.ndarray, x: Any) -> Any:
    n = len(x)
    return sum_of(lambda b: (2 / n * (b @ w)) @ b, x, w.shape)


def logistic_by_hand(w: np.ndarray, x: Any) -> Any:
    n = len(x)
    return sum_of(lambda b: (-1 / (1 + np.exp(b @ w)) / n) @ b, x, w.shape)


def layers_by_hand(m: np.ndarray, x: Any) -> Any:
    n = len(x)

    def slope(b: np.ndarray) -> np.ndarray:
        h = np.tanh(b @ m)
        g = 2 / n * h.sum(axis=1, keepdims=True)
        return b.T @ (g * (1 - h * h))

    return sum_of(slope, x, m.shape)


BY_HAND = {
    "mean of squares": squares_by_hand, "logistic": logistic_by_hand, "two layers": layers_by_hand,
}  # fmt: skip


def beside_hand(rounds: int, chunks: int = 160, rows: int = 25_000) -> dict[tuple, float]:
    """Return the median over rounds of the CPU time of gradients over that by hand."""
    drawn = data(chunks, rows)
    kept = da.from_array(drawn.compute(), chunks=(rows, WIDTH), name="kept")
    ratios = {}
    for where, x in (("in memory", kept), ("generated", drawn)):
        for name, by_hand in BY_HAND.items():
            loss, w = LOSSES[name]
            found = []
            for _ in range(rounds + 1):
                times = []
                for slope in (ft.grad(loss), by_hand):
                    took, value = cpu(
                        lambda s=slope, w=w, x=x: s(w, x).compute(scheduler="synchronous"), 1
                    )
                    times.append((took, value))
                np.testing.assert_allclose(times[0][1], times[1][1], rtol=1e-8)
                found.append(times[0][0] / times[1][0])
            ratios[name, where] = float(np.median(found[1:]))
            print(f"{name}, {where}: {ratios[name, where]:.2f} of by hand", flush=True)
    return ratios


# ---- more than memory ----


def large(gigabytes: float, chunks: int = 1000, names: Iterable[str] = LOSSES) -> dict[str, float]:
    """Return the most megabytes that gradients of generated data take, with two threads."""
    x = data(chunks, int(gigabytes * 1e9 / 8 / WIDTH / chunks))
    peaks = {}
    for name in names:
        loss, w = LOSSES[name]
        before, most, ended = resident(), [0], threading.Event()

        def watch(most: list[int] = most, ended: threading.Event = ended) -> None:
            while not ended.wait(0.01):
                most[0] = max(most[0], resident())

        watcher = threading.Thread(target=watch)
        watcher.start()
        took, _ = cpu(
            lambda loss=loss, w=w: ft.grad(loss)(w, x).compute(scheduler="threads", num_workers=2),
            1,
        )
        ended.set()
        watcher.join()
        peaks[name] = (most[0] - before) / 1e6
        print(f"{name}, {x.nbytes / 1e9:.0f} GB: {peaks[name]:.0f} MB, CPU time {took:.0f} s",
              flush=True)  # fmt: skip
    return peaks


def main(what: str, *words: str) -> None:
    if what == "graph":
        graphs([int(n) for n in words] or (1000, 10_000, 20_000))
    elif what == "hand":
        beside_hand(int(words[0]) if words else 7)
    elif what == "large":
        large(float(words[0]) if words else 50, names=words[1:] or LOSSES)
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:] or [""])
