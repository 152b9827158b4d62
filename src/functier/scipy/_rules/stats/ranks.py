"""Statistics of ranks and of counts: they are constant where they have a derivative."""

import math
from typing import Any, NamedTuple

import numpy as np
import scipy.stats as stats  # type: ignore[import-untyped]
from numpy.lib.array_utils import normalize_axis_index

from ...._core.numpy_facts import Value
from ....protocol import constant, primitive
from ..declare import dispatching


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


@primitive
def still(x: Value) -> Value:
    """Return `x`, without its derivative."""
    return x


constant(still, "x", vmap=lambda k, x: still(x))
