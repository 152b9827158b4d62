"""Steps of a part, whose arrays lie at places that are known, or grow with the steps of loops.

NOTE [values and places]
    A value of the program is a `Ref`: an array at a place of a buffer, and the steps that write
    it. A view is another `Ref` of the same steps. A number that an array has everywhere is a
    `Literal`, which needs no memory.

NOTE [levels]
    A loop has a level: the number of loops around it. What grows has a step for each level, the
    outermost first. In the routine of a loop there are counters of all levels up to its own.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...graph import Form, changed, instances_in
from ...loops import Count, parts_of_count
from ..loops.nests import Literal
from ..text.routines import packed_strides

__all__ = ["Buffer", "Literal", "Part", "Place", "Ref", "Step", "Unknown", "dense", "strides_out"]


class Unknown(BaseException):
    """The machine does not know a node; the text is the reason."""


class Buffer:
    """Memory: of an input, an output, a constant, or a part of the arena.

    `size` counts bytes. `index` numbers inputs, outputs and constants.
    """

    __slots__ = ("index", "kind", "offset", "size")

    def __init__(self, size: int, kind: str = "arena", index: int = -1):
        self.size, self.kind, self.index = size, kind, index
        self.offset = 0


class Place(NamedTuple):
    """The place of the elements of an array: a buffer, and an offset and strides in bytes."""

    buffer: Buffer
    offset: int
    strides: tuple[int, ...]


class Ref(NamedTuple):
    """A value: `steps` write it.

    It is `straight` if it is the result of its one step, apart from axes of size 1.
    """

    shape: tuple[int, ...]
    dtype: np.dtype
    place: Place
    steps: tuple["Step", ...]
    straight: bool = False

    @property
    def size(self) -> int:
        size = 1
        for n in self.shape:
            size *= n
        return size


APART = "apart"
"""The info of steps that are apart from the loops of others, whose sums keep their order."""


class Step:
    """A step: it runs for each element of `shape`, or is the call of a routine.

    Attributes
    ----------
    kind : str
        ``"element"``, ``"reduce"``, ``"gather"``, ``"scatter"``, ``"pad"`` or ``"call"``.
    func : object
        The function of elements; of a call, that which returns its routine.
    args : list of Ref or Literal
    shape : tuple of int
        The form of the loop that it is in.
    dtype : numpy.dtype
    place : Place
        Where the result is; of a reduction, with a stride of 0 along the axes that it sums over.
    wants : tuple of numpy.dtype
        The dtypes that the function takes.
    after : dict of Step to bool
        Steps that run before, for what they do to memory. True if the same loop is early enough.
    info : object
        What a kind needs besides.
    effect : bool
        Whether it writes to, or reads, memory that others write to: it stays where it is.
    """

    __slots__ = (
        "after", "args", "checked", "dtype", "effect", "func", "group", "info", "kind", "number",
        "place", "shape", "space", "stored", "users", "wants",
    )  # fmt: skip

    def __init__(
        self, kind: str, func: Any, args: list, shape: tuple[int, ...], dtype: np.dtype,
        place: Place, wants: tuple = (), info: Any = None,
    ):  # fmt: skip
        self.kind, self.func, self.args, self.shape, self.dtype = kind, func, args, shape, dtype
        self.place, self.wants, self.info = place, wants, info
        self.after: dict[Step, bool] = {}
        self.effect = self.checked = False
        self.stored = kind != "element"
        self.number = -1
        self.group: Any = None
        self.users: list[Step] = []
        self.space = tuple([n for n in shape if n != 1])

    def refs(self) -> list[Ref]:
        return [x for x in self.args if type(x) is Ref]


def dense(shape: tuple[int, ...], strides: Any, itemsize: int) -> tuple[int, ...] | None:
    """Return the strides of a new array whose axes are in the order of these; None if others.

    Axes of size 1 get any stride.
    """
    if strides is None or 0 in shape:
        return packed_strides(shape, itemsize)
    order = sorted(range(len(shape)), key=lambda k: (-strides[k], k))
    found, step = [0] * len(shape), itemsize
    for k in reversed(order):
        if shape[k] != 1:
            if strides[k] != step:
                return None
            step *= shape[k]
    step = itemsize
    order.sort(key=lambda k: -strides[k] if shape[k] != 1 else 0)
    for k in reversed(order):
        found[k] = step
        step *= shape[k]
    return tuple(found)


def strides_out(form: Form) -> tuple[int, ...]:
    """Return the strides of the array that a part makes for a node.

    Its axes are in the order of those of NumPy's array, which may have gaps or negative strides.
    """
    itemsize = form.dtype.itemsize if form.dtype is not None else 8
    found = dense(form.shape, form.strides, itemsize)
    if found is not None:
        return found
    order = np.argsort([-abs(step) for step in form.strides or ()], kind="stable")
    packed = packed_strides(tuple([form.shape[k] for k in order]), itemsize)
    return tuple([packed[k] for k in np.argsort(order)])


class Part:
    """The steps of one part, while they are collected."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.values: dict[Any, Any] = {}
        self.inputs: list[Any] = []
        self.constants: list[np.ndarray] = []
        self.known: dict[int, Ref] = {}

    def add(self, step: Step) -> Step:
        step.number = len(self.steps)
        self.steps.append(step)
        return step

    def new(self, shape: tuple[int, ...], dtype: np.dtype, strides: Any = None) -> Place:
        """Return a new place for an array."""
        itemsize = dtype.itemsize
        found = dense(shape, strides, itemsize) or packed_strides(shape, itemsize)
        size = itemsize
        for n in shape:
            size *= n
        return Place(Buffer(size), 0, found)

    def element(
        self, func: Any, args: list, shape: tuple[int, ...], dtype: np.dtype, wants: tuple,
        strides: Any = None, place: Place | None = None,
    ) -> Ref:  # fmt: skip
        """Add a function of elements, and return its value."""
        whole = place is None
        place = place or self.new(shape, dtype, strides)
        step = self.add(Step("element", func, args, shape, dtype, place, wants))
        step.stored = not whole
        return Ref(shape, dtype, place, (step,), True)

    def is_whole(self, value: Any, strides: tuple[int, ...]) -> bool:
        """Return whether a value is the only thing in its buffer, and lies as a result should."""
        if type(value) is Literal:
            return False
        place = value.place
        return (
            bool(value.steps) and place.buffer.kind == "arena" and place.offset == 0
            and place.buffer.size == value.size * value.dtype.itemsize
            and lies_so(value, strides)
        )  # fmt: skip

    def copied(self, x: Any, shape: tuple, strides: Any = None, place: Place | None = None) -> Ref:
        """Return a value as a new array, or write it to a place."""
        return self.element("copy", [x], shape, x.dtype, (x.dtype,), strides, place)

    def constant(self, value: np.ndarray) -> Ref:
        """Return the value of an array that the program knows."""
        found = self.known.get(id(value))
        if found is None:
            held = value if value.flags.aligned else value.copy()
            buffer = Buffer(held.nbytes, "constant", len(self.constants))
            self.constants.append(held)
            found = Ref(held.shape, held.dtype, Place(buffer, 0, held.strides), ())
            self.known[id(value)] = found
        return found


