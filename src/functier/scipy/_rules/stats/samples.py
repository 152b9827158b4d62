"""Statistics of samples along axes: the options that SciPy adds to all of them.

NOTE [the body of a statistic]
    SciPy wraps its statistics in code that makes plain arrays. Here a body gets the samples with
    their observations along the last axis, and returns one value for each sample, or a tuple of
    values. `statistic` has the meaning of ``axis``, ``keepdims`` and ``nan_policy``.
"""

import functools
import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.stats as stats  # type: ignore[import-untyped]

from ...._core.numpy_facts import Value, known_type
from ...._rules.axes import as_array, is_known_false, normalize
from ...._rules.constructors import check_values
from ....protocol import composite

POLICIES = ("propagate", "raise", "omit")
NUMBERS = frozenset({bool, int, float, complex})


def statistic(
    name: str,
    samples: str = "a",
    axis: int | None = 0,
    too_small: int | Callable = 0,
    hides_nan: bool = False,
    outputs: int = 1,
    join: Callable | None = None,
    paired: bool = True,
    check: Callable[[dict[str, Any]], None] | None = None,
) -> Callable[[Callable], Callable]:
    """Declare a statistic of `scipy.stats` by its body: see NOTE [the body of a statistic].

    `samples` names the parameters with observations, which belong together: ``*samples`` for any
    number of them. They have equal lengths unless `paired` is False. With up to `too_small`
    observations the result is NaN; as a function, it gets the samples and the options.
    `hides_nan`: the body may return a number for a sample with NaN. ``join(*values)`` is the result
    where the body returns several values, `outputs`. ``check(arguments)`` raises where the
    arguments of a call are not supported.
    """

    def declared(body: Callable) -> Callable:
        func = getattr(stats, name, None)
        if func is None:
            return body
        signature = inspect.signature(func)

        def call(*positional: Any, **by_name: Any) -> Any:  # one of SciPy's parameters is `args`
            given = signature.bind(*positional, **by_name)
            if check is not None:
                check(given.arguments)
            given.apply_defaults()
            options = dict(given.arguments)
            along = options.pop("axis", axis)
            policy = check_policy(options.pop("nan_policy", "propagate"))
            keepdims = options.pop("keepdims", False)
            names = [n for n in samples.split() if options.get(n) is not None]
            if samples.startswith("*"):
                rows, form = arrange(options.pop(samples[1:]), along, paired)
            else:
                rows, form = arrange([options.pop(n) for n in names], along, paired)

            def is_small(rows: Sequence[Value]) -> bool:
                if callable(too_small):
                    return too_small(*rows, **options)
                if too_small < 0:
                    return False
                return any(0 in np.shape(r)[:-1] or np.shape(r)[-1] <= too_small for r in rows)

            def compute(*rows: Value) -> tuple:
                if is_small(rows):
                    return (_no_result(rows),) * outputs
                result = body(*rows[len(names) :], **dict(zip(names, rows)), **options)
                return result if isinstance(result, tuple) else (result,)

            values = _with_policy(compute, rows, policy, hides_nan, paired)
            if keepdims:
                before = np.ndim(rows[0]) - 1  # several values of each sample are along axis 0
                values = tuple(
                    [
                        v if type(v) is int else np.reshape(v, (*v.shape[: v.ndim - before], *form))
                        for v in values
                    ]
                )
            return values[0] if join is None else join(*values)

        composite(func, call)
        return body

    return declared


def as_float(x: Value) -> Value:
    return x if x.dtype.kind in "fc" else np.astype(x, float)


def check_policy(policy: str) -> str:
    if policy not in POLICIES:
        raise ValueError(f"nan_policy must be one of {{'propagate', 'raise', 'omit'}}: {policy!r}")
    return policy


def arrange(values: Sequence[Value], axis: Any, paired: bool) -> tuple[list, tuple]:
    """Return samples with observations last, and the shape of a result with ``keepdims``."""
    arrays = [as_array(v) for v in values]
    if len(arrays) > 1:  # a number of Python does not decide the dtype
        kinds = [known_type(v) for v in values]
        dtype = np.result_type(*(
            v if kind in NUMBERS else a for v, kind, a in zip(values, kinds, arrays)
        ))  # fmt: skip
        arrays = [np.astype(v, dtype, copy=False) for v in arrays]
    arrays = [v if np.ndim(v) else np.reshape(v, (1,)) for v in arrays]
    ndim = max((np.ndim(v) for v in arrays), default=0)
    if axis is None:
        return [np.reshape(v, (-1,)) for v in arrays], (1,) * ndim
    axes = normalize(axis if isinstance(axis, int) else tuple(axis), ndim)
    arrays = [np.reshape(v, (1,) * (ndim - np.ndim(v)) + np.shape(v)) for v in arrays]
    shapes = [np.shape(v) for v in arrays]
    if not paired:
        shapes = [_collapsed(shape, axes) for shape in shapes]
    common = np.broadcast_shapes(*shapes)
    for i, v in enumerate(arrays):
        shape = common if paired else _with_lengths(common, np.shape(v), axes)
        arrays[i] = v if np.shape(v) == shape else np.broadcast_to(v, shape)
    return [_rows(v, axes) for v in arrays], _collapsed(common, axes)


