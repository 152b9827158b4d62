"""A small convolutional network on 1797 handwritten digits, trained with Adam.

    python examples/convolutional_digits.py [--out DIR]

The network is a module of `functier.nn` and a pytree. `value_and_grad` takes it and returns a
module of gradients, which `functier.optim.adam` takes. The network has an axis for the batch;
``vmap`` of the network with `in_dims` would work, too. The picture shows test images that the
network gets wrong, and its first filters.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tqdm import trange

from functier import grad, nn, optim, value_and_grad, vmap
from functier.nn import functional as F

SEED = 0
BATCH = 32
EPOCHS = 18


class Network(nn.Module):
    """Two convolutions and a linear layer, for images of 8 by 8."""

    def __init__(self, filters=16, generator=None):
        super().__init__()
        self.first = nn.Conv2d(1, filters, 3, padding=1, generator=generator)
        self.second = nn.Conv2d(filters, 2 * filters, 3, padding=1, generator=generator)
        self.dropout = nn.Dropout(0.3, generator=generator)
        self.last = nn.Linear(2 * filters * 4, 10, generator=generator)

    def forward(self, images):
        x = F.max_pool2d(F.relu(self.first(images)), 2)
        x = F.max_pool2d(F.relu(self.second(x)), 2)
        x = x.reshape(*x.shape[:-3], -1)
        return self.last(self.dropout(x))


def load():
    """Images of shape (n, 1, 8, 8) scaled to [0, 1] and their digits, to train and to test."""
    digits = load_digits()
    images = digits.images[:, None] / 16
    return train_test_split(
        images, digits.target, test_size=0.25, random_state=SEED, stratify=digits.target
    )


def loss(network, images, digits):
    return F.cross_entropy(network(images), digits, label_smoothing=0.05)


def train(network, images, digits, epochs=EPOCHS, rate=4e-3):
    """Return the network after training on mini-batches, with a rate that falls to zero."""
    rng = np.random.default_rng(SEED)
    state, step = optim.adam_init(network), value_and_grad(loss)
    steps = len(images) // BATCH
    with trange(epochs, desc="training", unit="epoch") as progress:
        for epoch in progress:
            for i, batch in enumerate(
                rng.permutation(len(images))[: steps * BATCH].reshape(-1, BATCH)
            ):
                now = rate * (1 + np.cos(np.pi * (epoch + i / steps) / epochs)) / 2
                value, grads = step(network, images[batch], digits[batch])
                network, state = optim.adam(network, grads, state, now)
            progress.set_postfix(loss=f"{value:.3f}")
    return network


def guesses(network, images):
    """The most probable digit of each image, and its probability."""
    chances = F.softmax(network(images), -1)
    return np.argmax(chances, -1), np.max(chances, -1)


def saliency(network, images, digits):
    """The size of the derivative of the loss of each image with respect to its pixels."""
    one = lambda image, digit: loss(network, image, digit)  # noqa: E731
    return np.abs(vmap(grad(one))(images, digits))


def draw(path, network, images, digits):
    """Draw up to six wrong test images with their derivatives, and the first filters."""
    guess, chance = guesses(network, images)
    wrong = np.flatnonzero(guess != digits)
    wrong = wrong[np.argsort(-chance[wrong])][:6]
    looks = saliency(network, images[wrong], digits[wrong])
    figure = Figure(figsize=(9, 7), layout="constrained")
    upper, lower = figure.subfigures(2, 1, height_ratios=[2, 1.3])
    upper.suptitle(
        f"Mistakes in {len(images)} test images, the surest first; below, what sways it",
        fontsize=14,
    )
    for i, pair in enumerate(upper.subplots(2, 6, squeeze=False).T):
        for axes in pair:
            axes.axis("off")
        if i < len(wrong):
            pair[0].imshow(images[wrong[i], 0], cmap="gray_r")
            pair[1].imshow(looks[i, 0], cmap="magma")
            at = wrong[i]
            pair[0].set_title(f"a {digits[at]}, seen as {guess[at]}\n({chance[at]:.0%} sure)")
    filters = np.asarray(network.first.weight)[:, 0]
    lower.suptitle("The first filters (blue: negative, red: positive)", fontsize=14)
    top = np.abs(filters).max()
    for axes, filter in zip(lower.subplots(2, -(-len(filters) // 2)).flat, filters):
        axes.imshow(filter, cmap="RdBu_r", vmin=-top, vmax=top)
        axes.axis("off")
    figure.savefig(path, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = Path(__file__).parent / "output"
    parser.add_argument("--out", type=Path, default=default, help="where the picture goes")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    train_images, test_images, train_digits, test_digits = load()
    nn.manual_seed(SEED)
    network = Network()
    print(network)
    print(f"{sum(p.size for p in network.parameters())} parameters")

    start = time.perf_counter()
    network = train(network, train_images, train_digits).eval()
    seconds = time.perf_counter() - start

    right = guesses(network, test_images)[0] == test_digits
    picture = out / "convolutional_digits.png"
    draw(picture, network, test_images, test_digits)
    print(f"\ntest accuracy  {right.mean():.1%} ({np.count_nonzero(~right)} mistakes)")
    print(f"trained in     {seconds:.1f} s")
    print(f"\npicture: {picture}")


if __name__ == "__main__":
    main()
