"""Twins for `scipy.ndimage`: functions of windows, places and filters that are given."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.ndimage as ndimage  # type: ignore[import-untyped]

from .. import numpy as fnp
from .._core.errors import UnsupportedError
from .._transforms.vmap import vmap
from ._dispatching import dispatching
from ._problems import has_tensor, is_plain
from ._rules.ndimage.filters import axes_of, each, stored, windows

FUNCTIONS = {"function", "mapping", "derivative", "derivative2"}
"""The names of the parameters that are functions."""


def _bound(original: Callable, args: tuple, options: dict) -> dict:
    """Return the arguments of SciPy's function by name; an array for the result is refused."""
    found = inspect.signature(original).bind(*args, **options)
    found.apply_defaults()
    given = dict(found.arguments)
    if isinstance(given.get("output"), np.ndarray):
        raise UnsupportedError(
            f"scipy.ndimage.{original.__name__}: output= is a plain array, which has no "
            f"derivative; write y = scipy.ndimage.{original.__name__}(...) without it"
        )
    return given


def _stored(x: Any, given: dict, like: Any) -> Any:
    """Return a result in the dtype that SciPy gives it."""
    return stored(x, np.dtype(given["output"] if given["output"] is not None else like.dtype))


def _twin(body: Callable) -> Callable:
    """Return the twin of SciPy's function of the same name, which is `body` inside a level."""
    original = getattr(ndimage, body.__name__)
    function = next(iter(set(inspect.signature(original).parameters) & FUNCTIONS))

    @functools.wraps(original)
    def call(*args: Any, **options: Any) -> Any:
        given = _bound(original, args, options)
        if is_plain(given[function]) and not has_tensor(*args, *options.values()):
            return original(*args, **options)
        given["input"] = fnp.asarray(given["input"])
        return body(given)

    return call


def _applied(func: Callable, given: dict) -> Callable:
    """Return a function with the extra arguments of a call."""
    more, words = given["extra_arguments"], given["extra_keywords"] or {}
    return lambda *args: func(*args, *more, **words)


@_twin
def generic_filter(given: dict) -> Any:
    x, size, footprint = given["input"], given["size"], given["footprint"]
    axes = axes_of(given.get("axes"), x)
    if footprint is None:
        if size is None:
            raise RuntimeError("no footprint or filter size provided")
        footprint = np.ones(each(size, len(axes)), bool)
    footprint = np.asarray(footprint, bool)
    shape, starts = [1] * np.ndim(x), [0] * np.ndim(x)
    for axis, n, start in zip(axes, footprint.shape, each(given["origin"], len(axes))):
        shape[axis], starts[axis] = n, start
    modes = ["reflect"] * np.ndim(x)
    for axis, mode in zip(axes, each(given["mode"], len(axes))):
        modes[axis] = mode
    order = [sorted(axes).index(a) for a in axes]
    inside = np.reshape(np.transpose(footprint, np.argsort(order)), shape)
    seen = [v for place, v in windows(x, shape, starts, modes, given["cval"]) if inside[place]]
    rows = np.reshape(np.stack(seen, axis=-1), (-1, len(seen)))
    values = vmap(_applied(given["function"], given), branches="split")(rows)
    return _stored(np.reshape(values, np.shape(x)), given, x)


@_twin
def geometric_transform(given: dict) -> Any:
    x = given["input"]
    shape = np.shape(x) if given["output_shape"] is None else tuple(given["output_shape"])
    grid = [np.reshape(i, -1) for i in np.indices(shape)]
    mapping = _applied(given["mapping"], given)

    def place(*index: Any) -> Any:
        return fnp.stack([fnp.asarray(c) for c in mapping(index)])

    places = np.reshape(vmap(place, branches="split")(*grid).T, (np.ndim(x), *shape))
    options = {k: given[k] for k in ("output", "order", "mode", "cval", "prefilter")}
    return dispatching(ndimage.map_coordinates)(x, places, **options)


def _summed(given: dict, func: Callable, power: int) -> Any:
    """Return the sum over the axes of what a filter makes along each."""
    x = given["input"]
    axes = axes_of(given.get("axes"), x)
    func, total = _applied(func, given), 0.0
    for axis, mode in zip(axes, each(given["mode"], len(axes))):
        total = total + func(x, axis, None, mode, given["cval"]) ** power
    return total


@_twin
def generic_gradient_magnitude(given: dict) -> Any:
    return _stored(np.sqrt(_summed(given, given["derivative"], 2)), given, given["input"])


@_twin
def generic_laplace(given: dict) -> Any:
    return _stored(_summed(given, given["derivative2"], 1), given, given["input"])


TWINS: list[tuple[Any, Any]] = [
    (getattr(ndimage, twin.__name__), twin)
    for twin in (
        generic_filter, geometric_transform, generic_gradient_magnitude, generic_laplace,
    )
]  # fmt: skip
"""Pairs of an object of SciPy and its twin."""
