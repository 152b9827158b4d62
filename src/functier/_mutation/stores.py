"""Stores: what a memory holds at each level, and layouts: which elements a view shows.

A memory is flat. A layout is ``(offset, shape, strides)``, counted in elements.

NOTE [a store owns its values]
    A store holds the elements of one memory, which nobody else refers to. It is written to in
    place, and what is read is a copy of that part: so what a rule saved never changes, and a
    write costs the size of its slice. A store of a level holds stores of the values one level
    out; a plain array is at the bottom of all of them.

NOTE [a store grows inwards]
    A store takes values of its level and of the levels around it. For a value of a level
    further in `deepen` puts a store of that level around it, as if all that was written
    before had been a constant of that level.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from .._core.numpy_facts import BASIC_PARTS, Index, Shape, Value, dtype_of, shape_of
from .._core.tensor import Tensor

ndarray = np.ndarray
Layout: TypeAlias = tuple[int, Shape, tuple[int, ...]]


def address(array: ndarray) -> int:
    """Return the address of the first element."""
    return array.__array_interface__["data"][0]


def layout_of(window: ndarray, start: int) -> Layout:
    """Return the layout of a NumPy view of the memory that begins at the address `start`."""
    if not window.size:
        return 0, window.shape, (0,) * window.ndim
    size = window.itemsize
    strides = tuple([stride // size for stride in window.strides])
    return (address(window) - start) // size, window.shape, strides


def window_of(flat: ndarray, layout: Layout) -> ndarray:
    """Return the NumPy view that a layout describes of a flat array."""
    offset, shape, strides = layout
    size, start = flat.itemsize, offset * bool(flat.size)  # of no elements NumPy takes no offset
    return ndarray(shape, flat.dtype, flat, start * size, [stride * size for stride in strides])


def contiguous(shape: Shape) -> Layout:
    """Return the layout of a whole memory, in C order."""
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= n
    return 0, shape, tuple(reversed(strides))


def model_layout(window: ndarray, dtype: Any = bool) -> ndarray:
    """Return a view of a new flat array whose elements lie as those of `window` do.

    Whether NumPy reshapes by a view depends on that. Large gaps become small ones.
    """
    size, own = window.itemsize, np.dtype(dtype).itemsize
    steps = [s // size if n > 1 else 0 for s, n in zip(window.strides, window.shape)]
    gap = math.gcd(*steps) if steps else 1
    if gap > 2:
        steps = [step // gap * 2 for step in steps]
    reach = [step * (n - 1) for step, n in zip(steps, window.shape)]
    total = 1 + sum(map(abs, reach))
    if not window.size or total > 8 * window.size:
        form = np.empty_like(window, dtype)
        flat = form.ravel(order="K")
        return ndarray(form.shape, dtype, flat, 0, form.strides)
    flat, start = np.empty(total, dtype), -sum([min(0, r) for r in reach])
    return ndarray(window.shape, dtype, flat, start * own, [step * own for step in steps])


def laid_as(window: ndarray, value: ndarray) -> ndarray:
    """Return a copy of `value` whose elements lie in memory as those of `window` do."""
    made = model_layout(window, value.dtype)
    made[...] = value
    return made


@lru_cache(4096)
def may_meet(shape: Shape, strides: tuple[int, ...], size: int) -> bool:
    """Return whether two elements of a view may share a place, as those of windows that overlap.

    The strides and the `size` of an element are in the same unit.
    """
    extent = size
    for step, n in sorted([(abs(step), n) for step, n in zip(strides, shape) if n > 1]):
        if step < extent:
            return True
        extent += step * (n - 1)
    return False


def positions_of(layout: Layout) -> ndarray:
    """Return the places in the memory of the elements that a layout shows, in its shape."""
    offset, shape, strides = layout
    places = np.full(shape, offset)
    for axis, (n, stride) in enumerate(zip(shape, strides)):
        places += (np.arange(n) * stride).reshape((n,) + (1,) * (len(shape) - axis - 1))
    return places


def parts_of(index: Index) -> tuple | None:
    """Return the parts of a basic index; None for one that holds arrays, lists or tensors."""
    if type(index) is int:
        return (index,)
    parts = index if type(index) is tuple else (index,)
    for part in parts:
        kind = type(part)
        if kind not in BASIC_PARTS:
            if not issubclass(kind, np.integer):
                return None
    return parts


def rank_at(ndim: int, parts: tuple) -> int:
    """Return how many axes the elements at a basic index have."""
    for part in parts:
        if part is None:
            ndim += 1
        elif part is not Ellipsis and type(part) is not slice:
            ndim -= 1
    return ndim


WINDOWS = 64
"""Up to so many views of a plain store are kept."""


class PlainStore:
    """A flat array, and views of it.

    A store that `lends` gives a view of the array itself to who reads all of it; it is then
    `lent`, and the next write goes to a copy. That of a plain memory does not, as other arrays
    are views of it, too. What is lent has the strides of a copy, which order a sum.
    """

    level: Any = None

    def __init__(self, flat: ndarray):
        self.flat = flat
        self.lends = self.lent = False
        self.windows: dict[Layout, ndarray] = {}
        self.layout: Layout | None = None  # the last one, and the view of it
        self.shown = flat

    @property
    def dtype(self) -> np.dtype:
        return self.flat.dtype

    @property
    def size(self) -> int:
        return self.flat.size

    def window(self, layout: Layout) -> ndarray:
        if layout is self.layout:
            return self.shown
        found = self.windows.get(layout)
        if found is None:
            if len(self.windows) > WINDOWS:
                self.windows.clear()
            found = self.windows[layout] = window_of(self.flat, layout)
        self.layout, self.shown = layout, found
        return found

    def get(self, layout: Layout, parts: tuple | None) -> Value:
        """Return a copy of what stands in a layout, or at a basic index in it."""
        window = self.shown if layout is self.layout else self.window(layout)
        if parts is None:
            if self.lends and window.size == self.flat.size and min(layout[2], default=1) > 0:
                self.lent = True
                return window.view()
            return window.copy("K")
        found = window[parts]
        return found.copy("K") if type(found) is ndarray else found

    def keep(self) -> None:
        """Leave the array to those that it was lent to, and go on with a copy."""
        self.flat = self.flat.copy()
        self.windows.clear()
        self.layout, self.lent = None, False

    def put(self, layout: Layout, parts: tuple | None, value: Value) -> None:
        if self.lent:
            self.keep()
        window = self.shown if layout is self.layout else self.window(layout)
        window[... if parts is None else parts] = value

    def add(self, layout: Layout, parts: tuple | None, value: Value) -> None:
        if self.lent:
            self.keep()
        window = self.shown if layout is self.layout else self.window(layout)
        target = window if parts is None else window[parts]
        if type(target) is type(value) is not ndarray:  # one element, of the same dtype
            window[parts] = target + value
            return
        if type(target) is not ndarray:
            target = window[(*parts, ...)]  # type: ignore[misc, arg-type]
        np.add(target, value, out=target, casting="same_kind")

    def get_at(self, places: Value) -> Value:
        """Return what stands at some places of the memory."""
        return self.flat[places]

    def put_at(self, places: Value, value: Value) -> None:
        if self.lent:
            self.keep()
        self.flat[places] = value

    def add_at(self, places: Value, value: Value) -> None:
        """Add values at some places; to one that comes twice both are added."""
        if self.lent:
            self.keep()
        # NumPy 2.4 leaves repeats out where it has to broadcast the values itself.
        np.add.at(self.flat, places, np.broadcast_to(value, np.shape(places)))


def deepen(store: Any, *values: Value) -> Any:
    """Return `store`, or a store around it that takes `values` too.

    See NOTE [a store grows inwards].
    """
    level = inner = store.level
    for value in values:
        if isinstance(value, Tensor):
            other = type(value).level
            if other.depth and (inner is None or other.depth > inner.depth):
                inner = other
    return store if inner is level else inner.kind.store.around(inner, store)


def store_of(value: Value) -> Any:
    """Return a store of a copy of `value`, in C order."""
    shape = shape_of(value)
    store = deepen(PlainStore(np.empty(math.prod(shape), dtype_of(value))), value)
    store.put(contiguous(shape), None, value)
    return store


def add_in_memory(shape: Shape, places: Sequence[Index], *pieces: Value) -> Value:
    """Add each piece at its index to zeros, by one write each."""
    layout = contiguous(shape)
    flat = np.zeros(math.prod(shape), np.result_type(*{dtype_of(piece) for piece in pieces}))
    store = deepen(PlainStore(flat), *pieces)
    for index, piece in zip(places, pieces):
        parts = parts_of(index)
        if parts is None:
            found = np.arange(flat.size).reshape(shape)[index]
            store.add_at(found, np.broadcast_to(piece, found.shape))
        else:
            store.add(layout, parts, piece)
    return store.get(layout, None)
