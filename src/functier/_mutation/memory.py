"""Memories and views: the names of an array that may be written to share one memory."""

from collections.abc import Callable
from contextvars import ContextVar
from itertools import count
from operator import getitem
from typing import Any
from warnings import warn

import numpy as np

from .._core.agreement import examples_of, settle_masks
from .._core.errors import MutationError
from .._core.hooks import complex_of
from .._core.numpy_facts import FLOAT, Index, Value, dtype_of, shape_of
from .._core.tensor import Tensor
from .selection import Choice, Selection, check_written, choice_of, spread
from .stores import (
    Layout,
    PlainStore,
    address,
    deepen,
    layout_of,
    may_meet,
    parts_of,
    positions_of,
    window_of,
)

float64 = np.float64
ndarray = np.ndarray

CHOSEN: ContextVar[tuple] = ContextVar("chosen", default=())
"""The truth values of the examples for which a function runs, where it does not for all."""

REGION: ContextVar[int] = ContextVar("region", default=-1)
"""The time at which a function began that runs again later; -1 where none does."""

clock = count()

DISCARDED = "Casting complex values to real discards the imaginary part"  # as NumPy says


class Memory:
    """The elements of an array and of all its views.

    `flat` is the memory as NumPy has it: views are views of it. Where the values are not plain
    it stands for their places alone. `home` is the class of the level that the memory was made
    in, and `version` counts the writes. Of what is `exposed` there are plain arrays. Where it is
    `closed`, elements and sums are arrays, too, as in the array API standard, which has no scalars.
    """

    def __init__(self, flat: ndarray, home: Any, store: Any = None):
        self.flat, self.home = flat, home
        self.start = address(flat)
        self.store = PlainStore(flat) if store is None else store
        self.dtype = self.store.dtype
        self.version, self.closed = 0, False
        self.exposed: tuple = ()
        self.time = next(clock)

    @property
    def plain(self) -> bool:
        """True where no tensor has been written to the memory."""
        return self.store.level is None


