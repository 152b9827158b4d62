"""The classes of SciPy's results, and the probabilities of test statistics."""

import contextlib
import functools
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as special  # type: ignore[import-untyped]
from scipy import stats

from ...._core.foreign import register_result
from ...._core.numpy_facts import Value

ALTERNATIVES = ("less", "greater", "two-sided")


def with_attributes(cls: Any, more: str, facts: str = "", **methods: Callable) -> Callable:
    """Return a maker of a class of results: its fields, and then the attributes `more`.

    Both may leave a transform. Attributes in `facts` are facts about the whole result instead: they
    stay as they are, for all examples of a batch. The class has other `methods` than SciPy's, whose
    own results, of plain arrays, leave a transform, too.
    """
    n, names, made = len(cls._fields), more.split(), _subclass(cls, methods)
    make = register_result(made, facts.split())
    with contextlib.suppress(ValueError):  # it is a node already
        register_result(cls, facts.split())
    return lambda *values: make(values[:n], dict(zip(names, values[n:])))


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
        return with_attributes(found, more)
    if hasattr(found, "_fields") and not hasattr(found, "_make"):
        found = _as_node(found)
    names = fields.split()
    return lambda *values: found(**dict(zip(names, values)))


def check_alternative(alternative: str) -> None:
    if alternative not in ALTERNATIVES:
        raise ValueError("`alternative` must be 'less', 'greater', or 'two-sided'.")


def t_p_value(df: Value, t: Value, alternative: str) -> Value:
    """Return the probability of a value of Student's distribution."""
    check_alternative(alternative)
    if alternative == "less":
        return special.stdtr(df, t)
    if alternative == "greater":
        return special.stdtr(df, -t)
    return 2 * special.stdtr(df, -np.absolute(t))


SIGNIFICANCE = result_class("_stats_py", "SignificanceResult")
