"""Writes of a program: a memory, and its effects in their order.

The functions here are those of the nodes. They are plain NumPy; `source` writes them out.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .._core.numpy_facts import Value
from .._core.tensor import Tensor
from .._levels.stores import LevelStore
from .._mutation.layouts import window_of
from .graph import Node, form_of


def memory_of(size: int, dtype: np.dtype) -> np.ndarray:
    """Return a new memory, flat."""
    return np.empty(size, dtype)


def get(flat: np.ndarray, layout: Any, parts: tuple | None) -> Value:
    """Return a copy of what stands in a layout, or at a basic index in it."""
    window = window_of(flat, layout)
    found = window if parts is None else window[parts]
    return found.copy("K") if type(found) is np.ndarray else found


def put(flat: np.ndarray, layout: Any, parts: tuple | None, value: Value) -> None:
    window_of(flat, layout)[... if parts is None else parts] = value


def add(flat: np.ndarray, layout: Any, parts: tuple | None, value: Value) -> None:
    window = window_of(flat, layout)
    target = window[... if parts is None else whole(parts)]
    np.add(target, value, out=target, casting="same_kind")


def whole(parts: tuple) -> tuple:
    """Return an index that gives an array, also of one element."""
    return parts if any([part is ... for part in parts]) else (*parts, ...)


def get_at(flat: np.ndarray, places: Value) -> Value:
    return flat[places]


def put_at(flat: np.ndarray, places: Value, value: Value) -> None:
    flat[places] = value


def add_at(flat: np.ndarray, places: Value, value: Value) -> None:
    np.add.at(flat, places, np.broadcast_to(value, np.shape(places)))


class ProgramStore(LevelStore):
    """A memory of a program: `inner` has its values now, and `node` is its making.

    What it had before a tensor was written to it is the first effect.
    """

    __slots__ = ("node",)

    def __init__(self, level: Any, inner: Any):
        super().__init__(level, inner)
        whole = 0, (inner.size,), (1,)
        form = form_of(inner.flat)
        given = inner.size, inner.dtype
        self.node = level.add(Node(memory_of, given, {}, form, level.where_now(), memory=True))
        self.effect(put, whole, None, inner.flat.copy())

    def effect(self, func: Any, *args: Any) -> Node:
        level = self.level
        form = form_of(None)
        node = Node(func, (self.node, *args), {}, form, level.where_now(), memory=True)
        return level.add(node)

    def read(self, value: Value, func: Any, *args: Any) -> Value:
        node = self.effect(func, *args)
        node.form = form_of(value)
        return self.level.tensor(value, node)

    def both(self, x: Value) -> tuple[Any, Any]:
        """Return the node and the value of `x`."""
        if isinstance(x, Tensor):
            return self.level.symbol(x), self.level.lower(x)
        return (x.copy() if type(x) is np.ndarray else x), x

    @contextmanager
    def noted(self, places: Value) -> Iterator[None]:
        """Guard places outside of the memory: Python code may catch the error."""
        try:
            yield
        except Exception:
            if isinstance(places, Tensor):
                self.level.guard(places, "an index that is out of bounds")
            raise

    def get(self, layout: Any, parts: tuple | None) -> Value:
        parts = self.level.plain(parts)
        return self.read(np.copy(self.inner.get(layout, parts))[()], get, layout, parts)

    def put(self, layout: Any, parts: tuple | None, value: Value) -> None:
        node, value = self.both(value)
        parts = self.level.plain(parts)
        self.inner.put(layout, parts, value)
        self.effect(put, layout, parts, node)

    def add(self, layout: Any, parts: tuple | None, value: Value) -> None:
        node, value = self.both(value)
        parts = self.level.plain(parts)
        self.inner.add(layout, parts, value)
        self.effect(add, layout, parts, node)

    def get_at(self, places: Value) -> Value:
        where, inside = self.both(places)
        with self.noted(places):
            value = self.inner.get_at(inside)
        return self.read(value, get_at, where)

    def put_at(self, places: Value, value: Value) -> None:
        (where, inside), (node, value) = self.both(places), self.both(value)
        with self.noted(places):
            self.inner.put_at(inside, value)
        self.effect(put_at, where, node)

    def add_at(self, places: Value, value: Value) -> None:
        (where, inside), (node, value) = self.both(places), self.both(value)
        with self.noted(places):
            self.inner.add_at(inside, value)
        self.effect(add_at, where, node)


READS = {get, get_at}
"""The effects that read a memory."""
