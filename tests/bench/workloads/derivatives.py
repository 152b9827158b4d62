"""Derivatives of every kind and order, of functions that are not networks."""

import importlib
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import scipy.integrate

from ..libraries import Library
from .base import Workload, nested


class ScalarChain(Workload):
    """Derivatives of 50 operations on a number: nothing but the tape's own cost."""

    without = ("mygrad", "torch_ag")  # they have no second derivative by nesting

    def __init__(self, order: int) -> None:
        self.name = f"grad_scalar_chain_{order}"
        self.order = order
        if order == 1:
            self.without, self.floor = (), self.gradient

    def inputs(self) -> tuple:
        return (0.3,)

    def function(self, lib: Library) -> Callable:
        xp = lib.np

        def f(x):
            y = x
            for _ in range(10):
                y = xp.tanh(xp.exp(xp.sin(y)) * 0.5 - x)
            return y

        return nested(lib.grad, f, self.order)

    @staticmethod
    def gradient(x):
        y, saved = np.complex128(x) if isinstance(x, complex) else np.float64(x), []
        for _ in range(10):
            e = np.exp(np.sin(y))
            t = np.tanh(e * 0.5 - x)
            saved.append((y, e, t))
            y = t
        g, gx = 1.0, 0.0
        for y, e, t in reversed(saved):
            a = g * (1.0 - t * t)
            gx = gx - a
            g = a * 0.5 * e * np.cos(y)
        return gx + g

    def expected(self) -> Any:
        """Higher orders by an imaginary step, which loses no digits, and a central difference."""
        x, step = self.inputs()[0], 1e-5
        if self.order == 1:
            return self.gradient(x)

        def second(x):
            return self.gradient(x + 1e-200j).imag / 1e-200

        if self.order == 2:
            return second(x)
        return (second(x + step) - second(x - step)) / (2 * step)


class Jacobian(Workload):
    """The Jacobian of ``tanh(W @ x)``, all 50 (co)tangents at once by either mode."""

    def __init__(self, mode: str) -> None:
        self.name = f"{mode}_50"
        self.mode = mode

    def inputs(self) -> tuple:
        rng = np.random.default_rng(2)
        return rng.normal(0, 0.2, (50, 50)), rng.normal(size=50)

    def function(self, lib: Library) -> Callable:
        jacobian = getattr(lib, self.mode)
        return lambda W, x: jacobian(lambda x: lib.np.tanh(W @ x))(x)

    identity = np.eye(50)

    def floor(self, W, x):
        y = np.tanh(W @ x)
        if self.mode == "jacrev":
            return (self.identity * (1 - y * y)) @ W
        return ((self.identity @ W.T) * (1 - y * y)).T


class Hessian(Workload):
    """The Hessian of Rosenbrock's function, forward over reverse."""

    def __init__(self, n: int) -> None:
        self.name = f"hessian_{n}"
        self.n = n

    def inputs(self) -> tuple:
        return (np.linspace(-0.9, 1.1, self.n),)

    def function(self, lib: Library) -> Callable:
        def rosenbrock(x):
            return (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2).sum()

        return lib.hessian(rosenbrock)

    @staticmethod
    def floor(x):
        n, a, u = len(x), x[:-1], x[1:] - x[:-1] ** 2
        tangents, rows = np.eye(n), np.zeros((n, n))
        da = tangents[:, :-1]
        du = tangents[:, 1:] - 2 * a * da
        rows[:, :-1] += -400 * (da * u + a * du) + 2 * da
        rows[:, 1:] += 200 * du
        return rows


class HessianVectorProduct(Workload):
    """A Hessian-vector product of a logistic regression, for Newton's method."""

    name = "hvp_logreg"

    def inputs(self) -> tuple:
        rng = np.random.default_rng(4)
        X, sign = rng.normal(size=(1000, 100)), np.sign(rng.normal(size=1000))
        return X, sign, rng.normal(0, 0.1, 100), rng.normal(size=100)

    def function(self, lib: Library) -> Callable:
        def product(X, sign, w, v):
            def loss(w):
                return lib.np.mean(lib.softplus(-sign * (X @ w)))

            return lib.jvp(lib.grad(loss), (w,), (v,))

        return product

    @staticmethod
    def floor(X, sign, w, v):
        e = np.exp(-sign * (X @ w))
        np.log1p(e).mean()  # the loss, as every library computes it too
        s = e / (1 + e)
        curvature = s * (1 - s) / len(sign)
        return (-sign * s / len(sign)) @ X, (curvature * (X @ v)) @ X