class View:
    """Some elements of a memory: `window` shows them in the memory as NumPy has it.

    The item of a view at a basic index `parts` can be read without a layout. A view shows
    `whole` elements or, of complex ones, a half; see `PartView`.
    """

    layout: Layout
    imaginary: bool
    whole = True

    def __init__(
        self, memory: Memory, window: ndarray, base: "View | None" = None,
        parts: tuple | None = None,
    ):  # fmt: skip
        self.memory, self.window = memory, window
        self.base, self.parts = base, parts
        self.shift: Any = None
        self.readonly: bool = not window.flags.writeable if base is None else base.readonly
        self.dtype: np.dtype = memory.dtype
        self.value: Value = None
        self.seen = -1

    def __getattr__(self, name: str) -> Layout:
        """Return the layout, which is worked out when it is first asked for."""
        if name != "layout":
            raise AttributeError(name)
        self.layout = found = layout_of(self.window, self.memory.start)
        return found

    @property
    def plain(self) -> bool:
        """True where the view shows plain values."""
        return self.memory.plain

    def at(self, window: ndarray) -> "View":
        """Return the view of the same memory that `window`, a NumPy view, shows."""
        return View(self.memory, window)

    def half(self, imaginary: bool) -> "View":
        """Return the view of the real or the imaginary parts."""
        return PartView(self.memory, self.window, imaginary)

    def item(self, window: ndarray, parts: tuple) -> "View":
        """Return the view of the item at a basic index, which `window` shows."""
        return View(self.memory, window, self, parts)

    def check_region(self) -> None:
        """Raise where a function that runs again later uses what was written to before it."""
        memory = self.memory
        if memory.time < REGION.get() and (memory.version or not memory.plain):
            raise MutationError(
                "a function that runs again in the backward pass (checkpoint) uses an array from "
                "outside that was written to, which may have changed by then; pass a copy as an "
                "argument, x.copy()"
            )

    def snapshot(self) -> Value:
        """Return a value equal to what the view shows now, which no later write changes."""
        memory = self.memory
        if REGION.get() >= 0:
            self.check_region()
        if self.seen != memory.version or memory.exposed:  # and written to
            store = memory.store
            window = self.window
            if self.readonly or may_meet(window.shape, window.strides, window.itemsize):
                # One element may stand in several places.
                value = store.get_at(positions_of(self.layout))
            else:
                base = self if self.base is None else self.base
                value = store.get(base.layout, self.parts)
            self.value = value = self.part(value)
            if type(value) is ndarray:
                value.flags.writeable = False  # others have it, too
            self.seen = memory.version
        return self.value

    def part(self, value: Value) -> Value:
        """Return what the view shows of some values of the memory: all of it."""
        return value

    def places(self, index: Index) -> Value:
        """Return the places in the memory at an index that holds arrays or tensors."""
        places = positions_of(self.layout)
        inner: Any = None
        for part in index if type(index) is tuple else (index,):
            if isinstance(part, Tensor):
                level = type(part).level
                if level.depth and (inner is None or level.depth > inner.depth):
                    inner = level
        return places[index] if inner is None else inner.function(getitem, (places, index), {})

    def element(self, parts: tuple) -> Value:
        """Return a copy of the elements at a basic index."""
        if REGION.get() >= 0:
            self.check_region()
        return self.memory.store.get(self.layout, parts)

    def read(self, index: Index) -> Value:
        """Return a copy of the elements at an index."""
        if REGION.get() >= 0:
            self.check_region()
        parts = parts_of(index)
        if parts is not None:
            return self.element(parts)
        return self.part(self.get_at(self.places(index)))

    def get_at(self, places: Value) -> Value:
        """Return a copy of the whole elements at some places of the memory."""
        store = self.memory.store
        if store.level is None:  # which may not lend its array to one around it
            store = PlainStore(store.flat)
        return deepen(store, places).get_at(places)

    def write(self, index: Index, value: Value, add: bool = False) -> None:
        """Write `value` at an index, or add it to what stands there; ``...`` is all of the view."""
        memory = self.memory
        if memory.time < REGION.get():
            raise MutationError(
                "a function that runs again in the backward pass (checkpoint) would write to an "
                "array from outside once more; make a copy inside, y = functier.numpy.array(x), "
                "and return it"
            )
        parts = () if index is ... else parts_of(index)
        choice = choice_of(index, self.window.ndim) if parts is None else None
        if choice is not None:
            index = settle_masks(index)
            choice = choice_of(index, self.window.ndim)
        if choice is not None:
            self.at(choice.shown(self.window)).write_masked(choice, value, add)
            return
        if CHOSEN.get():
            value = self.keep_others(index, value, add)
        if self.readonly:
            raise ValueError(
                f"{memory.home.level}: assignment destination is read-only; "
                f"write y = x.copy() first"
            )
        if parts is None:
            self.write_at(self.places(index), value, add)
            return
        window = self.window[parts]
        value = self.fit_value(value, window.shape)
        if type(window) is ndarray and not window.flags.c_contiguous and self.shift is None:
            if isinstance(value, Tensor) or not memory.plain:
                if may_meet(window.shape, window.strides, window.itemsize):
                    self.write_apart(parts, value, add)
                    return
        self.put(parts or None, value, add)

    def write_apart(self, parts: tuple, value: Value, add: bool) -> None:
        """Write where elements share places: each place gets the element that NumPy writes last.

        Like NumPy, a sum is computed of what stands there before the write.
        """
        last = np.full(self.memory.flat.size, -1)
        window = window_of(last, self.layout)[parts]
        window[...] = np.arange(window.size).reshape(window.shape)
        places = np.flatnonzero(last >= 0)
        value = np.add(self.element(parts), value) if add else value
        self.write_at(places, np.ravel(np.broadcast_to(value, window.shape))[last[places]])

    def put(self, parts: tuple | None, value: Value, add: bool) -> None:
        """Write a value that fits at a basic index."""
        memory = self.memory
        store = memory.store
        if store.level is None or type(value) is not store.level.cls:
            memory.store = store = deepen(store, value)
        (store.add if add else store.put)(self.layout, parts, value)
        memory.version += 1

    def keep_others(self, index: Index, value: Value, add: bool) -> Value:
        """Return what to write: examples for which the function does not run keep theirs."""
        for writer in CHOSEN.get():
            self.fit_value(value, self.window.shape if index is ... else self.shape_at(index))
            old = 0 if add else self.snapshot() if index is ... else self.read(index)
            value = np.where(writer, value, old)
        return value

    def write_masked(self, choice: Choice, value: Value, add: bool) -> None:
        """Write where a mask holds, which may differ from example to example."""
        ndim, mask = self.window.ndim, choice.mask
        if type(value) is Selection:
            value.check_same(mask)
            value = value.values
        else:
            value = check_written(mask, ndim, value, choice.first)
            if self.dtype.kind in "iub" and np.isscalar(value):
                np.zeros((), self.dtype)[...] = value  # raises as NumPy does, of a NaN for one
        old = 0 if add else self.snapshot()
        self.write(..., np.where(spread(mask, ndim), value, old), add)

    def shape_at(self, index: Index) -> tuple[int, ...]:
        """Return the shape of the elements at an index."""
        parts = parts_of(index)
        return shape_of(self.places(index) if parts is None else self.window[parts])

    def write_at(self, places: Value, value: Value, add: bool = False) -> None:
        """The same at places in the memory."""
        memory = self.memory
        value = self.fit_value(value, shape_of(places))
        memory.store = store = deepen(memory.store, places)
        if not self.whole:
            value = self.complete(value, add, lambda: store.get_at(places))
        memory.store = store = deepen(store, value)
        (store.add_at if add else store.put_at)(places, value)
        memory.version += 1

    def complete(self, value: Value, add: bool, read: Callable[[], Value]) -> Value:
        """Return `value` as whole elements of the memory, where ``read()`` are those before."""
        return value

    def fit_value(self, value: Value, target: tuple[int, ...]) -> Value:
        """Return a value that may be written to elements of the shape `target`."""
        own = self.dtype
        kind = type(value)
        if kind is float or kind is int or kind is bool:
            return value
        inner = value
        while isinstance(inner, Tensor):
            inner = inner._value
        if type(inner) is float64 and own is FLOAT:  # a value is no larger than what it holds
            return value
        if type(inner) is ndarray and inner.dtype is own and shape_of(value) == target:
            return value
        if kind is not ndarray and not isinstance(value, (Tensor, np.generic)):
            value = np.asarray(value)
        dtype, shape = dtype_of(value), shape_of(value)
        if dtype.kind == "c" and own.kind in "fiu":
            if type(inner) is complex or not issubclass(kind, (ndarray, np.generic, Tensor)):
                raise TypeError(
                    f"a complex number of Python cannot be written to an array of dtype {own}; "
                    f"write its real part, v.real, or make the array with dtype=complex"
                )
            warn(DISCARDED, np.exceptions.ComplexWarning, stacklevel=5)
            value = np.real(value)
            dtype = dtype_of(value)
        if shape != target:
            while len(shape) > len(target) and shape[0] == 1:
                shape = shape[1:]
            try:
                fits = np.broadcast_shapes(shape, target) == target
            except ValueError:
                fits = False
            if not fits:
                raise ValueError(
                    f"could not broadcast input array from shape {shape_of(value)} into shape "
                    f"{target}"
                )
        if isinstance(value, Tensor) and own.kind not in "fc" and dtype.kind in "fc":
            told: Any = None if shape else np.isfinite(value)
            finite = None if shape else examples_of(told)
            if finite is not None and not finite.all():
                raise ValueError(f"cannot convert float NaN or infinity to {own}")
            value = np.astype(value, own)  # type: ignore[call-overload]  # a tensor dispatches
        return value


