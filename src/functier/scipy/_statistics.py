"""Statistics of `scipy.stats` that copies of SciPy's own code compute.

NOTE [one answer for the batch]
    These functions compute all samples of an array at once. Where their code asks if any sample
    has a property, or all of them, it goes on with masks. So `any` and `all` ask about all
    examples of a batch: each has the value that SciPy gives for the stacked samples. So does
    `isnan` of a number without axes, such as the largest one of all samples.
"""

import inspect
import math
from collections.abc import Callable
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
import scipy.special as special  # type: ignore[import-untyped]
from scipy import stats

from .. import numpy as fnp
from .._core.errors import UnsupportedError
from .._core.numpy_facts import Value
from .._rules.axes import as_array
from ..protocol import composite, constant, primitive, unsupported
from ._copies import copy_function, is_copied
from ._namespaces import twin_of
from ._rules.stats.ranks import still
from ._rules.stats.results import result_class, with_attributes
from ._rules.stats.samples import each_sample, statistic


@primitive
def any_of(x: Value) -> Value:
    """Return whether any number of any example is not 0."""
    return np.any(x)


constant(any_of, "x", vmap=lambda k, x: np.reshape(any_of(x), (1,) * k))


def _any(a: Value, axis: Any = None, **options: Any) -> Value:
    return any_of(a) if axis is None and not options else fnp.any(a, axis, **options)


def _all(a: Value, axis: Any = None, **options: Any) -> Value:
    if axis is None and not options:
        return fnp.logical_not(any_of(fnp.logical_not(a)))
    return fnp.all(a, axis, **options)


def _isnan(x: Value) -> Value:
    return fnp.isnan(x) if np.ndim(x) else any_of(fnp.isnan(x))


def _apply_where(
    cond: Value, args: Any, f1: Callable, f2: Any = None, /, *, fill_value: Any = None, **more: Any
) -> Value:
    """Return the values of two functions of all numbers: each example has others of each kind."""
    args = args if isinstance(args, tuple) else (args,)
    with np.errstate(all="ignore"):
        return fnp.where(cond, f1(*args), fill_value if f2 is None else f2(*args))


class Changed:
    """A namespace with other functions of some names."""

    def __init__(self, namespace: Any, **changed: Any):
        self.__dict__.update(changed, namespace=namespace)

    def __getattr__(self, name: str) -> Any:
        value = self.__dict__[name] = getattr(self.namespace, name)
        return value


WHOLE = Changed(fnp, any=_any, all=_all, isnan=_isnan)
"""NumPy for a copy that computes the whole batch."""


def _twin_of(value: Any, path: str) -> Any:
    """Return the twin of an object for a copy that computes the whole batch.

    Functions that SciPy keeps for itself are copied below the options that it adds to statistics.
    """
    if path.endswith("._broadcast_shapes"):  # of lists of numbers
        return value
    if path.endswith(".is_lazy_array"):
        return lambda x: False
    if path.endswith(".xpx"):
        return Changed(twin_of(value, path), apply_where=_apply_where)
    if not isinstance(value, FunctionType) or not is_copied(value):
        return twin_of(value, path)
    own = inspect.unwrap(value)
    public, names = hasattr(stats, value.__name__), inspect.signature(own).parameters
    if own is value:
        return twin_of(value, path) if public else _copy(own)

    def call(*args: Any, _no_deco: bool = not public, **options: Any) -> Any:
        if not _no_deco:
            return twin_of(value, path)(*args, **options)
        options = {n: v for n, v in options.items() if n in names}
        return _copy(own)(*args, **options)

    return call


def _copy(func: FunctionType) -> FunctionType:
    """Return the code of a function that computes the whole batch."""
    return copy_function(func, _twin_of, xp=WHOLE)


