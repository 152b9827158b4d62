"""The stores of the kinds of level: how each writes to a value, and reads a part of it.

See NOTE [a store owns its values] in `_mutation.stores`.
"""

from typing import Any

import numpy as np

from .._core.numpy_facts import VALUES, Value, dtype_of, shape_of
from .._core.tensor import Tensor
from .._mutation.stores import (
    Layout,
    PlainStore,
    contiguous,
    deepen,
    positions_of,
    rank_at,
    store_of,
)

ndarray = np.ndarray
new = object.__new__
EVERYTHING = (slice(None),)
EMPTY: tuple = ()
NOTHING = None, None


class LevelStore:
    """The store of one level. `inner` is the store of the values one level out."""

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
            x._extra, x._moves = extra, None
        return x


# ---- batches ----


class BatchStore(LevelStore):
    """Values with leading batch axes, of size 1 where nothing that varies has been written.

    The store inside has the elements of all examples, one example after the other.
    """

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

    def put(self, layout: Layout, parts: tuple | None, value: Value, add: bool = False) -> None:
        rank = len(layout[1]) if parts is None else rank_at(len(layout[1]), parts)
        value = self.fit_value(value, rank)
        if parts is not None:
            parts = EVERYTHING * len(self.batch) + parts
        inner = self.inner  # which may be another one than before
        (inner.add if add else inner.put)(self.inside(layout), parts, value)

    def add(self, layout: Layout, parts: tuple | None, value: Value) -> None:
        self.put(layout, parts, value, add=True)

    def get_at(self, places: Value) -> Value:
        places = self.all_places(places)  # which may put another store inside
        return self.form(self.inner.get_at(places))

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
        value = self.fit_value(value, len(shape_of(places)) - len(self.batch))
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

    def fit_value(self, value: Value, rank: int) -> Value:
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
    """The values as a flat tensor of a level that records; a write makes a new one.

    What is recorded is computed later, and must not have been overwritten by then.
    """

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

    def put_at_each(self, places: Tensor, value: Value, add: bool = False) -> None:
        """Write or add at positions that differ from example to example, one after the other."""
        row = np.reshape(np.broadcast_to(value, shape_of(places)), -1)
        column = np.reshape(places, -1)
        for i in range(shape_of(column)[0]):
            there = np.arange(self.size) == column[i]
            written = self.whole + row[i] if add else np.astype(row[i], self.dtype)  # type: ignore[operator]
            self.whole = np.where(there, written, self.whole)

    def add_at(self, places: Value, value: Value) -> None:
        if isinstance(places, Tensor):
            self.put_at_each(places, value, add=True)
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

    def __init__(self, level: Any, inner: Any):
        super().__init__(level, inner)
        self.tangents: Any = PlainStore(np.zeros(inner.size, inner.dtype))
        self.tangents.lends = True

    def get(self, layout: Layout, parts: tuple | None) -> Value:
        return self.form(self.inner.get(layout, parts), self.tangents.get(layout, parts))

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
