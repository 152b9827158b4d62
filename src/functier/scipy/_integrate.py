"""Twins for `scipy.integrate`: integrals of functions.

NOTE [an integral of parts]
    SciPy integrates plain numbers: the value of the integrand, and each of its derivatives by the
    values that it closes over (see `_parts`). So the value is SciPy's, and a derivative has the
    accuracy that was asked for, also where it is singular. A node of the rule is a plain number,
    and the integrand is called once for each.
"""

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.integrate as sci  # type: ignore[import-untyped]

from .._core.ambient import AMBIENT
from .._core.errors import UnsupportedError
from .._core.tensor import Tensor
from .._cpython.functions import copy_of_function
from .._transforms.stop_gradient import stop_gradient
from ..progress import during
from . import _boundary, _explicit, _ode
from ._integrands import (
    Integrand,
    Range,
    check_jumps,
    has_tensor,
    note_spots,
    plain_constant,
    with_limits,
)
from ._parts import Layout, NewBatch, Parts, Path
from ._steps import as_step

# ---- scipy.integrate.quad ----


@functools.wraps(sci.quad)
def quad(
    func: Callable, a: Any, b: Any, args: Any = (), full_output: Any = 0, epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8, limit: int = 50, points: Any = None, weight: Any = None,
    wvar: Any = None, wopts: Any = None, maxp1: int = 50, limlst: int = 50,
    complex_func: bool = False,
) -> Any:  # fmt: skip
    options: dict[str, Any] = {
        "epsabs": epsabs, "epsrel": epsrel, "limit": limit, "points": points, "weight": weight,
        "wvar": wvar, "wopts": wopts, "maxp1": maxp1, "limlst": limlst,
    }  # fmt: skip
    if AMBIENT.get() is Tensor or not callable(func):
        return sci.quad(func, a, b, args, full_output, complex_func=complex_func, **options)
    args = args if isinstance(args, tuple) else (args,)
    if complex_func:
        real, imag = [
            quad(_part(func, part), a, b, args, full_output, **options)
            for part in (np.real, np.imag)
        ]
        result = real[0] + 1j * imag[0], real[1] + 1j * imag[1]
        return (*result, {"real": real[2:], "imag": imag[2:]}) if full_output else result
    layout = Layout()
    while True:
        try:
            with during("scipy.integrate.quad"):
                return _quad(layout, func, a, b, args, full_output, options)
        except NewBatch:
            continue


def _part(func: Callable, part: Callable) -> Callable:
    return lambda x, *args: part(func(x, *args))


def _quad(
    layout: Layout, func: Callable, a: Any, b: Any, args: tuple, full_output: Any, options: dict
) -> Any:
    """Return the result of `quad` at the levels of a layout."""
    label = "scipy.integrate.quad"
    options = dict(options)
    for name in ("points", "wvar"):
        options[name] = plain_constant(label, name, layout, options[name])
    span = Range(label, layout, a, b)
    if options["weight"] is not None and not span.shared:
        raise UnsupportedError(
            f"{label}: with weight={options['weight']!r} the limits cannot differ from example to "
            f"example; multiply the integrand by the weight, or call it outside of vmap"
        )
    integrand = Integrand(layout, func, args, span.place, scalar=True)
    run = functools.partial(_run, integrand, span, options)
    shape = layout.batch_shape()
    examples = list(np.ndindex(shape))
    first = [run(layout.zero, e, e) for e in examples]
    if not integrand.met and not has_tensor((a, b)):
        check_jumps(label, integrand, span, options["points"], [layout.zero])
        (result,) = first
        return _with_message(label, result, full_output)
    if full_output and len(examples) != 1:
        raise UnsupportedError(
            f"{label}: full_output has one report, and there are {len(examples)} examples; leave "
            f"it out, or call it for each example outside of vmap"
        )
    for result in first:
        _with_message(label, result, full_output)
    parts: Parts = {layout.zero: np.array([r[0] for r in first], float).reshape(shape)}
    errors = np.array([r[1] for r in first], float).reshape(shape)
    for path in iter(lambda: next((p for p in integrand.paths() if p not in parts), None), None):
        parts[path] = _integral(label, run, integrand, path, examples)
    check_jumps(label, integrand, span, options["points"], parts)
    value = layout.tensor(parts)
    if has_tensor((a, b)):
        weighted = _weight(label, options["weight"], options["wvar"], a, b)
        value = with_limits(label, integrand, span, a, b, value, weighted)
    result = value, layout.constant(errors)
    return (*result, *first[0][2:]) if full_output else result