def own_code(
    name: str, samples: str = "a", fields: str = "", since: str = "", **facts: Any
) -> None:
    """Declare a statistic by SciPy's code below its options; `fields` are those of its result.

    Code before the release `since` takes one sample at a time, and no tensors.
    """
    func: Any = getattr(stats, name, None)
    if func is None:
        return
    own, names = inspect.unwrap(func), fields.split()
    parameters = inspect.signature(own).parameters
    if since and "axis" not in parameters:
        unsupported(func, f"it takes tensors since SciPy {since}; install that")
        return

    def values_of(result: Any) -> Any:
        found = {field: getattr(result, field) for field in names}
        if "_alternative" in found:  # a fact about all samples
            found["_alternative"] = int(np.ravel(found["_alternative"])[0])
        return tuple(found.values()) if names else result

    def whole(*more: Value, **options: Any) -> Any:
        given = {n: options.pop(n) for n in samples.split() if options.get(n) is not None}
        rows = [v[..., None, :] for v in (*given.values(), *more)]  # numbers are not written to
        if len(rows) > 1:  # all depend on what one of them does: see `_view_inside`
            ends = np.cumsum([np.shape(v)[-1] for v in rows])[:-1]
            rows = np.split(np.concatenate(rows, axis=-1), ends, axis=-1)
        by_name = dict(zip(given, rows))
        result = values_of(_copy(own)(*rows[len(given) :], **by_name, **options, axis=-1))
        return tuple([v[..., 0] if np.ndim(v) else v for v in (result if names else [result])])

    def alone(*more: Value, **options: Any) -> Any:
        given = {n: options.pop(n) for n in samples.split() if options.get(n) is not None}
        copy = copy_function(own, twin_of)

        def compute(*rows: Value) -> tuple:
            result = values_of(copy(*rows[len(given) :], **dict(zip(given, rows)), **options))
            return result if names else (result,)

        return each_sample(compute, [*given.values(), *more])

    body = whole if "axis" in parameters else alone
    statistic(name, samples, outputs=len(names) or 1, **facts)(body)


def _whole_code(name: str) -> None:
    """Declare a function to which SciPy adds no options by its code."""
    func: Any = getattr(stats, name, None)
    if func is not None:
        own = inspect.unwrap(func)
        composite(func, lambda *args, **options: _copy(own)(*args, **options))


# ---- results with intervals ----

Interval = result_class("_common", "ConfidenceInterval", "low high")


def _interval(self: Any, confidence_level: float = 0.95) -> Any:
    """Return the interval of the estimate of a result."""
    if confidence_level < 0 or confidence_level > 1:
        raise ValueError("`confidence_level` must be a number between 0 and 1.")
    dtype = self._standard_error.dtype

    def end(p: float) -> Value:
        return np.astype(special.stdtrit(self.df, dtype.type(p)), dtype, copy=False)

    scale, place = self._standard_error, self._estimate
    infinite = np.inf * still(scale) + still(place)
    if self._alternative < 0:
        return Interval(-infinite, end(confidence_level) * scale + place)
    if self._alternative > 0:
        return Interval(end(1 - confidence_level) * scale + place, infinite)
    tail = (1 - confidence_level) / 2
    return Interval(end(tail) * scale + place, end(1 - tail) * scale + place)


T_RESULT = with_attributes(
    type(stats.ttest_1samp([0.0, 1.0], 0.0)),
    "df _alternative _standard_error _estimate",
    facts="_alternative",
    confidence_interval=_interval,
)


# ---- correlations ----


class PearsonRResult(NamedTuple):
    """The result of `scipy.stats.pearsonr` inside a transform."""

    statistic: Value
    pvalue: Value

    @property
    def correlation(self) -> Value:
        return self.statistic

    def confidence_interval(self, confidence_level: float = 0.95, method: Any = None) -> Any:
        raise UnsupportedError(
            "scipy.stats.pearsonr: confidence_interval() is not supported inside a transform; "
            "write numpy.tanh(numpy.arctanh(statistic) + h / numpy.sqrt(n - 3)), h = -1.96 and 1.96"
        )


def _pearsonr(
    x: Value, y: Value, *, alternative: str = "two-sided", method: Any = None, axis: Any = 0
) -> PearsonRResult:
    if method is not None:
        raise UnsupportedError(
            "scipy.stats.pearsonr: a method that draws samples is not supported for tensors; leave "
            "method=None, or call it for plain arrays"
        )
    x, y = (v if axis is not None else np.reshape(v, -1) for v in (as_array(x), as_array(y)))
    if x.ndim == 1 == y.ndim:  # a number is not written to
        x, y, axis = x[:, None], y[:, None], 0
        found = _copy(PEARSON)(x, y, alternative=alternative, axis=axis)
        return PearsonRResult(found.statistic[0], found.pvalue[0])
    found = _copy(PEARSON)(x, y, alternative=alternative, axis=0 if axis is None else axis)
    return PearsonRResult(found.statistic, found.pvalue)


PEARSON: Any = inspect.unwrap(stats.pearsonr)
composite(stats.pearsonr, _pearsonr)
PointBiserial = result_class("_stats_py", "SignificanceResult", more="correlation")


