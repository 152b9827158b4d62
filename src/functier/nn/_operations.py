"""Functions of neural networks that NumPy does not have.

Each is declared with its rules, as an outside package declares the rules of its functions. The axes
of windows are the last ones, so that batch axes need no work.
"""

from collections.abc import Callable, Sequence

import numpy as np

from .._core.numpy_facts import Shape, Value
from .._rules.axes import normalize
from .._rules.elementwise import softmax_share
from ..protocol import elementwise, linear, op, primitive

Axis = int | tuple[int, ...] | None

# ---- elementwise ----


def _sigmoid(x: Value) -> Value:
    """Return 1 / (1 + exp(-x)), where no exponential overflows."""
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1, small) / (1 + small)


def _relu(x: Value) -> Value:
    """Return max(x, 0)."""
    return np.maximum(x, 0)


sigmoid, relu = primitive(_sigmoid, plain=True), primitive(_relu, plain=True)

elementwise(sigmoid, lambda g, ans: g * (ans * (1 - ans)))
elementwise(relu, lambda g, ans: np.where(ans <= 0, 0, g))  # 0 at the kink, as PyTorch and JAX

# ---- softmax and its kin: stable, in one operation ----


def _softmax(x: Value, axis: Axis) -> Value:
    """Return exp(x) / sum(exp(x))."""
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


def _log_softmax(x: Value, axis: Axis) -> Value:
    """Return x - log(sum(exp(x)))."""
    x = x - np.max(x, axis=axis, keepdims=True)
    return x - np.log(np.sum(np.exp(x), axis=axis, keepdims=True))


@primitive
def logsumexp(x: Value, axis: Axis = None, keepdims: bool = False) -> Value:
    """Return log(sum(exp(x))); -inf for an empty sum."""
    x = x + 0.0 if x.dtype.kind in "iub" else x
    top = np.max(x, axis=axis, keepdims=True, initial=-np.inf)
    top = np.where(np.isfinite(top), top, 0)
    with np.errstate(divide="ignore"):
        total = np.log(np.sum(np.exp(x - top), axis=axis, keepdims=keepdims))
    return total + (top if keepdims else np.reshape(top, np.shape(total)))


softmax, log_softmax = primitive(_softmax, plain=True), primitive(_log_softmax, plain=True)


def _at_axes(func: Callable) -> Callable:
    """Return the batching rule of a function along axes; ``axis=None`` stands for all of them."""

    def rule(k: int, x: Value, axis: Axis = None, **params: bool) -> Value:
        ndim = x.ndim - k
        axes = tuple([i - ndim for i in normalize(axis, ndim)])  # counted from the last one
        return func(x, axis=axes[0] if len(axes) == 1 else axes, **params)

    return rule


def _share(g: Value, ans: Value, axis: Axis) -> Value:
    """The Jacobian of softmax is symmetric: one rule for both modes."""
    return ans * (g - np.sum(ans * g, axis=axis, keepdims=True))


op(softmax, "x axis", "x", vmap=_at_axes(softmax), jvp={"x": _share}, vjp={"x": _share})
op(
    log_softmax,
    "x axis",
    "x",
    vmap=_at_axes(log_softmax),
    jvp={"x": lambda t, ans, axis: t - np.sum(np.exp(ans) * t, axis=axis, keepdims=True)},
    vjp={"x": lambda g, ans, axis: g - np.exp(ans) * np.sum(g, axis=axis, keepdims=True)},
)


def _kept(g: Value, shape: Shape, axis: Axis, keepdims: bool) -> Value:
    """Return the result of a sum with the axes that are summed, of length 1."""
    whole = keepdims or not shape  # a number has no axis
    return g if whole else np.expand_dims(g, tuple(range(len(shape))) if axis is None else axis)


def _logsumexp_vjp(
    g: Value, ans: Value, x: Value, axis: Axis = None, keepdims: bool = False
) -> Value:
    """Return g softmax(x), also where the result is infinite."""
    shape = np.shape(x)
    return softmax_share(
        np.exp, _kept(g, shape, axis, keepdims), _kept(ans, shape, axis, keepdims), x
    )