def _rows(x: Value, axes: Sequence[int]) -> Value:
    """Return an array with some axes merged into one last axis."""
    x = np.moveaxis(x, axes, range(-len(axes), 0))
    others = np.ndim(x) - len(axes)
    return np.reshape(x, (*np.shape(x)[:others], math.prod(np.shape(x)[others:])))


def _collapsed(shape: Sequence[int], axes: Sequence[int]) -> tuple:
    """Return a shape with size 1 along some axes."""
    return tuple(1 if i in axes else n for i, n in enumerate(shape))


def _with_lengths(common: tuple, shape: tuple, axes: tuple) -> tuple:
    """Return a shape with the lengths of a sample along its axes."""
    return tuple(shape[i] if i in axes else n for i, n in enumerate(common))


def _no_result(rows: Sequence[Value]) -> Value:
    """Return NaN for each sample."""
    dtype = np.result_type(*rows)
    dtype = dtype if dtype.kind in "fc" else np.dtype(float)
    return np.full(np.shape(rows[0])[:-1], np.nan, dtype)[()]


def find_nan(*rows: Value) -> Value:
    """Tell which observations are NaN in any of the samples; None for integers."""
    masks = [np.isnan(r) for r in rows if r.dtype.kind in "fc"]
    return functools.reduce(np.logical_or, masks) if masks else None


def has_no_nan(x: Value) -> bool:
    return x.dtype.kind not in "fc" or not np.any(np.isnan(x))


def _with_policy(
    compute: Callable, rows: Sequence[Value], policy: str, hides_nan: bool, paired: bool
) -> tuple:
    if policy == "raise":
        rows = [check_values(r, has_no_nan, "The input contains nan values") for r in rows]
    elif policy == "omit":
        masks = [find_nan(*rows)] * len(rows) if paired else [find_nan(r) for r in rows]
        if any(m is not None and not is_known_false(m) for m in masks):
            return _omit(compute, rows, masks)
    if policy != "propagate" or not hides_nan:
        return compute(*rows)
    found = [m for m in map(find_nan, rows) if m is not None and not is_known_false(m)]
    if not found:
        return compute(*rows)
    bad: Value = functools.reduce(np.logical_or, [np.any(m, axis=-1) for m in found])
    rows = [replaced(r, bad) for r in rows]
    return tuple(with_nan(v, bad) for v in compute(*rows))


def replaced(row: Value, bad: Value) -> Value:
    """Return other observations for bad samples, which no derivative has to meet."""
    n = np.shape(row)[-1]
    fill = np.astype(np.arange(1, n + 1) / (n + 1), row.dtype)
    return np.where(bad[..., None], fill, row)


def with_nan(value: Value, bad: Value) -> Value:
    """Return NaN for the bad samples; a number of Python is a fact about all of them.

    Whole numbers have no NaN: where one is bad, SciPy's dtype is another.
    """
    if type(value) is int:
        return value
    if value.dtype.kind not in "fc":
        if hasattr(bad, "level"):
            check_values(bad, lambda bad: not np.any(bad), NAN_OF_INTEGERS)
            return value
        value = np.astype(value, float)
    return np.where(bad, np.asarray(np.nan, value.dtype), value)[()]


NAN_OF_INTEGERS = (
    "a sample of the batch has NaN, so that an integer of its result is NaN in SciPy; leave "
    "these samples out of the batch"
)


def _omit(compute: Callable, rows: Sequence[Value], masks: Sequence[Value]) -> tuple:
    """Compute each sample without its NaN; a batch is refused, as the lengths differ."""
    if 0 in np.shape(rows[0])[:-1]:
        return compute(*rows)
    return each_sample(compute, rows, masks)


def each_sample(compute: Callable, rows: Sequence[Value], masks: Sequence[Value] = ()) -> tuple:
    """Return the values of one sample after the other, of each the numbers that are not masked."""

    def kept(index: tuple) -> list:
        chosen = [r[index] for r in rows]
        return [
            r if m is None else r[np.logical_not(m[index])]
            for r, m in zip(chosen, masks or [None] * len(rows))
        ]

    lead = np.shape(rows[0])[:-1]
    if not lead:
        return compute(*kept(()))
    found = [compute(*kept(index)) for index in np.ndindex(*lead)]
    return tuple(
        column[0]
        if type(column[0]) is int
        else np.reshape(np.stack(column, axis=-1), (*np.shape(column[0]), *lead))
        for column in zip(*found)
    )