# ---- what is refused, and which samples are too small ----


def _check_orders(given: dict[str, Any]) -> None:
    """Refuse the new axes of results that SciPy takes for one result."""
    order = given.get("order", 1)
    if given.get("keepdims") and (order is None or np.shape(order) == (1,)):
        raise UnsupportedError(
            "scipy.stats.moment and lmoment put the axes of keepdims=True elsewhere for order=None "
            "and for a list of one order, which is not supported for tensors; write the order as a "
            "number, or the default orders of lmoment as order=[1, 2, 3, 4]"
        )


def _check_drawn(given: dict[str, Any]) -> None:
    """Refuse the drawing of samples."""
    if any(given.get(n) is not None for n in ("method", "permutations", "random_state")):
        raise UnsupportedError(
            "scipy.stats.ttest_ind: a method that draws samples is not supported for tensors; "
            "leave method=None, or call it for plain arrays"
        )


def _has_no_window(values: Value, window_length: int | None = None, **options: Any) -> bool:
    n = np.shape(values)[-1]
    window = math.floor(math.sqrt(n) + 0.5) if window_length is None else window_length
    return not 2 <= 2 * window < n


def _has_no_groups(*samples: Value, **options: Any) -> bool:
    if len(samples) < 2:
        raise TypeError(f"At least two samples are required; got {len(samples)}.")
    lengths = [np.shape(s)[-1] for s in samples]
    return 0 in lengths or set(lengths) == {1}


# ---- the statistics ----

TEST, SAMPLES = "statistic pvalue", "*samples"
T_TEST = f"{TEST} df _alternative _standard_error _estimate"


def _test(name: str, samples: str, module: str, result: str, **facts: Any) -> None:
    own_code(name, samples, TEST, join=result_class(module, result), hides_nan=True, **facts)


for name in "gmean", "hmean", "pmean":
    own_code(name, "a weights", hides_nan=True)
for name in "tvar", "tstd", "tsem", "tmin", "tmax", "skew", "kurtosis", "variation", "trim_mean":
    own_code(name, hides_nan=True)
own_code("tmean", axis=None, hides_nan=True)
own_code("sem", too_small=1)
own_code("gstd")
own_code("iqr", "x", axis=None)
own_code("median_abs_deviation", "x", hides_nan=True)
own_code("differential_entropy", "values", too_small=_has_no_window, hides_nan=True)
own_code("moment", too_small=-1, hides_nan=True, check=_check_orders)
own_code("lmoment", "sample", too_small=-1, hides_nan=True, check=_check_orders)
for name in "circmean", "circvar", "circstd":
    own_code(name, "samples", axis=None)
for name in "kstat", "kstatvar":
    own_code(name, "data", axis=None)
for name in "quantile", "scoreatpercentile", "zmap", "zscore", "gzscore":
    _whole_code(name)

_test("skewtest", "a", "_stats_py", "SkewtestResult", too_small=7)
_test("kurtosistest", "a", "_stats_py", "KurtosistestResult", too_small=4)
_test("normaltest", "a", "_stats_py", "NormaltestResult", too_small=7)
_test("jarque_bera", "x", "_stats_py", "SignificanceResult", axis=None)
_test("combine_pvalues", "pvalues weights", "_stats_py", "SignificanceResult")
for name in "power_divergence", "chisquare":
    _test(name, "f_obs f_exp", "_stats_py", "Power_divergenceResult", too_small=-1)
own_code(
    "pointbiserialr", "x y", TEST, join=lambda r, p: PointBiserial(r, p, r), hides_nan=True,
    too_small=1,
)  # fmt: skip
_test("levene", SAMPLES, "_morestats", "LeveneResult", paired=False)
_test("bartlett", SAMPLES, "_morestats", "BartlettResult", paired=False)
_test(
    "alexandergovern", SAMPLES, "_stats_py", "AlexanderGovernResult", since="1.15", too_small=1,
    paired=False,
)  # fmt: skip
_test("f_oneway", SAMPLES, "_stats_py", "F_onewayResult", too_small=_has_no_groups, paired=False)
for name, samples in ("ttest_ind", "a b"), ("ttest_rel", "a b"), ("ttest_1samp", "a popmean"):
    own_code(
        name, samples, T_TEST, join=T_RESULT, hides_nan=True, paired=name == "ttest_rel",
        check=_check_drawn,
    )  # fmt: skip
