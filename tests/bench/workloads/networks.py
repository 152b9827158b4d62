"""Networks: gradients, per-sample gradients, ensembles, recurrence, attention, patches."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..libraries import WITHOUT_VMAP, Library
from ..trees import Labels
from .base import Workload


def make_labels(rng: np.random.Generator, classes: int, batch: int) -> Labels:
    index = rng.integers(0, classes, batch)
    return Labels(index, np.eye(classes)[index])


def cross_entropy_by_hand(logits, hot):
    """The mean loss, and the gradient of each row's own loss."""
    z = logits - logits.max(-1, keepdims=True)
    e = np.exp(z)
    total = e.sum(-1, keepdims=True)
    return -(hot * (z - np.log(total))).sum(-1).mean(-1), e / total - hot


# ---- perceptrons ----


class Perceptron(Workload):
    """The base of the workloads on perceptrons: ``W0, b0, W1, b1, ...``, tanh between."""

    sizes: tuple[int, ...] = (32, 64, 10)
    batch = 32
    models: tuple[int, ...] = ()

    def inputs(self) -> tuple:
        rng, params = np.random.default_rng(1), {}
        for i, (m, n) in enumerate(zip(self.sizes, self.sizes[1:])):
            params[f"W{i}"] = rng.normal(0, m**-0.5, (*self.models, m, n))
            params[f"b{i}"] = rng.normal(0, 0.1, (*self.models, n))
        labels = make_labels(rng, self.sizes[-1], self.batch)
        return params, rng.normal(size=(self.batch, self.sizes[0])), labels

    @staticmethod
    def network(lib: Library, params: dict, x: Any) -> Any:
        last = len(params) // 2 - 1
        for i in range(last):
            x = lib.np.tanh(lib.linear(x, params[f"W{i}"], params[f"b{i}"]))
        return lib.linear(x, params[f"W{last}"], params[f"b{last}"])

    def gradient(self, lib: Library) -> Callable:
        return lib.grad(lambda p, x, y: lib.cross_entropy(self.network(lib, p, x), y))

    @staticmethod
    def by_hand(params, x, labels, per_sample=False):
        """Leading axes of the parameters are models; `per_sample` keeps the batch axis."""
        n, hidden, g = len(params) // 2, [x], {}
        W = [params[f"W{i}"] for i in range(n)]
        b = [params[f"b{i}"][..., None, :] for i in range(n)]
        for i in range(n - 1):
            hidden.append(np.tanh(hidden[i] @ W[i] + b[i]))
        _, d = cross_entropy_by_hand(hidden[-1] @ W[-1] + b[-1], labels.hot)
        if not per_sample:
            d /= len(x)
        for i in reversed(range(n)):
            if per_sample:
                g[f"W{i}"], g[f"b{i}"] = hidden[i][:, :, None] * d[:, None, :], d
            else:
                g[f"W{i}"], g[f"b{i}"] = hidden[i].swapaxes(-1, -2) @ d, d.sum(-2)
            if i:
                d = (d @ W[i].swapaxes(-1, -2)) * (1 - hidden[i] * hidden[i])
        return g


class PerceptronGrad(Perceptron):
    """The gradient of a network's loss for a batch of examples."""

    floor = staticmethod(Perceptron.by_hand)

    def __init__(self, name: str, sizes: tuple[int, ...], batch: int) -> None:
        self.name = f"grad_{name}_mlp"
        self.sizes, self.batch = sizes, batch

    def small(self) -> Workload:
        return PerceptronGrad("small", (16, 16, 16, 10), 8)

    def function(self, lib: Library) -> Callable:
        return self.gradient(lib)


class PerSampleGrads(Perceptron):
    """A gradient for each example, as in differential privacy."""

    name = "per_sample_grads"
    sizes, batch = (64, 64, 10), 128

    def function(self, lib: Library) -> Callable:
        return lib.vmap(self.gradient(lib), (None, 0, 0))

    def floor(self, params, x, labels):
        return self.by_hand(params, x, labels, per_sample=True)


