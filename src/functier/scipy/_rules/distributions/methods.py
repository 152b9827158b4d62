"""The methods of SciPy's distributions, as operations.

NOTE [two derivatives of a distribution]
    A value is SciPy's own. Derivatives come from two facts about the standard form of a
    continuous distribution (`loc` 0 and `scale` 1), which the table `CONTINUOUS` has for each
    of its parameters: the *score*, the derivative of ``logpdf(y)``; and the *velocity*, the
    derivative of the quantile ``ppf(q)`` at the place `y`. That of ``cdf`` is minus density
    times velocity. A discrete distribution has scores, and slopes of ``pmf`` and ``cdf``, in
    `DISCRETE`. The rules call the methods, so that the derivatives are differentiated again.

NOTE [outside of the support]
    There a derivative is 0, and it is NaN where a parameter is bad, as the value is. Formulas
    see a place inside the support instead, so that nothing of theirs matters. On the boundary
    of the support they see the next place inside.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import stats  # type: ignore[import-untyped]

from ...._core.errors import NoRuleError
from ...._core.numpy_facts import Value, align
from ....protocol import op, primitive

Which = str | int
"""The operand of a derivative: ``"x"``, ``"loc"``, ``"scale"``, or the position of a parameter."""


class Continuous(NamedTuple):
    """The facts of a continuous distribution, functions of a place and the parameters."""

    score: Callable
    """The derivative of ``logpdf`` with respect to the place."""
    scores: tuple[Callable | None, ...] = ()
    """Those by the parameters."""
    velocities: tuple[Callable | None, ...] = ()
    """The derivatives of ``ppf`` with respect to the parameters."""


class Discrete(NamedTuple):
    """The facts of a discrete distribution for each parameter; None for an integer."""

    scores: tuple[Callable | None, ...]
    """The derivatives of ``logpmf``, functions of the number and the parameters."""
    masses: tuple[Callable | None, ...] = ()
    """The derivatives of ``pmf`` where the score may be infinite, so a product would fail."""
    slopes: tuple[Callable | None, ...] = ()
    """The derivatives of ``cdf``."""


CONTINUOUS: dict[str, Continuous] = {}
DISCRETE: dict[str, Discrete] = {}
CALLS: dict[tuple[bool, str], Callable] = {}
"""The methods as functions that dispatch: ``CALLS[is_discrete, "cdf"](dist, x, ...)``."""

PIECEWISE = {(True, "ppf"), (True, "isf")}
"""The methods whose values change in steps."""


def is_discrete(dist: Any) -> bool:
    return isinstance(dist, stats.rv_discrete)


def call(dist: Any, method: str, x: Value, args: Any, *place: Value) -> Value:
    """Call a method of a distribution; `place` is its ``loc``, or ``loc`` and ``scale``."""
    return CALLS[is_discrete(dist), method](dist, x, *args, *place)


def standard(name: str, method: str) -> Callable:
    """Return a method of a distribution in standard form, as a function that dispatches."""
    dist = getattr(stats, name)
    place = (0.0,) if is_discrete(dist) else (0.0, 1.0)
    return lambda x, *args: call(dist, method, x, args, *place)


# ---- the support ----


@primitive
def region(dist: Any, x: Value, loc: Value, scale: Value, *args: Value) -> Value:
    """Return 1 in the support, 0 outside and NaN for bad parameters; and the way to go inside.

    They are along a last axis. A formula takes the place ``(x - loc) / scale``, or 0 outside,
    plus the second number.
    """
    with np.errstate(all="ignore"):
        args = tuple(map(np.asarray, args))
        y = np.asarray((x - loc) / scale)
        low, high = dist._get_support(*args)
        valid = dist._argcheck(*args) & (scale > 0) & (y == y)
        inside = valid & (low <= y) & (y <= high) & np.isfinite(y)
        first = np.where(np.equal(low, 0), 1e-200, np.nextafter(low, high))
        last = np.where(np.equal(high, 0), -1e-200, np.nextafter(high, low))
        middle = np.where(np.isfinite(low), low + 1.0, np.where(np.isfinite(high), high - 1.0, 0.5))
        middle = np.where(np.isfinite(low) & np.isfinite(high), low + (high - low) / 2, middle)
        if is_discrete(dist):
            first, last, middle = low, high, np.where(np.isfinite(low), low, 0.0)
        shift = np.where(inside, np.clip(y, first, last) - y, middle)
        gain = np.where(inside, 1.0, np.where(valid, 0.0, np.nan))
    return np.stack(np.broadcast_arrays(gain, shift), axis=-1)


op(
    region,
    "dist x loc scale args",
    "x loc scale args",
    variadic="args",
    bind=lambda dist, x, loc, scale, *args: {
        "dist": dist, "x": x, "loc": loc, "scale": scale, "args": list(args),
    },
    kernel=lambda x, loc, scale, args=(), dist=None: region(dist, x, loc, scale, *args),
    vmap=lambda k, x, loc, scale, args=(), dist=None: region(
        dist, *align(k, (x, loc, scale, *args))
    ),
    constant=True,
    family="constant",
)  # fmt: skip


@primitive
def known_moment(dist: Any, kind: str, *args: Value) -> Value:
    """Return SciPy's mean, variance or entropy of a distribution."""
    return getattr(type(dist).original, kind)(dist, *args)


