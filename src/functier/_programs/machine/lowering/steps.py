"""Steps of a part: what the machine does with arrays whose places are known.

NOTE [values and places]
    A value of the program is a `Ref`: an array at a place of a buffer, and the steps that write
    it. A view is another `Ref` of the same steps. A number that an array has everywhere is a
    `Literal`, which needs no memory.
"""

from typing import Any, NamedTuple

import numpy as np

from ...graph import Form
from ..loops.nests import Literal
from ..text.operands import packed_strides

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