class EnsembleForward(Perceptron):
    """16 networks on the same batch."""

    name = "ensemble_fwd"
    models = (16,)
    without = WITHOUT_VMAP

    def inputs(self) -> tuple:
        return super().inputs()[:2]

    def function(self, lib: Library) -> Callable:
        return lib.vmap(lambda p, x: self.network(lib, p, x), (0, None))

    @staticmethod
    def floor(params, x):
        for i in range(last := len(params) // 2 - 1):
            x = np.tanh(x @ params[f"W{i}"] + params[f"b{i}"][:, None])
        return x @ params[f"W{last}"] + params[f"b{last}"][:, None]


class EnsembleGrad(Perceptron):
    """The gradients of 16 networks on the same batch."""

    name = "ensemble_grad"
    models = (16,)
    floor = staticmethod(Perceptron.by_hand)

    def function(self, lib: Library) -> Callable:
        return lib.vmap(self.gradient(lib), (0, None, None))


# ---- recurrence, cross entropy by index ----


class Recurrent(Workload):
    """The gradient through 200 steps of a recurrent network."""

    name = "rnn_loop"
    steps = 200
    start = np.zeros((16, 64))

    def small(self) -> Workload:
        small = Recurrent()
        small.steps = 5
        return small

    def inputs(self) -> tuple:
        rng = np.random.default_rng(6)
        Wh, Wx = rng.normal(0, 0.12, (64, 64)), rng.normal(0, 0.3, (16, 64))
        params = {"Wh": Wh, "Wx": Wx, "b": rng.normal(0, 0.1, 64)}
        return params, rng.normal(size=(self.steps, 16, 16))

    def loop(self, lib: Library) -> Callable:
        return lib.loop

    def function(self, lib: Library) -> Callable:
        start = lib.array(self.start)

        def loss(params, xs):
            def step(h, x):
                return lib.np.tanh(h @ params["Wh"] + x @ params["Wx"] + params["b"])

            return (self.loop(lib)(step, start, xs) ** 2).mean()

        return lib.grad(loss)

    def floor(self, params, xs):
        Wh, Wx, b, states = params["Wh"], params["Wx"], params["b"], [self.start]
        for x in xs:
            states.append(np.tanh(states[-1] @ Wh + x @ Wx + b))
        (states[-1] ** 2).mean()
        d = 2 * states[-1] / self.start.size
        gh, gx, gb = np.zeros_like(Wh), np.zeros_like(Wx), np.zeros_like(b)
        for x, before, after in zip(xs[::-1], states[-2::-1], states[:0:-1]):
            a = d * (1 - after * after)
            gh += before.T @ a
            gx += x.T @ a
            gb += a.sum(0)
            d = a @ Wh.T
        return {"Wh": gh, "Wx": gx, "b": gb}


class CrossEntropyByIndex(Workload):
    """A softmax regression that picks each row's class by an index, in two spellings."""

    def __init__(self, form: str) -> None:
        self.name = f"xent_{form}"
        self.form = form
        if form == "take_along":
            self.without = ("autograd", "mygrad")  # they have no gradient of it

    def inputs(self) -> tuple:
        rng = np.random.default_rng(7)
        W, X = rng.normal(0, 0.1, (64, 100)), rng.normal(size=(128, 64))
        return W, X, rng.integers(0, 100, 128)

    def function(self, lib: Library) -> Callable:
        rows = lib.array(np.arange(128))

        def loss(W, X, y):
            z = lib.log_softmax(X @ W)
            picked = z[rows, y] if self.form == "fancy" else lib.take_along_axis(z, y[:, None])
            return -lib.np.mean(picked)

        return lib.grad(loss)

    hot = np.eye(100)

    def floor(self, W, X, y):
        _, d = cross_entropy_by_hand(X @ W, self.hot[y])
        return X.T @ (d / len(X))


# ---- attention, patches ----


class Attention(Workload):
    """The gradient of one transformer block: four heads, a residual, a two-layer network."""

    name = "attention_grad"
    heads, width, positions, batch = 4, 64, 32, 4

    def inputs(self) -> tuple:
        rng, w = np.random.default_rng(9), self.width
        shapes = {"Q": (w, w), "K": (w, w), "V": (w, w), "O": (w, w)}
        shapes |= {"W1": (w, 2 * w), "W2": (2 * w, w)}
        params = {k: rng.normal(0, shape[0] ** -0.5, shape) for k, shape in shapes.items()}
        return params, rng.normal(size=(self.batch, self.positions, w))

    def function(self, lib: Library) -> Callable:
        split = (self.batch, self.positions, self.heads, self.width // self.heads)

        def loss(p, x):
            q, k, v = ((x @ p[name]).reshape(split) for name in "QKV")
            h = x + lib.attention(q, k, v).reshape(x.shape) @ p["O"]
            return ((h + lib.relu(h @ p["W1"]) @ p["W2"]) ** 2).mean()

        return lib.grad(loss)

    def floor(self, p, x):
        batch, n, width = x.shape
        features = width // self.heads

        def split(t):
            return t.reshape(batch, n, self.heads, features).swapaxes(1, 2)

        def join(t):
            return t.swapaxes(1, 2).reshape(batch, n, width)

        def weights(inside, outside):
            return inside.reshape(batch * n, -1).T @ outside.reshape(batch * n, -1)

        q, k, v = (split(x @ p[name]) for name in "QKV")
        s = q @ k.swapaxes(2, 3) * features**-0.5
        e = np.exp(s - s.max(-1, keepdims=True))
        a = e / e.sum(-1, keepdims=True)
        mixed = join(a @ v)
        h = x + mixed @ p["O"]
        u = np.maximum(h @ p["W1"], 0.0)
        out = h + u @ p["W2"]
        (out**2).mean()

        d = 2 * out / out.size
        du = (d @ p["W2"].T) * (u > 0)
        dh = d + du @ p["W1"].T
        dmixed = split(dh @ p["O"].T)
        da = dmixed @ v.swapaxes(2, 3)
        ds = a * (da - (da * a).sum(-1, keepdims=True)) * features**-0.5
        dq, dk, dv = join(ds @ k), join(ds.swapaxes(2, 3) @ q), join(a.swapaxes(2, 3) @ dmixed)
        g = {"Q": weights(x, dq), "K": weights(x, dk), "V": weights(x, dv)}
        return g | {"O": weights(mixed, dh), "W1": weights(h, du), "W2": weights(u, d)}


class Patches(Workload):
    """The gradient of an image classifier: two layers over patches by einsum, then a mean."""

    name = "patches_einsum_grad"
    classes, batch = 10, 16

    def inputs(self) -> tuple:
        rng = np.random.default_rng(13)
        params = {
            "K1": rng.normal(0, 0.1, (4, 4, 3, 32)),
            "K2": rng.normal(0, 0.1, (2, 2, 32, 64)),
            "W": rng.normal(0, 0.1, (64, self.classes)),
            "b": rng.normal(0, 0.1, self.classes),
        }
        images = rng.normal(size=(self.batch, 32, 32, 3))
        return params, images, make_labels(rng, self.classes, self.batch)

    def function(self, lib: Library) -> Callable:
        def layer(x, K):
            n, rows, columns, channels = x.shape
            p, q = K.shape[:2]
            patches = x.reshape(n, rows // p, p, columns // q, q, channels)
            return lib.relu(lib.np.einsum("nipjqc,pqcf->nijf", patches, K))

        def loss(params, images, labels):
            x = layer(layer(images, params["K1"]), params["K2"])
            features = x.reshape(self.batch, 16, 64).mean(1)
            return lib.cross_entropy(lib.linear(features, params["W"], params["b"]), labels)

        return lib.grad(loss)

    @staticmethod
    def floor(params, images, labels):
        def to_patches(x, p):
            n, rows, columns, c = x.shape
            x = x.reshape(n, rows // p, p, columns // p, p, c).swapaxes(2, 3)
            return x.reshape(n * (rows // p) * (columns // p), p * p * c)

        def from_patches(x, p, shape):
            n, rows, columns, c = shape
            x = x.reshape(n, rows // p, columns // p, p, p, c).swapaxes(2, 3)
            return x.reshape(shape)

        n, (K1, K2) = len(images), (params["K1"], params["K2"])
        in1, M1, M2 = to_patches(images, 4), K1.reshape(-1, 32), K2.reshape(-1, 64)
        x1 = np.maximum(in1 @ M1, 0.0)
        in2 = to_patches(x1.reshape(n, 8, 8, 32), 2)
        x2 = np.maximum(in2 @ M2, 0.0)
        features = x2.reshape(n, 16, 64).mean(1)
        _, d = cross_entropy_by_hand(features @ params["W"] + params["b"], labels.hot)

        d /= n
        d2 = np.repeat(d @ params["W"].T / 16, 16, axis=0) * (x2 > 0)
        d1 = from_patches(d2 @ M2.T, 2, (n, 8, 8, 32)).reshape(-1, 32) * (x1 > 0)
        g1, g2 = (in1.T @ d1).reshape(K1.shape), (in2.T @ d2).reshape(K2.shape)
        return {"K1": g1, "K2": g2, "W": features.T @ d, "b": d.sum(0)}