op(
    known_moment,
    "dist kind args",
    "args",
    variadic="args",
    bind=lambda dist, kind, *args: {"dist": dist, "kind": kind, "args": list(args)},
    kernel=lambda args, dist=None, kind="": known_moment(dist, kind, *args),
    vmap=lambda k, args, dist=None, kind="": known_moment(dist, kind, *align(k, args)),
    constant=True,
    family="constant",
)


class Point:
    """A place in a distribution: what the formulas of a derivative are computed from."""

    def __init__(self, dist: Any, x: Value, args: Any, loc: Value, scale: Value = 1.0):
        state = region(dist, x, loc, scale, *args)
        one = np.float64(1.0)  # Python's numbers raise where NumPy's divide by zero
        self.dist, self.args, self.scale = dist, [a * one for a in args], scale * one
        self.gain, shift = state[..., 0], state[..., 1]
        self.inside = np.equal(self.gain, 1)
        y = x if is_discrete(dist) else (x - loc) / scale
        self.y = np.where(self.inside, y, 0.0) + shift

    def value(self, facts: Any, kind: str, which: Which, method: str) -> Value:
        """Compute a fact of the distribution here."""
        table = getattr(facts, kind, ())
        rule = table if callable(table) else None
        if isinstance(which, int):
            rule = table[which] if which < len(table) else None
        if rule is None:
            raise no_rule(self.dist, method, which)
        return rule(self.y, *self.args)

    def method(self, name: str) -> Value:
        """Call a method of the distribution in standard form."""
        place = (0.0,) if is_discrete(self.dist) else (0.0, 1.0)
        return call(self.dist, name, self.y, self.args, *place)


def no_rule(dist: Any, method: str, which: Which) -> NoRuleError:
    name = which
    if isinstance(which, int):
        name = [s.strip() for s in dist.shapes.split(",")][which]
    return NoRuleError(
        f"scipy.stats.{dist.name}.{method} has no derivative rule for its argument {name!r}; write "
        f"g = functier.finite_difference(lambda x: scipy.stats.{dist.name}.{method}(...)) and "
        f"g(x), or the formula of the distribution with functions of NumPy and scipy.special, or "
        f"keep that argument free of the variables that are differentiated"
    )


# ---- continuous distributions ----


def log_slope(at: Point, method: str, which: Which) -> Value:
    """Differentiate ``logpdf``."""
    facts = CONTINUOUS.get(at.dist.name)
    if isinstance(which, int):
        return at.value(facts, "scores", which, method)
    score = at.value(facts, "score", which, method)
    if which == "scale":
        return -(1 + at.y * score) / at.scale
    return (score if which == "x" else -score) / at.scale


def velocity(at: Point, method: str, which: Which) -> Value:
    """Differentiate the quantile at a place, by all but `x`."""
    if which == "loc":
        return 1.0
    if which == "scale":
        return at.y
    return at.scale * at.value(CONTINUOUS.get(at.dist.name), "velocities", which, method)


def flow(at: Point, method: str, which: Which) -> Value:
    """Differentiate ``cdf``, by the density."""
    return 1.0 if which == "x" else -velocity(at, method, which)


def density_rule(method: str, which: Which, ans: Value, at: Point) -> Value:
    slope = log_slope(at, method, which)
    return slope if method == "logpdf" else at.method("pdf") / at.scale * slope


def cumulative_rule(method: str, which: Which, ans: Value, at: Point) -> Value:
    slope = flow(at, method, which) / at.scale
    slope = slope if method.endswith("cdf") else -slope
    if not method.startswith("log"):
        return at.method("pdf") * slope
    return np.exp(np.where(at.inside, at.method("logpdf") - ans, 0.0)) * slope


def continuous_rule(method: str, which: str) -> tuple:
    """Return the rule of a method for an operand."""
    slope_of = density_rule if method in ("pdf", "logpdf") else cumulative_rule

    def rule(
        g: Value, index: int, ans: Value, x: Value, args: Any, loc: Value, scale: Value, dist: Any
    ) -> Value:
        with np.errstate(all="ignore"):
            at = Point(dist, x, args, loc, scale)
            slope = slope_of(method, index if which == "args" else which, ans, at)
            return g * (at.gain * slope)

    return rule, "index", "ans", "x", "args", "loc", "scale", "dist"


