"""The neural tangent kernel of a network in plain NumPy, in two ways, and its theory.

    python examples/neural_tangent_kernel.py [--out DIR]

The kernel of two inputs is the inner product of the derivatives of the network's outputs
by all its parameters, ``J(x1) @ J(x2).T``. It says how a step of gradient descent on x2
moves the output for x1.

(a) The kernel in two ways: by contracting the Jacobians of ``vmap(jacrev(f))``, which takes
    the memory of the Jacobians, and by NTK-vector products, `jvp` along the result of `vjp`,
    which does not.
(b) The kernel by width. With growing width, the kernel at random parameters tends to that of an
    infinite network (Jacot, Gabriel and Hongler, *Neural Tangent Kernel*, 2018), for which
    there is a formula.
(c) Gradient descent on all parameters of a wide network is kernel regression. So the kernel
    tells the predictions during training before the network is trained.

The picture shows (b) and (c) for inputs on the unit circle, by their angle.
"""

import argparse
import itertools
import time
from pathlib import Path

import numpy as np
import optree
from matplotlib.figure import Figure

from functier import jacrev, jvp, value_and_grad, vjp, vmap

HIDDEN = 2
WIDTHS = 16, 64, 256, 1024
SEEDS = 10
STEPS = 150
RATE = 0.12


# ---- the network, for one input ----


def init(seed, width, inputs=2, outputs=1):
    """Standard normal weights for a network with `HIDDEN` layers."""
    rng = np.random.default_rng(seed)
    sizes = [inputs, *[width] * HIDDEN, outputs]
    return [rng.normal(size=(m, n)) for n, m in itertools.pairwise(sizes)]


def network(params, x):
    """ReLU layers, scaled so that a wide network has a limit: the NTK parametrization."""
    hidden, (first, *others) = x, params
    hidden = first @ hidden
    for weight in others:
        hidden = weight @ np.maximum(hidden, 0) * np.sqrt(2 / len(hidden))
    return hidden


def circle(angles):
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)


# ---- (a) the empirical kernel: shape (n1, n2, outputs, outputs) ----


def by_contraction(f, params, x1, x2):
    """The Jacobian for every input, contracted over all parameters."""
    j1, j2 = [vmap(jacrev(f), (None, 0))(params, x) for x in (x1, x2)]

    def contracted(a, b):
        a, b = [j.reshape(*j.shape[:2], -1) for j in (a, b)]
        return np.einsum("nop,mqp->nmoq", a, b, optimize=True)

    return sum(map(contracted, optree.tree_leaves(j1), optree.tree_leaves(j2)))


def by_products(f, params, x1, x2):
    """``J(x1) @ (J(x2).T @ v)`` for every unit vector v: no Jacobian of x1 is made."""

    def kernel(a, b):
        y, pullback = vjp(lambda params: f(params, b), params)

        def column(v):
            return jvp(lambda params: f(params, a), (params,), pullback(v))[1]

        return vmap(column, out_dims=1)(np.eye(len(y)))

    return vmap(lambda a: vmap(lambda b: kernel(a, b))(x2))(x1)


def compare_ways():
    """(a) Both ways, for a network with ten outputs."""
    params = init(0, width=128, inputs=16, outputs=10)
    rng = np.random.default_rng(1)
    x1, x2 = rng.normal(size=(2, 8, 16))
    found = []
    n = sum(w.size for w in params)
    print(f"(a) the kernel of 8 and 8 inputs, 10 outputs, {n} parameters")
    for name, way in (
        ("Jacobian contraction", by_contraction),
        ("NTK-vector products", by_products),
    ):
        way(network, params, x1, x2)
        start = time.perf_counter()
        found.append(way(network, params, x1, x2))
        print(f"    {name:<34}{1e3 * (time.perf_counter() - start):9.1f} ms")
    error = np.max(np.abs(found[0] - found[1])) / np.max(np.abs(found[0]))
    print(f"    largest difference{error:25.0e}")


# ---- (b) the kernel of an infinite network ----


def infinite(x1, x2):
    """The limit for unit vectors x1 and x2, by the arc-cosine kernels (Cho and Saul, 2009)."""
    sigma = np.clip(x1 @ x2.T, -1, 1)
    theta = sigma
    for _ in range(HIDDEN):
        slope = (np.pi - np.arccos(sigma)) / np.pi
        sigma = sigma * slope + np.sqrt(1 - sigma**2) / np.pi
        theta = sigma + theta * slope
    return theta


def kernels_by_width(angles):
    """(b) Kernels of random networks of each width, between angle 0 and `angles`."""
    x0, x = circle(np.zeros(1)), circle(angles)
    limit = infinite(x0, x)[0]
    print("\n(b) random networks of width n: distance from the infinite one, and times sqrt(n)")
    found = {}
    for width in WIDTHS:
        found[width] = [
            by_products(network, init(seed, width), x, x0)[:, 0, 0, 0] for seed in range(SEEDS)
        ]
        error = np.mean([np.linalg.norm(k - limit) for k in found[width]]) / np.linalg.norm(limit)
        print(f"    width {width:>5}{error:18.4f}{error * width**0.5:12.2f}")
    return limit, found