class Linalg(Workload):
    """The gradient of a Gaussian's log density, by ``slogdet`` and ``solve``."""

    without = ("mygrad",)  # it has no linalg

    def __init__(self, batch: int | None = None) -> None:
        self.name = f"linalg_spd50_vmap{batch}" if batch else "linalg_spd50"
        self.lead = (batch,) if batch else ()

    def inputs(self) -> tuple:
        rng = np.random.default_rng(8)
        M, b = rng.normal(size=(*self.lead, 50, 50)), rng.normal(size=(*self.lead, 50))
        return M @ M.swapaxes(-1, -2) / 50 + np.eye(50), b

    def function(self, lib: Library) -> Callable:
        linalg = lib.np.linalg

        def density(A, b):
            return linalg.slogdet(A)[1] + b @ linalg.solve(A, b)

        def densities(A, b):
            solved = linalg.solve(A, b[..., None])[..., 0]
            return lib.np.sum(linalg.slogdet(A)[1]) + lib.np.sum(b * solved)

        if not self.lead:
            return lib.grad(density, (0, 1))
        if lib.name == "autograd":  # no vmap, but rules that take matrices in stacks
            return lib.grad(densities, (0, 1))
        return lib.vmap(lib.grad(density, (0, 1)), (0, 0))

    @staticmethod
    def floor(A, b):
        inverse = np.linalg.inv(A)
        right = (inverse @ b[..., None])[..., 0]
        left = (b[..., None, :] @ inverse)[..., 0, :]
        np.linalg.slogdet(A)[1] + (b * right).sum(-1)
        return inverse.swapaxes(-1, -2) - left[..., :, None] * right[..., None, :], right + left


class GaussianProcess(Workload):
    """The gradient of the evidence of a Gaussian process, by Cholesky factors of 200 rows."""

    name = "gaussian_process_grad"
    without = ("mygrad",)  # it has no linalg

    def __init__(self, n: int = 200) -> None:
        self.n = n

    def inputs(self) -> tuple:
        rng = np.random.default_rng(16)
        points, y = rng.normal(size=(self.n, 3)), rng.normal(size=self.n)
        return np.array([0.1, -0.3, -1.0]), points, y, np.eye(self.n)

    def function(self, lib: Library) -> Callable:
        xp = lib.np

        def evidence(p, points, y, identity):
            scale, length, noise = xp.exp(p[0]), xp.exp(-2 * p[1]), xp.exp(p[2])
            far = ((points[:, None] - points) ** 2).sum(-1)
            K = scale * xp.exp(-0.5 * far * length) + noise * identity
            L = xp.linalg.cholesky(K)
            return 0.5 * (y @ xp.linalg.solve(K, y)) + xp.sum(xp.log(xp.diagonal(L)))

        return lib.grad(evidence)

    @staticmethod
    def floor(p, points, y, identity):
        scale, length, noise = np.exp(p[0]), np.exp(-2 * p[1]), np.exp(p[2])
        far = ((points[:, None] - points) ** 2).sum(-1)
        covariance = scale * np.exp(-0.5 * far * length)
        K = covariance + noise * identity
        L = np.linalg.cholesky(K)
        inverse = np.linalg.inv(K)
        a = inverse @ y
        0.5 * (y @ a) + np.sum(np.log(np.diagonal(L)))
        G = 0.5 * (inverse - np.outer(a, a))
        kept = G * covariance
        return np.array([kept.sum(), (kept * far).sum() * length, np.trace(G) * noise])


class Equation(Workload):
    """The gradient of van der Pol's equation by its two parameters, solved by SciPy's RK45."""

    name = "solve_ivp_grad"
    without = (
        "functier_np", "functier_c", "torch", "torch_ag", "torch_compile", "jax", "jax_jit",
        "autograd", "mygrad",
    )  # fmt: skip
    """None of these differentiates SciPy's solver, and a program cannot follow it."""
    options: ClassVar[dict] = {"method": "RK45", "t_eval": [10.0], "rtol": 1e-8, "atol": 1e-8}

    def inputs(self) -> tuple:
        return (np.array([1.0, 1.1]),)

    def function(self, lib: Library) -> Callable:
        integrate = importlib.import_module("functier.scipy.integrate")

        def last(p):
            def slope(t, y):
                return np.stack([y[1], p[0] * (1 - y[0] ** 2) * y[1] - p[1] * y[0]])

            return np.sum(integrate.solve_ivp(slope, (0, 10), [2.0, 0.0], **self.options).y)

        return lib.grad(last)

    def call(self, lib: Library) -> Callable[[], Any]:
        args, f = lib.convert(self.inputs()), self.function(lib)
        return lambda: f(*args)

    @staticmethod
    def floor(p):
        def slope(t, v):
            x, y, *rest = v
            by_x, by_y = -2 * p[0] * x * y - p[1], p[0] * (1 - x * x)
            own = (1 - x * x) * y, -x
            found = [y, by_y * y - p[1] * x]
            for k in range(2):
                dx, dy = rest[2 * k : 2 * k + 2]
                found += [dy, by_x * dx + by_y * dy + own[k]]
            return np.array(found)

        start = np.array([2.0, 0.0, 0.0, 0.0, 0.0, 0.0])
        v = scipy.integrate.solve_ivp(slope, (0, 10), start, **Equation.options).y[:, 0]
        return np.array([v[2] + v[3], v[4] + v[5]])
