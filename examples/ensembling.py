"""An ensemble of networks that is trained at once, and its uncertainty.

    python examples/ensembling.py [--out DIR]

Twenty networks learn one curve from noisy points that leave two gaps. Each has its own first
weights and its own dropout, so they agree where there is data and disagree in the gaps. The
spread of their predictions shows where not to trust them (Lakshminarayanan et al., "Simple
and scalable predictive uncertainty estimation using deep ensembles", 2017).

Everything is written for one network and one example, in plain NumPy. `vmap` makes the
batch of examples and the ensemble of networks. A generator of `functier.random` draws separate
numbers for each network and each example (``randomness="different"``).
"""

import argparse
import time
from pathlib import Path

import numpy as np
import optree
from matplotlib.figure import Figure
from tqdm import trange

import functier as ft
from functier import optim, value_and_grad, vmap

SEED = 0
MEMBERS = 20
HIDDEN = 32
KEEP = 0.95
STEPS = 600
POINTS = 120
GAPS = [(-3.0, -0.9), (1.5, 3.6)]
RANGE = (-5.0, 5.0)


# ---- data ----


def curve(x):
    return np.sin(1.5 * x) + 0.3 * x


def noise(x):
    """The standard deviation of a measurement, which grows from left to right."""
    return 0.05 + 0.03 * (x - RANGE[0])


def in_a_gap(x):
    return np.any([(low < x) & (x < high) for low, high in GAPS], axis=0)


def measure(rng, n):
    """`n` noisy points of the curve, none of them in a gap."""
    x = rng.uniform(*RANGE, 4 * n)
    x = x[~in_a_gap(x)][:n]
    return x, rng.normal(curve(x), noise(x))


# ---- one network, one example ----


def init(rng):
    """The first weights of one network."""
    return {
        "W1": rng.normal(0, 1.5, HIDDEN),
        "b1": rng.normal(0, 2.0, HIDDEN),
        "W2": rng.normal(0, (HIDDEN / 2) ** -0.5, (HIDDEN, HIDDEN)),
        "b2": rng.normal(0, 0.1, HIDDEN),
        "W3": rng.normal(0, HIDDEN**-0.5, (HIDDEN, 2)),
        "b3": np.zeros(2),
    }


def dropout(h, rng):
    return h if rng is None else h * (rng.random(h.shape) < KEEP) / KEEP


def network(params, x, rng=None):
    """The mean and the log variance that one network predicts at one `x`."""
    h = np.sin(x * params["W1"] + params["b1"])
    h = dropout(np.tanh(h @ params["W2"] + params["b2"]), rng)
    mean, log_variance = h @ params["W3"] + params["b3"]
    return mean, log_variance


def surprise(params, x, y, rng=None):
    """The negative log likelihood of one example."""
    mean, log_variance = network(params, x, rng)
    return 0.5 * (log_variance + (y - mean) ** 2 * np.exp(-log_variance) + np.log(2 * np.pi))


def loss(params, x, y, rng=None):
    """The mean surprise of all examples, each with its own dropout."""
    examples = vmap(surprise, in_dims=(None, 0, 0, None), randomness="different")
    return np.mean(examples(params, x, y, rng))


# ---- the ensemble: one vmap more ----


def init_all(rng):
    """The first weights of all networks: every leaf has a leading axis."""
    return vmap(init, in_dims=None, axis_size=MEMBERS, randomness="different")(rng)


slopes = vmap(value_and_grad(loss), in_dims=(0, None, None, None), randomness="different")
predict = vmap(vmap(network, in_dims=(None, 0)), in_dims=(0, None))


def slopes_in_a_loop(params, x, y, rng=None):
    """`slopes`, computed one network after the other."""
    rows = []
    for i in range(MEMBERS):
        own = optree.tree_map(lambda leaf, i=i: leaf[i], params)
        rows.append(value_and_grad(loss)(own, x, y, rng))
    return optree.tree_map(lambda *leaves: np.stack(leaves), *rows)


def train(x, y, rng):
    """Train all networks at once. The optimizer is elementwise and works unchanged."""
    params = init_all(rng)
    state = optim.adam_init(params)
    with trange(STEPS, desc=f"{MEMBERS} networks", unit="step") as progress:
        for step in progress:
            values, grads = slopes(params, x, y, rng)
            params, state = optim.adam(params, grads, state, 1e-2, b2=0.99)
            if step % 50 == 0:
                progress.set_postfix(loss=f"{np.mean(values):.3f}")
    return params


