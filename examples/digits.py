"""Four things to do with 1797 handwritten digits, in plain NumPy.

    python examples/digits.py [--out DIR]

(a) train a small network with `value_and_grad` and `functier.optim.adam`; the time of a step is
    compared with that of the same step after `functier.compile`;
(b) the gradient of every single training image, in one call of ``vmap(grad(loss))``;
(c) an ensemble of eight networks, trained at once by `vmap` over their parameters;
(d) Newton's method, with Hessian-vector products from `jvp` of `grad`.

The code of the model does not use functier. It is plain NumPy, written for one example and one
network. The digits come with scikit-learn.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import optree
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tqdm import tqdm, trange

import functier
from functier import grad, jvp, optim, value_and_grad, vmap

SEED = 0
CLASSES = 10
HIDDEN = 64
MEMBERS = 8
BATCH = 32
EPOCHS = 30
RIDGE = 1e-4
RATE = 3e-3


# ---- data ----


def load():
    """Images scaled to [0, 1] and one-hot labels, split into training and test sets."""
    digits = load_digits()
    labels = np.eye(CLASSES)[digits.target]
    x_train, x_test, y_train, y_test = train_test_split(
        digits.data / 16, labels, test_size=0.25, random_state=SEED, stratify=digits.target
    )
    return x_train, y_train, x_test, y_test


def batches(rng, n):
    """The indices of one epoch's mini-batches: shape (steps, BATCH)."""
    steps = n // BATCH
    return rng.permutation(n)[: steps * BATCH].reshape(steps, BATCH)


# ---- the model: plain NumPy, for one image or for an array of them ----


def init(seed):
    """The parameters of a two-layer network, a dict of arrays."""
    rng = np.random.default_rng(seed)
    return {
        "W1": rng.normal(0, 1 / 8, (64, HIDDEN)),
        "b1": np.zeros(HIDDEN),
        "W2": rng.normal(0, HIDDEN**-0.5, (HIDDEN, CLASSES)),
        "b2": np.zeros(CLASSES),
    }


def network(params, x):
    """The logits of the ten classes."""
    hidden = np.tanh(x @ params["W1"] + params["b1"])
    return hidden @ params["W2"] + params["b2"]


def log_softmax(logits):
    shifted = logits - np.max(logits, axis=-1, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=-1, keepdims=True))


def loss(params, x, y):
    """Cross-entropy, averaged over the examples."""
    return -np.mean(np.sum(y * log_softmax(network(params, x)), axis=-1))


def accuracy(logits, y):
    return np.mean(np.argmax(logits, axis=-1) == np.argmax(y, axis=-1))


# ---- (a) one network ----


def train_one(x, y):
    """Train a network on mini-batches."""
    rng = np.random.default_rng(SEED)
    params = init(SEED)
    state = optim.adam_init(params)
    step = value_and_grad(loss)
    with trange(EPOCHS, desc="(a) one network", unit="epoch") as progress:
        for _ in progress:
            for batch in batches(rng, len(x)):
                value, grads = step(params, x[batch], y[batch])
                params, state = optim.adam(params, grads, state, RATE)
            progress.set_postfix(loss=f"{value:.3f}")
    return params


def step_seconds(params, x, y, repeats=300):
    """The least time of the gradient of a mini-batch, as it is and compiled."""
    step = value_and_grad(loss)
    ways = step, functier.compile(step)
    for way in ways:  # the first call of the second one traces
        way(params, x[:BATCH], y[:BATCH])
    return [
        min(timed(way, params, x[:BATCH], y[:BATCH])[1] for _ in range(repeats)) for way in ways
    ]


# ---- (b) per-sample gradients ----


def gradient_norms(params, x, y):
    """The norm of the gradient of each example, over all parameters.

    ``in_dims=(None, 0, 0)``: one set of parameters, one image and one label at a time.
    """
    per_sample = vmap(grad(loss), in_dims=(None, 0, 0))(params, x, y)
    squares = [np.sum(g**2, axis=tuple(range(1, g.ndim))) for g in per_sample.values()]
    return np.sqrt(sum(squares))


def gradient_norms_in_a_loop(params, x, y):
    """The same, one image after the other."""
    norms = []
    for image, label in zip(tqdm(x, desc="(b) gradients in a loop", unit="image"), y):
        grads = grad(loss)(params, image, label)
        norms.append(np.sqrt(sum(np.sum(g**2) for g in grads.values())))
    return np.array(norms)


