"""Twins of the distributions of `scipy.stats` of one variable.

NOTE [the twin of a distribution]
    A twin is an instance of a subclass of SciPy's class, with the state of SciPy's object.
    So all else is SciPy's: `rvs`, `fit`, `expect`, and what the methods give for plain numbers.
    With tensors the methods in `METHODS` are operations, and others are made of these. A frozen
    distribution holds a twin, and calls its methods.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats  # type: ignore[import-untyped]

from .. import numpy as fnp
from .._core.ambient import AMBIENT
from .._core.errors import UnsupportedError
from .._core.numpy_facts import Value
from .._core.root import classes_in
from .._core.tensor import Tensor
from .._transforms.stop_gradient import stop_gradient
from ..numpy._functions import make_new_writable
from ._dispatching import dispatching
from ._rules.distributions import moments
from ._rules.distributions.methods import CALLS, METHODS, known_moment, region

TWINS: list[tuple[Any, Any]] = []
STEPS = {"cdf", "logcdf", "sf", "logsf"}
"""The methods that change in steps where a number is discrete."""
REFUSED = {
    "expect": "the sum or integral itself, by the density",
    "fit": "-numpy.sum(dist.logpdf(data, ...)), and minimize it",
    "fit_loc_scale": "the mean and the standard deviation of the data",
    "moment": "dist.mean, dist.var, or the formula of the moment",
    "nnlf": "-numpy.sum(dist.logpdf(data, ...))",
    "rvs": "the same draw with a generator of functier.random",
}
"""The methods that do not take tensors, and what to write instead."""


def as_numbers(x: Any, name: str) -> Value:
    """Return an operand as SciPy takes it: in double precision."""
    x = fnp.asarray(x) if classes_in(x) else np.asarray(x)[()]
    if x.dtype.kind not in "biuf":
        raise UnsupportedError(f"{name} takes real numbers; it got {x.dtype}")
    return x if x.dtype == np.float64 else np.astype(x, np.float64)


def parse(dist: Any, args: tuple, kwargs: dict, name: str) -> tuple[list[Value], list[Value]]:
    """Split parameters into shapes, and `loc` and `scale`, of which discrete ones have the first"""
    shapes, loc, scale = dist._parse_args(*args, **kwargs)
    place = [loc] if isinstance(dist, stats.rv_discrete) else [loc, scale]
    return [as_numbers(v, name) for v in shapes], [as_numbers(v, name) for v in place]


def takes_tensors(method: Callable, original: Callable) -> Callable:
    """Return `method`, which calls the one of SciPy where no tensor is given."""

    @functools.wraps(original)
    def chosen(self: Any, *args: Any, **kwargs: Any) -> Any:
        if AMBIENT.get() is Tensor:
            return original(self, *args, **kwargs)
        if not classes_in(*args, *kwargs.values()):
            return make_new_writable(original(self, *args, **kwargs), (args, kwargs))
        return method(self, *args, **kwargs)

    return chosen


def located(name: str) -> Callable:
    def method(self: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        path = f"scipy.stats.{self.name}.{name}"
        shapes, place = parse(self, args, kwargs, path)
        discrete, x = isinstance(self, stats.rv_discrete), as_numbers(x, path)
        if discrete and name in STEPS:  # so the place has the derivative 0
            x, place = np.floor(x - place[0]), [0.0]
        return dispatching(CALLS[discrete, name])(self, x, *shapes, *place)

    return method


def refused(name: str) -> Callable:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise UnsupportedError(
            f"scipy.stats.{self.name}.{name} does not take tensors; write {REFUSED[name]}"
        )

    return method


def standard_moment(dist: Any, kind: str, shapes: list[Value]) -> Value:
    """Compute the mean, variance or entropy of a distribution in standard form by its formula."""
    if not classes_in(*shapes):
        return getattr(type(dist).original, kind)(dist, *shapes)
    table = moments.DISCRETE if isinstance(dist, stats.rv_discrete) else moments.CONTINUOUS
    formula = getattr(table.get(dist.name), kind, None)
    if formula is None:
        raise UnsupportedError(
            f"scipy.stats.{dist.name}.{kind} does not take tensors as the parameters "
            f"{dist.shapes!r}; write its formula with functions of NumPy and scipy.special"
        )
    return formula(*[x * np.float64(1.0) for x in shapes])


def moment(dist: Any, kind: str, args: tuple, kwargs: dict) -> Value:
    """Return SciPy's mean, variance or entropy, with the slope of its formula."""
    shapes, place = parse(dist, args, kwargs, f"scipy.stats.{dist.name}.{kind}")
    known = known_moment(dist, kind, *shapes, *place)
    scale = place[1] * np.float64(1.0) if len(place) > 1 else np.float64(1.0)
    with np.errstate(all="ignore"):
        value = standard_moment(dist, kind, shapes)
        if kind == "mean":
            value = value * scale + place[0]
        elif kind == "var":
            value = value * scale * scale
        else:
            value = value + np.log(scale)
        finite = np.logical_and(np.isfinite(value), np.isfinite(known))
        return np.where(finite, value + (known - stop_gradient(value)), known)


