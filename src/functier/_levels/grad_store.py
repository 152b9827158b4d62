"""The store of a level that records a tape: writes to a value, and reads of a part of it.

NOTE [the tape of a write]
    A memory of a grad level has one chain of nodes, of which each write is one. The parent of
    what is read is the last of them. The cotangent of all of them is one object, a `Cotangent`,
    that owns a store of the memory's form. The backward pass hands it down the chain: a write
    takes the cotangent of its slice and leaves zeros there. What was read adds to its slice when
    all later writes are done, as the pass visits nodes in falling order. Each costs the size of
    its slice, and the memory's cotangent is written to in place, at every order.
"""

from typing import Any

import numpy as np

from .._core.numpy_facts import FLOAT, Shape, Value, dtype_of, shape_of
from .._core.tensor import Tensor
from .._mutation.array import settle
from .._mutation.stores import Layout, PlainStore, contiguous, deepen
from .cotangents import fit
from .second_look import MEMORIES
from .stores import LevelStore
from .tape import node_numbers

float64 = np.float64
ndarray = np.ndarray
new = object.__new__
SCALAR: tuple[Shape, np.dtype] = (), FLOAT


class GradStore(LevelStore):
    """Primals, in the store `inner`, and the last node of the chain.

    See NOTE [the tape of a write].
    """

    def __init__(self, level: Any, inner: Any):
        super().__init__(level, inner)
        self.node: Any = (next(node_numbers), None)
        self.blank = inner.size, inner.dtype

    def get(self, layout: Layout, parts: tuple | None) -> Value:
        return self.read(self.inner.get(layout, parts), _read_slice, (layout, parts))

    def get_at(self, places: Value) -> Value:
        self.inner = deepen(self.inner, places)
        return self.read(self.inner.get_at(places), _read_places, (places,))

    def read(self, value: Value, rule: Any, where: tuple) -> Value:
        """Return a part that was read; its parent is the memory as it is now."""
        x = new(self.level.cls)
        x._value = value
        x._extra = next(node_numbers), self.node, rule, (*where, self.blank), None, None
        return x

    def put(self, layout: Layout, parts: tuple | None, value: Value) -> None:
        primal = self.primal(value)
        self.inner.put(layout, parts, primal)
        self.add_write(value, primal, _pull_slice, (layout, parts), _clear_slice)

    def put_at(self, places: Value, value: Value) -> None:
        self.inner = deepen(self.inner, places)
        primal = self.primal(value)
        self.inner.put_at(places, primal)
        kept = _last_writes(places) if self.mine(value) else None
        self.add_write(value, primal, _pull_places, (places, kept), _clear_places)

    def add(self, layout: Layout, parts: tuple | None, value: Value) -> None:
        primal = self.primal(value)
        self.inner.add(layout, parts, primal)
        if self.mine(value):
            self.add_write(value, primal, _pull_slice, (layout, parts), _keep)

    def add_at(self, places: Value, value: Value) -> None:
        self.inner = deepen(self.inner, places)
        primal = self.primal(value)
        self.inner.add_at(places, primal)
        if self.mine(value):
            self.add_write(value, primal, _pull_places, (places, None), _keep)

    def primal(self, value: Value) -> Value:
        primal = value._value if type(value) is self.level.cls else self.level.lower(value)
        if isinstance(primal, Tensor):
            self.inner = deepen(self.inner, primal)
        return primal

    def add_write(self, value: Value, primal: Value, pull: Any, where: tuple, clear: Any) -> None:
        """Put a write on the chain. The value's cotangent is read before the slice is cleared."""
        node = self.node
        if type(value) is self.level.cls:
            form = SCALAR if type(primal) is float64 else (shape_of(primal), dtype_of(primal))
            saved = (*where, form)
            rest = node, clear, where, None, None
            self.node = next(node_numbers), value._extra, pull, saved, None, rest
        else:
            self.node = next(node_numbers), node, clear, where, None, None


