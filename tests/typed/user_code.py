# pyright: standard
"""Typed code of a user, which mypy and pyright check, and which a test runs."""

from typing import Any, NamedTuple, assert_type

import numpy as np
import numpy.typing as npt

import functier as ft
from functier import custom_vjp, grad, hessian, jvp, nn, value_and_grad, vjp, vmap

Array = npt.NDArray[np.float64]
XS: Array = np.arange(6.0).reshape(2, 3)


def loss(w: Array, x: Array) -> np.float64:
    total: np.float64 = np.sum(np.tanh(x * w))
    return total


# ---- transforms keep the parameters of the function ----

slope: Array = grad(loss)(XS[0], XS[1])
slopes: Array = vmap(grad(loss), in_dims=(None, 0))(XS[0], XS)
value, by_w = value_and_grad(loss)(XS[0], XS[1])
by_both, same = ft.grad_and_value(loss, argnums=(0, 1))(XS[0], XS[1])
assert_type(value, np.float64)
assert_type(same, np.float64)
both: tuple[Array, Array] = by_both
curvature: Array = hessian(loss)(XS[0], XS[1])
rows: Array = ft.jacrev(np.sin, chunk_size=2)(XS[0])


def loss_with_aux(w: Array) -> tuple[np.float64, dict[str, Array]]:
    return np.sum(w * w), {"w": w}


(total, aux), step = value_and_grad(loss_with_aux, has_aux=True)(XS[0])
assert_type(total, np.float64)
assert_type(aux, dict[str, Array])

out, pullback = vjp(np.sin, XS[0])
(back,) = pullback(np.ones(3))
out2, pullback2, more = vjp(loss_with_aux, XS[0], has_aux=True)
primal, tangent = jvp(np.sin, (XS[0],), (np.ones(3),))
_, push = ft.linearize(np.sin, XS[0])
pushed: Array = push(np.ones(3))
product = ft.hvp(lambda w: np.sum(w**3), (XS[0],), (XS[1],))[1]


# ---- decorators, with options and without ----


@vmap
def scaled(x: Array) -> Array:
    return 2 * x


@vmap(in_dims=1, out_dims=1)
def columns(x: Array) -> Array:
    return x - np.mean(x)


@vmap(in_dims=0, chunk_size=1)
def parts(x: Array) -> Array:
    return x


@grad(argnums=1)
def by_second(a: float, b: float) -> float:
    return a * b * b


@value_and_grad(has_aux=False)
def paired(a: float) -> float:
    return a * a


assert_type(scaled(XS), Array)
assert_type(columns(XS), Array)
assert_type(parts(XS), Array)
number: float = by_second(2.0, 3.0)
pair: tuple[float, Any] = paired(2.0)


# ---- levels in blocks ----

with vmap() as B:
    x = B(XS)
    batch: Array = B.unwrap(np.sin(x) * x[0] + 1)
with grad() as G:
    y = G(XS[0])
    in_block: Array = G.gradient(np.sum(y * y), y)
with jvp() as J:
    z = J(XS[0], np.ones(3))
    primal2, tangent2 = J.unwrap(z @ z)


# ---- tensors: operators, methods, properties, items, NumPy's functions ----


def operations(x: ft.Tensor) -> ft.Tensor:
    y = (2 * x + 1 - x / 3) ** 2 // 1 % 5
    y = -y @ y.T + abs(x) * +x
    y = (y > 0.5) & (y <= 2) | ~(y == 1)
    y = 1 - y * 1.0
    y += x
    y[0] = x[0, ...]
    shape, size = x.shape, x.size * x.ndim
    y = y.sum(axis=0, keepdims=True) + x.mean() + x.reshape(shape).ravel().max()
    y = y.astype(np.float32) + x.transpose().swapaxes(0, 1).std() + np.sin(x).sum()
    rows = [row.copy() for row in x]
    assert len(rows) == shape[0] and size and x.dtype.kind == "f" and bool((x == x).all())
    z: ft.Tensor = y.squeeze()
    return z + x.real.cumsum().clip(0, 1).take([0]) * float(x.T[0, 0])


done = operations(ft.Tensor(np.ones((2, 2))))
plain = ft.unwrap(done)


class Logged(ft.Tensor):
    """A subclass with a hook."""

    @classmethod
    def __tensor_function__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        return super().__tensor_function__(func, types, args, kwargs)


logged = Logged([1.0, 2.0]) * 2


# ---- rules of users ----


@custom_vjp
def clipped(x: Array) -> Array:
    return np.clip(x, -1, 1)


def forward(x: Array) -> tuple[Array, tuple[Array]]:
    return clipped(x), (x,)


def backward(kept: tuple[Array], g: Array) -> tuple[Array]:
    return (g * kept[0],)


clipped.defvjp(forward, backward)
ruled: Array = grad(lambda x: np.sum(clipped(x)))(XS[0])


@custom_vjp(nondiff_argnums=(1,))
def powered(x: Array, n: int) -> Array:
    return x**n


powered.defvjp(lambda n, x: (powered(x, n), x), lambda n, x, g: (g * n * x ** (n - 1),))


@ft.custom_jvp
def doubled(x: Array) -> Array:
    return 2 * x


doubled.defjvps(lambda t, ans, x: 2 * t)


class Sine(ft.Function):
    """A rule as a class."""

    @staticmethod
    def forward(ctx: Any, x: Array) -> Array:
        ctx.save_for_backward(x)
        return np.sin(x)

    @staticmethod
    def backward(ctx: Any, g: Array) -> Array:
        x: Array = ctx.saved_tensors[0]
        return g * np.cos(x)


applied: Array = Sine.apply(XS)


# ---- pytrees, models, control flow, programs, debuggers ----


class Params(NamedTuple):
    """Parameters of a model."""

    w: Array
    b: float


tree: Params = grad(lambda p: np.sum(p.w * p.b))(Params(XS[0], 2.0))


class Net(nn.Module):
    """A model."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 2)
        self.cell = nn.Linear(2, 4)

    def forward(self, x: Array) -> Array:
        found: Array = self.cell(nn.functional.softmax(self.layer(x), axis=-1))
        return found


net = Net()
gradient: Net = grad(lambda m, x: np.sum(m(x)))(net, XS)
params, buffers = ft.stack_module_state([net, Net()])
carry, ys = ft.scan(lambda c, x: (c + x, c), np.zeros(3), XS)
branch = ft.cond(True, lambda x: x, lambda x: -x, XS)
again: Array = ft.compile(grad(loss), backend="numpy")(XS[0], XS[1])


@ft.compile
def program(x: Array) -> Array:
    return x * 2


@ft.checkpoint
def expensive(x: Array) -> Array:
    return np.sin(x)


with ft.debug.debug_nans(), ft.no_grad():
    picture: str = str(ft.debug.show_levels(grad(loss), XS[0], XS[1]))


@ft.debug.full_tracebacks()
def traced(x: Array) -> Array:
    return expensive(program(x))


rng = ft.random.default_rng(0)
draws: Array = vmap(lambda x: x + rng.normal(size=3), randomness="different")(XS)
finished: Array = traced(XS)