class Made:
    """The methods of a twin that are made of others."""

    name: str
    ppf: Callable
    _parse_args: Callable
    _parse_args_stats: Callable
    _get_support: Callable

    def mean(self, *args: Any, **kwargs: Any) -> Any:
        return moment(self, "mean", args, kwargs)

    def var(self, *args: Any, **kwargs: Any) -> Any:
        return moment(self, "var", args, kwargs)

    def std(self, *args: Any, **kwargs: Any) -> Any:
        return np.sqrt(moment(self, "var", args, kwargs))

    def entropy(self, *args: Any, **kwargs: Any) -> Any:
        return moment(self, "entropy", args, kwargs)

    def stats(self, *args: Any, **kwargs: Any) -> Any:
        shapes, loc, scale, wanted = self._parse_args_stats(*args, **kwargs)
        if set(wanted) - set("mv"):
            raise UnsupportedError(
                f"scipy.stats.{self.name}.stats takes tensors for the moments 'm' and 'v' only; "
                f"write the formulas of the others"
            )
        given = (
            {"loc": loc} if isinstance(self, stats.rv_discrete) else {"loc": loc, "scale": scale}
        )
        found = [moment(self, k, shapes, given) for k in ("mean", "var") if k[0] in wanted]
        return found[0] if len(found) == 1 else tuple(found)

    def median(self, *args: Any, **kwargs: Any) -> Any:
        return self.ppf(0.5, *args, **kwargs)

    def interval(self, confidence: Any, *args: Any, **kwargs: Any) -> Any:
        alpha = as_numbers(confidence, f"scipy.stats.{self.name}.interval")
        if np.any((alpha > 1) | (alpha < 0)):
            raise ValueError("alpha must be between 0 and 1 inclusive")
        ends = (1.0 - alpha) / 2, (1.0 + alpha) / 2
        return tuple(self.ppf(q, *args, **kwargs) for q in ends)

    def support(self, *args: Any, **kwargs: Any) -> Any:
        shapes, place = parse(self, args, kwargs, f"scipy.stats.{self.name}.support")
        loc, scale = place[0], place[1] if len(place) > 1 else 1.0
        bad = np.isnan(region(self, loc, loc, scale, *shapes)[..., 0])
        return tuple(np.where(bad, np.nan, x * scale + loc) for x in self._get_support(*shapes))

    def freeze(self, *args: Any, **kwargs: Any) -> Any:
        base = DISCRETE if isinstance(self, stats.rv_discrete) else CONTINUOUS
        frozen = object.__new__(base)
        frozen.args, frozen.kwds, frozen.dist = args, kwargs, self
        self._parse_args(*args, **kwargs)  # it raises where these are not the parameters
        return frozen


class Frozen:
    """A distribution frozen with tensors, whose ends are tensors too."""

    dist: Any
    args: tuple
    kwds: dict

    @property
    def a(self) -> Any:
        return self.dist._get_support(*self.dist._parse_args(*self.args, **self.kwds)[0])[0]

    @property
    def b(self) -> Any:
        return self.dist._get_support(*self.dist._parse_args(*self.args, **self.kwds)[0])[1]


def frozen_class(original: type) -> Any:
    return type(original.__name__, (Frozen, original), {"__module__": "functier.scipy.stats"})


CONTINUOUS = frozen_class(type(stats.norm()))
DISCRETE = frozen_class(type(stats.poisson(1.0)))


def find_twin(name: str) -> Any:
    """Return the twin of the distribution of a name, by which it is pickled."""
    return BY_NAME[name]


def reduce(twin: Any) -> tuple:
    return find_twin, (twin.name,)


@functools.cache
def twin_class(original: type) -> Any:
    """Return the class of the twins of the instances of a class of SciPy."""
    base = stats.rv_discrete if issubclass(original, stats.rv_discrete) else stats.rv_continuous
    methods: dict[str, Any] = {name: located(name) for name in METHODS[base]}
    methods |= {name: refused(name) for name in REFUSED if hasattr(original, name)}
    methods |= {name: value for name, value in vars(Made).items() if name[0] != "_"}
    members: dict[str, Any] = {
        n: takes_tensors(m, getattr(original, n)) for n, m in methods.items()
    }
    members["__call__"] = members["freeze"]
    members |= {"__reduce__": reduce, "__doc__": original.__doc__}
    named = {"__module__": "functier.scipy.stats", "original": original}
    return type(original.__name__, (original,), {**members, **named})


def make_twin(original: Any) -> Any:
    """Return the twin of a distribution of SciPy."""
    made: Any = twin_class
    twin = object.__new__(made(type(original)))
    twin.__dict__ = original.__dict__
    return twin


OWN_METHODS = {"levy_stable", "poisson_binom"}
"""Distributions whose classes have other methods than `rv_continuous` and `rv_discrete`."""

for _original in list(vars(stats).values()):
    if isinstance(_original, (stats.rv_continuous, stats.rv_discrete)):
        if _original.name not in OWN_METHODS:
            TWINS.append((_original, make_twin(_original)))

BY_NAME = {twin.name: twin for _, twin in TWINS}
