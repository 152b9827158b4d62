"""Functions that make arrays, which NumPy dispatches on ``like=`` only.

Static arguments give a plain array, a constant for every level. With ``like=x`` the
arguments may hold tensors, too: ``np.array([t, u], like=t)``.
"""

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from .._core.numpy_facts import PLAIN, Shape, Value
from .._core.numpy_private import ALWAYS
from .axes import as_array, as_strong
from .constructors import composite

func: Callable
for func in (
    np.zeros, np.ones, np.empty, np.eye, np.identity, np.tri, np.fromfunction,
    np.frombuffer, np.fromstring, np.fromfile, np.loadtxt, np.genfromtxt,
):  # fmt: skip
    composite(func, func)


@lambda body: composite(np.arange, body)
def _arange(*args: Value, **kwargs: Any) -> Value:
    names = ("stop",) if len(args) == 1 else ("start", "stop", "step", "dtype")
    given = dict(zip(names, args), **kwargs)
    start, stop, step = [given.get(name, n) for name, n in (("start", 0), ("stop", 0), ("step", 1))]
    if all(type(v) in PLAIN for v in (start, stop, step)):
        return np.arange(*args, **kwargs)
    dtype = given.get("dtype")
    if dtype is None:
        dtype = np.result_type(start, stop, step)
    n = int(np.ceil(np.divide(np.subtract(stop, start), step)))  # raises in a batch
    return np.add(start, np.multiply(np.arange(max(n, 0)), step)).astype(dtype)


@lambda body: composite(np.fromiter, body)
def _fromiter(
    iter: Iterable, dtype: DTypeLike | None, count: Value = -1, *, like: Value = None
) -> Value:
    values = list(iter if count < 0 else islice(iter, count))
    if not any(hasattr(v, "shape") for v in values):
        return np.fromiter(values, dtype, count)
    if len(values) < count:
        raise ValueError(f"iterator too short: Expected {count} but iterator had only {len(values)}"
                         f" items.")  # fmt: skip  # NumPy's words
    return np.stack([as_array(v) for v in values]).astype(dtype)


@lambda body: composite(np.full, body)
def _full(
    shape: Shape,
    fill_value: Value,
    dtype: DTypeLike | None = None,
    order: str | None = "C",
    *,
    device: str | None = None,
    like: Value = None,
) -> Value:
    filled = np.multiply(np.ones(shape, np.result_type(fill_value)), fill_value)
    filled = filled if dtype is None else filled.astype(dtype)
    return np.copy(filled, "F") if order == "F" else filled


def _stack_nested(value: Value) -> Value:
    """Return a nested sequence, which may hold tensors, as one array."""
    if not isinstance(value, (list, tuple)):
        return value
    leaves: list[Value] = []
    shape = _nest(value, leaves)
    if shape is None:  # arrays beside lists
        return np.stack([_stack_nested(v) for v in value])
    if not leaves:
        return np.zeros(shape)
    made = np.stack(leaves)
    return made if len(shape) == 1 else np.reshape(made, shape + np.shape(made)[1:])


def _nest(value: Value, leaves: list[Value]) -> Shape | None:
    """Return the shape of nested sequences, whose items go to `leaves`; None if it has none."""
    if not isinstance(value, (list, tuple)):
        leaves.append(value)
        return ()
    shapes = [_nest(v, leaves) for v in value]
    first = shapes[0] if shapes else ()
    return None if first is None or shapes.count(first) < len(shapes) else (len(shapes), *first)


def _convert(
    a: Value, dtype: DTypeLike | None = None, *args: Value, ndmin: int = 0, **kwargs: Any
) -> Value:
    a = _stack_nested(a)
    if ndmin and np.ndim(a) < ndmin:
        a = np.reshape(a, (1,) * (ndmin - np.ndim(a)) + np.shape(a))
    return a if dtype is None else np.astype(as_strong(as_array(a)), dtype)


@lambda body: composite(np.array, body)
def _array(a: Value, dtype: DTypeLike | None = None, *, copy: bool | None = True, **kw: Any) -> Any:
    made = _convert(a, dtype, **kw)
    copies = copy is True or copy is ALWAYS
    return np.copy(made) if copies and made is a else made


for func in (
    np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray, np.require,
):  # fmt: skip
    composite(func, _convert)
