"""Learning to learn: a network that fits a new sine wave after one step on ten points.

    python examples/maml.py [--out DIR]

Model-agnostic meta-learning (Finn, Abbeel & Levine, 2017). A task is a sine wave of unknown
amplitude and phase, of which the network sees ten points. Training makes the network good at
other points after one step of gradient descent on these ten. So the training is a `grad` through
the `grad` of that step, and `vmap` does it for a batch of tasks at once. For comparison, the same
network is trained on all tasks in the ordinary way, and then takes the same steps.

Everything is written for one task, in plain NumPy; ``vmap(..., randomness="different")``
draws a batch of tasks.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import optree
from matplotlib.figure import Figure
from tqdm import trange

import functier as ft
from functier import grad, optim, value_and_grad, vmap

SEED = 0
SHOTS = 10
TASKS = 25
HIDDEN = 40
RATE = 0.02
STEPS = 800
LATER = [0, 1, 2, 5, 10]
WIDTH = 5.0


# ---- one task ----


def wave(amplitude, phase, x):
    return amplitude * np.sin(x - phase)


def draw_task(rng):
    """Seen points and unseen points of one sine wave."""
    amplitude, phase = rng.uniform(0.5, 5.0), rng.uniform(0, np.pi)
    x = rng.uniform(-WIDTH, WIDTH, 2 * SHOTS)
    y = wave(amplitude, phase, x)
    return x[:SHOTS], y[:SHOTS], x[SHOTS:], y[SHOTS:]


def draw_tasks(rng, n):
    """`n` tasks: each array has a leading axis."""
    return vmap(draw_task, in_dims=None, axis_size=n, randomness="different")(rng)


def init(rng):
    return {
        "W1": rng.normal(0, 1.0, HIDDEN),
        "b1": rng.normal(0, 1.0, HIDDEN),
        "W2": rng.normal(0, HIDDEN**-0.5, (HIDDEN, HIDDEN)),
        "b2": np.zeros(HIDDEN),
        "w3": rng.normal(0, HIDDEN**-0.5, HIDDEN),
        "b3": np.zeros(()),
    }


def network(params, x):
    """The prediction of the network at the points `x`."""
    h = np.tanh(x[:, None] * params["W1"] + params["b1"])
    h = np.tanh(h @ params["W2"] + params["b2"])
    return h @ params["w3"] + params["b3"]


def loss(params, x, y):
    return np.mean((network(params, x) - y) ** 2)


def step(params, x, y):
    """One step of gradient descent on the seen points."""
    slope = grad(loss)(params, x, y)
    return optree.tree_map(lambda p, g: p - RATE * g, params, slope)


def adapted_loss(params, x, y, x_asked, y_asked):
    """The loss at the unseen points, after one step on the seen ones."""
    return loss(step(params, x, y), x_asked, y_asked)


def plain_loss(params, x, y, x_asked, y_asked):
    """The loss at all points, without a step."""
    return loss(params, np.concatenate([x, x_asked]), np.concatenate([y, y_asked]))


# ---- all tasks ----


def over_tasks(f):
    """The mean of a function of one task over a batch of them."""
    return lambda params, tasks: np.mean(vmap(f, in_dims=(None, 0, 0, 0, 0))(params, *tasks))


def train(name, f):
    """Train a network to have a small ``f(params, *task)`` on average."""
    rng = ft.random.default_rng(SEED)
    params = init(rng)
    state = optim.adam_init(params)
    slope = value_and_grad(over_tasks(f))
    values = []
    with trange(STEPS, desc=name, unit="step") as progress:
        for i in progress:
            value, grads = slope(params, draw_tasks(rng, TASKS))
            params, state = optim.adam(params, grads, state, 4e-3 * (1 - i / STEPS), b2=0.99)
            values.append(value)
            if i % 100 == 99:
                progress.set_postfix(loss=f"{np.mean(values[-100:]):.3f}")
    return params


def losses_after_steps(params, tasks):
    """The mean loss at the unseen points, after each number of steps."""

    def losses(x, y, x_asked, y_asked):
        own, found = params, []
        for _ in range(LATER[-1] + 1):
            found.append(loss(own, x_asked, y_asked))
            own = step(own, x, y)
        return np.stack(found)

    return np.mean(vmap(losses)(*tasks), axis=0)


def slopes_in_a_loop(params, tasks):
    """The gradient of the mean adapted loss, one task after the other."""
    rows = [grad(adapted_loss)(params, *task) for task in zip(*tasks)]
    return optree.tree_map(lambda *leaves: np.mean(np.stack(leaves), axis=0), *rows)


def timed(f, *args, repeat=5):
    """The result of `f`, and the seconds of the fastest of several calls."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        result = f(*args)
        times.append(time.perf_counter() - start)
    return result, min(times)