def mixture(means, log_variances):
    """The mean of the ensemble, and both parts of its variance."""
    return np.mean(means, axis=0), np.mean(np.exp(log_variances), axis=0), np.var(means, axis=0)


def scores(params, x, y):
    """The mean surprise of each network at the points, and that of their mixture."""
    each = vmap(vmap(surprise, in_dims=(None, 0, 0)), in_dims=(0, None, None))(params, x, y)
    together = -np.log(np.mean(np.exp(-each), axis=0))
    return np.mean(each, axis=1), np.mean(together)


def draw(path, params, x, y):
    """Draw the predictions of each network and of all, with noise and disagreement."""
    grid = np.linspace(RANGE[0] - 1, RANGE[1] + 1, 400)
    means, log_variances = predict(params, grid)
    mean, measured, unknown = mixture(means, log_variances)
    figure = Figure(figsize=(10, 8), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True, sharey=True)
    for axes in (upper, lower):
        for i, (low, high) in enumerate(GAPS):
            axes.axvspan(low, high, color="0.93", label="no data" if i == 0 else None)
        axes.plot(grid, curve(grid), color="black", linewidth=1.5, linestyle="--", label="truth")
        axes.plot(x, y, ".", color="tab:red", markersize=6, label="data")
        axes.set_ylabel("y", fontsize=14)
        axes.tick_params(labelsize=12)
    upper.plot(grid, means.T, color="tab:blue", linewidth=0.8, alpha=0.6)
    upper.plot([], [], color="tab:blue", label=f"each of {MEMBERS} networks")
    upper.set_title(f"{MEMBERS} networks, trained at once", fontsize=16)
    lower.plot(grid, mean, color="tab:blue", linewidth=2, label="their mean")
    for deviation, alpha, label in (
        (np.sqrt(unknown + measured), 0.2, "two deviations: noise and disagreement"),
        (np.sqrt(unknown), 0.4, "two deviations: disagreement alone"),
    ):
        lower.fill_between(
            grid, mean - 2 * deviation, mean + 2 * deviation, color="tab:blue", alpha=alpha,
            linewidth=0, label=label,
        )  # fmt: skip
    lower.set_title("What they say together", fontsize=16)
    lower.set_xlabel("x", fontsize=14)
    lower.set_ylim(-4.5, 5)
    for axes in (upper, lower):
        axes.legend(fontsize=11, loc="upper left", ncols=2)
    figure.savefig(path, dpi=110)


# ---- all of it ----


def timed(f, *args, repeat=5):
    """The result of `f`, and the seconds of the fastest of several calls."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        result = f(*args)
        times.append(time.perf_counter() - start)
    return result, min(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = Path(__file__).parent / "output"
    parser.add_argument("--out", type=Path, default=default, help="where the pictures go")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)

    rng = ft.random.default_rng(SEED)
    x, y = measure(rng, POINTS)
    x_test, y_test = measure(rng, 1000)

    params = init_all(rng)
    (_, at_once), seconds = timed(slopes, params, x, y, None)
    (_, looped), loop_seconds = timed(slopes_in_a_loop, params, x, y, None)
    differences = optree.tree_map(lambda a, b: np.max(np.abs(a - b)), at_once, looped)
    difference = max(optree.tree_leaves(differences))

    params = train(x, y, rng)
    single, together = scores(params, x_test, y_test)
    grid = np.linspace(*RANGE, 500)
    unknown = np.sqrt(mixture(*predict(params, grid))[2])
    gap = in_a_gap(grid)
    draw(out / "ensemble.png", params, x, y)

    rows = [
        (f"gradients of {MEMBERS} networks, one call", f"{1e3 * seconds:.1f} ms"),
        ("    one network after the other", f"{1e3 * loop_seconds:.1f} ms"),
        ("    largest difference", f"{difference:.0e}"),
        ("surprise at new points, mean of the networks", f"{single.mean():.3f}"),
        ("    best of them", f"{single.min():.3f}"),
        ("    their ensemble", f"{together:.3f}"),
        ("disagreement where there was data", f"{np.mean(unknown[~gap]):.3f}"),
        ("    in the gaps", f"{np.mean(unknown[gap]):.3f}"),
    ]
    print()
    for name, result in rows:
        print(f"{name:48}{result:>10}")
    print(f"\npicture: {out / 'ensemble.png'}")


if __name__ == "__main__":
    main()
