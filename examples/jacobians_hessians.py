"""Jacobians, Hessians, and products that avoid them, of a small network in plain NumPy.

    python examples/jacobians_hessians.py [--out DIR]

(a) a Jacobian row by row with `vjp`, all rows at once with `vmap`, and with `jacrev`;
(b) reverse or forward mode: which is faster for a tall Jacobian, and which for a wide one;
(c) a batch of Jacobians: one for each example, by ``vmap(jacrev(f))``;
(d) memory: `chunk_size` limits the number of rows computed at a time;
(e) Hessians by the four compositions of the two modes;
(f) a Hessian times a vector, without the Hessian: `hvp`, and `linearize` for many
    vectors at one point.

All ways of computing a result are compared. Times are the best of several calls on this machine.
The picture shows those of (b) and (d), and the memory of (d).

The picture also has the reverse mode of (b) written by hand, which is as fast where there are
many outputs. Both jump near 1024 outputs, where an array of the batch has 8 MB: it comes fresh
from the system at each call, and no longer fits into the caches. BLAS runs on one thread, since
several would wait for processors that are busy, which can take longer than the product.
"""

import argparse
import os
import time
import tracemalloc
from functools import partial
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before the first import of NumPy

import numpy as np
from matplotlib.figure import Figure

from functier import grad, hessian, hvp, jacfwd, jacrev, jvp, linearize, vjp, vmap

RNG = np.random.default_rng(0)


def layer(x, weight, bias):
    """One layer of a network, for one example: shape (inputs,) to (outputs,)."""
    return np.tanh(weight @ x + bias)


def make_layer(inputs, outputs):
    """A layer as a function of its input, and a point."""
    weight = RNG.normal(0, inputs**-0.5, (outputs, inputs))
    bias = RNG.normal(0, 0.1, outputs)
    return lambda x: layer(x, weight, bias), RNG.normal(size=inputs)


# ---- measuring ----


def best(f, *args, calls=5):
    """The time of the fastest of several calls, in milliseconds, and the result of `f`."""
    times = []
    for _ in range(calls):
        start = time.perf_counter()
        result = f(*args)
        times.append(time.perf_counter() - start)
    return 1e3 * min(times), result


def peak(f, *args):
    """The peak memory of a call, in MB."""
    f(*args)
    tracemalloc.start()
    f(*args)
    size = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return size / 1e6


def difference(results):
    """The largest difference of any result from the first."""
    return max(np.max(np.abs(r - results[0])) for r in results[1:])


def table(title, ways, *args):
    """Print the time of each way to compute a result, and the largest difference."""
    print(f"\n{title}")
    results = []
    for name, f in ways.items():
        milliseconds, result = best(f, *args)
        results.append(result)
        print(f"    {name:<46}{milliseconds:9.3f} ms")
    print(f"    largest difference{difference(results):37.0e}")
    return results[0]


# ---- (a) to (f) ----


def one_jacobian():
    """(a) The rows of a Jacobian are the vjps of the unit vectors."""
    f, x = make_layer(32, 64)

    def in_a_loop(x):
        y, pullback = vjp(f, x)
        return np.stack([pullback(row)[0] for row in np.eye(len(y))])

    def at_once(x):
        y, pullback = vjp(f, x)
        return vmap(pullback)(np.eye(len(y)))[0]

    ways = {"vjp, row by row": in_a_loop, "vmap of the same": at_once, "jacrev": jacrev(f)}
    table("(a) the Jacobian of 32 inputs and 64 outputs", ways, x)


def tall_and_wide():
    """(b) Reverse mode pays for outputs, forward mode for inputs."""
    for inputs, outputs, what in ((16, 1024, "tall"), (1024, 16, "wide")):
        f, x = make_layer(inputs, outputs)
        ways = {"jacrev": jacrev(f), "jacfwd": jacfwd(f)}
        table(f"(b) a {what} Jacobian, {outputs} x {inputs}", ways, x)


def against_outputs(inputs=64):
    """(b) The times of both modes, and of reverse mode by hand, for growing numbers of outputs."""
    outputs = [2**k for k in range(2, 11)]
    times = {"jacrev": [], "jacfwd": [], "reverse mode by hand": []}
    for m in outputs:
        weight, bias = RNG.normal(0, inputs**-0.5, (m, inputs)), RNG.normal(0, 0.1, m)
        f, x = partial(layer, weight=weight, bias=bias), RNG.normal(size=inputs)
        ways = jacrev(f), jacfwd(f), partial(by_hand, weight, bias)
        for name, jacobian in zip(times, ways):
            times[name].append(best(jacobian, x)[0])
    return inputs, outputs, times


def by_hand(weight, bias, x):
    """The vector-Jacobian products of a layer with all unit vectors."""
    y = layer(x, weight, bias)
    return (np.eye(len(y)) * (1 - y * y)) @ weight


def batch_of_jacobians():
    """(c) One Jacobian for each example."""
    f, _ = make_layer(16, 16)
    xs = RNG.normal(size=(256, 16))
    ways = {
        "a loop over jacrev": lambda xs: np.stack([jacrev(f)(x) for x in xs]),
        "vmap of jacrev": vmap(jacrev(f)),
        "vmap of jacfwd": vmap(jacfwd(f)),
    }
    table("(c) 256 Jacobians of 16 inputs and 16 outputs", ways, xs)


