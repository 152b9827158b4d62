"""Statistics of ranks and of counts: they are constant where they have a derivative."""

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.stats as stats  # type: ignore[import-untyped]
from numpy.lib.array_utils import normalize_axis_index

from ...._core.numpy_facts import Value
from ....protocol import composite, constant, primitive
from ..declare import dispatching
from .results import SIGNIFICANCE, result_class
from .samples import arrange


def _rankdata_vmap(
    k: int, a: Value, method: str = "average", axis: int | None = None, **more: Any
) -> Value:
    if axis is None:
        a, axis = np.reshape(a, (*np.shape(a)[:k], math.prod(np.shape(a)[k:]))), -1
    axis = k + normalize_axis_index(axis, np.ndim(a) - k)
    return dispatching(stats.rankdata)(a, method, axis=axis, **more)


constant(
    stats.rankdata,
    "a method axis nan_policy",
    "a",
    kernel=dispatching(stats.rankdata),
    vmap=_rankdata_vmap,
)


def ranks(a: Value, method: str = "average") -> Value:
    """Return the ranks along the last axis."""
    return dispatching(stats.rankdata)(a, method, axis=-1)


class SignificanceResult(NamedTuple):
    """The result of a test inside a transform."""

    statistic: Value
    pvalue: Value


def _declare_test(name: str, params: str, arrays: str) -> None:
    func = getattr(stats, name)

    def kernel(*args: Any, **kwargs: Any) -> Any:
        result = dispatching(func)(*args, **kwargs)
        return SignificanceResult(*result) if len(result) == 2 else result

    constant(func, params, arrays, kernel=kernel)


_declare_test("spearmanr", "a b axis nan_policy alternative", "a b")
_declare_test("kendalltau", "x y nan_policy method variant alternative axis keepdims", "x y")


# ---- tests whose results are all constants: SciPy computes them ----


@primitive
def still(x: Value) -> Value:
    """Return `x`, without its derivative."""
    return x


constant(still, "x", vmap=lambda k, x: still(x))


def with_value(formula: Value, value: Value) -> Value:
    """Return a constant that SciPy has computed, with the derivatives of its formula."""
    return np.where(np.isfinite(formula), formula + (value - still(formula)), value)[()]


@primitive
def numbers_of(
    x: Value, name: str, lengths: tuple, fields: tuple, options: tuple = (), alone: bool = True
) -> tuple:
    """Return the numbers that SciPy computes of plain samples, which have no derivative.

    Parameters
    ----------
    x : array, shape (..., n)
        The samples, one after the other along the last axis.
    name : str
        The function of `scipy.stats`.
    lengths : tuple of int
        The lengths of the samples.
    fields : tuple of str
        The attributes of the result.
    options : tuple of pairs
        The names and values of other arguments.
    alone : bool
        True where the function looks at all samples to choose a method, so that examples of a
        batch are computed one after the other.
    """
    samples = np.split(x, np.cumsum(lengths)[:-1], axis=-1)
    result = getattr(stats, name)(*samples, axis=-1, **dict(options))
    shape = np.shape(x)[:-1]
    return tuple(np.broadcast_to(getattr(result, field), shape)[()] for field in fields)


def _numbers_vmap(k: int, x: Value, alone: bool = True, **call: Any) -> tuple:
    batch = np.shape(x)[:k]
    if not alone or 0 in batch:
        return numbers_of(x, **call, alone=alone)
    found = [numbers_of(x[index], **call) for index in np.ndindex(*batch)]
    return tuple(np.reshape(np.stack(c), (*batch, *np.shape(c[0]))) for c in zip(*found))


constant(numbers_of, "x name lengths fields options alone", "x", vmap=_numbers_vmap)


def constants(
    name: str, rows: Sequence[Value], fields: str, alone: bool = False, **options: Any
) -> tuple:
    """Return the numbers that SciPy computes of samples along the last axis."""
    x = rows[0] if len(rows) == 1 else np.concatenate(rows, axis=-1)
    lengths = tuple(np.shape(r)[-1] for r in rows)
    return numbers_of(
        x,
        name=name,
        lengths=lengths,
        fields=tuple(fields.split()),
        options=tuple(options.items()),
        alone=alone,
    )


def _rank_test(
    name: str, samples: str, join: Callable, paired: bool = False, alone: bool = False
) -> None:
    """Declare a test of ranks: its results are SciPy's."""
    func = getattr(stats, name, None)
    if func is None:
        return
    signature = inspect.signature(func)

    def call(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs)
        given.apply_defaults()
        options = dict(given.arguments)
        axis, keepdims = options.pop("axis"), options.pop("keepdims")
        names = [n for n in samples.split() if options.get(n) is not None]
        found = options.pop(samples[1:]) if samples[0] == "*" else [options.pop(n) for n in names]
        options = {k: v for k, v in options.items() if k not in samples.split()}
        rows, form = arrange(found, axis, paired)
        fields = "statistic pvalue"
        if name == "wilcoxon" and options["method"] in ("approx", "asymptotic"):
            fields += " zstatistic"
        values = constants(name, rows, fields, alone, **options)
        if keepdims:
            values = tuple(np.reshape(v, form) for v in values)
        return join(*values)

    composite(func, call)


def _wilcoxon_result(*values: Value) -> Any:
    """Return a result with the statistic of the normal distribution, where it is used."""
    more = "zstatistic" if len(values) > 2 else ""
    return result_class("_morestats", "WilcoxonResult", more=more)(*values)


_rank_test("kruskal", "*samples", result_class("_stats_py", "KruskalResult"))
_rank_test("ranksums", "x y", result_class("_stats_py", "RanksumsResult"))
_rank_test("brunnermunzel", "x y", result_class("_stats_py", "BrunnerMunzelResult"))
_rank_test(
    "friedmanchisquare", "*samples", result_class("_stats_py", "FriedmanchisquareResult"), True
)
_rank_test("fligner", "*samples", result_class("_morestats", "FlignerResult"))
_rank_test("mood", "x y", SIGNIFICANCE, alone=True)
_rank_test("ansari", "x y", result_class("_morestats", "AnsariResult"), alone=True)
_rank_test("mannwhitneyu", "x y", result_class("_mannwhitneyu", "MannwhitneyuResult"), alone=True)
_rank_test("wilcoxon", "x y", _wilcoxon_result, True, True)
_rank_test("cramervonmises_2samp", "x y", result_class("_hypotests", "CramerVonMisesResult"))
_rank_test("spearmanrho", "x y", SIGNIFICANCE, True)
_rank_test("chatterjeexi", "x y", SIGNIFICANCE, True)