class Cotangent:
    """The cotangent of a memory, which the backward pass writes to.

    It begins with the cotangent `part` of a part that was read, and adds it when the `store`
    of all elements is needed. `blank` is the size and the dtype of the memory.
    """

    __slots__ = ("_store", "add_part", "blank", "part", "where")

    def __init__(self, part: Value, add_part: Any, where: tuple, blank: tuple):
        self.part, self.add_part, self.where, self.blank = part, add_part, where, blank
        self._store: Any = None

    def __add__(self, other: "Cotangent") -> "Cotangent":
        """Add what was read from the same memory, in place."""
        if other._store is None:
            other.add_part(self, *other.where, other.part)
        else:
            everything = contiguous((self.blank[0],))
            _add_slice(self, everything, None, other.store.get(everything, None))
        return self

    @property
    def store(self) -> Any:
        if self._store is None:
            self._store = PlainStore(np.zeros(*self.blank))
            self.add_part(self, *self.where, self.part)
            self.part = None
        return self._store

    def take(self, *values: Value) -> Any:
        """Return the store, which takes `values`."""
        self._store = store = deepen(self.store, *values)
        return store


MEMORIES.add(Cotangent)


def _read_slice(g: Value, layout: Layout, parts: tuple | None, blank: tuple) -> Cotangent:
    return Cotangent(g, _add_slice, (layout, parts), blank)


def _read_places(g: Value, places: Value, blank: tuple) -> Cotangent:
    return Cotangent(g, _add_places, (places,), blank)


def _add_slice(whole: Cotangent, layout: Layout, parts: tuple | None, g: Value) -> None:
    if type(g) is float64:
        whole.store.add(layout, parts, g)
    else:
        g = settle(g)  # a rule may have made an array
        g = fit(g, shape_of(g), whole.blank[1])
        whole.take(g).add(layout, parts, g)


def _add_places(whole: Cotangent, places: Value, g: Value) -> None:
    g = settle(g)
    g = fit(g, shape_of(g), whole.blank[1])
    whole.take(places, g).add_at(places, g)


def _pull_slice(
    whole: Cotangent, layout: Layout, parts: tuple | None, form: tuple[Shape, np.dtype]
) -> Value:
    """The cotangent of a value that was written to a slice."""
    g = whole.store.get(layout, parts)
    return g if form is SCALAR and type(g) is float64 else fit(g, *form)


def _pull_places(
    whole: Cotangent, places: Value, kept: Value, form: tuple[Shape, np.dtype]
) -> Value:
    """The cotangent of a value that was written to some places, and `kept` at these."""
    g = whole.take(places).get_at(places)
    return fit(g if kept is None else np.where(kept, g, 0.0), *form)


def _clear_slice(whole: Cotangent, layout: Layout, parts: tuple | None) -> Cotangent:
    """The memory's cotangent before a slice was overwritten."""
    whole.store.put(layout, parts, 0.0)
    return whole


def _clear_places(whole: Cotangent, places: Value, kept: Value) -> Cotangent:
    whole.take(places).put_at(places, 0.0)
    return whole


def _keep(whole: Cotangent, *where: Any) -> Cotangent:
    return whole


def _last_writes(places: Value) -> Value:
    """Tell which places are the last of several equal ones; None where no place comes twice."""
    shape = shape_of(places)
    if len(shape) == 0 or (type(places) is ndarray and places.size < 2):
        return None
    flat = np.reshape(places, -1)
    order = np.argsort(flat, kind="stable")
    places_in_order = np.take_along_axis(flat, order, 0)
    differs = places_in_order[1:] != places_in_order[:-1]
    if type(differs) is ndarray and differs.all():
        return None
    last = np.concatenate([differs, np.ones(1, bool)])
    return np.reshape(np.take_along_axis(last, np.argsort(order), 0), shape)
