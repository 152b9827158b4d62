"""Checks of the inputs of derivatives and of the results of functions."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.border import check_leaf, check_objects, name_of_kind
from .._core.errors import ConversionError
from .._core.hooks import take_in
from .._core.numpy_facts import FLOAT, PyTree, Value, dtype_of, is_lazy, shape_of
from .._core.peers import PRIMALS
from .._core.pytree import (
    LEAF,
    describe,
    differing,
    flatten,
    instead_of,
    is_value,
    paths,
    unflatten,
)
from .._core.subclasses import OVER_TENSORS, inside
from .._core.tensor import Tensor
from .._mutation.array import settle
from .cotangents import cast, is_inexact
from .level import Level
from .memory import show_plain
from .operands import taken_out

float64 = np.float64
ndarray = np.ndarray

REAL_RESULT = (
    "holomorphic=True is the derivative of a complex result: return it as it is, without "
    "numpy.real and numpy.abs, or leave holomorphic out"
)


def check_inputs(
    level: Level | str, leaves: list, where: Callable[..., list[str]], *given: Any,
    integers: bool = False,
) -> None:  # fmt: skip
    """Raise where a differentiated input is not an array of a floating-point or complex dtype,
    or with `integers` of an integer or boolean one.

    A message has the path of the leaf from ``where(*given)``.
    """
    for i, leaf in enumerate(leaves):
        kind = type(leaf)
        if kind is float or kind is float64 or (kind is ndarray and leaf.dtype is FLOAT):
            continue
        if not isinstance(leaf, Tensor):
            if not is_value(leaf):
                path = where(*given)[i]
                root = re.match(r"\w*(\[[^]]*\])?", path)[0]  # type: ignore[index]
                other = (
                    f"the {name_of_kind(leaf)} by an argument other than {root}"
                    if path != root
                    else _constant(level, "other arguments")
                )
                raise TypeError(
                    f"{level}: {path} is a {name_of_kind(leaf)}, not an array of NumPy; "
                    f"{instead_of(leaf)}, and {other}"
                )
            check_leaf(level, lambda i=i: where(*given)[i], leaf)
        if not is_inexact(leaf) and not (integers and dtype_of(leaf).kind in "iub"):
            convert = "float(x)" if kind is int or kind is bool else "x.astype(float)"
            raise TypeError(
                f"{level}: {where(*given)[i]} has dtype {dtype_of(leaf)}; derivatives need a "
                f"floating-point or complex input: pass {convert}, or {_constant(level, 'it')}"
            )


def _constant(level: Level | str, noun: str) -> str:
    """Return what to do so that a transform takes an argument for a constant."""
    name = str(level).partition("(")[0]
    if name in ("jvp", "vjp") and noun == "it":
        return f"call {name}(..., allow_int=True), which takes it for a constant"
    if name in PRIMALS:
        return f"write {PRIMALS[name]}, where y is constant"
    return f"leave {noun} out of argnums (or argnames)"


def refuse(
    level: Level | str, leaves: list, complex_: bool, reason: str, where: Callable, *given: Any
) -> None:
    """Raise where one of the leaves is complex, if `complex_` is true, or else where one is not."""
    for i, leaf in enumerate(leaves):
        if (dtype_of(leaf).kind == "c") is complex_:
            raise TypeError(f"{level}: {where(*given)[i]} has dtype {dtype_of(leaf)}; {reason}")


def split_aux(level: Level, out: Any) -> tuple[PyTree, PyTree]:
    """Return the output and the rest of the result of a function with `has_aux`."""
    if not isinstance(out, tuple) or len(out) != 2:
        raise TypeError(
            f"{level}: has_aux=True needs a function that returns (output, aux); it "
            f"returned {describe(out)}"
        )
    leaves, structure = flatten(out[1], level, "aux")
    aux = []
    for i, x in enumerate(leaves):
        x = taken_out(level, settle(inside(x)) if OVER_TENSORS else x)
        if isinstance(x, Tensor) or is_lazy(x):
            x = level.lower(x)
        else:
            check_objects(level, lambda i=i: paths(out[1], "aux")[i], x)
        aux.append(x)
    return out[0], unflatten(structure, show_plain(aux))


def arrays_of(level: Level, out: PyTree) -> tuple[list, Any]:
    """Return the leaves and the structure of a result; raise where a leaf is not an array."""
    if type(out) is level.cls:
        return [out], LEAF
    leaves, structure = flatten(out, level, "the result")
    if OVER_TENSORS:
        leaves = [settle(inside(y)) for y in leaves]
    leaves = [y if type(y) is level.cls else taken_out(level, y) for y in leaves]
    for i, y in enumerate(leaves):
        if not is_value(y):
            where = paths(out, "the result")[i]
            raise TypeError(f"{level}: {where} is a {name_of_kind(y)}; {instead_of(y, 'return')}")
        if type(y) is not level.cls:
            check_result(level, lambda i=i: paths(out, "the result")[i], y)
            if dtype_of(y).kind not in "biufc":
                raise TypeError(
                    f"{level}: {paths(out, 'the result')[i]} has dtype {dtype_of(y)}, which has no "
                    f"derivative; return arrays of numbers, and what else there is as aux"
                )
    return leaves, structure


def check_result(level: Level, where: Callable[..., str], y: Value) -> None:
    """Raise where a plain result is not one array, or is computed later.

    The graph of a Dask array may hold tensors, where nobody can see them.
    """
    check_leaf(level, where, y)
    if not isinstance(y, Tensor) and is_lazy(y):
        level.lower(y)  # raises where a tensor is found
        raise ConversionError(
            f"{level}: {where()} is an array of Dask, which is computed later, so its derivative "
            f"would be lost; return y.compute() for y"
        )


def match(
    level: Level | str, primals: list, structure: Any, tangents: PyTree, noun: str, root: str
) -> list:
    """Return the leaves of `tangents`, checked against the primals and cast to their dtypes."""
    leaves, own = flatten(tangents, level, f"the {noun}s")
    if own != structure or len(leaves) != len(primals):
        if texts := differing(tangents, unflatten(structure, primals)):
            raise ValueError(
                f"{level}: the {noun}s have the structure {texts[0]}, but {texts[1]} was "
                f"expected; pass one {noun} for each value"
            )
    matched = []
    for i, (primal, tangent) in enumerate(zip(primals, leaves)):
        if not is_value(tangent) or shape_of(tangent) != shape_of(primal):
            kind, remedy = f"is a {name_of_kind(tangent)}", instead_of(tangent)
            if is_value(tangent):
                kind, remedy = f"has shape {np.shape(tangent)}", "pass an array of that shape"
            raise ValueError(
                f"{level}: the {noun} of {paths(unflatten(structure, primals), root)[i]} {kind}, "
                f"but the value has shape {np.shape(primal)}; {remedy}"
            )
        dtype, own = dtype_of(primal), dtype_of(tangent)
        if type(tangent) is not ndarray or own is not dtype:
            where = f"the {noun} of {paths(unflatten(structure, primals), root)[i]}"
            _check_numbers(level, tangent, where)
        if own.kind == "c" and dtype.kind != "c":
            raise ValueError(
                f"{level}: the {noun} of {paths(unflatten(structure, primals), root)[i]} has "
                f"dtype {own}, but the value has dtype {dtype}; pass its real part"
            )
        if type(tangent) is float:  # Python's own division by zero raises
            tangent = np.float64(tangent)
        elif is_lazy(tangent):
            tangent = take_in(level, tangent)
        matched.append(tangent if own is dtype else cast(tangent, dtype))
    return matched


def _check_numbers(level: Level | str, tangent: Value, where: str) -> None:
    """Raise where a (co)tangent is not an array of numbers."""
    check_leaf(level, where, tangent)
    if dtype_of(tangent).kind not in "biufc":
        raise TypeError(f"{level}: {where} has dtype {dtype_of(tangent)}; pass an array of numbers")