def part_dtype(memory: Memory) -> np.dtype:
    """Return the dtype of the real parts of the elements."""
    return np.zeros((), memory.dtype).real.dtype


class Half:
    """The behaviour that views of the real and of the imaginary parts of elements share."""

    whole = False
    dtype: np.dtype
    imaginary: bool

    def part(self, value: Value) -> Value:
        return np.imag(value) if self.imaginary else np.real(value)

    def complete(self, value: Value, add: bool, read: Callable[[], Value]) -> Value:
        if add:
            other = np.negative(np.zeros((), self.dtype))  # -0.0, which changes no number
        else:
            whole = read()
            other = np.real(whole) if self.imaginary else np.imag(whole)
        parts = (other, value) if self.imaginary else (value, other)
        return complex_of(*parts)


class PartView(Half, View):
    """The real or the imaginary parts of complex elements."""

    def __init__(self, memory: Memory, window: ndarray, imaginary: bool):
        super().__init__(memory, window)
        self.imaginary, self.dtype = imaginary, part_dtype(memory)

    def at(self, window: ndarray) -> View:
        return PartView(self.memory, window, self.imaginary)

    def item(self, window: ndarray, parts: tuple) -> View:
        return self.at(window)

    def element(self, parts: tuple) -> Value:
        return self.part(super().element(parts))

    def put(self, parts: tuple | None, value: Value, add: bool) -> None:
        store = self.memory.store
        value = self.complete(value, add, lambda: store.get(self.layout, parts))
        super().put(parts, value, add)


class Notes:
    """Notes of a level on the memory of its tensors; most levels have none.

    Where its tensors may be written to, it has `taken`: references to views, by the arrays that
    own their memory. All others may be of any level: `partners` are copies that NumPy has as views
    (see `copies`), and `rows` those that become views at a write; `points` are arrays without axes
    (see `_levels.views` for these), and `laid` those that lie in another order than NumPy's (see
    `_levels.lying`). The keys are the numbers of objects.
    """

    def __init__(self, taken: dict[int, list] | None = None):
        self.taken = taken
        self.partners: dict[int, Any] = {}
        self.rows: dict[int, Any] = {}
        self.points: dict[int, Any] = {}
        self.laid: dict[int, tuple] = {}


def notes_of(level: Any) -> Notes:
    """Return the notes of a level, which has them from now on."""
    if level.notes is None:
        level.notes = Notes()
    return level.notes