def draw_hardest(path, params, x, y, norms):
    """Draw the twelve training images with the largest gradients."""
    hardest = np.argsort(norms)[::-1][:12]
    truth = np.argmax(y[hardest], axis=-1)
    guess = np.argmax(network(params, x[hardest]), axis=-1)
    figure = Figure(figsize=(9, 8), layout="constrained")
    figure.suptitle("The twelve hardest digits of the training set", fontsize=16)
    for i, axes in enumerate(figure.subplots(3, 4).flat):
        axes.imshow(x[hardest[i]].reshape(8, 8), cmap="gray_r")
        axes.set_xticks([])
        axes.set_yticks([])
        axes.set_title(
            f"true {truth[i]}, predicted {guess[i]}\ngradient norm {norms[hardest[i]]:.2f}",
            fontsize=12,
            color="black" if truth[i] == guess[i] else "tab:red",
        )
    figure.supxlabel("Red: the network is wrong about an image it was trained on", fontsize=12)
    figure.savefig(path, dpi=120)


# ---- (c) an ensemble ----


def train_ensemble(x, y):
    """Train MEMBERS networks at once: every leaf of `params` has a leading axis.

    The essential difference from `train_one` is the line with `vmap`. The optimizer is
    elementwise and works unchanged. Each member has its own shuffling.
    """
    rngs = [np.random.default_rng(SEED + member) for member in range(MEMBERS)]
    members = [init(SEED + member) for member in range(MEMBERS)]
    params = optree.tree_map(lambda *leaves: np.stack(leaves), *members)
    state = optim.adam_init(params)
    step = vmap(value_and_grad(loss))
    with trange(EPOCHS, desc=f"(c) {MEMBERS} networks", unit="epoch") as progress:
        for _ in progress:
            shuffled = np.stack([batches(rng, len(x)) for rng in rngs], axis=1)
            for batch in shuffled:  # (MEMBERS, BATCH)
                values, grads = step(params, x[batch], y[batch])
                params, state = optim.adam(params, grads, state, RATE)
            progress.set_postfix(loss=f"{values.mean():.3f}")
    return params


def ensemble_accuracies(params, x, y):
    """The accuracy of each member, and of the mean of their probabilities."""
    logits = vmap(network, in_dims=(0, None))(params, x)
    single = [accuracy(member, y) for member in logits]
    return np.array(single), accuracy(np.mean(np.exp(log_softmax(logits)), axis=0), y)


# ---- (d) Newton's method ----


def softmax_regression(x, y, ridge=RIDGE):
    """The loss of a linear classifier, as a function of its weights alone."""

    def regression_loss(w):
        fit = np.mean(np.sum(y * log_softmax(x @ w), axis=-1))
        return 0.5 * ridge * np.sum(w * w) - fit

    return regression_loss


def with_ones(x):
    """A column of ones for the bias."""
    return np.concatenate([x, np.ones((len(x), 1))], axis=1)


def curvature_bound(x, ridge=RIDGE):
    """An upper bound of the Hessian's eigenvalues: 1 / rate is safe for gradient descent."""
    return 0.5 * np.linalg.norm(x, 2) ** 2 / len(x) + ridge


def conjugate_gradients(product, b, tolerance, limit=50):
    """Solve ``product(v) = b`` for a positive definite `product`, and count the calls."""
    v, residual = np.zeros_like(b), b
    direction, square = residual, np.sum(residual * residual)
    for count in range(1, limit + 1):  # noqa: B007 (it is returned)
        image = product(direction)
        length = square / np.sum(direction * image)
        v = v + length * direction
        residual = residual - length * image
        before, square = square, np.sum(residual * residual)
        if np.sqrt(square) <= tolerance:
            break
        direction = residual + square / before * direction
    return v, count


def newton_cg(f, w, steps=10):
    """Minimise `f`; return its values, the work (gradients and products) and the result."""
    slope = value_and_grad(f)
    values, work = [], []
    with trange(steps, desc="(d) Newton-CG", unit="step") as progress:
        for _ in progress:
            value, g = slope(w)
            values.append(value)
            work.append((work[-1] if work else 0) + 1)
            size = np.linalg.norm(g)

            def hessian_times(v, w=w):
                return jvp(grad(f), (w,), (v,))[1]

            step, products = conjugate_gradients(hessian_times, g, min(0.5, size**0.5) * size)
            work[-1] += products
            length, descent = 1.0, np.sum(g * step)
            while f(w - length * step) > value - 1e-4 * length * descent and length > 1e-8:
                length /= 2
            w = w - length * step
            progress.set_postfix(loss=f"{value:.6f}")
    return np.array([*values, f(w)]), [0, *work], w


