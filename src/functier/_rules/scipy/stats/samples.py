"""Statistics of samples along axes: the options that SciPy adds to all of them.

NOTE [the body of a statistic]
    SciPy wraps its statistics in code that makes plain arrays. Here a body gets the samples with
    their observations along the last axis, and returns one value for each sample, or a tuple of
    values. `statistic` has the meaning of ``axis``, ``keepdims`` and ``nan_policy``.
"""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.stats as stats  # type: ignore[import-untyped]

from ...._core.types import Value
from ...axes import as_array, as_rows, collapse, is_known_false, normalize
from ...constructors import check_values, composite

POLICIES = ("propagate", "raise", "omit")


def statistic(
    name: str,
    samples: str = "a",
    axis: int | None = 0,
    too_small: int = 0,
    hides_nan: bool = False,
    outputs: int = 1,
    join: Callable | None = None,
) -> Callable[[Callable], Callable]:
    """Declare a statistic of `scipy.stats` by its body: see NOTE [the body of a statistic].

    `samples` names the parameters with observations, which belong together. With up to `too_small`
    observations the result is NaN. `hides_nan`: the body may return a number for a sample with
    NaN. ``join(*values)`` is the result where the body returns several values, `outputs`.
    """

    def declared(body: Callable) -> Callable:
        func = getattr(stats, name, None)
        if func is None:
            return body
        signature = inspect.signature(func)

        def call(*args: Any, **kwargs: Any) -> Any:
            given = signature.bind(*args, **kwargs)
            given.apply_defaults()
            options = dict(given.arguments)
            along = options.pop("axis", axis)
            policy = check_policy(options.pop("nan_policy", "propagate"))
            keepdims = options.pop("keepdims", False)
            names = [n for n in samples.split() if options.get(n) is not None]
            rows, form = _arrange([options.pop(n) for n in names], along)

            def compute(*rows: Value) -> tuple:
                if np.shape(rows[0])[-1] <= too_small:
                    return (_no_result(rows),) * outputs
                result = body(**dict(zip(names, rows)), **options)
                return result if isinstance(result, tuple) else (result,)

            values = _with_policy(compute, rows, policy, hides_nan)
            if keepdims:
                values = tuple(np.reshape(v, form) for v in values)
            return values[0] if join is None else join(*values)

        composite(func, call)
        return body

    return declared


def check_policy(policy: str) -> str:
    if policy not in POLICIES:
        raise ValueError(f"nan_policy must be one of {{'propagate', 'raise', 'omit'}}: {policy!r}")
    return policy


def _arrange(values: Sequence[Value], axis: Any) -> tuple[list, tuple]:
    """Return samples with observations last, and the shape of a result with ``keepdims``."""
    arrays = [as_array(v) for v in values]
    arrays = [v if np.ndim(v) else np.reshape(v, (1,)) for v in arrays]
    if len(arrays) > 1:
        dtype = np.result_type(*arrays)
        arrays = [np.astype(v, dtype, copy=False) for v in arrays]
    if axis is None:
        ndim = max(np.ndim(v) for v in arrays)
        return [np.reshape(v, (-1,)) for v in arrays], (1,) * ndim
    shape = np.broadcast_shapes(*(np.shape(v) for v in arrays))
    axes = normalize(axis if isinstance(axis, int) else tuple(axis), len(shape))
    arrays = [v if np.shape(v) == shape else np.broadcast_to(v, shape) for v in arrays]
    return [as_rows(v, axes) for v in arrays], collapse(shape, axes)


def _no_result(rows: Sequence[Value]) -> Value:
    """Return NaN for each sample."""
    dtype = np.result_type(*rows)
    dtype = dtype if dtype.kind in "fc" else np.dtype(float)
    return np.full(np.shape(rows[0])[:-1], np.nan, dtype)[()]


def find_nan(*rows: Value) -> Value:
    """Tell which observations are NaN in any of the samples; None for integers."""
    masks = [np.isnan(r) for r in rows if r.dtype.kind in "fc"]
    return np.logical_or.reduce(masks) if len(masks) > 1 else masks[0] if masks else None


def has_no_nan(x: Value) -> bool:
    return x.dtype.kind not in "fc" or not np.any(np.isnan(x))


def _with_policy(compute: Callable, rows: Sequence[Value], policy: str, hides_nan: bool) -> tuple:
    if policy == "raise":
        rows = [check_values(r, has_no_nan, "The input contains nan values") for r in rows]
    elif policy == "omit":
        mask = find_nan(*rows)
        if mask is not None and not is_known_false(mask):
            return _omit(compute, rows, mask)
    values = compute(*rows)
    if policy == "propagate" and hides_nan:
        mask = find_nan(*rows)
        if mask is not None and not is_known_false(mask):
            bad = np.any(mask, axis=-1)
            values = tuple(np.where(bad, np.asarray(np.nan, v.dtype), v) for v in values)
    return values


def _omit(compute: Callable, rows: Sequence[Value], mask: Value) -> tuple:
    """Compute each sample without its NaN; a batch is refused, as the lengths differ."""
    lead = np.shape(mask)[:-1]
    if not lead:
        return compute(*(r[np.logical_not(mask)] for r in rows))
    if 0 in lead:
        return compute(*rows)
    found = [
        compute(*(r[index][np.logical_not(mask[index])] for r in rows))
        for index in np.ndindex(*lead)
    ]
    return tuple(np.reshape(np.stack(column), lead) for column in zip(*found))
