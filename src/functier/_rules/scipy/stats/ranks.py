"""Statistics of ranks and of counts: they are constant where they have a derivative."""

from typing import Any, NamedTuple

import numpy as np
import scipy.stats as stats  # type: ignore[import-untyped]

from ...._core.types import Value
from ...axes import flatten_examples, shift
from ...constructors import constant
from ..declare import dispatching


def _rankdata_vmap(
    k: int, a: Value, method: str = "average", axis: int | None = None, **more: Any
) -> Value:
    if axis is None:
        a, axis = flatten_examples(k, a), -1
    return dispatching(stats.rankdata)(a, method, axis=shift(axis, k, np.ndim(a) - k), **more)


constant(stats.rankdata, "a method axis nan_policy", "a", vmap=_rankdata_vmap)


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