def gradient_descent(f, w, rate, steps):
    """Minimise `f` with a fixed rate; return the values along the way."""
    slope = value_and_grad(f)
    values = []
    for _ in trange(steps, desc="(d) gradient descent", unit="step"):
        value, g = slope(w)
        values.append(value)
        w = w - rate * g
    return np.array([*values, f(w)])


def draw_losses(path, newton, work, descent):
    """Draw both methods against their work: gradients and Hessian-vector products.

    The last value of Newton's method is taken as the minimum.
    """
    best = newton.min()
    figure = Figure(figsize=(9, 5.5), layout="constrained")
    axes = figure.subplots()
    axes.semilogy(
        descent - best, color="tab:orange", linewidth=2, label="gradient descent, steps of 1 / L"
    )
    axes.semilogy(
        work[:-1], newton[:-1] - best, "o-", color="tab:blue", linewidth=2,
        label="Newton-CG (one dot a step)",
    )  # fmt: skip
    axes.set_title("Softmax regression on the digits", fontsize=16)
    axes.set_xlabel("gradients and Hessian-vector products computed", fontsize=13)
    axes.set_ylabel("training loss above its minimum", fontsize=13)
    axes.tick_params(labelsize=11)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=12)
    figure.savefig(path, dpi=120)


# ---- all of it ----


def timed(f, *args):
    """The result of `f`, and the seconds that it took."""
    start = time.perf_counter()
    return f(*args), time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = Path(__file__).parent / "output"
    parser.add_argument("--out", type=Path, default=default, help="where the pictures go")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    x_train, y_train, x_test, y_test = load()

    params = train_one(x_train, y_train)
    test = accuracy(network(params, x_test), y_test)
    plain, compiled = step_seconds(params, x_train, y_train)

    gradient_norms(params, x_train, y_train)  # the first call waits for 100 MB of fresh memory
    norms, at_once = timed(gradient_norms, params, x_train, y_train)
    same, looped = timed(gradient_norms_in_a_loop, params, x_train, y_train)
    difference = np.max(np.abs(norms - same))
    draw_hardest(out / "hardest.png", params, x_train, y_train, norms)

    members = train_ensemble(x_train, y_train)
    single, ensemble = ensemble_accuracies(members, x_test, y_test)

    x_one, x_test_one = with_ones(x_train), with_ones(x_test)
    f = softmax_regression(x_one, y_train)
    start_w = np.zeros((x_one.shape[1], CLASSES))
    newton, work, w = newton_cg(f, start_w)
    rate = 1 / curvature_bound(x_one)
    descent = gradient_descent(f, start_w, rate, steps=work[-1])
    draw_losses(out / "newton.png", newton, work, descent)

    print("\n(d) step   work   training loss")
    for i, (value, spent) in enumerate(zip(newton, work)):
        print(f"    {i:4d}  {spent:5d}   {value:.9f}")
    print(f"    gradient descent, {work[-1]} steps: {descent[-1]:.9f}")

    rows = [
        ("(a) one network, test accuracy", f"{test:.1%}"),
        ("    gradient of a mini-batch", f"{plain * 1e6:.0f} µs"),
        ("    the same, compiled", f"{compiled * 1e6:.0f} µs"),
        (f"(b) {len(norms)} per-sample gradients, one call", f"{at_once:.2f} s"),
        ("    the same in a loop", f"{looped:.2f} s"),
        ("    largest difference", f"{difference:.0e}"),
        (f"(c) {MEMBERS} networks, test accuracy, mean", f"{single.mean():.1%}"),
        ("    worst and best of them", f"{single.min():.1%}, {single.max():.1%}"),
        ("    their ensemble", f"{ensemble:.1%}"),
        ("(d) softmax regression, test accuracy", f"{accuracy(x_test_one @ w, y_test):.1%}"),
    ]
    print()
    for name, result in rows:
        print(f"{name:44}{result:>14}")
    print(f"\npictures: {out / 'hardest.png'}, {out / 'newton.png'}")


if __name__ == "__main__":
    main()