def memory_of_chunks():
    """(d) Memory and time of a Jacobian computed in chunks."""
    n = 400
    weights = [RNG.normal(0, n**-0.5, (n, n)) for _ in range(4)]

    def deep(x):
        for weight in weights:
            x = np.tanh(weight @ x)
        return x

    x = RNG.normal(size=n)
    size = n * n * 8 / 1e6
    print(f"\n(d) a Jacobian of 400 x 400 ({size:.1f} MB) of four layers, by chunk_size")
    print("    chunk_size      time      memory besides the result")
    rows, results = [], []
    for chunk_size in (None, 100, 20, 5, 1):
        jacobian = jacrev(deep, chunk_size=chunk_size)
        milliseconds, result = best(jacobian, x, calls=3)
        memory = peak(jacobian, x) - size
        rows.append((chunk_size or n, milliseconds, memory))
        results.append(result)
        print(f"    {chunk_size!s:>10}{milliseconds:7.1f} ms{memory:19.1f} MB")
    print(f"    largest difference{difference(results):37.0e}")
    return rows


def energy_of(n):
    """A scalar function of n inputs, and a point."""
    f, x = make_layer(n, n)
    return lambda x: np.sum(np.log(np.cosh(f(x)))) + np.sum(f(x) * x), x


def hessians():
    """(e) Four compositions give one matrix."""
    f, x = energy_of(64)
    ways = {
        "hessian, which is jacfwd of jacrev": hessian(f),
        "jacrev of jacrev": jacrev(jacrev(f)),
        "jacrev of jacfwd": jacrev(jacfwd(f)),
        "jacfwd of jacfwd": jacfwd(jacfwd(f)),
    }
    table("(e) the Hessian of 64 inputs", ways, x)


def products():
    """(f) A Hessian times one vector, and times many."""
    f, x = energy_of(256)
    v = RNG.normal(size=256)
    ways = {
        "the whole Hessian, times v": lambda x: hessian(f)(x) @ v,
        "hvp: forward over reverse": lambda x: hvp(f, (x,), (v,))[1][0],
        "reverse over reverse": lambda x: vjp(grad(f), x)[1](v)[0],
        "reverse over forward": grad(lambda x: jvp(f, (x,), (v,))[1]),
    }
    table("(f) the Hessian of 256 inputs times a vector", ways, x)
    vectors = RNG.normal(size=(20, 256))

    def reused(x):
        product = linearize(grad(f), x)[1]
        return np.stack([product(v) for v in vectors])

    ways = {
        "hvp, 20 times": lambda x: np.stack([hvp(f, (x,), (v,))[1][0] for v in vectors]),
        "linearize(grad(f), x), 20 times its product": reused,
        "vmap of hvp": lambda x: vmap(lambda v: hvp(f, (x,), (v,))[1][0])(vectors),
    }
    table("(f) the same times 20 vectors, as an iterative solver does it", ways, x)


# ---- the picture ----


def draw(path, inputs, outputs, times, rows):
    """Draw the times of both modes by the number of outputs, and memory and time of chunks."""
    figure = Figure(figsize=(11, 4.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    looks = ("o-", "tab:blue"), ("o-", "tab:orange"), ("x--", "black")
    for (name, milliseconds), (line, color) in zip(times.items(), looks):
        left.loglog(outputs, milliseconds, line, color=color, linewidth=2, label=name)
    left.axvline(inputs, color="gray", linestyle=":", label=f"as many outputs as inputs ({inputs})")
    left.set_title("One layer: reverse or forward mode?", fontsize=14)
    left.set_xlabel("outputs", fontsize=12)
    left.set_ylabel("time of the Jacobian, ms", fontsize=12)
    left.legend(fontsize=11)
    sizes, milliseconds, memory = zip(*rows)
    right.set_title("Four layers, 400 x 400: chunk_size", fontsize=14)
    right.set_xlabel("rows at a time", fontsize=12)
    right.loglog(sizes, memory, "o-", color="tab:green", linewidth=2)
    right.set_ylabel("memory besides the result, MB", fontsize=12, color="tab:green")
    time_axes = right.twinx()
    time_axes.loglog(sizes, milliseconds, "s-", color="tab:red", linewidth=2)
    time_axes.set_ylabel("time, ms", fontsize=12, color="tab:red")
    for axes in (left, right, time_axes):
        axes.tick_params(labelsize=11)
    for axes in (left, right):
        axes.grid(alpha=0.3, which="both")
    figure.savefig(path, dpi=110)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = Path(__file__).parent / "output"
    parser.add_argument("--out", type=Path, default=default, help="where the picture goes")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)

    one_jacobian()
    tall_and_wide()
    batch_of_jacobians()
    rows = memory_of_chunks()
    hessians()
    products()
    path = out / "jacobians_hessians.png"
    draw(path, *against_outputs(), rows)
    print(f"\npicture: {path}")


if __name__ == "__main__":
    main()
