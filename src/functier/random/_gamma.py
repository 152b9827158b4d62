"""Gamma draws that are differentiated by their shape, and draws made of these.

NOTE [a draw follows its distribution]
    NumPy draws gamma numbers by rejection, whose steps change with the shape `a`, so the
    number itself has no derivative. But a number `z` that keeps its place in the distribution,
    ``P(a, z)`` with the distribution function ``P``, has one:
    ``dz/da = -(dP/da) / p``, and expectations have the derivatives of such numbers (implicit
    reparameterization; Figurnov, Mohamed & Mnih, "Implicit reparameterization gradients",
    2018). See NOTE [velocities].
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import DTypeLike

from .._core.errors import NoRuleError
from .._core.numpy_facts import Value, shape_of
from .._core.rule import unchanged
from .._rules.constructors import elementwise, primitive
from .._rules.velocities import gamma_velocity
from .._transforms.stop_gradient import stop_gradient
from ._sampling import (
    Draw,
    Size,
    Source,
    as_shape,
    batch_levels,
    find_derivative_level,
    freeze,
    sample,
)


@primitive
def follow(z: Value, a: Value) -> Value:
    """Return standard gamma numbers `z`, which keep their place in that of shape `a`."""
    return z


elementwise(follow, unchanged, lambda g, ans, a: g * gamma_velocity(ans, a), params="z a")


# ---- NumPy's methods that are made of gamma numbers ----


def draw_gammas(
    source: Source, name: str, a: Value, size: Size = None, dtype: DTypeLike = np.float64,
    near: tuple = (),
) -> Value:  # fmt: skip
    """Draw standard gamma numbers of shape `a`, differentiated with respect to it."""
    draw = Draw(name, lambda stream, a, size: stream.standard_gamma(a, size, dtype))
    z = sample(source, draw, (stop_gradient(a),), size, near=near)
    return follow(np.float64(z) if type(z) is float else z, a)


def gamma(source: Source, size: Size, shape: Value, scale: Value) -> Value:
    if np.any(freeze(scale, batch_levels((shape, scale), "gamma")) < 0):
        raise ValueError("scale < 0")  # as NumPy says it
    size = _joint_shape(size, shape, scale)
    return scale * draw_gammas(source, "gamma", shape, size, near=(scale,))


def chisquare(source: Source, size: Size, df: Value) -> Value:
    return 2.0 * draw_gammas(source, "chisquare", df / 2.0, size)


def f(source: Source, size: Size, dfnum: Value, dfden: Value) -> Value:
    over, under = _draw_pairs(source, "f", size, dfnum / 2.0, dfden / 2.0)
    return (over * dfden) / (under * dfnum)


def beta(source: Source, size: Size, a: Value, b: Value) -> Value:
    levels = batch_levels((a, b), "beta")
    if np.any((freeze(a, levels) <= 1) & (freeze(b, levels) <= 1)):
        level = find_derivative_level((a, b))
        raise NoRuleError(
            f"{level}: the numbers of rng.beta(a, b) have no derivative where "
            f"a <= 1 and b <= 1, since NumPy draws these by rejection; write "
            f"x, y = rng.standard_gamma(a), rng.standard_gamma(b), and x / (x + y)"
        )
    x, y = _draw_pairs(source, "beta", size, a, b)
    return x / (x + y)


def dirichlet(source: Source, size: Size, alpha: Value) -> Value:
    if np.any(np.max(freeze(alpha, batch_levels((alpha,), "dirichlet")), axis=-1) < 0.1):
        level = find_derivative_level((alpha,))
        raise NoRuleError(
            f"{level}: the numbers of rng.dirichlet(alpha) have no derivative "
            f"where all of alpha is is_below 0.1, since NumPy draws these by rejection; write "
            f"x = rng.standard_gamma(alpha), and x / numpy.sum(x)"
        )
    x = draw_gammas(source, "dirichlet", alpha, (*as_shape(size), *shape_of(alpha)))
    return x / np.sum(x, axis=-1, keepdims=True)


MADE_OF_GAMMAS: dict[str, Callable] = {
    "beta": beta,
    "chisquare": chisquare,
    "dirichlet": dirichlet,
    "f": f,
    "gamma": gamma,
}
"""By method, how NumPy makes its numbers of gamma numbers: these are NumPy's, up to rounding."""


def _draw_pairs(source: Source, name: str, size: Size, a: Value, b: Value) -> tuple[Value, Value]:
    """Draw two gamma numbers for each number, in NumPy's order: one after the other."""
    shape = _joint_shape(size, a, b)
    both = np.stack([np.broadcast_to(a, shape), np.broadcast_to(b, shape)], axis=-1)
    z = draw_gammas(source, name, both, (*shape, 2))
    return z[..., 0], z[..., 1]


def _joint_shape(size: Size, *operands: Value) -> tuple[int, ...]:
    shape = np.broadcast_shapes(*[shape_of(x) for x in operands])
    return shape if size is None else as_shape(size)
