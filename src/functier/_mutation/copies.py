"""Copies that NumPy has as views: neither may be written to while the other one is alive.

A few functions (`numpy.einsum` of one operand, `numpy.diag` of a matrix, `numpy.ix_`,
`sliding_window_view`) give a view in NumPy and are computed as a copy here. What the one is
written would not be seen by the other.
"""

import functools
from collections.abc import Callable
from typing import Any
from weakref import ref

import numpy as np

from .._core.ambient import AMBIENT
from .._core.errors import MutationError
from .._core.numpy_facts import name_of
from .._core.root import tree_map
from .._core.tensor import Tensor
from .._core.types import Function, Value

ndarray = np.ndarray
Partners = list[tuple[Any, str]]

PARTNERS: dict[int, tuple[Any, Partners]] = {}
"""By the number of a memory, or of an array that owns its memory: a weak reference to it, and
those that NumPy would have in the same memory, with the function that copied."""


def partners_of(place: Any) -> Partners:
    """Return the list of those that share memory with `place` in NumPy."""
    found = PARTNERS.get(id(place))
    if found is None or found[0]() is not place:
        key = id(place)
        found = PARTNERS[key] = ref(place, lambda _: PARTNERS.pop(key, None)), []
    return found[1]


def check_partners(place: Any) -> None:
    """Raise where one that shares memory with `place` in NumPy is alive."""
    if not PARTNERS:
        return
    for partner, name in PARTNERS.get(id(place), (None, ()))[1]:
        if partner() is not None:
            raise MutationError(
                f"an array cannot be written to while another one is in use that is its view in "
                f"NumPy and a copy here, made by {name}; write y = {name}(...).copy()"
            )


def inherit(place: Any, memory: Any) -> None:
    """Have `memory` share what the array `place` shares."""
    if id(place) not in PARTNERS:
        return
    for partner, name in partners_of(place):
        partners_of(memory).append((partner, name))
        other = partner()
        if other is not None:
            partners_of(other).append((ref(memory), name))


def watch(func: Function, body: Callable[..., Value]) -> Callable[..., Value]:
    """Return the body of a function whose result may be a view in NumPy."""

    @functools.wraps(body)
    def call(*args: Any, **kwargs: Any) -> Any:
        result = body(*args, **kwargs)
        if AMBIENT.get() is not Tensor:
            _note(func, args, kwargs, result)
        return result

    return call


def _note(func: Function, args: tuple, kwargs: dict, result: Any) -> None:
    """Note which of the results would share memory with which of the arguments."""
    sources: list[tuple[Any, ndarray]] = []

    def model(value: Any) -> Any:
        if isinstance(value, Tensor) and value.level.depth and type(value) is AMBIENT.get():
            window = value.level.window(value).view(ndarray)
            if window.dtype == bool:  # which a function could take for a mask
                window = window.view(np.int8)
            sources.append((value, window))
            return window
        return value

    models = tree_map(model, args)
    if not sources:
        return
    results: list[Any] = []
    tree_map(results.append, func(*models, **kwargs))
    found: list[Any] = []
    tree_map(found.append, result)
    for y, shown in zip(found, results):
        for x, window in sources:
            if isinstance(y, Tensor) and np.may_share_memory(shown, window):
                a, b = x.level.place(x), y.level.place(y)
                if a is not b:
                    partners_of(a).append((ref(b), name_of(func)))
                    partners_of(b).append((ref(a), name_of(func)))
