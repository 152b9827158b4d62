"""Common work with arrays in NumPy: long vectors, cumulative sums, order statistics."""

from collections.abc import Callable

import numpy as np

from ..libraries import WITHOUT_VMAP, Library
from .base import Workload


class Elementwise(Workload):
    """The gradient of a sum of elementwise functions of two long vectors."""

    compiled_bound = 0.15

    def __init__(self, n: int) -> None:
        self.name = f"elementwise_1e{len(str(n)) - 1}"
        self.n = n

    def small(self) -> Workload:
        return Elementwise(1000)

    def inputs(self) -> tuple:
        return tuple(np.random.default_rng(5).normal(size=(2, self.n)))

    def function(self, lib: Library) -> Callable:
        xp = lib.np

        def loss(x, y):
            return xp.sum(xp.log(1 + xp.exp(-x * y)) + xp.sin(x) * y)

        return lib.grad(loss, (0, 1))

    @staticmethod
    def floor(x, y):
        e, s = np.exp(-x * y), np.sin(x)
        np.sum(np.log(1 + e) + s * y)
        q = e / (1 + e)
        return (np.cos(x) - q) * y, s - q * x


class Cumsum(Workload):
    """The sensitivity of 256 Asian options, each to its 250 daily returns."""

    name = "cumsum_rows_grad"

    def inputs(self) -> tuple:
        return (np.random.default_rng(10).normal(0.0002, 0.01, (256, 250)),)

    def function(self, lib: Library) -> Callable:
        def payoff(returns):
            prices = lib.np.exp(lib.np.cumsum(returns, -1))
            return lib.relu(prices.mean(-1) - 1.0)

        return lib.row_gradients(payoff)

    @staticmethod
    def floor(returns):
        prices = np.exp(np.cumsum(returns, -1))
        gain = prices.mean(-1) - 1.0
        np.maximum(gain, 0.0)
        g = np.where(gain > 0, 1 / returns.shape[-1], 0.0)[:, None] * prices
        return np.cumsum(g[:, ::-1], -1)[:, ::-1]


class Sort(Workload):
    """The gradient of a weighted mean of order statistics, for each of 256 samples."""

    name = "sort_rows_grad"
    without = ("autograd", "mygrad")  # a gradient of sort for vectors only; no sort

    def inputs(self) -> tuple:
        rng = np.random.default_rng(11)
        return (rng.normal(size=(256, 100)),)

    weights = np.linspace(-1, 1, 100) ** 2

    def function(self, lib: Library) -> Callable:
        weights = lib.array(self.weights)

        def mean(x):
            ordered = lib.np.sort(x)
            values = ordered if lib.np.__name__ != "torch" else ordered.values
            return (values * weights).sum(-1)

        return lib.row_gradients(mean)

    def floor(self, x):
        order = np.argsort(x, -1)
        (np.take_along_axis(x, order, -1) * self.weights).sum(-1)
        g = np.empty_like(x)
        np.put_along_axis(g, order, np.broadcast_to(self.weights, x.shape), -1)
        return g


class Median(Workload):
    """Each of 1000 samples by its median and its median deviation."""

    name = "median_vmap"
    without = WITHOUT_VMAP

    def inputs(self) -> tuple:
        return (np.random.default_rng(12).normal(size=(1000, 101)),)  # odd: torch takes the lower

    def function(self, lib: Library) -> Callable:
        median = lib.np.median

        def standardize(x):
            centred = x - median(x)
            return centred / median(abs(centred))

        return lib.vmap(standardize)

    @staticmethod
    def floor(x):
        middle = slice(x.shape[-1] // 2, x.shape[-1] // 2 + 1)
        centred = x - np.partition(x, middle.start, -1)[:, middle]
        return centred / np.partition(abs(centred), middle.start, -1)[:, middle]


class Convolution(Workload):
    """The gradient of a convolution of an image, by its windows as strides."""

    name = "windows_grad"

    def inputs(self) -> tuple:
        rng = np.random.default_rng(14)
        return rng.normal(size=(128, 128)), rng.normal(size=(5, 5))

    def function(self, lib: Library) -> Callable:
        def loss(x, w):
            found = lib.np.einsum("ijpq,pq->ij", lib.windows(x, len(w)), w)
            return lib.np.sum(lib.np.tanh(found))

        return lib.grad(loss, (0, 1))

    @staticmethod
    def floor(x, w):
        windows = np.lib.stride_tricks.sliding_window_view(x, w.shape)
        y = np.tanh(np.einsum("ijpq,pq->ij", windows, w))
        y.sum()
        g = 1 - y * y
        gx, (n, m) = np.zeros_like(x), g.shape
        for p, q in np.ndindex(w.shape):
            gx[p : p + n, q : q + m] += w[p, q] * g
        return gx, np.einsum("ijpq,ij->pq", windows, g)


class Diagonal(Workload):
    """The gradient of a matrix and a sum over its diagonal, in a loop over its elements."""

    name = "diagonal_loop_grad"
    compiled_bound = 2.0

    def __init__(self, n: int = 1000) -> None:
        self.n = n

    def small(self) -> Workload:
        return Diagonal(30)

    def inputs(self) -> tuple:
        return (np.random.default_rng(15).normal(size=(self.n, self.n)),)

    def function(self, lib: Library) -> Callable:
        return lib.grad(lambda a: lib.np.sum(a + lib.sum_of_diagonal(lib.np.tanh, a)))

    @staticmethod
    def floor(a):
        y = np.tanh(np.diagonal(a))
        (a + y.sum()).sum()
        g = np.ones_like(a)
        g[np.diag_indices(len(a))] += a.size * (1 - y * y)
        return g