def _run(integrand: Integrand, span: Range, options: dict, path: Path, e: tuple, at: tuple) -> Any:
    """Return what SciPy returns for an element of a part, of the example `e`."""
    zero, scale, sign = 0.0, float(span.scale[e]), float(span.sign[e])
    points = options["points"]
    if points is not None:
        options = {**options, "points": span.nodes(np.asarray(points, float), e)}
    low, high = span.limits
    if not span.shared and not scale:
        high = low
    value = integrand.at

    def element(node: float) -> Any:
        part = value(node).get(path)
        return zero if part is None else part[at] * scale

    result = sci.quad(element, low, high, full_output=1, **options)
    report = result[2]
    if "alist" in report and "last" in report:
        last = report["last"]
        note_spots(integrand, span.limits, report["alist"][:last], report["blist"][:last])
    return sign * result[0] if sign < 0 else result[0], *result[1:]


def _with_message(label: str, result: tuple, full_output: Any) -> tuple:
    """Return the result of a call, and warn as SciPy does without `full_output`."""
    if full_output:
        return result
    if len(result) > 3:
        warnings.warn(result[3], sci.IntegrationWarning, stacklevel=4)
    return result[:2]


def _integral(
    label: str, run: Callable, integrand: Integrand, path: Path, examples: list
) -> np.ndarray:
    """Return the integral of each element of a part."""
    shape = integrand.shape(path)
    ndim = len(examples[0]) if examples else 0
    asked = len(integrand.known)
    values = integrand.values(path, shape)[1]
    moving = np.any(values != 0, axis=0) if asked else np.zeros(shape, bool)
    made = np.zeros(shape, np.result_type(values, float))
    complex_ = made.dtype.kind == "c"
    for at in map(tuple, np.argwhere(moving)):
        if complex_:
            raise UnsupportedError(
                f"{label}: the derivative with respect to a complex value is not supported; write "
                f"the integrand as a function of its real and imaginary parts"
            )
        result = run(path, at[:ndim], at)
        if len(result) > 3:
            warnings.warn(
                f"of a derivative of the integral: {result[3]}",
                sci.IntegrationWarning,
                stacklevel=4,
            )
        made[at] = result[0]
    return made


def _weight(label: str, weight: Any, wvar: Any, a: Any, b: Any) -> Callable | None:
    """Return the weight of an integrand as a function; refuse one that depends on the limits."""
    known: dict[Any, Any] = {
        None: None,
        "cos": lambda x: np.cos(wvar * x),
        "sin": lambda x: np.sin(wvar * x),
        "cauchy": lambda x: 1.0 / (x - wvar),
    }
    if weight not in known and any(stop_gradient(x) is not x for x in (a, b)):
        raise UnsupportedError(
            f"{label}: with weight={weight!r} a limit may not have a derivative; multiply the "
            f"integrand by the weight, or pass functier.stop_gradient of the limits"
        )
    return known.get(weight)


# ---- scipy.integrate.quad_vec ----

PARAMETERS = inspect.signature(sci.quad_vec)


@functools.wraps(sci.quad_vec)
def quad_vec(f: Callable, a: Any, b: Any, *more: Any, **options: Any) -> Any:
    if AMBIENT.get() is Tensor or not callable(f):
        return sci.quad_vec(f, a, b, *more, **options)
    given = PARAMETERS.bind(f, a, b, *more, **options).arguments
    for name in "fab":
        del given[name]
    if given.get("workers", 1) != 1:
        raise UnsupportedError(
            "scipy.integrate.quad_vec: inside a transform the integrand runs where the levels are, "
            "so workers=1 is needed; leave workers out"
        )
    layout = Layout()
    while True:
        try:
            return _quad_vec(layout, f, a, b, given)
        except NewBatch:
            continue