def quantile_rule(method: str, which: str) -> tuple:
    """Return the rule of ``ppf`` or ``isf`` for an operand."""

    def by_probability(
        g: Value, ans: Value, args: Any, loc: Value, scale: Value, dist: Any
    ) -> Value:  # fmt: skip
        with np.errstate(all="ignore"):
            density = call(dist, "pdf", ans, args, loc, scale)
            return g * ((1.0 if method == "ppf" else -1.0) / (density * np.float64(1.0)))

    def by_parameter(
        g: Value, index: int, ans: Value, args: Any, loc: Value, scale: Value, dist: Any
    ) -> Value:
        with np.errstate(all="ignore"):
            at = Point(dist, ans, args, loc, scale)
            return g * (at.gain * velocity(at, method, index if which == "args" else which))

    if which == "x":
        return by_probability, "ans", "args", "loc", "scale", "dist"
    return by_parameter, "index", "ans", "args", "loc", "scale", "dist"


# ---- discrete distributions ----


def mass_rule(method: str, which: int, ans: Value, at: Point) -> Value:
    facts = DISCRETE.get(at.dist.name)
    if method == "logpmf":
        return at.value(facts, "scores", which, method)
    if facts and facts.masses and facts.masses[which]:
        return at.value(facts, "masses", which, method)
    return at.method("pmf") * at.value(facts, "scores", which, method)


def step_rule(method: str, which: int, ans: Value, at: Point) -> Value:
    slope = at.value(DISCRETE.get(at.dist.name), "slopes", which, method)
    slope = slope if method.endswith("cdf") else -slope
    return slope * np.exp(np.where(at.inside, -ans, 0.0)) if method.startswith("log") else slope


def discrete_rule(method: str) -> tuple:
    """Return the rule of a method for a parameter."""
    is_mass = method.endswith("pmf")

    def rule(
        g: Value, index: int, ans: Value, x: Value, args: Any, loc: Value, dist: Any
    ) -> Value:  # fmt: skip
        with np.errstate(all="ignore"):
            at = Point(dist, x - loc if is_mass else np.floor(x - loc), args, 0.0)
            slope = (mass_rule if is_mass else step_rule)(method, index, ans, at)
            gain = at.gain * np.equal(at.y, np.floor(at.y)) if is_mass else at.gain
            return g * (gain * slope)

    return rule, "index", "ans", "x", "args", "loc", "dist"


# ---- the declarations ----


def declare_method(base: type, method: str) -> None:
    """Declare a method of `rv_continuous` or `rv_discrete`."""
    func: Any = getattr(base, method)
    discrete = base is stats.rv_discrete
    names = ("loc",) if discrete else ("loc", "scale")

    def bind(dist: Any, x: Value, *rest: Value) -> dict:
        at = len(rest) - len(names)
        return {"dist": dist, "x": x, "args": list(rest[:at]), **dict(zip(names, rest[at:]))}

    method_of = primitive(lambda dist, x, *rest: func(dist, x, *rest))
    method_of.__module__, method_of.__name__ = "scipy.stats", method
    method_of.__qualname__, method_of.__doc__ = f"{base.__name__}.{method}", func.__doc__
    CALLS.update({(discrete, method): method_of})

    def kernel(x: Value, args: Any, *place: Value, dist: Any = None) -> Value:
        return method_of(dist, x, *args, *place)

    def batched(k: int, x: Value, args: Any, *place: Value, dist: Any = None) -> Value:
        return method_of(dist, *align(k, (x, *args, *place)))

    rules: dict[str, tuple] = {}
    if not discrete:
        rule_of = quantile_rule if method in ("ppf", "isf") else continuous_rule
        rules = {n: rule_of(method, n) for n in ("x", "args", *names)}
    elif (True, method) not in PIECEWISE:
        rules = {"args": discrete_rule(method)}
    arrays = ("x", "args", *names)
    op(
        method_of, " ".join((*arrays, "dist")), " ".join(arrays), variadic="args", bind=bind,
        kernel=kernel, vmap=batched, jvp=rules, vjp=rules, family="elementwise",
        constant=(discrete, method) in PIECEWISE,
    )  # fmt: skip


SHARED = ("cdf", "logcdf", "sf", "logsf", "ppf", "isf")
METHODS: dict[type, tuple[str, ...]] = {
    stats.rv_continuous: ("pdf", "logpdf", *SHARED),
    stats.rv_discrete: ("pmf", "logpmf", *SHARED),
}
"""The methods that are operations, by the class that has them."""

for _base, _methods in METHODS.items():
    for _method in _methods:
        declare_method(_base, _method)
