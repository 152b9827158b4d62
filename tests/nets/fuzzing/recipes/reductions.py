"""Calls of reductions and of cumulative functions."""

from typing import Any

from ..draw import Draw, Ref, Step, Unfit, recipe

NANS = "np.nansum np.nanprod np.nanmean np.nanmax np.nanmin np.nanstd np.nanvar"
WHERE = {"sum", "prod", "mean", "std", "var", "any", "all", "max", "min", "amax", "amin"}
SHORT_METHODS = {"sum", "prod", "mean", "std", "var", "any", "all", "max", "min", "ptp"}


def along(d: Draw, x: Ref, p: float = 0.75) -> dict[str, Any]:
    """Keyword arguments ``axis`` and ``keepdims``."""
    kwargs: dict[str, Any] = {}
    if d.chance(p):
        kwargs["axis"] = d.axes(d.nd(x))
    if d.chance(0.3):
        kwargs["keepdims"] = True
    return kwargs


@recipe(
    "np.sum np.prod np.mean np.max np.min np.amax np.amin np.std np.var np.ptp np.any np.all "
    f"np.count_nonzero {NANS}"
)
def reduction(d: Draw, name: str) -> Step:
    short = name.removeprefix("np.")
    bare = short.removeprefix("nan")
    x = d.x(style=d.pick("nan", None) if bare != short else None)
    kwargs = along(d, x)
    # Of one number, np.nanmin gives NaN where the mask is false and has no initial=.
    if bare in WHERE and d.chance(0.18) and (bare == short or (d.nd(x) and x.text == d.main)):
        # NumPy's functions that leave NaN out do not dispatch on the mask alone.
        facts = {"needs": d.main} if bare != short else {}
        kwargs["where"] = d.mask(d.sub(d.form(x)), constant=True, **facts)
        if bare in ("max", "min", "amax", "amin"):
            kwargs["initial"] = d.pick(0, 0.5)
    if bare in ("sum", "prod", "max", "min") and d.chance(0.12) and (bare == short or d.nd(x)):
        kwargs["initial"] = d.pick(0, 1, 2, 0.5)
    if bare in ("sum", "prod", "mean", "std", "var") and d.chance(0.1):
        kwargs["dtype"] = Ref(d.pick("np.float32", "np.float64", "np.complex128"))
    if bare in ("std", "var"):
        if d.chance(0.3):
            kwargs["ddof"] = d.pick(1, 0, 2, 0.5)
        elif d.chance(0.1) and bare == short:
            return Step(name, (x,), {**kwargs, "correction": 1})
        elif d.chance(0.08) and "keepdims" not in kwargs and bare == short:
            inner = {k: v for k, v in kwargs.items() if k in ("axis", "where")}
            kwargs["mean"] = Ref(Step("np.mean", (x,), {**inner, "keepdims": True}).text())
    if short in SHORT_METHODS - {"ptp"} and d.chance(0.3) and "where" not in kwargs:
        return Step(f"{x}.{short}", (), kwargs)
    return Step(name, (x,), kwargs)


@recipe("np.cumsum np.cumprod np.nancumsum np.nancumprod")
def cumulative(d: Draw, name: str) -> Step:
    x = d.x(style="nan" if "nan" in name and d.chance(0.5) else None)
    kwargs: dict[str, Any] = {}
    if d.chance(0.75):
        kwargs["axis"] = None if d.chance(0.1) else d.axis(d.nd(x))
    if d.chance(0.1):
        kwargs["dtype"] = Ref(d.pick("np.float32", "np.float64", "np.complex128"))
    if "nan" not in name and d.chance(0.3):
        return Step(f"{x}.{name.removeprefix('np.')}", (), kwargs)
    return Step(name, (x,), kwargs)


@recipe("np.cumulative_sum np.cumulative_prod")
def cumulative_new(d: Draw, name: str) -> Step:
    x = d.x(nd=(1, 3))
    kwargs: dict[str, Any] = {"axis": d.axis(d.nd(x))} if d.nd(x) != 1 or d.chance(0.5) else {}
    if d.chance(0.4):
        kwargs["include_initial"] = True
    if d.chance(0.1):
        kwargs["dtype"] = Ref("np.float32")
    return Step(name, (x,), kwargs)


@recipe("np.argmax np.argmin np.nanargmax np.nanargmin")
def arg(d: Draw, name: str) -> Step:
    x = d.x(nd=(1, 3))
    kwargs: dict[str, Any] = {}
    if d.chance(0.7):
        kwargs["axis"] = d.axis(d.nd(x))
    if d.chance(0.3):
        kwargs["keepdims"] = True
    return Step(name, (x,), kwargs)


@recipe("np.average")
def average(d: Draw, name: str) -> Step:
    x = d.x()
    if not d.value(x).size:  # NumPy divides by the size of the result
        raise Unfit
    kwargs: dict[str, Any] = {"axis": d.axes(d.nd(x))} if d.chance(0.7) else {}
    axis = kwargs.get("axis")
    if d.chance(0.6):
        shape = d.form(x)
        if isinstance(axis, int) and d.chance(0.6) and d.nd(x) and -d.nd(x) <= axis < d.nd(x):
            shape = (shape[axis],)
        kwargs["weights"] = d.new(shape, "fi", "positive")
    if d.chance(0.3):
        kwargs["returned"] = True
    if d.chance(0.3):
        kwargs["keepdims"] = True
    return Step(name, (x,), kwargs)


METHOD_NAMES = (
    "linear", "lower", "higher", "midpoint", "nearest", "hazen", "weibull", "median_unbiased",
    "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf",
    "normal_unbiased",
)  # fmt: skip


@recipe("np.median np.nanmedian")
def median(d: Draw, name: str) -> Step:
    x = d.x(nd=(0, 3), kinds="fi" if d.chance(0.95) else "c")
    return Step(name, (x,), along(d, x))


@recipe("np.quantile np.percentile np.nanquantile np.nanpercentile")
def quantile(d: Draw, name: str) -> Step:
    x = d.x(nd=(0, 3), kinds="fi", style=None if d.chance(0.8) else "nan")
    scale = 100 if "percentile" in name else 1
    kwargs = along(d, x)
    kind = d.rng.random()
    q: Any = d.pick(0.25, 0.5, 0.8, 0.0, 1.0) * scale
    if kind < 0.3:
        q = [0.1 * scale, 0.6 * scale]
    elif kind < 0.55:
        shape = d.pick((), (2,), (3,), (2, 2), (0,))
        q = Ref(f"({scale} * np.tanh({d.new(shape, 'f', 'positive')}))")
    if d.chance(0.4):
        kwargs["method"] = d.pick(*METHOD_NAMES)
    if d.chance(0.1):
        kwargs["method"] = "inverted_cdf"
        kwargs["weights"] = d.new(d.form(x), "f", "positive")
    return Step(name, (x, q), kwargs)