def _quad_vec(layout: Layout, func: Callable, a: Any, b: Any, options: dict) -> Any:
    """Return the result of `quad_vec` at the levels of a layout."""
    label = "scipy.integrate.quad_vec"
    options = dict(options)
    args, full_output = options.pop("args", ()), options.pop("full_output", False)
    points = options["points"] = plain_constant(label, "points", layout, options.get("points"))
    span = Range(label, layout, a, b)
    args = args if isinstance(args, tuple) else (args,)
    integrand = Integrand(layout, func, args, span.place, scalar=False)
    examples = list(np.ndindex(layout.batch_shape()))

    def run(path: Path, e: tuple) -> Any:
        scale, sign = float(span.scale[e]), float(span.sign[e])
        if points is not None:
            options["points"] = span.nodes(np.asarray(points, float), e)
        low, high = span.limits if span.shared or scale else (0.0, 0.0)

        def part(node: float) -> Any:
            parts = integrand.at(node)
            found = parts.get(path)
            return (np.zeros(integrand.shape(path)) if found is None else found)[e] * scale

        result = sci.quad_vec(part, low, high, **options, full_output=True)
        if np.isfinite(span.limits).all():
            note_spots(integrand, span.limits, *np.transpose(result[2].intervals))
        return result[0] * sign, *result[1:]

    first = [run(layout.zero, e) for e in examples]
    shape = layout.batch_shape()
    check_jumps(label, integrand, span, points, [layout.zero])
    if not integrand.met and not has_tensor((a, b)):
        return first[0] if full_output else first[0][:2]
    if full_output and len(examples) != 1:
        raise UnsupportedError(
            f"{label}: full_output has one report, and there are {len(examples)} examples; leave "
            f"it out, or call it for each example outside of vmap"
        )

    def joined(rows: list) -> np.ndarray:
        rows = [np.asarray(row) for row in rows]
        return np.reshape(rows, (*shape, *rows[0].shape)) if rows else np.zeros(shape)

    parts: Parts = {layout.zero: joined([r[0] for r in first])}
    for path in iter(lambda: next((p for p in integrand.paths() if p not in parts), None), None):
        if parts[layout.zero].dtype.kind == "c":
            raise UnsupportedError(
                f"{label}: a complex integrand with a derivative is not supported; integrate its "
                f"real and its imaginary part"
            )
        parts[path] = joined([run(path, e)[0] for e in examples])
    check_jumps(label, integrand, span, points, set(parts) - {layout.zero})
    value = layout.tensor(parts)
    if has_tensor((a, b)):
        value = with_limits(label, integrand, span, a, b, value)
    result = value, layout.constant(joined([r[1] for r in first]))
    return (*result, *first[0][2:]) if full_output else result


# ---- several dimensions: SciPy's code, with the twin of `quad` ----

ORIGINAL: Any = inspect.unwrap(sci.nquad)
NAMES: dict[str, Any] = {**ORIGINAL.__globals__, "quad": quad, "max": np.maximum}


def _copy(func: Any) -> Any:
    """Return SciPy's function with the twins as its globals."""
    code = inspect.unwrap(func)
    return functools.update_wrapper(copy_of_function(code, NAMES, code.__closure__), func)


ONE_INSIDE_ANOTHER: Any = NAMES["_NQuad"]
NAMES["_NQuad"] = type(
    "_NQuad", (ONE_INSIDE_ANOTHER,), {"integrate": _copy(ONE_INSIDE_ANOTHER.integrate)}
)
NAMES["nquad"] = nquad = _copy(sci.nquad)

FOLLOWED: list[tuple[Any, Any]] = [
    (sci.quad, quad),
    (sci.quad_vec, quad_vec),
    (sci.nquad, nquad),
    (sci.dblquad, _copy(sci.dblquad)),
    (sci.tplquad, _copy(sci.tplquad)),
    *_boundary.TWINS,
]
TWINS = [
    *[(original, as_step(twin)) for original, twin in FOLLOWED],
    (
        sci.solve_ivp,
        as_step(
            _ode.solve_ivp,
            functools.partial(_explicit.solve_ivp, as_step(_ode.solve_ivp)),
            _ode.takes_adjoint,
        ),
    ),
    (
        sci.odeint,
        as_step(
            _ode.odeint,
            functools.partial(_explicit.odeint, as_step(_ode.odeint)),
            _ode.takes_adjoint_of_odeint,
        ),
    ),
]
"""Pairs of an object of SciPy and its twin."""