def draw(path, meta, plain, rng):
    """Draw two new waves, ten points of each, and both networks before and after steps."""
    grid = np.linspace(-WIDTH, WIDTH, 300)
    figure = Figure(figsize=(12, 8), layout="constrained")
    panels = figure.subplots(2, 2, sharex=True, sharey=True)
    for row, (amplitude, phase) in zip(panels, [(4.0, 0.4), (2.0, 2.4)]):
        x = rng.uniform(-WIDTH, WIDTH, SHOTS)
        y = wave(amplitude, phase, x)
        for axes, params in zip(row, (meta, plain)):
            axes.plot(grid, wave(amplitude, phase, grid), "--", color="black", label="truth")
            for i in range(LATER[-1] + 1):
                if i in (0, 1, LATER[-1]):
                    axes.plot(
                        grid, network(params, grid), linewidth=2.5,
                        color={0: "0.65", 1: "tab:orange"}.get(i, "tab:blue"),
                        label={0: "before", 1: "after 1 step"}.get(i, f"after {i} steps"),
                    )  # fmt: skip
                params = step(params, x, y)
            axes.plot(x, y, "o", color="tab:red", markersize=8, label="the ten points seen")
            axes.tick_params(labelsize=12)
            axes.grid(alpha=0.3)
    for axes, title in zip(panels[0], ("MAML", "trained on all tasks")):
        axes.set_title(title, fontsize=16)
    for axes, number in zip(panels[:, 0], ("first", "second")):
        axes.set_ylabel(f"y of the {number} wave", fontsize=14)
    for axes in panels[-1]:
        axes.set_xlabel("x", fontsize=14)
    panels[0, 0].legend(fontsize=12, loc="lower left", ncols=2)
    panels[0, 0].set_ylim(-7.5, 5.5)
    figure.savefig(path, dpi=100)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = Path(__file__).parent / "output"
    parser.add_argument("--out", type=Path, default=default, help="where the pictures go")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    rng = ft.random.default_rng(SEED + 1)

    first, tasks = init(rng), draw_tasks(rng, TASKS)
    at_once, seconds = timed(grad(over_tasks(adapted_loss)), first, tasks)
    looped, loop_seconds = timed(slopes_in_a_loop, first, tasks)
    differences = optree.tree_map(lambda a, b: np.max(np.abs(a - b)), at_once, looped)
    difference = max(optree.tree_leaves(differences))

    meta = train("MAML", adapted_loss)
    plain = train("all tasks", plain_loss)
    new = draw_tasks(rng, 1000)
    meta_losses, plain_losses = losses_after_steps(meta, new), losses_after_steps(plain, new)
    draw(out / "maml.png", meta, plain, rng)

    print(f"\ngradient through a step, {TASKS} tasks, one call   {1e3 * seconds:8.1f} ms")
    print(f"    one task after the other                  {1e3 * loop_seconds:8.1f} ms")
    print(f"    largest difference                        {difference:8.0e}")
    print(f"\nloss at new points of {len(new[0])} new waves, after n steps on ten points each")
    print("     n       MAML   trained on all tasks")
    for n in LATER:
        print(f"    {n:2d}   {meta_losses[n]:8.3f}   {plain_losses[n]:8.3f}")
    print(f"\npicture: {out / 'maml.png'}")


if __name__ == "__main__":
    main()
