"""Operands that are lists: arrays, as they are for NumPy."""

from collections.abc import Callable
from operator import getitem, index
from typing import Any

import numpy as np

from .._core.border import has_tensors, is_labelled, operand, without_labels
from .._core.errors import ConversionError
from .._core.op import Call, Op
from .._core.root import classes_in
from .._core.types import Value
from .._mutation.array import is_array
from .._mutation.items import stacked

ndarray = np.ndarray
LISTS = frozenset({list, tuple})
REPEATED = frozenset({list, tuple, str, bytes, bytearray})
"""Sequences that a whole number repeats."""

SEQUENCES: dict[Callable, tuple[tuple[int, str], ...]] = {
    np.hstack: ((0, "tup"),),
    np.vstack: ((0, "tup"),),
    np.dstack: ((0, "tup"),),
    np.column_stack: ((0, "tup"),),
    np.select: ((0, "condlist"), (1, "choicelist")),
    np.histogramdd: ((0, "sample"), (1, "bins")),
    np.histogram2d: ((2, "bins"),),
    np.linalg.multi_dot: ((0, "arrays"),),
}
"""Parameters of composites that take a sequence of arrays. An `Op` has its own in `variadic`."""

NESTED = {
    np.array, np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray, np.require,
    np.block, np.piecewise, np.fromiter, getitem,
}  # fmt: skip
"""Functions that look into lists themselves, or hand them on."""

ALONE: dict[Callable, tuple[int, str]] = {np.apply_along_axis: (2, "arr")}
"""The one parameter that takes an array, of functions that hand the others on."""


def repeat_sequence(a: Any, b: Any) -> Any:
    """Return ``[v] * n`` of a whole number that is no array, as of NumPy's; None for others."""
    sequence, number = (a, b) if type(a) in REPEATED else (b, a)
    if number.dtype.kind not in "iu" or is_array(number):
        return None
    return sequence * index(number)


def stack_lists(func: Callable, op: Op | None, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    """Return the arguments of a call with an array for each list of numbers that holds tensors."""
    if func in NESTED or getattr(func, "__name__", "") == "at":  # of a ufunc, with an index
        return args, kwargs
    if func in ALONE:
        place, name = ALONE[func]
        args = tuple([_stack(v, False) if i == place else v for i, v in enumerate(args)])
        return args, {key: _stack(v, False) if key == name else v for key, v in kwargs.items()}
    sequences = SEQUENCES.get(func, ())
    if op is not None and op.variadic is not None and op.variadic in op.params:
        sequences = ((op.params.index(op.variadic), op.variadic),)
    places = {key for pair in sequences for key in pair}
    args = tuple([_stack(v, i in places) for i, v in enumerate(args)])
    return args, {name: _stack(v, name in places) for name, v in kwargs.items()}


def _stack(value: Any, sequence: bool) -> Any:
    """Return a list that holds tensors as an array, or as the sequence of arrays that it is."""
    if type(value) not in LISTS:
        return value
    if sequence:
        return type(value)([_stack(v, False) for v in value])
    return stacked(value) if has_tensors(value) else value


def array_of(value: Any) -> Value:
    """Return a list as the array that NumPy makes of it."""
    return stacked(value) if has_tensors(value) else np.asarray(value)


def drop_labels(label: object, func: Callable, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    """Return arguments of a composite with arrays for those with labels, as its parts would take
    these for positions.
    """
    for value in (*args, *kwargs.values()):
        if is_labelled(value):
            plain = without_labels(func, args, kwargs)
            if plain is None:
                operand(label, value)  # raises
            return plain or (args, kwargs)
    return args, kwargs


def check_static(op: Op, call: Call) -> None:
    """Raise where a parameter beside the operands is a tensor, which nobody takes out."""
    for name, value in call.given.items():
        if name not in op.arrays and classes_in(value):
            raise ConversionError(
                f"{op.name}: its parameter {name!r} is a tensor, and has to be a plain value; "
                f"write int({name}) for a whole number that all examples share"
            )
