"""The stores of the kinds of level: how each writes to a value, and reads a part of it.

See NOTE [a store owns its values] in `_mutation.stores`.

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

from .._core.numpy_facts import FLOAT, VALUES, dtype_of, shape_of
from .._core.tensor import Tensor
from .._core.types import Shape, Value
from .._mutation.layouts import Layout, contiguous, positions_of, rank_at
from .._mutation.stores import PlainStore, deepen, store_of
from .cotangents import fit
from .tape import node_numbers

float64 = np.float64
ndarray = np.ndarray
new = object.__new__
EVERYTHING = (slice(None),)
EMPTY: tuple = ()
NOTHING = None, None
SCALAR: tuple[Shape, np.dtype] = (), FLOAT


class LevelStore:
    """The store of one level. `inner` is the store of the values one level out."""

    __slots__ = ("inner", "level")

    level: Any
    inner: Any

    def __init__(self, level: Any, inner: Any):
        self.level, self.inner = level, inner
        if type(inner) is PlainStore:
            inner.lends = True

    @classmethod
    def around(cls, level: Any, inner: Any) -> Any:
        """Return a store of `level` whose values are those of `inner`."""
        return cls(level, inner)

    @property
    def dtype(self) -> np.dtype:
        return self.inner.dtype

    @property
    def size(self) -> int:
        """The number of elements of the memory."""
        return self.inner.size

    def mine(self, value: Value) -> bool:
        return type(value) is self.level.cls

    def form(self, value: Value, extra: Any = EMPTY) -> Any:
        """Return a tensor of the level with these slots."""
        x = new(self.level.cls)
        x._value = value
        if extra is not EMPTY:
            x._extra = extra
        return x


# ---- batches ----


class BatchStore(LevelStore):
    """Values with leading batch axes, of size 1 where nothing that varies has been written.

    The store inside has the elements of all examples, one example after the other.
    """

    __slots__ = ("batch", "count", "last", "layouts")

    def __init__(self, level: Any, inner: Any, batch: tuple[int, ...], count: int):
        super().__init__(level, inner)
        self.batch, self.count = batch, count
        self.layouts: dict[Layout, Layout] = {}
        self.last: tuple[Any, Any] = NOTHING

    @classmethod
    def around(cls, level: Any, inner: Any) -> Any:
        if inner.level is not None and inner.level in level.group():
            more = (1,) * (level.k - inner.level.k)
            return cls(level, inner.inner, inner.batch + more, inner.count)
        return cls(level, inner, (1,) * level.k, inner.size)

    @property
    def size(self) -> int:
        return self.count

    def inside(self, layout: Layout) -> Layout:
        """Return the layout of all examples in the store inside."""
        if layout is self.last[0]:
            return self.last[1]
        found = self.layouts.get(layout)
        if found is None:
            offset, shape, strides = layout
            _, _, lead = contiguous((*self.batch, self.count))
            if len(self.layouts) > 64:
                self.layouts.clear()
            found = offset, self.batch + shape, lead[:-1] + strides
            self.layouts[layout] = found
        self.last = layout, found
        return found

    def get(self, layout: Layout, parts: tuple | None) -> Value:
        if parts is not None:
            parts = EVERYTHING * len(self.batch) + parts
        return self.form(self.inner.get(self.inside(layout), parts))

    def put(self, layout: Layout, parts: tuple | None, value: Value) -> None:
        rank = len(layout[1]) if parts is None else rank_at(len(layout[1]), parts)
        value = self.fitted(value, rank)
        if parts is not None:
            parts = EVERYTHING * len(self.batch) + parts
        self.inner.put(self.inside(layout), parts, value)

    def add(self, layout: Layout, parts: tuple | None, value: Value) -> None:
        rank = len(layout[1]) if parts is None else rank_at(len(layout[1]), parts)
        value = self.fitted(value, rank)
        if parts is not None:
            parts = EVERYTHING * len(self.batch) + parts
        self.inner.add(self.inside(layout), parts, value)

    def get_at(self, places: Value) -> Value:
        return self.form(self.inner.get_at(self.all_places(places)))

    def put_at(self, places: Value, value: Value) -> None:
        places, value = self.examples(places, value)
        self.inner.put_at(places, value)

    def add_at(self, places: Value, value: Value) -> None:
        places, value = self.examples(places, value)
        self.inner.add_at(places, value)

    def examples(self, places: Value, value: Value) -> tuple[Value, Value]:
        """Return the places in the store inside, and the values with their rank."""
        places = self.level.lift(places)
        self.widen(shape_of(places)[: len(self.batch)])
        value = self.fitted(value, len(shape_of(places)) - len(self.batch))
        places = self.all_places_of(places)
        self.inner = deepen(self.inner, places)
        return places, value

    def all_places(self, places: Value) -> Value:
        """Return the places in the store inside, for all examples."""
        places = self.all_places_of(self.level.lift(places))
        self.inner = deepen(self.inner, places)
        return places

    def all_places_of(self, places: Value) -> Value:
        k, count = len(self.batch), self.count
        rest = (1,) * (len(shape_of(places)) - k)
        for axis, step in enumerate(contiguous((*self.batch, count))[2][:-1]):
            n = self.batch[axis]
            if n != 1:
                lead = (n,) + (1,) * (k - axis - 1)
                places = places + (np.arange(n) * step).reshape(lead + rest)
        return places

    def fitted(self, value: Value, rank: int) -> Value:
        """Return what to write to the store inside; the batch grows to that of `value`."""
        batch = self.batch
        k = len(batch)
        if type(value) is self.level.cls:
            inner = value._value
            if type(inner) is ndarray and inner.ndim == k + rank and inner.shape[:k] == batch:
                return inner
        value = self.level.lift(value)
        shape = shape_of(value)
        if len(shape) >= k:
            self.widen(shape[:k])
            own = len(shape) - k
            if own < rank:
                value = np.reshape(value, shape[:k] + (1,) * (rank - own) + shape[k:])
            elif own > rank:  # NumPy leaves leading axes of size 1 out
                value = np.reshape(value, shape[:k] + shape[k + own - rank :])
        self.inner = deepen(self.inner, value)
        return value

    def widen(self, batch: tuple[int, ...]) -> None:
        """Give each example its part of the memory along the axes where `batch` varies."""
        if all(n == 1 or n == own for n, own in zip(batch, self.batch)):
            return
        batch = tuple([own if n == 1 else n for n, own in zip(batch, self.batch)])
        value = self.inner.get(contiguous((*self.batch, self.count)), None)
        self.inner = store_of(np.broadcast_to(value, (*batch, self.count)))
        self.batch = batch
        self.layouts.clear()
        self.last = NOTHING


# ---- levels that record ----


class RecordStore(LevelStore):
    """The values as a flat tensor of a level that records: a write makes a new one.

    What is recorded is computed later, and may not be written over by then.
    """

    __slots__ = ("whole",)

    def __init__(self, level: Any, inner: Any):
        super().__init__(level, inner)
        self.whole: Value = inner.get(contiguous((inner.size,)), None)

    @property
    def dtype(self) -> np.dtype:
        return dtype_of(self.whole)

    def get(self, layout: Layout, parts: tuple | None) -> Value:
        return self.get_at(_places(layout, parts))

    def put(self, layout: Layout, parts: tuple | None, value: Value) -> None:
        self.put_at(_places(layout, parts), value)

    def add(self, layout: Layout, parts: tuple | None, value: Value) -> None:
        self.put(layout, parts, self.get(layout, parts) + value)

    def get_at(self, places: Value) -> Value:
        return self.whole[places]  # type: ignore[index]

    def put_at(self, places: Value, value: Value) -> None:
        if isinstance(places, Tensor):
            self.put_at_each(places, value)
            return
        sources = np.zeros(self.size, int)
        there = np.zeros(self.size, bool)
        sources[places] = np.arange(places.size).reshape(places.shape)
        there[places] = True
        row = np.reshape(np.broadcast_to(value, places.shape), -1)
        value = np.astype(row[sources], self.dtype) if places.size else self.whole
        self.whole = np.where(there, value, self.whole)

    def put_at_each(self, places: Tensor, value: Value) -> None:
        """The same at places that differ from example to example, one after the other."""
        row = np.reshape(np.broadcast_to(value, shape_of(places)), -1)
        column = np.reshape(places, -1)
        for i in range(shape_of(column)[0]):
            there = np.arange(self.size) == column[i]
            self.whole = np.where(there, np.astype(row[i], self.dtype), self.whole)

    def add_at(self, places: Value, value: Value) -> None:
        if isinstance(places, Tensor):
            row = np.reshape(np.broadcast_to(value, shape_of(places)), -1)
            column = np.reshape(places, -1)
            for i in range(shape_of(column)[0]):
                there = np.arange(self.size) == column[i]
                self.whole = np.where(there, self.whole + row[i], self.whole)  # type: ignore[operator]
            return
        row = np.reshape(np.broadcast_to(value, places.shape), -1)
        for i, place in enumerate(places.reshape(-1)):
            self.put_at(place, self.whole[place] + row[i])  # type: ignore[index]


def _places(layout: Layout, parts: tuple | None) -> np.ndarray:
    places = positions_of(layout)
    return places if parts is None else np.asarray(places[parts])


# ---- forward mode ----


class JvpStore(LevelStore):
    """Primals, in the store `inner`, and their tangents."""

    __slots__ = ("tangents",)

    def __init__(self, level: Any, inner: Any):
        super().__init__(level, inner)
        self.tangents: Any = PlainStore(np.zeros(inner.size, inner.dtype))
        self.tangents.lends = True

    def get(self, layout: Layout, parts: tuple | None) -> Value:
        x = new(self.level.cls)
        x._value, x._extra = self.inner.get(layout, parts), self.tangents.get(layout, parts)
        return x

    def get_at(self, places: Value) -> Value:
        self.deepen(places, places)
        return self.form(self.inner.get_at(places), self.tangents.get_at(places))

    def put(self, layout: Layout, parts: tuple | None, value: Value) -> None:
        primal, tangent = self.halves(value)
        self.inner.put(layout, parts, primal)
        self.tangents.put(layout, parts, tangent)

    def put_at(self, places: Value, value: Value) -> None:
        self.deepen(places, places)
        primal, tangent = self.halves(value)
        self.inner.put_at(places, primal)
        self.tangents.put_at(places, tangent)

    def add(self, layout: Layout, parts: tuple | None, value: Value) -> None:
        primal, tangent = self.halves(value)
        self.inner.add(layout, parts, primal)
        if self.mine(value):
            self.tangents.add(layout, parts, tangent)

    def add_at(self, places: Value, value: Value) -> None:
        self.deepen(places, places)
        primal, tangent = self.halves(value)
        self.inner.add_at(places, primal)
        if self.mine(value):
            self.tangents.add_at(places, tangent)

    def halves(self, value: Value) -> tuple[Value, Value]:
        """Return the primal and the tangent of a value, which the stores inside take."""
        if type(value) is self.level.cls:
            primal, tangent = value._value, value._extra
        else:
            primal, tangent = self.level.lower(value), 0.0
        if type(primal) not in VALUES or type(tangent) not in VALUES:
            self.deepen(primal, tangent)
        return primal, tangent

    def deepen(self, primal: Value, tangent: Value) -> None:
        if isinstance(primal, Tensor):
            self.inner = deepen(self.inner, primal)
        if isinstance(tangent, Tensor):
            self.tangents = deepen(self.tangents, tangent)


# ---- reverse mode ----


class GradStore(LevelStore):
    """Primals, in the store `inner`, and the last node of the chain.

    See NOTE [the tape of a write].
    """

    __slots__ = ("blank", "node")

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
        self.wrote(value, primal, _pull_slice, (layout, parts), _clear_slice)

    def put_at(self, places: Value, value: Value) -> None:
        self.inner = deepen(self.inner, places)
        primal = self.primal(value)
        self.inner.put_at(places, primal)
        kept = _last_writes(places) if self.mine(value) else None
        self.wrote(value, primal, _pull_places, (places, kept), _clear_places)

    def add(self, layout: Layout, parts: tuple | None, value: Value) -> None:
        primal = self.primal(value)
        self.inner.add(layout, parts, primal)
        if self.mine(value):
            self.wrote(value, primal, _pull_slice, (layout, parts), _keep)

    def add_at(self, places: Value, value: Value) -> None:
        self.inner = deepen(self.inner, places)
        primal = self.primal(value)
        self.inner.add_at(places, primal)
        if self.mine(value):
            self.wrote(value, primal, _pull_places, (places, None), _keep)

    def primal(self, value: Value) -> Value:
        primal = value._value if type(value) is self.level.cls else self.level.lower(value)
        if isinstance(primal, Tensor):
            self.inner = deepen(self.inner, primal)
        return primal

    def wrote(self, value: Value, primal: Value, pull: Any, where: tuple, clear: Any) -> None:
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


def _read_slice(g: Value, layout: Layout, parts: tuple | None, blank: tuple) -> Cotangent:
    return Cotangent(g, _add_slice, (layout, parts), blank)


def _read_places(g: Value, places: Value, blank: tuple) -> Cotangent:
    return Cotangent(g, _add_places, (places,), blank)


def _add_slice(whole: Cotangent, layout: Layout, parts: tuple | None, g: Value) -> None:
    if type(g) is float64:
        whole.store.add(layout, parts, g)
    else:
        g = fit(g, shape_of(g), whole.blank[1])
        whole.take(g).add(layout, parts, g)


def _add_places(whole: Cotangent, places: Value, g: Value) -> None:
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
    """Where the last of several writes to one place stands; None where no place comes twice."""
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
