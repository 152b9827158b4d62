"""Views at places that differ from example to example: ``x[i]`` for an `i` of a batch.

NOTE [a number of a batch is a number]
    In one example `i` is a scalar, as a result of NumPy's functions is, and ``x[i]`` is a view. So
    it is one here, too: of the places for the number 0, and of as many further on as each example
    has to go. An index that is an array without axes gives a copy, as in NumPy.
"""

from operator import getitem
from typing import Any
from weakref import ref

import numpy as np

from .._core.numpy_facts import BASIC_PARTS, Index, Value
from .._core.tensor import Tensor
from .array import is_array
from .memory import REGION, Half, Memory, View, part_dtype
from .stores import positions_of

ndarray = np.ndarray


class ShiftedView(View):
    """Some elements of a memory, at places that differ from example to example.

    `window` shows those of an example whose numbers in the index are 0. Those of each example are
    `shift` places further on, which is a tensor.
    """

    def __init__(
        self, memory: Memory, window: ndarray, shift: Any, base: View | None = None,
        parts: tuple | None = None,
    ):  # fmt: skip
        super().__init__(memory, window, base, parts)
        self.shift = shift

    @property
    def plain(self) -> bool:
        return False

    def at(self, window: ndarray) -> View:
        return ShiftedView(self.memory, window, self.shift)

    def half(self, imaginary: bool) -> View:
        return ShiftedPartView(self.memory, self.window, self.shift, imaginary)

    def item(self, window: ndarray, parts: tuple) -> View:
        return ShiftedView(self.memory, window, self.shift, self, parts)

    def snapshot(self) -> Value:
        memory = self.memory
        if REGION.get() >= 0:
            self.check_region()
        if self.seen != memory.version:
            self.value = self.part(self.get_at(self.places_of(())))
            self.seen = memory.version
        return self.value

    def places_of(self, parts: tuple) -> Value:
        """Return the places in the memory at a basic index."""
        return _sum(self.shift, np.asarray(positions_of(self.layout)[parts]))

    def places(self, index: Index) -> Value:
        return _sum(self.shift, super().places(index))

    def element(self, parts: tuple) -> Value:
        if REGION.get() >= 0:
            self.check_region()
        return self.part(self.get_at(self.places_of(parts)))

    def put(self, parts: tuple | None, value: Value, add: bool) -> None:
        self.write_at(self.places_of(() if parts is None else parts), value, add)


class ShiftedPartView(Half, ShiftedView):
    """The same of the real or the imaginary parts of complex elements."""

    def __init__(self, memory: Memory, window: ndarray, shift: Any, imaginary: bool):
        super().__init__(memory, window, shift)
        self.imaginary, self.dtype = imaginary, part_dtype(memory)

    def at(self, window: ndarray) -> View:
        return ShiftedPartView(self.memory, window, self.shift, self.imaginary)

    def item(self, window: ndarray, parts: tuple) -> View:
        return self.at(window)


def _sum(a: Any, b: Value) -> Any:
    """Return the sum of places and of a shift, which are tensors of any levels."""
    return type(a).level.function(np.add, (a, b), {})


class _Box(ref):
    """A reference to a tensor, with the number by which it is noted."""

    key: int


BOXES: dict[int, _Box] = {}
"""The integers that are arrays without axes in NumPy, as those of `numpy.where` are."""


def note_box(x: Tensor) -> None:
    """Note that `x`, an integer of NumPy, is an array there."""
    BOXES[id(x)] = box = _Box(x, _forget)
    box.key = id(x)


def _forget(box: _Box) -> None:
    BOXES.pop(box.key, None)


def is_number(part: Any) -> bool:
    """True for a tensor that is an integer in NumPy, and no array without axes."""
    return (
        isinstance(part, Tensor)
        and not part.ndim
        and part.dtype.kind in "iu"
        and part.level.depth > 0
        and part.level.live
        and id(part) not in BOXES
        and not is_array(part)
    )


def numbers_in(index: Index) -> tuple | None:
    """Return the parts of an index that is basic but for tensors of numbers; else None."""
    parts = index if type(index) is tuple else (index,)
    found = False
    for part in parts:
        kind = type(part)
        if kind in BASIC_PARTS or issubclass(kind, np.integer):
            continue
        if not is_number(part):
            return None
        found = True
    return parts if found else None


def shifted_item(view: View, parts: tuple) -> View | None:
    """Return the view of the item at an index with tensors of numbers; None for one element."""
    window = view.window[tuple([0 if isinstance(part, Tensor) else part for part in parts])]
    if type(window) is not ndarray:
        return None
    ndim, strides = view.window.ndim, view.layout[2]
    taken = sum([part is not None and part is not ... for part in parts])
    shift, axis = None, 0
    for part in parts:
        if part is ...:
            axis += ndim - taken
        elif part is not None:
            if isinstance(part, Tensor):
                step = _step(np.arange(view.window.shape[axis]) * strides[axis], part, axis)
                shift = step if shift is None else _sum(shift, step)
            axis += 1
    if view.shift is not None:
        shift = _sum(view.shift, shift)
    if not view.whole:
        return ShiftedPartView(view.memory, window, shift, view.imaginary)
    return ShiftedView(view.memory, window, shift, view, parts)


def _step(steps: ndarray, number: Any, axis: int) -> Any:
    """Return how many places on each example is, where it asks for a number along an axis."""
    try:
        return type(number).level.function(getitem, (steps, number), {})
    except IndexError:
        raise IndexError(
            f"index {number!r} is out of bounds for axis {axis} with size {steps.size}"
        ) from None
