"""Nests: loops over the elements of arrays, as data. Their axes are joined and put in order."""

from typing import Any, NamedTuple

import numpy as np

LIGHT = 10
"""A body of at most so many steps takes several vectors at once."""

MANY = 6
"""From so many long functions on a body calls them, and is not written in line."""


class Stream(NamedTuple):
    """An array that a loop reads or writes.

    Attributes
    ----------
    dtype : numpy.dtype
    strides : tuple of int
        The bytes from one element to the next, along each axis of the loop.
    writes : bool
        Whether the loop writes to it.
    size : int
        The number of elements of the result of a reduction, which lie side by side.
    alone : bool
        Whether no other array of the loop overlaps it.
    """

    dtype: np.dtype
    strides: tuple[int, ...]
    writes: bool = False
    size: int = 0
    alone: bool = True


class Literal(NamedTuple):
    """A number in a body."""

    value: Any
    dtype: np.dtype


class Load(NamedTuple):
    stream: int


class Pad(NamedTuple):
    """An element of an array that covers a part of the loop, and zero outside.

    If it `wraps`, the bounds end where the loop does, and before them are the elements of the end.
    """

    stream: int
    bounds: tuple[tuple[int, int], ...]
    wraps: bool = False


class Gather(NamedTuple):
    """An element at indices: triples of a value, the size of the axis and its stride.

    The size is 0 where no value is negative or out of bounds.
    """

    stream: int
    places: tuple[tuple[int, int, int], ...]


class Apply(NamedTuple):
    """A function of values; `checked` refuses what Python's operators raise for."""

    func: Any
    args: tuple[Any, ...]
    dtypes: tuple[np.dtype, ...]
    result: np.dtype
    checked: bool = False


class Store(NamedTuple):
    stream: int
    value: Any


class Scatter(NamedTuple):
    """Add a value at indices."""

    stream: int
    places: tuple[tuple[int, int, int], ...]
    value: Any
    adds: bool


class Reduce(NamedTuple):
    func: np.ufunc
    stream: int
    value: Any


class ArgReduce(NamedTuple):
    """The place of the largest, or smallest, number along the one axis that is reduced."""

    func: Any
    stream: int
    value: Any
    dtype: np.dtype


class Nest(NamedTuple):
    """A loop: the sizes of its axes, its arrays, and its body in order."""

    space: tuple[int, ...]
    streams: tuple[Stream, ...]
    body: tuple[Any, ...]


# ---- the axes of a nest ----


def merged(nest: Nest) -> Nest:
    """Join axes that all arrays pass through like one."""
    space = list(nest.space)
    steps = [list(stream.strides) for stream in nest.streams]
    pads = {i: list(line.bounds) for i, line in enumerate(nest.body) if type(line) is Pad}
    for j in reversed(range(len(space) - 1)):
        n = space[j + 1]
        if all([s[j] == s[j + 1] * n for s in steps]) and all(
            [b[j + 1] == (0, n) for b in pads.values()]
        ):
            for s in steps:
                del s[j]
            for b in pads.values():
                b[j : j + 2] = [(b[j][0] * n, b[j][1] * n)]
            space[j : j + 2] = [space[j] * n]
    return rebuilt(nest, space, steps, pads, range(len(space)))


def rebuilt(nest: Nest, space: list, steps: list, pads: dict, order: Any) -> Nest:
    """Return a nest with its axes in an order."""
    body = list(nest.body)
    for i, bounds in pads.items():
        body[i] = body[i]._replace(bounds=tuple([bounds[k] for k in order]))
    streams = [
        stream._replace(strides=tuple([s[k] for k in order]))
        for stream, s in zip(nest.streams, steps)
    ]
    return Nest(tuple([space[k] for k in order]), tuple(streams), tuple(body))


def ordered(nest: Nest, lanes: int) -> Nest:
    """Put the axes into the order of memory, and the best one for vectors last."""
    count = len(nest.space)
    if count < 2 or 0 in nest.space:
        return nest
    streams = nest.streams

    def cost(k: int) -> float:
        n = nest.space[k]
        far = [s for s in streams if s.strides[k] not in (0, s.dtype.itemsize)]
        return -(-n // lanes) / n * (len(nest.body) + 2) + len(far) + sum([s.writes for s in far])

    inner = min(range(count), key=lambda k: (cost(k), -k))
    for line in nest.body:
        if type(line) is ArgReduce:
            inner = streams[line.stream].strides.index(0)
    rest = [k for k in range(count) if k != inner]
    rest.sort(key=lambda k: -max([abs(s.strides[k]) for s in streams], default=0))
    pads = {i: line.bounds for i, line in enumerate(nest.body) if type(line) is Pad}
    steps = [list(stream.strides) for stream in streams]
    return rebuilt(nest, list(nest.space), steps, pads, [*rest, inner])


SHORT = frozenset({
    np.add, np.subtract, np.multiply, np.negative, np.maximum, np.minimum, np.absolute, np.fabs,
    np.square, np.divide, np.sqrt, np.positive, np.reciprocal, np.less, np.less_equal, np.greater,
    np.greater_equal, np.equal, np.not_equal, np.logical_and, np.logical_or, np.logical_not,
    np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert, np.sign, np.floor, np.ceil, np.rint,
    np.trunc, np.isnan, np.isfinite, np.isinf, np.signbit, np.copysign, np.left_shift,
    np.right_shift, np.logical_xor, np.fmax, np.fmin, np.conjugate, np.where, "cast", "copy",
})  # fmt: skip
"""Functions of a few instructions."""


def lanes_of(nest: Nest, native: int) -> tuple[int, bool]:
    """Return the lanes of a vector, and whether long functions are called."""
    sizes = [s.dtype.itemsize for s in nest.streams]
    heavy = 0
    serial = False
    for line in nest.body:
        if type(line) is Apply:
            sizes += [line.result.itemsize, *[d.itemsize for d in line.dtypes]]
            heavy += line.func not in SHORT
        elif type(line) is Scatter:
            serial = True
    lanes = native // max(sizes, default=8)
    if serial:
        return 0, True
    if not heavy and len(nest.body) <= LIGHT:
        lanes *= 4
    lanes = min(lanes, 64)
    small = int(np.prod(nest.space, dtype=float)) < 256
    return max(lanes, 2), heavy > (1 if small else MANY)