# ---- (c) training a network, and kernel regression ----


def train(params, x, y):
    """Gradient descent on half the sum of squares: the parameters after `STEPS` steps."""

    def loss(params):
        return np.sum((vmap(network, (None, 0))(params, x)[:, 0] - y) ** 2) / 2

    step = value_and_grad(loss)
    for _ in range(STEPS):
        value, slopes = step(params)
        params = optree.tree_map(lambda p, g: p - RATE * g, params, slopes)
    return params, value


def predicted(before, kernel, cross, before_x, y):
    """Predict the outputs `before` after gradient descent, if the kernel does not change.

    Each step subtracts ``RATE * kernel`` times the residual. `cross` is the kernel between the
    inputs of `before` and the training inputs, whose outputs were `before_x`.
    """
    values, vectors = np.linalg.eigh(kernel)
    moved = (1 - (1 - RATE * values) ** STEPS) / values
    return before + cross @ (vectors @ (moved * (vectors.T @ (y - before_x))))


def train_and_predict(width, angles):
    """(c) Train a network on eight points, and predict it with its first kernel."""
    at = np.linspace(-2.6, 2.8, 8)
    x, y = circle(at), np.sin(2 * at) * 0.8 + 0.3 * np.cos(at)
    points = circle(angles)
    params = init(3, width)
    outputs = vmap(network, (None, 0))
    before, before_x = outputs(params, points)[:, 0], outputs(params, x)[:, 0]
    kernel = by_contraction(network, params, x, x)[:, :, 0, 0]
    cross = by_products(network, params, points, x)[:, :, 0, 0]
    expected = predicted(before, kernel, cross, before_x, y)
    limit = predicted(before, infinite(x, x), infinite(points, x), before_x, y)
    trained, loss = train(params, x, y)
    after = outputs(trained, points)[:, 0]
    scale = np.max(np.abs(after))
    print(f"\n(c) a network of width {width}, {STEPS} steps of gradient descent on 8 points")
    print(f"    loss at the end{loss:28.6f}")
    print(
        f"    its own kernel's prediction is off by{np.max(np.abs(expected - after)) / scale:6.1%}"
    )
    print(f"    the infinite kernel's is off by{np.max(np.abs(limit - after)) / scale:12.1%}")
    return at, y, before, after, expected, limit


# ---- the picture ----


def draw(path, angles, limit, found, training):
    """Draw kernels by width, and a network before and after training with its prediction."""
    figure = Figure(figsize=(12, 5), layout="constrained")
    left, right = figure.subplots(1, 2)
    for width, color in ((64, "tab:orange"), (1024, "tab:blue")):
        for i, kernel in enumerate(found[width]):
            label = f"{SEEDS} random networks of width {width}" if not i else None
            left.plot(angles, kernel, color=color, alpha=0.6, linewidth=1.2, label=label)
    left.plot(angles, limit, "k--", linewidth=2, label="infinite width")
    left.set_title("Neural tangent kernel, by the angle of inputs", fontsize=14)
    left.set_ylim(0, 1.5 * max(limit))
    left.set_ylabel("kernel with the input at angle 0", fontsize=12)
    at, y, before, after, expected, by_limit = training
    right.plot(angles, before, color="gray", linewidth=1.2, label="network before training")
    right.plot(angles, after, color="tab:blue", linewidth=3.5, alpha=0.6, label="after training")
    right.plot(angles, expected, "k--", linewidth=1.6, label="predicted by its kernel before")
    right.plot(angles, by_limit, color="tab:red", linestyle=":", linewidth=1.8,
               label="predicted by the infinite kernel")  # fmt: skip
    right.plot(at, y, "o", color="tab:green", markersize=8, label="training points")
    right.set_title("Gradient descent is kernel regression", fontsize=14)
    right.set_ylabel("output", fontsize=12)
    for axes in (left, right):
        axes.set_xlabel("angle of the input", fontsize=12)
        axes.tick_params(labelsize=11)
        axes.grid(alpha=0.3)
        axes.legend(fontsize=10)
    figure.savefig(path, dpi=110)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = Path(__file__).parent / "output"
    parser.add_argument("--out", type=Path, default=default, help="where the picture goes")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)

    compare_ways()
    angles = np.linspace(-np.pi, np.pi, 81)
    limit, found = kernels_by_width(angles)
    training = train_and_predict(1024, angles)
    path = out / "neural_tangent_kernel.png"
    draw(path, angles, limit, found, training)
    print(f"\npicture: {path}")


if __name__ == "__main__":
    main()