def _logsumexp_jvp(
    t: Value, ans: Value, x: Value, axis: Axis = None, keepdims: bool = False
) -> Value:
    share = softmax_share(np.exp, t, _kept(ans, np.shape(x), axis, keepdims), x)
    return np.sum(share, axis=axis, keepdims=keepdims)


op(
    logsumexp,
    "x axis keepdims",
    "x",
    vmap=_at_axes(logsumexp),
    jvp={"x": _logsumexp_jvp},
    vjp={"x": _logsumexp_vjp},
)

# ---- windows over the last axes: of `size`, every `step`, with a `gap` between their elements ----


def _tap(at: Sequence[int], counts: Shape, step: Shape, gap: Shape) -> tuple:
    """Return the index of the elements at one place within all windows."""
    parts = zip(at, counts, step, gap)
    return (..., *[slice(a * g, a * g + (n - 1) * s + 1, s) for a, n, s, g in parts])


def window_counts(shape: Sequence[int], size: Shape, step: Shape, gap: Shape) -> Value:
    """Return the number of windows along each of the last axes."""
    ends = zip(shape[len(shape) - len(size) :], size, step, gap)
    return tuple([(n - (k - 1) * g - 1) // s + 1 for n, k, s, g in ends])


def taps(x: Value, size: Shape, step: Shape, gap: Shape) -> Value:
    """Return, for each place within a window, the elements of all windows there."""
    counts = window_counts(np.shape(x), size, step, gap)
    return [x[_tap(at, counts, step, gap)] for at in np.ndindex(*size)]


def _from_taps(found: Sequence[Value], size: Shape) -> Value:
    """Return windows, given their elements place by place."""
    n, shape = len(size), np.shape(found[0])
    cut = len(shape) - n
    return np.reshape(np.stack(found, axis=cut), (*shape[:cut], *size, *shape[cut:]))


def _leading(func: Callable) -> Callable:
    """Return the batching rule of a function whose batch axes may stay in front."""
    return lambda k, *args, **params: func(*args, **params)


@primitive
def windows(x: Value, size: Shape, step: Shape, gap: Shape) -> Value:
    """Return all windows, of shape ``(..., *size, *counts)``: a view of the array."""
    if not isinstance(x, np.ndarray):
        return _from_taps(taps(x, size, step, gap), size)
    cut = x.ndim - len(size)
    last = x.strides[cut:]
    return np.lib.stride_tricks.as_strided(
        x,
        (*x.shape[:cut], *size, *window_counts(x.shape, size, step, gap)),
        (
            *x.strides[:cut],
            *[n * g for n, g in zip(last, gap)],
            *[n * s for n, s in zip(last, step)],
        ),
        writeable=False,
    )


@primitive
def overlap_add(values: Value, shape: Shape, step: Shape, gap: Shape) -> Value:
    """Add windows of ``(..., *size, *counts)`` up in their places in ``(..., *shape)``."""
    n, whole = len(shape), np.shape(values)
    cut = len(whole) - 2 * n
    size, counts = whole[cut : cut + n], whole[cut + n :]
    every = (slice(None),) * n
    one = values[(..., *(0,) * n, *every)]
    out = np.zeros_like(one, shape=(*whole[:cut], *shape))  # with the memory order of the values
    for at in np.ndindex(*size):
        out[_tap(at, counts, step, gap)] += values[(..., *at, *every)]
    return out


linear(
    windows,
    "x size step gap",
    "x",
    vmap=_leading(windows),
    vjp={
        "x": lambda g, x_shape, size, step, gap: overlap_add(
            g, x_shape[len(x_shape) - len(size) :], step, gap
        )
    },
)


def _windows_of(g: Value, values_shape: Shape, step: Shape, gap: Shape) -> Value:
    n = len(step)
    cut = len(values_shape) - 2 * n
    return windows(g, values_shape[cut : cut + n], step, gap)


linear(
    overlap_add,
    "values shape step gap",
    "values",
    vmap=_leading(overlap_add),
    vjp={"values": _windows_of},
)
