"""The classes of SciPy's results, and the probabilities of test statistics."""

import functools
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as special  # type: ignore[import-untyped]
from scipy import stats

from ...._core.types import Value
from ...axes import is_known_false

ALTERNATIVES = ("less", "greater", "two-sided")


class ClassFact:
    """A fact about a class that its instances do not show.

    The fields of a named tuple say how to build another one, but some results have more.
    """

    def __init__(self, value: Any):
        self.value = value

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is not None:
            raise AttributeError("_fields")
        return self.value


def with_attributes(cls: Any, more: str) -> Any:
    """Return a subclass of a class of results, whose instances keep the attributes `more`."""
    names = tuple(cls._fields)

    def new(cls: Any, *values: Value, **given: Value) -> Any:
        return tuple.__new__(cls, (*values, *(given[n] for n in names[len(values) :])))

    def keep(self: Any, *values: Value, **given: Value) -> None:
        self.__dict__.update({n: v for n, v in given.items() if n not in names})

    def as_dict(self: Any) -> dict:
        return {**dict(zip(names, self)), **self.__dict__}

    members = {"_fields": ClassFact(names), "__new__": new, "__init__": keep, "_asdict": as_dict}
    return _subclass(cls, members)


def _as_node(cls: Any) -> Any:
    """Return a subclass that is a named tuple for pytrees, so that it may leave a transform."""
    return _subclass(cls, {"_make": classmethod(lambda cls, values: cls(*values))})


def _subclass(cls: Any, members: dict[str, Any]) -> Any:
    return type(
        cls.__name__, (cls,), {"__module__": cls.__module__, "__doc__": cls.__doc__} | members
    )


@functools.cache
def result_class(module: str, name: str, fields: str = "statistic pvalue", more: str = "") -> Any:
    """Return a maker of SciPy's results, named tuples where this SciPy has no such class."""
    found = getattr(getattr(stats, module, None), name, None)
    if found is None:
        return namedtuple(name, f"{fields} {more}")  # type: ignore[misc]
    if more:
        found = with_attributes(found, more)
    elif hasattr(found, "_fields") and not hasattr(found, "_make"):
        found = _as_node(found)
    names = (*fields.split(), *more.split())
    return lambda *values: found(**dict(zip(names, values)))


def check_alternative(alternative: str) -> None:
    if alternative not in ALTERNATIVES:
        raise ValueError("`alternative` must be 'less', 'greater', or 'two-sided'.")


def p_value(cdf: Callable, sf: Callable, value: Value, alternative: str) -> Value:
    """Return the probability of a value by the functions of a symmetric distribution."""
    check_alternative(alternative)
    if alternative == "less":
        return cdf(value)
    if alternative == "greater":
        return sf(value)
    return 2 * sf(np.absolute(value))


def at_numbers(func: Callable, *xs: Value) -> Value:
    """Return ``func(*xs)``, and NaN where one is NaN, through which no derivative passes."""
    bad: Value = functools.reduce(np.logical_or, map(np.isnan, xs))
    if is_known_false(bad):
        return func(*xs)
    y = func(*(np.where(bad, np.asarray(0.5, x.dtype), x)[()] for x in xs))
    return np.where(bad, np.asarray(np.nan, y.dtype), y)[()]


def t_p_value(df: Value, t: Value, alternative: str) -> Value:
    """Return the probability of a value of Student's distribution."""
    return p_value(lambda t: special.stdtr(df, t), lambda t: special.stdtr(df, -t), t, alternative)


def normal_p_value(z: Value, alternative: str) -> Value:
    """Return the probability of a value of the normal distribution."""
    return p_value(special.ndtr, lambda z: special.ndtr(-z), z, alternative)


SIGNIFICANCE = result_class("_stats_py", "SignificanceResult")