def lies_so(value: Ref, strides: tuple[int, ...]) -> bool:
    """Return whether a value has these strides, where it has steps."""
    return all([n == 1 or a == b for n, a, b in zip(value.shape, value.place.strides, strides)])


def squeezed(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return a shape without axes of size 1."""
    return tuple([n for n in shape if n != 1])


LARGEST = 1 << 53
"""Whole numbers below this one are exact as floats."""


class Growing:
    """An integer in a body: its first value, and how it grows with the counters of loops.

    `counts` are the numbers of steps of these.
    """

    __slots__ = ("counts", "first", "steps")

    def __init__(self, count: Count, counts: tuple[int, ...]):
        self.first, steps = parts_of_count(count)
        self.steps = (0,) * (len(counts) - len(steps)) + steps[::-1]
        self.counts = counts

    @property
    def ends(self) -> tuple[int, int]:
        """Return the least and the largest value."""
        far = [step * (n - 1) for step, n in zip(self.steps, self.counts)]
        return (
            self.first + sum([x for x in far if x < 0]),
            self.first + sum([x for x in far if x > 0]),
        )

    def at(self, counters: Sequence[int]) -> int:
        return self.first + sum([step * i for step, i in zip(self.steps, counters)])

    def __eq__(self, other: object) -> bool:
        return type(other) is Growing and (self.first, self.steps) == (other.first, other.steps)

    def __hash__(self) -> int:
        return hash((self.first, self.steps))

    def __repr__(self) -> str:
        return f"{self.first} + {self.steps} * i"


class Moving(int):
    """An offset in bytes that grows by `by` with the counters of loops; its value is the first."""

    by: tuple[int, ...]

    def __new__(cls, start: int, by: tuple[int, ...]) -> "Moving":
        found = super().__new__(cls, start)
        found.by = by
        return found

    def __add__(self, other: int) -> "Moving":
        by = self.by
        if type(other) is Moving:
            by = tuple([a + b for a, b in zip(by, other.by)])
        return Moving(int(self) + int(other), by)

    __radd__ = __add__

    def __eq__(self, other: object) -> bool:
        return type(other) is Moving and int(self) == int(other) and self.by == other.by

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((int(self), self.by))

    def __bool__(self) -> bool:
        return True


def moving(start: int, by: tuple[int, ...]) -> int:
    """Return an offset, which may grow."""
    return start + Moving(0, by) if any(by) else start


def growing_in(value: Any) -> list[Growing]:
    """Return the numbers in an argument that grow."""
    return instances_in(value, Growing)


def line_of(index: Any, far: Callable[[Any], Any]) -> tuple[Any, tuple[int, ...]] | None:
    """Return what ``far`` finds at the first index, and the steps of its offset; None if it does
    not move along a line. `far` returns an offset, and what has to be the same in all steps.
    """
    grows = growing_in(index)
    if any([low < 0 <= high for low, high in [x.ends for x in grows]]):
        return None  # NumPy counts from the end at some steps
    counts = grows[0].counts

    def found(counters: Sequence[int]) -> Any:
        return far(changed(index, Growing, lambda x: x.at(counters)))

    nothing = [0] * len(counts)
    start, same = found(nothing)
    by = []
    for level, n in enumerate(counts):
        offset = start
        if n > 1:
            offset, other = found([int(k == level) for k in range(len(counts))])
            if other != same:
                return None
        by.append(offset - start)
    last = [n - 1 for n in counts]
    if found(last) != (start + sum([x * n for x, n in zip(by, last)]), same):
        return None
    return (start, same), tuple(by)
